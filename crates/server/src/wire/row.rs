//! Rows on the wire: each value as PostgreSQL writes its type, in text or in binary.

use super::back::ColumnHead;
use super::front::{Format, Formats};
use super::moments::{EPOCH_DAYS, EPOCH_MICROS};
use super::oids;
use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, StringViewArray};
use arrow::compute::cast;
use arrow::datatypes::{
    DataType, Date32Type, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type,
    IntervalMonthDayNanoType, IntervalUnit, Time64MicrosecondType, TimeUnit,
    TimestampMicrosecondType, UInt32Type,
};
use arrow::error::ArrowError;
use std::io::Write;
use std::sync::Arc;

/// A batch whose columns have one Arrow type for each type of the wire, so that each is written in one way.
pub(crate) struct Rows {
    columns: Vec<ArrayRef>,
    rows: usize,
}

impl Rows {
    /// # Errors
    /// A value that does not fit its type on the wire.
    pub(crate) fn new(batch: &RecordBatch) -> Result<Self, ArrowError> {
        let columns = batch.columns().iter().map(normal);
        Ok(Self {
            columns: columns.collect::<Result<_, _>>()?,
            rows: batch.num_rows(),
        })
    }

    /// The same with numbers of four bytes where the client was told of an OID.
    ///
    /// # Errors
    /// A number that is none.
    pub(crate) fn told(mut self, heads: &[ColumnHead]) -> Result<Self, ArrowError> {
        for (column, head) in self.columns.iter_mut().zip(heads) {
            if head.oid == oids::OID && column.data_type() == &DataType::Int64 {
                *column = cast(column, &DataType::UInt32)?;
            }
        }
        Ok(self)
    }

    /// The same with the texts of vectors, which have blanks between their numbers: `1 2` rather than `{1,2}`.
    ///
    /// # Errors
    /// None.
    pub(crate) fn with_vectors(
        mut self,
        heads: &[ColumnHead],
        formats: &Formats,
    ) -> Result<Self, ArrowError> {
        for (at, (column, head)) in self.columns.iter_mut().zip(heads).enumerate() {
            let is_list = matches!(column.data_type(), DataType::List(_));
            if head.oid != oids::INT2VECTOR || !is_list || formats.of(at) == Format::Binary {
                continue;
            }
            let texts = (0..self.rows).map(|row| match column.is_null(row) {
                true => Ok(None),
                false => list(column.as_ref(), row)
                    .map(|text| Some(text.trim_matches(['{', '}']).replace(',', " "))),
            });
            let texts = texts.collect::<Result<StringViewArray, _>>()?;
            *column = Arc::new(texts);
        }
        Ok(self)
    }

    pub(crate) fn len(&self) -> usize {
        self.rows
    }

    /// The body of a DataRow.
    ///
    /// # Errors
    /// A value that has no form on the wire.
    pub(crate) fn write(
        &self,
        row: usize,
        formats: &Formats,
        body: &mut Vec<u8>,
    ) -> Result<(), ArrowError> {
        body.extend((self.columns.len() as u16).to_be_bytes());
        for (at, column) in self.columns.iter().enumerate() {
            value(column.as_ref(), row, formats.of(at), body)?;
        }
        Ok(())
    }

    /// The text of a value; `None` for NULL.
    ///
    /// # Errors
    /// A value that has no text.
    pub(crate) fn text(&self, row: usize, column: usize) -> Result<Option<String>, ArrowError> {
        match self.columns.get(column) {
            Some(column) => text(column.as_ref(), row),
            None => Ok(None),
        }
    }
}

/// A column in the one Arrow type that its type on the wire is written from.
fn normal(column: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    if hushdb::is_enum(column.data_type()) {
        return texts(column);
    }
    let to = match column.data_type() {
        DataType::Int8 | DataType::UInt8 => DataType::Int16,
        DataType::UInt16 => DataType::Int32,
        DataType::UInt32 => DataType::Int64,
        DataType::Float16 => DataType::Float32,
        DataType::Utf8 | DataType::LargeUtf8 => DataType::Utf8View,
        DataType::Binary | DataType::LargeBinary => DataType::BinaryView,
        DataType::Date64 => DataType::Date32,
        DataType::Time32(_) | DataType::Time64(TimeUnit::Nanosecond) => {
            DataType::Time64(TimeUnit::Microsecond)
        }
        DataType::Timestamp(unit, zone) if *unit != TimeUnit::Microsecond => {
            DataType::Timestamp(TimeUnit::Microsecond, zone.clone())
        }
        DataType::Interval(IntervalUnit::YearMonth | IntervalUnit::DayTime)
        | DataType::Duration(_) => DataType::Interval(IntervalUnit::MonthDayNano),
        DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
            DataType::List(item.clone())
        }
        _ => return Ok(column.clone()),
    };
    cast(column, &to)
}

/// The texts of values.
fn texts(column: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    let rows = 0..column.len();
    let texts = rows.map(|row| hushdb::value_text(column, row));
    let texts = texts.collect::<Result<StringViewArray, _>>()?;
    Ok(Arc::new(texts))
}

/// A length and a value; -1 for NULL.
fn value(
    column: &dyn Array,
    row: usize,
    format: Format,
    body: &mut Vec<u8>,
) -> Result<(), ArrowError> {
    if column.is_null(row) || column.data_type() == &DataType::Null {
        body.extend((-1_i32).to_be_bytes());
        return Ok(());
    }
    let at = body.len();
    body.extend([0; 4]);
    match format {
        Format::Text => text_into(column, row, body)?,
        Format::Binary => binary_into(column, row, body)?,
    }
    let length = i32::try_from(body.len() - at - 4)
        .map_err(|_| ArrowError::ComputeError("a value is too long for the wire".into()))?;
    if let Some(place) = body.get_mut(at..at + 4) {
        place.copy_from_slice(&length.to_be_bytes());
    }
    Ok(())
}

fn text_into(column: &dyn Array, row: usize, body: &mut Vec<u8>) -> Result<(), ArrowError> {
    match column.data_type() {
        DataType::Utf8View => body.extend(column.as_string_view().value(row).as_bytes()),
        DataType::Int32 => {
            let _ = write!(body, "{}", column.as_primitive::<Int32Type>().value(row));
        }
        DataType::Int64 => {
            let _ = write!(body, "{}", column.as_primitive::<Int64Type>().value(row));
        }
        _ => body.extend(text(column, row)?.unwrap_or_default().into_bytes()),
    }
    Ok(())
}

/// A value as PostgreSQL writes it as text; `None` for NULL.
fn text(column: &dyn Array, row: usize) -> Result<Option<String>, ArrowError> {
    if column.is_null(row) {
        return Ok(None);
    }
    Ok(Some(match column.data_type() {
        DataType::Boolean => match column.as_boolean().value(row) {
            true => "t".into(),
            false => "f".into(),
        },
        DataType::Float32 => {
            let value = column.as_primitive::<Float32Type>().value(row);
            float(f64::from(value), &format!("{value:e}"))
        }
        DataType::Float64 => {
            let value = column.as_primitive::<Float64Type>().value(row);
            float(value, &format!("{value:e}"))
        }
        DataType::BinaryView => format!("\\x{}", hex::encode(column.as_binary_view().value(row))),
        DataType::Interval(_) => interval(column, row),
        DataType::List(_) => list(column, row)?,
        DataType::Struct(_) | DataType::Map(..) => hushdb::json_value(column, row)?.to_string(),
        _ => match hushdb::value_text(column, row)? {
            Some(text) => bc(text),
            None => return Ok(None),
        },
    }))
}

/// PostgreSQL writes years before the first without brackets.
fn bc(text: String) -> String {
    match text.ends_with(" (BC)") {
        true => text.replace(" (BC)", " BC"),
        false => text,
    }
}

/// A float from its shortest digits (`1.25e3`): as many of them before the point as PostgreSQL shows, else with an exponent of two.
fn float(value: f64, shortest: &str) -> String {
    if value.is_nan() {
        return "NaN".into();
    }
    if value.is_infinite() {
        return if value > 0.0 { "Infinity" } else { "-Infinity" }.into();
    }
    let (digits, exponent) = shortest.split_once('e').unwrap_or((shortest, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..15).contains(&exponent) {
        return plain(digits, exponent);
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.abs())
}

/// Digits with their point moved.
fn plain(digits: &str, exponent: i32) -> String {
    let (sign, digits) = match digits.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", digits),
    };
    let all: String = digits.chars().filter(|c| *c != '.').collect();
    let whole = usize::try_from(exponent + 1).unwrap_or(0);
    if whole == 0 {
        let zeros = "0".repeat(usize::try_from(-exponent - 1).unwrap_or(0));
        return format!("{sign}0.{zeros}{all}");
    }
    match all.split_at_checked(whole) {
        Some((whole, "")) => format!("{sign}{whole}"),
        Some((whole, rest)) => format!("{sign}{whole}.{rest}"),
        None => format!("{sign}{all}{}", "0".repeat(whole - all.len())),
    }
}

/// `1 year 2 mons 3 days 04:05:06.5`.
fn interval(column: &dyn Array, row: usize) -> String {
    let value = column.as_primitive::<IntervalMonthDayNanoType>().value(row);
    let mut parts = vec![];
    let mut part = |count: i32, name: &str| {
        if count != 0 {
            let plural = if count == 1 { "" } else { "s" };
            parts.push(format!("{count} {name}{plural}"));
        }
    };
    part(value.months / 12, "year");
    part(value.months % 12, "mon");
    part(value.days, "day");
    let micros = value.nanoseconds / 1_000;
    if micros != 0 || parts.is_empty() {
        let sign = if micros < 0 { "-" } else { "" };
        let micros = micros.unsigned_abs();
        let (seconds, rest) = (micros / 1_000_000, micros % 1_000_000);
        let clock = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        let mut text = format!("{sign}{:02}:{:02}:{:02}", clock.0, clock.1, clock.2);
        if rest != 0 {
            text.push_str(format!(".{rest:06}").trim_end_matches('0'));
        }
        parts.push(text);
    }
    parts.join(" ")
}

/// `{1,NULL,"a b"}`.
fn list(column: &dyn Array, row: usize) -> Result<String, ArrowError> {
    let items = normal(&column.as_list::<i32>().value(row))?;
    let nested = matches!(items.data_type(), DataType::List(_));
    let mut parts = Vec::with_capacity(items.len());
    for item in 0..items.len() {
        parts.push(match text(items.as_ref(), item)? {
            None => "NULL".into(),
            Some(text) if nested => text,
            Some(text) => quoted_item(text),
        });
    }
    Ok(format!("{{{}}}", parts.join(",")))
}

fn quoted_item(text: String) -> String {
    let is_plain = !text.is_empty()
        && !text.eq_ignore_ascii_case("null")
        && !text.contains([
            '{', '}', ',', '"', '\\', ' ', '\t', '\n', '\r', '\u{b}', '\u{c}',
        ]);
    match is_plain {
        true => text,
        false => format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")),
    }
}

fn binary_into(column: &dyn Array, row: usize, body: &mut Vec<u8>) -> Result<(), ArrowError> {
    match column.data_type() {
        DataType::Boolean => body.push(u8::from(column.as_boolean().value(row))),
        DataType::Int16 => body.extend(column.as_primitive::<Int16Type>().value(row).to_be_bytes()),
        DataType::Int32 => body.extend(column.as_primitive::<Int32Type>().value(row).to_be_bytes()),
        DataType::Int64 => body.extend(column.as_primitive::<Int64Type>().value(row).to_be_bytes()),
        DataType::UInt32 => {
            body.extend(column.as_primitive::<UInt32Type>().value(row).to_be_bytes());
        }
        DataType::Float32 => {
            body.extend(
                column
                    .as_primitive::<Float32Type>()
                    .value(row)
                    .to_be_bytes(),
            );
        }
        DataType::Float64 => {
            body.extend(
                column
                    .as_primitive::<Float64Type>()
                    .value(row)
                    .to_be_bytes(),
            );
        }
        DataType::Utf8View => body.extend(column.as_string_view().value(row).as_bytes()),
        DataType::BinaryView => body.extend(column.as_binary_view().value(row)),
        DataType::FixedSizeBinary(_) => body.extend(column.as_fixed_size_binary().value(row)),
        DataType::Date32 => {
            let days = column.as_primitive::<Date32Type>().value(row);
            body.extend(days.saturating_sub(EPOCH_DAYS).to_be_bytes());
        }
        DataType::Time64(_) => {
            body.extend(
                column
                    .as_primitive::<Time64MicrosecondType>()
                    .value(row)
                    .to_be_bytes(),
            );
        }
        DataType::Timestamp(..) => {
            let micros = column.as_primitive::<TimestampMicrosecondType>().value(row);
            body.extend(micros.saturating_sub(EPOCH_MICROS).to_be_bytes());
        }
        DataType::Interval(_) => {
            let value = column.as_primitive::<IntervalMonthDayNanoType>().value(row);
            body.extend((value.nanoseconds / 1_000).to_be_bytes());
            body.extend(value.days.to_be_bytes());
            body.extend(value.months.to_be_bytes());
        }
        DataType::List(_) => binary_list(column, row, body)?,
        _ => match oids::of(column.data_type()) {
            oids::NUMERIC => numeric(&text(column, row)?.unwrap_or_default(), body),
            _ => text_into(column, row, body)?,
        },
    }
    Ok(())
}

/// A one-dimensional array.
fn binary_list(column: &dyn Array, row: usize, body: &mut Vec<u8>) -> Result<(), ArrowError> {
    let items = normal(&column.as_list::<i32>().value(row))?;
    if matches!(items.data_type(), DataType::List(_)) {
        return Err(ArrowError::NotYetImplemented(
            "arrays of arrays go over the wire as text only".into(),
        ));
    }
    let dimensions = i32::from(!items.is_empty());
    body.extend(dimensions.to_be_bytes());
    body.extend(i32::from(items.null_count() > 0).to_be_bytes());
    body.extend(oids::of(items.data_type()).to_be_bytes());
    if dimensions == 1 {
        body.extend((items.len() as i32).to_be_bytes());
        body.extend(1_i32.to_be_bytes());
    }
    (0..items.len()).try_for_each(|item| value(items.as_ref(), item, Format::Binary, body))
}

/// A number with a point, in digits to the base of 10,000.
fn numeric(text: &str, body: &mut Vec<u8>) {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let whole = whole.trim_start_matches('0');
    let padded = format!("{}{whole}", "0".repeat((4 - whole.len() % 4) % 4));
    let tail = format!("{fraction}{}", "0".repeat((4 - fraction.len() % 4) % 4));
    let groups = |text: &str| -> Vec<i16> {
        let groups = text.as_bytes().chunks(4);
        let number = |group: &[u8]| group.iter().fold(0, |n, d| n * 10 + i16::from(d & 15));
        groups.map(number).collect()
    };
    let mut weight = padded.len() as i16 / 4 - 1;
    let mut all = groups(&padded);
    all.extend(groups(&tail));
    let zeros = all.iter().take_while(|group| **group == 0).count();
    all.drain(..zeros);
    weight -= zeros as i16;
    while all.last() == Some(&0) {
        all.pop();
    }
    if all.is_empty() {
        weight = 0;
    }
    let sign: u16 = if negative && !all.is_empty() {
        0x4000
    } else {
        0
    };
    body.extend((all.len() as i16).to_be_bytes());
    body.extend(weight.to_be_bytes());
    body.extend(sign.to_be_bytes());
    body.extend((fraction.len() as u16).to_be_bytes());
    all.iter()
        .for_each(|group| body.extend(group.to_be_bytes()));
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{BooleanArray, Float64Array, Int32Array, ListArray};

    fn shown(value: f64) -> String {
        text(&Float64Array::from(vec![value]), 0).unwrap().unwrap()
    }

    #[test]
    fn floats_are_postgresqls() {
        for (value, text) in [
            (1.0, "1"),
            (-0.0, "-0"),
            (0.1, "0.1"),
            (1234.5, "1234.5"),
            (1e14, "100000000000000"),
            (1e15, "1e+15"),
            (1.5e300, "1.5e+300"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (f64::NAN, "NaN"),
            (f64::NEG_INFINITY, "-Infinity"),
        ] {
            assert_eq!(shown(value), text);
        }
    }

    #[test]
    fn numbers_have_digits_to_the_base_of_10000() {
        let bytes = |text: &str| {
            let mut body = vec![];
            numeric(text, &mut body);
            let words = body.chunks(2).map(|c| i16::from_be_bytes([c[0], c[1]]));
            words.collect::<Vec<_>>()
        };
        assert_eq!(bytes("0"), [0, 0, 0, 0]);
        assert_eq!(bytes("12345.678"), [3, 1, 0, 3, 1, 2345, 6780]);
        assert_eq!(bytes("-0.0001"), [1, -1, 0x4000, 4, 1]);
        assert_eq!(bytes("10000"), [1, 1, 0, 0, 1]);
        assert_eq!(bytes("0.00"), [0, 0, 0, 2]);
    }

    #[test]
    fn a_row_has_a_length_for_each_value() {
        let columns: Vec<ArrayRef> = vec![
            Arc::new(BooleanArray::from(vec![true])),
            Arc::new(Int32Array::from(vec![None])),
            Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>([Some([
                Some(1),
                None,
            ])])),
        ];
        let rows = Rows { columns, rows: 1 };
        let mut body = vec![];
        rows.write(0, &Formats::default(), &mut body).unwrap();
        assert_eq!(body, b"\0\x03\0\0\0\x01t\xff\xff\xff\xff\0\0\0\x08{1,NULL}");
    }

    #[test]
    fn items_are_quoted_where_they_must_be() {
        for (item, text) in [
            ("a", "a"),
            ("", "\"\""),
            ("a b", "\"a b\""),
            ("null", "\"null\""),
            ("\"\\", "\"\\\"\\\\\""),
        ] {
            assert_eq!(quoted_item(item.into()), text);
        }
    }
}
