//! `FrameValues`: aggregates over frames that move, of which an accumulator cannot take back a value that leaves: the values of a
//! frame are retained, and counted from the first for each row.
//!
//! What must hold: values come and go in the order of the rows, so that those which leave are the first ones retained.

use crate::heed::check;
use datafusion::arrow::array::ArrayRef;
use datafusion::arrow::datatypes::{FieldRef, Schema};
use datafusion::common::{Result, ScalarValue, internal_datafusion_err, internal_err};
use datafusion::logical_expr::function::AccumulatorArgs;
use datafusion::logical_expr::{Accumulator, AggregateUDFImpl};
use datafusion::physical_expr::PhysicalExpr;
use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

/// An accumulator of a function that begins anew for each frame.
pub(super) struct FrameValues<F> {
    function: F,
    return_field: FieldRef,
    schema: Schema,
    expr_fields: Vec<FieldRef>,
    ignore_nulls: bool,
    is_distinct: bool,
    is_reversed: bool,
    name: String,
    exprs: Vec<Arc<dyn PhysicalExpr>>,
    pieces: VecDeque<Vec<ArrayRef>>,
}

impl<F: AggregateUDFImpl + 'static> FrameValues<F> {
    pub(super) fn of(function: F, args: &AccumulatorArgs<'_>) -> Box<dyn Accumulator> {
        Box::new(Self {
            function,
            return_field: Arc::clone(&args.return_field),
            schema: args.schema.clone(),
            expr_fields: args.expr_fields.to_vec(),
            ignore_nulls: args.ignore_nulls,
            is_distinct: args.is_distinct,
            is_reversed: args.is_reversed,
            name: args.name.to_owned(),
            exprs: args.exprs.to_vec(),
            pieces: VecDeque::new(),
        })
    }

    /// An accumulator without values. The rows of a frame are in the window's order already.
    fn empty(&self) -> Result<Box<dyn Accumulator>> {
        self.function.accumulator(AccumulatorArgs {
            return_field: Arc::clone(&self.return_field),
            schema: &self.schema,
            ignore_nulls: self.ignore_nulls,
            order_bys: &[],
            is_reversed: self.is_reversed,
            name: &self.name,
            is_distinct: self.is_distinct,
            exprs: &self.exprs,
            expr_fields: &self.expr_fields,
        })
    }
}

fn rows(piece: &[ArrayRef]) -> usize {
    piece.first().map_or(0, |values| values.len())
}

impl<F: AggregateUDFImpl + 'static> Accumulator for FrameValues<F> {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        if rows(values) > 0 {
            self.pieces.push_back(values.to_vec());
        }
        Ok(())
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let mut leave = rows(values);
        while leave > 0 {
            let first = self.pieces.front_mut();
            let first = first.ok_or_else(|| internal_datafusion_err!("a frame lost too many"))?;
            let there = rows(first);
            if there > leave {
                for column in first.iter_mut() {
                    *column = column.slice(leave, there - leave);
                }
                break;
            }
            leave -= there;
            self.pieces.pop_front();
        }
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        check()?;
        let mut all = self.empty()?;
        for piece in &self.pieces {
            all.update_batch(piece)?;
        }
        all.evaluate()
    }

    fn size(&self) -> usize {
        let columns = self.pieces.iter().flatten();
        size_of_val(self)
            + columns
                .map(|column| column.to_data().get_slice_memory_size().unwrap_or(0))
                .sum::<usize>()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        internal_err!("the accumulator of a frame has no state")
    }

    fn merge_batch(&mut self, _: &[ArrayRef]) -> Result<()> {
        internal_err!("the accumulators of frames are not merged")
    }
}

impl<F: AggregateUDFImpl> fmt::Debug for FrameValues<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut named = f.debug_struct("FrameValues");
        named.field("name", &self.name).finish_non_exhaustive()
    }
}
