//! A rule of DataFusion's, kept from plans that it changes the meaning of.
//!
//! What must hold: a condition that names no column stays above an aggregate that has a row of no rows, too: below it, that row
//! would be left.

use super::flat_plans::all_of;
use datafusion::common::Result;
use datafusion::common::tree_node::Transformed;
use datafusion::logical_expr::utils::split_conjunction_owned;
use datafusion::logical_expr::{Expr, Filter, GroupingSet, LogicalPlan};
use datafusion::optimizer::optimizer::ApplyOrder;
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};
use std::sync::Arc;

type Rule = Arc<dyn OptimizerRule + Send + Sync>;

/// The rule that pushes filters down.
#[derive(Debug)]
pub(super) struct PushDownFilters(pub(super) Rule);

impl OptimizerRule for PushDownFilters {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        self.0.apply_order()
    }

    fn supports_rewrite(&self) -> bool {
        true
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        config: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        let filter = match plan {
            LogicalPlan::Filter(filter) if always_has_a_row(&filter.input) => filter,
            other => return self.0.rewrite(other, config),
        };
        let terms = split_conjunction_owned(filter.predicate).into_iter();
        let (moving, staying): (Vec<_>, Vec<_>) = terms.partition(Expr::any_column_refs);
        let with = |terms, input| match all_of(terms) {
            None => Ok(input),
            Some(predicate) => Filter::try_new(predicate, Arc::new(input)).map(LogicalPlan::Filter),
        };
        let input = Arc::unwrap_or_clone(filter.input);
        if moving.is_empty() {
            return with(staying, input).map(Transformed::no);
        }
        let pushed = self.0.rewrite(with(moving, input)?, config)?;
        pushed.map_data(|plan| with(staying, plan))
    }
}

/// Whether an aggregate has a group of all rows.
fn always_has_a_row(plan: &LogicalPlan) -> bool {
    let LogicalPlan::Aggregate(aggregate) = plan else {
        return false;
    };
    match aggregate.group_expr.as_slice() {
        [Expr::GroupingSet(GroupingSet::GroupingSets(sets))] => sets.iter().any(Vec::is_empty),
        [Expr::GroupingSet(_)] => true,
        groups => groups.is_empty(),
    }
}
