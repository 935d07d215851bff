//! What `sum` and `avg` add up in: integers and decimals, and points in time by their microseconds, exactly in 128 bits, floats in 64.

use super::quotient::exact_means;
use datafusion::arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, BooleanArray, Decimal128Array, Decimal256Array,
    Float64Array, Int64Array, PrimitiveArray,
};
use datafusion::arrow::buffer::NullBuffer;
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{
    DataType, Decimal64Type, Decimal128Type, Decimal256Type, Float64Type, Int32Type, Int64Type,
    UInt64Type, i256,
};
use datafusion::common::{Result, exec_err};
use hushdb_storage::HUGEINT;
use std::sync::Arc;

pub(super) const MAX_DIGITS: u8 = 38;
const LIMIT: i128 = 10i128.pow(38) - 1;

/// A running sum: exact for integers and decimals, in 64-bit floating point for floats.
pub(super) trait Sum: Copy + Default + Send + std::fmt::Debug + 'static {
    /// Adds every non-null value that passes the filter; `each` gets a position and a value.
    fn each(
        values: &dyn Array,
        filter: Option<&BooleanArray>,
        each: impl FnMut(usize, Self),
    ) -> Result<()>;
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
        let input = DataType::Float64;
        means(sums, counts, &input)
    }

    fn fits(self, _: &DataType) -> bool {
        true
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
