//! Whole rows by the name of their table, as JSON of its columns, in which what is JSON stays so; a column of that name goes before.

use super::walk::{Column, Walker};
use datafusion::sql::sqlparser::ast::{
    Expr, Ident, ObjectName, Select, SelectItem, SelectItemQualifiedWildcardKind, Visitor,
    VisitorMut, WildcardAdditionalOptions,
};
use hushdb_sql::walk::{visit_own, visit_own_mut};
use hushdb_sql::{Result, folded, parse_expr, table_of_row};
use std::ops::ControlFlow;

/// Puts JSON in the places of a select list's rows.
pub(super) fn write_out(walker: &mut Walker<'_>, select: &mut Select) -> Result<()> {
    let mut found = Found::default();
    let _: ControlFlow<()> = visit_own(&select.projection, &mut found);
    if found.tables.is_empty() {
        return Ok(());
    }
    let all = walker.all_columns(select)?;
    let mut rows = vec![];
    for table in found.tables {
        let row = match table.0.last().and_then(|part| part.as_ident()) {
            Some(name) if all.iter().any(|column| is_called(column, name)) => {
                Expr::Identifier(name.clone())
            }
            _ => row_of(walker, select, &table)?,
        };
        rows.push((table, row));
    }
    let _: ControlFlow<()> = visit_own_mut(&mut select.projection, &mut PutIn { rows });
    Ok(())
}

fn is_called(column: &Column, name: &Ident) -> bool {
    folded(&column.name) == folded(&name.value)
}

fn row_of(walker: &mut Walker<'_>, select: &Select, table: &ObjectName) -> Result<Expr> {
    let kind = SelectItemQualifiedWildcardKind::ObjectName(table.clone());
    let star = SelectItem::QualifiedWildcard(kind, WildcardAdditionalOptions::default());
    let columns = walker.columns(select, star)?;
    let fields = columns.iter().map(|column| {
        let name = column.name.replace('\'', "''");
        format!("'{name}', to_json_as_postgres({})", column.expr())
    });
    let fields: Vec<String> = fields.collect();
    parse_expr(&format!("json_object({})", fields.join(", ")))
}

/// Collects the tables whose rows stand in a select list.
#[derive(Default)]
struct Found {
    tables: Vec<ObjectName>,
}

impl Visitor for Found {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        if let Some(table) = table_of_row(expr)
            && !self.tables.contains(&table)
        {
            self.tables.push(table);
        }
        ControlFlow::Continue(())
    }
}

/// Puts rows in.
struct PutIn {
    rows: Vec<(ObjectName, Expr)>,
}

impl VisitorMut for PutIn {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        let table = table_of_row(expr);
        let known = table.and_then(|table| self.rows.iter().find(|(known, _)| *known == table));
        if let Some((_, row)) = known {
            *expr = row.clone();
        }
        ControlFlow::Continue(())
    }
}
