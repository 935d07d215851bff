//! Rows that VALUES spells out: literals that are of their columns' own kinds become arrays without a plan.
//!
//! What must hold: the rows are those that the plan would give. Everything else, and everything that could fail, is left to
//! the plan, which has the error to say.

use datafusion::arrow::array::{
    ArrayRef, BooleanArray, Decimal64Array, Decimal128Array, Float64Array, PrimitiveArray,
    StringViewArray,
};
use datafusion::arrow::datatypes::{
    ArrowPrimitiveType, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use datafusion::sql::sqlparser::ast::{self, Expr, UnaryOperator, Value};
use hushdb_storage::{ColumnType, MAX_DECIMAL64_PRECISION, TableVersion};
use std::sync::Arc;

/// Decimal digits that a double holds whatever they are: they and their power of ten are exact.
const EXACT_DIGITS: usize = 15;

/// The rows as arrays in the order of the table's columns, where `targets` says which column each value is for.
pub(super) fn literal_rows(
    values: &ast::Values,
    table: &TableVersion,
    targets: &[usize],
) -> Option<Vec<ArrayRef>> {
    let rows: Vec<&[Expr]> = values
        .rows
        .iter()
        .map(|row| row.content.as_slice())
        .collect();
    if !table.checks.is_empty() || rows.iter().any(|row| row.len() != targets.len()) {
        return None;
    }
    let columns = table.columns.iter().enumerate();
    columns
        .map(|(position, column)| {
            let source = targets.iter().position(|target| *target == position);
            let cells = rows.iter().map(|row| match source {
                Some(source) => literal(row.get(source)?),
                None if column.default.is_none() => Some(Literal::Null),
                None => None,
            });
            let cells: Vec<Literal<'_>> = cells.collect::<Option<_>>()?;
            let has_null = cells.iter().any(|cell| matches!(cell, Literal::Null));
            match has_null && !column.nullable {
                true => None,
                false => array(&column.ty, &cells),
            }
        })
        .collect()
}

/// A literal as it is written.
enum Literal<'a> {
    Null,
    Boolean(bool),
    Text(&'a str),
    /// Digits with at most one point, and whether a minus stands before.
    Number(&'a str, bool),
}

fn literal<'a>(expr: &'a Expr) -> Option<Literal<'a>> {
    let number = |expr: &'a Expr, negative| match expr {
        Expr::Value(value) => match &value.value {
            Value::Number(text, false) if is_plain(text) => Some(Literal::Number(text, negative)),
            _ => None,
        },
        _ => None,
    };
    match expr {
        Expr::Value(value) => match &value.value {
            Value::Null => Some(Literal::Null),
            Value::Boolean(value) => Some(Literal::Boolean(*value)),
            Value::SingleQuotedString(text) => Some(Literal::Text(text)),
            _ => number(expr, false),
        },
        Expr::UnaryOp {
            op: UnaryOperator::Minus,
            expr,
        } => number(expr.as_ref(), true),
        _ => None,
    }
}

fn is_plain(text: &str) -> bool {
    text.bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'.')
        && text.len() < 64
}

fn array(ty: &ColumnType, cells: &[Literal<'_>]) -> Option<ArrayRef> {
    match ty {
        ColumnType::Int8 => integers::<Int8Type>(cells),
        ColumnType::Int16 => integers::<Int16Type>(cells),
        ColumnType::Int32 => integers::<Int32Type>(cells),
        ColumnType::Int64 => integers::<Int64Type>(cells),
        ColumnType::UInt8 => integers::<UInt8Type>(cells),
        ColumnType::UInt16 => integers::<UInt16Type>(cells),
        ColumnType::UInt32 => integers::<UInt32Type>(cells),
        ColumnType::UInt64 => integers::<UInt64Type>(cells),
        ColumnType::Boolean => {
            let of = |cell: &Literal<'_>| match cell {
                Literal::Null => Some(None),
                Literal::Boolean(value) => Some(Some(*value)),
                _ => None,
            };
            let values: BooleanArray = cells.iter().map(of).collect::<Option<Vec<_>>>()?.into();
            Some(Arc::new(values))
        }
        ColumnType::Varchar => {
            let of = |cell: &Literal<'_>| match cell {
                Literal::Null => Some(None),
                Literal::Text(text) => Some(Some((*text).to_owned())),
                _ => None,
            };
            let values = cells.iter().map(of).collect::<Option<Vec<_>>>()?;
            Some(Arc::new(StringViewArray::from_iter(values)))
        }
        ColumnType::Double => {
            let of = |cell: &Literal<'_>| match cell {
                Literal::Null => Some(None),
                Literal::Number(text, negative) if text.len() <= EXACT_DIGITS => {
                    let value: f64 = text.parse().ok()?;
                    Some(Some(if *negative && value != 0.0 {
                        -value
                    } else {
                        value
                    }))
                }
                _ => None,
            };
            let values: Float64Array = cells.iter().map(of).collect::<Option<Vec<_>>>()?.into();
            Some(Arc::new(values))
        }
        ColumnType::Decimal { precision, scale } => {
            let of = |cell: &Literal<'_>| match cell {
                Literal::Null => Some(None),
                Literal::Number(text, negative) => {
                    let value = decimal(text, *precision, *scale)?;
                    Some(Some(if *negative { -value } else { value }))
                }
                _ => None,
            };
            let values = cells.iter().map(of).collect::<Option<Vec<_>>>()?;
            if *precision <= MAX_DECIMAL64_PRECISION {
                let narrow = |value: Option<i128>| match value {
                    None => Some(None),
                    Some(value) => Some(Some(i64::try_from(value).ok()?)),
                };
                let values = values.into_iter().map(narrow).collect::<Option<Vec<_>>>()?;
                let values = Decimal64Array::from(values);
                return Some(Arc::new(
                    values.with_precision_and_scale(*precision, *scale).ok()?,
                ));
            }
            let values = Decimal128Array::from(values);
            Some(Arc::new(
                values.with_precision_and_scale(*precision, *scale).ok()?,
            ))
        }
        _ => None,
    }
}

fn integers<T: ArrowPrimitiveType>(cells: &[Literal<'_>]) -> Option<ArrayRef>
where
    T::Native: TryFrom<i128>,
{
    let of = |cell: &Literal<'_>| match cell {
        Literal::Null => Some(None),
        Literal::Number(text, negative) => {
            let value: i128 = text.parse().ok()?;
            let value = if *negative { -value } else { value };
            Some(Some(T::Native::try_from(value).ok()?))
        }
        _ => None,
    };
    let values = cells.iter().map(of).collect::<Option<Vec<_>>>()?;
    Some(Arc::new(PrimitiveArray::<T>::from_iter(values)))
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
    }

    #[test]
    fn only_plain_numbers_are_taken() {
        let number = |text: &str| {
            let value = Value::Number(text.into(), false);
            literal(&Expr::value(value)).is_some()
        };
        assert!(number("12") && number("1.5"));
        assert!(!number("1e5") && !number("0x1f"));
    }
}
