//! `KeyedRecursionExec`: runs the recursive part as long as it gives rows.

use super::keyed_rows::{KeyedRows, with_rows};
use super::turns::{Turn, TurnExec, read_name};
use crate::heed::heeding;
use crate::memory::{Claim, row_bytes};
use crate::plan_node::{new_children_recomputed, no_expressions};
use datafusion::arrow::array::RecordBatch;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Result, internal_err};
use datafusion::execution::memory_pool::MemoryReservation;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::execution_plan::reset_plan_states;
use datafusion::physical_plan::recursive_query::RecursiveQueryExec;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, Distribution, ExecutionPlan, InputDistributionRequirements,
    PlanProperties, ReplaceChildrenOptions,
};
use futures::{StreamExt, TryStreamExt};
use parking_lot::Mutex;
use std::fmt;
use std::sync::Arc;

/// Puts the operator in the place of the library's, where the name of a recursive query says that it has a key.
#[derive(Debug)]
pub(crate) struct KeyedRecursions;

impl PhysicalOptimizerRule for KeyedRecursions {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let keyed = plan.transform_up(|node| {
            let Some(planned) = node.downcast_ref::<RecursiveQueryExec>() else {
                return Ok(Transformed::no(node));
            };
            let Some((number, of_key)) = read_name(planned.name()) else {
                return Ok(Transformed::no(node));
            };
            let parts = [planned.static_term(), planned.recursive_term()].map(Arc::clone);
            Ok(Transformed::yes(Arc::new(KeyedRecursionExec {
                number,
                of_key,
                parts,
                properties: Arc::clone(node.properties()),
            }) as _))
        });
        Ok(keyed?.data)
    }

    fn name(&self) -> &str {
        "keyed_recursions"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

struct KeyedRecursionExec {
    number: u64,
    /// Columns.
    of_key: Vec<usize>,
    /// The static one, and the recursive one.
    parts: [Arc<dyn ExecutionPlan>; 2],
    properties: Arc<PlanProperties>,
}

impl fmt::Debug for KeyedRecursionExec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyedRecursionExec")
    }
}

impl DisplayAs for KeyedRecursionExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let schema = self.schema();
        let of_key = self.of_key.iter().filter_map(|at| schema.fields().get(*at));
        let of_key: Vec<&str> = of_key.map(|field| field.name().as_str()).collect();
        write!(f, "KeyedRecursionExec: key=[{}]", of_key.join(", "))
    }
}

impl ExecutionPlan for KeyedRecursionExec {
    no_expressions!();
    new_children_recomputed!();

    fn name(&self) -> &'static str {
        "KeyedRecursionExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        self.parts.iter().collect()
    }

    fn input_distribution_requirements(&self) -> InputDistributionRequirements {
        let one = || Distribution::SinglePartition;
        InputDistributionRequirements::new(vec![one(), one()])
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false, false]
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let Ok(parts) = children.try_into() else {
            return internal_err!("a recursive query has two parts");
        };
        Ok(Arc::new(Self {
            number: self.number,
            of_key: self.of_key.clone(),
            parts,
            properties: Arc::clone(&self.properties),
        }))
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        if partition != 0 {
            return internal_err!("a recursive query has one partition");
        }
        let [first, recursive] = &self.parts;
        let schema = self.schema();
        let turn = Arc::new(Turn {
            last: Mutex::default(),
            all: Mutex::new(KeyedRows::new(&self.of_key, &schema, &context)?),
        });
        let reading = Arc::clone(recursive).transform_up(|node| {
            Ok(match node.downcast_ref::<TurnExec>() {
                Some(reads) if reads.number == self.number => {
                    Transformed::yes(Arc::new(reads.reading(&turn)) as _)
                }
                _ => Transformed::no(node),
            })
        });
        let turns = Turns {
            first: Arc::clone(first),
            recursive: reading?.data,
            reservation: Claim::Held.register("a turn of USING KEY", context.memory_pool()),
            context: Arc::clone(&context),
            turn,
        };
        let rows = futures::stream::once(turns.run()).try_flatten();
        let rows = RecordBatchStreamAdapter::new(schema, rows);
        Ok(heeding(Box::pin(rows), &context))
    }
}

/// A query that runs.
struct Turns {
    first: Arc<dyn ExecutionPlan>,
    recursive: Arc<dyn ExecutionPlan>,
    /// Of the rows that a turn reads, and of those that it gives.
    reservation: MemoryReservation,
    context: Arc<TaskContext>,
    turn: Arc<Turn>,
}

impl Turns {
    /// The last rows of all keys.
    async fn run(self) -> Result<SendableRecordBatchStream> {
        let schema = self.first.schema();
        let (mut rows, mut held) = self.rows_of(&self.first, 0).await?;
        while !rows.is_empty() {
            self.turn.give(rows)?;
            let again = reset_plan_states(Arc::clone(&self.recursive))?;
            let read = held;
            (rows, held) = self.rows_of(&again, read).await?;
            self.reservation.shrink(read);
        }
        let size = self.context.session_config().batch_size();
        let (turn, end) = (Arc::clone(&self.turn), self.turn.all.lock().len());
        let batches = (0..end).step_by(size).map({
            let schema = Arc::clone(&schema);
            move |from| {
                let columns = turn.all.lock().rows(from, size)?;
                with_rows(&schema, &columns, size.min(end - from))
            }
        });
        let batches = futures::stream::iter(batches).boxed();
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, batches)))
    }

    /// The rows of a part, and what they take beside `held` bytes.
    async fn rows_of(
        &self,
        part: &Arc<dyn ExecutionPlan>,
        held: usize,
    ) -> Result<(Vec<RecordBatch>, usize)> {
        let rows = part.execute(0, Arc::clone(&self.context))?;
        let mut rows = heeding(rows, &self.context);
        let (mut batches, mut bytes) = (vec![], 0);
        while let Some(batch) = rows.next().await.transpose()? {
            if batch.num_rows() > 0 {
                bytes += row_bytes(&batch)?;
                self.reservation.try_resize(held + bytes)?;
                batches.push(batch);
            }
        }
        Ok((batches, bytes))
    }
}
