//! `Value`: what a parameter of a prepared statement stands for, and a value of a result.
//!
//! What must hold: a value means what its literal would mean in the statement's text; its text is never read as SQL. A value of a result
//! that is bound again is the same value.

use datafusion::arrow::array::{
    Array, AsArray, FixedSizeBinaryArray, IntervalMonthDayNanoArray, Time64MicrosecondArray,
};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{
    DataType, Date32Type, Float32Type, Float64Type, IntervalMonthDayNano, IntervalMonthDayNanoType,
    IntervalUnit, Time64MicrosecondType, TimeUnit, TimestampMicrosecondType,
};
use datafusion::sql::sqlparser::ast;
use hushdb_query::functions::{format_blob, member_at, one_type, value_text};
use hushdb_sql::type_names::{cast_to, is_enum};
use hushdb_sql::{self as sql, Error, ErrorKind, Result};
use hushdb_storage::{ArrayType, BIT, ColumnType, HUGEINT, TIMETZ, TimeTz, UHUGEINT, UnionType};

/// A value for a parameter or of a result, of one of SQL's kinds. Made from Rust's own types by `From`.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Value {
    /// NULL, of any type.
    Null,
    /// TRUE or FALSE.
    Boolean(bool),
    /// A whole number.
    Integer(i128),
    /// A DOUBLE.
    Double(f64),
    /// A number with a point, as text: `-12.50`.
    Decimal(String),
    /// Text.
    Text(String),
    /// A BLOB.
    Blob(Vec<u8>),
    /// A DATE, in days since 1970-01-01.
    Date(i32),
    /// A TIMESTAMP without time zone, in microseconds since 1970-01-01 00:00:00.
    Timestamp(i64),
    /// A TIMESTAMP WITH TIME ZONE: an instant, in microseconds since 1970-01-01 00:00:00 UTC.
    TimestampTz(i64),
    /// A TIME, in microseconds since midnight.
    Time(i64),
    /// A TIME WITH TIME ZONE.
    TimeTz(TimeTz),
    /// A BIT, one digit or more, each 0 or 1.
    Bit(String),
    /// An INTERVAL, of parts that are kept apart, as in PostgreSQL.
    Interval {
        /// Whole months.
        months: i32,
        /// Whole days.
        days: i32,
        /// What is below a day.
        microseconds: i64,
    },
    /// A UUID, in the order of RFC 9562.
    Uuid([u8; 16]),
    /// A list; its items have one type, or can be brought to one.
    List(Vec<Self>),
    /// An ARRAY: as many items of one type as its type says, one at least.
    Array(Vec<Self>),
    /// A STRUCT: the names of its fields, and their values.
    Struct(Vec<(String, Self)>),
    /// A UNION: the name of the member that it is, and its value.
    Union(String, Box<Self>),
    /// A MAP: its keys, of one type, and their values.
    Map(Vec<(Self, Self)>),
}

impl Value {
    /// The value as an expression of a statement.
    ///
    /// # Errors
    /// `Conversion` when a decimal's text is not a number.
    pub(crate) fn to_expr(&self) -> Result<ast::Expr> {
        let text = |text: String| ast::Expr::value(ast::Value::SingleQuotedString(text));
        Ok(match self {
            Self::Null => ast::Expr::value(ast::Value::Null),
            Self::Boolean(value) => ast::Expr::value(ast::Value::Boolean(*value)),
            Self::Integer(value) => number(&value.unsigned_abs().to_string(), *value < 0),
            Self::Double(value) => cast_to(text(format!("{value:?}")), &ColumnType::Double)?,
            Self::Decimal(digits) => match plain_decimal(digits) {
                Some((digits, negative)) => number(digits, negative),
                None => {
                    return Err(Error::new(
                        ErrorKind::Conversion,
                        "a decimal value is not a number: it takes digits, a point and a minus only",
                    ));
                }
            },
            Self::Text(value) => text(value.clone()),
            Self::Blob(bytes) => cast_to(text(format_blob(bytes)), &ColumnType::Blob)?,
            Self::Date(days) => sql::parse_expr(&format!("make_date({days})"))?,
            Self::Timestamp(micros) => sql::parse_expr(&instant(*micros))?,
            Self::TimestampTz(micros) => {
                sql::parse_expr(&format!("({}) AT TIME ZONE 'UTC'", instant(*micros)))?
            }
            Self::Time(micros) => spelled(
                &Time64MicrosecondArray::from(vec![*micros]),
                &ColumnType::Time,
            )?,
            Self::TimeTz(value) => cast_to(text(value.to_string()), &ColumnType::TimeTz)?,
            Self::Bit(digits) => cast_to(text(digits.clone()), &ColumnType::Bit)?,
            Self::Interval {
                months,
                days,
                microseconds,
            } => interval(*months, *days, *microseconds)?,
            Self::Uuid(bytes) => {
                let value = FixedSizeBinaryArray::try_from_iter([bytes].into_iter())?;
                spelled(&value, &ColumnType::Uuid)?
            }
            Self::List(items) => ast::Expr::Array(ast::Array {
                elem: items.iter().map(Self::to_expr).collect::<Result<_>>()?,
                named: false,
            }),
            Self::Array(items) => {
                let items = items.iter().map(Self::to_expr);
                sql::call("array_value", items.collect::<Result<_>>()?)
            }
            Self::Struct(fields) => {
                let fields = fields.iter().map(|(name, value)| {
                    Ok(ast::DictionaryField {
                        key: ast::Ident::with_quote('\'', name),
                        value: Box::new(value.to_expr()?),
                    })
                });
                ast::Expr::Dictionary(fields.collect::<Result<_>>()?)
            }
            Self::Union(name, value) => {
                let name = text(name.clone());
                sql::quoted_call(sql::UNION_VALUE, vec![name, value.to_expr()?])
            }
            Self::Map(entries) => {
                let entries = entries.iter().map(Self::to_entry);
                ast::Expr::Map(ast::Map {
                    entries: entries.collect::<Result<_>>()?,
                })
            }
        })
    }

    fn to_entry((key, value): &(Self, Self)) -> Result<ast::MapEntry> {
        Ok(ast::MapEntry {
            key: Box::new(key.to_expr()?),
            value: Box::new(value.to_expr()?),
        })
    }

    /// A value of a result: that of a row in a column of a batch.
    ///
    /// # Errors
    /// `Unsupported` for a type that no statement gives; `OutOfRange` when there is no such row.
    pub fn of(column: &dyn Array, row: usize) -> Result<Self> {
        if row >= column.len() {
            return Err(Error::new(
                ErrorKind::OutOfRange,
                format!("row {row} of {} is asked for", column.len()),
            ));
        }
        if column.is_null(row) || column.data_type() == &DataType::Null {
            return Ok(Self::Null);
        }
        Ok(match column.data_type() {
            DataType::Boolean => Self::Boolean(column.as_boolean().value(row)),
            DataType::Utf8View => Self::Text(column.as_string_view().value(row).into()),
            DataType::Utf8 => Self::Text(column.as_string::<i32>().value(row).into()),
            DataType::LargeUtf8 => Self::Text(column.as_string::<i64>().value(row).into()),
            DataType::BinaryView => Self::Blob(column.as_binary_view().value(row).into()),
            DataType::Binary => Self::Blob(column.as_binary::<i32>().value(row).into()),
            of if *of == BIT => Self::Bit(value_text(column, row)?.unwrap_or_default()),
            DataType::FixedSizeBinary(16) => {
                let bytes = column.as_fixed_size_binary().value(row);
                Self::Uuid(bytes.try_into().unwrap_or_default())
            }
            of if *of == TIMETZ => {
                let value = TimeTz::of_bytes(column.as_fixed_size_binary().value(row));
                let wrong = || Error::internal("a TIME WITH TIME ZONE is none");
                Self::TimeTz(value.ok_or_else(wrong)?)
            }
            of @ DataType::List(_) if ArrayType::length_of(of).is_some() => {
                Self::Array(Self::all_of(&column.as_list::<i32>().value(row))?)
            }
            DataType::List(_) => Self::List(Self::all_of(&column.as_list::<i32>().value(row))?),
            DataType::LargeList(_) => {
                Self::List(Self::all_of(&column.as_list::<i64>().value(row))?)
            }
            DataType::Struct(_) if is_enum(column.data_type()) => {
                Self::Text(value_text(column, row)?.unwrap_or_default())
            }
            of if let Some(members) = UnionType::members_of(of) => {
                match member_at(members, column.as_struct(), row) {
                    Some((member, values)) => {
                        let value = Self::of(values, row)?;
                        Self::Union(member.name().clone(), Box::new(value))
                    }
                    None => Self::Null,
                }
            }
            DataType::Struct(fields) => {
                let columns = fields.iter().zip(column.as_struct().columns());
                let fields = columns
                    .map(|(field, column)| Ok((field.name().clone(), Self::of(column, row)?)));
                Self::Struct(fields.collect::<Result<_>>()?)
            }
            DataType::Map(..) => {
                let entries = column.as_map().value(row);
                let [keys, values] = [0, 1].map(|part| Self::all_of(entries.column(part)));
                Self::Map(keys?.into_iter().zip(values?).collect())
            }
            ty if ty.is_numeric() => Self::of_number(column, row)?,
            ty if ty.is_temporal() => Self::of_time(column, row)?,
            other => return Err(Error::unsupported(format!("no value is of type {other}"))),
        })
    }

    fn all_of(items: &dyn Array) -> Result<Vec<Self>> {
        (0..items.len()).map(|row| Self::of(items, row)).collect()
    }

    fn of_number(column: &dyn Array, row: usize) -> Result<Self> {
        match column.data_type() {
            DataType::Float64 => Ok(column.as_primitive::<Float64Type>().value(row).into()),
            DataType::Float32 => Ok(column.as_primitive::<Float32Type>().value(row).into()),
            // Decimals and integers of every width are written alike.
            _ => {
                let text = value_text(column, row)?.unwrap_or_default();
                Ok(match text.parse() {
                    Ok(whole) if is_whole(column.data_type()) => Self::Integer(whole),
                    _ => Self::Decimal(text),
                })
            }
        }
    }

    fn of_time(column: &dyn Array, row: usize) -> Result<Self> {
        if let DataType::Interval(_) = column.data_type() {
            let of_parts = DataType::Interval(IntervalUnit::MonthDayNano);
            let value = cast(&column.slice(row, 1), &of_parts)?;
            let value = value.as_primitive::<IntervalMonthDayNanoType>().value(0);
            return Ok(Self::Interval {
                months: value.months,
                days: value.days,
                microseconds: value.nanoseconds / 1_000,
            });
        }
        let to = match column.data_type() {
            DataType::Timestamp(_, zone) => {
                // What is infinitely far stays so.
                let value = one_type(&column.slice(row, 1))?;
                let micros = value.as_primitive::<TimestampMicrosecondType>().value(0);
                return Ok(match zone {
                    Some(_) => Self::TimestampTz(micros),
                    None => Self::Timestamp(micros),
                });
            }
            DataType::Time32(_) | DataType::Time64(_) => DataType::Time64(TimeUnit::Microsecond),
            _ => DataType::Date32,
        };
        let value = cast(&column.slice(row, 1), &to)?;
        Ok(match &to {
            DataType::Time64(_) => {
                Self::Time(value.as_primitive::<Time64MicrosecondType>().value(0))
            }
            _ => Self::Date(value.as_primitive::<Date32Type>().value(0)),
        })
    }
}

fn is_whole(ty: &DataType) -> bool {
    ty.is_integer() || *ty == HUGEINT || *ty == UHUGEINT
}

/// A time as SQL, also one before the years that its text can name.
fn instant(micros: i64) -> String {
    const DAY: i64 = 86_400_000_000;
    if micros.saturating_abs() == i64::MAX {
        let sign = if micros < 0 { "-" } else { "" };
        return format!("TIMESTAMP '{sign}infinity'");
    }
    let (days, rest) = (micros.div_euclid(DAY), micros.rem_euclid(DAY));
    format!("TIMESTAMP '1970-01-01' + INTERVAL '{days} days {rest} microseconds'")
}

fn interval(months: i32, days: i32, microseconds: i64) -> Result<ast::Expr> {
    let nanos = microseconds.checked_mul(1_000).ok_or_else(|| {
        Error::new(
            ErrorKind::OutOfRange,
            "an interval has too many microseconds",
        )
    })?;
    let value = IntervalMonthDayNano::new(months, days, nanos);
    let value = IntervalMonthDayNanoArray::from(vec![value]);
    spelled(&value, &ColumnType::Interval)
}

/// The only value of an array, as a literal of a type.
fn spelled(value: &dyn Array, ty: &ColumnType) -> Result<ast::Expr> {
    let text = value_text(value, 0)?.unwrap_or_default();
    cast_to(ast::Expr::value(ast::Value::SingleQuotedString(text)), ty)
}

/// Digits with at most one point.
pub(crate) fn is_plain_number(text: &str) -> bool {
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    let points = text.bytes().filter(|byte| *byte == b'.').count();
    digits > 0 && points <= 1 && digits + points == text.len() && text.len() < 64
}

/// A decimal's digits and whether it is negative; `None` for what is not a number.
pub(crate) fn plain_decimal(text: &str) -> Option<(&str, bool)> {
    let (digits, negative) = match text.strip_prefix('-') {
        Some(digits) => (digits, true),
        None => (text, false),
    };
    is_plain_number(digits).then_some((digits, negative))
}

fn number(digits: &str, negative: bool) -> ast::Expr {
    let number = ast::Expr::value(ast::Value::Number(digits.into(), false));
    match negative {
        false => number,
        true => ast::Expr::UnaryOp {
            op: ast::UnaryOperator::Minus,
            expr: Box::new(number),
        },
    }
}

macro_rules! whole_numbers {
    ($($type:ty)*) => {
        $(impl From<$type> for Value {
            fn from(value: $type) -> Self {
                Self::Integer(i128::from(value))
            }
        })*
    };
}

whole_numbers! { i8 i16 i32 i64 i128 u8 u16 u32 u64 }

impl From<usize> for Value {
    fn from(value: usize) -> Self {
        Self::Integer(value as i128)
    }
}

impl From<isize> for Value {
    fn from(value: isize) -> Self {
        Self::Integer(value as i128)
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Boolean(value)
    }
}

impl From<f32> for Value {
    fn from(value: f32) -> Self {
        Self::Double(value.into())
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Self::Double(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Self::Text(value.into())
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        Self::Text(value)
    }
}

impl From<&[u8]> for Value {
    fn from(value: &[u8]) -> Self {
        Self::Blob(value.into())
    }
}

impl From<Vec<u8>> for Value {
    fn from(value: Vec<u8>) -> Self {
        Self::Blob(value)
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_numbers_or_refused() {
        let expr = |text: &str| Value::Decimal(text.into()).to_expr();
        assert_eq!(expr("-12.50").unwrap().to_string(), "-12.50");
        for bad in ["", ".", "-", "1; DROP TABLE t", "1e5", "--1", "1.2.3"] {
            assert!(expr(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn rust_values_become_sql_values() {
        assert_eq!(Value::from(u64::MAX), Value::Integer(u64::MAX.into()));
        assert_eq!(Value::from(None::<i32>), Value::Null);
        assert_eq!(Value::from(Some("a")), Value::Text("a".into()));
        assert_eq!(
            Value::Integer(i128::from(i64::MIN))
                .to_expr()
                .unwrap()
                .to_string(),
            "-9223372036854775808"
        );
    }
}
