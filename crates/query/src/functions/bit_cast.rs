//! Casts from and to BIT: of texts of zeros and ones, and of numbers and BLOBs, whose bytes it has, the highest first.

use super::bit_strings::bits_in;
use super::text::value_text;
use datafusion::arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, BinaryViewArray, BooleanArray, LargeBinaryArray,
    PrimitiveArray, StringViewArray, new_null_array,
};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{
    DataType, Decimal256Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    UInt8Type, UInt16Type, UInt32Type, UInt64Type, i256,
};
use datafusion::common::{DataFusionError, Result};
use hushdb_sql::type_names::type_name;
use hushdb_sql::{Error, ErrorKind};
use hushdb_storage::{BIT, BitString, HUGEINT, UHUGEINT, bit_string};
use std::sync::Arc;

/// Whether a cast is one of these.
pub(super) fn is_of_bits(from: &DataType, to: &DataType) -> bool {
    let is_other = |ty: &DataType| *ty != BIT && !ty.is_null() && !ty.is_nested();
    *from == BIT && is_other(to) || *to == BIT && is_other(from)
}

/// Casts an array so.
pub(super) fn cast_bits(array: &ArrayRef, to: &DataType, lenient: bool) -> Result<ArrayRef> {
    let from = array.data_type();
    let made = match *to == BIT {
        true if from.is_string() => of_texts(array, lenient)?,
        true => of_bytes(array)?,
        false => to_others(array.as_binary::<i64>(), to)?,
    };
    match made {
        Some(made) => Ok(made),
        None if lenient => Ok(new_null_array(to, array.len())),
        None => {
            let (from, to) = (type_name(from), type_name(to));
            Err(wrong(format!("Unimplemented type for cast ({from} -> {to})")).into())
        }
    }
}

fn wrong(text: impl Into<String>) -> Error {
    Error::new(ErrorKind::Conversion, text)
}

fn of_texts(array: &ArrayRef, lenient: bool) -> Result<Option<ArrayRef>> {
    let texts = cast(array, &DataType::Utf8View)?;
    let value = |text: &str| match text.bytes().all(|digit| matches!(digit, b'0' | b'1')) {
        true => {
            let bits = bit_string(text.len(), text.bytes().map(|digit| digit == b'1'));
            bits.ok_or_else(|| wrong("Cannot cast empty string to BIT"))
        }
        false => Err(wrong(
            "Invalid character encountered in string -> bit conversion",
        )),
    };
    let values = texts
        .as_string_view()
        .iter()
        .map(|text| match text.map(value) {
            Some(Err(_)) if lenient => Ok(None),
            value => value.transpose(),
        });
    let values = values.collect::<Result<LargeBinaryArray, Error>>()?;
    Ok(Some(Arc::new(values)))
}

/// What is bytes, as bits; `None` for values of another kind.
fn of_bytes(array: &ArrayRef) -> Result<Option<ArrayRef>> {
    macro_rules! numbers {
        ($type:ty) => {{
            let values = array.as_primitive::<$type>().iter();
            let value = |value: <$type as ArrowPrimitiveType>::Native| whole(&value.to_be_bytes());
            values.map(|v| v.map(value)).collect()
        }};
    }
    let values: LargeBinaryArray = match array.data_type() {
        DataType::Boolean => {
            let values = array.as_boolean().iter();
            values.map(|v| v.map(|v| whole(&[u8::from(v)]))).collect()
        }
        DataType::Int8 => numbers!(Int8Type),
        DataType::Int16 => numbers!(Int16Type),
        DataType::Int32 => numbers!(Int32Type),
        DataType::Int64 => numbers!(Int64Type),
        DataType::UInt8 => numbers!(UInt8Type),
        DataType::UInt16 => numbers!(UInt16Type),
        DataType::UInt32 => numbers!(UInt32Type),
        DataType::UInt64 => numbers!(UInt64Type),
        DataType::Float32 => numbers!(Float32Type),
        DataType::Float64 => numbers!(Float64Type),
        of if *of == HUGEINT || *of == UHUGEINT => {
            let values = array.as_primitive::<Decimal256Type>().iter();
            let value = |value: i256| whole(&value.to_parts().0.to_be_bytes());
            values.map(|v| v.map(value)).collect()
        }
        DataType::Binary | DataType::BinaryView => {
            let values = cast(array, &DataType::BinaryView)?;
            let value = |bytes: &[u8]| match bytes.is_empty() {
                true => Err(wrong("Cannot cast empty BLOB to BIT")),
                false => Ok(whole(bytes)),
            };
            let values = values.as_binary_view().iter();
            let values = values.map(|bytes| bytes.map(value).transpose());
            values.collect::<Result<_, Error>>()?
        }
        _ => return Ok(None),
    };
    Ok(Some(Arc::new(values)))
}

/// Bytes as bits, none of which is filled up.
fn whole(bytes: &[u8]) -> Vec<u8> {
    [&[0], bytes].concat()
}

/// Bits as values of another type; `None` of one that has none.
fn to_others(bits: &LargeBinaryArray, to: &DataType) -> Result<Option<ArrayRef>> {
    macro_rules! numbers {
        ($type:ty, $name:literal) => {
            Arc::new(each::<_, PrimitiveArray<$type>>(bits, |bits| {
                let bytes = bytes(bits, $name)?;
                Ok(<$type as ArrowPrimitiveType>::Native::from_be_bytes(bytes))
            })?)
        };
    }
    let huge = |value: fn(BitString<'_>) -> Result<i256>| {
        let numbers = each::<_, PrimitiveArray<Decimal256Type>>(bits, value)?;
        Ok::<_, DataFusionError>(Arc::new(numbers.with_data_type(to.clone())))
    };
    Ok(Some(match to {
        DataType::Boolean => Arc::new(each::<_, BooleanArray>(bits, |bits| {
            Ok(bytes::<1>(bits, "UINT8")? != [0])
        })?),
        DataType::Int8 => numbers!(Int8Type, "INT8"),
        DataType::Int16 => numbers!(Int16Type, "INT16"),
        DataType::Int32 => numbers!(Int32Type, "INT32"),
        DataType::Int64 => numbers!(Int64Type, "INT64"),
        DataType::UInt8 => numbers!(UInt8Type, "UINT8"),
        DataType::UInt16 => numbers!(UInt16Type, "UINT16"),
        DataType::UInt32 => numbers!(UInt32Type, "UINT32"),
        DataType::UInt64 => numbers!(UInt64Type, "UINT64"),
        DataType::Float32 => numbers!(Float32Type, "FLOAT"),
        DataType::Float64 => numbers!(Float64Type, "DOUBLE"),
        of if *of == HUGEINT => huge(|bits| {
            let number = i128::from_be_bytes(bytes(bits, "INT128")?);
            Ok(i256::from_i128(number))
        })?,
        of if *of == UHUGEINT => huge(|bits| {
            let number = u128::from_be_bytes(bytes(bits, "UINT128")?);
            Ok(i256::from_parts(number, 0))
        })?,
        DataType::Binary | DataType::BinaryView => {
            let blobs =
                each::<_, BinaryViewArray>(bits, |bits| Ok(bits.number().collect::<Vec<u8>>()));
            let blobs: ArrayRef = Arc::new(blobs?);
            cast(&blobs, to)?
        }
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => {
            let texts = (0..bits.len()).map(|row| value_text(bits, row));
            let texts: ArrayRef = Arc::new(texts.collect::<Result<StringViewArray, _>>()?);
            cast(&texts, to)?
        }
        _ => return Ok(None),
    }))
}

fn each<'a, V, A: FromIterator<Option<V>>>(
    bits: &'a LargeBinaryArray,
    value: impl Fn(BitString<'a>) -> Result<V>,
) -> Result<A> {
    let values = bits.iter();
    let values = values.map(|bytes| bytes.map(|bytes| value(bits_in(bytes)?)).transpose());
    values.collect()
}

/// The bits as so many bytes, with zeros before them. That they do not fit is an error of TRY_CAST, too, as in DuckDB.
fn bytes<const N: usize>(bits: BitString<'_>, name: &str) -> Result<[u8; N]> {
    let mut bytes = [0; N];
    let Some(before) = N.checked_sub(bits.width()) else {
        return Err(wrong(format!("Bitstring doesn't fit inside of {name}")).into());
    };
    let places = bytes.iter_mut().skip(before);
    places.zip(bits.number()).for_each(|(to, byte)| *to = byte);
    Ok(bytes)
}
