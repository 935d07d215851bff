//! The sorted keys of rows that were written together, before a tree has them.
//!
//! Holds: keys are in ascending order, rows of one key in ascending order; what a run takes is about the keys' bytes, however many
//! rows there are.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_buffer::BooleanBuffer;

use super::key::encode_key;
use crate::block::{BufferPool, Lent};
use crate::error::{Error, Result};
use crate::interrupt::Steps;
use crate::table::ColumnType;

/// Keys of the rows of a row group by their offsets in it.
#[derive(Debug, Default)]
pub(crate) struct RunKeys {
    bytes: Vec<u8>,
    /// Where the key of each row ends, in the order of the rows that have one.
    ends: Vec<u32>,
    /// The offset in the row group of each row that has a key.
    rows: Vec<u32>,
    /// Positions in the above, in order of their keys.
    order: Vec<u32>,
    lent: Option<Lent>,
}

impl RunKeys {
    /// The keys that the rows of the arrays have; only those that `visible` has, if it is there. The pool lends the memory.
    ///
    /// # Errors
    /// As [`encode_key`].
    pub(crate) fn of(
        types: &[&ColumnType],
        arrays: &[&ArrayRef],
        visible: Option<&BooleanBuffer>,
        pool: &Arc<BufferPool>,
    ) -> Result<Self> {
        let rows = arrays.first().map_or(0, |array| array.len());
        let mut run = Self {
            ends: Vec::with_capacity(rows),
            rows: Vec::with_capacity(rows),
            order: Vec::with_capacity(rows),
            ..Self::default()
        };
        let mut steps = Steps::default();
        for row in 0..rows {
            steps.step()?;
            let gone = visible.is_some_and(|visible| row >= visible.len() || !visible.value(row));
            if gone || !encode_key(types, arrays, row, &mut run.bytes)? {
                continue;
            }
            let end = u32::try_from(run.bytes.len());
            run.ends
                .push(end.map_err(|_| Error::Unsupported("keys this large".into()))?);
            run.order
                .push(u32::try_from(run.rows.len()).unwrap_or(u32::MAX));
            run.rows.push(u32::try_from(row).unwrap_or(u32::MAX));
        }
        let mut order = std::mem::take(&mut run.order);
        // Stable: rows of one key stay in order.
        order.sort_by(|a, b| run.at(*a).0.cmp(run.at(*b).0));
        run.order = order;
        run.bytes.shrink_to_fit();
        let words = run.ends.capacity() + run.rows.capacity() + run.order.capacity();
        run.lent = Some(pool.lend(run.bytes.capacity() + words * size_of::<u32>()));
        Ok(run)
    }

    /// Bytes that it takes in memory.
    pub(crate) fn held_bytes(&self) -> usize {
        self.lent.as_ref().map_or(0, Lent::bytes)
    }

    pub(crate) fn len(&self) -> usize {
        self.order.len()
    }

    /// Key and row offset of the row that was taken as the `at`-th.
    fn at(&self, at: u32) -> (&[u8], u32) {
        let at = at as usize;
        let end = |at: usize| self.ends.get(at).map_or(0, |end| *end as usize);
        let from = at.checked_sub(1).map_or(0, end);
        let key = self.bytes.get(from..end(at)).unwrap_or_default();
        (key, self.rows.get(at).copied().unwrap_or_default())
    }

    /// Key and row offset at a position in key order.
    fn sorted(&self, position: usize) -> Option<(&[u8], u32)> {
        self.order.get(position).map(|at| self.at(*at))
    }
}

/// Keys of a row group, and where its row ids begin.
#[derive(Clone, Debug)]
pub(crate) struct KeyRun {
    pub(crate) first_row_id: u64,
    pub(crate) keys: Arc<RunKeys>,
}

impl KeyRun {
    /// Key and row id at a position in key order.
    pub(crate) fn get(&self, position: usize) -> Option<(&[u8], u64)> {
        let (key, row) = self.keys.sorted(position)?;
        Some((key, self.first_row_id + u64::from(row)))
    }

    /// Appends the ids of the rows of a key.
    pub(super) fn find(&self, key: &[u8], ids: &mut Vec<u64>) {
        let order = &self.keys.order;
        let from = order.partition_point(|at| self.keys.at(*at).0 < key);
        let found = (from..).map_while(|position| self.get(position));
        ids.extend(
            found
                .take_while(|(other, _)| *other == key)
                .map(|(_, id)| id),
        );
    }
}

/// Key and row id of an entry, its run and its position there.
type Head<'a> = (&'a [u8], u64, usize, usize);

/// The entries of several runs in ascending order of keys and row ids.
pub(crate) struct MergedRuns<'a> {
    runs: &'a [KeyRun],
    /// What each run has next.
    heads: BinaryHeap<Reverse<Head<'a>>>,
}

impl<'a> MergedRuns<'a> {
    pub(crate) fn new(runs: &'a [KeyRun]) -> Self {
        let head = |(at, run): (usize, &'a KeyRun)| {
            let (key, id) = run.get(0)?;
            Some(Reverse((key, id, at, 0)))
        };
        let heads = runs.iter().enumerate().filter_map(head).collect();
        Self { runs, heads }
    }
}

impl<'a> Iterator for MergedRuns<'a> {
    type Item = (&'a [u8], u64);

    fn next(&mut self) -> Option<Self::Item> {
        let mut least = self.heads.peek_mut()?;
        let Reverse((key, id, at, position)) = *least;
        match self.runs.get(at).and_then(|run| run.get(position + 1)) {
            Some((next, next_id)) => *least = Reverse((next, next_id, at, position + 1)),
            None => drop(PeekMut::pop(least)),
        }
        Some((key, id))
    }
}
