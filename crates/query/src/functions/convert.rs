//! Conversions that Arrow does not have or does otherwise: UUID and BLOB from text and back, intervals from text. The planner puts them where a CAST stands.

use super::room::{Memory, Room, SMALL, bytes_of};
use super::session_zone::in_session_zone;
use crate::functions::interval_cast::interval_from_text;
use crate::functions::value_text;
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BinaryViewBuilder, FixedSizeBinaryBuilder, StringViewBuilder,
};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, FieldRef, Float64Type};
use datafusion::common::{Result, ScalarValue};
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility,
};
use hushdb_sql::type_names::arrow_field;
use hushdb_sql::{Error, ErrorKind};
use hushdb_storage::{BIT, ColumnType};
use std::sync::Arc;

/// `CAST(text AS UUID)`.
pub const UUID_FROM_TEXT: &str = "$uuid_from_text";
/// `TRY_CAST(text AS UUID)`: NULL for another text.
pub const UUID_OR_NULL: &str = "$uuid_or_null";
/// `CAST(uuid AS VARCHAR)`.
pub const TEXT_FROM_UUID: &str = "$text_from_uuid";
/// `CAST(text AS BLOB)`, with `\xAB` escapes.
pub const BLOB_FROM_TEXT: &str = "$blob_from_text";
/// `TRY_CAST(text AS BLOB)`: NULL for another text.
pub const BLOB_OR_NULL: &str = "$blob_or_null";
/// `CAST(blob AS VARCHAR)`, with `\xAB` escapes for what is not printable ASCII.
pub const TEXT_FROM_BLOB: &str = "$text_from_blob";

/// `CAST(value AS VARCHAR)` for types whose text Arrow writes otherwise than DuckDB.
pub const TEXT_FROM_VALUE: &str = "$text_from_value";

/// `CAST(text AS INTERVAL)`.
pub const INTERVAL_FROM_TEXT: &str = "$interval_from_text";
/// `TRY_CAST(text AS INTERVAL)`.
pub const TRY_INTERVAL_FROM_TEXT: &str = "$try_interval_from_text";

/// Rounds a DOUBLE to the nearest whole number, ties to even, as DuckDB does before a CAST to an integer.
pub const ROUND_EVEN: &str = "$round_even";

/// The same before a CAST to a type without a sign, which nothing below 0 fits: its fractions round to -1.
pub const ROUND_UNSIGNED: &str = "$round_unsigned";

pub(super) fn all(memory: &Arc<dyn MemoryPool>) -> Vec<Arc<ScalarUDF>> {
    [
        (UUID_FROM_TEXT, DataType::Utf8View, ColumnType::Uuid),
        (UUID_OR_NULL, DataType::Utf8View, ColumnType::Uuid),
        (BLOB_OR_NULL, DataType::Utf8View, ColumnType::Blob),
        (
            TEXT_FROM_UUID,
            DataType::FixedSizeBinary(16),
            ColumnType::Varchar,
        ),
        (BLOB_FROM_TEXT, DataType::Utf8View, ColumnType::Blob),
        (TEXT_FROM_BLOB, DataType::BinaryView, ColumnType::Varchar),
        (TEXT_FROM_VALUE, DataType::Null, ColumnType::Varchar),
        (INTERVAL_FROM_TEXT, DataType::Utf8View, ColumnType::Interval),
        (
            TRY_INTERVAL_FROM_TEXT,
            DataType::Utf8View,
            ColumnType::Interval,
        ),
        (ROUND_EVEN, DataType::Float64, ColumnType::Double),
        (ROUND_UNSIGNED, DataType::Float64, ColumnType::Double),
    ]
    .into_iter()
    .map(|(name, from, to)| {
        let signature = Signature::user_defined(Volatility::Immutable);
        Arc::new(ScalarUDF::from(Convert {
            name,
            from,
            to,
            signature,
            memory: Memory(Arc::clone(memory)),
        }))
    })
    .collect()
}

/// The text of each value. A list has the texts of its items before it has one.
fn texts(values: &ArrayRef, room: &mut Room) -> Result<ArrayRef> {
    let for_each_byte = for_each_byte(values.data_type());
    let is_long = for_each_byte > 0 && values.get_array_memory_size() > SMALL;
    let mut out = StringViewBuilder::with_capacity(values.len());
    for row in 0..values.len() {
        if is_long {
            let bytes = bytes_of(values.slice(row, 1).as_ref());
            room.take_all(bytes.saturating_mul(for_each_byte))?;
        }
        out.append_option(value_text(values, row)?);
    }
    Ok(Arc::new(out.finish()))
}

/// Bytes that are there while a value's text is made, for each of its own.
fn for_each_byte(of: &DataType) -> usize {
    let most = |parts: &mut dyn Iterator<Item = &FieldRef>| {
        let parts = parts.map(|part| for_each_byte(part.data_type()));
        parts.fold(TEXT_OF_ITEM, usize::max)
    };
    match of {
        of if *of == BIT => TEXT_OF_BITS,
        DataType::Binary | DataType::BinaryView => TEXT_OF_BLOB,
        DataType::List(item) | DataType::Map(item, _) => most(&mut [item].into_iter()),
        DataType::Struct(fields) => most(&mut fields.iter()),
        of if of.is_nested() => TEXT_OF_ITEM,
        _ => 0,
    }
}

/// Bytes of texts that there are for each byte of a list's items: a number of eight has a text, its place among all, and its part of the
/// whole.
const TEXT_OF_ITEM: usize = 6;

/// The same of a BIT: eight digits, which are made, and then kept.
const TEXT_OF_BITS: usize = 16;

/// The same of a BLOB: four letters of a byte that is none itself.
const TEXT_OF_BLOB: usize = 8;

#[derive(Debug, PartialEq, Eq, Hash)]
struct Convert {
    name: &'static str,
    from: DataType,
    to: ColumnType,
    signature: Signature,
    memory: Memory,
}

impl ScalarUDFImpl for Convert {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    /// A value that already has the target type passes through, so a CAST to its own type costs nothing.
    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        Ok(vec![
            if types[0] == self.to.arrow() || self.name == TEXT_FROM_VALUE {
                types[0].clone()
            } else {
                self.from.clone()
            },
        ])
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(self.to.arrow())
    }

    fn return_field_from_args(&self, _: ReturnFieldArgs) -> Result<FieldRef> {
        Ok(Arc::new(arrow_field(self.name, &self.to, true)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        in_session_zone(args, |args| {
            of_one_argument(&args, |input| self.converted(input))
        })
    }
}

impl Convert {
    fn converted(&self, input: &ArrayRef) -> Result<ArrayRef> {
        Ok(if self.name == ROUND_EVEN {
            round_even(&cast(input, &self.from)?)
        } else if self.name == ROUND_UNSIGNED {
            round_unsigned(&cast(input, &self.from)?)
        } else if input.data_type() == &self.to.arrow() {
            Arc::clone(input)
        } else if self.name == TEXT_FROM_VALUE || self.name == TEXT_FROM_BLOB {
            let mut room = Room::new(&self.memory.0);
            texts(input, &mut room)?
        } else {
            let input = cast(input, &self.from)?;
            match self.name {
                UUID_FROM_TEXT => uuid_from_text(&input, false)?,
                UUID_OR_NULL => uuid_from_text(&input, true)?,
                BLOB_OR_NULL => blob_from_text(&input, true)?,
                TEXT_FROM_UUID => text_from_uuid(&input),
                BLOB_FROM_TEXT => blob_from_text(&input, false)?,
                INTERVAL_FROM_TEXT => interval_from_text(&input, false)?,
                _ => interval_from_text(&input, true)?,
            }
        })
    }
}

/// What becomes of the one argument of a call: of a constant, a constant.
pub(super) fn of_one_argument(
    args: &ScalarFunctionArgs,
    made: impl FnOnce(&ArrayRef) -> Result<ArrayRef>,
) -> Result<ColumnarValue> {
    let scalar = matches!(args.args[0], ColumnarValue::Scalar(_));
    let input = args.args[0].to_array(if scalar { 1 } else { args.number_rows })?;
    let output = made(&input)?;
    if scalar {
        let value = ScalarValue::try_from_array(&output, 0)?;
        return Ok(ColumnarValue::Scalar(value));
    }
    Ok(ColumnarValue::Array(output))
}

/// Parses a UUID's text form (RFC 9562 §4): 32 hexadecimal digits, hyphens and braces ignored.
fn parse_uuid(text: &str) -> Option<[u8; 16]> {
    let mut digits = text
        .trim()
        .trim_start_matches('{')
        .trim_end_matches('}')
        .bytes()
        .filter(|b| *b != b'-');
    let mut uuid = [0u8; 16];
    for byte in &mut uuid {
        *byte = hex_digit(digits.next()?)? << 4 | hex_digit(digits.next()?)?;
    }
    digits.next().is_none().then_some(uuid)
}

fn hex_digit(b: u8) -> Option<u8> {
    (b as char).to_digit(16).map(|d| d as u8)
}

pub(super) fn uuid_from_text(input: &ArrayRef, or_null: bool) -> Result<ArrayRef> {
    let input = input.as_string_view();
    let mut out = FixedSizeBinaryBuilder::with_capacity(input.len(), 16);
    for text in input {
        match text.map(parse_uuid) {
            Some(Some(uuid)) => out.append_value(uuid)?,
            Some(None) if !or_null => {
                let what = "Could not convert the string to a UUID: it needs 32 hexadecimal digits";
                return Err(Error::new(ErrorKind::Conversion, what).into());
            }
            _ => out.append_null(),
        }
    }
    Ok(Arc::new(out.finish()))
}

/// The hyphenated lower-case form of a UUID.
pub fn format_uuid(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(36);
    for (i, byte) in bytes.iter().enumerate() {
        if matches!(i, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        text.push_str(&format!("{byte:02x}"));
    }
    text
}

pub(super) fn text_from_uuid(input: &ArrayRef) -> ArrayRef {
    let input = input.as_fixed_size_binary();
    let mut out = StringViewBuilder::with_capacity(input.len());
    for uuid in input {
        out.append_option(uuid.map(format_uuid));
    }
    Arc::new(out.finish())
}

fn parse_blob(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(b) = bytes.next() {
        if b == b'\\' {
            if bytes.next()? != b'x' {
                return None;
            }
            out.push(hex_digit(bytes.next()?)? << 4 | hex_digit(bytes.next()?)?);
        } else if b.is_ascii() {
            out.push(b);
        } else {
            return None;
        }
    }
    Some(out)
}

pub(super) fn blob_from_text(input: &ArrayRef, or_null: bool) -> Result<ArrayRef> {
    let input = input.as_string_view();
    let mut out = BinaryViewBuilder::with_capacity(input.len());
    for text in input {
        match text.map(parse_blob) {
            Some(Some(blob)) => out.append_value(blob),
            Some(None) if !or_null => {
                let what = "Could not convert the string to a BLOB: use ASCII characters and \\xAB escapes";
                return Err(Error::new(ErrorKind::Conversion, what).into());
            }
            _ => out.append_null(),
        }
    }
    Ok(Arc::new(out.finish()))
}

/// DuckDB's text form of a BLOB: printable ASCII as it is, other bytes as `\xAB`.
pub fn format_blob(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for &byte in bytes {
        if (32..127).contains(&byte) && byte != b'\\' && byte != b'\'' && byte != b'"' {
            text.push(byte as char);
        } else {
            text.push_str(&format!("\\x{byte:02X}"));
        }
    }
    text
}

pub(super) fn round_even(input: &ArrayRef) -> ArrayRef {
    Arc::new(
        input
            .as_primitive::<Float64Type>()
            .unary::<_, Float64Type>(f64::round_ties_even),
    )
}

/// A float rounded for an integer of that type.
pub(super) fn rounded_for(to: &DataType, input: &ArrayRef) -> ArrayRef {
    match to.is_unsigned_integer() {
        true => round_unsigned(input),
        false => round_even(input),
    }
}

fn round_unsigned(input: &ArrayRef) -> ArrayRef {
    let input = input.as_primitive::<Float64Type>();
    Arc::new(input.unary::<_, Float64Type>(|v| match v < 0.0 {
        true => v.floor(),
        false => v.round_ties_even(),
    }))
}

pub(super) fn text_from_blob(input: &ArrayRef) -> ArrayRef {
    let input = input.as_binary_view();
    let mut out = StringViewBuilder::with_capacity(input.len());
    for blob in input {
        out.append_option(blob.map(format_blob));
    }
    Arc::new(out.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uuid_text_round_trips() {
        let text = "123e4567-e89b-12d3-a456-426614174000";
        assert_eq!(format_uuid(&parse_uuid(text).unwrap()), text);
        assert_eq!(parse_uuid(&text.to_uppercase()), parse_uuid(text));
        for bad in [
            "",
            "123e4567",
            "123e4567-e89b-12d3-a456-4266141740000",
            "g23e4567-e89b-12d3-a456-426614174000",
        ] {
            assert_eq!(parse_uuid(bad), None, "{bad}");
        }
    }

    #[test]
    fn blob_text_round_trips() {
        let bytes: Vec<u8> = (0..=255).collect();
        assert_eq!(parse_blob(&format_blob(&bytes)).unwrap(), bytes);
        assert_eq!(parse_blob("\\xZZ"), None);
        assert_eq!(parse_blob("\\"), None);
    }
}
