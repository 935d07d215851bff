//! `min` and `max` of values that are compared by keys: intervals, lists and structs.
//!
//! What must hold: of values with equal keys the first that came is the extreme.

use super::collated::collation_keys;
use super::comparison_key::keys;
use datafusion::arrow::array::{Array, ArrayRef};
use datafusion::arrow::datatypes::DataType;
use datafusion::arrow::row::{OwnedRow, RowConverter, SortField};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::Accumulator;
use hushdb_storage::Collation;
use std::cmp::Ordering;
use std::collections::VecDeque;

/// A value that may be the extreme, and its key as bytes that compare.
#[derive(Debug)]
struct Candidate {
    key: OwnedRow,
    value: ScalarValue,
    /// How many values came before it.
    place: u64,
}

/// The extreme of all values, or of those in a frame that moves.
#[derive(Debug)]
pub(super) struct ExtremeByKey {
    /// How a value's key compares with that of a less extreme one.
    better: Ordering,
    /// Nothing but the extreme is kept unless values are taken back.
    moves: bool,
    none: ScalarValue,
    collation: Option<Collation>,
    rows: RowConverter,
    /// From the extreme to the one that came last, each the extreme of those after it.
    candidates: VecDeque<Candidate>,
    came: u64,
    went: u64,
}

impl ExtremeByKey {
    /// `key` is the type of the keys of values like `none`, which is NULL.
    pub(super) fn new(
        better: Ordering,
        moves: bool,
        none: ScalarValue,
        key: DataType,
        collation: Option<Collation>,
    ) -> Result<Self> {
        Ok(Self {
            better,
            moves,
            none,
            collation,
            rows: RowConverter::new(vec![SortField::new(key)])?,
            candidates: VecDeque::new(),
            came: 0,
            went: 0,
        })
    }
}

impl Accumulator for ExtremeByKey {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let [values] = values else { return Ok(()) };
        let keys = match self.collation {
            Some(collation) => collation_keys(values, collation)?,
            None => keys(values)?,
        };
        let rows = self.rows.convert_columns(&[keys])?;
        for (row, key) in rows.iter().enumerate() {
            let place = self.came;
            self.came += 1;
            if values.is_null(row) {
                continue;
            }
            let better = |known: &Candidate| key.cmp(&known.key.row()) == self.better;
            match self.moves {
                true => while self.candidates.pop_back_if(|last| better(last)).is_some() {},
                false => match self.candidates.front() {
                    Some(known) if !better(known) => continue,
                    _ => self.candidates.clear(),
                },
            }
            self.candidates.push_back(Candidate {
                key: key.owned(),
                value: ScalarValue::try_from_array(values, row)?.compacted(),
                place,
            });
        }
        Ok(())
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let [values] = values else { return Ok(()) };
        self.went += values.len() as u64;
        while let Some(first) = self.candidates.front()
            && first.place < self.went
        {
            self.candidates.pop_front();
        }
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        self.moves
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.update_batch(states)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![self.evaluate()?])
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let first = self.candidates.front();
        Ok(first.map_or_else(|| self.none.clone(), |first| first.value.clone()))
    }

    fn size(&self) -> usize {
        let candidates = self.candidates.iter();
        let bytes = |c: &Candidate| size_of::<Candidate>() + c.key.as_ref().len() + c.value.size();
        size_of_val(self) + self.rows.size() + candidates.map(bytes).sum::<usize>()
    }
}
