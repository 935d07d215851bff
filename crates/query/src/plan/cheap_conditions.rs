//! Comparisons with constants at the beginning of a filter's condition, each over whole batches: DataFusion copies the rows for which the
//! first holds, with all their columns, before it looks at the second, which costs more than several comparisons.
//!
//! What must hold: only what cannot fail and draws nothing is asked of rows that the conditions before it leave out.

use datafusion::arrow::array::{Array, BooleanArray};
use datafusion::arrow::compute::{and, prep_null_mask_filter};
use datafusion::arrow::datatypes::{DataType, Schema};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::cast::as_boolean_array;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Result, internal_err};
use datafusion::logical_expr::{ColumnarValue, Operator};
use datafusion::physical_expr::expressions::{BinaryExpr, Column, Literal};
use datafusion::physical_expr::{PhysicalExpr, conjunction, split_conjunction};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::filter::{FilterExec, FilterExecBuilder};
use std::fmt;
use std::sync::Arc;

/// Has filters ask their leading comparisons of whole batches; behind all rules that read a filter's condition.
#[derive(Debug)]
pub(super) struct CheapConditions;

impl PhysicalOptimizerRule for CheapConditions {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_up(|node| {
            let Some(filter) = node.downcast_ref::<FilterExec>() else {
                return Ok(Transformed::no(node));
            };
            let schema = filter.input().schema();
            let Some(condition) = gathered(filter.predicate(), &schema) else {
                return Ok(Transformed::no(node));
            };
            let filter = FilterExecBuilder::from(filter).with_predicate(condition);
            Ok(Transformed::yes(Arc::new(filter.build()?)))
        })
        .map(|t| t.data)
    }

    fn name(&self) -> &str {
        "cheap_conditions"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// The condition with its leading comparisons as one; `None` where there are not several.
fn gathered(condition: &Arc<dyn PhysicalExpr>, schema: &Schema) -> Option<Arc<dyn PhysicalExpr>> {
    let parts = split_conjunction(condition);
    let cheap = parts.iter().take_while(|part| is_cheap(part, schema));
    let (cheap, rest) = parts.split_at(cheap.count());
    if cheap.len() < 2 {
        return None;
    }
    let all: Arc<dyn PhysicalExpr> = Arc::new(AllOf(cheap.iter().copied().cloned().collect()));
    let rest = rest.iter().copied().cloned();
    Some(conjunction(std::iter::once(all).chain(rest)))
}

/// Whether it compares a column with a constant of its type, of which each takes a few bytes. That both are equal stays what a filter says of
/// its rows.
fn is_cheap(condition: &Arc<dyn PhysicalExpr>, schema: &Schema) -> bool {
    let Some(binary) = condition.downcast_ref::<BinaryExpr>() else {
        return false;
    };
    let is_order = matches!(
        binary.op(),
        Operator::Lt | Operator::LtEq | Operator::Gt | Operator::GtEq | Operator::NotEq
    );
    let types = [binary.left(), binary.right()].map(|side| {
        let is_plain = side.is::<Column>() || side.is::<Literal>();
        let ty = side.data_type(schema).ok();
        ty.filter(|ty| is_plain && (ty.is_primitive() || *ty == DataType::Boolean))
    });
    is_order && types[0].is_some() && types[0] == types[1]
}

/// Conditions that all hold; not so where one is NULL.
#[derive(Debug, PartialEq, Eq, Hash)]
struct AllOf(Vec<Arc<dyn PhysicalExpr>>);

impl fmt::Display for AllOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, part) in self.0.iter().enumerate() {
            if at > 0 {
                f.write_str(" AND ")?;
            }
            part.fmt(f)?;
        }
        Ok(())
    }
}

impl PhysicalExpr for AllOf {
    fn data_type(&self, _: &Schema) -> Result<DataType> {
        Ok(DataType::Boolean)
    }

    fn nullable(&self, _: &Schema) -> Result<bool> {
        Ok(false)
    }

    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        let mut all: Option<BooleanArray> = None;
        for part in &self.0 {
            let held = part.evaluate(batch)?.into_array(batch.num_rows())?;
            // A filter leaves out what is NULL, and what follows need not be asked of it.
            let held = match as_boolean_array(&held)? {
                held if held.null_count() > 0 => prep_null_mask_filter(held),
                held => held.clone(),
            };
            let held = match &all {
                None => held,
                Some(all) => and(all, &held)?,
            };
            let is_none = !held.has_true();
            all = Some(held);
            if is_none {
                break;
            }
        }
        match all {
            Some(all) => Ok(ColumnarValue::Array(Arc::new(all))),
            None => internal_err!("no condition"),
        }
    }

    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        self.0.iter().collect()
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn PhysicalExpr>>,
    ) -> Result<Arc<dyn PhysicalExpr>> {
        Ok(Arc::new(Self(children)))
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, part) in self.0.iter().enumerate() {
            if at > 0 {
                f.write_str(" AND ")?;
            }
            part.fmt_sql(f)?;
        }
        Ok(())
    }
}
