//! Join order by estimated size. DataFusion joins in the order of FROM; this rule takes each run of inner joins apart and
//! puts it together again greedily, always joining the pair with the smallest estimated result (greedy operator
//! ordering; Fegaras, "A new heuristic for optimizing large queries", 1998).
//!
//! What must hold: the same relations and the same predicates, each used once; the output columns and their order stay.

use super::flat_plans::all_of;
use crate::scan::{Estimate, estimate};
use datafusion::common::tree_node::{Transformed, TreeNodeRecursion};
use datafusion::common::{Column, JoinType, NullEquality, Result};
use datafusion::logical_expr::utils::split_conjunction_owned;
use datafusion::logical_expr::{BinaryExpr, Expr, Join, LogicalPlan, LogicalPlanBuilder, Operator};
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};
use std::collections::HashSet;
use std::sync::Arc;

/// Past this many relations the order of FROM stays: trying all pairs would cost more than it saves.
const MAX_RELATIONS: usize = 40;

/// The rule; see the module.
#[derive(Debug)]
pub(super) struct JoinOrder;

/// A part of the join graph: a plan, its columns and how many rows it is thought to have.
struct Part {
    plan: LogicalPlan,
    columns: HashSet<Column>,
    estimate: Estimate,
}

impl Part {
    fn new(plan: LogicalPlan) -> Self {
        let columns = plan.schema().columns().into_iter().collect();
        let estimate = estimate(&plan);
        Self {
            plan,
            columns,
            estimate,
        }
    }
}

/// `left = right`, where each side reads one part of the graph.
#[derive(Clone)]
struct Equality {
    left: Expr,
    right: Expr,
}

impl OptimizerRule for JoinOrder {
    fn name(&self) -> &str {
        "join_order"
    }

    fn supports_rewrite(&self) -> bool {
        true
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        _: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        reorder(plan)
    }
}

fn reorder(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    plan.transform_down_with_subqueries(|plan| {
        let LogicalPlan::Join(join) = &plan else {
            return Ok(Transformed::no(plan));
        };
        if !is_plain_inner(join) {
            return Ok(Transformed::no(plan));
        }
        let (mut relations, mut equalities, mut others) = (vec![], vec![], vec![]);
        flatten(&plan, &mut relations, &mut equalities, &mut others);
        if relations.len() > MAX_RELATIONS {
            return Ok(Transformed::no(plan));
        }
        // The whole run of joins is taken at once; joins inside of its relations are runs of their own.
        let parts = relations
            .into_iter()
            .map(|relation| Ok(Part::new(reorder(relation)?.data)))
            .collect::<Result<Vec<_>>>()?;
        let Some(ordered) = order(parts, equalities, others)? else {
            return Ok(Transformed::no(plan));
        };
        let columns = plan.schema().columns().into_iter().map(Expr::Column);
        let restored = LogicalPlanBuilder::from(ordered)
            .project(columns)?
            .build()?;
        Ok(Transformed::new(restored, true, TreeNodeRecursion::Jump))
    })
}

fn is_plain_inner(join: &Join) -> bool {
    join.join_type == JoinType::Inner && join.null_equality == NullEquality::NullEqualsNothing
}

/// Collects the relations and predicates of a tree of inner joins, looking through projections that only pick columns.
fn flatten(
    plan: &LogicalPlan,
    relations: &mut Vec<LogicalPlan>,
    equalities: &mut Vec<Equality>,
    others: &mut Vec<Expr>,
) {
    match through_projections(plan) {
        LogicalPlan::Join(join) if is_plain_inner(join) => {
            flatten(&join.left, relations, equalities, others);
            flatten(&join.right, relations, equalities, others);
            equalities.extend(join.on.iter().map(|(left, right)| Equality {
                left: left.clone(),
                right: right.clone(),
            }));
            if let Some(filter) = &join.filter {
                others.extend(split_conjunction_owned(filter.clone()));
            }
        }
        _ => relations.push(plan.clone()),
    }
}

/// What stands below projections that only pick columns.
fn through_projections(plan: &LogicalPlan) -> &LogicalPlan {
    match plan {
        LogicalPlan::Projection(projection)
            if projection.expr.iter().all(|e| matches!(e, Expr::Column(_))) =>
        {
            through_projections(&projection.input)
        }
        other => other,
    }
}

/// Whether all columns of an expression come from a part.
fn reads_only(expr: &Expr, part: &Part) -> bool {
    let columns = expr.column_refs();
    !columns.is_empty() && columns.into_iter().all(|c| part.columns.contains(c))
}

/// The equalities between two parts, turned so that the left side reads the left part.
fn between(left: &Part, right: &Part, equalities: &[Equality]) -> Vec<(usize, Equality)> {
    let mut found = vec![];
    for (i, equality) in equalities.iter().enumerate() {
        if reads_only(&equality.left, left) && reads_only(&equality.right, right) {
            found.push((i, equality.clone()));
        } else if reads_only(&equality.right, left) && reads_only(&equality.left, right) {
            found.push((
                i,
                Equality {
                    left: equality.right.clone(),
                    right: equality.left.clone(),
                },
            ));
        }
    }
    found
}

/// Joins the parts pair by pair; `None` when the graph does not hang together by equalities.
fn order(
    mut parts: Vec<Part>,
    mut equalities: Vec<Equality>,
    mut others: Vec<Expr>,
) -> Result<Option<LogicalPlan>> {
    while parts.len() > 1 {
        let mut best: Option<(f64, usize, usize)> = None;
        for i in 0..parts.len() {
            for j in i + 1..parts.len() {
                let keys = between(&parts[i], &parts[j], &equalities);
                if keys.is_empty() {
                    continue;
                }
                let rows = Estimate::join(
                    &parts[i].estimate,
                    &parts[j].estimate,
                    keys.iter().map(|(_, e)| (&e.left, &e.right)),
                )
                .rows;
                // Among joins that shrink their inputs alike, the one that starts from less comes first.
                let cost = rows + 0.01 * parts[i].estimate.rows.min(parts[j].estimate.rows);
                if best.is_none_or(|(least, ..)| cost < least) {
                    best = Some((cost, i, j));
                }
            }
        }
        let Some((_, i, j)) = best else {
            return Ok(None);
        };
        let right = parts.swap_remove(j);
        let left = parts.swap_remove(i);
        // The smaller side is the one whose hash table is built.
        let (left, right) = if left.estimate.rows <= right.estimate.rows {
            (left, right)
        } else {
            (right, left)
        };
        let keys = between(&left, &right, &equalities);
        let used: HashSet<usize> = keys.iter().map(|(k, _)| *k).collect();
        let mut position = 0;
        equalities.retain(|_| {
            position += 1;
            !used.contains(&(position - 1))
        });
        parts.push(join(
            left,
            right,
            keys.into_iter().map(|(_, e)| e).collect(),
            &mut equalities,
            &mut others,
        )?);
    }
    let Some(last) = parts.pop() else {
        return Ok(None);
    };
    let rest = equalities
        .into_iter()
        .map(|e| equal(e.left, e.right))
        .chain(others);
    Ok(Some(match all_of(rest) {
        Some(filter) => LogicalPlanBuilder::from(last.plan)
            .filter(filter)?
            .build()?,
        None => last.plan,
    }))
}

fn equal(left: Expr, right: Expr) -> Expr {
    Expr::BinaryExpr(BinaryExpr::new(
        Box::new(left),
        Operator::Eq,
        Box::new(right),
    ))
}

/// One join of two parts, with every other predicate that can be judged from there on.
fn join(
    left: Part,
    right: Part,
    keys: Vec<Equality>,
    equalities: &mut Vec<Equality>,
    others: &mut Vec<Expr>,
) -> Result<Part> {
    let estimate = Estimate::join(
        &left.estimate,
        &right.estimate,
        keys.iter().map(|e| (&e.left, &e.right)),
    );
    let columns: HashSet<Column> = left.columns.union(&right.columns).cloned().collect();
    let covered = |expr: &Expr| expr.column_refs().into_iter().all(|c| columns.contains(c));
    let mut filters: Vec<Expr> = vec![];
    equalities.retain(|e| {
        let inside = covered(&e.left) && covered(&e.right);
        if inside {
            filters.push(equal(e.left.clone(), e.right.clone()));
        }
        !inside
    });
    others.retain(|e| {
        let inside = covered(e);
        if inside {
            filters.push(e.clone());
        }
        !inside
    });
    let on = keys
        .into_iter()
        .map(|e| (e.left, e.right))
        .collect::<Vec<_>>();
    let joined = Join::try_new(
        Arc::new(left.plan),
        Arc::new(right.plan),
        on,
        all_of(filters),
        JoinType::Inner,
        datafusion::common::JoinConstraint::On,
        NullEquality::NullEqualsNothing,
        false,
    )?;
    Ok(Part {
        plan: LogicalPlan::Join(joined),
        columns,
        estimate,
    })
}
