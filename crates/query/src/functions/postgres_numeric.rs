//! `numeric` of PostgreSQL where no digits are said: what is cast to it keeps the digits that it has, and a column of it keeps ten behind the
//! point.
//!
//! What must hold: a digit that is written is kept, or refused; floats are rounded, as PostgreSQL does: to 15 digits, or to 6 where they are
//! of 32 bits, and quotients to those of the column.

use super::quotient::QUOTIENT;
use super::rounding_cast::cast_rounding;
use crate::common_types::number_kind::{MAX_DIGITS_128, Number, decimal_type, int_digits, is_huge};
use datafusion::arrow::array::{Array, ArrayRef, AsArray, Decimal128Array, StringViewArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Decimal128Type, Float64Type};
use datafusion::common::{Result, ScalarValue, plan_err};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use hushdb_sql::type_names::type_name;
use hushdb_sql::{Error, ErrorKind, NUMERIC_CAST, NUMERIC_SCALE, STORED_NUMERIC};
use std::sync::Arc;

/// The type of a column of which no digits are said.
pub const NUMERIC: DataType = DataType::Decimal128(MAX_DIGITS_128, NUMERIC_SCALE);

/// Digits behind the point of a float as a numeric.
const SCALE_OF_FLOATS: i8 = 15;
/// Digits of a float that PostgreSQL takes for exact: of a DOUBLE, and of a FLOAT.
const DIGITS_64: i32 = 15;
const DIGITS_32: i32 = 6;

#[derive(Debug, PartialEq, Eq, Hash)]
struct NumericCast {
    /// The type is that of a column, whatever is cast.
    is_stored: bool,
    signature: Signature,
}

/// `CAST(x AS numeric)`.
pub(super) fn function() -> Arc<ScalarUDF> {
    numeric_cast(false)
}

/// The cast of what is stored in a column of the type [`NUMERIC`].
pub fn stored_numeric() -> Arc<ScalarUDF> {
    numeric_cast(true)
}

fn numeric_cast(is_stored: bool) -> Arc<ScalarUDF> {
    Arc::new(ScalarUDF::from(NumericCast {
        is_stored,
        signature: Signature::any(1, Volatility::Immutable),
    }))
}

impl ScalarUDFImpl for NumericCast {
    fn name(&self) -> &str {
        match self.is_stored {
            true => STORED_NUMERIC,
            false => NUMERIC_CAST,
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        let from = types.first().unwrap_or(&DataType::Null);
        let is_text = from.is_string() || from.is_null();
        Ok(match Number::of(from) {
            _ if is_huge(from) && !self.is_stored => from.clone(),
            None if !is_text => {
                return plan_err!("cannot cast type {} to numeric", type_name(from));
            }
            _ if self.is_stored => NUMERIC,
            None => NUMERIC,
            Some(Number::Int { bits, signed }) => decimal_type(int_digits(bits, signed), 0),
            Some(Number::Decimal(..)) => from.clone(),
            Some(Number::Float) => DataType::Decimal128(MAX_DIGITS_128, SCALE_OF_FLOATS),
        })
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let to = args.return_field.data_type();
        Ok(match &args.args[0] {
            ColumnarValue::Array(array) => ColumnarValue::Array(kept(array, to)?),
            ColumnarValue::Scalar(value) => {
                let value = kept(&value.to_array()?, to)?;
                ColumnarValue::Scalar(ScalarValue::try_from_array(&value, 0)?)
            }
        })
    }
}

/// The same numbers, none of which has lost a digit.
fn kept(array: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    let (from, DataType::Decimal128(_, scale)) = (array.data_type(), to) else {
        return Ok(cast(array, to)?);
    };
    let loses = match from {
        from if from == to => return Ok(Arc::clone(array)),
        from if from.is_floating() => return of_floats(array, to, *scale),
        from if from.is_string() => {
            let texts = cast(array, &DataType::Utf8View)?;
            let texts: &StringViewArray = texts.as_string_view();
            texts
                .iter()
                .flatten()
                .any(|text| digits_behind(text) > i64::from(*scale))
        }
        // Its last digits were rounded already.
        from if *from == QUOTIENT => false,
        DataType::Decimal32(_, s) | DataType::Decimal64(_, s) | DataType::Decimal128(_, s)
            if s > scale =>
        {
            let wide = cast(array, &DataType::Decimal128(MAX_DIGITS_128, *s))?;
            let unit = 10_i128.pow(u32::from((s - scale).unsigned_abs()));
            let values = wide.as_primitive::<Decimal128Type>();
            values.iter().flatten().any(|value| value % unit != 0)
        }
        _ => false,
    };
    match loses {
        true => Err(Error::new(
            ErrorKind::OutOfRange,
            format!(
                "a numeric keeps {scale} digits behind the point where none are said, and the value has more; round it, or say \
                 numeric(precision, scale)"
            ),
        )
        .into()),
        false => cast_rounding(array, to, false),
    }
}

/// Digits behind the point of a number as text, without zeros at its end.
fn digits_behind(text: &str) -> i64 {
    let (digits, exponent) = text
        .trim()
        .split_once(['e', 'E'])
        .unwrap_or((text.trim(), "0"));
    let (_, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let written = fraction.trim_end_matches('0').len() as i64;
    written - exponent.parse::<i64>().unwrap_or(0)
}

fn of_floats(array: &ArrayRef, to: &DataType, scale: i8) -> Result<ArrayRef> {
    let digits = match array.data_type() {
        DataType::Float64 => DIGITS_64,
        _ => DIGITS_32,
    };
    let floats = cast(array, &DataType::Float64)?;
    let floats = floats.as_primitive::<Float64Type>();
    let units = floats.iter().map(|value| match value {
        None => Ok(None),
        Some(value) => units(value, digits, scale).map(Some).ok_or_else(|| {
            Error::new(
                ErrorKind::OutOfRange,
                "a float does not fit numeric, which has 38 digits here, and neither NaN nor Infinity",
            )
        }),
    });
    let units = units.collect::<std::result::Result<Decimal128Array, Error>>()?;
    Ok(Arc::new(units.with_data_type(to.clone())))
}

/// A float's first digits in units of the last digit of a scale.
fn units(value: f64, shown: i32, scale: i8) -> Option<i128> {
    let text = format!("{value:.*e}", usize::try_from(shown - 1).ok()?);
    let (mantissa, exponent) = text.split_once('e')?;
    let digits: i128 = mantissa.replace('.', "").parse().ok()?;
    let exponent = exponent.parse::<i32>().ok()? - (shown - 1) + i32::from(scale);
    let power = 10_i128.checked_pow(exponent.unsigned_abs());
    let units = match (exponent < 0, power) {
        (false, power) => digits.checked_mul(power?)?,
        // More digits than there are.
        (true, None) => 0,
        (true, Some(power)) => (digits + digits.signum() * (power / 2)) / power,
    };
    let limit = 10_i128.checked_pow(u32::from(MAX_DIGITS_128))?;
    (units.abs() < limit).then_some(units)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_rounded_to_their_digits() {
        for (value, scale, wanted) in [
            (0.1, 10, 1_000_000_000),
            (-2.5, 0, -3),
            (1e20, 10, 1_000_000_000_000_000_000_000_000_000_000),
            (1.0 / 3.0, 15, 333_333_333_333_333),
            (1e-300, 15, 0),
        ] {
            assert_eq!(units(value, DIGITS_64, scale), Some(wanted), "{value}");
        }
        assert_eq!(units(f64::from(1.1_f32), DIGITS_32, 3), Some(1_100));
        assert_eq!(units(1e30, DIGITS_64, 10), None);
        assert_eq!(units(f64::NAN, DIGITS_64, 10), None);
    }

    #[test]
    fn digits_behind_the_point_are_counted() {
        for (text, digits) in [
            ("1.2500", 2),
            ("1e-3", 3),
            ("1.5e1", 0),
            ("12", 0),
            (" .5 ", 1),
        ] {
            assert_eq!(digits_behind(text), digits, "{text}");
        }
    }
}
