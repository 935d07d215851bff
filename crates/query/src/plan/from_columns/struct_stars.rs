//! `s.*` of a column `s` that is a struct: each of its fields is a column.

use super::walk::Walker;
use super::{Error, Result};
use datafusion::arrow::datatypes::DataType;
use datafusion::sql::sqlparser::ast::{
    AccessExpr, Expr, Ident, ObjectName, Select, SelectItem, SelectItemQualifiedWildcardKind,
    Subscript, TableFactor, Value, WildcardAdditionalOptions,
};
use hushdb_sql::type_names::is_struct;
use hushdb_sql::{excluded_names, folded};

/// The folded name before a star, where no table of the FROM goes by it.
fn named<'a>(
    select: &Select,
    item: &'a SelectItem,
) -> Option<(String, &'a WildcardAdditionalOptions)> {
    let SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), with) =
        item
    else {
        return None;
    };
    let [part] = name.0.as_slice() else {
        return None;
    };
    let name = folded(&part.as_ident()?.value);
    let relations = select.from.iter().flat_map(|from| {
        let joined = from.joins.iter().map(|join| &join.relation);
        std::iter::once(&from.relation).chain(joined)
    });
    let is_table = relations.map(called).any(|called| match called {
        Some(called) => called == name,
        // What it is called is not written, or within brackets.
        None => true,
    });
    (!is_table).then_some((name, with))
}

/// The folded name that a table goes by.
fn called(factor: &TableFactor) -> Option<String> {
    let last = |name: &ObjectName| {
        let part = name.0.last().and_then(|part| part.as_ident());
        part.map(|part| folded(&part.value))
    };
    match factor {
        TableFactor::Table {
            alias: Some(alias), ..
        }
        | TableFactor::Derived {
            alias: Some(alias), ..
        } => Some(folded(&alias.name.value)),
        TableFactor::Table { name, .. } => last(name),
        TableFactor::Derived { .. } => Some(String::new()),
        _ => None,
    }
}

/// Whether a select list may have such a star.
pub(super) fn may_have(select: &Select) -> bool {
    let mut items = select.projection.iter();
    items.any(|item| named(select, item).is_some())
}

impl Walker<'_> {
    /// The fields of the struct that an item of a select list is a star of, if it is one.
    pub(super) fn fields_of(
        &mut self,
        select: &Select,
        item: &SelectItem,
    ) -> Result<Option<Vec<SelectItem>>> {
        let Some((name, with)) = named(select, item) else {
            return Ok(None);
        };
        let columns = self.all_columns(select)?;
        let found = columns.iter().find(|column| folded(&column.name) == name);
        let Some((column, DataType::Struct(fields))) = found.map(|c| (c, &c.data_type)) else {
            return Ok(None);
        };
        if !is_struct(&column.data_type) {
            return Ok(None);
        }
        if with.opt_replace.is_some() || with.opt_rename.is_some() {
            return Err(Error::unsupported(
                "REPLACE and RENAME of the fields of a struct are not there yet",
            ));
        }
        let excluded = excluded_names(with);
        let fields = fields
            .iter()
            .filter(|f| !excluded.contains(&folded(f.name())));
        let items = fields.map(|field| {
            let index = Expr::value(Value::SingleQuotedString(field.name().clone()));
            SelectItem::ExprWithAlias {
                expr: Expr::CompoundFieldAccess {
                    root: Box::new(column.expr()),
                    access_chain: vec![AccessExpr::Subscript(Subscript::Index { index })],
                },
                alias: Ident::with_quote('"', field.name()),
            }
        });
        Ok(Some(items.collect()))
    }
}
