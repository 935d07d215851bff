//! `Value`: what a parameter of a prepared statement stands for.
//!
//! What must hold: a value means what its literal would mean in the statement's text; its text is never read as SQL.

use datafusion::arrow::array::{Date32Array, TimestampMicrosecondArray};
use datafusion::arrow::datatypes::TimeUnit;
use datafusion::sql::sqlparser::ast;
use hushdb_query::functions::{format_blob, value_text};
use hushdb_sql::type_names::cast_to;
use hushdb_sql::{Error, ErrorKind, Result};
use hushdb_storage::ColumnType;

/// A value for a parameter, of one of SQL's kinds of literals. Made from Rust's own types by `From`.
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
            Self::Date(days) => {
                let day = value_text(&Date32Array::from(vec![*days]), 0)?;
                cast_to(text(day.unwrap_or_default()), &ColumnType::Date)?
            }
            Self::Timestamp(micros) => {
                let at = value_text(&TimestampMicrosecondArray::from(vec![*micros]), 0)?;
                let ty = ColumnType::Timestamp(TimeUnit::Microsecond, false);
                cast_to(text(at.unwrap_or_default()), &ty)?
            }
        })
    }
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
