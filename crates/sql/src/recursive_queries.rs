//! What WITH RECURSIVE cannot do: sort or limit its rows, which would be done to those of each turn. And not yet: read itself in a
//! subquery, which would be computed once, or not be seen to read it.

use super::folded;
use crate::error::{Error, Result};
use crate::walk::{visit_expressions, visit_relations};
use sqlparser::ast::{Expr, ObjectName, ObjectNamePart, Query, SetExpr, SetOperator};
use std::ops::ControlFlow;

/// What stands before the name of a recursive query with a key, where it reads the last rows of all keys.
pub const RECURRING: &str = "recurring";

/// Refuses recursive queries that the planner would run wrongly.
pub(super) fn refuse(query: &Query) -> Result<()> {
    let with = query.with.iter().filter(|with| with.recursive);
    for table in with.flat_map(|with| &with.cte_tables) {
        let name = folded(&table.alias.name.value);
        let is_named = |part: &ObjectNamePart, wanted: &str| {
            part.as_ident()
                .is_some_and(|part| folded(&part.value) == wanted)
        };
        let is_it = |relation: &ObjectName| match relation.0.as_slice() {
            [relation] if is_named(relation, &name) => ControlFlow::Break(()),
            [all, relation] if is_named(all, RECURRING) && is_named(relation, &name) => {
                ControlFlow::Break(())
            }
            _ => ControlFlow::Continue(()),
        };
        let is_union = matches!(
            table.query.body.as_ref(),
            SetExpr::SetOperation {
                op: SetOperator::Union,
                ..
            }
        );
        if is_union && visit_relations(&table.query, is_it).is_break() {
            refuse_order_and_limit(&table.query)?;
        }
        let found = visit_expressions(&table.query, |expr| match expr {
            Expr::Subquery(subquery)
            | Expr::Exists { subquery, .. }
            | Expr::InSubquery { subquery, .. } => visit_relations(subquery, is_it),
            _ => ControlFlow::Continue(()),
        });
        if found.is_break() {
            return Err(Error::unsupported(format!(
                "a recursive query that reads itself in a subquery is not there yet: join \"{name}\" instead"
            )));
        }
    }
    Ok(())
}

fn refuse_order_and_limit(query: &Query) -> Result<()> {
    let what = match query {
        query if query.limit_clause.is_some() || query.fetch.is_some() => "LIMIT or OFFSET",
        query if query.order_by.is_some() => "ORDER BY",
        _ => return Ok(()),
    };
    Err(Error::parser(format!(
        "{what} in a recursive query is not allowed"
    )))
}
