//! Casts to HUGEINT and UHUGEINT of numbers that may not fit, and of these to floats.
//!
//! What must hold: floats are rounded to even, decimals half away from zero; a number that the type has not is an error, or NULL for
//! TRY_CAST; a float is the one nearest to the number.

use crate::common_types::number_kind::is_huge;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, Decimal256Array, PrimitiveArray};
use datafusion::arrow::compute::{CastOptions, cast, cast_with_options};
use datafusion::arrow::datatypes::{
    DataType, Decimal256Type, Float32Type, Float64Type, Int8Type, i256,
};
use datafusion::common::Result;
use hushdb_sql::type_names::type_name;
use hushdb_sql::{Error, ErrorKind};
use hushdb_storage::HUGEINT;
use std::sync::Arc;

/// The first numbers that the types have not.
const PAST_HUGE: f64 = (1u128 << 127) as f64;
const PAST_UHUGE: f64 = PAST_HUGE * 2.0;

/// Whether a cast is one of these.
pub(super) fn is_huge_cast(from: &DataType, to: &DataType) -> bool {
    match (is_huge(from), is_huge(to)) {
        (true, true) => from != to,
        (true, false) => to.is_floating(),
        (false, true) => {
            let fits = from.is_unsigned_integer() || from.is_integer() && *to == HUGEINT;
            (from.is_numeric() || *from == DataType::Boolean) && !fits
        }
        (false, false) => false,
    }
}

pub(super) fn cast_huge(array: &ArrayRef, to: &DataType, lenient: bool) -> Result<ArrayRef> {
    let strict = CastOptions {
        safe: lenient,
        ..CastOptions::default()
    };
    let values = match array.data_type() {
        from if is_huge(from) && to.is_floating() => return to_float(array, to),
        from if is_huge(from) => array.as_primitive::<Decimal256Type>().clone(),
        DataType::Boolean => {
            let bits = cast(array, &DataType::Int8)?;
            let bits = bits.as_primitive::<Int8Type>();
            bits.unary::<_, Decimal256Type>(|bit| i256::from_i128(bit.into()))
        }
        from if from.is_floating() => from_float(array, to, lenient)?,
        _ => {
            let wide = cast_with_options(array, &HUGEINT, &strict)?;
            wide.as_primitive::<Decimal256Type>().clone()
        }
    };
    checked(&values, to, lenient)
}

fn to_float(array: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    let values = array.as_primitive::<Decimal256Type>();
    let signed = *array.data_type() == HUGEINT;
    Ok(match to {
        DataType::Float32 => Arc::new(values.unary::<_, Float32Type>(|value| match signed {
            true => value.as_i128() as f32,
            false => value.to_parts().0 as f32,
        })),
        _ => {
            let doubles = values.unary::<_, Float64Type>(|value| match signed {
                true => value.as_i128() as f64,
                false => value.to_parts().0 as f64,
            });
            cast(&doubles, to)?
        }
    })
}

fn from_float(array: &ArrayRef, to: &DataType, lenient: bool) -> Result<Decimal256Array> {
    let doubles = cast(array, &DataType::Float64)?;
    let (least, past) = match *to == HUGEINT {
        true => (-PAST_HUGE, PAST_HUGE),
        false => (0.0, PAST_UHUGE),
    };
    let whole = |value: f64| {
        let value = value.round_ties_even();
        let fits = value >= least && value < past;
        fits.then(|| match value < PAST_HUGE {
            true => i256::from_i128(value as i128),
            false => i256::from_parts(value as u128, 0),
        })
    };
    each(doubles.as_primitive::<Float64Type>(), whole, to, lenient)
}

/// The numbers, if the type has them.
fn checked(values: &Decimal256Array, to: &DataType, lenient: bool) -> Result<ArrayRef> {
    let signed = *to == HUGEINT;
    let fits = |value: i256| {
        let fits = match signed {
            true => value.to_i128().is_some(),
            false => value.to_parts().1 == 0,
        };
        fits.then_some(value)
    };
    let values = each(values, fits, to, lenient)?;
    Ok(Arc::new(values.with_data_type(to.clone())))
}

fn each<T: datafusion::arrow::datatypes::ArrowPrimitiveType>(
    values: &PrimitiveArray<T>,
    made: impl Fn(T::Native) -> Option<i256>,
    to: &DataType,
    lenient: bool,
) -> Result<Decimal256Array> {
    if lenient {
        return Ok(values.unary_opt::<_, Decimal256Type>(made));
    }
    values.try_unary::<_, Decimal256Type, _>(|value| {
        made(value).ok_or_else(|| {
            let what = format!(
                "a value can't be cast because it is out of range for the destination type {}",
                type_name(to)
            );
            Error::new(ErrorKind::Conversion, what).into()
        })
    })
}
