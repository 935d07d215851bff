//! `SpillingHashJoin`: runs a hash join as planned, and divides it when its build side does not fit.

use super::gate::Gate;
use super::scatter::{FILES, Spilled, scatter};
use super::spilled::SpilledExec;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{DataFusionError, JoinType, Result, Statistics};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::joins::{HashJoinExec, PartitionMode};
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, MetricsSet, SpillMetrics};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    ChildrenPropertiesMode, DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties,
    ReplaceChildrenOptions,
};
use futures::{StreamExt, TryStreamExt};
use parking_lot::Mutex;
use std::fmt;
use std::sync::Arc;
use tokio::sync::OnceCell;

/// Rows that this many divisions leave together mostly have one key, which no division separates.
const MOST_LEVELS: usize = 5;

/// Lets every hash join of a plan spill. The last rule: those before it look for hash joins by their type.
#[derive(Debug)]
pub(crate) struct SpillingJoins;

impl PhysicalOptimizerRule for SpillingJoins {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let spilling = plan.transform_up(|node| match node.downcast_ref::<HashJoinExec>() {
            Some(join) if can_be_divided(join) => {
                let join = SpillingHashJoin::try_new(join, 0)?;
                Ok(Transformed::yes(Arc::new(join) as Arc<dyn ExecutionPlan>))
            }
            _ => Ok(Transformed::no(node)),
        });
        Ok(spilling?.data)
    }

    fn name(&self) -> &str {
        "spilling_joins"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// Not where the rows' order was promised, nor where one NULL of the other side decides about every row.
fn can_be_divided(join: &HashJoinExec) -> bool {
    join.properties().output_ordering().is_none() && !join.null_aware
}

struct SpillingHashJoin {
    /// The planned join over the gates.
    join: HashJoinExec,
    left: Arc<dyn ExecutionPlan>,
    right: Arc<dyn ExecutionPlan>,
    left_gate: Arc<Gate>,
    right_gate: Arc<Gate>,
    /// How often its rows were divided before.
    level: usize,
    divided: Arc<Divided>,
    metrics: ExecutionPlanMetricsSet,
}

/// What the partitions of a join with one build side for all know of each other when it is divided.
#[derive(Default)]
struct Divided {
    left: OnceCell<Vec<Option<Spilled>>>,
    /// Rows of the right side, of the partitions that have divided theirs.
    right: Mutex<Vec<Vec<Option<Spilled>>>>,
}

impl SpillingHashJoin {
    fn try_new(join: &HashJoinExec, level: usize) -> Result<Self> {
        let (left, right) = (Arc::clone(join.left()), Arc::clone(join.right()));
        let left_gate = Arc::new(Gate::keeping(Arc::clone(&left)));
        let right_gate = Gate::releasing(Arc::clone(&right), Arc::clone(&left_gate));
        let right_gate = Arc::new(right_gate);
        let gates: Vec<Arc<dyn ExecutionPlan>> = vec![left_gate.clone(), right_gate.clone()];
        Ok(Self {
            join: join.builder().with_new_children(gates)?.build()?,
            left,
            right,
            left_gate,
            right_gate,
            level,
            divided: Arc::default(),
            metrics: ExecutionPlanMetricsSet::new(),
        })
    }

    fn shares_build_side(&self) -> bool {
        self.join.partition_mode() == &PartitionMode::CollectLeft
    }
}

impl fmt::Debug for SpillingHashJoin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SpillingHashJoin({:?})", self.join.join_type())
    }
}

impl DisplayAs for SpillingHashJoin {
    fn fmt_as(&self, t: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.join.fmt_as(t, f)
    }
}

impl ExecutionPlan for SpillingHashJoin {
    fn name(&self) -> &'static str {
        "HashJoinExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.join.properties()
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.left, &self.right]
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let join = self.join.builder().with_new_children(children)?.build()?;
        Ok(Arc::new(Self::try_new(&join, self.level)?))
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
        self.replace_children(children, options)
    }

    /// A recursive query runs its part again: the build side is another one then.
    fn reset_state(self: Arc<Self>) -> Result<Arc<dyn ExecutionPlan>> {
        let inputs = vec![Arc::clone(&self.left), Arc::clone(&self.right)];
        let join = self.join.builder().reset_state();
        let join = join.with_new_children(inputs)?.build()?;
        Ok(Arc::new(Self::try_new(&join, self.level)?))
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let mut planned = self.join.execute(partition, Arc::clone(&context))?;
        let shared = self.shares_build_side();
        let template = self.join.builder().reset_state();
        let division = Division {
            join: template.with_fetch(None).build()?,
            left_gate: Arc::clone(&self.left_gate),
            right_gate: Arc::clone(&self.right_gate),
            shared: shared.then(|| Arc::clone(&self.divided)),
            partition,
            level: self.level,
            metrics: SpillMetrics::new(&self.metrics, partition),
            context,
        };
        let fetch = self.join.fetch();
        let rows = async move {
            let first = planned.next().await;
            if let Some(Err(error)) = &first
                && division.can_begin(error)
            {
                drop(planned);
                let rows = division.rows().await?;
                return Ok(first_rows(rows, fetch).boxed());
            }
            let first = futures::stream::iter(first);
            Ok::<_, DataFusionError>(first.chain(planned).boxed())
        };
        Ok(Box::pin(RecordBatchStreamAdapter::new(
            self.schema(),
            futures::stream::once(rows).try_flatten(),
        )))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        let mut all = self.join.metrics()?;
        for metric in self.metrics.clone_inner().iter() {
            all.push(Arc::clone(metric));
        }
        Some(all)
    }

    fn fetch(&self) -> Option<usize> {
        self.join.fetch()
    }

    fn partition_statistics(&self, _partition: Option<usize>) -> Result<Arc<Statistics>> {
        Ok(Arc::new(Statistics::new_unknown(&self.schema())))
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        self.join.apply_expressions(f)
    }
}

/// The first rows of a stream, all without a number.
fn first_rows(
    rows: SendableRecordBatchStream,
    number: Option<usize>,
) -> impl futures::Stream<Item = Result<RecordBatch>> {
    let left = number.unwrap_or(usize::MAX);
    futures::stream::try_unfold((rows, left), |(mut rows, left)| async move {
        if left == 0 {
            return Ok(None);
        }
        Ok(match rows.next().await.transpose()? {
            None => None,
            Some(batch) => {
                let batch = batch.slice(0, batch.num_rows().min(left));
                let left = left - batch.num_rows();
                Some((batch, (rows, left)))
            }
        })
    })
}

/// One partition of a join whose build side did not fit.
struct Division {
    /// What the pieces are joined like.
    join: HashJoinExec,
    left_gate: Arc<Gate>,
    right_gate: Arc<Gate>,
    shared: Option<Arc<Divided>>,
    partition: usize,
    level: usize,
    metrics: SpillMetrics,
    context: Arc<TaskContext>,
}

impl Division {
    /// Whether an error says that memory was too little for the build side, and nothing else has happened yet.
    fn can_begin(&self, error: &DataFusionError) -> bool {
        let left = if self.shared.is_some() {
            0
        } else {
            self.partition
        };
        matches!(error.find_root(), DataFusionError::ResourcesExhausted(_))
            && self.level < MOST_LEVELS
            && !self.left_gate.failed(left)
            && !self.right_gate.was_read(self.partition)
    }

    async fn rows(self) -> Result<SendableRecordBatchStream> {
        let (lefts, rights) = match &self.shared {
            None => {
                let left = self.divide_left(self.partition).await?;
                (
                    left,
                    self.divide_right()
                        .await?
                        .into_iter()
                        .map(Vec::from_iter)
                        .collect(),
                )
            }
            Some(divided) => {
                let left = divided.left.get_or_try_init(|| self.divide_left(0)).await?;
                let mine = self.divide_right().await?;
                let mut rights: Vec<Vec<Spilled>> = vec![vec![]; FILES];
                {
                    let mut right = divided.right.lock();
                    right.push(mine);
                    // Rows of the build side that nothing matches are known when all partitions are divided: the last
                    // one joins for all.
                    let partitions = self
                        .right_gate
                        .properties()
                        .output_partitioning()
                        .partition_count();
                    if right.len() < partitions {
                        return Ok(self.stream(futures::stream::empty()));
                    }
                    for files in right.drain(..) {
                        for (all, file) in rights.iter_mut().zip(files) {
                            all.extend(file);
                        }
                    }
                }
                (left.clone(), rights)
            }
        };
        let pieces = lefts.into_iter().map(Vec::from_iter).zip(rights);
        let pieces: Vec<(Vec<Spilled>, Vec<Spilled>)> = pieces.collect();
        let schema = self.join.schema();
        let rows = futures::stream::iter(pieces)
            .map(move |(left, right)| self.piece(left, right))
            .try_flatten();
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, rows)))
    }

    fn stream(
        &self,
        rows: impl futures::Stream<Item = Result<RecordBatch>> + Send + 'static,
    ) -> SendableRecordBatchStream {
        Box::pin(RecordBatchStreamAdapter::new(self.join.schema(), rows))
    }

    async fn divide_left(&self, partition: usize) -> Result<Vec<Option<Spilled>>> {
        let rows = self.left_gate.take_back(partition);
        let keys: Vec<_> = self.join.on().iter().map(|on| Arc::clone(&on.0)).collect();
        let schema = self.left_gate.schema();
        scatter(
            rows,
            &schema,
            &keys,
            self.level,
            &self.context,
            &self.metrics,
        )
        .await
    }

    async fn divide_right(&self) -> Result<Vec<Option<Spilled>>> {
        let rows = self.right_gate.take_back(self.partition);
        let keys: Vec<_> = self.join.on().iter().map(|on| Arc::clone(&on.1)).collect();
        let schema = self.right_gate.schema();
        scatter(
            rows,
            &schema,
            &keys,
            self.level,
            &self.context,
            &self.metrics,
        )
        .await
    }

    /// Joins the rows of one pair of files.
    fn piece(&self, left: Vec<Spilled>, right: Vec<Spilled>) -> Result<SendableRecordBatchStream> {
        let nothing = match self.join.join_type() {
            JoinType::Inner | JoinType::LeftSemi | JoinType::RightSemi => {
                left.is_empty() || right.is_empty()
            }
            _ => left.is_empty() && right.is_empty(),
        };
        if nothing {
            return Ok(self.stream(futures::stream::empty()));
        }
        let left = SpilledExec::new(self.left_gate.schema(), left);
        let right = SpilledExec::new(self.right_gate.schema(), right);
        let join = self
            .join
            .builder()
            .with_partition_mode(PartitionMode::Partitioned)
            .with_new_children(vec![Arc::new(left), Arc::new(right)])?
            .recompute_properties()
            .build()?;
        SpillingHashJoin::try_new(&join, self.level + 1)?.execute(0, Arc::clone(&self.context))
    }
}
