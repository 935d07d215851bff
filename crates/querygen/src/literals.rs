//! Values of every type: ordinary ones that meet each other often, and extremes.

use crate::column_type::ColumnType;
use crate::dice::Dice;
use std::fmt::Write;

/// A value of a type that is known beside it.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// NULL.
    Null,
    /// A value without others in it, as its text.
    Text(String),
    /// Items of a list, or fields of a struct.
    Nested(Vec<Value>),
}

/// What values are chosen from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Domain {
    /// Ordinary values and extremes.
    #[default]
    Wide,
    /// Two to five of each type: rows are equal, keys meet, and conditions are true, false and NULL about as often.
    Narrow,
}

const TEXTS: [&str; 22] = [
    "",
    "a",
    "A",
    "b",
    "ab",
    "abc",
    " ",
    "a b",
    "ß",
    "é",
    "e\u{301}",
    "日本",
    "😀",
    "%",
    "_",
    "a%b",
    "\\",
    "it's",
    "0",
    "-1",
    "1.5",
    "a text that is longer than twelve bytes",
];
const DATES: [&str; 8] = [
    "1970-01-01",
    "1969-12-31",
    "2000-02-29",
    "2024-01-15",
    "2024-01-31",
    "1999-12-31",
    "0001-01-01",
    "9999-12-31",
];
const CLOCKS: [&str; 5] = [
    "00:00:00",
    "12:34:56.789123",
    "23:59:59.999999",
    "12:00:00",
    "00:00:00.000001",
];
const TIMES: [&str; 8] = [
    "1970-01-01 00:00:00",
    "1969-12-31 23:59:59.999999",
    "2000-02-29 12:34:56.789123",
    "2024-01-15 00:00:00",
    "2024-01-31 23:00:00",
    "1999-12-31 23:59:59",
    "0001-01-01 00:00:00",
    "9999-12-31 23:59:59.999999",
];
/// No two are equal: which of two equal ones stands for a group is up to the engine. Those that are longer have more months, or
/// as many and more days: in lists DuckDB sorts by these.
const INTERVALS: [&str; 8] = [
    "0 days",
    "1 day",
    "-1 days",
    "1 month",
    "23 hours",
    "1 year 2 months 3 days 4 hours 5 minutes 6 seconds",
    "1 microsecond",
    "100 years",
];
const BLOBS: [&str; 6] = ["", "a", "ab", "\\x00", "\\xFF\\xFE", "a\\x00b"];
const UUIDS: [&str; 4] = [
    "00000000-0000-0000-0000-000000000000",
    "ffffffff-ffff-ffff-ffff-ffffffffffff",
    "12345678-9abc-def0-1234-56789abcdef0",
    "87654321-0000-4000-8000-000000000001",
];
/// Sums of the ordinary ones are exact.
const FLOATS: [&str; 9] = [
    "0", "1", "-1", "0.5", "2.25", "-3.75", "10", "100", "-0.125",
];
const FLOAT_EXTREMES: [&str; 6] = ["NaN", "-NaN", "inf", "-inf", "-0", "1e30"];
const DOUBLE_EXTREMES: [&str; 4] = ["1e308", "-1e308", "5e-324", "9007199254740993"];

/// A value of the type: NULL in `nulls` of 100.
pub(crate) fn value(ty: &ColumnType, nulls: u64, domain: Domain, dice: &mut Dice) -> Value {
    if dice.chance(nulls) {
        return Value::Null;
    }
    match ty {
        ColumnType::List(item) => {
            let length = dice.below(4);
            Value::Nested(
                (0..length)
                    .map(|_| value(item, nulls, domain, dice))
                    .collect(),
            )
        }
        ColumnType::Struct(fields) => {
            let values = fields.iter().map(|(_, ty)| value(ty, nulls, domain, dice));
            Value::Nested(values.collect())
        }
        _ if domain == Domain::Narrow => Value::Text(narrow(ty, dice)),
        _ => Value::Text(flat(ty, dice)),
    }
}

/// One of a few values of a type without others in it.
fn narrow(ty: &ColumnType, dice: &mut Dice) -> String {
    let choices: &[&str] = match ty {
        ColumnType::Boolean => &["true", "false"],
        ColumnType::Decimal(..) => &["0", "1", "-1", "1.5"],
        ColumnType::Float | ColumnType::Double => &["0", "-0", "1", "1.5", "NaN", "-NaN"],
        ColumnType::Varchar => &["", "a", "A", "1"],
        ColumnType::Date => &DATES[..2],
        ColumnType::Time => &CLOCKS[..2],
        ColumnType::Timestamp => &TIMES[..2],
        ColumnType::Interval => &INTERVALS[..2],
        ColumnType::Blob => &BLOBS[..2],
        ColumnType::Uuid => &UUIDS[..2],
        ty if ty.bounds().is_some_and(|(least, _)| least == 0) => &["0", "1", "2"],
        _ => &["-1", "0", "1", "2"],
    };
    (*dice.pick(choices)).to_owned()
}

/// A text that can be compared with a value of the type, and says no type itself.
pub(crate) fn bare(ty: &ColumnType, dice: &mut Dice) -> &'static str {
    if dice.chance(15) {
        return "NULL";
    }
    let choices: &[&str] = match ty {
        ColumnType::Boolean => &["true", "false", "'true'"],
        ColumnType::Decimal(..) => &["0", "1", "(-1)", "1.5", "0.125", "'1'", "100000000000"],
        ColumnType::Float | ColumnType::Double => &["0", "1", "1.5", "0.1", "'1'", "'nan'", "1e0"],
        ColumnType::Varchar => &["''", "'a'", "'1'"],
        ColumnType::Date => &["'1970-01-01'", "TIMESTAMP '1970-01-01 00:00:01'"],
        ColumnType::Time => &["'12:34:56.789123'", "'00:00:00'"],
        ColumnType::Timestamp => &["'1970-01-01'", "DATE '1970-01-01'"],
        ColumnType::Interval => &["'1 day'", "INTERVAL 24 HOURS"],
        ColumnType::Blob => &["'a'", "''"],
        ColumnType::Uuid => &["'ffffffff-ffff-ffff-ffff-ffffffffffff'"],
        ColumnType::List(_) | ColumnType::Struct(_) => &["NULL"],
        _ => &[
            "0",
            "1",
            "(-1)",
            "1.5",
            "1.0",
            "'1'",
            "300",
            "10000000000",
            "1e0",
        ],
    };
    choices[dice.index(choices.len())]
}

fn flat(ty: &ColumnType, dice: &mut Dice) -> String {
    if let Some((least, most)) = ty.bounds() {
        let extremes = [least, most, least + 1, most - 1];
        let small = (dice.below(8) as i128 - 3).max(least);
        return match dice.below(100) {
            0..=7 => dice.pick(&extremes).to_string(),
            8..=14 => (dice.throw() as i128 % (most / 2)).to_string(),
            _ => small.to_string(),
        };
    }
    let extreme = dice.chance(12);
    match ty {
        ColumnType::Boolean => if dice.chance(50) { "true" } else { "false" }.to_owned(),
        ColumnType::Decimal(precision, scale) => decimal(*precision, *scale, dice),
        ColumnType::Double if extreme && dice.chance(50) => dice.pick(&DOUBLE_EXTREMES).to_string(),
        ColumnType::Float | ColumnType::Double if extreme => dice.pick(&FLOAT_EXTREMES).to_string(),
        ColumnType::Float | ColumnType::Double => dice.pick(&FLOATS).to_string(),
        ColumnType::Date => dice.pick(&DATES).to_string(),
        ColumnType::Time => dice.pick(&CLOCKS).to_string(),
        ColumnType::Timestamp => dice.pick(&TIMES).to_string(),
        ColumnType::Interval => dice.pick(&INTERVALS).to_string(),
        ColumnType::Blob => dice.pick(&BLOBS).to_string(),
        ColumnType::Uuid => dice.pick(&UUIDS).to_string(),
        _ => dice.pick(&TEXTS).to_string(),
    }
}

fn decimal(precision: u8, scale: u8, dice: &mut Dice) -> String {
    let sign = if dice.chance(30) { "-" } else { "" };
    if dice.chance(8) {
        let whole = "9".repeat(usize::from(precision - scale));
        return format!("{sign}{whole}.{}", "9".repeat(usize::from(scale)));
    }
    let fraction = *dice.pick(&["0", "5", "25", "01"]);
    format!("{sign}{}.{fraction}", dice.below(4))
}

/// The value as an expression of its type.
pub(crate) fn print(ty: &ColumnType, value: &Value, out: &mut String) {
    match (ty, value) {
        (ColumnType::Boolean, Value::Text(text)) => out.push_str(text),
        (ColumnType::Varchar, Value::Text(_)) => inner(ty, value, out),
        // A bare number is an INTEGER, but the least one is a larger one with a sign.
        (ColumnType::Integer, Value::Text(text)) if text != "-2147483648" => {
            let negative = text.starts_with('-');
            let _ = match negative {
                true => write!(out, "({text})"),
                false => write!(out, "{text}"),
            };
        }
        _ => {
            out.push_str("CAST(");
            inner(ty, value, out);
            let _ = write!(out, " AS {ty})");
        }
    }
}

fn inner(ty: &ColumnType, value: &Value, out: &mut String) {
    match (ty, value) {
        (ColumnType::List(item), Value::Nested(items)) => {
            out.push('[');
            for (n, one) in items.iter().enumerate() {
                out.push_str(if n > 0 { ", " } else { "" });
                within(item, one, out);
            }
            out.push(']');
        }
        (ColumnType::Struct(fields), Value::Nested(values)) => {
            out.push('{');
            for (n, ((name, ty), one)) in fields.iter().zip(values).enumerate() {
                let comma = if n > 0 { ", " } else { "" };
                let _ = write!(out, "{comma}'{name}': ");
                within(ty, one, out);
            }
            out.push('}');
        }
        (_, Value::Text(text)) => {
            let _ = write!(out, "'{}'", text.replace('\'', "''"));
        }
        _ => out.push_str("NULL"),
    }
}

/// A value within another: a NULL takes its type from what is around it.
fn within(ty: &ColumnType, value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str("NULL"),
        _ => print(ty, value, out),
    }
}

/// A plain value of the type, for what shrinks.
pub(crate) fn simplest(ty: &ColumnType) -> Value {
    let text = match ty {
        ColumnType::List(_) => return Value::Nested(vec![]),
        ColumnType::Struct(fields) => {
            return Value::Nested(fields.iter().map(|(_, ty)| simplest(ty)).collect());
        }
        ColumnType::Boolean => "true",
        ColumnType::Date => DATES[0],
        ColumnType::Time => CLOCKS[0],
        ColumnType::Timestamp => TIMES[0],
        ColumnType::Interval => INTERVALS[1],
        ColumnType::Uuid => UUIDS[0],
        ColumnType::Varchar | ColumnType::Blob => "a",
        _ => "1",
    };
    Value::Text(text.to_owned())
}
