//! `$moment_plus(x, interval)` and `$moment_minus(x, interval)` of timestamps, `$day_plus(date, n)` and `$day_minus(date, n)`; and
//! `$finite(x)`, which is NULL for what is infinitely far.
//!
//! What must hold: what is infinitely far stays there, and nothing else gets there.

use super::moment_cast::{finite, is_finite};
use super::session_zone::in_session_zone;
use super::zone::{Zone, out_of_range};
use datafusion::arrow::array::{
    Array, ArrayRef, ArrowNativeTypeOp, AsArray, BooleanArray, Date32Array, Datum,
    TimestampMicrosecondArray, new_null_array,
};
use datafusion::arrow::compute::kernels::numeric;
use datafusion::arrow::compute::kernels::zip::zip;
use datafusion::arrow::compute::{and, cast, is_not_null};
use datafusion::arrow::datatypes::{
    DataType, Date32Type, Int32Type, Int64Type, IntervalMonthDayNanoType, TimestampMicrosecondType,
};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use hushdb_sql::{Error, ErrorKind};
use std::sync::Arc;

/// What is done with a point in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Move {
    MomentPlus,
    MomentMinus,
    DayPlus,
    DayMinus,
    Finite,
}

/// The function that does it.
pub(crate) fn moved(how: Move) -> Arc<ScalarUDF> {
    let arity = if how == Move::Finite { 1 } else { 2 };
    Arc::new(ScalarUDF::from(Moved {
        how,
        signature: Signature::any(arity, Volatility::Immutable),
    }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Moved {
    how: Move,
    signature: Signature,
}

impl ScalarUDFImpl for Moved {
    fn name(&self) -> &str {
        match self.how {
            Move::MomentPlus => "$moment_plus",
            Move::MomentMinus => "$moment_minus",
            Move::DayPlus => "$day_plus",
            Move::DayMinus => "$day_minus",
            Move::Finite => "$finite",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match types.first() {
            Some(first) => Ok(first.clone()),
            None => internal_err!("a point in time is missing"),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        in_session_zone(args, |args| self.moved(&args))
    }
}

impl Moved {
    fn moved(&self, args: &ScalarFunctionArgs) -> Result<ColumnarValue> {
        let is_scalar = |arg: &ColumnarValue| matches!(arg, ColumnarValue::Scalar(_));
        let scalar = args.args.iter().all(is_scalar);
        let rows = if scalar { 1 } else { args.number_rows };
        let of = args.args[0].to_array(rows)?;
        let is_untyped = |arg: &ColumnarValue| arg.data_type() == DataType::Null;
        if args.args.iter().any(is_untyped) {
            // A rule that looks whether a condition is true of NULL puts it in the place of columns without their type.
            let ty = args.return_type();
            return Ok(ColumnarValue::Array(new_null_array(ty, args.number_rows)));
        }
        let result = match self.how {
            Move::Finite => finite(&of)?,
            Move::MomentPlus | Move::MomentMinus => {
                let add = self.how == Move::MomentPlus;
                match &args.args[1] {
                    by if let Some(zone) = Zone::of(of.data_type()) => {
                        instants_moved(&of, &by.to_array(rows)?, add, zone)?
                    }
                    ColumnarValue::Scalar(by) => {
                        moment_moved(&of, by.is_null(), &by.to_scalar()?, add)?
                    }
                    ColumnarValue::Array(by) => moment_moved(&of, false, by, add)?,
                }
            }
            Move::DayPlus | Move::DayMinus => day_moved(
                &of,
                &args.args[1].to_array(rows)?,
                self.how == Move::DayPlus,
            )?,
        };
        if scalar {
            let value = ScalarValue::try_from_array(&result, 0)?;
            return Ok(ColumnarValue::Scalar(value));
        }
        Ok(ColumnarValue::Array(result))
    }
}

fn moment_moved(of: &ArrayRef, by_null: bool, by: &dyn Datum, add: bool) -> Result<ArrayRef> {
    let shift = |of: &ArrayRef| match add {
        true => numeric::add(of, by),
        false => numeric::sub(of, by),
    };
    let near = finite(of)?;
    let moved = shift(&near)?;
    if by_null || near.null_count() == of.null_count() {
        return Ok(moved);
    }
    let counts = cast(of, &DataType::Int64)?;
    let far = counts.as_primitive::<Int64Type>().iter();
    let ty = of.data_type();
    let far = far.map(|value| Some(value.is_some_and(|value| !is_finite(value, ty))));
    let mut far: BooleanArray = far.collect();
    let (by, one) = by.get();
    if !one {
        far = and(&far, &is_not_null(by)?)?;
    }
    Ok(zip(&far, of, &moved)?)
}

/// Instants that are moved on the calendar of a zone.
fn instants_moved(of: &ArrayRef, by: &ArrayRef, add: bool, zone: Zone) -> Result<ArrayRef> {
    let instants = of.as_primitive::<TimestampMicrosecondType>();
    let spans = by.as_primitive::<IntervalMonthDayNanoType>();
    let moved = instants.iter().zip(spans.iter()).map(|pair| match pair {
        (Some(at), Some(by)) => {
            let by = match add {
                true => Some(by),
                false => by.neg_checked().ok(),
            };
            let moved = by.and_then(|by| zone.plus(at, by));
            moved.map(Some).ok_or_else(out_of_range)
        }
        _ => Ok(None),
    });
    let moved = moved.collect::<Result<TimestampMicrosecondArray, Error>>()?;
    Ok(Arc::new(moved.with_data_type(of.data_type().clone())))
}

fn day_moved(of: &ArrayRef, by: &ArrayRef, add: bool) -> Result<ArrayRef> {
    let days = of.as_primitive::<Date32Type>();
    let by = by.as_primitive::<Int32Type>();
    let pairs = days.iter().zip(by.iter());
    let moved = pairs.map(|(day, by)| match (day, by) {
        (Some(day), Some(_)) if !is_finite(day.into(), &DataType::Date32) => Ok(Some(day)),
        (Some(day), Some(by)) => {
            let moved = match add {
                true => day.checked_add(by),
                false => day.checked_sub(by),
            };
            let moved = moved.filter(|day| is_finite((*day).into(), &DataType::Date32));
            let out = || Error::new(ErrorKind::OutOfRange, "Date out of range");
            moved.map(Some).ok_or_else(|| out().into())
        }
        _ => Ok(None),
    });
    Ok(Arc::new(moved.collect::<Result<Date32Array>>()?))
}
