//! How much memory a process may use, and where operators spill the rest.
//!
//! What must hold: operators and the buffer pool share one limit; what does not fit is written to sealed spill files and
//! nowhere else.

use datafusion::arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::Result;
use datafusion::execution::memory_pool::{MemoryLimit, MemoryPool};
use datafusion::physical_plan::{ChildrenPropertiesMode, ExecutionPlan, ReplaceChildrenOptions};
use std::sync::Arc;

mod budget;
mod claim;
mod kept_rows;
mod large_limits;
mod pieces;
mod resident;
mod row_file;
mod rows;
mod shared_rows;
mod sort;
mod spill_files;
mod spilling_join;
mod windows;

pub use budget::MemoryBudget;
pub use claim::Claim;
pub use kept_rows::{KeepRows, KeptRows};
pub use large_limits::LargeLimits;
pub use pieces::RepeatedLists;
pub(crate) use pieces::rows_at_once;
pub(crate) use shared_rows::{SharedRows, SharedRowsExec};
pub use sort::SpillingSorts;
pub use spill_files::{SealedTempFiles, default_spill_bytes, default_spill_directory};
pub use spilling_join::SpillingJoins;
pub use windows::AccountedWindows;

/// The operator over other inputs.
pub(crate) fn over(
    operator: &Arc<dyn ExecutionPlan>,
    inputs: Vec<Arc<dyn ExecutionPlan>>,
) -> Result<Arc<dyn ExecutionPlan>> {
    let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
    Arc::clone(operator).replace_children(inputs, options)
}

/// The limit of a pool in bytes.
pub fn limit_of(pool: &dyn MemoryPool) -> usize {
    match pool.memory_limit() {
        MemoryLimit::Finite(bytes) => bytes,
        _ => usize::MAX,
    }
}

/// The array without what its values do not need: views point into the buffers that they were read from.
pub fn compact(array: ArrayRef) -> ArrayRef {
    match array.data_type() {
        DataType::Utf8View => Arc::new(array.as_string_view().gc()),
        DataType::BinaryView => Arc::new(array.as_binary_view().gc()),
        _ => array,
    }
}

/// Bytes that the rows of a batch take, without what its buffers hold of other rows.
pub fn row_bytes(batch: &RecordBatch) -> Result<usize> {
    let columns = batch.columns().iter().map(|column| {
        let outside = match column.data_type() {
            DataType::Utf8View => column.as_string_view().total_buffer_bytes_used(),
            DataType::BinaryView => column.as_binary_view().total_buffer_bytes_used(),
            _ => 0,
        };
        Ok(column.to_data().get_slice_memory_size()? + outside)
    });
    columns.sum()
}
