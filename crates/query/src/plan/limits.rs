//! LIMIT and OFFSET by a query, of a text or a fraction, and LIMIT in percent: the number is found before the query is planned.

use super::pivots::{Walker, call, expressions, parsed_query};
use datafusion::sql::sqlparser::ast::{Expr, LimitClause, Offset, Query, Value};
use hushdb_sql::walk::visit_expressions;
use hushdb_sql::{Error, PERCENT, Result, sql_text};
use std::ops::ControlFlow;

/// Whether the number of rows has to be found first.
pub(super) fn has_one(query: &Query) -> bool {
    let Some(LimitClause::LimitOffset { limit, offset, .. }) = &query.limit_clause else {
        return false;
    };
    let offset = offset.as_ref().map(|offset| &offset.value);
    limit.iter().chain(offset).any(is_found)
}

fn is_found(expr: &Expr) -> bool {
    percent(expr).is_some() || has_query(expr) || is_cast(expr)
}

/// Whether it is a number of another type, which becomes a whole one.
fn is_cast(expr: &Expr) -> bool {
    match expr {
        Expr::Nested(expr) => is_cast(expr),
        Expr::Value(value) => match &value.value {
            Value::Number(number, _) => number.bytes().any(|byte| !byte.is_ascii_digit()),
            Value::SingleQuotedString(_) => true,
            _ => false,
        },
        _ => false,
    }
}

fn has_query(expr: &Expr) -> bool {
    let found = visit_expressions(expr, |expr| match expr {
        Expr::Subquery(_) => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    found.is_break()
}

/// What stands before the sign.
fn percent(expr: &Expr) -> Option<Result<Vec<Expr>>> {
    match call(expr)? {
        (PERCENT, args) => Some(expressions(args)),
        _ => None,
    }
}

/// Puts numbers where queries and percents stand.
pub(super) fn find(walker: &Walker<'_>, query: &mut Query) -> Result<()> {
    if !has_one(query) {
        return Ok(());
    }
    let all = Query {
        limit_clause: None,
        order_by: None,
        ..query.clone()
    };
    let Some(LimitClause::LimitOffset { limit, offset, .. }) = &mut query.limit_clause else {
        return Ok(());
    };
    if let Some(Offset { value, .. }) = offset
        && is_found(value)
    {
        let found = number(walker, value)?.unwrap_or(0);
        *value = literal(found);
    }
    let Some(expr) = limit.as_ref().filter(|limit| is_found(limit)) else {
        return Ok(());
    };
    let found = match percent(expr) {
        None => number(walker, expr)?,
        Some(args) => match args?.as_slice() {
            [share] => share_of(walker, &all, share)?,
            _ => return Err(Error::parser("LIMIT takes one number in percent")),
        },
    };
    *limit = found.map(literal);
    Ok(())
}

fn literal(number: u64) -> Expr {
    Expr::value(Value::Number(number.to_string(), false))
}

/// A number that a query gives; NULL is none.
fn number(walker: &Walker<'_>, expr: &Expr) -> Result<Option<u64>> {
    let found = value(walker, &format!("CAST(({}) AS BIGINT)", sql_text(expr)))?;
    let number = found.map(|text| text.parse::<u64>()).transpose();
    number.map_err(|_| Error::invalid("LIMIT and OFFSET take a number that is not below 0"))
}

/// So many of a hundred of a query's rows.
fn share_of(walker: &Walker<'_>, all: &Query, share: &Expr) -> Result<Option<u64>> {
    let share = value(walker, &format!("CAST(({}) AS DOUBLE)", sql_text(share)))?;
    let Some(share) = share else {
        return Ok(None);
    };
    let share = share.parse::<f64>().unwrap_or(f64::NAN);
    if !(0.0..=100.0).contains(&share) {
        return Err(Error::invalid(
            "Limit percent out of range, should be between 0% and 100%",
        ));
    }
    let count = value(
        walker,
        &format!("(SELECT count(*) FROM ({}))", sql_text(all)),
    )?;
    let count = count.and_then(|text| text.parse::<u64>().ok());
    let count = count.ok_or_else(|| Error::internal("rows were counted, and are no number"))?;
    // Rows of a table are far fewer than 2^53.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss
    )]
    let rows = (count as f64 * share / 100.0).floor() as u64;
    Ok(Some(rows))
}

fn value(walker: &Walker<'_>, text: &str) -> Result<Option<String>> {
    let mut query = parsed_query(&format!("SELECT CAST(({text}) AS VARCHAR)"))?;
    query.with = walker.with();
    Ok(walker.texts(query)?.into_iter().flatten().flatten().next())
}
