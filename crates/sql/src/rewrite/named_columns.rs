//! `WITH c(a) AS (SELECT 1, 2)`: names for the first columns alone. The planner reads such of queries in FROM.

use crate::error::Result;
use crate::reading::query_of;
use sqlparser::ast::{
    Query, SelectItem, SetExpr, TableFactor, TableWithJoins, WildcardAdditionalOptions,
};

/// Names the columns of the queries of WITH in a FROM of their own, where they may have more.
pub(super) fn of_with(query: &mut Query) -> Result<()> {
    let with = query.with.as_mut().filter(|with| !with.recursive);
    for table in with.into_iter().flat_map(|with| &mut with.cte_tables) {
        let names = table.alias.columns.len();
        if names == 0 || columns(&table.query.body) == Some(names) {
            continue;
        }
        let named = TableFactor::Derived {
            lateral: false,
            subquery: table.query.clone(),
            alias: Some(table.alias.clone()),
            sample: None,
        };
        let from = TableWithJoins {
            relation: named,
            joins: vec![],
        };
        let all = SelectItem::Wildcard(WildcardAdditionalOptions::default());
        table.query = query_of(vec![from], all)?;
        table.alias.columns.clear();
    }
    Ok(())
}

/// How many columns a query has, if that can be counted.
fn columns(body: &SetExpr) -> Option<usize> {
    match body {
        SetExpr::Select(select) => {
            let is_one = |item: &SelectItem| {
                matches!(
                    item,
                    SelectItem::UnnamedExpr(_) | SelectItem::ExprWithAlias { .. }
                )
            };
            let all_are = select.projection.iter().all(is_one);
            all_are.then_some(select.projection.len())
        }
        SetExpr::Query(query) => columns(&query.body),
        SetExpr::SetOperation { left, .. } => columns(left),
        SetExpr::Values(values) => values.rows.first().map(|row| row.content.len()),
        _ => None,
    }
}
