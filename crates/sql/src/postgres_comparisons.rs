//! Comparisons of PostgreSQL that DuckDB has not: with any or all of a list's patterns, between two ends either way, of two spans of time, and of
//! a row with NULL.

use crate::error::Result;
use crate::marks::mark_with;
use crate::operators::SYMMETRIC;
use crate::postgres_arrays::array_literal;
use crate::postgres_patterns::read_pattern;
use crate::template::{drawn_once, template};
use sqlparser::ast::{
    BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, UnaryOperator,
    Value,
};

/// Marks what is compared with several values, and has one of them, a number, behind it: `real` is compared with that as `double precision`.
pub const BESIDE_NUMBER: &str = "beside_number";

/// Marks what IN, ANY, BETWEEN and CASE compare with a number that a `real` does not hold.
pub(crate) fn mark_compared(expr: &mut Expr) {
    let (of, number) = match expr {
        // Of several the type is that of what is compared.
        Expr::InList { expr, list, .. } if list.len() == 1 => (expr, inexact(&list[0])),
        Expr::AnyOp { left, right, .. } | Expr::AllOp { left, right, .. } => {
            let Expr::Array(array) = &**right else {
                return;
            };
            (left, array.elem.iter().find_map(inexact))
        }
        Expr::Between {
            expr, low, high, ..
        } => (expr, inexact(low).or_else(|| inexact(high))),
        Expr::Case {
            operand: Some(operand),
            conditions,
            ..
        } => {
            let mut values = conditions.iter().map(|when| &when.condition);
            (operand, values.find_map(inexact))
        }
        _ => return,
    };
    if let Some(number) = number {
        let mark = BinaryOperator::Custom(BESIDE_NUMBER.to_owned());
        mark_with(of, mark, number.clone());
    }
}

/// The number of which an expression is made, if a `real` does not hold it.
fn inexact(expr: &Expr) -> Option<&Expr> {
    match expr {
        Expr::Nested(inner) | Expr::UnaryOp { expr: inner, .. } => inexact(inner),
        Expr::Value(value) => {
            let Value::Number(digits, _) = &value.value else {
                return None;
            };
            let number: f64 = digits.parse().ok()?;
            (f64::from(number as f32) != number).then_some(expr)
        }
        _ => None,
    }
}

/// Which of a list's patterns a text is to match.
#[derive(Clone, Copy, PartialEq)]
enum Which {
    Any,
    All,
}

/// What one of these comparisons is.
pub(crate) fn compared(expr: &Expr) -> Result<Option<Expr>> {
    match expr {
        Expr::Between {
            expr: of,
            negated,
            low,
            high,
        } => between(of, *negated, low, high),
        Expr::Like { .. } | Expr::ILike { .. } => like_some(expr),
        Expr::AnyOp {
            left,
            compare_op,
            right,
            ..
        } => matched_by_some(left, compare_op, right, Which::Any),
        Expr::AllOp {
            left,
            compare_op,
            right,
        } => matched_by_some(left, compare_op, right, Which::All),
        Expr::BinaryOp {
            left,
            op: BinaryOperator::Overlaps,
            right,
        } => overlaps(left, right),
        Expr::IsNull(row) => row_is_null(row, "IS NULL"),
        Expr::IsNotNull(row) => row_is_null(row, "IS NOT NULL"),
        _ => Ok(None),
    }
}

/// The argument of a call of that name.
fn argument_of<'a>(expr: &'a Expr, name: &str) -> Option<&'a Expr> {
    let Expr::Function(Function {
        name: called,
        args: FunctionArguments::List(list),
        ..
    }) = expr
    else {
        return None;
    };
    let called = called.0.last()?.as_ident()?;
    match list.args.as_slice() {
        [FunctionArg::Unnamed(FunctionArgExpr::Expr(of))]
            if called.value.eq_ignore_ascii_case(name) =>
        {
            Some(of)
        }
        _ => None,
    }
}

/// `x BETWEEN SYMMETRIC a AND b`.
fn between(of: &Expr, negated: bool, low: &Expr, high: &Expr) -> Result<Option<Expr>> {
    let Some(low) = argument_of(low, SYMMETRIC) else {
        return Ok(None);
    };
    let text = match negated {
        false => "($1 BETWEEN $2 AND $3 OR $1 BETWEEN $3 AND $2)",
        true => "($1 NOT BETWEEN $2 AND $3 AND $1 NOT BETWEEN $3 AND $2)",
    };
    drawn_once(text, &[of.clone(), low.clone(), high.clone()]).map(Some)
}

/// `x LIKE ANY (list)` and its kin.
fn like_some(expr: &Expr) -> Result<Option<Expr>> {
    let (Expr::Like {
        negated,
        expr: of,
        pattern,
        ..
    }
    | Expr::ILike {
        negated,
        expr: of,
        pattern,
        ..
    }) = expr
    else {
        return Ok(None);
    };
    let of_all = argument_of(pattern, "all").map(|list| (Which::All, list));
    let of_any = || argument_of(pattern, "any").map(|list| (Which::Any, list));
    let Some((which, list)) = of_all.or_else(of_any) else {
        return Ok(None);
    };
    let like = if matches!(expr, Expr::Like { .. }) {
        "LIKE"
    } else {
        "ILIKE"
    };
    let not = if *negated { "NOT " } else { "" };
    some_of(of, list, which, &|item| {
        format!("$1 {not}{like} {item} ESCAPE '\\'")
    })
}

/// `x ~ ANY (list)` and its kin.
fn matched_by_some(
    of: &Expr,
    op: &BinaryOperator,
    list: &Expr,
    which: Which,
) -> Result<Option<Expr>> {
    let (not, options) = match op {
        BinaryOperator::PGRegexMatch => ("", ""),
        BinaryOperator::PGRegexIMatch => ("", ", 'i'"),
        BinaryOperator::PGRegexNotMatch => ("NOT ", ""),
        BinaryOperator::PGRegexNotIMatch => ("NOT ", ", 'i'"),
        _ => return Ok(None),
    };
    some_of(of, list, which, &|item| {
        format!("{not}regexp_matches($1, {item}{options})")
    })
}

/// Whether any, or all, of a list's items fulfil a condition: of one that is written out, the conditions; of another, what a lambda says of them.
fn some_of(
    of: &Expr,
    list: &Expr,
    which: Which,
    condition: &dyn Fn(&str) -> String,
) -> Result<Option<Expr>> {
    let list = match list {
        Expr::Nested(inner) => inner.as_ref(),
        other => other,
    };
    let written = array_literal(list);
    let (joined, of_none, aggregate) = match which {
        Which::Any => (" OR ", "false", "list_bool_or"),
        Which::All => (" AND ", "true", "list_bool_and"),
    };
    if let Expr::Array(items) = written.as_ref().unwrap_or(list)
        && !items.elem.is_empty()
    {
        let conditions = (0..items.elem.len()).map(|n| condition(&format!("${}", n + 2)));
        let text = conditions.collect::<Vec<_>>().join(joined);
        let mut args: Vec<_> = [of].into_iter().chain(&items.elem).cloned().collect();
        if text.contains("regexp_matches") {
            args.iter_mut().skip(1).for_each(read_pattern);
        }
        return drawn_once(&format!("({text})"), &args).map(Some);
    }
    if matches!(list, Expr::Subquery(_)) {
        return Ok(None);
    }
    let text = format!(
        "CASE WHEN len($2) = 0 THEN {of_none} ELSE {aggregate}(list_transform($2, \"$item\" -> {})) END",
        condition("\"$item\"")
    );
    template(&text, &[of.clone(), list.clone()]).map(Some)
}

/// `(a, b) OVERLAPS (c, d)`, of spans that begin at the earlier of two moments and do not have the later; the second may be how long it is.
fn overlaps(left: &Expr, right: &Expr) -> Result<Option<Expr>> {
    let ends = |of: &Expr| match of {
        Expr::Tuple(ends) => <&[Expr; 2]>::try_from(ends.as_slice()).ok().cloned(),
        _ => None,
    };
    let (Some([a, b]), Some([c, d])) = (ends(left), ends(right)) else {
        return Ok(None);
    };
    let end = |begin: Expr, end: Expr| match is_span(&end) {
        true => template("($1 + $2)", &[begin, end]),
        false => Ok(end),
    };
    let args = [a.clone(), end(a, b)?, c.clone(), end(c, d)?];
    let (begin, other) = ("least($1, $2)", "least($3, $4)");
    let (end, other_end) = ("greatest($1, $2)", "greatest($3, $4)");
    let text = format!(
        "CASE WHEN {begin} > {other} THEN {begin} < {other_end} WHEN {other} > {begin} THEN {other} < {end} \
         ELSE {begin} = {other} END"
    );
    template(&text, &args).map(Some)
}

fn is_span(expr: &Expr) -> bool {
    match expr {
        Expr::Nested(inner) => is_span(inner),
        Expr::Interval(_) => true,
        Expr::UnaryOp {
            op: UnaryOperator::Minus,
            expr,
        } => is_span(expr),
        Expr::Cast { data_type, .. } => {
            matches!(data_type, sqlparser::ast::DataType::Interval { .. })
        }
        _ => false,
    }
}

/// A row that is written out is NULL where all its values are, and is not where none is.
fn row_is_null(row: &Expr, condition: &str) -> Result<Option<Expr>> {
    let items: Vec<Expr> = match row {
        Expr::Nested(inner) => return row_is_null(inner, condition),
        Expr::Tuple(items) => items.clone(),
        Expr::Function(function) if function.name.to_string().eq_ignore_ascii_case("row") => {
            let FunctionArguments::List(list) = &function.args else {
                return Ok(None);
            };
            let items = list.args.iter().map(|arg| match arg {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(item)) => Some(item.clone()),
                _ => None,
            });
            match items.collect::<Option<Vec<_>>>() {
                Some(items) => items,
                None => return Ok(None),
            }
        }
        _ => return Ok(None),
    };
    let terms = (1..=items.len()).map(|n| format!("${n} {condition}"));
    let terms = terms.collect::<Vec<_>>().join(" AND ");
    match terms.is_empty() {
        true => Ok(Some(Expr::value(Value::Boolean(true)))),
        false => template(&format!("({terms})"), &items).map(Some),
    }
}
