//! `FrameTree`: the value of an aggregate over any rows of a partition, by states of 16, 256, 4,096... rows that lie side by side.
//!
//! What must hold: rows and states are put together in the order of the rows, which lists and texts show. The states are counted before
//! they are kept.

use super::room::Room;
use crate::heed::check;
use datafusion::arrow::array::ArrayRef;
use datafusion::common::{Result, ScalarValue};
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::logical_expr::Accumulator;
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;
use std::ops::Range;
use std::sync::Arc;

/// Rows of a state, and states of one above them.
const WIDTH: usize = 16;
/// As many are put together one by one.
const FEW: usize = 2 * WIDTH;
/// States after which memory is asked for.
const ASKED_STATES: usize = 256;

pub(super) struct FrameTree {
    function: Arc<AggregateFunctionExpr>,
    /// The arguments of all rows.
    columns: Vec<ArrayRef>,
    /// The columns of states, of few rows first; made when they are needed.
    levels: Option<Vec<Vec<ArrayRef>>>,
    room: Room,
}

impl FrameTree {
    pub(super) fn new(
        function: Arc<AggregateFunctionExpr>,
        columns: Vec<ArrayRef>,
        memory: &Arc<dyn MemoryPool>,
    ) -> Self {
        Self {
            function,
            columns,
            levels: None,
            room: Room::new(memory),
        }
    }

    /// The aggregate of these rows, which come one range behind the other.
    pub(super) fn value(&mut self, rows: &[Range<usize>]) -> Result<ScalarValue> {
        check()?;
        let mut all = self.function.create_accumulator()?;
        for rows in rows {
            if rows.len() > FEW && self.levels.is_none() {
                self.levels = Some(self.states()?);
            }
            self.add(all.as_mut(), 0, rows.clone())?;
        }
        all.evaluate()
    }

    /// Adds rows, at level 0, or the states of a level.
    fn add(&self, all: &mut dyn Accumulator, level: usize, of: Range<usize>) -> Result<()> {
        let is_last = self.levels.as_ref().is_none_or(|all| level >= all.len());
        if of.len() <= FEW || is_last {
            return self.add_each(all, level, of);
        }
        let above = of.start.div_ceil(WIDTH)..of.end / WIDTH;
        self.add_each(all, level, of.start..above.start * WIDTH)?;
        let behind = above.end * WIDTH..of.end;
        self.add(all, level + 1, above)?;
        self.add_each(all, level, behind)
    }

    fn add_each(&self, all: &mut dyn Accumulator, level: usize, of: Range<usize>) -> Result<()> {
        if of.is_empty() {
            return Ok(());
        }
        let slices = |columns: &[ArrayRef]| -> Vec<ArrayRef> {
            let columns = columns.iter();
            columns
                .map(|column| column.slice(of.start, of.len()))
                .collect()
        };
        let states = level.checked_sub(1);
        let states = states.and_then(|level| self.levels.as_ref()?.get(level));
        match states {
            None => all.update_batch(&slices(&self.columns)),
            Some(states) => all.merge_batch(&slices(states)),
        }
    }

    /// The states of all levels, up to one that has few.
    fn states(&mut self) -> Result<Vec<Vec<ArrayRef>>> {
        let mut levels: Vec<Vec<ArrayRef>> = vec![];
        let mut count = self.columns.first().map_or(0, |column| column.len());
        while count > FEW {
            let below = levels.last();
            let states = self.level_above(below.map(Vec::as_slice), count)?;
            count = count.div_ceil(WIDTH);
            levels.push(states);
        }
        Ok(levels)
    }

    /// States of as many rows, or states of the level below.
    fn level_above(&mut self, below: Option<&[ArrayRef]>, count: usize) -> Result<Vec<ArrayRef>> {
        let mut columns: Vec<Vec<ScalarValue>> = vec![];
        let mut asked = 0;
        for start in (0..count).step_by(WIDTH) {
            let length = WIDTH.min(count - start);
            let slices = below.unwrap_or(&self.columns).iter();
            let slices: Vec<ArrayRef> = slices.map(|of| of.slice(start, length)).collect();
            let mut state = self.function.create_accumulator()?;
            match below {
                None => state.update_batch(&slices)?,
                Some(_) => state.merge_batch(&slices)?,
            }
            let fields = state.state()?;
            asked += fields.iter().map(ScalarValue::size).sum::<usize>();
            columns.resize(fields.len(), vec![]);
            for (column, field) in columns.iter_mut().zip(fields) {
                column.push(field);
            }
            if (start / WIDTH).is_multiple_of(ASKED_STATES) {
                check()?;
                self.room.take_all(std::mem::take(&mut asked))?;
            }
        }
        self.room.take_all(asked)?;
        columns
            .into_iter()
            .map(ScalarValue::iter_to_array)
            .collect()
    }
}
