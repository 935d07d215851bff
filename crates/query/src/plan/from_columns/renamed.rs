//! `* RENAME (...)`, and `* EXCLUDE` of a column that has its table or is one of several tables': the columns are written out.

use super::walk::{Walker, is_of_several};
use datafusion::sql::sqlparser::ast::{
    Ident, RenameSelectItem, Select, SelectItem, WildcardAdditionalOptions,
};
use hushdb_sql::{Error, Result, excluded_names, folded, has_columns_of_tables};

/// Whether a `*` is more than the planner knows: it renames, says of which table a column is that it is without, or is without one that
/// several tables may have.
pub(super) fn is_written_out(with: &WildcardAdditionalOptions, select: &Select) -> bool {
    with.opt_rename.is_some()
        || has_columns_of_tables(with)
        || with.opt_exclude.is_some() && is_of_several(select)
}

impl Walker<'_> {
    /// `* RENAME (a AS b)`, column by column.
    pub(super) fn renamed(
        &mut self,
        select: &Select,
        item: &SelectItem,
    ) -> Result<Vec<SelectItem>> {
        let mut star = item.clone();
        let (SelectItem::Wildcard(with) | SelectItem::QualifiedWildcard(_, with)) = &mut star
        else {
            return Ok(vec![star]);
        };
        let renames = match with.opt_rename.take() {
            Some(RenameSelectItem::Single(one)) => vec![one],
            Some(RenameSelectItem::Multiple(all)) => all,
            None => vec![],
        };
        let excluded = excluded_names(with);
        let replaced = with.opt_replace.take();
        let columns = self.columns(select, star)?;
        let named = |name: &str| {
            renames
                .iter()
                .find(|r| folded(&r.ident.value) == folded(name))
        };
        for rename in &renames {
            let name = folded(&rename.ident.value);
            if excluded.contains(&name) {
                return Err(Error::parser(format!(
                    "Column \"{}\" cannot occur in both EXCLUDE and RENAME list",
                    rename.ident.value
                )));
            }
        }
        let of = |name: &str| {
            let items = replaced.iter().flat_map(|replaced| &replaced.items);
            items
                .filter(|item| folded(&item.column_name.value) == folded(name))
                .map(|item| item.expr.clone())
                .next()
        };
        let items = columns.iter().map(|column| {
            let given = of(&column.name);
            match (named(&column.name), given) {
                (None, None) => SelectItem::UnnamedExpr(column.expr()),
                (rename, given) => SelectItem::ExprWithAlias {
                    expr: given.unwrap_or_else(|| column.expr()),
                    alias: rename.map_or_else(
                        || Ident::with_quote('"', &column.name),
                        |rename| rename.alias.clone(),
                    ),
                },
            }
        });
        Ok(items.collect())
    }
}
