//! Values of clients: what Bind and COPY bring, by type, in text or in binary.

use super::body::Body;
use super::front::Format;
use super::moments;
use super::oids;
use hushdb::{TimeTz, TimeZone, Value, postgres_bytes, postgres_moment};

/// What is wrong with a value: a SQLSTATE and a sentence that repeats nothing of it.
pub(crate) type Wrong = (&'static str, &'static str);

const TEXT: Wrong = ("22P02", "invalid input syntax for the type of a parameter");
const MOMENT: Wrong = (
    "22007",
    "invalid input syntax for a date or time: write it as in ISO 8601",
);
const BINARY: Wrong = ("22P03", "incorrect binary data format of a parameter");
const NOT_UTF8: Wrong = ("22021", "text must be valid UTF-8 without zero bytes");

/// Reads a value.
///
/// # Errors
/// Bytes that are none of the type, and types that are not there.
pub(crate) fn read(oid: u32, format: Format, bytes: Option<&[u8]>) -> Result<Value, Wrong> {
    match (bytes, format) {
        (None, _) => Ok(Value::Null),
        (Some(bytes), Format::Text) => of_text(oid, text(bytes)?),
        (Some(bytes), Format::Binary) => of_binary(oid, bytes),
    }
}

fn text(bytes: &[u8]) -> Result<&str, Wrong> {
    let text = std::str::from_utf8(bytes).map_err(|_| NOT_UTF8)?;
    match text.contains('\0') {
        true => Err(NOT_UTF8),
        false => Ok(text),
    }
}

fn of_text(oid: u32, text: &str) -> Result<Value, Wrong> {
    let trimmed = text.trim();
    Ok(match oid {
        oids::BOOL => Value::Boolean(boolean(trimmed).ok_or(TEXT)?),
        oids::INT2 => Value::from(trimmed.parse::<i16>().map_err(|_| TEXT)?),
        oids::INT4 => Value::from(trimmed.parse::<i32>().map_err(|_| TEXT)?),
        oids::INT8 | oids::OID => Value::from(trimmed.parse::<i64>().map_err(|_| TEXT)?),
        oids::FLOAT4 => Value::Double(float(trimmed, true)?),
        oids::FLOAT8 => Value::Double(float(trimmed, false)?),
        oids::NUMERIC => number(trimmed)?,
        oids::BYTEA => Value::Blob(postgres_bytes(text).ok_or(TEXT)?),
        oids::DATE => Value::Date(moments::date(trimmed).ok_or(MOMENT)?),
        oids::TIME => Value::Time(moments::time(trimmed).ok_or(MOMENT)?),
        // One without its zone is read in that of the session, as a literal is.
        oids::TIMETZ => match moments::time_with_zone(trimmed).ok_or(MOMENT)? {
            (micros, Some(offset)) => Value::TimeTz(TimeTz::new(micros, offset).ok_or(MOMENT)?),
            (_, None) => Value::Text(trimmed.to_owned()),
        },
        oids::VARBIT => Value::Bit(bits(trimmed)?),
        oids::TIMESTAMP => Value::Timestamp(moments::timestamp(trimmed).ok_or(MOMENT)?.0),
        oids::TIMESTAMPTZ => {
            let (micros, zone) = moments::timestamp(trimmed).ok_or(MOMENT)?;
            match zone {
                Some(zone) => Value::TimestampTz(micros.checked_sub(zone).ok_or(MOMENT)?),
                None if micros.saturating_abs() == i64::MAX => Value::TimestampTz(micros),
                // What clocks of the session's zone show.
                None => Value::Timestamp(micros),
            }
        }
        oids::UUID => Value::Uuid(uuid(trimmed).ok_or(TEXT)?),
        // Another text of an interval is read as that of a literal is.
        oids::INTERVAL => interval(trimmed).unwrap_or_else(|| {
            let plain = postgres_moment(trimmed, true);
            Value::Text(plain.unwrap_or_else(|| text.to_owned()))
        }),
        _ => match oids::item_of(oid) {
            Some(item) => Value::List(items(item, trimmed)?),
            None => Value::Text(text.to_owned()),
        },
    })
}

/// A parameter in the session's time zone: a TIMESTAMP is what its clocks show at an instant, where the type is that of instants.
pub(crate) fn in_zone(oid: u32, value: Value, zone: TimeZone) -> Result<Value, Wrong> {
    Ok(match value {
        Value::Timestamp(micros) if oid == oids::TIMESTAMPTZ => {
            Value::TimestampTz(zone.instant(micros).ok_or(MOMENT)?)
        }
        Value::List(items) if oids::item_of(oid) == Some(oids::TIMESTAMPTZ) => {
            let items = items.into_iter();
            let items = items.map(|item| in_zone(oids::TIMESTAMPTZ, item, zone));
            Value::List(items.collect::<Result<_, _>>()?)
        }
        value => value,
    })
}

/// An interval as PostgreSQL writes it.
fn interval(text: &str) -> Option<Value> {
    let (months, days, microseconds) = moments::interval(text)?;
    Some(Value::Interval {
        months,
        days,
        microseconds,
    })
}

/// One digit or more, each 0 or 1.
fn bits(text: &str) -> Result<String, Wrong> {
    match !text.is_empty() && text.bytes().all(|digit| matches!(digit, b'0' | b'1')) {
        true => Ok(text.to_owned()),
        false => Err(TEXT),
    }
}

/// A text of PostgreSQL that means true or false.
pub(crate) fn boolean(text: &str) -> Option<bool> {
    Some(match text.to_ascii_lowercase().as_str() {
        "t" | "true" | "y" | "yes" | "on" | "1" => true,
        "f" | "false" | "n" | "no" | "off" | "0" => false,
        _ => return None,
    })
}

fn float(text: &str, single: bool) -> Result<f64, Wrong> {
    match single {
        true => text.parse::<f32>().map(f64::from),
        false => text.parse::<f64>(),
    }
    .map_err(|_| TEXT)
}

/// A number with a point; one with an exponent is a DOUBLE's text, which a literal would be too.
fn number(text: &str) -> Result<Value, Wrong> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let is_plain = digits.bytes().any(|b| b.is_ascii_digit())
        && digits.bytes().all(|b| b.is_ascii_digit() || b == b'.')
        && digits.bytes().filter(|b| *b == b'.').count() <= 1;
    match is_plain {
        true => Ok(Value::Decimal(text.trim_start_matches('+').to_owned())),
        false => text
            .parse::<f64>()
            .ok()
            .filter(|n| n.is_finite())
            .map(Value::Double)
            .ok_or(TEXT),
    }
}

fn uuid(text: &str) -> Option<[u8; 16]> {
    let text = text.trim_start_matches('{').trim_end_matches('}');
    let digits: String = text.chars().filter(|c| *c != '-').collect();
    hex::decode(digits).ok()?.try_into().ok()
}

/// The items of `{1,NULL,"a b"}`, of one dimension.
fn items(item: u32, text: &str) -> Result<Vec<Value>, Wrong> {
    let items = item_texts(text)?.into_iter();
    let values = items.map(|text| match text {
        None => Ok(Value::Null),
        Some(text) => of_text(item, &text),
    });
    values.collect()
}

/// Their texts; `None` for NULL.
///
/// # Errors
/// Text that is no array, and arrays of arrays.
pub(crate) fn item_texts(text: &str) -> Result<Vec<Option<String>>, Wrong> {
    let inner = text
        .strip_prefix('{')
        .and_then(|t| t.strip_suffix('}'))
        .ok_or(TEXT)?;
    let mut values = vec![];
    let mut letters = inner.chars().peekable();
    while letters.peek().is_some() {
        let (mut word, mut quoted) = (String::new(), false);
        loop {
            match letters.next() {
                None | Some(',') => break,
                Some('"') => {
                    quoted = true;
                    loop {
                        match letters.next().ok_or(TEXT)? {
                            '"' => break,
                            '\\' => word.push(letters.next().ok_or(TEXT)?),
                            letter => word.push(letter),
                        }
                    }
                }
                Some('\\') => word.push(letters.next().ok_or(TEXT)?),
                Some('{' | '}') => {
                    return Err(("0A000", "arrays of arrays are not there"));
                }
                Some(letter) => word.push(letter),
            }
        }
        values.push(match (quoted, word.trim()) {
            (false, null) if null.eq_ignore_ascii_case("null") => None,
            (false, trimmed) => Some(trimmed.to_owned()),
            (true, _) => Some(word),
        });
    }
    Ok(values)
}

fn of_binary(oid: u32, bytes: &[u8]) -> Result<Value, Wrong> {
    fn all<const N: usize>(bytes: &[u8]) -> Result<[u8; N], Wrong> {
        bytes.try_into().map_err(|_| BINARY)
    }
    Ok(match oid {
        oids::BOOL => Value::Boolean(all::<1>(bytes)? != [0]),
        oids::INT2 => Value::from(i16::from_be_bytes(all(bytes)?)),
        oids::INT4 => Value::from(i32::from_be_bytes(all(bytes)?)),
        oids::INT8 => Value::from(i64::from_be_bytes(all(bytes)?)),
        oids::OID => Value::from(u32::from_be_bytes(all(bytes)?)),
        oids::FLOAT4 => Value::Double(f64::from(f32::from_be_bytes(all(bytes)?))),
        oids::FLOAT8 => Value::Double(f64::from_be_bytes(all(bytes)?)),
        oids::NUMERIC => binary_number(bytes).ok_or(BINARY)?,
        oids::BYTEA => Value::Blob(bytes.to_vec()),
        oids::UUID => Value::Uuid(all(bytes)?),
        oids::DATE => {
            let days = i32::from_be_bytes(all(bytes)?);
            Value::Date(moments::days_since_1970(days).ok_or(BINARY)?)
        }
        oids::TIME => Value::Time(i64::from_be_bytes(all(bytes)?)),
        oids::TIMETZ => {
            let (micros, west) = bytes.split_at_checked(8).ok_or(BINARY)?;
            let micros = i64::from_be_bytes(all(micros)?);
            let offset = i32::from_be_bytes(all(west)?).checked_neg();
            let time = offset.and_then(|offset| TimeTz::new(micros, offset));
            Value::TimeTz(time.ok_or(BINARY)?)
        }
        oids::VARBIT => {
            let (count, bytes) = bytes.split_at_checked(4).ok_or(BINARY)?;
            let count = usize::try_from(i32::from_be_bytes(all(count)?)).map_err(|_| BINARY)?;
            if count == 0 || count.div_ceil(8) != bytes.len() {
                return Err(BINARY);
            }
            let bits = bytes
                .iter()
                .flat_map(|byte| (0..8).map(move |at| byte & (0x80_u8 >> at) != 0));
            let digits = bits
                .take(count)
                .map(|is_set| if is_set { '1' } else { '0' });
            Value::Bit(digits.collect())
        }
        oids::TIMESTAMP | oids::TIMESTAMPTZ => {
            let micros = i64::from_be_bytes(all(bytes)?);
            let micros = moments::micros_since_1970(micros).ok_or(BINARY)?;
            match oid {
                oids::TIMESTAMP => Value::Timestamp(micros),
                _ => Value::TimestampTz(micros),
            }
        }
        oids::INTERVAL => {
            let bytes = all::<16>(bytes)?;
            let (micros, rest) = bytes.split_first_chunk().ok_or(BINARY)?;
            let (days, months) = rest.split_first_chunk().ok_or(BINARY)?;
            Value::Interval {
                months: i32::from_be_bytes(all(months)?),
                days: i32::from_be_bytes(*days),
                microseconds: i64::from_be_bytes(*micros),
            }
        }
        _ => match oids::item_of(oid) {
            Some(item) => Value::List(binary_items(item, bytes)?),
            None => Value::Text(text(bytes)?.to_owned()),
        },
    })
}

/// A number in digits to the base of 10,000.
fn binary_number(bytes: &[u8]) -> Option<Value> {
    let mut body = Body::new(bytes);
    let mut word = || body.u16().ok();
    let (count, weight, sign, scale) = (word()?, word()? as i16, word()?, word()?);
    if scale > 0x3fff || count > 64 || !(-64..=64).contains(&weight) {
        return None;
    }
    let groups: Vec<u16> = (0..count).map(|_| word()).collect::<Option<_>>()?;
    body.end().ok()?;
    let group = |at: i32| match usize::try_from(at) {
        Ok(at) => groups.get(at).copied().unwrap_or(0),
        Err(_) => 0,
    };
    groups.iter().all(|group| *group < 10_000).then_some(())?;
    let mut text = match sign {
        0 => String::new(),
        0x4000 => "-".to_owned(),
        _ => return None,
    };
    let weight = i32::from(weight);
    if weight < 0 {
        text.push('0');
    }
    for at in 0..=weight {
        match at {
            0 => text.push_str(&group(0).to_string()),
            _ => text.push_str(&format!("{:04}", group(at))),
        }
    }
    if scale > 0 {
        let places = (i32::from(scale) + 3) / 4;
        let fraction: String = (1..=places)
            .map(|at| format!("{:04}", group(weight + at)))
            .collect();
        text.push('.');
        text.push_str(fraction.get(..usize::from(scale))?);
    }
    Some(Value::Decimal(text))
}

fn binary_items(item: u32, bytes: &[u8]) -> Result<Vec<Value>, Wrong> {
    let mut body = Body::new(bytes);
    let mut read = || -> Result<Vec<Value>, Wrong> {
        let wrong = |_| BINARY;
        let dimensions = body.i32().map_err(wrong)?;
        body.i32().map_err(wrong)?;
        if body.u32().map_err(wrong)? != item {
            return Err(BINARY);
        }
        match dimensions {
            0 => return Ok(vec![]),
            1 => {}
            _ => return Err(("0A000", "arrays of arrays are not there as parameters")),
        }
        let count = body.i32().map_err(wrong)?;
        body.i32().map_err(wrong)?;
        let values = (0..count).map(|_| {
            let value = body.value().map_err(wrong)?;
            value.map_or(Ok(Value::Null), |bytes| of_binary(item, bytes))
        });
        values.collect()
    };
    let values = read()?;
    body.end().map_err(|_| BINARY)?;
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_read_by_type() {
        let text = |oid, text: &str| read(oid, Format::Text, Some(text.as_bytes()));
        assert_eq!(text(oids::INT4, " 7 "), Ok(Value::Integer(7)));
        assert_eq!(text(oids::BOOL, "off"), Ok(Value::Boolean(false)));
        assert_eq!(
            text(oids::NUMERIC, "+1.50"),
            Ok(Value::Decimal("1.50".into()))
        );
        assert_eq!(text(oids::BYTEA, "\\x00ff"), Ok(Value::Blob(vec![0, 255])));
        assert_eq!(
            text(oids::BYTEA, "a\\\\\\001"),
            Ok(Value::Blob(b"a\\\x01".to_vec()))
        );
        let list = vec![Value::Integer(1), Value::Null];
        assert_eq!(text(1007, "{1,NULL}"), Ok(Value::List(list)));
        let list = vec![Value::Text("a,\"b".into()), Value::Text("null".into())];
        assert_eq!(text(1009, r#"{"a,\"b","null"}"#), Ok(Value::List(list)));
        for (oid, bad) in [
            (oids::INT2, "40000"),
            (oids::INT4, "x"),
            (oids::UUID, "12"),
            (1007, "{{1}}"),
            (1007, "1"),
        ] {
            assert!(text(oid, bad).is_err(), "{bad}");
        }
        assert!(read(oids::TEXT, Format::Text, Some(b"\xff")).is_err());
    }

    #[test]
    fn binary_values_are_read_by_type() {
        let binary = |oid, bytes: &[u8]| read(oid, Format::Binary, Some(bytes));
        assert_eq!(binary(oids::INT2, b"\0\x07"), Ok(Value::Integer(7)));
        assert_eq!(binary(oids::DATE, b"\0\0\0\0"), Ok(Value::Date(10_957)));
        let far = |days: i32| binary(oids::DATE, &days.to_be_bytes());
        assert_eq!(far(i32::MAX), Ok(Value::Date(i32::MAX)));
        assert_eq!(far(i32::MIN), Ok(Value::Date(-i32::MAX)));
        assert_eq!(far(i32::MAX - 1), Err(BINARY));
        let far = |micros: i64| binary(oids::TIMESTAMP, &micros.to_be_bytes());
        assert_eq!(far(i64::MAX), Ok(Value::Timestamp(i64::MAX)));
        assert_eq!(far(i64::MIN), Ok(Value::Timestamp(-i64::MAX)));
        assert_eq!(far(i64::MAX - 1), Err(BINARY));
        let text = |text: &str| read(oids::TIMESTAMPTZ, Format::Text, Some(text.as_bytes()));
        assert_eq!(text("-Infinity"), Ok(Value::TimestampTz(-i64::MAX)));
        let number = [0, 3, 0, 1, 0x40, 0, 0, 3, 0, 1, 0x09, 0x29, 0x1a, 0x7c];
        assert_eq!(
            binary(oids::NUMERIC, &number),
            Ok(Value::Decimal("-12345.678".into()))
        );
        let list = b"\0\0\0\x01\0\0\0\0\0\0\0\x17\0\0\0\x01\0\0\0\x01\0\0\0\x04\0\0\0\x07";
        assert_eq!(binary(1007, list), Ok(Value::List(vec![Value::Integer(7)])));
    }

    #[test]
    fn every_cut_of_a_binary_value_is_refused() {
        let list = b"\0\0\0\x01\0\0\0\0\0\0\0\x17\0\0\0\x01\0\0\0\x01\0\0\0\x04\0\0\0\x07";
        for end in 0..list.len() {
            assert!(
                read(1007, Format::Binary, Some(&list[..end])).is_err(),
                "{end}"
            );
        }
        let wild = b"\0\0\0\x01\0\0\0\0\0\0\0\x17\x7f\xff\xff\xff\0\0\0\x01";
        assert!(read(1007, Format::Binary, Some(wild)).is_err());
        for bytes in [
            &b""[..],
            b"\0",
            b"\xff\xff\0\0\0\0\0\0",
            b"\0\x01\x7f\xff\0\0\0\0\0\x01",
        ] {
            assert!(read(oids::NUMERIC, Format::Binary, Some(bytes)).is_err());
        }
    }
}
