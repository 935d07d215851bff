//! The columns of queries that have a name within a statement: WITH, and queries in FROM. Their types are read off the text like all others.

use datafusion::sql::sqlparser::ast::{
    Expr, JoinConstraint, JoinOperator, ObjectName, Query, Select, SelectItem,
    SelectItemQualifiedWildcardKind, SetExpr, TableAlias, TableFactor, Visitor,
    WildcardAdditionalOptions,
};
use hushdb_sql::{constraint_of, folded, name_parts};
use hushdb_storage::{ColumnType, TableVersion, same_name};
use std::ops::ControlFlow;
use std::sync::Arc;

/// The columns of something that has a name in a statement.
#[derive(Clone)]
pub(super) enum Columns {
    Table(Arc<TableVersion>),
    Derived(Made),
}

/// Names, and types where the text tells them.
pub(super) type Made = Vec<(String, Option<ColumnType>)>;

impl Columns {
    /// The type of one, by its name.
    pub(super) fn type_of(&self, name: &str) -> Option<ColumnType> {
        match self {
            Self::Table(table) => {
                let mut columns = table.columns.iter();
                let found = columns.find(|known| same_name(&known.name, name))?;
                Some(found.ty.clone())
            }
            Self::Derived(columns) => {
                let found = columns.iter().find(|(known, _)| same_name(known, name))?;
                found.1.clone()
            }
        }
    }

    fn all(&self) -> Made {
        match self {
            Self::Table(table) => table
                .columns
                .iter()
                .map(|column| (column.name.clone(), Some(column.ty.clone())))
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
            column.0.clone_from(&named.name.value);
        }
        let name = folded(&alias.name.value);
        self.0.learn(name, Columns::Derived(columns));
    }
}

/// Names and types of what a query gives; no name for what it has not called, and nothing at all where it is not told which columns there
/// are.
pub(super) fn of_body(known: &dyn KnownTypes, body: &SetExpr) -> Made {
    let mut body = body;
    // Many queries may stand in one UNION.
    while let SetExpr::SetOperation { left, .. } = body {
        body = left;
    }
    match body {
        SetExpr::Select(select) => {
            let items = select.projection.iter();
            let items = items.map(|item| of_item(known, select, item));
            let items: Option<Vec<Made>> = items.collect();
            items.unwrap_or_default().concat()
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

fn of_item(known: &dyn KnownTypes, select: &Select, item: &SelectItem) -> Option<Made> {
    let one = |name: &str, expr: &Expr| vec![(name.to_owned(), known.type_of(expr))];
    Some(match item {
        SelectItem::ExprWithAlias { expr, alias } => one(&alias.value, expr),
        SelectItem::UnnamedExpr(expr) => match expr {
            Expr::Identifier(name) => one(&name.value, expr),
            Expr::CompoundIdentifier(parts) => one(&parts.last()?.value, expr),
            // It stands for a column, which is called otherwise.
            _ => one("", expr),
        },
        SelectItem::Wildcard(options) if is_whole(options) => {
            let mut all = vec![];
            for from in &select.from {
                all.push(of_factor(known, &from.relation)?);
                for join in &from.joins {
                    let columns = of_factor(known, &join.relation);
                    all.push(columns.filter(|_| keeps_all(&join.join_operator))?);
                }
            }
            all.concat()
        }
        SelectItem::QualifiedWildcard(
            SelectItemQualifiedWildcardKind::ObjectName(name),
            options,
        ) if is_whole(options) => named(known, name)?.all(),
        _ => return None,
    })
}

/// Whether a star stands for all columns, as they are called.
fn is_whole(options: &WildcardAdditionalOptions) -> bool {
    let WildcardAdditionalOptions {
        wildcard_token: _,
        opt_ilike: None,
        opt_exclude: None,
        opt_except: None,
        opt_replace: None,
        opt_rename: None,
        opt_alias: None,
    } = options
    else {
        return false;
    };
    true
}

/// Whether a join gives all columns of both sides.
fn keeps_all(join: &JoinOperator) -> bool {
    use JoinOperator as J;
    match join {
        J::CrossJoin(_) => true,
        // One side alone comes out.
        J::Semi(_) | J::LeftSemi(_) | J::RightSemi(_) => false,
        J::Anti(_) | J::LeftAnti(_) | J::RightAnti(_) => false,
        other => matches!(
            constraint_of(other),
            Some(JoinConstraint::On(_) | JoinConstraint::None)
        ),
    }
}

fn of_factor(known: &dyn KnownTypes, factor: &TableFactor) -> Option<Made> {
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
    columns.map(Columns::all)
}

fn named<'a>(known: &'a dyn KnownTypes, name: &ObjectName) -> Option<&'a Columns> {
    let last = name_parts(name).ok()?.pop()?;
    known.named(&folded(&last))
}
