//! The sorted keys of rows that were written together, before a tree has them.
//!
//! What must hold: keys are in ascending order, rows of one key in ascending order; what a run takes is about the keys' bytes, however many
//! rows there are.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_buffer::BooleanBuffer;
use hushdb_encoding::ColumnType;

use super::key::encode_key;
use crate::block::{BufferPool, Lent};
use crate::error::{Error, Result};
use crate::interrupt::Steps;
use crate::numbers::RowId;

/// Keys of the rows of a row group with their offsets in it, in order, so that who goes through them goes through memory in order.
#[derive(Debug, Default)]
pub(crate) struct RunKeys {
    bytes: Vec<u8>,
    /// Where each key ends.
    ends: Vec<u32>,
    /// The offset in the row group of each key's row.
    rows: Vec<u32>,
    lent: Option<Lent>,
}

/// The first bytes of a key as a number: of two keys the lesser has no greater one.
fn head_of(key: &[u8]) -> u64 {
    let mut head = [0; 8];
    for (to, from) in head.iter_mut().zip(key) {
        *to = *from;
    }
    u64::from_be_bytes(head)
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
            run.rows.push(u32::try_from(row).unwrap_or(u32::MAX));
        }
        let mut run = run.sorted();
        let words = run.ends.capacity() + run.rows.capacity();
        run.lent = Some(pool.lend(run.bytes.capacity() + words * size_of::<u32>()));
        Ok(run)
    }

    /// The same keys in order; rows of one key stay in order.
    fn sorted(&self) -> Self {
        let mut order: Vec<(u64, u32)> = (0..self.rows.len())
            .map(|at| (head_of(self.key(at)), u32::try_from(at).unwrap_or(u32::MAX)))
            .collect();
        order.sort_unstable_by(|(head, at), (other_head, other_at)| {
            let keys = || self.key(*at as usize).cmp(self.key(*other_at as usize));
            let heads = head.cmp(other_head);
            heads.then_with(keys).then_with(|| at.cmp(other_at))
        });
        let mut run = Self {
            bytes: Vec::with_capacity(self.bytes.len()),
            ends: Vec::with_capacity(order.len()),
            rows: Vec::with_capacity(order.len()),
            lent: None,
        };
        for (_, at) in order {
            run.bytes.extend_from_slice(self.key(at as usize));
            // No longer than before, whose end is one.
            let end = u32::try_from(run.bytes.len()).unwrap_or(u32::MAX);
            run.ends.push(end);
            run.rows
                .push(self.rows.get(at as usize).copied().unwrap_or_default());
        }
        run
    }

    /// Bytes that it takes in memory.
    pub(crate) fn held_bytes(&self) -> usize {
        self.lent.as_ref().map_or(0, Lent::bytes)
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    fn key(&self, at: usize) -> &[u8] {
        let end = |at: usize| self.ends.get(at).map_or(0, |end| *end as usize);
        let from = at.checked_sub(1).map_or(0, end);
        self.bytes.get(from..end(at)).unwrap_or_default()
    }

    /// Key and row offset at a position.
    fn get(&self, at: usize) -> Option<(&[u8], u32)> {
        self.rows.get(at).map(|row| (self.key(at), *row))
    }

    /// The key at a position in key order.
    pub(crate) fn key_at(&self, at: usize) -> Option<&[u8]> {
        self.rows.get(at).map(|_| self.key(at))
    }

    /// The first position whose key is not below a key.
    fn lower_bound(&self, key: &[u8]) -> usize {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low.midpoint(high);
            match self.key(middle) < key {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        low
    }
}

/// Keys of a row group, and where its row ids begin.
#[derive(Clone, Debug)]
pub(crate) struct KeyRun {
    pub(crate) first_row_id: RowId,
    pub(crate) keys: Arc<RunKeys>,
}

impl KeyRun {
    /// Key and row id at a position in key order.
    pub(crate) fn get(&self, position: usize) -> Option<(&[u8], u64)> {
        let (key, row) = self.keys.get(position)?;
        Some((key, (self.first_row_id + u64::from(row)).number()))
    }

    /// Appends the ids of the rows of a key.
    pub(crate) fn find(&self, key: &[u8], ids: &mut Vec<u64>) {
        let from = self.keys.lower_bound(key);
        let found = (from..).map_while(|position| self.get(position));
        ids.extend(
            found
                .take_while(|(other, _)| *other == key)
                .map(|(_, id)| id),
        );
    }
}

/// A key's head, which tells most keys apart without a look at them, key and row id of an entry, its run and its position there.
type Head<'a> = (u64, &'a [u8], u64, usize, usize);

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
            Some(Reverse((head_of(key), key, id, at, 0)))
        };
        let heads = runs.iter().enumerate().filter_map(head).collect();
        Self { runs, heads }
    }
}

impl<'a> Iterator for MergedRuns<'a> {
    type Item = (&'a [u8], u64);

    fn next(&mut self) -> Option<Self::Item> {
        let mut least = self.heads.peek_mut()?;
        let Reverse((_, key, id, at, position)) = *least;
        match self.runs.get(at).and_then(|run| run.get(position + 1)) {
            Some((next, next_id)) => {
                *least = Reverse((head_of(next), next, next_id, at, position + 1));
            }
            None => drop(PeekMut::pop(least)),
        }
        Some((key, id))
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::StringViewArray;

    use super::*;

    /// Keys with heads that many share, and some that are there often.
    fn texts(seed: u32) -> Vec<String> {
        let text = |n: u32| match n % 3 {
            0 => format!("{}", n % 7),
            1 => format!("a long beginning {:03}", n % 50),
            _ => "a long ".repeat(n as usize % 5),
        };
        let numbers = (0..500u32).map(|n| (n * 7919 + seed) % 997);
        numbers.map(text).collect()
    }

    #[test]
    fn keys_come_in_order_and_rows_of_one_key_too() {
        let pool = Arc::new(BufferPool::new(1 << 20));
        let mut all = Vec::new();
        let mut runs = Vec::new();
        for (at, first_row_id) in [(0, 10_000), (1, 20_000), (2, 0)] {
            let texts = texts(at);
            let values: ArrayRef = Arc::new(StringViewArray::from(texts.clone()));
            let keys = RunKeys::of(&[&ColumnType::Varchar], &[&values], None, &pool).unwrap();
            let run = KeyRun {
                first_row_id: RowId::new(first_row_id),
                keys: Arc::new(keys),
            };
            let mut expected = Vec::new();
            for row in 0..texts.len() {
                let mut key = Vec::new();
                assert!(encode_key(&[&ColumnType::Varchar], &[&values], row, &mut key).unwrap());
                expected.push((key, first_row_id + row as u64));
            }
            for (key, _) in &expected {
                let mut ids = Vec::new();
                run.find(key, &mut ids);
                let same = expected.iter().filter(|(other, _)| other == key);
                assert_eq!(ids, same.map(|(_, id)| *id).collect::<Vec<_>>());
            }
            all.extend(expected);
            runs.push(run);
        }
        all.sort();
        let merged = MergedRuns::new(&runs).map(|(key, id)| (key.to_vec(), id));
        assert_eq!(merged.collect::<Vec<_>>(), all);
    }
}
