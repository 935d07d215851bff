//! `Functions`: what the functions of a window need to be evaluated over a partition that lies in a file.

use super::peers::with_rows_until_current;
use datafusion::arrow::datatypes::{DataType, SchemaRef};
use datafusion::common::{Result, ScalarValue};
use datafusion::functions_window::rank::rank_udwf;
use datafusion::logical_expr::{WindowFrame, WindowFrameBound, WindowFrameUnits};
use datafusion::physical_expr::PhysicalSortExpr;
use datafusion::physical_expr::expressions::Literal;
use datafusion::physical_expr::window::PlainAggregateWindowExpr;
use datafusion::physical_plan::windows::{
    StandardWindowExpr, WindowExpr, WindowUDFExpr, create_udwf_window_expr,
};
use std::sync::Arc;

/// How one function gets its values.
#[derive(Clone, Debug)]
pub(super) enum Value {
    /// The `n`-th aggregate over all rows.
    OfAll(usize),
    /// The `n`-th function of the pass from the first row to the last.
    Forward(usize),
    /// The `n`-th function of the pass from the last row to the first.
    Backward(usize),
    /// What the `n`-th function of that pass has at its end.
    EndOfBackward(usize),
    /// From the row's number and the rows in the partition.
    Ntile(u64),
    /// From the rank in the forward pass, and the rows in the partition.
    PercentRank(usize),
    /// From the rank in the backward pass, and the rows in the partition.
    CumeDist(usize),
}

#[derive(Default)]
pub(super) struct Functions {
    pub(super) values: Vec<Value>,
    pub(super) of_all: Vec<Arc<dyn WindowExpr>>,
    /// These and the next need a few rows at a time.
    pub(super) forward: Vec<Arc<dyn WindowExpr>>,
    pub(super) backward: Vec<Arc<dyn WindowExpr>>,
}

impl Functions {
    /// Those of a window; else the name of one that must have the rows of a partition at once.
    pub(super) fn of(
        window: &[Arc<dyn WindowExpr>],
        input: &SchemaRef,
    ) -> Result<Result<Self, String>> {
        let mut functions = Self::default();
        for function in window {
            let Some(value) = functions.value(function, input)? else {
                return Ok(Err(function.name().to_owned()));
            };
            functions.values.push(value);
        }
        Ok(Ok(functions))
    }

    fn value(
        &mut self,
        function: &Arc<dyn WindowExpr>,
        input: &SchemaRef,
    ) -> Result<Option<Value>> {
        if is_aggregate_of_all(function) {
            return Ok(Some(Value::OfAll(added(
                &mut self.of_all,
                Arc::clone(function),
            ))));
        }
        if function.uses_bounded_memory() {
            let function = Arc::clone(function);
            return Ok(Some(Value::Forward(added(&mut self.forward, function))));
        }
        let called = called(function);
        match called.map(|called| called.fun().name()) {
            Some("ntile") => return Ok(called.and_then(buckets).map(Value::Ntile)),
            Some("percent_rank") => {
                let rank = rank(function, function.order_by(), input)?;
                return Ok(Some(Value::PercentRank(added(&mut self.forward, rank))));
            }
            Some("cume_dist") => {
                let order_by = function.order_by().iter();
                let reversed: Vec<_> = order_by.map(PhysicalSortExpr::reverse).collect();
                let rank = rank(function, &reversed, input)?;
                return Ok(Some(Value::CumeDist(added(&mut self.backward, rank))));
            }
            _ => {}
        }
        let Some(reversed) = function.get_reverse_expr() else {
            return Ok(None);
        };
        if reversed.uses_bounded_memory() {
            return Ok(Some(Value::Backward(added(&mut self.backward, reversed))));
        }
        // Over what the frame has had until each row its last value is that of all.
        let one_value = is_whole(function).then(|| with_rows_until_current(&reversed));
        let until_row = one_value.flatten();
        Ok(until_row.map(|until_row| Value::EndOfBackward(added(&mut self.backward, until_row))))
    }
}

fn added(functions: &mut Vec<Arc<dyn WindowExpr>>, function: Arc<dyn WindowExpr>) -> usize {
    functions.push(function);
    functions.len() - 1
}

fn is_aggregate_of_all(function: &Arc<dyn WindowExpr>) -> bool {
    let aggregate = function.as_any().downcast_ref::<PlainAggregateWindowExpr>();
    aggregate.is_some() && is_whole(function)
}

/// Whether the frame of every row is the partition.
fn is_whole(function: &Arc<dyn WindowExpr>) -> bool {
    let frame: &WindowFrame = function.get_window_frame();
    let is_whole = |bound: &WindowFrameBound| match bound {
        WindowFrameBound::CurrentRow => {
            frame.units == WindowFrameUnits::Range && function.order_by().is_empty()
        }
        bound => bound.is_unbounded(),
    };
    is_whole(&frame.start_bound) && is_whole(&frame.end_bound)
}

/// The function as it was called, if it is no aggregate.
fn called(function: &Arc<dyn WindowExpr>) -> Option<&WindowUDFExpr> {
    let standard = function.as_any().downcast_ref::<StandardWindowExpr>()?;
    let called = standard.get_standard_func_expr().as_any();
    called.downcast_ref()
}

fn buckets(ntile: &WindowUDFExpr) -> Option<u64> {
    let number = ntile.args().first()?.downcast_ref::<Literal>()?;
    match number.value().cast_to(&DataType::UInt64) {
        Ok(ScalarValue::UInt64(buckets)) => buckets.filter(|buckets| *buckets > 0),
        _ => None,
    }
}

/// `rank()` in the partitions of a function.
fn rank(
    function: &Arc<dyn WindowExpr>,
    order_by: &[PhysicalSortExpr],
    input: &SchemaRef,
) -> Result<Arc<dyn WindowExpr>> {
    let rank = create_udwf_window_expr(&rank_udwf(), &[], input, "rank".to_owned(), false)?;
    Ok(Arc::new(StandardWindowExpr::new(
        rank,
        function.partition_by(),
        order_by,
        Arc::clone(function.get_window_frame()),
    )))
}
