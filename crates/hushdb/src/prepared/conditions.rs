//! `Conditions`: the CHECKs of a table, planned once for a prepared statement.
//!
//! What must hold: they are used only for a table with the columns and the CHECKs that they were made for.

use datafusion::arrow::array::{ArrayRef, AsArray};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::physical_expr::PhysicalExpr;
use hushdb_storage::{Check, Column, Shared, TableId, TableVersion};
use std::sync::Arc;

/// Conditions on the rows of a table.
pub(crate) struct Conditions {
    pub(crate) table_id: TableId,
    pub(crate) columns: Shared<Column>,
    pub(crate) checks: Vec<Check>,
    /// Of the rows.
    pub(crate) schema: SchemaRef,
    pub(crate) holds: Vec<Arc<dyn PhysicalExpr>>,
}

impl Conditions {
    /// Whether they were made for a table as it is now.
    pub(crate) fn suits(&self, table: &TableVersion) -> bool {
        self.table_id == table.id && self.columns == table.columns && self.checks == table.checks
    }

    /// Whether rows of the table hold them all; not either where one cannot be evaluated.
    pub(crate) fn hold(&self, arrays: &[ArrayRef]) -> bool {
        let rows = RecordBatch::try_new(Arc::clone(&self.schema), arrays.to_vec());
        let Ok(rows) = rows else {
            return false;
        };
        self.holds.iter().all(|condition| {
            let held = condition.evaluate(&rows);
            let held = held.and_then(|held| held.into_array(rows.num_rows()));
            // As in SQL's standard, a CHECK that is NULL holds.
            held.is_ok_and(|held| held.as_boolean().iter().all(|held| held != Some(false)))
        })
    }
}
