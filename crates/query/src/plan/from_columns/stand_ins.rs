//! The names that a FROM has, also where it cannot be planned by itself: its queries name columns of queries around it.

use super::walk::{Column, Walker, unconditional};
use super::{last_name, options};
use datafusion::sql::sqlparser::ast::{
    Expr, Ident, Query, Select, SelectItem, SetExpr, TableFactor, TableWithJoins, Value,
};
use hushdb_sql::{Result, column_name, query_of, unique};
use std::collections::HashSet;

impl Walker<'_> {
    /// The columns of a FROM, of which the names are right, and not always the types: a query in it that tells its columns by name may be
    /// one of NULLs.
    pub(super) fn named_in(&mut self, from: &[TableWithJoins]) -> Result<Vec<Column>> {
        let mut from = unconditional(from);
        match self.columns_of(from.clone()) {
            Err(error) => match stand_in(&mut from) {
                true => self.columns_of(from),
                false => Err(error),
            },
            found => found,
        }
    }
}

/// Puts queries of NULLs in the place of those whose names are known; whether there was one.
fn stand_in(from: &mut [TableWithJoins]) -> bool {
    let mut found = false;
    for tables in from {
        found |= stand_in_within(&mut tables.relation);
        for join in &mut tables.joins {
            found |= stand_in_within(&mut join.relation);
        }
    }
    found
}

fn stand_in_within(factor: &mut TableFactor) -> bool {
    match factor {
        TableFactor::NestedJoin {
            table_with_joins, ..
        } => stand_in(std::slice::from_mut(table_with_joins)),
        TableFactor::Derived { subquery, .. } => names_alone(subquery),
        _ => false,
    }
}

/// Leaves the names of a query, if all are told.
fn names_alone(query: &mut Query) -> bool {
    let Some(select) = first_select(&query.body) else {
        return false;
    };
    if select.projection.iter().any(|item| options(item).is_some()) {
        return false;
    }
    let mut taken = HashSet::new();
    let items = select.projection.iter().filter_map(|item| {
        let name = match item {
            SelectItem::ExprWithAlias { alias, .. } => alias.value.clone(),
            SelectItem::UnnamedExpr(expr) => last_name(expr).unwrap_or_else(|| column_name(expr)),
            _ => return None,
        };
        Some(SelectItem::ExprWithAlias {
            expr: Expr::value(Value::Null),
            alias: Ident::with_quote('"', unique(&mut taken, name)),
        })
    });
    let items: Vec<_> = items.collect();
    let Some(Ok(mut named)) = items.first().map(|item| query_of(vec![], item.clone())) else {
        return false;
    };
    if let SetExpr::Select(select) = named.body.as_mut() {
        select.projection = items;
    }
    *query = *named;
    true
}

/// The SELECT whose names a query has.
fn first_select(body: &SetExpr) -> Option<&Select> {
    match body {
        SetExpr::Select(select) => Some(select),
        SetExpr::SetOperation { left, .. } => first_select(left),
        SetExpr::Query(query) => first_select(&query.body),
        _ => None,
    }
}
