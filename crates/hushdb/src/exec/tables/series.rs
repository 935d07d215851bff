//! `range` and `generate_series` in FROM: numbers that are made as they are read, so that a series takes no memory however long it
//! is.

use async_trait::async_trait;
use datafusion::arrow::array::{ArrayRef, Int64Array};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::arrow::record_batch::{RecordBatch, RecordBatchOptions};
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::stats::Precision;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result as DfResult, ScalarValue, Statistics};
use datafusion::datasource::source::{DataSource, DataSourceExec};
use datafusion::datasource::{TableType, provider_as_source};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{Expr, TableSource};
use datafusion::physical_expr::projection::ProjectionExprs;
use datafusion::physical_expr::{EquivalenceProperties, Partitioning};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayFormatType, ExecutionPlan, PhysicalExpr};
use hushdb_query::functions::series_length;
use hushdb_sql::{Error, Result};
use std::fmt;
use std::sync::Arc;

/// Rows that share a buffer: whoever keeps one keeps, and counts, that buffer.
const BATCH_ROWS: u128 = 8192;

/// The table that `range(...)` stands for, or `generate_series(...)`, which is `inclusive`.
pub(in crate::exec) fn series(
    args: &[ScalarValue],
    inclusive: bool,
) -> Result<Arc<dyn TableSource>> {
    let name = if inclusive {
        "generate_series"
    } else {
        "range"
    };
    // Of what is not known there are no numbers.
    let is_known = !args.iter().any(ScalarValue::is_null);
    let numbers = args
        .iter()
        .map(|v| match v.cast_to(&DataType::Int64) {
            Ok(ScalarValue::Int64(Some(n))) => Ok(n),
            Ok(_) if v.is_null() => Ok(1),
            _ => Err(Error::binder(format!("{name} takes integers"))),
        })
        .collect::<Result<Vec<_>>>()?;
    let (start, stop, step) = match numbers.as_slice() {
        [stop] => (0, *stop, 1),
        [start, stop] => (*start, *stop, 1),
        [start, stop, step] => (*start, *stop, *step),
        _ => {
            return Err(Error::binder(format!(
                "{name} takes one to three arguments"
            )));
        }
    };
    if step == 0 {
        return Err(Error::binder("interval cannot be 0!"));
    }
    let schema = Arc::new(Schema::new(vec![Field::new(name, DataType::Int64, true)]));
    Ok(provider_as_source(Arc::new(Series {
        start,
        step,
        rows: match is_known {
            true => series_length(start, stop, step, inclusive),
            false => 0,
        },
        schema,
        has_column: true,
    })))
}

/// So many numbers; the column is left out where only their count is asked for.
#[derive(Clone, Debug)]
struct Series {
    start: i64,
    step: i64,
    rows: u128,
    schema: SchemaRef,
    has_column: bool,
}

impl Series {
    fn projected(&self, columns: &[usize]) -> DfResult<Self> {
        Ok(Self {
            schema: Arc::new(self.schema.project(columns)?),
            has_column: !columns.is_empty(),
            ..self.clone()
        })
    }

    fn with_limit(&self, limit: Option<usize>) -> Self {
        let rows = limit.map_or(self.rows, |limit| self.rows.min(limit as u128));
        Self {
            rows,
            ..self.clone()
        }
    }

    fn batch(&self, first: u128) -> DfResult<RecordBatch> {
        let rows = (self.rows - first).min(BATCH_ROWS) as usize;
        // Every number of the series is a BIGINT.
        let at = |row: usize| {
            i128::from(self.start) + (first as i128 + row as i128) * i128::from(self.step)
        };
        let mut columns: Vec<ArrayRef> = vec![];
        if self.has_column {
            let numbers = (0..rows).map(|row| at(row) as i64);
            columns.push(Arc::new(Int64Array::from_iter_values(numbers)));
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        Ok(RecordBatch::try_new_with_options(
            Arc::clone(&self.schema),
            columns,
            &options,
        )?)
    }
}

#[async_trait]
impl TableProvider for Series {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Temporary
    }

    fn statistics(&self) -> Option<Statistics> {
        let rows = usize::try_from(self.rows).ok()?;
        Some(Statistics::new_unknown(&self.schema).with_num_rows(Precision::Exact(rows)))
    }

    async fn scan(
        &self,
        _: &dyn Session,
        projection: Option<&Vec<usize>>,
        _: &[Expr],
        limit: Option<usize>,
    ) -> DfResult<Arc<dyn ExecutionPlan>> {
        let series = self.with_limit(limit);
        let series = match projection {
            Some(columns) => series.projected(columns)?,
            None => series,
        };
        Ok(Arc::new(DataSourceExec::new(Arc::new(series))))
    }
}

impl DataSource for Series {
    fn open(&self, _: usize, _: Arc<TaskContext>) -> DfResult<SendableRecordBatchStream> {
        let series = self.clone();
        let batches =
            (0..series.rows.div_ceil(BATCH_ROWS)).map(move |n| series.batch(n * BATCH_ROWS));
        Ok(Box::pin(RecordBatchStreamAdapter::new(
            Arc::clone(&self.schema),
            futures::stream::iter(batches),
        )))
    }

    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "series of {} numbers", self.rows)
    }

    fn output_partitioning(&self) -> Partitioning {
        Partitioning::UnknownPartitioning(1)
    }

    fn eq_properties(&self) -> EquivalenceProperties {
        EquivalenceProperties::new(Arc::clone(&self.schema))
    }

    fn partition_statistics(&self, _: Option<usize>) -> DfResult<Arc<Statistics>> {
        let unknown = || Statistics::new_unknown(&self.schema);
        Ok(Arc::new(self.statistics().unwrap_or_else(unknown)))
    }

    fn with_fetch(&self, limit: Option<usize>) -> Option<Arc<dyn DataSource>> {
        Some(Arc::new(self.with_limit(limit)))
    }

    fn fetch(&self) -> Option<usize> {
        None
    }

    fn try_swapping_with_projection(
        &self,
        _: &ProjectionExprs,
    ) -> DfResult<Option<Arc<dyn DataSource>>> {
        Ok(None)
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> DfResult<TreeNodeRecursion>,
    ) -> DfResult<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }
}
