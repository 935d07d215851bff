//! `SortedRun`: rows that are in memory as they came, and their order.

use crate::heed::check;
use datafusion::arrow::compute::interleave_record_batch;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::arrow::row::Rows;
use datafusion::common::{Result, internal_err};
use datafusion::execution::memory_pool::MemoryReservation;
use hushdb_storage::expect_panics;
use std::cmp::Ordering;
use std::panic::resume_unwind;

/// Bytes of a key that a [`Place`] has itself.
const PREFIX: usize = 16;

/// Between two looks for an interrupt: about a millisecond.
const COMPARISONS: u32 = 1 << 16;

/// Where a row is, and how its key begins.
#[derive(Clone, Copy)]
struct Place {
    /// High and low half.
    prefix: [u64; 2],
    batch: u32,
    row: u32,
}

impl Place {
    fn prefix(&self) -> u128 {
        let [high, low] = self.prefix;
        u128::from(high) << 64 | u128::from(low)
    }

    /// Rows that came earlier have a smaller one.
    fn came(&self) -> u64 {
        u64::from(self.batch) << 32 | u64::from(self.row)
    }
}

/// What the order of a row takes in memory beside its key.
pub(super) const PLACE_BYTES: usize = size_of::<Place>();

/// Rows in their order.
pub(super) struct SortedRun {
    batches: Vec<RecordBatch>,
    places: Vec<Place>,
    /// For the rows. Given back when they are.
    _reservation: MemoryReservation,
}

impl SortedRun {
    /// Sorts rows by their keys, rows of the same key as they came. `keys` has one for each row of each batch.
    pub(super) fn new(
        batches: Vec<RecordBatch>,
        keys: Vec<Rows>,
        reservation: MemoryReservation,
    ) -> Result<Self> {
        let mut places = Vec::with_capacity(keys.iter().map(Rows::num_rows).sum());
        let mut longest = 0;
        for (batch, keys) in (0..).zip(&keys) {
            check()?;
            for (row, key) in (0..).zip(keys) {
                let key = key.as_ref();
                longest = longest.max(key.len());
                let prefix = prefix(key);
                places.push(Place { prefix, batch, row });
            }
        }
        if longest <= PREFIX {
            // No key is the beginning of another one, so what fills up the prefix decides nothing.
            drop(keys);
            sort(&mut places, |a, b| {
                let order = a.prefix().cmp(&b.prefix());
                order.then_with(|| a.came().cmp(&b.came()))
            })?;
        } else {
            let key = |place: &Place| {
                let keys = keys.get(place.batch as usize);
                keys.map(|keys| keys.row(place.row as usize))
            };
            sort(&mut places, |a, b| {
                let order = a.prefix().cmp(&b.prefix());
                let order = order.then_with(|| key(a).cmp(&key(b)));
                order.then_with(|| a.came().cmp(&b.came()))
            })?;
        }
        Ok(Self {
            batches,
            places,
            _reservation: reservation,
        })
    }

    /// The rows in order, copied into batches of so many, one at a time.
    pub(super) fn into_batches(self, rows: usize) -> impl Iterator<Item = Result<RecordBatch>> {
        let mut next = 0;
        std::iter::from_fn(move || {
            let rest = self.places.get(next..)?;
            let now = rest.get(..rows.max(1)).unwrap_or(rest);
            if now.is_empty() {
                return None;
            }
            next += now.len();
            let places: Vec<_> = now
                .iter()
                .map(|place| (place.batch as usize, place.row as usize))
                .collect();
            let batches: Vec<_> = self.batches.iter().collect();
            Some(interleave_record_batch(&batches, &places).map_err(Into::into))
        })
    }
}

/// Sorts, unless somebody asks the statement to stop meanwhile. The only way out of the library's sort is to unwind it, which says
/// nothing and leaves the places in some order.
fn sort(places: &mut [Place], compare: impl Fn(&Place, &Place) -> Ordering) -> Result<()> {
    let mut compared = 0_u32;
    let sorted = expect_panics(|| {
        places.sort_unstable_by(|a, b| {
            compared = compared.wrapping_add(1);
            if compared.is_multiple_of(COMPARISONS) && check().is_err() {
                resume_unwind(Box::new(()));
            }
            compare(a, b)
        });
    });
    match sorted {
        Some(()) => Ok(()),
        None => check().and_then(|()| internal_err!("a sort was given up")),
    }
}

/// The first bytes of a key, as numbers that compare as the bytes do; zeros where it is shorter.
fn prefix(key: &[u8]) -> [u64; 2] {
    let mut bytes = [0; PREFIX];
    let len = key.len().min(PREFIX);
    bytes[..len].copy_from_slice(&key[..len]);
    let number = u128::from_be_bytes(bytes);
    [(number >> 64) as u64, number as u64]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Claim;
    use datafusion::arrow::array::{Array, ArrayRef, AsArray, Int32Array, StringViewArray};
    use datafusion::arrow::row::{RowConverter, SortField};
    use datafusion::execution::memory_pool::{MemoryPool, UnboundedMemoryPool};
    use proptest::collection::vec;
    use proptest::prelude::*;
    use std::sync::Arc;

    /// The texts and where each came from, in the order of a run of them.
    fn sorted(batches: &[Vec<String>], rows: usize) -> Vec<(String, i32)> {
        let mut number = 0..;
        let batches: Vec<_> = batches
            .iter()
            .map(|texts| {
                let texts: ArrayRef = Arc::new(StringViewArray::from_iter_values(texts));
                let came = number.by_ref().take(texts.len());
                let came: ArrayRef = Arc::new(Int32Array::from_iter_values(came));
                RecordBatch::try_from_iter([("text", texts), ("came", came)]).unwrap()
            })
            .collect();
        let ty = batches[0].column(0).data_type().clone();
        let converter = RowConverter::new(vec![SortField::new(ty)]).unwrap();
        let keys = batches
            .iter()
            .map(|b| converter.convert_columns(&b.columns()[..1]).unwrap());
        let keys = keys.collect();
        let pool: Arc<dyn MemoryPool> = Arc::new(UnboundedMemoryPool::default());
        let run = SortedRun::new(batches, keys, Claim::Held.register("run", &pool));
        let run = run.unwrap();
        let mut sorted = vec![];
        for batch in run.into_batches(rows) {
            let batch = batch.unwrap();
            assert!((1..=rows).contains(&batch.num_rows()));
            let texts = batch.column(0).as_string_view();
            let came = batch
                .column(1)
                .as_primitive::<datafusion::arrow::datatypes::Int32Type>();
            sorted.extend(
                texts
                    .iter()
                    .flatten()
                    .map(str::to_owned)
                    .zip(came.values().iter().copied()),
            );
        }
        sorted
    }

    proptest! {
        #[test]
        fn rows_come_in_order_and_equal_ones_as_they_came(
            batches in vec(vec("[ab\u{0}]{0,24}", 0..20), 1..5),
            rows in 1_usize..30,
        ) {
            let texts = batches.iter().flatten().cloned();
            let mut expected: Vec<_> = texts.zip(0..).collect();
            expected.sort();
            prop_assert_eq!(sorted(&batches, rows), expected);
        }
    }
}
