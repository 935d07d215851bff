//! Which row groups a predicate can skip, judged by the segments' bounds.
//!
//! What must hold: pruning only ever skips a row group in which no row can pass; any doubt keeps it.

use super::TableScan;
use super::statistics::scalar;
use datafusion::arrow::array::{ArrayRef, BooleanArray, UInt64Array, new_null_array};
use datafusion::common::pruning::PruningStatistics;
use datafusion::common::{Column, ScalarValue};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_optimizer::pruning::PruningPredicateBuilder;
use hushdb_storage::RowGroup;
use std::collections::HashSet;
use std::sync::Arc;

/// One flag a row group: true where it has to be read.
pub(super) fn keep(
    scan: &TableScan,
    groups: &[Arc<RowGroup>],
    predicate: &Arc<dyn PhysicalExpr>,
) -> Vec<bool> {
    let all = vec![true; groups.len()];
    let builder = PruningPredicateBuilder::new().with_file_schema(Arc::clone(&scan.schema));
    let Ok(pruning) = builder.try_build(Arc::clone(predicate)) else {
        return all;
    };
    if pruning.always_true() {
        return all;
    }
    pruning.prune(&Bounds { scan, groups }).unwrap_or(all)
}

struct Bounds<'a> {
    scan: &'a TableScan,
    groups: &'a [Arc<RowGroup>],
}

impl Bounds<'_> {
    fn bound(&self, column: &Column, low: bool) -> Option<ArrayRef> {
        let column = self.scan.column(&column.name)?;
        let null = ScalarValue::try_from(&column.ty.arrow()).ok()?;
        let values = self.groups.iter().map(|group| {
            let segment = group.segments.iter().find(|s| s.column_id == column.id);
            segment
                .and_then(|s| if low { s.min.as_ref() } else { s.max.as_ref() })
                .and_then(|v| scalar(v, &column.ty))
                .unwrap_or_else(|| null.clone())
        });
        ScalarValue::iter_to_array(values).ok()
    }
}

impl PruningStatistics for Bounds<'_> {
    fn min_values(&self, column: &Column) -> Option<ArrayRef> {
        self.bound(column, true)
    }

    fn max_values(&self, column: &Column) -> Option<ArrayRef> {
        self.bound(column, false)
    }

    fn num_containers(&self) -> usize {
        self.groups.len()
    }

    fn null_counts(&self, column: &Column) -> Option<ArrayRef> {
        let Some(column) = self.scan.column(&column.name) else {
            return Some(new_null_array(
                &datafusion::arrow::datatypes::DataType::UInt64,
                self.groups.len(),
            ));
        };
        let counts = self.groups.iter().map(|group| match &group.memory {
            // Rows since the last checkpoint: nothing was counted yet.
            Some(_) => None,
            None => {
                let segment = group.segment(column.id);
                Some(segment.map_or(u64::from(group.rows), |s| s.null_count))
            }
        });
        Some(Arc::new(counts.collect::<UInt64Array>()))
    }

    fn row_counts(&self) -> Option<ArrayRef> {
        Some(Arc::new(UInt64Array::from_iter_values(
            self.groups.iter().map(|g| u64::from(g.rows)),
        )))
    }

    fn contained(&self, _: &Column, _: &HashSet<ScalarValue>) -> Option<BooleanArray> {
        None
    }
}
