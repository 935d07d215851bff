//! `UnnestedKeys`: what is a key of some rows is none of them with a list unnested, which repeats it.
//!
//! What must hold: DataFusion takes the keys of what an Unnest reads for keys of what it gives. Nothing is planned over such a key
//! (GROUP BY adds what it decides), and no rule reads one (DISTINCT, join and group keys would go).

use super::unnested_json::with_unnested_json;
use datafusion::common::tree_node::{Transformed, TreeNodeRecursion};
use datafusion::common::{FunctionalDependencies, Result};
use datafusion::logical_expr::LogicalPlan;
use datafusion::logical_expr::planner::{
    PlannedRelation, RelationPlanner, RelationPlannerContext, RelationPlanning,
};
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};
use datafusion::sql::sqlparser::ast::TableFactor;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Takes such keys from each relation of a FROM, as the first of the planners, and has what is unnested from lists of JSON be JSON.
#[derive(Debug, Default)]
pub(super) struct UnnestedKeys {
    /// Whether the relation that comes next is the one that was just handed on to the other planners.
    is_handed_on: AtomicBool,
}

impl RelationPlanner for UnnestedKeys {
    fn plan_relation(
        &self,
        relation: TableFactor,
        context: &mut dyn RelationPlannerContext,
    ) -> Result<RelationPlanning> {
        if self.is_handed_on.swap(false, Ordering::Relaxed) {
            return Ok(RelationPlanning::Original(Box::new(relation)));
        }
        self.is_handed_on.store(true, Ordering::Relaxed);
        let plan = context.plan(relation)?;
        // Relations within it had their turn.
        let plan = match has_keys(&plan) {
            true => without_false_keys(plan)?.data,
            false => plan,
        };
        let plan = with_unnested_json(plan)?;
        let planned = PlannedRelation::new(plan, None);
        Ok(RelationPlanning::Planned(Box::new(planned)))
    }
}

/// The same before a rule that reads keys: an Unnest whose expressions were rewritten has them again.
#[derive(Debug)]
pub(super) struct ForgetUnnestedKeys;

impl OptimizerRule for ForgetUnnestedKeys {
    fn name(&self) -> &str {
        "forget_unnested_keys"
    }

    fn supports_rewrite(&self) -> bool {
        true
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        _: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        without_false_keys(plan)
    }
}

fn without_false_keys(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let mut has_any = false;
    plan.apply_with_subqueries(|plan| {
        has_any |= matches!(plan, LogicalPlan::Unnest(_)) && has_keys(plan);
        Ok(match has_any {
            true => TreeNodeRecursion::Stop,
            false => TreeNodeRecursion::Continue,
        })
    })?;
    match has_any {
        true => plan.transform_up_with_subqueries(with_true_keys),
        false => Ok(Transformed::no(plan)),
    }
}

fn has_keys(plan: &LogicalPlan) -> bool {
    !plan.schema().functional_dependencies().is_empty()
}

/// A plan over others whose keys are true.
fn with_true_keys(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    match plan {
        plan if !has_keys(&plan) => Ok(Transformed::no(plan)),
        LogicalPlan::Unnest(mut unnest) => {
            let schema = Arc::unwrap_or_clone(unnest.schema);
            let none = FunctionalDependencies::empty();
            unnest.schema = Arc::new(schema.with_functional_dependencies(none)?);
            Ok(Transformed::yes(LogicalPlan::Unnest(unnest)))
        }
        plan => plan.recompute_schema().map(Transformed::yes),
    }
}
