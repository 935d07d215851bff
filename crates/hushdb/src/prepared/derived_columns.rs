//! The columns of queries that have a name within a statement: WITH, and queries in FROM. Their types are read off the text like all others.

use datafusion::sql::sqlparser::ast::{
    Expr, Ident, ObjectName, Query, Select, SelectItem, SelectItemQualifiedWildcardKind, SetExpr,
    TableAlias, TableFactor, Visitor,
};
use hushdb_sql::{folded, name_parts};
use hushdb_storage::{ColumnType, TableVersion};
use std::ops::ControlFlow;
use std::sync::Arc;

/// The columns of something that has a name in a statement.
#[derive(Clone)]
pub(super) enum Columns {
    Table(Arc<TableVersion>),
    /// Names in small letters, and types where the text tells them.
    Derived(Vec<(String, Option<ColumnType>)>),
}

impl Columns {
    /// The type of one, by its name in small letters.
    pub(super) fn type_of(&self, name: &str) -> Option<ColumnType> {
        match self {
            Self::Table(table) => {
                let mut columns = table.columns.iter();
                let found = columns.find(|known| folded(&known.name) == name)?;
                Some(found.ty.clone())
            }
            Self::Derived(columns) => {
                let found = columns.iter().find(|(known, _)| known == name)?;
                found.1.clone()
            }
        }
    }

    fn all(&self) -> Vec<(String, Option<ColumnType>)> {
        match self {
            Self::Table(table) => table
                .columns
                .iter()
                .map(|column| (folded(&column.name), Some(column.ty.clone())))
                .collect(),
            Self::Derived(columns) => columns.clone(),
        }
    }
}

/// What is known of the types in a statement.
pub(super) trait KnownTypes {
    /// The type of an expression, as far as its text tells it.
    fn type_of(&self, expr: &Expr) -> Option<ColumnType>;
    /// What a name stands for, in small letters.
    fn named(&self, name: &str) -> Option<&Columns>;
    /// Learns what a name stands for.
    fn learn(&mut self, name: String, columns: Columns);
}

/// Teaches the columns of queries, the inner ones first.
pub(super) struct Derived<'a, T>(pub(super) &'a mut T);

impl<T: KnownTypes> Visitor for Derived<'_, T> {
    type Break = ();

    fn post_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        for one in query.with.iter().flat_map(|with| &with.cte_tables) {
            self.learn(&one.query, &one.alias);
        }
        ControlFlow::Continue(())
    }

    fn post_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
        match factor {
            TableFactor::Derived {
                subquery,
                alias: Some(alias),
                ..
            } => self.learn(subquery, alias),
            // Another name of a query that WITH has named.
            TableFactor::Table {
                name,
                alias: Some(alias),
                args: None,
                ..
            } => {
                if let Some(columns @ Columns::Derived(_)) = named(&*self.0, name).cloned() {
                    self.0.learn(folded(&alias.name.value), columns);
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

impl<T: KnownTypes> Derived<'_, T> {
    fn learn(&mut self, query: &Query, alias: &TableAlias) {
        let mut columns = of_body(&*self.0, &query.body);
        let names = alias.columns.iter();
        for (column, named) in columns.iter_mut().zip(names) {
            column.0 = folded(&named.name.value);
        }
        let name = folded(&alias.name.value);
        self.0.learn(name, Columns::Derived(columns));
    }
}

/// Names and types of what a query gives; no name for what the query has not called.
pub(super) fn of_body(known: &dyn KnownTypes, body: &SetExpr) -> Vec<(String, Option<ColumnType>)> {
    let mut body = body;
    // Many queries may stand in one UNION.
    while let SetExpr::SetOperation { left, .. } = body {
        body = left;
    }
    match body {
        SetExpr::Select(select) => {
            let items = select.projection.iter();
            items
                .flat_map(|item| of_item(known, select, item))
                .collect()
        }
        SetExpr::Query(query) => of_body(known, &query.body),
        SetExpr::Values(values) => {
            let row = values.rows.first().map(|row| row.content.as_slice());
            let row = (1..).zip(row.unwrap_or_default());
            row.map(|(at, value)| (format!("column{at}"), known.type_of(value)))
                .collect()
        }
        _ => vec![],
    }
}

fn of_item(
    known: &dyn KnownTypes,
    select: &Select,
    item: &SelectItem,
) -> Vec<(String, Option<ColumnType>)> {
    let one = |name: &Ident, expr: &Expr| vec![(folded(&name.value), known.type_of(expr))];
    match item {
        SelectItem::ExprWithAlias { expr, alias } => one(alias, expr),
        SelectItem::UnnamedExpr(expr) => match expr {
            Expr::Identifier(name) => one(name, expr),
            Expr::CompoundIdentifier(parts) => {
                parts.last().map_or_else(Vec::new, |name| one(name, expr))
            }
            // It stands for a column, which is called otherwise.
            _ => vec![(String::new(), known.type_of(expr))],
        },
        SelectItem::Wildcard(_) => {
            let from = select.from.iter();
            let factors = from.flat_map(|from| {
                let joined = from.joins.iter().map(|join| &join.relation);
                std::iter::once(&from.relation).chain(joined)
            });
            factors
                .flat_map(|factor| of_factor(known, factor))
                .collect()
        }
        SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), _) => {
            named(known, name).map_or_else(Vec::new, Columns::all)
        }
        _ => vec![],
    }
}

fn of_factor(known: &dyn KnownTypes, factor: &TableFactor) -> Vec<(String, Option<ColumnType>)> {
    let columns = match factor {
        TableFactor::Table {
            alias: Some(alias), ..
        }
        | TableFactor::Derived {
            alias: Some(alias), ..
        } => known.named(&folded(&alias.name.value)),
        TableFactor::Table { name, .. } => named(known, name),
        _ => None,
    };
    columns.map_or_else(Vec::new, Columns::all)
}

fn named<'a>(known: &'a dyn KnownTypes, name: &ObjectName) -> Option<&'a Columns> {
    let last = name_parts(name).ok()?.pop()?;
    known.named(&folded(&last))
}
