//! `DifferentValues`: the list of the values that differ, in the order in which they came. The library's is in that of a hash table.

use super::comparison_key::{key_type, keys};
use crate::heed::check;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, UInt32Array};
use datafusion::arrow::compute::{concat, filter, is_not_null, take};
use datafusion::arrow::datatypes::DataType;
use datafusion::arrow::row::{OwnedRow, RowConverter, SortField};
use datafusion::common::utils::SingleRowListArrayBuilder;
use datafusion::common::{Result, ScalarValue, internal_datafusion_err};
use datafusion::logical_expr::Accumulator;
use std::collections::HashSet;

/// What a value takes in a set, beside its bytes.
const ENTRY: usize = 2 * size_of::<OwnedRow>();

#[derive(Debug)]
pub(super) struct DifferentValues {
    of: DataType,
    ignores_null: bool,
    converter: RowConverter,
    seen: HashSet<OwnedRow>,
    /// The values, as they came.
    pieces: Vec<ArrayRef>,
    bytes: usize,
}

impl DifferentValues {
    /// Of values of a type. Two are equal where their keys are.
    pub(super) fn of(of: &DataType, ignores_null: bool) -> Result<Self> {
        let key = key_type(of).unwrap_or_else(|| of.clone());
        Ok(Self {
            of: of.clone(),
            ignores_null,
            converter: RowConverter::new(vec![SortField::new(key)])?,
            seen: HashSet::new(),
            pieces: vec![],
            bytes: 0,
        })
    }

    fn add(&mut self, values: &ArrayRef) -> Result<()> {
        check()?;
        let rows = self.converter.convert_columns(&[keys(values)?])?;
        let mut new: Vec<u32> = vec![];
        for (at, row) in (0..).zip(rows.iter()) {
            let row = row.owned();
            let bytes = ENTRY + row.as_ref().len();
            if self.seen.insert(row) {
                self.bytes += bytes;
                new.push(at);
            }
        }
        if !new.is_empty() {
            let piece = take(values, &UInt32Array::from(new), None)?;
            self.bytes += piece.to_data().get_slice_memory_size()?;
            self.pieces.push(piece);
        }
        Ok(())
    }
}

impl Accumulator for DifferentValues {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let missing = || internal_datafusion_err!("a list of nothing");
        let values = values.first().ok_or_else(missing)?;
        match self.ignores_null && values.null_count() > 0 {
            true => self.add(&filter(values, &is_not_null(values)?)?),
            false => self.add(values),
        }
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        if self.pieces.is_empty() {
            return Ok(ScalarValue::new_null_list(self.of.clone(), true, 1));
        }
        let pieces: Vec<&dyn Array> = self.pieces.iter().map(AsRef::as_ref).collect();
        let values = concat(&pieces)?;
        Ok(SingleRowListArrayBuilder::new(values).build_list_scalar())
    }

    fn size(&self) -> usize {
        size_of::<Self>() + self.bytes
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![self.evaluate()?])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let missing = || internal_datafusion_err!("a list of nothing");
        let lists = states.first().ok_or_else(missing)?;
        let mut lists = lists.as_list::<i32>().iter().flatten();
        lists.try_for_each(|values| self.add(&values))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::array::{ArrayRef, Int32Array};
    use std::sync::Arc;

    #[test]
    fn values_come_as_they_came_first() {
        let batch = |values: Vec<Option<i32>>| -> ArrayRef { Arc::new(Int32Array::from(values)) };
        let mut all = DifferentValues::of(&DataType::Int32, false).unwrap();
        all.update_batch(&[batch(vec![Some(9), None, Some(3), Some(9)])])
            .unwrap();
        let mut others = DifferentValues::of(&DataType::Int32, false).unwrap();
        others
            .update_batch(&[batch(vec![Some(7), Some(3), None, Some(1)])])
            .unwrap();
        let state = others.state().unwrap().remove(0).to_array().unwrap();
        all.merge_batch(&[state]).unwrap();
        let list = all.evaluate().unwrap().to_array().unwrap();
        let values = list.as_list::<i32>().value(0);
        let expected = Int32Array::from(vec![Some(9), None, Some(3), Some(7), Some(1)]);
        assert_eq!(values.as_ref(), &expected);
    }
}
