//! Which scans feed operators that keep batches.
//!
//! A batch is a slice of a row group, and whoever keeps one keeps, and counts, all of its row group. Where memory is scarce a
//! scan copies its batches for such operators. Aggregates let each batch go at once, and a sort of all rows keeps all of a row
//! group anyway: below them nothing is copied.

use super::source::ScanSource;
use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::datasource::source::DataSourceExec;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::{ChildrenPropertiesMode, ExecutionPlan, ReplaceChildrenOptions};
use std::sync::Arc;

/// Tells scans whether their batches are kept.
#[derive(Debug)]
pub struct KeptBatches;

impl PhysicalOptimizerRule for KeptBatches {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        told(plan, true)
    }

    fn name(&self) -> &str {
        "kept_batches"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// The plan with its scans told, when what it gives is kept, or is not.
fn told(plan: Arc<dyn ExecutionPlan>, kept: bool) -> Result<Arc<dyn ExecutionPlan>> {
    if let Some(scan) = plan.downcast_ref::<DataSourceExec>() {
        return Ok(match scan.data_source().downcast_ref::<ScanSource>() {
            Some(source) if !kept => Arc::new(DataSourceExec::new(Arc::new(source.let_go()))),
            _ => plan,
        });
    }
    let children = plan.children();
    let mut changed = false;
    let mut new = Vec::with_capacity(children.len());
    for (at, child) in children.into_iter().enumerate() {
        let told = told(Arc::clone(child), keeps(plan.as_ref(), at, kept))?;
        changed |= !Arc::ptr_eq(&told, child);
        new.push(told);
    }
    match changed {
        true => plan.replace_children(
            new,
            ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute),
        ),
        false => Ok(plan),
    }
}

/// Whether a node keeps batches of its `at`-th input, or hands them to who keeps them. In doubt it does.
fn keeps(node: &dyn ExecutionPlan, at: usize, kept: bool) -> bool {
    if let Some(aggregate) = node.downcast_ref::<AggregateExec>() {
        let lets_go = |name: &str| {
            let name = name.to_ascii_lowercase();
            let known = [
                "count",
                "sum",
                "avg",
                "mean",
                "min",
                "max",
                "stddev",
                "var",
                "bool_",
                "approx_distinct",
            ];
            known.iter().any(|known| name.starts_with(known))
        };
        let mut functions = aggregate.aggr_expr().iter().map(|expr| expr.fun().name());
        return !functions.all(lets_go);
    }
    if let Some(sort) = node.downcast_ref::<SortExec>() {
        return sort.fetch().is_some();
    }
    match node.name() {
        "FilterExec"
        | "ProjectionExec"
        | "CoalesceBatchesExec"
        | "CoalescePartitionsExec"
        | "CooperativeExec" => kept,
        // The build side is the left one.
        "HashJoinExec" => at == 0 || kept,
        _ => true,
    }
}
