//! `INTERVAL 3 DECADES`, `INTERVAL '2 days 03:04:05'`: read here with DuckDB's units and no others, and brought to the form
//! that the planner reads alike.

use super::interval_text::{interval, unreadable_interval};
use super::macros::template;
use crate::error::{Error, ErrorKind, Result};
use arrow::datatypes::IntervalMonthDayNano;
use sqlparser::ast::{DateTimeField, Expr, Interval, UnaryOperator, Value};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

/// Units by their words, with the function that counts them and whether it counts fractions.
const UNITS: [([&str; 2], &str, bool); 13] = [
    (["millennium", "millennia"], "to_millennia", false),
    (["century", "centuries"], "to_centuries", false),
    (["decade", "decades"], "to_decades", false),
    (["year", "years"], "to_years", false),
    (["quarter", "quarters"], "to_quarters", false),
    (["month", "months"], "to_months", false),
    (["week", "weeks"], "to_weeks", false),
    (["day", "days"], "to_days", false),
    (["hour", "hours"], "to_hours", false),
    (["minute", "minutes"], "to_minutes", false),
    (["second", "seconds"], "to_seconds", true),
    (["millisecond", "milliseconds"], "to_milliseconds", true),
    (["microsecond", "microseconds"], "to_microseconds", false),
];

fn unit(word: &str) -> Option<&'static ([&'static str; 2], &'static str, bool)> {
    let is_named = |names: &[&str; 2]| names.iter().any(|name| name.eq_ignore_ascii_case(word));
    UNITS.iter().find(|(names, ..)| is_named(names))
}

/// Parses an INTERVAL with a value; `None` where the word begins something else.
pub(super) fn parse(parser: &mut Parser) -> Option<std::result::Result<Expr, ParserError>> {
    let is_value = matches!(
        parser.peek_nth_token_ref(1).token,
        Token::SingleQuotedString(_) | Token::Number(..) | Token::LParen | Token::Minus
    );
    if !is_value || !parser.parse_keyword(Keyword::INTERVAL) {
        return None;
    }
    Some(interval_value(parser))
}

fn interval_value(parser: &mut Parser) -> std::result::Result<Expr, ParserError> {
    let value = if parser.consume_token(&Token::LParen) {
        let inner = parser.parse_expr()?;
        parser.expect_token(&Token::RParen)?;
        Expr::Nested(Box::new(inner))
    } else if parser.consume_token(&Token::Minus) {
        Expr::UnaryOp {
            op: UnaryOperator::Minus,
            expr: Box::new(Expr::Value(parser.parse_number_value()?)),
        }
    } else {
        Expr::Value(parser.parse_value()?)
    };
    let is_text =
        matches!(&value, Expr::Value(v) if matches!(v.value, Value::SingleQuotedString(_)));
    let is_unit = matches!(&parser.peek_token_ref().token,
        Token::Word(w) if w.quote_style.is_none() && unit(&w.value).is_some());
    if !is_unit && !is_text {
        return Err(ParserError::ParserError(
            "an INTERVAL takes a unit from MICROSECOND to MILLENNIUM, as in INTERVAL 3 DAYS".into(),
        ));
    }
    let leading_field = match is_unit {
        true => Some(DateTimeField::Custom(parser.parse_identifier()?)),
        false => None,
    };
    let is_range = matches!(&parser.peek_token_ref().token, Token::LParen)
        || matches!(&parser.peek_token_ref().token, Token::Word(w) if w.keyword == Keyword::TO);
    if is_unit && is_range {
        return Err(ParserError::ParserError(
            "an INTERVAL takes one unit: not two with TO, and no precision".into(),
        ));
    }
    Ok(Expr::Interval(Interval {
        value: Box::new(value),
        leading_field,
        leading_precision: None,
        last_field: None,
        fractional_seconds_precision: None,
    }))
}

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
