//! `* RENAME (...)`, also of `t.a`, and `* EXCLUDE` of a column that has its table or is one of several tables': the columns are written out.

use super::walk::{Column, Walker, is_of_several};
use datafusion::sql::sqlparser::ast::{
    Ident, IdentWithAlias, RenameSelectItem, Select, SelectItem, WildcardAdditionalOptions,
};
use hushdb_sql::{Error, Result, excluded_names, folded, has_columns_of_tables, renamed_column};

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
        let named = |column: &Column| {
            renames.iter().find(|rename| {
                let (table, name) = renamed_column(&rename.ident.value);
                let is_of_table = table.is_none_or(|table| {
                    column
                        .table()
                        .is_some_and(|own| folded(own) == folded(table))
                });
                is_of_table && folded(name) == folded(&column.name)
            })
        };
        let also = replaced.iter().flat_map(|replaced| &replaced.items);
        let also: Vec<String> = also.map(|item| folded(&item.column_name.value)).collect();
        refuse_twice(&renames, &excluded, &also)?;
        let of = |name: &str| {
            let items = replaced.iter().flat_map(|replaced| &replaced.items);
            items
                .filter(|item| folded(&item.column_name.value) == folded(name))
                .map(|item| {
                    (
                        item.expr.clone(),
                        Ident::with_quote('"', &item.column_name.value),
                    )
                })
                .next()
        };
        let items = columns.iter().map(|column| {
            let given = of(&column.name);
            if named(column).is_none() && given.is_none() {
                return SelectItem::UnnamedExpr(column.expr());
            }
            let own = || (column.expr(), Ident::with_quote('"', &column.name));
            let (expr, name) = given.unwrap_or_else(own);
            let alias = named(column).map_or(name, |rename| rename.alias.clone());
            SelectItem::ExprWithAlias { expr, alias }
        });
        Ok(items.collect())
    }
}

/// # Errors
/// `Parser` for a column that is renamed twice, or in another list, too.
fn refuse_twice(
    renames: &[IdentWithAlias],
    excluded: &[String],
    replaced: &[String],
) -> Result<()> {
    let names = renames.iter().map(|rename| {
        let (table, name) = renamed_column(&rename.ident.value);
        (table.map(folded), folded(name))
    });
    let names: Vec<(Option<String>, String)> = names.collect();
    for (at, (table, name)) in names.iter().enumerate() {
        let shown = rename_shown(&renames[at].ident.value);
        let lists = [("EXCLUDE", excluded), ("REPLACE", replaced)];
        if let Some((list, _)) = lists.iter().find(|(_, taken)| taken.contains(name)) {
            return Err(Error::parser(format!(
                "Column \"{shown}\" cannot occur in both {list} and RENAME list"
            )));
        }
        let may_be = |other: &Option<String>| table.is_none() || other.is_none() || other == table;
        let mut before = names[..at].iter();
        if before.any(|(other, same)| same == name && may_be(other)) {
            return Err(Error::parser(format!(
                "Duplicate entry \"{shown}\" in EXCLUDE list"
            )));
        }
    }
    Ok(())
}

fn rename_shown(name: &str) -> String {
    match renamed_column(name) {
        (Some(table), column) => format!("{table}.{column}"),
        (None, column) => column.to_owned(),
    }
}
