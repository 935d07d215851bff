//! Keys as bytes that compare as their values do (FORMAT.md, "Indexes", key).
//!
//! ```text
//! BOOLEAN               a byte 0 or 1
//! signed, DATE, TIME,   big-endian, sign bit flipped
//! TIMESTAMP, DECIMAL
//! unsigned, UUID        big-endian
//! FLOAT, DOUBLE         big-endian bits; negative: all bits flipped, else the sign bit; -0 as 0, one NaN above all
//! VARCHAR, BLOB         the bytes, 0x00 as 0x00 0xff; then 0x00 0x00
//! ```
//!
//! What must hold: no key begins with another one, so that keys of several columns are their columns' keys in a row, and a key with
//! something behind it still compares as the key does. A row with a NULL in its key has none.
//! Refuses: INTERVAL, whose values have no one order; LIST and STRUCT; keys of more than [`MAX_KEY_BYTES`].

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal64Type, Decimal128Type, Decimal256Type, Float32Type,
    Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, Time64MicrosecondType,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef};
use arrow_buffer::i256;
use arrow_schema::TimeUnit;
use hushdb_encoding::{ColumnType, MAX_DECIMAL64_PRECISION};

use crate::error::{Error, Result};

/// The most bytes that a key has, so that some fit a block of the tree.
pub(crate) const MAX_KEY_BYTES: usize = 4096;

/// Whether columns of this type can be part of a key.
pub(crate) fn can_be_key(ty: &ColumnType) -> bool {
    ty.properties().is_key
}

/// Appends the key that row `row` of the arrays has to `out`; `false`, and `out` as it was, if it has a NULL.
///
/// # Errors
/// InvalidInput if the arrays are not of the types; Unsupported for a key of more than [`MAX_KEY_BYTES`].
pub(crate) fn encode_key(
    types: &[&ColumnType],
    arrays: &[&ArrayRef],
    row: usize,
    out: &mut Vec<u8>,
) -> Result<bool> {
    let before = out.len();
    if arrays.iter().any(|a| row >= a.len() || a.is_null(row)) {
        return Ok(false);
    }
    for (ty, array) in types.iter().zip(arrays) {
        encode(ty, array.as_ref(), row, out).ok_or_else(|| {
            Error::InvalidInput("the values of a key are not of its columns' types".into())
        })?;
    }
    if out.len() - before > MAX_KEY_BYTES {
        out.truncate(before);
        return Err(Error::Unsupported(format!(
            "a value in an indexed column whose key takes more than {MAX_KEY_BYTES} bytes"
        )));
    }
    Ok(true)
}

fn encode(ty: &ColumnType, array: &dyn Array, row: usize, out: &mut Vec<u8>) -> Option<()> {
    match ty {
        ColumnType::Boolean => out.push(u8::from(array.as_boolean_opt()?.value(row))),
        ColumnType::Int8 => {
            out.extend(((value::<Int8Type>(array, row)? as u8) ^ (1 << 7)).to_be_bytes());
        }
        ColumnType::Int16 => {
            out.extend(((value::<Int16Type>(array, row)? as u16) ^ (1 << 15)).to_be_bytes());
        }
        ColumnType::Int32 => int32(value::<Int32Type>(array, row)?, out),
        ColumnType::Int64 => int64(value::<Int64Type>(array, row)?, out),
        ColumnType::UInt8 => out.extend(value::<UInt8Type>(array, row)?.to_be_bytes()),
        ColumnType::UInt16 => out.extend(value::<UInt16Type>(array, row)?.to_be_bytes()),
        ColumnType::UInt32 => out.extend(value::<UInt32Type>(array, row)?.to_be_bytes()),
        ColumnType::UInt64 => out.extend(value::<UInt64Type>(array, row)?.to_be_bytes()),
        ColumnType::Float => {
            let value = value::<Float32Type>(array, row)?;
            let bits = match () {
                () if value == 0.0 => 0,
                () if value.is_nan() => f32::NAN.to_bits() & !(1 << 31),
                () => value.to_bits(),
            };
            let flip = if bits >> 31 == 1 { u32::MAX } else { 1 << 31 };
            out.extend((bits ^ flip).to_be_bytes());
        }
        ColumnType::Double => {
            let value = value::<Float64Type>(array, row)?;
            let bits = match () {
                () if value == 0.0 => 0,
                () if value.is_nan() => f64::NAN.to_bits() & !(1 << 63),
                () => value.to_bits(),
            };
            let flip = if bits >> 63 == 1 { u64::MAX } else { 1 << 63 };
            out.extend((bits ^ flip).to_be_bytes());
        }
        ColumnType::Decimal { precision, .. } if *precision <= MAX_DECIMAL64_PRECISION => {
            int64(value::<Decimal64Type>(array, row)?, out);
        }
        ColumnType::Decimal { .. } => int128(value::<Decimal128Type>(array, row)?, out),
        ColumnType::Varchar | ColumnType::Json | ColumnType::Collated(_) => {
            escaped(array.as_string_view_opt()?.value(row).as_bytes(), out)
        }
        ColumnType::Blob => escaped(array.as_binary_view_opt()?.value(row), out),
        ColumnType::Bit => escaped(array.as_binary_opt::<i64>()?.value(row), out),
        ColumnType::Date => int32(value::<Date32Type>(array, row)?, out),
        ColumnType::Time => int64(value::<Time64MicrosecondType>(array, row)?, out),
        ColumnType::Timestamp(unit, _) => {
            let ticks = match unit {
                TimeUnit::Second => value::<TimestampSecondType>(array, row)?,
                TimeUnit::Millisecond => value::<TimestampMillisecondType>(array, row)?,
                TimeUnit::Microsecond => value::<TimestampMicrosecondType>(array, row)?,
                TimeUnit::Nanosecond => value::<TimestampNanosecondType>(array, row)?,
            };
            int64(ticks, out);
        }
        ColumnType::HugeInt => int128(huge(array, row)?.as_i128(), out),
        ColumnType::UHugeInt => out.extend(huge(array, row)?.to_parts().0.to_be_bytes()),
        ColumnType::Uuid | ColumnType::TimeTz => {
            out.extend_from_slice(array.as_fixed_size_binary_opt()?.value(row));
        }
        ColumnType::Interval
        | ColumnType::List(_)
        | ColumnType::Struct(_)
        | ColumnType::Map(_)
        | ColumnType::Array(_)
        | ColumnType::Union(_)
        | ColumnType::Enum(_) => return None,
    }
    Some(())
}

fn value<T: ArrowPrimitiveType>(array: &dyn Array, row: usize) -> Option<T::Native> {
    Some(array.as_primitive_opt::<T>()?.value(row))
}

fn int32(value: i32, out: &mut Vec<u8>) {
    out.extend(((value as u32) ^ (1 << 31)).to_be_bytes());
}

fn int64(value: i64, out: &mut Vec<u8>) {
    out.extend(((value as u64) ^ (1 << 63)).to_be_bytes());
}

fn huge(array: &dyn Array, row: usize) -> Option<i256> {
    value::<Decimal256Type>(array, row)
}

fn int128(value: i128, out: &mut Vec<u8>) {
    out.extend((value.cast_unsigned() ^ (1 << 127)).to_be_bytes());
}

fn escaped(bytes: &[u8], out: &mut Vec<u8>) {
    for part in bytes.split_inclusive(|byte| *byte == 0) {
        out.extend_from_slice(part);
        if part.last() == Some(&0) {
            out.push(0xff);
        }
    }
    out.extend([0, 0]);
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{
        BinaryViewArray, Decimal128Array, Float64Array, Int32Array, Int64Array, StringViewArray,
    };
    use proptest::prelude::*;

    use super::*;

    fn keys(ty: &ColumnType, array: ArrayRef) -> Vec<Vec<u8>> {
        let key = |row| {
            let mut out = Vec::new();
            assert!(encode_key(&[ty], &[&array], row, &mut out).unwrap());
            out
        };
        (0..array.len()).map(key).collect()
    }

    proptest! {
        #[test]
        fn integers_keep_their_order(a: i64, b: i64, c: i32, d: i32) {
            let k = keys(&ColumnType::Int64, Arc::new(Int64Array::from(vec![a, b])));
            prop_assert_eq!(k[0].cmp(&k[1]), a.cmp(&b));
            let k = keys(&ColumnType::Int32, Arc::new(Int32Array::from(vec![c, d])));
            prop_assert_eq!(k[0].cmp(&k[1]), c.cmp(&d));
        }

        #[test]
        fn doubles_keep_their_order(a in -1e300f64..1e300, b in -1.0f64..1.0) {
            let k = keys(&ColumnType::Double, Arc::new(Float64Array::from(vec![a, b])));
            prop_assert_eq!(k[0].cmp(&k[1]), a.partial_cmp(&b).unwrap());
        }

        #[test]
        fn wide_decimals_keep_their_order(a: i64, b: i64, s in 0u32..60) {
            let (a, b) = (i128::from(a) << s, i128::from(b));
            let ty = ColumnType::Decimal { precision: 38, scale: 0 };
            let values = Decimal128Array::from(vec![a, b]).with_precision_and_scale(38, 0).unwrap();
            let k = keys(&ty, Arc::new(values));
            prop_assert_eq!(k[0].cmp(&k[1]), a.cmp(&b));
        }

        #[test]
        fn bytes_keep_their_order_and_none_begins_with_another(
            a in prop::collection::vec(0u8..3, 0..6), b in prop::collection::vec(0u8..3, 0..6),
        ) {
            let array = BinaryViewArray::from_iter_values([&a, &b]);
            let k = keys(&ColumnType::Blob, Arc::new(array));
            prop_assert_eq!(k[0].cmp(&k[1]), a.cmp(&b));
            prop_assert!(a == b || !k[0].starts_with(&k[1]));
        }
    }

    #[test]
    fn what_sql_calls_equal_has_one_key() {
        let values = vec![0.0, -0.0, f64::NAN, -f64::NAN, f64::INFINITY];
        let k = keys(&ColumnType::Double, Arc::new(Float64Array::from(values)));
        assert_eq!((&k[0], &k[2]), (&k[1], &k[3]));
        assert!(k[4] < k[2]);
    }

    #[test]
    fn a_null_has_no_key_and_a_long_text_is_refused() {
        let long = "x".repeat(MAX_KEY_BYTES);
        let array: ArrayRef = Arc::new(StringViewArray::from(vec![None, Some(long.as_str())]));
        let mut out = vec![7];
        assert!(!encode_key(&[&ColumnType::Varchar], &[&array], 0, &mut out).unwrap());
        assert!(encode_key(&[&ColumnType::Varchar], &[&array], 1, &mut out).is_err());
        assert_eq!(out, [7]);
        assert!(encode_key(&[&ColumnType::Int64], &[&array], 1, &mut out).is_err());
    }
}
