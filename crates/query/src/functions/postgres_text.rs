//! Values as texts in PostgreSQL's writing: those of the wire, and of a CAST to text there.
//!
//! What must hold: a text is read again as the value that it was written from.

use super::convert::of_one_argument;
use super::json_text::json_value;
use super::moment_cast::{cast_moments, is_of_moments};
use super::quotient::QUOTIENT;
use super::session_zone::in_session_zone;
use super::value_text;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, StringViewArray, StringViewBuilder};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{
    DataType, Float32Type, Float64Type, IntervalMonthDayNanoType, IntervalUnit, TimeUnit,
};
use datafusion::arrow::error::ArrowError;
use datafusion::common::Result;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use hushdb_sql::type_names::is_enum;
use hushdb_sql::{NUMERIC_SCALE, POSTGRES_OUTPUT, POSTGRES_TEXT};
use hushdb_storage::UnionType;
use std::sync::Arc;

#[derive(Debug, PartialEq, Eq, Hash)]
struct PostgresText {
    name: &'static str,
    signature: Signature,
}

/// `CAST(value AS text)` of PostgreSQL, for values whose text is another one in DuckDB; and what a value of any type is shown as.
pub(super) fn functions() -> impl Iterator<Item = Arc<ScalarUDF>> {
    [POSTGRES_TEXT, POSTGRES_OUTPUT].into_iter().map(|name| {
        let signature = Signature::any(1, Volatility::Immutable);
        Arc::new(ScalarUDF::from(PostgresText { name, signature }))
    })
}

impl ScalarUDFImpl for PostgresText {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8View)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        in_session_zone(args, |args| of_one_argument(&args, texts))
    }
}

fn texts(input: &ArrayRef) -> Result<ArrayRef> {
    let input = one_type(input)?;
    let mut out = StringViewBuilder::with_capacity(input.len());
    for row in 0..input.len() {
        out.append_option(value_or_record(input.as_ref(), row)?);
    }
    Ok(Arc::new(out.finish()))
}

/// The text of a value, which of a record is that of its fields: `(1,,"a b")`. On the wire it is JSON.
fn value_or_record(column: &dyn Array, row: usize) -> Result<Option<String>, ArrowError> {
    let Some(record) = column.as_struct_opt().filter(|_| column.is_valid(row)) else {
        return postgres_text(column, row);
    };
    let mut fields = Vec::with_capacity(record.num_columns());
    for field in record.columns() {
        let field = one_type(field)?;
        let text = value_or_record(field.as_ref(), row)?;
        fields.push(text.map_or_else(String::new, quoted_field));
    }
    Ok(Some(format!("({})", fields.join(","))))
}

/// A field of a record, between quotes where PostgreSQL puts them.
fn quoted_field(text: String) -> String {
    let is_special = |c: char| c.is_ascii_whitespace() || matches!(c, '"' | '\\' | '(' | ')' | ',');
    match text.is_empty() || text.contains(is_special) {
        true => format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\"\"")),
        false => text,
    }
}

/// A column in the one Arrow type that its type in PostgreSQL is written from.
///
/// # Errors
/// What a cast gives.
pub fn one_type(column: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    let of = column.data_type();
    if is_enum(of) || UnionType::members_of(of).is_some() {
        let texts = (0..column.len()).map(|row| value_text(column, row));
        let texts = texts.collect::<Result<StringViewArray, _>>()?;
        return Ok(Arc::new(texts));
    }
    let to = match column.data_type() {
        DataType::Int8 | DataType::UInt8 => DataType::Int16,
        DataType::UInt16 => DataType::Int32,
        DataType::UInt32 => DataType::Int64,
        DataType::Float16 => DataType::Float32,
        DataType::Utf8 | DataType::LargeUtf8 => DataType::Utf8View,
        DataType::Binary => DataType::BinaryView,
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
    match is_of_moments(column.data_type(), &to) {
        // What is infinitely far stays so.
        true => cast_moments(column, &to, false)
            .map_err(|error| ArrowError::ExternalError(Box::new(error))),
        false => cast(column, &to),
    }
}

/// A value of such a column as PostgreSQL writes it as text; `None` for NULL.
///
/// # Errors
/// What has no text.
pub fn postgres_text(column: &dyn Array, row: usize) -> Result<Option<String>, ArrowError> {
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
            float(f64::from(value), &format!("{value:e}"), 6)
        }
        DataType::Float64 => {
            let value = column.as_primitive::<Float64Type>().value(row);
            float(value, &format!("{value:e}"), 15)
        }
        DataType::BinaryView => bytes(column.as_binary_view().value(row)),
        DataType::Interval(_) => interval(column, row),
        DataType::List(_) => list(column, row)?,
        DataType::Struct(_) | DataType::Map(..) => json_value(column, row)?,
        _ => match value_text(column, row)? {
            Some(text) if column.data_type().is_decimal() => {
                with_whole(without_zeros(text, column.data_type()))
            }
            Some(text) if column.data_type().is_temporal() => bc(text),
            Some(text) => text,
            None => return Ok(None),
        },
    }))
}

/// A number of no digits that were said, without the zeros behind those that were written.
fn without_zeros(text: String, of: &DataType) -> String {
    match of {
        ty if *ty == QUOTIENT => text,
        DataType::Decimal128(38, scale) if *scale >= NUMERIC_SCALE && text.contains('.') => {
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        }
        _ => text,
    }
}

/// A number with a digit before its point.
fn with_whole(text: String) -> String {
    match (text.strip_prefix('.'), text.strip_prefix("-.")) {
        (Some(digits), _) => format!("0.{digits}"),
        (_, Some(digits)) => format!("-0.{digits}"),
        _ => text,
    }
}

/// PostgreSQL writes years before the first without brackets.
fn bc(text: String) -> String {
    match text.contains(" (BC)") {
        // Behind the time, too.
        true => text.replacen(" (BC)", "", 1) + " BC",
        false => text,
    }
}

/// A float from its shortest digits (`1.25e3`): as many of them before the point as PostgreSQL shows, else with an exponent of two.
fn float(value: f64, shortest: &str, before: i32) -> String {
    if value.is_nan() {
        return "NaN".into();
    }
    if value.is_infinite() {
        return if value > 0.0 { "Infinity" } else { "-Infinity" }.into();
    }
    let (digits, exponent) = shortest.split_once('e').unwrap_or((shortest, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..before).contains(&exponent) {
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
    // What is behind a part that is negative says that it is not.
    let mut is_negative = false;
    let mut part = |count: i32, name: &str| {
        if count != 0 {
            let plural = if count == 1 { "" } else { "s" };
            let plus = if is_negative && count > 0 { "+" } else { "" };
            parts.push(format!("{plus}{count} {name}{plural}"));
            is_negative = count < 0;
        }
    };
    part(value.months / 12, "year");
    part(value.months % 12, "mon");
    part(value.days, "day");
    let micros = value.nanoseconds / 1_000;
    if micros != 0 || parts.is_empty() {
        let sign = match micros < 0 {
            true => "-",
            false if is_negative => "+",
            false => "",
        };
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
    let items = one_type(&column.as_list::<i32>().value(row))?;
    let nested = matches!(items.data_type(), DataType::List(_));
    let mut parts = Vec::with_capacity(items.len());
    for item in 0..items.len() {
        parts.push(match postgres_text(items.as_ref(), item)? {
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

/// `\x00ff`.
fn bytes(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 + 2 * bytes.len());
    text.push_str("\\x");
    for byte in bytes {
        let digit = |half: u8| char::from_digit(u32::from(half), 16).unwrap_or('0');
        text.extend([digit(byte >> 4), digit(byte & 15)]);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::array::Float64Array;

    fn shown(value: f64) -> String {
        postgres_text(&Float64Array::from(vec![value]), 0)
            .unwrap()
            .unwrap()
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
