//! `DividedJoin`: one partition of a join whose build side did not fit.

use super::exec::SpillingHashJoin;
use super::gate::Gate;
use super::promised_order::PromisedOrder;
use super::scatter::{Division, FILES, Scattered, Spilled};
use super::spilled::spilled;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::{DataFusionError, JoinType, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::joins::{HashJoinExec, PartitionMode};
use datafusion::physical_plan::metrics::SpillMetrics;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::{StreamExt, TryStreamExt};
use parking_lot::Mutex;
use std::sync::Arc;
use tokio::sync::OnceCell;

/// Rows that this many divisions leave together mostly have one key, which no division separates.
const MOST_LEVELS: usize = 5;

/// What the partitions of a join with one build side for all know of each other when it is divided.
#[derive(Default)]
pub(super) struct Divided {
    left: OnceCell<Scattered>,
    /// Rows of the right side, of the partitions that have divided theirs.
    right: Mutex<Vec<Scattered>>,
}

pub(super) struct DividedJoin {
    /// What the pieces are joined like.
    pub(super) join: HashJoinExec,
    /// Whether it is NOT IN: where the right side has a NULL there is no row, and where it has none at all there is every row.
    pub(super) null_aware: bool,
    /// The order that its rows must have.
    pub(super) order: PromisedOrder,
    /// Whether rows must come out in the partition that their right side came in. What gives rows of the left side that nothing
    /// matched promises no partitions.
    pub(super) keeps_partitions: bool,
    pub(super) left_gate: Arc<Gate>,
    pub(super) right_gate: Arc<Gate>,
    pub(super) shared: Option<Arc<Divided>>,
    pub(super) partition: usize,
    pub(super) level: usize,
    pub(super) metrics: SpillMetrics,
    pub(super) context: Arc<TaskContext>,
}

/// Rows whose keys had the same hash.
type Piece = (Vec<Spilled>, Vec<Spilled>);

impl DividedJoin {
    /// Whether an error says that memory was too little for the build side, and nothing else has happened yet.
    pub(super) fn can_begin(&self, error: &DataFusionError) -> bool {
        let left = match &self.shared {
            Some(_) => 0,
            None => self.partition,
        };
        matches!(error.find_root(), DataFusionError::ResourcesExhausted(_))
            && self.level < MOST_LEVELS
            && !self.left_gate.failed(left)
            && !self.right_gate.was_read(self.partition)
    }

    pub(super) async fn rows(self) -> Result<SendableRecordBatchStream> {
        let pieces = match self.shared.clone() {
            None => {
                let left = self.divide_left(self.partition).await?;
                let right = self.divide_right().await?;
                self.pieces(left, vec![right])
            }
            Some(divided) => {
                let left = divided.left.get_or_try_init(|| self.divide_left(0)).await?;
                let mine = self.divide_right().await?;
                if self.keeps_partitions {
                    let pieces = self.pieces(left.clone(), vec![mine]);
                    return self.joined(pieces);
                }
                let mut right = divided.right.lock();
                right.push(mine);
                // Rows of the build side that nothing matches are known when all partitions are divided: the last one joins
                // for all.
                if right.len() < self.right_gate.partitions() {
                    return Ok(self.stream(futures::stream::empty()));
                }
                self.pieces(left.clone(), std::mem::take(&mut *right))
            }
        };
        self.joined(pieces)
    }

    /// The rows of all pieces.
    fn joined(mut self, pieces: Vec<Piece>) -> Result<SendableRecordBatchStream> {
        let order = std::mem::take(&mut self.order);
        let context = Arc::clone(&self.context);
        let schema = self.join.schema();
        let rows = futures::stream::iter(pieces)
            .map(move |piece| self.piece(piece))
            .try_flatten();
        order.restore(
            Box::pin(RecordBatchStreamAdapter::new(schema, rows)),
            context,
        )
    }

    /// Pairs of files to join.
    fn pieces(&self, left: Scattered, rights: Vec<Scattered>) -> Vec<Piece> {
        let mut right_files: Vec<Vec<Spilled>> = vec![vec![]; FILES];
        let right_has_null = rights.iter().any(|right| right.null_keys.is_some());
        for right in rights {
            for (all, file) in right_files.iter_mut().zip(right.files) {
                all.extend(file);
            }
        }
        if self.null_aware && right_has_null {
            return vec![];
        }
        let right_is_empty = right_files.iter().all(Vec::is_empty);
        let lefts = left.files.into_iter().map(Vec::from_iter);
        let mut pieces: Vec<Piece> = lefts.zip(right_files).collect();
        if self.null_aware && right_is_empty {
            pieces.push((Vec::from_iter(left.null_keys), vec![]));
        }
        pieces
    }

    fn stream(
        &self,
        rows: impl futures::Stream<Item = Result<RecordBatch>> + Send + 'static,
    ) -> SendableRecordBatchStream {
        Box::pin(RecordBatchStreamAdapter::new(self.join.schema(), rows))
    }

    async fn divide_left(&self, partition: usize) -> Result<Scattered> {
        let keys = self.join.on().iter().map(|(left, _)| Arc::clone(left));
        self.divide(&self.left_gate, partition, keys.collect())
            .await
    }

    async fn divide_right(&self) -> Result<Scattered> {
        let keys = self.join.on().iter().map(|(_, right)| Arc::clone(right));
        self.divide(&self.right_gate, self.partition, keys.collect())
            .await
    }

    /// Divides what comes through one gate.
    async fn divide(
        &self,
        gate: &Gate,
        partition: usize,
        keys: Vec<Arc<dyn PhysicalExpr>>,
    ) -> Result<Scattered> {
        let division = Division {
            schema: &gate.schema(),
            keys: &keys,
            level: self.level,
            nulls_apart: self.null_aware,
            context: &self.context,
            metrics: &self.metrics,
        };
        division.scatter(gate.take_back(partition)).await
    }

    /// Joins the rows of one pair of files.
    fn piece(&self, (left, right): Piece) -> Result<SendableRecordBatchStream> {
        let nothing = match self.join.join_type() {
            JoinType::Inner | JoinType::LeftSemi | JoinType::RightSemi => {
                left.is_empty() || right.is_empty()
            }
            _ => left.is_empty() && right.is_empty(),
        };
        if nothing {
            return Ok(self.stream(futures::stream::empty()));
        }
        let left = spilled(self.left_gate.schema(), left, &self.context);
        let right = spilled(self.right_gate.schema(), right, &self.context);
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
