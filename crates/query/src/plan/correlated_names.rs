//! Columns of a subquery that are compared with those of the query around it, by names that no other column there has. DataFusion gives
//! the subquery an alias and finds them below it by name alone: of two tables with a column `c` it took the first.
//!
//! What must hold: what stands above the comparison finds all columns by the names that they had.

use super::flat_plans::all_of;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, Result};
use datafusion::logical_expr::utils::split_conjunction_owned;
use datafusion::logical_expr::{Expr, Filter, LogicalPlan, LogicalPlanBuilder};
use std::collections::HashSet;
use std::sync::Arc;

/// The plan of a subquery with such names, where others could be taken for them.
pub(super) fn named_apart(plan: LogicalPlan) -> Result<LogicalPlan> {
    let (mut comparing, mut shared) = (0, false);
    plan.apply(|node| {
        if let LogicalPlan::Filter(filter) = node
            && filter.predicate.contains_outer()
        {
            comparing += 1;
            shared |= has_namesakes(&filter.input);
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    if comparing < 2 && !shared {
        return Ok(plan);
    }
    let mut count = 0;
    let apart = plan.transform_up(|node| match node {
        LogicalPlan::Filter(filter) if filter.predicate.contains_outer() => {
            apart(filter, &mut count).map(Transformed::yes)
        }
        other => Ok(Transformed::no(other)),
    });
    apart.map(|apart| apart.data)
}

fn has_namesakes(plan: &LogicalPlan) -> bool {
    let mut names = HashSet::new();
    let mut fields = plan.schema().fields().iter();
    !fields.all(|field| names.insert(field.name()))
}

/// The filter between two projections, that give names to what it compares and take them away.
fn apart(filter: Filter, count: &mut usize) -> Result<LogicalPlan> {
    // What asks the query around it for nothing stays below: a join that is made of it there keeps the columns that it has.
    let terms = split_conjunction_owned(filter.predicate).into_iter();
    let (terms, inner): (Vec<_>, Vec<_>) = terms.partition(Expr::contains_outer);
    // What has a query in it may name columns there.
    let moves =
        |term: &Expr| term.contains_outer() && !term.contains_scalar_subquery() && !tests(term);
    let (moved, others): (Vec<_>, Vec<_>) = terms.into_iter().partition(moves);
    let mut compared: Vec<(Column, String)> = vec![];
    let mut name = |column: &Column| {
        let known = compared.iter().find(|(known, _)| known == column);
        let known = known.map(|(_, name)| name.clone());
        known.unwrap_or_else(|| {
            let name = format!("$compared{count}");
            *count += 1;
            compared.push((column.clone(), name.clone()));
            name
        })
    };
    let moved = moved.into_iter().map(|term| {
        let renamed = term.transform(|expr| match &expr {
            Expr::Column(column) => {
                let column = Column::new_unqualified(name(column));
                Ok(Transformed::yes(Expr::Column(column)))
            }
            _ => Ok(Transformed::no(expr)),
        });
        renamed.map(|renamed| renamed.data)
    });
    let moved = moved.collect::<Result<Vec<_>>>()?;
    let columns = filter.input.schema().columns();
    let named = |column: &Column| compared.iter().find(|(known, _)| known == column);
    let below = columns.iter().map(|column| match named(column) {
        Some((column, name)) => Expr::Column(column.clone()).alias(name),
        None => Expr::Column(column.clone()),
    });
    let above = columns.iter().map(|column| match named(column) {
        Some((column, name)) => Expr::Column(Column::new_unqualified(name))
            .alias_qualified(column.relation.clone(), &column.name),
        None => Expr::Column(column.clone()),
    });
    let input = LogicalPlanBuilder::from(Arc::unwrap_or_clone(filter.input));
    let input = match all_of(inner) {
        Some(inner) => input.filter(inner)?,
        None => input,
    };
    let input = input.project(below)?;
    let input = match all_of(moved) {
        Some(moved) => input.filter(moved)?,
        None => input,
    };
    let plan = input.project(above)?;
    match all_of(others) {
        Some(others) => plan.filter(others)?.build(),
        None => plan.build(),
    }
}

/// Whether a condition has IN or EXISTS of a query in it.
fn tests(term: &Expr) -> bool {
    let is_test = |expr: &Expr| {
        let is_test = matches!(
            expr,
            Expr::InSubquery(_) | Expr::Exists(_) | Expr::SetComparison(_)
        );
        Ok(is_test)
    };
    term.exists(is_test).unwrap_or(true)
}
