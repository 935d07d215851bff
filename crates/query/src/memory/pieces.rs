//! `Pieces`: rows that are handed on a few at a time to operators whose expressions make much of each.
//!
//! A constant list is written out anew for each row of a batch wherever a column of it is needed: of the numbers up to a million
//! a batch of 8,192 rows would take 65 GB.

use super::over;
use crate::heed::heeding;
use datafusion::arrow::array::{Array, RecordBatchOptions};
use datafusion::arrow::datatypes::Schema;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, internal_datafusion_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::ColumnarValue;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Literal;
use datafusion::physical_expr_common::physical_expr::is_volatile;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, ReplaceChildrenOptions,
};
use futures::{StreamExt, stream};
use std::fmt;
use std::sync::Arc;

/// Bytes that the constant lists of an operator may take at once, written out for each row.
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

/// A physical rule: hands few rows at a time to operators with long constant lists.
#[derive(Debug)]
pub struct ConstantLists;

impl PhysicalOptimizerRule for ConstantLists {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let most = config.execution.batch_size.into();
        let done = plan.transform_up(|node| {
            let mut rows = usize::MAX;
            node.apply_expressions(&mut |expr| {
                rows = rows.min(rows_at_once(expr)?);
                Ok(TreeNodeRecursion::Continue)
            })?;
            if rows >= most || node.children().is_empty() {
                return Ok(Transformed::no(node));
            }
            let inputs = node.children().into_iter();
            let inputs = inputs.map(|input| Pieces::of(Arc::clone(input), rows));
            Ok(Transformed::yes(over(&node, inputs.collect())?))
        });
        Ok(done?.data)
    }

    fn name(&self) -> &str {
        "constant_lists"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// The same rows, no more than so many in a batch.
#[derive(Debug)]
struct Pieces {
    input: Arc<dyn ExecutionPlan>,
    rows: usize,
}

impl Pieces {
    fn of(input: Arc<dyn ExecutionPlan>, rows: usize) -> Arc<dyn ExecutionPlan> {
        Arc::new(Self { input, rows })
    }
}

impl DisplayAs for Pieces {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PiecesExec: rows={}", self.rows)
    }
}

impl ExecutionPlan for Pieces {
    fn name(&self) -> &'static str {
        "PiecesExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.input.properties()
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn replace_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let input = children.pop();
        let input = input.ok_or_else(|| internal_datafusion_err!("pieces of nothing"))?;
        Ok(Self::of(input, self.rows))
    }

    fn with_new_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let input = children.pop();
        let input = input.ok_or_else(|| internal_datafusion_err!("pieces of nothing"))?;
        Ok(Self::of(input, self.rows))
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let rows = self.input.execute(partition, Arc::clone(&context))?;
        let (schema, most) = (rows.schema(), self.rows);
        let pieces = rows.flat_map(move |batch| match batch {
            Ok(batch) => {
                let starts = (0..batch.num_rows()).step_by(most);
                let piece = move |start| batch.slice(start, most.min(batch.num_rows() - start));
                stream::iter(starts.map(move |start| Ok(piece(start)))).left_stream()
            }
            Err(error) => stream::iter([Err(error)]).right_stream(),
        });
        let pieces = RecordBatchStreamAdapter::new(schema, pieces);
        Ok(heeding(Box::pin(pieces), &context))
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }
}
