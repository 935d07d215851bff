//! One value as text, written the way DuckDB casts it to VARCHAR: what CAST gives and what the shell prints.
//!
//! NULL is `None` here: how it is shown is the caller's business. Nothing is rounded: floating point numbers print their
//! shortest text that reads back as the same number.

use super::enums::label;
use super::nested_text::{in_quotes, in_quotes_if_needed};
use super::unions::member_at;
use super::zone::{Zone, offset_text};
use arrow::array::{Array, AsArray, StructArray};
use arrow::datatypes::{
    DataType, Date32Type, Date64Type, Field, Fields, Float16Type, Float32Type, Float64Type,
    IntervalDayTimeType, IntervalMonthDayNanoType, IntervalUnit, IntervalYearMonthType,
    Time32MillisecondType, Time32SecondType, Time64MicrosecondType, Time64NanosecondType, TimeUnit,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType,
};
use arrow::error::ArrowError;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use hushdb_sql::type_names::{enum_type, is_row};
use hushdb_storage::{BIT, BitString, EnumType, TIMETZ, TimeTz, UnionType, is_json_item};

/// Bits as zeros and ones.
fn text_of_bits(bytes: &[u8]) -> Result<String, ArrowError> {
    let wrong = || ArrowError::InvalidArgumentError("a BIT is none".into());
    let bits = BitString::of_bytes(bytes).ok_or_else(wrong)?.bits();
    Ok(bits.map(|is_set| if is_set { '1' } else { '0' }).collect())
}

fn time_with_zone(bytes: &[u8]) -> Result<String, ArrowError> {
    let wrong = || ArrowError::InvalidArgumentError("a TIME WITH TIME ZONE is none".into());
    Ok(TimeTz::of_bytes(bytes).ok_or_else(wrong)?.to_string())
}

/// The text of row `row` of `array`, `None` when it is NULL.
///
/// # Errors
/// A type that Arrow itself cannot show.
pub fn value_text(array: &dyn Array, row: usize) -> Result<Option<String>, ArrowError> {
    if array.is_null(row) || array.data_type() == &DataType::Null {
        return Ok(None);
    }
    let text = match array.data_type() {
        DataType::Utf8 => array.as_string::<i32>().value(row).to_owned(),
        DataType::LargeUtf8 => array.as_string::<i64>().value(row).to_owned(),
        DataType::Utf8View => array.as_string_view().value(row).to_owned(),
        DataType::Binary => blob(array.as_binary::<i32>().value(row)),
        of if *of == BIT => text_of_bits(array.as_binary::<i64>().value(row))?,
        DataType::BinaryView => blob(array.as_binary_view().value(row)),
        DataType::FixedSizeBinary(16) => uuid(array.as_fixed_size_binary().value(row)),
        of if *of == TIMETZ => time_with_zone(array.as_fixed_size_binary().value(row))?,
        DataType::FixedSizeBinary(_) => blob(array.as_fixed_size_binary().value(row)),
        DataType::Float16 => float(
            array.as_primitive::<Float16Type>().value(row).to_f64(),
            |v| format!("{v:e}"),
        ),
        DataType::Float32 => {
            let value = array.as_primitive::<Float32Type>().value(row);
            float(f64::from(value), |_| format!("{value:e}"))
        }
        DataType::Float64 => float(array.as_primitive::<Float64Type>().value(row), |v| {
            format!("{v:e}")
        }),
        DataType::Date32 => date(i64::from(array.as_primitive::<Date32Type>().value(row))),
        DataType::Date64 => date(
            array
                .as_primitive::<Date64Type>()
                .value(row)
                .div_euclid(86_400_000),
        ),
        DataType::Time32(_) | DataType::Time64(_) => time_of_day(array, row),
        DataType::Timestamp(unit, _) => moment(array, row, *unit),
        DataType::Interval(unit) => span(array, row, *unit),
        DataType::List(item) => list(item, array.as_list::<i32>().value(row).as_ref())?,
        DataType::LargeList(item) => list(item, array.as_list::<i64>().value(row).as_ref())?,
        DataType::FixedSizeList(item, _) => {
            list(item, array.as_fixed_size_list().value(row).as_ref())?
        }
        of if let Some(members) = UnionType::members_of(of) => {
            let Some((_, values)) = member_at(members, array.as_struct(), row) else {
                return Err(ArrowError::InvalidArgumentError(
                    "a value of a UNION is none of its members".into(),
                ));
            };
            value_text(values.as_ref(), row)?.unwrap_or_else(|| "NULL".to_owned())
        }
        of @ DataType::Struct(fields) => match enum_type(of) {
            Some(of) => return enum_text(array.as_struct(), &of, row),
            None => structure(array.as_struct(), fields, row)?,
        },
        DataType::Map(_, _) => map(&array.as_map().value(row))?,
        DataType::Dictionary(_, _) => {
            let dictionary = array.as_any_dictionary();
            let key = dictionary
                .normalized_keys()
                .get(row)
                .copied()
                .unwrap_or_default();
            return value_text(dictionary.values().as_ref(), key);
        }
        // A type of no digits before the point has no 0 there.
        of if has_no_whole(of) => shown(array, row)?.replacen("0.", ".", 1),
        _ => shown(array, row)?,
    };
    Ok(Some(text))
}

/// The text that a value of an ENUM is.
fn enum_text(array: &StructArray, of: &EnumType, row: usize) -> Result<Option<String>, ArrowError> {
    match label(array, of, row) {
        Some(text) => Ok(Some(text)),
        None => Err(ArrowError::InvalidArgumentError(
            "a value of an ENUM is none of its list".into(),
        )),
    }
}

/// The text of a time of day, of whatever unit.
fn time_of_day(array: &dyn Array, row: usize) -> String {
    time(match array.data_type() {
        DataType::Time32(TimeUnit::Second) => nanos(
            array.as_primitive::<Time32SecondType>().value(row),
            1_000_000_000,
        ),
        DataType::Time32(_) => nanos(
            array.as_primitive::<Time32MillisecondType>().value(row),
            1_000_000,
        ),
        DataType::Time64(TimeUnit::Microsecond) => nanos(
            array.as_primitive::<Time64MicrosecondType>().value(row),
            1_000,
        ),
        _ => nanos(array.as_primitive::<Time64NanosecondType>().value(row), 1),
    })
}

/// The text of an interval, of whatever unit.
fn span(array: &dyn Array, row: usize, unit: IntervalUnit) -> String {
    match unit {
        IntervalUnit::YearMonth => {
            let months = array.as_primitive::<IntervalYearMonthType>().value(row);
            interval(i64::from(months), 0, 0)
        }
        IntervalUnit::DayTime => {
            let value = array.as_primitive::<IntervalDayTimeType>().value(row);
            let nanos = i128::from(value.milliseconds) * 1_000_000;
            interval(0, i64::from(value.days), nanos)
        }
        IntervalUnit::MonthDayNano => {
            let value = array.as_primitive::<IntervalMonthDayNanoType>().value(row);
            interval(
                i64::from(value.months),
                i64::from(value.days),
                i128::from(value.nanoseconds),
            )
        }
    }
}

fn structure(columns: &StructArray, fields: &Fields, row: usize) -> Result<String, ArrowError> {
    let unnamed = is_row(fields);
    let mut parts = Vec::with_capacity(fields.len());
    for (field, column) in fields.iter().zip(columns.columns()) {
        let value = nested(column.as_ref(), row)?;
        parts.push(match unnamed {
            true => value,
            false => format!("{}: {value}", in_quotes(field.name())),
        });
    }
    Ok(match unnamed {
        true => format!("({})", parts.join(", ")),
        false => format!("{{{}}}", parts.join(", ")),
    })
}

fn map(entries: &StructArray) -> Result<String, ArrowError> {
    let mut parts = Vec::with_capacity(entries.len());
    for entry in 0..entries.len() {
        parts.push(format!(
            "{}={}",
            nested(entries.column(0).as_ref(), entry)?,
            nested(entries.column(1).as_ref(), entry)?
        ));
    }
    Ok(format!("{{{}}}", parts.join(", ")))
}

/// Whether a decimal has all its digits behind the point.
pub(crate) fn has_no_whole(ty: &DataType) -> bool {
    match ty {
        DataType::Decimal32(precision, scale)
        | DataType::Decimal64(precision, scale)
        | DataType::Decimal128(precision, scale) => u8::try_from(*scale) == Ok(*precision),
        _ => false,
    }
}

/// As Arrow writes it.
fn shown(array: &dyn Array, row: usize) -> Result<String, ArrowError> {
    let formatter = ArrayFormatter::try_new(array, &FormatOptions::default())?;
    formatter.value(row).try_to_string()
}

fn nested(array: &dyn Array, row: usize) -> Result<String, ArrowError> {
    Ok(match value_text(array, row)? {
        None => "NULL".to_owned(),
        Some(text) if array.data_type().is_nested() => text,
        Some(text) => in_quotes_if_needed(text),
    })
}

/// JSON is in no quotes right in a list.
fn list(field: &Field, items: &dyn Array) -> Result<String, ArrowError> {
    let is_json = is_json_item(field);
    let mut parts = Vec::with_capacity(items.len());
    for item in 0..items.len() {
        parts.push(match is_json {
            true => value_text(items, item)?.unwrap_or_else(|| "NULL".to_owned()),
            false => nested(items, item)?,
        });
    }
    Ok(format!("[{}]", parts.join(", ")))
}

/// Printable ASCII as it is, every other byte as `\xNN`; quotes and the backslash are escaped too, so that the text is
/// unambiguous.
fn blob(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for &byte in bytes {
        if (0x20..0x7f).contains(&byte) && !matches!(byte, b'\\' | b'\'' | b'"') {
            text.push(char::from(byte));
        } else {
            text.push_str(&format!("\\x{byte:02X}"));
        }
    }
    text
}

fn uuid(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(36);
    for (index, byte) in bytes.iter().enumerate() {
        if matches!(index, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        text.push_str(&format!("{byte:02x}"));
    }
    text
}

/// `scientific` gives the shortest digits in Rust's `1.5e-7` form; from 1e16 and below 1e-4 they stay in that form.
fn float(value: f64, scientific: impl Fn(f64) -> String) -> String {
    if value.is_nan() {
        return "nan".to_owned();
    }
    if value.is_infinite() {
        return if value < 0.0 { "-inf" } else { "inf" }.to_owned();
    }
    let shortest = scientific(value);
    let (mantissa, exponent) = shortest.split_once('e').unwrap_or((&shortest, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if !(-4..16).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{mantissa}e{sign}{:02}", exponent.abs());
    }
    let (sign, mantissa) = mantissa
        .strip_prefix('-')
        .map_or(("", mantissa), |rest| ("-", rest));
    let mut digits = mantissa.replace('.', "");
    let point = exponent + 1;
    if point <= 0 {
        let zeros = usize::try_from(-point).unwrap_or(0);
        return format!("{sign}0.{}{digits}", "0".repeat(zeros));
    }
    let point = usize::try_from(point).unwrap_or(1);
    while digits.len() <= point {
        digits.push('0');
    }
    format!("{sign}{}.{}", &digits[..point], &digits[point..])
}

fn nanos(value: impl Into<i128>, unit: i128) -> i128 {
    value.into() * unit
}

const DAY: i128 = 86_400_000_000_000;

/// `days` since 1970-01-01, proleptic Gregorian; years before 1 are shown as DuckDB does, `0044-03-15 (BC)`.
fn date(days: i64) -> String {
    match days {
        // DuckDB's infinities live at the ends of the 32-bit range.
        2_147_483_647 => return "infinity".to_owned(),
        -2_147_483_647 => return "-infinity".to_owned(),
        _ => {}
    }
    let (text, before_christ) = civil(days);
    if before_christ { text + " (BC)" } else { text }
}

/// The text of a day, and whether it was before Christ.
fn civil(days: i64) -> (String, bool) {
    let (year, month, day) = calendar(days);
    let shown = if year <= 0 { 1 - year } else { year };
    (format!("{shown:04}-{month:02}-{day:02}"), year <= 0)
}

/// Year, month and day of days since 1970-01-01, in cycles of 400 years that begin on 1 March; the year before 1 is 0.
pub(super) fn calendar(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 {
        shifted_month + 3
    } else {
        shifted_month - 9
    };
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    (year, month, day)
}

/// A point in time; an instant as the clocks of its type's zone show it, and how far they are from UTC.
fn moment(array: &dyn Array, row: usize, unit: TimeUnit) -> String {
    let (value, nanos_each) = match unit {
        TimeUnit::Second => (
            array.as_primitive::<TimestampSecondType>().value(row),
            1_000_000_000,
        ),
        TimeUnit::Millisecond => (
            array.as_primitive::<TimestampMillisecondType>().value(row),
            1_000_000,
        ),
        TimeUnit::Microsecond => (
            array.as_primitive::<TimestampMicrosecondType>().value(row),
            1_000,
        ),
        TimeUnit::Nanosecond => (
            array.as_primitive::<TimestampNanosecondType>().value(row),
            1,
        ),
    };
    match value {
        // DuckDB's infinities, as those of days.
        i64::MAX => "infinity".to_owned(),
        value if value == -i64::MAX => "-infinity".to_owned(),
        value => {
            let value = nanos(value, nanos_each);
            match Zone::of(array.data_type()) {
                None => timestamp(value),
                Some(zone) => {
                    let micros = i64::try_from(value.div_euclid(1_000)).unwrap_or_default();
                    let offset = zone.offset(micros);
                    timestamp(value + i128::from(offset) * 1_000) + &offset_text(offset)
                }
            }
        }
    }
}

fn timestamp(nanoseconds: i128) -> String {
    let days = i64::try_from(nanoseconds.div_euclid(DAY)).unwrap_or_default();
    let (day, before_christ) = civil(days);
    let era = if before_christ { " (BC)" } else { "" };
    format!("{day}{era} {}", time(nanoseconds.rem_euclid(DAY)))
}

/// Time of day from nanoseconds since midnight, without trailing zeros in the fraction.
fn time(nanoseconds: i128) -> String {
    let seconds = nanoseconds / 1_000_000_000;
    let mut text = format!(
        "{:02}:{:02}:{:02}",
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60
    );
    let fraction = nanoseconds % 1_000_000_000;
    if fraction != 0 {
        let digits = format!("{fraction:09}");
        text.push('.');
        text.push_str(digits.trim_end_matches('0'));
    }
    text
}

fn interval(months: i64, days: i64, nanoseconds: i128) -> String {
    let mut parts = Vec::new();
    for (count, unit) in [(months / 12, "year"), (months % 12, "month"), (days, "day")] {
        if count != 0 {
            parts.push(format!(
                "{count} {unit}{}",
                if count.abs() == 1 { "" } else { "s" }
            ));
        }
    }
    if nanoseconds != 0 || parts.is_empty() {
        let sign = if nanoseconds < 0 { "-" } else { "" };
        parts.push(format!("{sign}{}", time(nanoseconds.abs())));
    }
    parts.join(" ")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{
        ArrayRef, BinaryViewArray, BooleanArray, Date32Array, Decimal128Array,
        FixedSizeBinaryArray, Float32Array, Float64Array, Int64Array, IntervalMonthDayNanoArray,
        ListArray, StringViewArray, StructArray, Time64MicrosecondArray, TimestampMicrosecondArray,
    };
    use arrow::datatypes::{Field, Int64Type, IntervalMonthDayNano};

    use super::*;

    fn first(array: &dyn Array) -> String {
        value_text(array, 0).expect("a text").expect("a value")
    }

    #[test]
    fn floats_print_like_duckdb() {
        for (value, expected) in [
            (100_000.0, "100000.0"),
            (1e15, "1000000000000000.0"),
            (1e16, "1e+16"),
            (1e20, "1e+20"),
            (1e-7, "1e-07"),
            (0.0001, "0.0001"),
            (0.00012345, "0.00012345"),
            (0.00001, "1e-05"),
            (123_456_789.123, "123456789.123"),
            (-0.0, "-0.0"),
            (-2.5, "-2.5"),
            (1.5e300, "1.5e+300"),
            (f64::NAN, "nan"),
            (f64::NEG_INFINITY, "-inf"),
        ] {
            assert_eq!(first(&Float64Array::from(vec![value])), expected);
        }
        assert_eq!(first(&Float32Array::from(vec![0.1])), "0.1");
    }

    #[test]
    fn dates_and_times() {
        assert_eq!(first(&Date32Array::from(vec![0])), "1970-01-01");
        assert_eq!(first(&Date32Array::from(vec![18_321])), "2020-02-29");
        assert_eq!(first(&Date32Array::from(vec![-1])), "1969-12-31");
        assert_eq!(first(&Date32Array::from(vec![-719_163])), "0001-12-31 (BC)");
        assert_eq!(
            first(&Time64MicrosecondArray::from(vec![3_723_500_000])),
            "01:02:03.5"
        );
        let stamp = TimestampMicrosecondArray::from(vec![1_577_840_523_500_000]);
        assert_eq!(first(&stamp), "2020-01-01 01:02:03.5");
        assert_eq!(
            first(&stamp.with_timezone("UTC")),
            "2020-01-01 01:02:03.5+00"
        );
        assert_eq!(
            first(&TimestampMicrosecondArray::from(vec![-1])),
            "1969-12-31 23:59:59.999999"
        );
    }

    #[test]
    fn intervals() {
        let of = |months, days, nanoseconds| {
            first(&IntervalMonthDayNanoArray::from(vec![
                IntervalMonthDayNano::new(months, days, nanoseconds),
            ]))
        };
        assert_eq!(of(14, 3, 1_000_000_000), "1 year 2 months 3 days 00:00:01");
        assert_eq!(of(0, 0, 0), "00:00:00");
        assert_eq!(of(0, -1, 0), "-1 day");
        assert_eq!(of(0, 0, -1_500_000_000), "-00:00:01.5");
    }

    #[test]
    fn the_other_types() {
        assert_eq!(first(&BooleanArray::from(vec![true])), "true");
        assert_eq!(first(&StringViewArray::from(vec!["a\nb"])), "a\nb");
        assert_eq!(
            first(&BinaryViewArray::from(vec![&b"\xAA\x01ab'"[..]])),
            "\\xAA\\x01ab\\x27"
        );
        let bare = Decimal128Array::from(vec![-5])
            .with_precision_and_scale(2, 2)
            .unwrap();
        assert_eq!(value_text(&bare, 0).unwrap().as_deref(), Some("-.05"));
        let decimal = Decimal128Array::from(vec![-5])
            .with_precision_and_scale(15, 2)
            .expect("a decimal");
        assert_eq!(first(&decimal), "-0.05");
        let id = FixedSizeBinaryArray::try_from_iter([(0u8..16).collect::<Vec<_>>()].into_iter())
            .expect("16 bytes");
        assert_eq!(first(&id), "00010203-0405-0607-0809-0a0b0c0d0e0f");
        assert_eq!(
            value_text(&Int64Array::from(vec![None]), 0).expect("a text"),
            None
        );
    }

    #[test]
    fn nested_types() {
        let list = ListArray::from_iter_primitive::<Int64Type, _, _>([Some(vec![Some(1), None])]);
        assert_eq!(first(&list), "[1, NULL]");
        let field = Arc::new(Field::new("a", DataType::Int64, true));
        let row = StructArray::from(vec![(
            field,
            Arc::new(Int64Array::from(vec![1])) as ArrayRef,
        )]);
        assert_eq!(first(&row), "{'a': 1}");
    }
}
