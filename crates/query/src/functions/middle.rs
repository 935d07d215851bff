//! `Middle`: the accumulator of `median(x)` where there is nothing between two values, as of texts and lists: the one in the middle, or the lower
//! of two.
//!
//! What must hold: values are sorted as `quantile_disc` sorts them.

use super::list_statistics::place;
use super::lists::comparable;
use crate::heed::check;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, new_empty_array};
use datafusion::arrow::compute::{concat, filter, is_not_null};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::utils::SingleRowListArrayBuilder;
use datafusion::common::{Result, ScalarValue, internal_datafusion_err};
use datafusion::logical_expr::Accumulator;

/// The values of a group, none of which is NULL.
#[derive(Debug)]
pub(super) struct Middle {
    of: DataType,
    is_distinct: bool,
    pieces: Vec<ArrayRef>,
}

impl Middle {
    pub(super) fn new(of: &DataType, is_distinct: bool) -> Self {
        Self {
            of: of.clone(),
            is_distinct,
            pieces: vec![],
        }
    }

    fn push(&mut self, values: &ArrayRef) -> Result<()> {
        let known = filter(values, &is_not_null(values)?)?;
        if !known.is_empty() {
            self.pieces.push(known);
        }
        Ok(())
    }

    fn all(&self) -> Result<ArrayRef> {
        let pieces: Vec<&dyn Array> = self.pieces.iter().map(AsRef::as_ref).collect();
        Ok(match pieces.is_empty() {
            true => new_empty_array(&self.of),
            false => concat(&pieces)?,
        })
    }
}

impl Accumulator for Middle {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        match values.first() {
            Some(values) => self.push(values),
            None => Ok(()),
        }
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        check()?;
        let all = self.all()?;
        if all.is_empty() {
            return ScalarValue::try_from(&self.of);
        }
        let rows = comparable(&[&all])?.pop();
        let rows = rows.ok_or_else(|| internal_datafusion_err!("values were not compared"))?;
        let mut order: Vec<usize> = (0..all.len()).collect();
        order.sort_by(|a, b| rows.row(*a).cmp(&rows.row(*b)));
        if self.is_distinct {
            order.dedup_by(|a, b| rows.row(*a) == rows.row(*b));
        }
        ScalarValue::try_from_array(&all, order[place(order.len(), 0.5)])
    }

    fn size(&self) -> usize {
        let bytes = |piece: &ArrayRef| piece.to_data().get_slice_memory_size().unwrap_or(0);
        size_of_val(self) + self.pieces.iter().map(bytes).sum::<usize>()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let list = SingleRowListArrayBuilder::new(self.all()?);
        Ok(vec![list.build_list_scalar()])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        for lists in states {
            for list in lists.as_list::<i32>().iter().flatten() {
                self.push(&list)?;
            }
        }
        Ok(())
    }
}
