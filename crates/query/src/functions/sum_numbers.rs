//! What `sum` and `avg` add up in: integers and decimals, and points in time by their microseconds, exactly in 128 bits, floats in 64.

use super::quotient::exact_means;
use datafusion::arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, BooleanArray, Decimal128Array, Decimal256Array,
    Float32Array, Float64Array, Int64Array, PrimitiveArray,
};
use datafusion::arrow::buffer::NullBuffer;
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{
    DataType, Decimal64Type, Decimal128Type, Decimal256Type, Float32Type, Float64Type, Int32Type,
    Int64Type, UInt64Type, i256,
};
use datafusion::common::{Result, exec_err};
use hushdb_storage::HUGEINT;
use std::sync::Arc;

pub(super) const MAX_DIGITS: u8 = 38;
/// Groups whose sums fit into the processor's nearest memory; a power of two.
const FEW_GROUPS: usize = 64;
const LIMIT: i128 = 10i128.pow(38) - 1;

/// A running sum: exact for integers and decimals, in 64-bit floating point for floats.
pub(super) trait Sum: Copy + Default + Send + std::fmt::Debug + 'static {
    /// Adds every non-null value that passes the filter; `each` gets a position and a value.
    fn each(
        values: &dyn Array,
        filter: Option<&BooleanArray>,
        each: impl FnMut(usize, Self),
    ) -> Result<()>;
    /// Adds each value to the sum of its group, and 1 to the group's count, in a way that is made for few groups; false, and nothing
    /// added, where it is not made for these.
    fn add_to_few(_: &dyn Array, _groups: &[usize], _: &mut [Self], _counts: &mut [i64]) -> bool {
        false
    }
    /// False when the sum no longer fits.
    fn add(&mut self, value: Self) -> bool;
    fn state(values: Vec<Self>, nulls: Option<NullBuffer>, scale: i8) -> ArrayRef;
    /// Sums as they are handed over.
    fn answer(values: Vec<Self>, nulls: Option<NullBuffer>, input: &DataType) -> ArrayRef;
    /// The mean of so many numbers of a type.
    fn mean(self, count: i64, input: &DataType) -> f64;
    /// The mean of so many microseconds, cut as a division of integers is, but for what lies above the middle between two: as in DuckDB.
    fn whole_mean(self, count: i64) -> i64;
    /// PostgreSQL's means of so many numbers each; NULL of none.
    fn postgres_means(sums: &[Self], counts: &[i64], scale: i8) -> Result<ArrayRef>;
    /// Whether the type of the sum has it.
    fn fits(self, input: &DataType) -> bool;
}

impl Sum for i128 {
    fn each(
        values: &dyn Array,
        filter: Option<&BooleanArray>,
        each: impl FnMut(usize, Self),
    ) -> Result<()> {
        match values.data_type() {
            DataType::Int32 => visit(values.as_primitive::<Int32Type>(), filter, i128::from, each),
            DataType::Int64 => visit(values.as_primitive::<Int64Type>(), filter, i128::from, each),
            DataType::UInt64 => visit(
                values.as_primitive::<UInt64Type>(),
                filter,
                i128::from,
                each,
            ),
            DataType::Decimal64(..) => visit(
                values.as_primitive::<Decimal64Type>(),
                filter,
                i128::from,
                each,
            ),
            DataType::Decimal128(..) => {
                visit(values.as_primitive::<Decimal128Type>(), filter, |v| v, each)
            }
            DataType::Decimal256(..) => visit(
                values.as_primitive::<Decimal256Type>(),
                filter,
                i256::as_i128,
                each,
            ),
            of if of.is_temporal() => {
                let micros = cast(values, &DataType::Int64)?;
                visit(micros.as_primitive::<Int64Type>(), filter, i128::from, each);
            }
            other => return exec_err!("sum over {other} was not planned"),
        }
        Ok(())
    }

    fn add_to_few(
        values: &dyn Array,
        groups: &[usize],
        sums: &mut [Self],
        counts: &mut [i64],
    ) -> bool {
        if values.null_count() > 0 || sums.len() > FEW_GROUPS {
            return false;
        }
        let words = match values.data_type() {
            DataType::Int64 => values.as_primitive::<Int64Type>().values(),
            DataType::Decimal64(..) => values.as_primitive::<Decimal64Type>().values(),
            _ => return false,
        };
        add_small_words(words, groups, sums, counts)
    }

    #[inline]
    fn add(&mut self, value: Self) -> bool {
        let (sum, wrapped) = self.overflowing_add(value);
        *self = sum;
        !wrapped
    }

    fn state(values: Vec<Self>, nulls: Option<NullBuffer>, scale: i8) -> ArrayRef {
        let array = Decimal128Array::new(values.into(), nulls);
        Arc::new(array.with_data_type(DataType::Decimal128(MAX_DIGITS, scale)))
    }

    fn answer(values: Vec<Self>, nulls: Option<NullBuffer>, input: &DataType) -> ArrayRef {
        if *input == DataType::Int32 {
            let values: Vec<i64> = values.into_iter().map(|sum| sum as i64).collect();
            return Arc::new(Int64Array::new(values.into(), nulls));
        }
        if !is_whole(input) {
            return Self::state(values, nulls, scale(input));
        }
        let values: Vec<i256> = values.into_iter().map(i256::from_i128).collect();
        Arc::new(Decimal256Array::new(values.into(), nulls).with_data_type(HUGEINT))
    }

    fn mean(self, count: i64, input: &DataType) -> f64 {
        self as f64 / (count as f64 * 10f64.powi(i32::from(scale(input))))
    }

    fn whole_mean(self, count: i64) -> i64 {
        let count = i128::from(count);
        let is_above = self % count > count / 2;
        (self / count + i128::from(is_above)) as i64
    }

    fn postgres_means(sums: &[Self], counts: &[i64], scale: i8) -> Result<ArrayRef> {
        exact_means(sums, counts, scale)
    }

    fn fits(self, input: &DataType) -> bool {
        match *input == DataType::Int32 {
            true => i64::try_from(self).is_ok(),
            false => is_whole(input) || (-LIMIT..=LIMIT).contains(&self),
        }
    }
}

impl Sum for f64 {
    fn each(
        values: &dyn Array,
        filter: Option<&BooleanArray>,
        each: impl FnMut(usize, Self),
    ) -> Result<()> {
        visit(values.as_primitive::<Float64Type>(), filter, |v| v, each);
        Ok(())
    }

    #[inline]
    fn add(&mut self, value: Self) -> bool {
        *self += value;
        true
    }

    fn state(values: Vec<Self>, nulls: Option<NullBuffer>, _scale: i8) -> ArrayRef {
        Arc::new(Float64Array::new(values.into(), nulls))
    }

    fn answer(values: Vec<Self>, nulls: Option<NullBuffer>, input: &DataType) -> ArrayRef {
        Self::state(values, nulls, scale(input))
    }

    fn mean(self, count: i64, _: &DataType) -> f64 {
        self / count as f64
    }

    fn whole_mean(self, count: i64) -> i64 {
        (self / count as f64) as i64
    }

    fn postgres_means(sums: &[Self], counts: &[i64], _: i8) -> Result<ArrayRef> {
        means(sums, counts, &DataType::Float64)
    }

    fn fits(self, _: &DataType) -> bool {
        true
    }
}

/// A sum of floats that may not leave their range, as in PostgreSQL.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct InRange(pub(super) f64);

impl Sum for InRange {
    fn each(
        values: &dyn Array,
        filter: Option<&BooleanArray>,
        mut each: impl FnMut(usize, Self),
    ) -> Result<()> {
        let each = |row, value| each(row, value);
        match values.data_type() {
            DataType::Float32 => {
                let widen = |value| Self(f64::from(value));
                visit(values.as_primitive::<Float32Type>(), filter, widen, each);
            }
            _ => visit(values.as_primitive::<Float64Type>(), filter, Self, each),
        }
        Ok(())
    }

    #[inline]
    fn add(&mut self, value: Self) -> bool {
        let sum = self.0 + value.0;
        let fits = !sum.is_infinite() || self.0.is_infinite() || value.0.is_infinite();
        self.0 = sum;
        fits
    }

    fn state(values: Vec<Self>, nulls: Option<NullBuffer>, scale: i8) -> ArrayRef {
        f64::state(values.into_iter().map(|sum| sum.0).collect(), nulls, scale)
    }

    fn answer(values: Vec<Self>, nulls: Option<NullBuffer>, input: &DataType) -> ArrayRef {
        if *input != DataType::Float32 {
            return Self::state(values, nulls, scale(input));
        }
        let values: Vec<f32> = values.into_iter().map(|sum| sum.0 as f32).collect();
        Arc::new(Float32Array::new(values.into(), nulls))
    }

    fn mean(self, count: i64, input: &DataType) -> f64 {
        self.0.mean(count, input)
    }

    fn whole_mean(self, count: i64) -> i64 {
        self.0.whole_mean(count)
    }

    fn postgres_means(sums: &[Self], counts: &[i64], _: i8) -> Result<ArrayRef> {
        means(sums, counts, &DataType::Float64)
    }

    fn fits(self, input: &DataType) -> bool {
        *input != DataType::Float32 || self.0.is_infinite() || !(self.0 as f32).is_infinite()
    }
}

#[inline]
fn visit<T: ArrowPrimitiveType, N>(
    values: &PrimitiveArray<T>,
    filter: Option<&BooleanArray>,
    widen: impl Fn(T::Native) -> N,
    mut each: impl FnMut(usize, N),
) {
    if values.null_count() == 0 && filter.is_none() {
        for (i, value) in values.values().iter().enumerate() {
            each(i, widen(*value));
        }
        return;
    }
    for (i, value) in values.values().iter().enumerate() {
        let passes = filter.is_none_or(|f| f.is_valid(i) && f.value(i));
        if passes && values.is_valid(i) {
            each(i, widen(*value));
        }
    }
}

/// The sum of all values that are not NULL; `None` where it leaves 128 bits on the way, or is not one of numbers that are kept in 32 to 128 bits.
pub(super) fn total(values: &dyn Array) -> Option<i128> {
    match values.data_type() {
        DataType::Int32 => {
            let narrow = |values: &[i32]| values.iter().map(|value| i64::from(*value)).sum::<i64>();
            let sum = |values: &[i32]| Some(in_parts(values, narrow));
            total_of(values.as_primitive::<Int32Type>(), sum)
        }
        DataType::Int64 => total_of(values.as_primitive::<Int64Type>(), sum_of_words),
        DataType::Decimal64(..) => total_of(values.as_primitive::<Decimal64Type>(), sum_of_words),
        DataType::Decimal128(..) => {
            let sum = |values: &[i128]| {
                let add = |(sum, fits): (i128, bool), value: &i128| {
                    let (sum, wrapped) = sum.overflowing_add(*value);
                    (sum, fits & !wrapped)
                };
                let (sum, fits) = values.iter().fold((0, true), add);
                fits.then_some(sum)
            };
            total_of(values.as_primitive::<Decimal128Type>(), sum)
        }
        _ => None,
    }
}

fn total_of<T: ArrowPrimitiveType>(
    values: &PrimitiveArray<T>,
    sum: impl Fn(&[T::Native]) -> Option<i128>,
) -> Option<i128> {
    match values.nulls().filter(|nulls| nulls.null_count() > 0) {
        None => sum(values.values()),
        Some(nulls) => nulls.valid_slices().try_fold(0_i128, |total, (from, to)| {
            total.checked_add(sum(values.values().get(from..to)?)?)
        }),
    }
}

/// Adds numbers to sums of few groups, by way of sums of 64 bits: one for every second row, which the processor need not finish
/// before it goes on with the next. False where numbers are so large that those might not hold them, or where a sum might not.
fn add_small_words(words: &[i64], groups: &[usize], sums: &mut [i128], counts: &mut [i64]) -> bool {
    let bits = words
        .iter()
        .fold(0, |bits, word| bits | (word ^ (word >> 63)));
    let is_small = bits.leading_zeros() > (words.len() as u64).checked_ilog2().unwrap_or(0) + 1;
    let has_room = sums.iter().all(|sum| sum.unsigned_abs() < 1 << 126);
    if !is_small || !has_room {
        return false;
    }
    let mut parts = [[(0_i64, 0_i64); FEW_GROUPS]; 2];
    let [even, odd] = &mut parts;
    let add = |part: &mut [(i64, i64); FEW_GROUPS], group: usize, word: i64| {
        let (sum, count) = &mut part[group % FEW_GROUPS];
        *sum += word;
        *count += 1;
    };
    let (pairs, last) = words.as_chunks::<2>();
    let (group_pairs, last_group) = groups.as_chunks::<2>();
    for ([a, b], [of_a, of_b]) in pairs.iter().zip(group_pairs) {
        add(even, *of_a, *a);
        add(odd, *of_b, *b);
    }
    for (word, group) in last.iter().zip(last_group) {
        add(even, *group, *word);
    }
    for (at, (sum, count)) in sums.iter_mut().zip(counts).enumerate() {
        for part in &parts {
            let (more, rows) = part[at];
            *sum += i128::from(more);
            *count += rows;
        }
    }
    true
}

/// A sum by the halves of each number, of which the processor adds several at once.
fn sum_of_words(values: &[i64]) -> Option<i128> {
    let low = |values: &[i64]| {
        let halves = values.iter().map(|value| i64::from(*value as u32));
        halves.sum::<i64>()
    };
    let high = |values: &[i64]| values.iter().map(|value| value >> 32).sum::<i64>();
    Some((in_parts(values, high) << 32) + in_parts(values, low))
}

/// A sum of numbers of 32 bits, of so many at once as 64 bits have room for.
fn in_parts<N>(values: &[N], sum: impl Fn(&[N]) -> i64) -> i128 {
    let parts = values.chunks(1 << 30);
    parts.map(|part| i128::from(sum(part))).sum()
}

/// Means of so many values of a type each; NULL of none.
pub(super) fn means<N: Sum>(sums: &[N], counts: &[i64], input: &DataType) -> Result<ArrayRef> {
    let all = sums.iter().zip(counts);
    if input.is_temporal() {
        let micros = all.map(|(sum, count)| (*count > 0).then(|| sum.whole_mean(*count)));
        return Ok(cast(&micros.collect::<Int64Array>(), input)?);
    }
    let means = all.map(|(sum, count)| (*count > 0).then(|| sum.mean(*count, input)));
    Ok(Arc::new(means.collect::<Float64Array>()))
}

/// Scale of a summed decimal; 0 for integers.
pub(super) fn scale(input: &DataType) -> i8 {
    match input {
        DataType::Decimal64(_, s) | DataType::Decimal128(_, s) => *s,
        _ => 0,
    }
}

/// Whether sums are HUGEINTs.
pub(super) fn is_whole(input: &DataType) -> bool {
    input.is_integer() || *input == HUGEINT
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn added_one_by_one(values: &dyn Array) -> Option<i128> {
        let mut sum = Some(0_i128);
        i128::each(values, None, |_, value| {
            sum = sum.and_then(|sum| sum.checked_add(value));
        })
        .unwrap();
        sum
    }

    proptest! {
        #[test]
        fn totals_are_what_is_added_one_by_one(
            values in proptest::collection::vec(proptest::option::weighted(0.8, any::<i64>()), 0..300),
        ) {
            let words: Int64Array = values.iter().copied().collect();
            let narrow: PrimitiveArray<Int32Type> = values.iter().map(|v| v.map(|v| v as i32)).collect();
            let wide = |v: i64| i128::from(v) * 10_i128.pow(16);
            let wide: Decimal128Array = values.iter().map(|v| v.map(wide)).collect();
            let arrays: [&dyn Array; 3] = [&words, &narrow, &wide];
            for array in arrays {
                prop_assert_eq!(total(array), added_one_by_one(array));
            }
        }
    }

    type Added = (Vec<i128>, Vec<i64>);

    /// Sums and counts of groups, by the way for few of them, which says whether it was one, and one by one.
    fn grouped(values: &dyn Array, groups: &[usize]) -> (bool, [Added; 2]) {
        let count = groups.iter().max().map_or(0, |last| last + 1);
        let empty = (vec![7_i128; count], vec![1_i64; count]);
        let [mut few, mut each] = [empty.clone(), empty];
        let is_for_few = i128::add_to_few(values, groups, &mut few.0, &mut few.1);
        i128::each(values, None, |at, value| {
            assert!(each.0[groups[at]].add(value));
            each.1[groups[at]] += 1;
        })
        .unwrap();
        (is_for_few, [few, each])
    }

    proptest! {
        #[test]
        fn sums_of_few_groups_are_what_is_added_one_by_one(
            rows in proptest::collection::vec((any::<i64>(), 0_usize..64), 0..300),
            shift in 9_u32..60,
        ) {
            let words: Int64Array = rows.iter().map(|(word, _)| word >> shift).collect();
            let groups: Vec<usize> = rows.iter().map(|(_, group)| *group).collect();
            let (is_for_few, [few, each]) = grouped(&words, &groups);
            prop_assert!(is_for_few || shift < 10);
            if is_for_few {
                prop_assert_eq!(few, each);
            }
        }
    }

    #[test]
    fn large_numbers_and_many_groups_are_left_to_the_other_way() {
        let groups = [0; 1000];
        for value in [i64::MIN, i64::MAX, 1 << 53, -(1 << 54)] {
            let all = Int64Array::from(vec![value; 1000]);
            assert!(!grouped(&all, &groups).0, "{value}");
        }
        for value in [1 << 53, -(1 << 53)] {
            let [few, each] = grouped(&Int64Array::from(vec![value - 1; 3]), &[0, 1, 1]).1;
            assert_eq!(few, each);
        }
        let many: Vec<usize> = (0..65).collect();
        assert!(!grouped(&Int64Array::from(vec![1; 65]), &many).0);
        assert!(!grouped(&Int64Array::from(vec![Some(1), None]), &[0, 0]).0);
        let mut full = [i128::MAX];
        assert!(!i128::add_to_few(
            &Int64Array::from(vec![1]),
            &[0],
            &mut full,
            &mut [0]
        ));
    }

    #[test]
    fn totals_of_extremes() {
        for value in [i64::MIN, i64::MAX, -1, 0, 1 << 32, -(1 << 32)] {
            let all = Int64Array::from(vec![value; 1000]);
            assert_eq!(total(&all), Some(i128::from(value) * 1000));
        }
        let beyond = Decimal128Array::from(vec![i128::MAX, 1]);
        assert_eq!(total(&beyond), None);
        assert_eq!(total(&Float64Array::from(vec![1.0])), None);
    }
}
