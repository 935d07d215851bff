//! Patterns as DuckDB reads them: without ESCAPE a backslash is a character like others in LIKE, `~~` is LIKE, and SIMILAR TO and
//! `~` match whole texts.

use super::template::template;
use crate::error::{Error, Result};
use crate::sqlstate;
use sqlparser::ast::{BinaryOperator, Expr, Value, ValueWithSpan};

/// A pattern of LIKE and its escape character, or nothing, as the one pattern that the engine reads, whose escape is `\`.
pub const LIKE_PATTERN: &str = "$like_pattern";
/// Whether a regular expression matches a whole text.
pub const FULL_MATCH: &str = "regexp_full_match";

/// What a match of a pattern becomes; it may also change in its place.
pub(super) fn pattern(expr: &mut Expr) -> Result<Option<Expr>> {
    match expr {
        Expr::BinaryOp { left, op, right } => match like_operator(op) {
            Some((ignores_case, negated)) => {
                let pattern = like(right, &mut None, ignores_case)?;
                let pattern = pattern.unwrap_or_else(|| right.as_ref().clone());
                let text = left.as_ref().clone();
                Ok(Some(like_expr(text, pattern, ignores_case, negated)))
            }
            None => regex_operator(left, op, right),
        },
        Expr::Like {
            pattern,
            escape_char,
            ..
        } => {
            if let Some(plain) = like(pattern, escape_char, false)? {
                **pattern = plain;
            }
            Ok(None)
        }
        Expr::ILike {
            pattern,
            escape_char,
            ..
        } => {
            if let Some(plain) = like(pattern, escape_char, true)? {
                **pattern = plain;
            }
            Ok(None)
        }
        Expr::SimilarTo {
            escape_char: Some(_),
            ..
        } => Err(Error::unsupported("Custom escape in SIMILAR TO")),
        Expr::SimilarTo {
            negated,
            expr,
            pattern,
            ..
        } => full_match(expr, pattern, *negated).map(Some),
        _ => Ok(None),
    }
}

/// The pattern that the engine reads, if it is another one: there a backslash is the escape.
fn like(
    pattern: &Expr,
    escape: &mut Option<ValueWithSpan>,
    ignores_case: bool,
) -> Result<Option<Expr>> {
    let plain = matches!(
        pattern,
        Expr::Value(ValueWithSpan { value: Value::SingleQuotedString(text), .. }) if !text.contains('\\')
    );
    let escape = match escape.take() {
        None if plain => return Ok(None),
        None => Value::SingleQuotedString(String::new()).into(),
        Some(escape) => escape,
    };
    let pattern = match ignores_case {
        true => template("lower($1)", std::slice::from_ref(pattern))?,
        false => pattern.clone(),
    };
    template(
        &format!("\"{LIKE_PATTERN}\"($1, $2)"),
        &[pattern, Expr::Value(escape)],
    )
    .map(Some)
}

/// Whether an operator is ILIKE, and whether it is negated.
fn like_operator(op: &BinaryOperator) -> Option<(bool, bool)> {
    use BinaryOperator as B;
    Some(match op {
        B::PGLikeMatch => (false, false),
        B::PGNotLikeMatch => (false, true),
        B::PGILikeMatch => (true, false),
        B::PGNotILikeMatch => (true, true),
        _ => return None,
    })
}

fn like_expr(expr: Expr, pattern: Expr, ignores_case: bool, negated: bool) -> Expr {
    let (any, escape_char) = (false, None);
    let (expr, pattern) = (Box::new(expr), Box::new(pattern));
    match ignores_case {
        true => Expr::ILike {
            negated,
            any,
            expr,
            pattern,
            escape_char,
        },
        false => Expr::Like {
            negated,
            any,
            expr,
            pattern,
            escape_char,
        },
    }
}

fn regex_operator(left: &Expr, op: &BinaryOperator, right: &Expr) -> Result<Option<Expr>> {
    use BinaryOperator as B;
    match op {
        B::PGRegexMatch => full_match(left, right, false).map(Some),
        B::PGRegexNotMatch => full_match(left, right, true).map(Some),
        B::PGRegexIMatch | B::PGRegexNotIMatch => Err(Error::catalog(format!(
            "Scalar Function with name {op} does not exist! Use {FULL_MATCH}(text, pattern, 'i')"
        ))
        .with_sqlstate(sqlstate::UNDEFINED_FUNCTION)),
        _ => Ok(None),
    }
}

fn full_match(text: &Expr, pattern: &Expr, negated: bool) -> Result<Expr> {
    let not = if negated { "NOT " } else { "" };
    template(
        &format!("({not}{FULL_MATCH}($1, $2))"),
        &[text.clone(), pattern.clone()],
    )
}
