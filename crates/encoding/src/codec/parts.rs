//! The flat arrays that a column is compressed as.
//!
//! What must hold: a part is a Boolean, an integer, a float, text or bytes, so little of the compression library is ever reached
//! by a file; wide values are split into numbers that compress well on their own; NULLs live in the first part only.
//! Dates, times, timestamps and narrow decimals are their integers.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal64Type, Decimal128Type, Decimal256Type, Int32Type, Int64Type,
    IntervalMonthDayNano, IntervalMonthDayNanoType, Time64MicrosecondType,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType, UInt64Type,
};
use arrow_array::{
    Array, ArrayRef, BinaryViewArray, Decimal64Array, Decimal128Array, FixedSizeBinaryArray,
    Int32Array, Int64Array, LargeBinaryArray, PrimitiveArray, UInt64Array,
};
use arrow_buffer::{Buffer, NullBuffer, ScalarBuffer, i256};
use arrow_schema::{DataType, TimeUnit};

use super::encoded_segment::CodecError;
use super::verify;
use crate::bit_string::{BitString, are_bits};
use crate::column_type::{ColumnType, Parts};
use crate::time_tz::{TimeTz, are_times};

/// The most parts a type is split into.
pub(crate) const MAX_PARTS: usize = 3;

/// Arrow types of the parts of `ty`, in order.
pub(crate) fn part_types(ty: &ColumnType) -> Vec<DataType> {
    match ty.properties().parts {
        Parts::Decimal64(..) => {
            vec![DataType::Int64]
        }
        Parts::Decimal128(..) => vec![DataType::Int64, DataType::UInt64],
        Parts::Date => vec![DataType::Int32],
        Parts::Time | Parts::Timestamp(..) => vec![DataType::Int64],
        Parts::Interval => vec![DataType::Int32, DataType::Int32, DataType::Int64],
        Parts::Uuid | Parts::Huge(false) => vec![DataType::UInt64, DataType::UInt64],
        Parts::Huge(true) => vec![DataType::Int64, DataType::UInt64],
        Parts::TimeTz => vec![DataType::UInt64],
        Parts::Bit => vec![DataType::BinaryView],
        Parts::Whole => vec![ty.arrow()],
    }
}

/// Splits an array of type `ty.arrow()` into its parts. NULLs are in the first part.
pub(crate) fn split(ty: &ColumnType, array: &ArrayRef) -> Result<Vec<ArrayRef>, CodecError> {
    if array.data_type() != &ty.arrow() {
        return Err(CodecError::WrongType);
    }
    let nulls = array.nulls().cloned();
    Ok(match ty.properties().parts {
        Parts::Decimal64(..) => {
            vec![Arc::new(
                array
                    .as_primitive::<Decimal64Type>()
                    .reinterpret_cast::<Int64Type>(),
            )]
        }
        Parts::Decimal128(..) => split_decimals(array, nulls),
        Parts::Date => {
            vec![Arc::new(
                array
                    .as_primitive::<Date32Type>()
                    .reinterpret_cast::<Int32Type>(),
            )]
        }
        Parts::Time => vec![Arc::new(
            array
                .as_primitive::<Time64MicrosecondType>()
                .reinterpret_cast::<Int64Type>(),
        )],
        Parts::Timestamp(unit, _) => vec![Arc::new(timestamp_ticks(array, unit))],
        Parts::Interval => split_intervals(array, nulls),
        Parts::Uuid => split_uuids(array, nulls),
        Parts::Huge(signed) => split_huge(array, signed, nulls)?,
        Parts::TimeTz => split_times(array, nulls)?,
        Parts::Bit if !are_bits(array) => return Err(CodecError::WrongType),
        Parts::Bit => vec![Arc::new(BinaryViewArray::from(array.as_binary::<i64>()))],
        Parts::Whole => vec![Arc::clone(array)],
    })
}

fn split_decimals(array: &ArrayRef, nulls: Option<NullBuffer>) -> Vec<ArrayRef> {
    let values = array.as_primitive::<Decimal128Type>().values();
    let at = |row: usize, value: &i128| if is_null(&nulls, row) { 0 } else { *value };
    let cleaned: Vec<i128> = values
        .iter()
        .enumerate()
        .map(|(row, v)| at(row, v))
        .collect();
    // Truncating to the halves is the point of the two casts.
    let high: ScalarBuffer<i64> = cleaned.iter().map(|v| (v >> 64) as i64).collect();
    let low: ScalarBuffer<u64> = cleaned.iter().map(|v| *v as u64).collect();
    vec![
        Arc::new(Int64Array::new(high, nulls)),
        Arc::new(UInt64Array::new(low, None)),
    ]
}

/// # Errors
/// `WrongType` for a number of more than 128 bits.
fn split_huge(
    array: &ArrayRef,
    signed: bool,
    nulls: Option<NullBuffer>,
) -> Result<Vec<ArrayRef>, CodecError> {
    let values = array.as_primitive::<Decimal256Type>().values();
    let mut halves = (Vec::new(), Vec::new());
    for (row, value) in values.iter().enumerate() {
        let (low, above) = match is_null(&nulls, row) {
            true => (0, 0),
            false => value.to_parts(),
        };
        let fits = match signed {
            true => above == (low.cast_signed() >> 127),
            false => above == 0,
        };
        if !fits {
            return Err(CodecError::WrongType);
        }
        halves.0.push((low >> 64) as u64);
        halves.1.push(low as u64);
    }
    let low = Arc::new(UInt64Array::new(halves.1.into(), None));
    Ok(match signed {
        true => {
            let high: ScalarBuffer<i64> = halves.0.into_iter().map(u64::cast_signed).collect();
            vec![Arc::new(Int64Array::new(high, nulls)), low]
        }
        false => vec![Arc::new(UInt64Array::new(halves.0.into(), nulls)), low],
    })
}

fn split_intervals(array: &ArrayRef, nulls: Option<NullBuffer>) -> Vec<ArrayRef> {
    let values = array.as_primitive::<IntervalMonthDayNanoType>().values();
    let zero = IntervalMonthDayNano::new(0, 0, 0);
    let cleaned: Vec<IntervalMonthDayNano> = values
        .iter()
        .enumerate()
        .map(|(row, v)| if is_null(&nulls, row) { zero } else { *v })
        .collect();
    let months: ScalarBuffer<i32> = cleaned.iter().map(|v| v.months).collect();
    let days: ScalarBuffer<i32> = cleaned.iter().map(|v| v.days).collect();
    let nanos: ScalarBuffer<i64> = cleaned.iter().map(|v| v.nanoseconds).collect();
    vec![
        Arc::new(Int32Array::new(months, nulls)),
        Arc::new(Int32Array::new(days, None)),
        Arc::new(Int64Array::new(nanos, None)),
    ]
}

/// # Errors
/// `WrongType` for bytes that are no time of day.
fn split_times(array: &ArrayRef, nulls: Option<NullBuffer>) -> Result<Vec<ArrayRef>, CodecError> {
    if !are_times(array) {
        return Err(CodecError::WrongType);
    }
    let numbers = array.as_fixed_size_binary().iter();
    let number = |bytes: &[u8]| bytes.try_into().map_or(0, u64::from_be_bytes);
    let numbers: ScalarBuffer<u64> = numbers.map(|bytes| bytes.map_or(0, number)).collect();
    Ok(vec![Arc::new(UInt64Array::new(numbers, nulls))])
}

fn split_uuids(array: &ArrayRef, nulls: Option<NullBuffer>) -> Vec<ArrayRef> {
    let values = array.as_fixed_size_binary();
    let number = |row: usize| {
        if is_null(&nulls, row) {
            return 0;
        }
        values.value(row).try_into().map_or(0, u128::from_be_bytes)
    };
    let cleaned: Vec<u128> = (0..values.len()).map(number).collect();
    let high: ScalarBuffer<u64> = cleaned.iter().map(|v| (v >> 64) as u64).collect();
    let low: ScalarBuffer<u64> = cleaned.iter().map(|v| *v as u64).collect();
    vec![
        Arc::new(UInt64Array::new(high, nulls)),
        Arc::new(UInt64Array::new(low, None)),
    ]
}

/// Puts the parts of one segment together again. All parts have the same length and the types of [`part_types`].
pub(crate) fn join(ty: &ColumnType, parts: Vec<ArrayRef>) -> Result<ArrayRef, CodecError> {
    let malformed = || CodecError::Malformed;
    let types = part_types(ty);
    let len = parts.first().ok_or_else(malformed)?.len();
    let fits = |(part, ty): (&ArrayRef, &DataType)| part.data_type() == ty && part.len() == len;
    if parts.len() != types.len() || !parts.iter().zip(&types).all(fits) {
        return Err(CodecError::Malformed);
    }
    let (first, rest) = parts.split_first().ok_or_else(malformed)?;
    let nulls = first.nulls().cloned();
    Ok(match ty.properties().parts {
        Parts::Decimal64(precision, scale) => {
            let values = first.as_primitive::<Int64Type>().values().clone();
            let array = Decimal64Array::new(values, nulls);
            Arc::new(
                array
                    .with_precision_and_scale(precision, scale)
                    .map_err(|_| malformed())?,
            )
        }
        Parts::Decimal128(precision, scale) => {
            let high = first.as_primitive::<Int64Type>().values();
            let low = rest.first().ok_or_else(malformed)?;
            let low = low.as_primitive::<UInt64Type>().values();
            let values: ScalarBuffer<i128> = high
                .iter()
                .zip(low.iter())
                .map(|(high, low)| (i128::from(*high) << 64) | i128::from(*low))
                .collect();
            let array = Decimal128Array::new(values, nulls);
            Arc::new(
                array
                    .with_precision_and_scale(precision, scale)
                    .map_err(|_| malformed())?,
            )
        }
        Parts::Date => {
            let values = first.as_primitive::<Int32Type>().values().clone();
            Arc::new(PrimitiveArray::<Date32Type>::new(values, nulls))
        }
        Parts::Time => {
            let values = first.as_primitive::<Int64Type>().values().clone();
            Arc::new(PrimitiveArray::<Time64MicrosecondType>::new(values, nulls))
        }
        Parts::Timestamp(unit, zoned) => {
            let values = first.as_primitive::<Int64Type>().values().clone();
            timestamps(values, nulls, unit, zoned)
        }
        Parts::Interval => match rest {
            [days, nanos] => join_intervals(first, days, nanos, nulls),
            _ => return Err(CodecError::Malformed),
        },
        Parts::Uuid => join_uuids(first, rest.first().ok_or_else(malformed)?, nulls)?,
        Parts::Huge(signed) => {
            let low = rest.first().ok_or_else(malformed)?;
            join_huge(first, low, signed, nulls, ty.arrow())
        }
        Parts::TimeTz => join_times(first, nulls)?,
        Parts::Bit => join_bits(first)?,
        Parts::Whole => Arc::clone(first),
    })
}

/// # Errors
/// `Malformed` for a number that is no time of day.
fn join_times(numbers: &ArrayRef, nulls: Option<NullBuffer>) -> Result<ArrayRef, CodecError> {
    let numbers = numbers.as_primitive::<UInt64Type>();
    let mut bytes = Vec::with_capacity(8 * numbers.len());
    for (row, number) in numbers.values().iter().enumerate() {
        let value = number.to_be_bytes();
        if !is_null(&nulls, row) && TimeTz::of_bytes(&value).is_none() {
            return Err(CodecError::Malformed);
        }
        bytes.extend_from_slice(&value);
    }
    let array = FixedSizeBinaryArray::try_new(8, Buffer::from_vec(bytes), nulls);
    Ok(Arc::new(array.map_err(|_| CodecError::Malformed)?))
}

/// # Errors
/// `Malformed` for bytes that are no bits.
fn join_bits(bytes: &ArrayRef) -> Result<ArrayRef, CodecError> {
    let bytes = bytes.as_binary_view_opt().ok_or(CodecError::Malformed)?;
    let is_one = |value: &[u8]| BitString::of_bytes(value).is_some();
    match verify::views(bytes, false) && bytes.iter().flatten().all(is_one) {
        true => Ok(Arc::new(bytes.iter().collect::<LargeBinaryArray>())),
        false => Err(CodecError::Malformed),
    }
}

fn join_huge(
    high: &ArrayRef,
    low: &ArrayRef,
    signed: bool,
    nulls: Option<NullBuffer>,
    to: DataType,
) -> ArrayRef {
    let low = low.as_primitive::<UInt64Type>().values().iter();
    let values: ScalarBuffer<i256> = match signed {
        true => {
            let high = high.as_primitive::<Int64Type>().values().iter();
            let both = high.zip(low);
            both.map(|(high, low)| i256::from_i128(i128::from(*high) << 64 | i128::from(*low)))
                .collect()
        }
        false => {
            let high = high.as_primitive::<UInt64Type>().values().iter();
            let both = high.zip(low);
            both.map(|(high, low)| i256::from_parts(u128::from(*high) << 64 | u128::from(*low), 0))
                .collect()
        }
    };
    Arc::new(PrimitiveArray::<Decimal256Type>::new(values, nulls).with_data_type(to))
}

fn join_intervals(
    months: &ArrayRef,
    days: &ArrayRef,
    nanos: &ArrayRef,
    nulls: Option<NullBuffer>,
) -> ArrayRef {
    let (months, days) = (
        months.as_primitive::<Int32Type>(),
        days.as_primitive::<Int32Type>(),
    );
    let values: ScalarBuffer<IntervalMonthDayNano> = months
        .values()
        .iter()
        .zip(days.values().iter())
        .zip(nanos.as_primitive::<Int64Type>().values().iter())
        .map(|((months, days), nanos)| IntervalMonthDayNano::new(*months, *days, *nanos))
        .collect();
    Arc::new(PrimitiveArray::<IntervalMonthDayNanoType>::new(
        values, nulls,
    ))
}

fn join_uuids(
    high: &ArrayRef,
    low: &ArrayRef,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef, CodecError> {
    let (high, low) = (
        high.as_primitive::<UInt64Type>(),
        low.as_primitive::<UInt64Type>(),
    );
    let mut bytes = Vec::with_capacity(16 * high.len());
    for (high, low) in high.values().iter().zip(low.values().iter()) {
        bytes.extend_from_slice(&high.to_be_bytes());
        bytes.extend_from_slice(&low.to_be_bytes());
    }
    let array = FixedSizeBinaryArray::try_new(16, Buffer::from_vec(bytes), nulls);
    Ok(Arc::new(array.map_err(|_| CodecError::Malformed)?))
}

fn is_null(nulls: &Option<NullBuffer>, row: usize) -> bool {
    nulls.as_ref().is_some_and(|nulls| nulls.is_null(row))
}

fn timestamp_ticks(array: &ArrayRef, unit: TimeUnit) -> Int64Array {
    match unit {
        TimeUnit::Second => array
            .as_primitive::<TimestampSecondType>()
            .reinterpret_cast(),
        TimeUnit::Millisecond => array
            .as_primitive::<TimestampMillisecondType>()
            .reinterpret_cast(),
        TimeUnit::Microsecond => array
            .as_primitive::<TimestampMicrosecondType>()
            .reinterpret_cast(),
        TimeUnit::Nanosecond => array
            .as_primitive::<TimestampNanosecondType>()
            .reinterpret_cast(),
    }
}

fn timestamps(
    values: ScalarBuffer<i64>,
    nulls: Option<NullBuffer>,
    unit: TimeUnit,
    zoned: bool,
) -> ArrayRef {
    macro_rules! build {
        ($ty:ty) => {{
            let array = PrimitiveArray::<$ty>::new(values, nulls);
            if zoned {
                Arc::new(array.with_timezone("UTC"))
            } else {
                Arc::new(array)
            }
        }};
    }
    match unit {
        TimeUnit::Second => build!(TimestampSecondType),
        TimeUnit::Millisecond => build!(TimestampMillisecondType),
        TimeUnit::Microsecond => build!(TimestampMicrosecondType),
        TimeUnit::Nanosecond => build!(TimestampNanosecondType),
    }
}
