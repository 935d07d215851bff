//! Optimizer rules that keep long chains flat where DataFusion's rules build them anew: `FlatFilters` and `GroupedUnions`.
//!
//! What must hold: the order of conditions and of branches stays.

use datafusion::common::Result;
use datafusion::common::tree_node::Transformed;
use datafusion::logical_expr::{BinaryExpr, Expr, Filter, LogicalPlan, Operator, Union};
use datafusion::optimizer::optimizer::ApplyOrder;
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};
use std::sync::Arc;

/// Conditions from which on a conjunction is made flat.
const LONG: usize = 32;
/// Branches of one UNION ALL: planning one takes their square.
const BRANCHES: usize = 256;

/// Makes the left-deep AND of a filter that was pushed down log n deep again.
#[derive(Debug)]
pub(super) struct FlatFilters;

impl OptimizerRule for FlatFilters {
    fn name(&self) -> &'static str {
        "flat_filters"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::TopDown)
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        _: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        match plan {
            LogicalPlan::Filter(filter) if left_depth(&filter.predicate) > LONG => {
                let predicate = flat(filter.predicate);
                let filter = Filter::try_new(predicate, filter.input)?;
                Ok(Transformed::yes(LogicalPlan::Filter(filter)))
            }
            other => Ok(Transformed::no(other)),
        }
    }
}

fn left_depth(mut expr: &Expr) -> usize {
    let mut depth = 0;
    while let Expr::BinaryExpr(BinaryExpr {
        left,
        op: Operator::And,
        ..
    }) = expr
    {
        depth += 1;
        expr = left;
    }
    depth
}

fn flat(mut expr: Expr) -> Expr {
    let mut operands = vec![];
    loop {
        match expr {
            Expr::BinaryExpr(BinaryExpr {
                left,
                op: Operator::And,
                right,
            }) => {
                operands.push(*right);
                expr = *left;
            }
            first => {
                operands.push(first);
                break;
            }
        }
    }
    operands.reverse();
    all_of(operands).unwrap_or_default()
}

/// A condition that holds where all of these hold; log n deep if they are many.
pub(super) fn all_of(conditions: impl IntoIterator<Item = Expr>) -> Option<Expr> {
    let mut operands: Vec<Expr> = conditions.into_iter().collect();
    if operands.len() <= LONG {
        return operands.into_iter().reduce(Expr::and);
    }
    while operands.len() > 1 {
        let mut pairs = Vec::with_capacity(operands.len().div_ceil(2));
        let mut rest = operands.into_iter();
        while let Some(left) = rest.next() {
            pairs.push(match rest.next() {
                Some(right) => left.and(right),
                None => left,
            });
        }
        operands = pairs;
    }
    operands.pop()
}

/// Has a UNION ALL of very many branches be one of smaller ones.
#[derive(Debug)]
pub(super) struct GroupedUnions;

impl OptimizerRule for GroupedUnions {
    fn name(&self) -> &'static str {
        "grouped_unions"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::TopDown)
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        _: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        match plan {
            LogicalPlan::Union(union) if union.inputs.len() > BRANCHES => {
                let groups = union.inputs.chunks(BRANCHES).map(|group| {
                    Arc::new(LogicalPlan::Union(Union {
                        inputs: group.to_vec(),
                        schema: Arc::clone(&union.schema),
                    }))
                });
                let inputs = groups.collect();
                let schema = Arc::clone(&union.schema);
                Ok(Transformed::yes(LogicalPlan::Union(Union {
                    inputs,
                    schema,
                })))
            }
            other => Ok(Transformed::no(other)),
        }
    }
}
