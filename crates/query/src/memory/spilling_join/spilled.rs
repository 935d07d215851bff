//! Rows that were written to spill files, as an input of a join.

use super::scatter::Spilled;
use crate::memory::rows::RowsExec;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::execution::TaskContext;
use datafusion::physical_plan::SpillManager;
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, SpillMetrics};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::TryStreamExt;
use std::sync::Arc;

/// One partition: the files one after the other.
pub(super) fn spilled(schema: SchemaRef, files: Vec<Spilled>, context: &TaskContext) -> RowsExec {
    let metrics = SpillMetrics::new(&ExecutionPlanMetricsSet::new(), 0);
    let reader = SpillManager::new(context.runtime_env(), metrics, Arc::clone(&schema));
    let rows_of = Arc::clone(&schema);
    let make = move || {
        let reader = reader.clone();
        let streams = files.clone().into_iter();
        let streams = streams.map(move |file| reader.read_spill_as_stream_unbuffered(file, None));
        let rows = futures::stream::iter(streams).try_flatten();
        Ok(Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&rows_of), rows)) as _)
    };
    RowsExec::new(schema, Box::new(make))
}
