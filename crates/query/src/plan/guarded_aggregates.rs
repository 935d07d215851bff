//! Three of DataFusion's rules of aggregates, kept from those that they take for others.

use crate::functions::may_differ;
use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::config::ConfigOptions;
use datafusion::logical_expr::expr::AggregateFunction;
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan};
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::AggregateExec;
use std::sync::Arc;

/// The rule that knows an aggregate's value by statistics. Below one with a FILTER it would take the next for it.
#[derive(Debug)]
pub(super) struct KnownAggregates(pub(super) Arc<dyn PhysicalOptimizerRule + Send + Sync>);

impl PhysicalOptimizerRule for KnownAggregates {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        options: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let is_above = |node: &Arc<dyn ExecutionPlan>| {
            let aggregate = node.downcast_ref::<AggregateExec>();
            let filters = aggregate.into_iter().flat_map(AggregateExec::filter_expr);
            Ok(filters.flatten().next().is_some() && has_aggregate_below(node)?)
        };
        match plan.exists(is_above)? {
            true => Ok(plan),
            false => self.0.optimize(plan, options),
        }
    }

    fn name(&self) -> &str {
        self.0.name()
    }

    fn schema_check(&self) -> bool {
        self.0.schema_check()
    }
}

/// The rule that keeps no more groups than a LIMIT asks for. It finds a group by `=` of floats, of which a NaN is never one.
#[derive(Debug)]
pub(super) struct LimitedGroups(pub(super) Arc<dyn PhysicalOptimizerRule + Send + Sync>);

impl PhysicalOptimizerRule for LimitedGroups {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        options: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let has_floats = |node: &Arc<dyn ExecutionPlan>| {
            let schema = node.schema();
            let mut fields = schema.fields().iter();
            let is_float = fields.any(|field| field.data_type().is_floating());
            Ok(is_float && node.is::<AggregateExec>())
        };
        match plan.exists(has_floats)? {
            true => Ok(plan),
            false => self.0.optimize(plan, options),
        }
    }

    fn name(&self) -> &str {
        self.0.name()
    }

    fn schema_check(&self) -> bool {
        self.0.schema_check()
    }
}

fn has_aggregate_below(node: &Arc<dyn ExecutionPlan>) -> Result<bool> {
    for child in node.children() {
        if child.exists(|node| Ok(node.is::<AggregateExec>()))? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The rule that groups by what the one DISTINCT aggregate counts; it takes it for one of a single argument, and groups by more than
/// one value where equal ones differ, as one month and thirty days do.
pub(super) fn single_distinct(
    rule: &dyn OptimizerRule,
    plan: LogicalPlan,
    config: &dyn OptimizerConfig,
) -> Result<Transformed<LogicalPlan>> {
    let LogicalPlan::Aggregate(aggregate) = &plan else {
        return rule.rewrite(plan, config);
    };
    let schema = aggregate.input.schema();
    let differs = |arg: &Expr| {
        let of = arg.get_type(schema);
        of.is_ok_and(|of| !of.is_floating() && may_differ(&of))
    };
    let is_other = |expr: &Expr| match expr {
        Expr::AggregateFunction(AggregateFunction { params, .. }) => {
            params.distinct && (params.args.len() != 1 || params.args.iter().any(differs))
        }
        _ => false,
    };
    match aggregate.aggr_expr.iter().any(is_other) {
        true => Ok(Transformed::no(plan)),
        false => rule.rewrite(plan, config),
    }
}
