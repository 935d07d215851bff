//! Casts that round, where Arrow rounds otherwise, twice, or past the end: decimals to floats, DOUBLE to FLOAT, and points in time
//! (`moment_cast.rs`). And decimals to integers and to decimals of fewer digits behind the point: DataFusion would compare what
//! is cast by a CAST as if it had not been rounded. And texts that Arrow reads otherwise (`text_values.rs`). Of other types it is Arrow's
//! cast, for what DataFusion must not take for one.
//!
//! What must hold: a float is the one nearest to the decimal; a DOUBLE too large for a FLOAT is an error, or NULL for TRY_CAST.

use super::bit_cast::{cast_bits, is_of_bits};
use super::convert::of_one_argument;
use super::huge_cast::{cast_huge, is_huge_cast};
use super::moment_cast::{cast_moments, clocks, is_of_moments};
use super::session_zone::{in_session_zone, zone_of};
use super::text_values;
use super::time_tz::{cast_times, from_midnight, is_of_times};
use crate::common_types::number_kind::MAX_DIGITS_128;
use datafusion::arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, Decimal128Array, FixedSizeBinaryBuilder,
    PrimitiveArray,
};
use datafusion::arrow::compute::{CastOptions, cast, cast_with_options};
use datafusion::arrow::datatypes::{DataType, Decimal128Type, Float32Type, Float64Type};
use datafusion::arrow::error::ArrowError;
use datafusion::common::{Result, internal_err};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use hushdb_sql::{Error, ErrorKind};
use hushdb_storage::TIMETZ;
use std::fmt::Write;
use std::str::FromStr;
use std::sync::Arc;

/// The function of a CAST, and that of a TRY_CAST.
pub const ROUNDING_CAST: &str = "$rounding_cast";
const TRY_ROUNDING_CAST: &str = "$try_rounding_cast";

/// Decimal digits that a DOUBLE and a FLOAT hold, whatever they are: Arrow's division is exact for these.
const DIGITS_64: u8 = 15;
const DIGITS_32: u8 = 6;
/// Whole numbers up to this one, and powers of ten up to that one, are exact in a DOUBLE.
const EXACT_INTEGER: u128 = 1 << 53;
const EXACT_POWER: i8 = 22;

/// Whether a cast is one of these.
pub fn rounds(from: &DataType, to: &DataType) -> bool {
    use DataType as T;
    match (from, to) {
        (from, to) if is_of_bits(from, to) => true,
        (from, to) if from.is_string() => text_values::reads(to) || is_of_times(from, to),
        (from, to) if is_huge_cast(from, to) => true,
        (T::Decimal32(p, _) | T::Decimal64(p, _) | T::Decimal128(p, _), T::Float64) => {
            *p > DIGITS_64
        }
        (T::Decimal32(p, _) | T::Decimal64(p, _) | T::Decimal128(p, _), T::Float32) => {
            *p > DIGITS_32
        }
        (T::Float64, T::Float32) => true,
        // Arrow has no such cast, or takes the bits of the largest for a negative number.
        (T::Boolean | T::UInt64, to) if to.is_decimal() => true,
        (T::Timestamp(..), T::Time64(_)) => true,
        (T::Binary | T::BinaryView, T::FixedSizeBinary(16)) => true,
        (from, to) if is_of_times(from, to) => true,
        (from, to) if from.is_decimal() => match (scale_of(from), scale_of(to)) {
            (Some(from), Some(to)) => from > to,
            (Some(from), None) => from > 0 && to.is_integer(),
            _ => false,
        },
        (from, to) => is_of_moments(from, to),
    }
}

fn scale_of(ty: &DataType) -> Option<i8> {
    match ty {
        DataType::Decimal32(_, scale)
        | DataType::Decimal64(_, scale)
        | DataType::Decimal128(_, scale) => Some(*scale),
        _ => None,
    }
}

/// The function that casts its argument so.
pub fn rounding_cast(to: &DataType, lenient: bool) -> Arc<ScalarUDF> {
    Arc::new(ScalarUDF::from(RoundingCast {
        to: to.clone(),
        lenient,
        signature: Signature::any(1, Volatility::Immutable),
    }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct RoundingCast {
    to: DataType,
    /// What does not cast is NULL.
    lenient: bool,
    signature: Signature,
}

impl ScalarUDFImpl for RoundingCast {
    fn name(&self) -> &str {
        match self.lenient {
            true => TRY_ROUNDING_CAST,
            false => ROUNDING_CAST,
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(self.to.clone())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        in_session_zone(args, |args| {
            let to = args.return_field.data_type();
            let zone = zone_of(&args.config_options);
            of_one_argument(&args, |array| match is_of_times(array.data_type(), to) {
                true => cast_times(array, to, self.lenient, zone),
                false => cast_rounding(array, to, self.lenient),
            })
        })
    }
}

/// An array whose type [`rounds`] as one of the other.
pub(super) fn cast_rounding(array: &ArrayRef, to: &DataType, lenient: bool) -> Result<ArrayRef> {
    let strict = CastOptions {
        safe: lenient,
        ..CastOptions::default()
    };
    Ok(match (array.data_type(), to) {
        (from, _) if from == to => Arc::clone(array),
        (from, to) if is_of_bits(from, to) => cast_bits(array, to, lenient)?,
        (from, to) if is_of_times(from, to) => cast_times(array, to, lenient, None)?,
        (from, DataType::Int64) if *from == TIMETZ => from_midnight(array),
        (from, to) if from.is_string() => text_values::read(array, to, lenient)?,
        (from, to) if is_huge_cast(from, to) => cast_huge(array, to, lenient)?,
        (from, DataType::Float64 | DataType::Float32) if from.is_decimal() => {
            from_decimal(array, to)?
        }
        (DataType::Float64, DataType::Float32) => to_float(array, lenient)?,
        (DataType::Boolean, to) if to.is_decimal() => {
            let bits = cast_with_options(array, &DataType::Int8, &strict)?;
            cast_with_options(&bits, to, &strict)?
        }
        (DataType::UInt64, DataType::Decimal32(_, scale) | DataType::Decimal64(_, scale)) => {
            let wide = DataType::Decimal128(MAX_DIGITS_128, *scale);
            let wide = cast_with_options(array, &wide, &strict)?;
            cast_with_options(&wide, to, &strict)?
        }
        (from, to) if from.is_decimal() && to.is_integer() => {
            // Rescaling rounds; a cast straight to an integer would cut.
            let whole = DataType::Decimal128(MAX_DIGITS_128, 0);
            let whole = cast_with_options(array, &whole, &strict)?;
            cast_with_options(&whole, to, &strict)?
        }
        (from, to) if is_of_moments(from, to) => cast_moments(array, to, lenient)?,
        (DataType::Timestamp(unit, _), DataType::Time64(_)) => {
            let shown = cast_moments(array, &DataType::Timestamp(*unit, None), lenient)?;
            clocks(&shown, to, lenient)?
        }
        (DataType::Binary | DataType::BinaryView, DataType::FixedSizeBinary(16)) => {
            uuids_from_bytes(array, lenient)?
        }
        _ => cast_with_options(array, to, &strict)?,
    })
}

fn from_decimal(array: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    let Some(scale) = scale_of(array.data_type()) else {
        return internal_err!("{} is no decimal", array.data_type());
    };
    let wide = cast_with_options(
        array,
        &DataType::Decimal128(MAX_DIGITS_128, scale),
        &CastOptions::default(),
    )?;
    let values = wide.as_primitive::<Decimal128Type>();
    let mut text = String::new();
    Ok(match to {
        DataType::Float32 => Arc::new(nearest::<Float32Type>(values, |value| {
            parsed(value, scale, &mut text)
        })),
        _ => Arc::new(nearest::<Float64Type>(values, |value| {
            exact(value, scale).unwrap_or_else(|| parsed(value, scale, &mut text))
        })),
    })
}

fn nearest<T: ArrowPrimitiveType>(
    values: &Decimal128Array,
    mut near: impl FnMut(i128) -> T::Native,
) -> PrimitiveArray<T> {
    values.iter().map(|value| value.map(&mut near)).collect()
}

/// The quotient of two numbers that a DOUBLE holds exactly, so that it is rounded once.
fn exact(value: i128, scale: i8) -> Option<f64> {
    let fits = value.unsigned_abs() <= EXACT_INTEGER && (0..=EXACT_POWER).contains(&scale);
    fits.then(|| value as f64 / 10_f64.powi(i32::from(scale)))
}

fn parsed<T: FromStr + Default>(value: i128, scale: i8, text: &mut String) -> T {
    text.clear();
    match write!(text, "{value}e{}", -i32::from(scale)) {
        Ok(()) => text.parse().unwrap_or_default(),
        Err(_) => T::default(),
    }
}

fn uuids_from_bytes(array: &ArrayRef, lenient: bool) -> Result<ArrayRef> {
    let bytes = cast(array, &DataType::BinaryView)?;
    let mut uuids = FixedSizeBinaryBuilder::with_capacity(bytes.len(), 16);
    for bytes in bytes.as_binary_view() {
        match bytes {
            Some(bytes) if bytes.len() == 16 => uuids.append_value(bytes)?,
            Some(_) if !lenient => {
                let text = "Could not convert a BLOB to UUID: it has not 16 bytes";
                return Err(Error::new(ErrorKind::Conversion, text).into());
            }
            _ => uuids.append_null(),
        }
    }
    Ok(Arc::new(uuids.finish()))
}

fn to_float(array: &ArrayRef, lenient: bool) -> Result<ArrayRef> {
    let values = array.as_primitive::<Float64Type>();
    let fits = |value: f64| !value.is_finite() || (value as f32).is_finite();
    if lenient {
        let floats = values.unary_opt::<_, Float32Type>(|v| fits(v).then_some(v as f32));
        return Ok(Arc::new(floats));
    }
    let floats = values.try_unary::<_, Float32Type, ArrowError>(|value| match fits(value) {
        true => Ok(value as f32),
        false => {
            let text = "a DOUBLE can't be cast because the value is out of range for the destination type FLOAT";
            let error = Error::new(ErrorKind::Conversion, text).with_sqlstate("22003");
            Err(ArrowError::ExternalError(Box::new(error)))
        }
    })?;
    Ok(Arc::new(floats))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimal(value: i128, precision: u8, scale: i8) -> ArrayRef {
        let array = Decimal128Array::from(vec![value]);
        Arc::new(array.with_precision_and_scale(precision, scale).unwrap())
    }

    #[test]
    fn decimals_become_the_nearest_float() {
        for (value, precision, scale, nearest) in [
            (123_456_789_012_345_678, 18, 3, 123_456_789_012_345.67_f64),
            (8_888_888_888_888_888_888_123, 22, 3, 8.888888888888889e18),
            (9_007_199_254_740_993, 18, 0, 9_007_199_254_740_992.0),
            (-1, 38, 37, -1e-37),
            (10_i128.pow(37), 38, 37, 1.0),
            (10_i128.pow(38) - 1, 38, 0, 1e38),
        ] {
            let cast = cast_rounding(&decimal(value, precision, scale), &DataType::Float64, false);
            assert_eq!(
                cast.unwrap().as_primitive::<Float64Type>().value(0),
                nearest
            );
        }
        // Above the half between two floats by less than a DOUBLE tells.
        let cast = cast_rounding(
            &decimal(1_000_000_059_604_644_775_390_626, 38, 24),
            &DataType::Float32,
            false,
        );
        assert_eq!(
            cast.unwrap().as_primitive::<Float32Type>().value(0),
            1.0 + f32::EPSILON
        );
    }
}
