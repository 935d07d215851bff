//! Text as numbers, days, times and points in time, as DuckDB's casts read it: `1e3` and `42.0` are integers, numbers may have underscores
//! between their digits and blanks around them, days may have slashes, `(BC)` and infinities.
//!
//! What must hold: no digit is lost but by rounding, half away from zero; what does not fit is an error, or NULL for TRY_CAST.

use super::make_moment::day_of;
use super::zone::Zone;
use crate::common_types::number_kind::is_huge;
use datafusion::arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, PrimitiveArray, StringViewArray,
};
use datafusion::arrow::compute::{CastOptions, cast, cast_with_options};
use datafusion::arrow::datatypes::{
    DataType, Date32Type, Decimal64Type, Decimal128Type, Decimal256Type, Int8Type, Int16Type,
    Int32Type, Int64Type, Time64MicrosecondType, TimeUnit, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type, i256,
};
use datafusion::common::Result;
use hushdb_sql::type_names::type_name;
use hushdb_sql::{Error, ErrorKind, physical};
use hushdb_storage::{HUGEINT, TimeTz};
use std::borrow::Cow;
use std::sync::Arc;

const MICROS_PER_DAY: i64 = 86_400_000_000;
/// The first point in time, 290309-12-22 (BC), in microseconds.
const FIRST_MOMENT: i64 = -9_223_372_022_400_000_000;
/// No number of a decimal has more digits.
const MAX_DIGITS: i64 = 39;

/// Whether text is read as such a type here.
pub(super) fn reads(to: &DataType) -> bool {
    use DataType as T;
    to.is_integer()
        || is_huge(to)
        || to.is_floating()
        || matches!(
            to,
            T::Decimal64(..)
                | T::Decimal128(..)
                | T::Date32
                | T::Time64(TimeUnit::Microsecond)
                | T::Timestamp(_, None)
                | T::Timestamp(TimeUnit::Microsecond, Some(_))
        )
}

/// Texts as values of such a type.
pub(super) fn read(array: &ArrayRef, to: &DataType, lenient: bool) -> Result<ArrayRef> {
    use DataType as T;
    let texts = Texts { array, to, lenient };
    match to {
        T::Int8 => texts.read::<Int8Type>(|text| integer(text, true)?.try_into().ok()),
        T::Int16 => texts.read::<Int16Type>(|text| integer(text, true)?.try_into().ok()),
        T::Int32 => texts.read::<Int32Type>(|text| integer(text, true)?.try_into().ok()),
        T::Int64 => texts.read::<Int64Type>(|text| integer(text, true)?.try_into().ok()),
        T::UInt8 => texts.read::<UInt8Type>(|text| integer(text, false)?.try_into().ok()),
        T::UInt16 => texts.read::<UInt16Type>(|text| integer(text, false)?.try_into().ok()),
        T::UInt32 => texts.read::<UInt32Type>(|text| integer(text, false)?.try_into().ok()),
        T::UInt64 => texts.read::<UInt64Type>(|text| integer(text, false)?.try_into().ok()),
        T::Decimal64(precision, scale) => {
            let fits = |text: &str| decimal(text, *precision, *scale)?.try_into().ok();
            texts.read::<Decimal64Type>(fits)
        }
        T::Decimal128(precision, scale) => {
            texts.read::<Decimal128Type>(|text| decimal(text, *precision, *scale))
        }
        T::Decimal256(..) => {
            texts.read::<Decimal256Type>(|text| huge_integer(text, *to == HUGEINT))
        }
        T::Date32 => texts.read::<Date32Type>(day),
        T::Time64(TimeUnit::Microsecond) => texts.read::<Time64MicrosecondType>(clock),
        T::Timestamp(TimeUnit::Second, None) => {
            texts.read::<TimestampSecondType>(|text| moment(text, 1_000_000_000))
        }
        T::Timestamp(TimeUnit::Millisecond, None) => {
            texts.read::<TimestampMillisecondType>(|text| moment(text, 1_000_000))
        }
        T::Timestamp(TimeUnit::Microsecond, None) => {
            texts.read::<TimestampMicrosecondType>(|text| moment(text, 1_000))
        }
        T::Timestamp(TimeUnit::Nanosecond, None) => {
            texts.read::<TimestampNanosecondType>(|text| moment(text, 1))
        }
        T::Timestamp(TimeUnit::Microsecond, Some(_)) => {
            let zone = Zone::of(to).unwrap_or(Zone::UTC);
            texts.read::<TimestampMicrosecondType>(|text| instant(text, zone))
        }
        _ => {
            let strict = CastOptions {
                safe: lenient,
                ..CastOptions::default()
            };
            let array = match to.is_floating() {
                true => &without_underscores(array)?,
                false => array,
            };
            Ok(cast_with_options(array, to, &strict)?)
        }
    }
}

/// Numbers without the underscores between their digits, for who does not read these.
fn without_underscores(array: &ArrayRef) -> Result<ArrayRef> {
    let view = cast(array, &DataType::Utf8View)?;
    let texts = view.as_string_view();
    let has_some = |text: &str| text.contains('_');
    if !texts.iter().flatten().any(has_some) {
        return Ok(view);
    }
    let bare = texts.iter().map(|text| match text {
        Some(text) if has_some(text) && Number::read(text).is_some() => {
            Some(Cow::Owned(text.replace('_', "")))
        }
        text => text.map(Cow::Borrowed),
    });
    Ok(Arc::new(bare.collect::<StringViewArray>()))
}

/// What is read, as what.
struct Texts<'a> {
    array: &'a ArrayRef,
    to: &'a DataType,
    lenient: bool,
}

impl Texts<'_> {
    fn read<T: ArrowPrimitiveType>(
        &self,
        value: impl Fn(&str) -> Option<T::Native>,
    ) -> Result<ArrayRef> {
        let view = cast(self.array, &DataType::Utf8View)?;
        let view = view.as_string_view();
        let mut values = PrimitiveArray::<T>::builder(view.len());
        for text in view {
            let found = text.map(&value);
            if found == Some(None) && !self.lenient {
                return Err(self.refused(text.unwrap_or_default()).into());
            }
            values.append_option(found.flatten());
        }
        Ok(Arc::new(values.finish().with_data_type(self.to.clone())))
    }

    fn refused(&self, text: &str) -> Error {
        let to = match is_huge(self.to) {
            true => type_name(self.to),
            false => physical(&self.to.to_string()),
        };
        let message = format!(
            "Could not convert string '...' to {to}, or it does not fit; TRY_CAST gives NULL instead"
        );
        let error = Error::new(ErrorKind::Conversion, message);
        match refusal_of(self.to, text.trim()) {
            Some(sqlstate) => error.with_sqlstate(sqlstate),
            None => error,
        }
    }
}

/// What PostgreSQL says of a text that is no value of a type, where it is not that it reads otherwise: a number that is too large, a day or a
/// time that there is not, or none.
fn refusal_of(to: &DataType, text: &str) -> Option<&'static str> {
    let begins = text.trim_start_matches(['+', '-']);
    let is_number = !begins.is_empty() && begins.bytes().all(|of| of.is_ascii_digit());
    match to {
        to if to.is_integer() && is_number => Some("22003"),
        to if to.is_decimal() && Number::read(text).is_some() => Some("22003"),
        DataType::Date32 | DataType::Timestamp(..) | DataType::Time64(_) => {
            let signs = |of: u8| of.is_ascii_digit() || b"-:. +TtZz/".contains(&of);
            let reads = text.starts_with(|of: char| of.is_ascii_digit())
                && text.contains(['-', ':'])
                && text.bytes().all(signs);
            Some(if reads { "22008" } else { "22007" })
        }
        _ => None,
    }
}

/// A number in decimal digits.
struct Number<'a> {
    negative: bool,
    whole: &'a [u8],
    fraction: &'a [u8],
    exponent: i64,
}

fn is_blank(byte: &u8) -> bool {
    byte.is_ascii_whitespace() || *byte == 0x0b
}

fn trimmed(text: &str) -> &str {
    text.trim_matches(|c: char| u8::try_from(c).is_ok_and(|byte| is_blank(&byte)))
}

/// Digits at the start, which may have an underscore between two of them, and what follows.
fn digits(text: &[u8]) -> (&[u8], &[u8]) {
    let mut end = 0;
    while let Some(byte) = text.get(end) {
        let is_between = *byte == b'_'
            && end > 0
            && text[end - 1] != b'_'
            && text.get(end + 1).is_some_and(u8::is_ascii_digit);
        if !byte.is_ascii_digit() && !is_between {
            break;
        }
        end += 1;
    }
    text.split_at(end)
}

fn sign(text: &[u8]) -> (bool, &[u8]) {
    match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    }
}

impl<'a> Number<'a> {
    fn read(text: &'a str) -> Option<Self> {
        let (negative, text) = sign(trimmed(text).as_bytes());
        let (whole, rest) = digits(text);
        let (fraction, rest) = match rest {
            [b'.', rest @ ..] => digits(rest),
            _ => (&[] as &[u8], rest),
        };
        if whole.is_empty() && fraction.is_empty() {
            return None;
        }
        let exponent = match rest {
            [] => 0,
            [b'e' | b'E', rest @ ..] => exponent(rest)?,
            _ => return None,
        };
        Some(Self {
            negative,
            whole,
            fraction,
            exponent,
        })
    }

    /// The number times ten to the power of `scale`, rounded.
    fn scaled(&self, scale: i8) -> Option<i128> {
        let count = |digits: &[u8]| digits.iter().filter(|byte| **byte != b'_').count() as i64;
        // The power of ten that a digit stands for.
        let mut power = count(self.whole) - 1 + self.exponent + i64::from(scale);
        let (mut value, mut up) = (0_i128, false);
        for byte in self.whole.iter().chain(self.fraction) {
            if *byte == b'_' {
                continue;
            }
            let digit = i128::from(byte - b'0');
            match power {
                0.. => value = value.checked_mul(10)?.checked_add(digit)?,
                -1 => up = digit >= 5,
                _ => break,
            }
            power -= 1;
        }
        if power >= 0 && value != 0 {
            let missing = u32::try_from(power + 1).ok()?;
            value = value.checked_mul(10_i128.checked_pow(missing)?)?;
        }
        let value = value.checked_add(i128::from(up))?;
        Some(if self.negative { -value } else { value })
    }
}

fn exponent(text: &[u8]) -> Option<i64> {
    let (negative, text) = sign(text);
    let (digits, rest) = digits(text);
    if digits.is_empty() || !rest.is_empty() {
        return None;
    }
    let mut value = 0_i64;
    for byte in digits.iter().filter(|byte| **byte != b'_') {
        value = (value * 10 + i64::from(byte - b'0')).min(1 << 40);
    }
    Some(if negative { -value } else { value })
}

fn integer(text: &str, signed: bool) -> Option<i128> {
    let bare = trimmed(text);
    let radix = match bare.as_bytes() {
        [b'0', b'x' | b'X', ..] => 16,
        [b'0', b'b' | b'B', ..] => 2,
        _ => 10,
    };
    if radix != 10 {
        // An underscore stands between two digits.
        let parts = bare[2..].split('_');
        let is_part = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_digit(radix));
        return match parts.clone().all(is_part) {
            true => i128::from_str_radix(&parts.collect::<String>(), radix).ok(),
            false => None,
        };
    }
    let number = Number::read(text)?;
    let value = number.scaled(0)?;
    let is_less = number.negative && (value != 0 || !number.fraction.is_empty());
    (signed || !is_less).then_some(value)
}

/// A HUGEINT, or a UHUGEINT; what a number's amount has no room for is read from bare digits alone.
fn huge_integer(text: &str, signed: bool) -> Option<i256> {
    Number::read(text)?;
    match integer(text, signed) {
        Some(value) if signed || value >= 0 => Some(i256::from_i128(value)),
        Some(_) => None,
        // The least of all has one more than the greatest, so its amount did not fit.
        None if signed => Some(i256::from_i128(trimmed(text).parse().ok()?)),
        None => Some(i256::from_parts(trimmed(text).parse().ok()?, 0)),
    }
}

fn decimal(text: &str, precision: u8, scale: i8) -> Option<i128> {
    let number = Number::read(text)?;
    let value = number.scaled(scale)?;
    let limit = 10_i128.checked_pow(u32::from(precision))?;
    (i64::from(precision) < MAX_DIGITS && value.abs() < limit).then_some(value)
}

/// `infinity`, `-inf`, `epoch`: the last value of a type, the first or 0.
fn special<T>(text: &str, [first, zero, last]: [T; 3]) -> Option<T> {
    let text = trimmed(text).to_ascii_lowercase();
    match text.as_str() {
        "epoch" => Some(zero),
        "infinity" | "inf" => Some(last),
        "-infinity" | "-inf" => Some(first),
        _ => None,
    }
}

/// A day; what follows it does not matter.
fn day(text: &str) -> Option<i32> {
    special(text, [-i32::MAX, 0, i32::MAX]).or_else(|| Some(calendar_day(trimmed(text))?.0))
}

/// At most so many digits at the start as a number, and what follows.
fn count(text: &str, most: usize) -> Option<(i64, &str)> {
    let end = text.bytes().take_while(u8::is_ascii_digit).count();
    let (digits, rest) = text.split_at(end);
    match (1..=most).contains(&end) {
        true => Some((digits.parse().ok()?, rest)),
        false => None,
    }
}

/// `2024-01-02`, `2024/1/2`, `0044-03-15 (BC)` as days since 1970, and what follows.
fn calendar_day(text: &str) -> Option<(i32, &str)> {
    let (negative, text) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (year, rest) = count(text, 8)?;
    let separator = rest.chars().next().filter(|c| "-/\\ ".contains(*c))?;
    let (month, rest) = count(&rest[1..], 2)?;
    let (day, rest) = count(rest.strip_prefix(separator)?, 2)?;
    let mark = rest
        .get(..5)
        .is_some_and(|m| m.eq_ignore_ascii_case(" (bc)"));
    let (year, rest) = match (mark, negative) {
        (true, true) => return None,
        (true, false) if year == 0 => return None,
        (true, false) => (1 - year, &rest[5..]),
        (false, true) => (-year, rest),
        (false, false) => (year, rest),
    };
    Some((day_of(year, month, day)?, rest))
}

/// A point in time in units of so many nanoseconds.
fn moment(text: &str, unit: i64) -> Option<i64> {
    if let Some(found) = special(text, [-i64::MAX, 0, i64::MAX]) {
        return Some(found);
    }
    let (days, rest) = calendar_day(trimmed(text))?;
    let (nanos, rest) = match rest.strip_prefix(['T', ' ']) {
        None => (0, rest),
        Some(time) => time_of_day(time.trim_start_matches(' '))?,
    };
    if !is_zone(rest) {
        return None;
    }
    if unit == 1 {
        let days = i64::from(days).checked_mul(MICROS_PER_DAY * 1000)?;
        return days.checked_add(nanos).filter(|value| *value < i64::MAX);
    }
    let micros = i64::from(days).checked_mul(MICROS_PER_DAY)?;
    let micros = micros.checked_add(nanos / 1000)?;
    let is_last = !(FIRST_MOMENT..i64::MAX).contains(&micros);
    let per_unit = unit / 1000;
    // Rounded to whole units, half away from 1970.
    (!is_last).then(|| match (per_unit, micros.rem_euclid(per_unit) * 2) {
        (1, _) => micros,
        (_, rest) => {
            let is_more = rest > per_unit || rest == per_unit && micros >= 0;
            micros.div_euclid(per_unit) + i64::from(is_more)
        }
    })
}

/// An instant in microseconds: a time in the zone that follows it, or else in this one.
fn instant(text: &str, zone: Zone) -> Option<i64> {
    if let Some(found) = special(text, [-i64::MAX, 0, i64::MAX]) {
        return Some(found);
    }
    let (days, rest) = calendar_day(trimmed(text))?;
    let midnight = i64::from(days).checked_mul(MICROS_PER_DAY)?;
    let is_instant = |micros: &i64| (FIRST_MOMENT..i64::MAX).contains(micros);
    let in_zone = |zone: Zone, shown: i64| zone.instant(shown).filter(is_instant);
    let Some(time) = rest.strip_prefix(['T', ' ']) else {
        return match rest.is_empty() {
            true => in_zone(zone, midnight),
            false => None,
        };
    };
    let time = time.trim_start_matches(' ');
    let (nanos, named) = time_of_day(time)?;
    let shown = midnight.checked_add(nanos / 1000).filter(is_instant)?;
    // A zone follows seconds alone.
    let clock = time.len() - named.len();
    if !named.is_empty() && time[..clock].matches(':').count() < 2 {
        return None;
    }
    match named.as_bytes() {
        [] => in_zone(zone, shown),
        [b'Z'] => Some(shown),
        [b' ', ..] => in_zone(Zone::named(trimmed(named))?.0, shown),
        [sign @ (b'+' | b'-'), ..] => {
            let seconds = offset(&named[1..])?;
            let seconds = if *sign == b'-' { -seconds } else { seconds };
            shown.checked_sub(seconds * 1_000_000).filter(is_instant)
        }
        _ => None,
    }
}

/// A time of day, and the distance from UTC that follows it, or else this one, in microseconds.
pub(super) fn time_with_zone(text: &str, offset_now: i64) -> Option<TimeTz> {
    let text = trimmed(text);
    let (nanos, rest) = time_of_day(text).filter(|(_, rest)| is_whole(text, rest))?;
    let rest = rest.trim_start_matches(' ');
    let seconds = match rest.as_bytes() {
        [] => offset_now / 1_000_000,
        [sign @ (b'+' | b'-'), ..] => {
            let seconds = offset(&rest[1..])?;
            if *sign == b'-' { -seconds } else { seconds }
        }
        _ => return None,
    };
    TimeTz::new(nanos / 1000, i32::try_from(seconds).ok()?)
}

/// Hours, minutes and seconds of two digits each, with colons or without, in seconds.
fn offset(text: &str) -> Option<i64> {
    let mut rest = text;
    let mut total = 0;
    for unit in [3600, 60, 1] {
        if unit != 3600 {
            if rest.is_empty() {
                break;
            }
            rest = rest.strip_prefix(':').unwrap_or(rest);
        }
        let (digits, after) = rest.split_at_checked(2)?;
        if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        total += digits.parse::<i64>().ok()? * unit;
        rest = after;
    }
    rest.is_empty().then_some(total)
}

/// `10:11`, `10:11:12.5` in nanoseconds, and what follows.
fn time_of_day(text: &str) -> Option<(i64, &str)> {
    let (hours, rest) = count(text, 9)?;
    let (minutes, rest) = after_colon(rest)?;
    let (seconds, rest) = after_colon(rest).unwrap_or((0, rest));
    let (nanos, rest) = match rest.strip_prefix('.') {
        None => (0, rest),
        Some(fraction) => {
            let end = fraction.bytes().take_while(u8::is_ascii_digit).count();
            let (digits, rest) = fraction.split_at(end);
            let kept = &digits[..digits.len().min(9)];
            (format!("{kept:0<9}").parse::<i64>().ok()?, rest)
        }
    };
    let is_end = (hours, minutes, seconds, nanos) == (24, 0, 0, 0);
    if !is_end && hours > 23 || minutes > 59 || seconds > 59 {
        return None;
    }
    let total = (hours * 3600 + minutes * 60 + seconds) * 1_000_000_000 + nanos;
    Some((total, rest))
}

/// A time of day in microseconds, also that of a point in time; what follows seconds does not matter.
fn clock(text: &str) -> Option<i64> {
    let text = trimmed(text);
    if let Some((nanos, rest)) = time_of_day(text) {
        return is_whole(text, rest).then_some(nanos / 1000);
    }
    let is_special = special(text, [(); 3]).is_some();
    let micros = moment(text, 1_000).filter(|_| !is_special)?;
    Some(micros.rem_euclid(MICROS_PER_DAY))
}

/// Whether a time ends where the text does, or else has seconds before what is left of it.
fn is_whole(text: &str, rest: &str) -> bool {
    let read = &text[..text.len() - rest.len()];
    rest.is_empty() || read.matches(':').count() > 1
}

/// The number after a colon, 0 if there is none.
fn after_colon(text: &str) -> Option<(i64, &str)> {
    let rest = text.strip_prefix(':')?;
    Some(count(rest, 9).unwrap_or((0, rest)))
}

/// Whether what follows a time is nothing, or the offset of a zone, which DuckDB passes over.
fn is_zone(rest: &str) -> bool {
    let end = trimmed(rest);
    if end.is_empty()
        || end == "Z" && rest.starts_with('Z')
        || rest.starts_with(' ') && end == "UTC"
    {
        return true;
    }
    let Some(offset) = rest.strip_prefix(['+', '-']) else {
        return false;
    };
    let offset = trimmed(offset);
    let digits = offset.bytes().filter(u8::is_ascii_digit).count();
    offset.bytes().take_while(u8::is_ascii_digit).count() >= 2
        && digits % 2 == 0
        && digits <= 6
        && offset
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b':')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_duckdb_reads_them() {
        for (text, value) in [
            ("1e3", Some(1000)),
            ("42.0", Some(42)),
            ("2.5", Some(3)),
            ("-0.5", Some(-1)),
            ("-1.4", Some(-1)),
            (" +7\n", Some(7)),
            ("1_000", Some(1000)),
            ("1_000.5", Some(1001)),
            ("0x1F", Some(31)),
            ("0b101", Some(5)),
            ("1.", Some(1)),
            (".5", Some(1)),
            ("15e-1", Some(2)),
            ("12e-400", Some(0)),
            ("1__0", None),
            ("_1", None),
            ("1_", None),
            ("- 7", None),
            ("1e", None),
            (".", None),
            ("", None),
            ("-", None),
            ("1e400", None),
            ("1e999999999999999999999", None),
            ("0x", None),
            ("0x-1", None),
            ("1,000", None),
        ] {
            assert_eq!(integer(text, true), value, "{text}");
        }
        assert_eq!(integer("-0.4", false), None);
        assert_eq!(integer("-0", false), Some(0));
        assert_eq!(decimal("1.255", 9, 2), Some(126));
        assert_eq!(decimal("-1.255", 9, 2), Some(-126));
        assert_eq!(decimal("9999999.995", 9, 2), None);
        assert_eq!(decimal("12345.6789e2", 9, 2), Some(123_456_789));
    }

    #[test]
    fn days_and_moments_are_read_as_duckdb_reads_them() {
        for (text, value) in [
            ("1970-01-02", Some(1)),
            ("1970/1/2", Some(1)),
            ("1970-01-02 garbage", Some(1)),
            ("0001-12-31 (BC)", Some(-719_163)),
            ("0000-12-31", Some(-719_163)),
            ("infinity", Some(i32::MAX)),
            ("1970-01-002", None),
            ("1970-01/02", None),
            ("1970-02-30", None),
            ("0000-01-01 (BC)", None),
            ("99999999-01-01", None),
            ("1970", None),
        ] {
            assert_eq!(day(text), value, "{text}");
        }
        for (text, value) in [
            ("1970-01-01 00:01", Some(60_000_000)),
            ("1970-01-01T00:00:00.1234567", Some(123_456)),
            ("1970-01-01 24:00:00", Some(MICROS_PER_DAY)),
            ("1970-01-01 00:00:01+01:30", Some(1_000_000)),
            ("1970-01-01 00:00:01Z", Some(1_000_000)),
            ("1970-01-01 00:00:01 UTC", Some(1_000_000)),
            ("1970-01-01", Some(0)),
            ("1970-01-01 10", None),
            ("1970-01-01 10:61", None),
            ("1970-01-01 24:00:01", None),
            ("1970-01-01 10:11:12 x", None),
            ("294247-01-10 04:00:54.775807", None),
        ] {
            assert_eq!(moment(text, 1_000), value, "{text}");
        }
    }

    #[test]
    fn instants_are_read_as_duckdb_reads_them() {
        const HOUR: i64 = 3_600_000_000;
        for (text, value) in [
            ("1970-01-01 10:00:00+01", Some(9 * HOUR)),
            ("1970-01-01 10:00:00-0130", Some(11 * HOUR + HOUR / 2)),
            (
                "1970-01-01 10:00:00+01:30:36",
                Some(9 * HOUR - HOUR / 2 - HOUR / 100),
            ),
            ("1970-01-01T10:00:00Z", Some(10 * HOUR)),
            ("1970-01-01 10:00:00 UTC", Some(10 * HOUR)),
            ("1970-01-01 10:00:00 europe/berlin", Some(9 * HOUR)),
            ("1970-01-01 10:00", Some(10 * HOUR)),
            ("1970/1/1", Some(0)),
            ("epoch", Some(0)),
            ("infinity", Some(i64::MAX)),
            ("0001-12-31 (BC) 00:00:00+00", Some(-719_163 * 24 * HOUR)),
            ("1970-01-01 10:00+01", None),
            ("1970-01-01 10:00:00 Z", None),
            ("1970-01-01 10:00:00 +01", None),
            ("1970-01-01 10:00:00+1", None),
            ("1970-01-01 10:00:00+01:3", None),
            ("1970-01-01 10:00:00+é", None),
            ("1970-01-01 10:00:00 nowhere", None),
            ("1970-01-01 UTC", None),
            ("1970-01-01+01", None),
        ] {
            assert_eq!(instant(text, Zone::UTC), value, "{text}");
        }
    }
}
