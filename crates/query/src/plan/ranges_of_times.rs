//! RANGE frames of times of day, which the library has not: they are those of their microseconds.

use super::operators::cast;
use datafusion::arrow::datatypes::{DataType, IntervalUnit};
use datafusion::common::{DFSchema, Result, ScalarValue, plan_err};
use datafusion::logical_expr::expr::WindowFunctionParams;
use datafusion::logical_expr::{ExprSchemable, WindowFrameBound, WindowFrameUnits};
use hushdb_sql::{Error, ErrorKind};

const MICROS_PER_DAY: i128 = 86_400_000_000;
const DAYS_PER_MONTH: i128 = 30;

/// Brings what such a frame is sorted by first, and how far its ends are, to microseconds; false for all others.
pub(super) fn in_micros(params: &mut WindowFunctionParams, schema: &DFSchema) -> Result<bool> {
    let Some(first) = params.order_by.first_mut() else {
        return Ok(false);
    };
    let is_time = matches!(first.expr.get_type(schema), Ok(DataType::Time64(_)));
    let frame = &mut params.window_frame;
    if !is_time || frame.units != WindowFrameUnits::Range {
        return Ok(false);
    }
    first.expr = cast(std::mem::take(&mut first.expr), DataType::Int64);
    for bound in [&mut frame.start_bound, &mut frame.end_bound] {
        let (far, which) = match bound {
            WindowFrameBound::Preceding(far) => (far, "PRECEDING"),
            WindowFrameBound::Following(far) => (far, "FOLLOWING"),
            WindowFrameBound::CurrentRow => continue,
        };
        *far = ScalarValue::Int64(micros(far, which)?);
    }
    Ok(true)
}

/// The microseconds of a distance; `None` of one without end.
fn micros(far: &ScalarValue, which: &str) -> Result<Option<i64>> {
    let ScalarValue::Utf8(Some(far)) = far else {
        return Ok(None);
    };
    if far.trim().parse::<f64>().is_ok() {
        return plan_err!(
            "No function matches the given name and argument types '-(TIME, INTEGER_LITERAL)'. You might need to add explicit type casts."
        );
    }
    let micros = interval_micros(far)?;
    if micros < 0 {
        let text = format!("Invalid RANGE {which} value");
        return Err(Error::new(ErrorKind::OutOfRange, text).into());
    }
    // Farther than any time of day, and no farther than can be added to one.
    Ok(Some(micros.min(MICROS_PER_DAY) as i64))
}

/// The microseconds of an interval that is written, whose months are 30 days, as where intervals are compared.
pub(super) fn interval_micros(text: &str) -> Result<i128> {
    let interval = DataType::Interval(IntervalUnit::MonthDayNano);
    let ScalarValue::IntervalMonthDayNano(Some(far)) =
        ScalarValue::try_from_string(text.to_owned(), &interval)?
    else {
        return plan_err!("a distance is an interval");
    };
    let days = i128::from(far.months) * DAYS_PER_MONTH + i128::from(far.days);
    Ok(days * MICROS_PER_DAY + i128::from(far.nanoseconds) / 1000)
}
