//! `RowIds`: the rows that UPDATE or DELETE found, each once, in little memory however many they are.

use crate::exec::query;
use crate::statement::Statement;
use crate::transaction::Write;
use datafusion::arrow::array::{Array, AsArray, BooleanArray, UInt64Array};
use datafusion::arrow::compute::filter_record_batch;
use datafusion::arrow::datatypes::UInt64Type;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::logical_expr::LogicalPlan;
use hushdb_query::plan::TableName;
use hushdb_sql::{Error, Result};
use roaring::RoaringTreemap;

/// Rows that are deleted together.
const AT_ONCE: usize = 1 << 18;

/// Ids, which stand in the first column of a statement's rows.
#[derive(Default)]
pub(in crate::exec) struct RowIds(RoaringTreemap);

impl RowIds {
    /// Takes all ids that a plan gives.
    pub(in crate::exec) fn of(statement: &Statement<'_>, plan: &LogicalPlan) -> Result<Self> {
        let mut ids = Self::default();
        for batch in query::stream(statement, plan)? {
            ids.0.extend(row_ids_of(&batch?)?.values());
        }
        Ok(ids)
    }

    /// Takes the ids of a batch and keeps its rows whose id is new: a row that a join found twice counts once, by its first match.
    pub(in crate::exec) fn take(&mut self, batch: RecordBatch) -> Result<RecordBatch> {
        let ids = row_ids_of(&batch)?.values();
        let first: BooleanArray = ids.iter().map(|id| Some(self.0.insert(*id))).collect();
        Ok(match first.true_count() == batch.num_rows() {
            true => batch,
            false => filter_record_batch(&batch, &first)?,
        })
    }

    /// Takes an id; whether it is new.
    pub(in crate::exec) fn insert(&mut self, id: u64) -> bool {
        self.0.insert(id)
    }

    /// Takes ids.
    pub(in crate::exec) fn extend(&mut self, ids: &[u64]) {
        self.0.extend(ids);
    }

    /// Deletes the rows; returns how many were there.
    pub(in crate::exec) fn delete(self, write: &mut Write<'_>, name: &TableName) -> Result<u64> {
        let mut ids = self.0.into_iter();
        let mut rows = 0;
        loop {
            let some: Vec<u64> = ids.by_ref().take(AT_ONCE).collect();
            if some.is_empty() {
                return Ok(rows);
            }
            rows += write.delete_rows(&name.schema, &name.name, &some)?;
        }
    }
}

/// Those of a batch.
pub(in crate::exec) fn row_ids_of(batch: &RecordBatch) -> Result<&UInt64Array> {
    let first = batch.columns().first();
    first
        .and_then(|ids| ids.as_primitive_opt::<UInt64Type>())
        .filter(|ids| ids.null_count() == 0)
        .ok_or_else(|| Error::internal("a DML plan gave no row ids"))
}
