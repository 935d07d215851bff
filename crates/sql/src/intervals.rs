//! `INTERVAL 3 DECADES`, `INTERVAL '2 days 03:04:05'`: brought to the form that the planner reads as DuckDB does.

use super::interval_syntax::unit;
use super::interval_text::{interval, unreadable_interval};
use super::template::template;
use crate::error::{Error, ErrorKind, Result};
use arrow::datatypes::IntervalMonthDayNano;
use sqlparser::ast::{Expr, Interval, UnaryOperator, Value};

/// Brings an INTERVAL to months, days and microseconds; gives the call that it is if its value is not a constant.
pub(super) fn plain(interval: &mut Interval) -> Result<Option<Expr>> {
    let Interval {
        value,
        leading_field,
        leading_precision: None,
        last_field: None,
        fractional_seconds_precision: None,
    } = interval
    else {
        return Err(Error::unsupported(
            "an INTERVAL takes one unit: not two with TO, and no precision",
        ));
    };
    let Some(field) = leading_field else {
        return match text(value) {
            Some(text) => {
                **value = counted(&text)?;
                Ok(None)
            }
            None => Err(Error::parser(
                "an INTERVAL takes a unit, as in INTERVAL 3 DAYS",
            )),
        };
    };
    let Some((names, function, fractions)) = unit(&field.to_string()) else {
        return Err(Error::parser(format!(
            "{field} is not a unit of an INTERVAL"
        )));
    };
    let Some(text) = text(value).or_else(|| number(value)) else {
        let count = match fractions {
            true => "CAST($1 AS DOUBLE)",
            false => "CAST(trunc(CAST($1 AS DOUBLE)) AS BIGINT)",
        };
        let call = format!("{function}({count})");
        return template(&call, std::slice::from_ref(&**value)).map(Some);
    };
    let count: f64 = text.trim().parse().map_err(|_| {
        let message = "Could not convert the string before the INTERVAL's unit to DOUBLE";
        Error::new(ErrorKind::Conversion, message)
    })?;
    let count = match fractions {
        true => format!("{count:.6}"),
        false => format!("{:.0}", count.trunc()),
    };
    **value = counted(&format!("{count} {}", names[1]))?;
    *leading_field = None;
    Ok(None)
}

fn counted(text: &str) -> Result<Expr> {
    let interval = interval(text).ok_or_else(unreadable_interval)?;
    Ok(constant(interval))
}

/// As a text that the planner reads alike.
fn constant(interval: IntervalMonthDayNano) -> Expr {
    let text = format!(
        "{} months {} days {} microseconds",
        interval.months,
        interval.days,
        interval.nanoseconds / 1000
    );
    Expr::value(Value::SingleQuotedString(text))
}

/// `-INTERVAL ...`, of one that is `plain`: all its parts change their sign, where the planner would change the first one's.
pub(super) fn negate(expr: &Expr) -> Option<Expr> {
    let plain = match expr {
        Expr::Nested(inner) => return negate(inner),
        Expr::Interval(plain) => plain,
        _ => return None,
    };
    let value = interval(&text(&plain.value)?)?;
    let negative = IntervalMonthDayNano::new(
        value.months.checked_neg()?,
        value.days.checked_neg()?,
        value.nanoseconds.checked_neg()?,
    );
    Some(Expr::Interval(Interval {
        value: Box::new(constant(negative)),
        ..plain.clone()
    }))
}

fn text(value: &Expr) -> Option<String> {
    match value {
        Expr::Nested(inner) => text(inner),
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) => Some(text.clone()),
            _ => None,
        },
        _ => None,
    }
}

fn number(value: &Expr) -> Option<String> {
    match value {
        Expr::Nested(inner) => number(inner),
        Expr::UnaryOp {
            op: UnaryOperator::Minus,
            expr,
        } => number(expr).map(|number| format!("-{number}")),
        Expr::Value(value) => match &value.value {
            Value::Number(number, _) => Some(number.clone()),
            _ => None,
        },
        _ => None,
    }
}
