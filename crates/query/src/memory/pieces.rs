//! `Pieces`: rows that are handed on a few at a time to operators whose expressions make much of each.
//!
//! A constant list is written out anew for each row of a batch wherever a column of it is needed: of the numbers up to a million
//! a batch of 8,192 rows would take 65 GB. A cross join does the same with lists of its left side.

use super::over;
use crate::heed::heeding;
use crate::plan_node::{no_expressions, one_input};
use datafusion::arrow::array::{Array, ArrayRef, AsArray, RecordBatchOptions};
use datafusion::arrow::datatypes::Schema;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::ColumnarValue;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Literal;
use datafusion::physical_expr_common::physical_expr::is_volatile;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use futures::{StreamExt, TryStreamExt, stream};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes that the lists that an operator repeats may take at once, written out for each row.
const WRITTEN_BYTES: usize = 4 << 20;

/// Of how many rows an expression is best evaluated at once; `usize::MAX` if it has no long constant list.
pub(crate) fn rows_at_once(expr: &Arc<dyn PhysicalExpr>) -> Result<usize> {
    let mut bytes = 0_usize;
    expr.apply(|part| {
        let of_part = constant_bytes(part)?;
        bytes = bytes.saturating_add(of_part.unwrap_or(0));
        Ok(match of_part {
            Some(_) => TreeNodeRecursion::Jump,
            None => TreeNodeRecursion::Continue,
        })
    })?;
    Ok(match bytes {
        0 => usize::MAX,
        bytes => (WRITTEN_BYTES / bytes).max(1),
    })
}

/// The size of a constant with lists in it; `None` if it is none.
fn constant_bytes(expr: &Arc<dyn PhysicalExpr>) -> Result<Option<usize>> {
    if let Some(literal) = expr.downcast_ref::<Literal>() {
        let value = literal.value();
        return Ok(value.data_type().is_nested().then(|| value.size()));
    }
    let varies = expr.exists(|part| Ok(part.children().is_empty() && !part.is::<Literal>()))?;
    let data_type = expr.data_type(&Schema::empty());
    if varies || is_volatile(expr) || !data_type.is_ok_and(|of| of.is_nested()) {
        return Ok(None);
    }
    let options = RecordBatchOptions::new().with_row_count(Some(1));
    let row = RecordBatch::try_new_with_options(Arc::new(Schema::empty()), vec![], &options)?;
    Ok(Some(match expr.evaluate(&row) {
        Ok(ColumnarValue::Scalar(value)) => value.size(),
        Ok(ColumnarValue::Array(array)) => array.get_array_memory_size(),
        // Too large for a plan.
        Err(_) => WRITTEN_BYTES,
    }))
}

/// A physical rule: hands few rows at a time to operators that repeat long lists.
#[derive(Debug)]
pub struct RepeatedLists;

impl PhysicalOptimizerRule for RepeatedLists {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let most = config.execution.batch_size.into();
        let done = plan.transform_up(|node| {
            let mut inputs: Vec<_> = node.children().into_iter().map(Arc::clone).collect();
            if let ("CrossJoinExec", [left, right]) = (node.name(), inputs.as_mut_slice()) {
                let schema = left.schema();
                if !schema.fields().iter().any(|f| f.data_type().is_nested()) {
                    return Ok(Transformed::no(node));
                }
                let largest = Arc::default();
                *left = Measured::of(Arc::clone(left), Arc::clone(&largest));
                *right = Pieces::of(Arc::clone(right), Rows::Beside(largest));
                return Ok(Transformed::yes(over(&node, inputs)?));
            }
            let mut rows = usize::MAX;
            node.apply_expressions(&mut |expr| {
                rows = rows.min(rows_at_once(expr)?);
                Ok(TreeNodeRecursion::Continue)
            })?;
            if rows >= most || inputs.is_empty() {
                return Ok(Transformed::no(node));
            }
            let pieces = inputs.into_iter();
            let pieces = pieces.map(|input| Pieces::of(input, Rows::Fixed(rows)));
            Ok(Transformed::yes(over(&node, pieces.collect())?))
        });
        Ok(done?.data)
    }

    fn name(&self) -> &str {
        "repeated_lists"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// How many rows a piece has.
#[derive(Clone, Debug)]
enum Rows {
    Fixed(usize),
    /// As many as are repeated beside the largest row of other ones, of so many bytes.
    Beside(Arc<AtomicUsize>),
}

impl Rows {
    fn get(&self) -> usize {
        match self {
            Self::Fixed(rows) => *rows,
            Self::Beside(largest) => WRITTEN_BYTES / largest.load(Ordering::Relaxed).max(1),
        }
        .max(1)
    }
}

impl fmt::Display for Rows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(rows) => write!(f, "rows={rows}"),
            Self::Beside(_) => f.write_str("rows as lists beside them are long"),
        }
    }
}

/// Bytes that the longest list, or, in a column of another type, a value takes.
fn largest_value(column: &ArrayRef) -> usize {
    let bytes = |array: &dyn Array| array.to_data().get_slice_memory_size().unwrap_or(0);
    let Some(lists) = column.as_list_opt::<i32>() else {
        return bytes(column) / column.len().max(1);
    };
    let items = lists.values();
    let longest = lists.offsets().lengths().max().unwrap_or(0);
    (bytes(items) / items.len().max(1)).saturating_mul(longest)
}

/// Bytes of the lists and structs in a row, at most.
fn largest_row(batch: &RecordBatch) -> usize {
    let columns = batch.columns().iter();
    let nested = columns.filter(|column| column.data_type().is_nested());
    nested.map(largest_value).sum()
}

/// The same rows, and what the largest takes that was seen.
#[derive(Debug)]
struct Measured {
    input: Arc<dyn ExecutionPlan>,
    largest: Arc<AtomicUsize>,
}

impl Measured {
    fn of(input: Arc<dyn ExecutionPlan>, largest: Arc<AtomicUsize>) -> Arc<dyn ExecutionPlan> {
        Arc::new(Self { input, largest })
    }

    fn with_input(&self, input: Arc<dyn ExecutionPlan>) -> Arc<dyn ExecutionPlan> {
        Self::of(input, self.largest.clone())
    }
}

/// The same rows, no more than so many in a batch.
#[derive(Debug)]
struct Pieces {
    input: Arc<dyn ExecutionPlan>,
    rows: Rows,
}

impl Pieces {
    fn of(input: Arc<dyn ExecutionPlan>, rows: Rows) -> Arc<dyn ExecutionPlan> {
        Arc::new(Self { input, rows })
    }

    fn with_input(&self, input: Arc<dyn ExecutionPlan>) -> Arc<dyn ExecutionPlan> {
        Self::of(input, self.rows.clone())
    }
}

impl DisplayAs for Measured {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MeasuredExec")
    }
}

impl DisplayAs for Pieces {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PiecesExec: {}", self.rows)
    }
}

impl ExecutionPlan for Measured {
    one_input!("MeasuredExec");
    no_expressions!();

    fn properties(&self) -> &Arc<PlanProperties> {
        self.input.properties()
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let rows = self.input.execute(partition, context)?;
        let (schema, largest) = (rows.schema(), Arc::clone(&self.largest));
        let seen = rows.inspect_ok(move |batch| {
            largest.fetch_max(largest_row(batch), Ordering::Relaxed);
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, seen)))
    }
}

impl ExecutionPlan for Pieces {
    one_input!("PiecesExec");
    no_expressions!();

    fn properties(&self) -> &Arc<PlanProperties> {
        self.input.properties()
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let rows = self.input.execute(partition, Arc::clone(&context))?;
        let (schema, most) = (rows.schema(), self.rows.clone());
        let pieces = rows.flat_map(move |batch| match batch {
            Ok(batch) => {
                let most = most.get();
                let starts = (0..batch.num_rows()).step_by(most);
                let piece = move |start| batch.slice(start, most.min(batch.num_rows() - start));
                stream::iter(starts.map(move |start| Ok(piece(start)))).left_stream()
            }
            Err(error) => stream::iter([Err(error)]).right_stream(),
        });
        let pieces = RecordBatchStreamAdapter::new(schema, pieces);
        Ok(heeding(Box::pin(pieces), &context))
    }
}
