//! Parts of texts and bytes: from a place on, by a pattern, or by one of SIMILAR TO.

use crate::calls::call;
use crate::error::Result;
use crate::postgres_patterns::{part_pattern, read_pattern};
use crate::template::template;
use sqlparser::ast::{Expr, Value};

/// The function that gives parts.
const PART: &str = "substring_as_postgres";

/// What `substring` means where it is not as in DuckDB: before the begin of a text, and of a pattern.
pub(crate) fn part_of(expr: &Expr) -> Result<Option<Expr>> {
    let Expr::Substring {
        expr: text,
        substring_from: Some(from),
        substring_for: letters,
        ..
    } = expr
    else {
        return Ok(None);
    };
    let text = text.as_ref().clone();
    let mut from = from.as_ref().clone();
    let Some(letters) = letters else {
        // Of a number that is written out it is the same.
        if is_within(&from) {
            return Ok(None);
        }
        read_pattern(&mut from);
        return Ok(Some(call(PART, vec![text, counted(from)?])));
    };
    if let (Some(pattern), Some(escape)) = (written(&from), written(letters)) {
        let pattern = Value::SingleQuotedString(part_pattern(pattern, escape)?);
        return Ok(Some(call(PART, vec![text, Expr::Value(pattern.into())])));
    }
    // Of a length that is a number, too, no error is to be looked for.
    match is_within(&from) && is_within(letters) {
        true => Ok(None),
        false => {
            let (from, letters) = (counted(from)?, counted(letters.as_ref().clone())?);
            Ok(Some(call(PART, vec![text, from, letters])))
        }
    }
}

/// A number that is written out and begins within a text.
fn is_within(at: &Expr) -> bool {
    match at {
        Expr::Value(value) => match &value.value {
            Value::Number(number, _) => number.parse::<u64>().is_ok_and(|at| at > 0),
            _ => false,
        },
        _ => false,
    }
}

/// A parameter of which nobody says the type is a number.
fn counted(at: Expr) -> Result<Expr> {
    match &at {
        Expr::Value(value) if matches!(value.value, Value::Placeholder(_)) => {
            template("CAST($1 AS BIGINT)", std::slice::from_ref(&at))
        }
        _ => Ok(at),
    }
}

fn written(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Nested(inner) => written(inner),
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) => Some(text),
            _ => None,
        },
        _ => None,
    }
}

/// `overlay(a PLACING b FROM c FOR d)`, of bytes, too.
pub(crate) fn overlaid(expr: &Expr) -> Option<Expr> {
    let Expr::Overlay {
        expr,
        overlay_what,
        overlay_from,
        overlay_for,
    } = expr
    else {
        return None;
    };
    let args = [expr, overlay_what, overlay_from]
        .into_iter()
        .chain(overlay_for);
    let args = args.map(|arg| arg.as_ref().clone());
    Some(call("overlay_as_postgres", args.collect()))
}
