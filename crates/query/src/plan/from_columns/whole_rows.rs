//! The name of a table as a value: `SELECT t FROM t` is a struct of its columns.

use super::Column;
use datafusion::sql::sqlparser::ast::{self, Expr, Ident, ObjectName, TableFactor, Visitor};
use hushdb_sql::folded;
use hushdb_sql::walk::visit;
use std::collections::HashSet;
use std::ops::ControlFlow;

/// Whether a table and what may be a column go by one name in a statement.
pub(super) fn may_be_named(statement: &ast::Statement) -> bool {
    let mut names = Names::default();
    let _: ControlFlow<()> = visit(statement, &mut names);
    !names.tables.is_disjoint(&names.values)
}

#[derive(Default)]
struct Names {
    tables: HashSet<String>,
    values: HashSet<String>,
}

impl Visitor for Names {
    type Break = ();

    fn pre_visit_relation(&mut self, name: &ObjectName) -> ControlFlow<()> {
        let name = name.0.last().and_then(|part| part.as_ident());
        self.tables.extend(name.map(|name| folded(&name.value)));
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
        if let TableFactor::Table { alias, .. } | TableFactor::Derived { alias, .. } = factor {
            let alias = alias.iter().map(|alias| folded(&alias.name.value));
            self.tables.extend(alias);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        if let Expr::Identifier(name) = expr {
            self.values.insert(folded(&name.value));
        }
        ControlFlow::Continue(())
    }
}

/// What the names of the tables of a FROM mean as values, by folded names.
pub(super) fn of_tables(columns: &[Column]) -> Vec<(String, Expr)> {
    let mut tables: Vec<(String, Vec<ast::DictionaryField>)> = vec![];
    for column in columns {
        let Some(table) = column.table() else {
            continue;
        };
        let parts = [table, column.name.as_str()].map(|part| Ident::with_quote('"', part));
        let field = ast::DictionaryField {
            key: Ident::with_quote('\'', &column.name),
            value: Box::new(Expr::CompoundIdentifier(parts.into())),
        };
        match tables.iter_mut().find(|(name, _)| *name == folded(table)) {
            Some((_, fields)) => fields.push(field),
            None => tables.push((folded(table), vec![field])),
        }
    }
    let tables = tables.into_iter();
    tables
        .map(|(name, fields)| (name, Expr::Dictionary(fields)))
        .collect()
}
