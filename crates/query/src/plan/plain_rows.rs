//! `PlainRows`: stands where DataFusion says of rows what is not true of them.
//!
//! What must hold: no plan relies on it that a column is constant, sorted or tells partitions apart where the column may be NULL
//! after all: as one of grouping sets, which is NULL in the sets without it, or of the side of an outer join that is filled up. Nor
//! that a column is constant, or equal to another, where it is so within one of the inputs of a UNION ALL: another input has another
//! constant, and a sort of each input that leaves the column out is none of all rows.

use crate::memory::over;
use crate::plan_node::{no_expressions, one_input};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{JoinType, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::EquivalenceProperties;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateInputMode};
use datafusion::physical_plan::joins::{HashJoinExec, NestedLoopJoinExec};
use datafusion::physical_plan::union::UnionExec;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, Partitioning,
    PlanProperties,
};
use hushdb_sql::stack::with_room;
use std::fmt;
use std::sync::Arc;

/// Puts it there. A first rule: the others read what plans say of their rows.
#[derive(Debug)]
pub(super) struct NoFalseClaims;

impl PhysicalOptimizerRule for NoFalseClaims {
    fn name(&self) -> &str {
        "no_false_claims"
    }

    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let true_plan = plan.transform_up(|node| {
            if node.downcast_ref::<AggregateExec>().is_some_and(makes_sets) {
                return Ok(Transformed::yes(PlainRows::of(node)));
            }
            if node
                .downcast_ref::<UnionExec>()
                .is_some_and(tells_inputs_apart)
            {
                return Ok(Transformed::yes(PlainRows::of(node)));
            }
            Ok(match with_plain_sides(&node) {
                Some(sides) => Transformed::yes(over(&node, sides)?),
                None => Transformed::no(node),
            })
        });
        Ok(true_plan?.data)
    }

    fn schema_check(&self) -> bool {
        true
    }
}

fn makes_sets(aggregate: &AggregateExec) -> bool {
    !aggregate.group_expr().is_single() && aggregate.mode().input_mode() == AggregateInputMode::Raw
}

/// Whether an input of several has constants or columns that are equal.
fn tells_inputs_apart(union: &UnionExec) -> bool {
    let mut inputs = union.inputs().iter();
    inputs.any(|input| !input.equivalence_properties().eq_group().is_empty())
}

/// The inputs of an outer join of which one has constants where rows without a partner have NULL.
fn with_plain_sides(node: &Arc<dyn ExecutionPlan>) -> Option<Vec<Arc<dyn ExecutionPlan>>> {
    let hash = node
        .downcast_ref::<HashJoinExec>()
        .map(|join| join.join_type());
    let nested = node.downcast_ref::<NestedLoopJoinExec>();
    let filled_up = match hash.or(nested.map(|join| join.join_type()))? {
        JoinType::Left => [false, true],
        JoinType::Right => [true, false],
        JoinType::Full => [true, true],
        _ => return None,
    };
    let mut has_any = false;
    let sides = node.children().into_iter().zip(filled_up);
    let sides = sides.map(|(side, filled_up)| {
        let is_claimed = filled_up && claims_constants(side);
        has_any |= is_claimed;
        match is_claimed {
            true => PlainRows::of(Arc::clone(side)),
            false => Arc::clone(side),
        }
    });
    let sides = sides.collect();
    has_any.then_some(sides)
}

/// Whether a plan has constants, or may say so later: joins say it or not, by which of their sides comes first.
fn claims_constants(plan: &Arc<dyn ExecutionPlan>) -> bool {
    let mut inputs = plan.children().into_iter();
    !plan.equivalence_properties().constants().is_empty()
        || inputs.any(|input| with_room(|| claims_constants(input)))
}

/// Gives the rows of its input, and says nothing of them.
#[derive(Debug)]
pub(super) struct PlainRows {
    input: Arc<dyn ExecutionPlan>,
    properties: Arc<PlanProperties>,
}

impl PlainRows {
    pub(super) fn of(input: Arc<dyn ExecutionPlan>) -> Arc<dyn ExecutionPlan> {
        let partitions = input.output_partitioning().partition_count();
        let properties = PlanProperties::new(
            EquivalenceProperties::new(input.schema()),
            Partitioning::UnknownPartitioning(partitions),
            input.pipeline_behavior(),
            input.boundedness(),
        );
        Arc::new(Self {
            input,
            properties: Arc::new(properties),
        })
    }

    fn with_input(&self, input: Arc<dyn ExecutionPlan>) -> Arc<dyn ExecutionPlan> {
        Self::of(input)
    }
}

impl DisplayAs for PlainRows {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.name())
    }
}

impl ExecutionPlan for PlainRows {
    one_input!("PlainRows");
    no_expressions!();

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        self.input.execute(partition, context)
    }
}
