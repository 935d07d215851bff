//! `KeptRows`: rows that a statement keeps, and may read several times.
//!
//! What must hold: they are counted; when they are refused memory they lie in a spill file.

use super::row_file::{RowFile, StoredRows};
use super::{Claim, row_bytes};
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::streaming::StreamingTable;
use datafusion::common::Result;
use datafusion::datasource::provider_as_source;
use datafusion::execution::memory_pool::MemoryReservation;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::TableSource;
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, SpillMetrics};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::PartitionStream;
use futures::StreamExt;
use std::fmt;
use std::sync::Arc;

/// Rows that come.
pub struct KeepRows {
    schema: SchemaRef,
    held: Vec<RecordBatch>,
    file: Option<RowFile>,
    rows: usize,
    reservation: MemoryReservation,
    context: Arc<TaskContext>,
}

impl KeepRows {
    /// Room for rows of one schema, counted as an operator of the statement.
    pub fn new(schema: SchemaRef, context: &Arc<TaskContext>) -> Self {
        Self {
            schema,
            held: vec![],
            file: None,
            rows: 0,
            reservation: // A window's share leaves operators what they need to go on.
                Claim::Partition.register("WindowAggExec[kept rows]", context.memory_pool()),
            context: Arc::clone(context),
        }
    }

    /// Takes rows; what does not fit the memory limit is spilled.
    ///
    /// # Errors
    /// What writing a spill file gives.
    pub fn push(&mut self, batch: RecordBatch) -> Result<()> {
        if batch.num_rows() == 0 {
            return Ok(());
        }
        self.rows += batch.num_rows();
        if let Some(file) = &mut self.file {
            return file.push(batch);
        }
        let bytes = row_bytes(&batch)?;
        self.held.push(batch);
        if self.reservation.try_grow(bytes).is_ok() {
            return Ok(());
        }
        let metrics = SpillMetrics::new(&ExecutionPlanMetricsSet::new(), 0);
        let mut file = RowFile::create(Arc::clone(&self.schema), &self.context, &metrics)?;
        for batch in self.held.drain(..) {
            file.push(batch)?;
        }
        self.reservation.free();
        self.file = Some(file);
        Ok(())
    }

    /// No more rows come.
    ///
    /// # Errors
    /// What writing a spill file gives.
    pub fn finish(self) -> Result<KeptRows> {
        Ok(KeptRows {
            schema: self.schema,
            held: self.held.into(),
            stored: self.file.map(RowFile::finish).transpose()?,
            rows: self.rows,
            columns: None,
            then: None,
            _reservation: Arc::new(self.reservation),
        })
    }
}

/// Rows that were kept.
#[derive(Clone)]
pub struct KeptRows {
    schema: SchemaRef,
    held: Arc<[RecordBatch]>,
    stored: Option<StoredRows>,
    rows: usize,
    columns: Option<Arc<[usize]>>,
    then: Option<Arc<KeptRows>>,
    _reservation: Arc<MemoryReservation>,
}

impl KeptRows {
    /// How many rows were taken.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The same rows, of these columns.
    pub fn project(&self, columns: &[usize]) -> Result<Self> {
        Ok(Self {
            schema: Arc::new(self.schema.project(columns)?),
            columns: Some(columns.into()),
            ..self.clone()
        })
    }

    /// The same rows, and then others with these columns.
    pub fn followed_by(mut self, rows: &Self) -> Self {
        self.rows += rows.rows;
        self.then = Some(Arc::new(rows.clone()));
        self
    }

    /// The rows in their order.
    pub fn stream(&self) -> SendableRecordBatchStream {
        let held = self.held.to_vec();
        let rows = match &self.stored {
            Some(stored) => stored.forward(),
            None => Box::pin(RecordBatchStreamAdapter::new(
                Arc::clone(&self.schema),
                futures::stream::iter(held.into_iter().map(Ok)),
            )),
        };
        let columns = self.columns.clone();
        let rows = rows.map(move |batch| match &columns {
            Some(columns) => Ok(batch?.project(columns)?),
            None => batch,
        });
        let then = self.then.iter().map(|then| then.stream());
        let then = futures::stream::iter(then.collect::<Vec<_>>()).flatten();
        let schema = Arc::clone(&self.schema);
        Box::pin(RecordBatchStreamAdapter::new(schema, rows.chain(then)))
    }

    /// The rows as a table.
    pub fn source(&self) -> Result<Arc<dyn TableSource>> {
        let rows: Arc<dyn PartitionStream> = Arc::new(self.clone());
        let table = StreamingTable::try_new(Arc::clone(&self.schema), vec![rows])?;
        Ok(provider_as_source(Arc::new(table)))
    }
}

impl fmt::Debug for KeptRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeptRows({})", self.rows)
    }
}

impl PartitionStream for KeptRows {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, _: Arc<TaskContext>) -> SendableRecordBatchStream {
        self.stream()
    }
}
