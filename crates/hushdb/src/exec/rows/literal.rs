//! `Literal`: a value as it is written or bound, and arrays of such values.
//!
//! What must hold: an array is made only where each value is of the column's own kind and fits, so that it is what the plan
//! would make of it. Everything else, and everything that could fail, is left to the plan, which has the error to say.

use super::declared::fits;
use crate::value::{Value, is_plain_number, plain_decimal};
use datafusion::arrow::array::{
    ArrayRef, BinaryViewArray, BooleanArray, Decimal64Array, Decimal128Array, Decimal256Array,
    PrimitiveArray, StringViewArray,
};
use datafusion::arrow::buffer::ScalarBuffer;
use datafusion::arrow::datatypes::{
    ArrowPrimitiveType, Date32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    TimeUnit, TimestampMicrosecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type, i256,
};
use datafusion::sql::sqlparser::ast::{self, Expr, FunctionArguments, UnaryOperator};
use hushdb_sql::{Result, postgres_literal};
use hushdb_storage::{Column, ColumnType, MAX_DECIMAL64_PRECISION};
use std::sync::Arc;

/// Decimal digits that a double holds whatever they are: they and their power of ten are exact.
const EXACT_DIGITS: usize = 15;
/// Whole numbers up to this one are exact in a double.
const EXACT_INTEGER: i128 = 1 << 53;

/// What is bound to a parameter.
pub(crate) enum Argument<'a> {
    Value(&'a Value),
    /// An argument of EXECUTE.
    Expr(&'a Expr),
}

impl Argument<'_> {
    pub(in crate::exec) fn to_expr(&self) -> Result<Expr> {
        match self {
            Self::Value(value) => value.to_expr(),
            Self::Expr(expr) => Ok((*expr).clone()),
        }
    }

    fn literal(&self) -> Option<Literal<'_>> {
        Some(match self {
            Self::Expr(expr) => return Literal::of(expr, &[]),
            Self::Value(value) => match value {
                Value::Null => Literal::Null,
                Value::Boolean(value) => Literal::Boolean(*value),
                Value::Integer(value) => Literal::Integer(*value),
                Value::Double(value) => Literal::Double(*value),
                Value::Decimal(text) => {
                    let (digits, negative) = plain_decimal(text)?;
                    Literal::Number(digits, negative)
                }
                Value::Text(text) => Literal::Text(text),
                Value::Blob(bytes) => Literal::Blob(bytes),
                Value::Date(days) => Literal::Date(*days),
                Value::Timestamp(micros) => Literal::Timestamp(*micros),
                Value::TimestampTz(_)
                | Value::TimeTz(_)
                | Value::Bit(_)
                | Value::Time(_)
                | Value::Interval { .. }
                | Value::Uuid(_)
                | Value::List(_)
                | Value::Array(_)
                | Value::Union(..)
                | Value::Struct(_)
                | Value::Map(_) => return None,
            },
        })
    }
}

/// A value as it is written or bound.
#[derive(Clone, Copy)]
pub(in crate::exec) enum Literal<'a> {
    Null,
    Boolean(bool),
    Text(&'a str),
    /// Digits with at most one point, and whether a minus stands before.
    Number(&'a str, bool),
    Integer(i128),
    Double(f64),
    Blob(&'a [u8]),
    Date(i32),
    Timestamp(i64),
    /// The time at which the transaction began, as an instant.
    Now(i64),
}

impl<'a> Literal<'a> {
    /// The time that `now()` and CURRENT_TIMESTAMP give, if the expression is one of these; `now` in microseconds since 1970-01-01
    /// 00:00:00 UTC.
    pub(in crate::exec) fn now(expr: &Expr, now: i64) -> Option<Self> {
        let Expr::Function(function) = expr else {
            return None;
        };
        let [name] = function.name.0.as_slice() else {
            return None;
        };
        let name = name.as_ident().filter(|name| name.quote_style.is_none())?;
        let is = |known: &str| name.value.eq_ignore_ascii_case(known);
        let args = match &function.args {
            FunctionArguments::None if is("current_timestamp") => true,
            FunctionArguments::List(list) if is("now") => {
                list.args.is_empty() && list.clauses.is_empty()
            }
            _ => false,
        };
        let is_bare = function.over.is_none()
            && function.filter.is_none()
            && function.within_group.is_empty()
            && function.null_treatment.is_none();
        (args && is_bare).then_some(Self::Now(now))
    }

    /// The literal that an expression is, or the argument of the parameter that it is.
    pub(in crate::exec) fn of(expr: &'a Expr, arguments: &'a [Argument<'a>]) -> Option<Self> {
        let number = |expr: &'a Expr, negative| match expr {
            Expr::Value(value) => match &value.value {
                ast::Value::Number(text, false) if is_plain_number(text) => {
                    Some(Self::Number(text, negative))
                }
                _ => None,
            },
            _ => None,
        };
        match expr {
            Expr::Value(value) => match &value.value {
                ast::Value::Null => Some(Self::Null),
                ast::Value::Boolean(value) => Some(Self::Boolean(*value)),
                ast::Value::SingleQuotedString(text) => Some(Self::Text(text)),
                ast::Value::Placeholder(name) => Self::of_parameter(name, arguments),
                _ => number(expr, false),
            },
            Expr::UnaryOp {
                op: UnaryOperator::Minus,
                expr,
            } => number(expr.as_ref(), true),
            _ => postgres_literal(expr).map(Self::Text),
        }
    }

    /// The argument of a parameter, which is written as `$1`.
    pub(in crate::exec) fn of_parameter(name: &str, arguments: &'a [Argument<'a>]) -> Option<Self> {
        let number: usize = name.strip_prefix('$')?.parse().ok()?;
        arguments.get(number.checked_sub(1)?)?.literal()
    }

    pub(in crate::exec) fn is_null(self) -> bool {
        matches!(self, Self::Null)
    }

    fn text(self) -> Option<&'a str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    fn boolean(self) -> Option<bool> {
        match self {
            Self::Boolean(value) => Some(value),
            _ => None,
        }
    }

    pub(in crate::exec) fn integer(self) -> Option<i128> {
        match self {
            Self::Integer(value) => Some(value),
            Self::Number(text, negative) => {
                let value: i128 = text.parse().ok()?;
                Some(if negative { -value } else { value })
            }
            _ => None,
        }
    }

    fn double(self) -> Option<f64> {
        match self {
            Self::Double(value) => Some(value),
            Self::Integer(value) if value.abs() <= EXACT_INTEGER => Some(value as f64),
            Self::Number(text, negative) if text.len() <= EXACT_DIGITS => {
                let value: f64 = text.parse().ok()?;
                Some(if negative && value != 0.0 {
                    -value
                } else {
                    value
                })
            }
            _ => None,
        }
    }

    /// In units of the type's last digit.
    fn decimal(self, precision: u8, scale: i8) -> Option<i128> {
        let (value, negative) = match self {
            Self::Number(text, negative) => (decimal(text, precision, scale)?, negative),
            Self::Integer(value) => {
                let digits = value.unsigned_abs().to_string();
                (decimal(&digits, precision, scale)?, value < 0)
            }
            _ => return None,
        };
        Some(if negative { -value } else { value })
    }
}

/// The values as an array of a column's type.
pub(in crate::exec) fn array(ty: &ColumnType, cells: &[Literal<'_>]) -> Option<ArrayRef> {
    Some(match ty {
        ColumnType::Int8 => integers::<Int8Type>(cells)?,
        ColumnType::Int16 => integers::<Int16Type>(cells)?,
        ColumnType::Int32 => integers::<Int32Type>(cells)?,
        ColumnType::Int64 => integers::<Int64Type>(cells)?,
        ColumnType::UInt8 => integers::<UInt8Type>(cells)?,
        ColumnType::UInt16 => integers::<UInt16Type>(cells)?,
        ColumnType::UInt32 => integers::<UInt32Type>(cells)?,
        ColumnType::UInt64 => integers::<UInt64Type>(cells)?,
        ColumnType::Boolean => Arc::new(BooleanArray::from(all(cells, Literal::boolean)?)),
        ColumnType::Varchar => Arc::new(StringViewArray::from_iter(all(cells, Literal::text)?)),
        ColumnType::Blob => {
            let values = all(cells, |cell| match cell {
                Literal::Blob(bytes) => Some(bytes),
                _ => None,
            })?;
            Arc::new(BinaryViewArray::from_iter(values))
        }
        ColumnType::Date => primitive::<Date32Type>(cells, |cell| match cell {
            Literal::Date(days) => Some(days),
            _ => None,
        })?,
        ColumnType::Timestamp(TimeUnit::Microsecond, false) => {
            primitive::<TimestampMicrosecondType>(cells, |cell| match cell {
                // Nothing is now in a session of another zone than UTC.
                Literal::Timestamp(micros) | Literal::Now(micros) => Some(micros),
                _ => None,
            })?
        }
        ColumnType::Timestamp(TimeUnit::Microsecond, true) => {
            let instants = all(cells, |cell| match cell {
                Literal::Now(micros) => Some(micros),
                _ => None,
            })?;
            let instants = PrimitiveArray::<TimestampMicrosecondType>::from(instants);
            Arc::new(instants.with_data_type(ty.arrow()))
        }
        ColumnType::Double => primitive::<Float64Type>(cells, Literal::double)?,
        ColumnType::Decimal { precision, scale } => decimals(cells, *precision, *scale)?,
        ColumnType::HugeInt => huge(cells, ty)?,
        ColumnType::Float
        | ColumnType::UHugeInt
        | ColumnType::Time
        | ColumnType::Timestamp(..)
        | ColumnType::Interval
        | ColumnType::Uuid
        | ColumnType::TimeTz
        | ColumnType::Bit
        | ColumnType::List(_)
        | ColumnType::Array(_)
        | ColumnType::Union(_)
        | ColumnType::Struct(_)
        | ColumnType::Map(_)
        | ColumnType::Json
        | ColumnType::Collated(_)
        | ColumnType::Enum(_) => return None,
    })
}

/// The values as an array of a column, if they may stand in it as they are.
pub(in crate::exec) fn array_of(column: &Column, cells: &[Literal<'_>]) -> Option<ArrayRef> {
    let values = array(&column.ty, cells)?;
    fits(column, &values).then_some(values)
}

/// NULL where NULL is meant; `None` when a value is not of the kind.
fn all<'a, T>(
    cells: &[Literal<'a>],
    value: impl Fn(Literal<'a>) -> Option<T>,
) -> Option<Vec<Option<T>>> {
    let cells = cells.iter().map(|cell| match cell {
        Literal::Null => Some(None),
        cell => value(*cell).map(Some),
    });
    cells.collect()
}

fn primitive<'a, T: ArrowPrimitiveType>(
    cells: &[Literal<'a>],
    value: impl Fn(Literal<'a>) -> Option<T::Native>,
) -> Option<ArrayRef> {
    Some(Arc::new(PrimitiveArray::<T>::from_iter(all(cells, value)?)))
}

fn decimals(cells: &[Literal<'_>], precision: u8, scale: i8) -> Option<ArrayRef> {
    let value = |cell: Literal<'_>| cell.decimal(precision, scale);
    Some(if precision <= MAX_DECIMAL64_PRECISION {
        let values = all(cells, |cell| i64::try_from(value(cell)?).ok())?;
        let values = Decimal64Array::from(values);
        Arc::new(values.with_precision_and_scale(precision, scale).ok()?)
    } else {
        let values = Decimal128Array::from(all(cells, value)?);
        Arc::new(values.with_precision_and_scale(precision, scale).ok()?)
    })
}

fn huge(cells: &[Literal<'_>], ty: &ColumnType) -> Option<ArrayRef> {
    let values = all(cells, |cell| Some(i256::from_i128(cell.integer()?)))?;
    let values = Decimal256Array::from(values);
    Some(Arc::new(values.with_data_type(ty.arrow())))
}

fn integers<T: ArrowPrimitiveType>(cells: &[Literal<'_>]) -> Option<ArrayRef>
where
    T::Native: TryFrom<i128>,
{
    // One value, as that of a key or of a row, needs no list of values that may be NULL.
    if let [cell] = cells
        && !cell.is_null()
    {
        let value = T::Native::try_from(cell.integer()?).ok()?;
        let values = ScalarBuffer::from(vec![value]);
        return Some(Arc::new(PrimitiveArray::<T>::new(values, None)));
    }
    primitive::<T>(cells, |cell| T::Native::try_from(cell.integer()?).ok())
}

/// The number in units of the last digit, if it has no digit more than the type.
fn decimal(text: &str, precision: u8, scale: i8) -> Option<i128> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let missing = usize::try_from(scale).ok()?.checked_sub(fraction.len())?;
    let digits: String = [whole, fraction].concat();
    let value: i128 = digits.parse().ok()?;
    let value = value.checked_mul(10_i128.checked_pow(u32::try_from(missing).ok()?)?)?;
    (value < 10_i128.checked_pow(u32::from(precision))?).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_fit_or_are_left_to_the_plan() {
        assert_eq!(decimal("12.5", 4, 2), Some(1250));
        assert_eq!(decimal("12", 4, 2), Some(1200));
        assert_eq!(decimal(".5", 4, 2), Some(50));
        assert_eq!(decimal("12.505", 4, 2), None);
        assert_eq!(decimal("123.45", 4, 2), None);
        assert_eq!(decimal(".", 4, 2), None);
        assert_eq!(Literal::Integer(-12).decimal(4, 2), Some(-1200));
    }

    #[test]
    fn only_plain_numbers_are_taken() {
        let number = |text: &str| {
            let value = ast::Value::Number(text.into(), false);
            Literal::of(&Expr::value(value), &[]).is_some()
        };
        assert!(number("12") && number("1.5"));
        assert!(!number("1e5") && !number("0x1f"));
    }

    #[test]
    fn a_parameter_stands_for_its_argument() {
        let value = Value::from(5);
        let arguments = [Argument::Value(&value)];
        let parameter = |name: &str| Expr::value(ast::Value::Placeholder(name.into()));
        let found = |name| Literal::of(&parameter(name), &arguments).and_then(Literal::integer);
        assert_eq!(found("$1"), Some(5));
        assert_eq!(found("$2"), None);
        assert_eq!(found("$0"), None);
    }
}
