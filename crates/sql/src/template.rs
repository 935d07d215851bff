//! Expressions from texts in which `$1`, `$2`... stand for others.

use super::parameters::substitute;
use super::reading::parse_expr;
use crate::error::{Error, Result};
use crate::walk::visit_expressions;
use sqlparser::ast::{Expr, Ident};
use std::ops::ControlFlow;

/// An expression from text in which `$1`, `$2`... stand for expressions.
pub(super) fn template(text: &str, args: &[Expr]) -> Result<Expr> {
    let mut expr = parse(text)?;
    put_in(&mut expr, args)?;
    Ok(expr)
}

/// The same where an argument that draws, as `random()` does, and stands in the text more than once has one value there.
pub(super) fn drawn_once(text: &str, args: &[Expr]) -> Result<Expr> {
    let (mut given, mut drawn) = (args.to_vec(), vec![]);
    // What is drawn for rows that an aggregate takes has no one value.
    let is_aggregate = text.contains("sum(");
    for (at, arg) in (1..).zip(&mut given) {
        let is_repeated = text.matches(&format!("${at}")).count() > 1;
        if is_repeated && !is_aggregate && draws(arg) {
            let name = Ident::with_quote('"', format!("$drawn{at}"));
            drawn.push((at, std::mem::replace(arg, Expr::Identifier(name))));
        }
    }
    let mut meaning = template(text, &given)?;
    // The first is drawn first.
    for (at, value) in drawn.into_iter().rev() {
        let named =
            format!("list_extract(list_transform(list_value($1), \"$drawn{at}\" -> $2), 1)");
        meaning = template(&named, &[value, meaning])?;
    }
    Ok(meaning)
}

/// Functions that have another value each time.
const DRAWING: [&str; 10] = [
    "clock_timestamp",
    "gen_random_uuid",
    "nextval",
    "random",
    "random_between",
    "random_normal",
    "setval",
    "uuid",
    "uuidv4",
    "uuidv7",
];

fn draws(expr: &Expr) -> bool {
    let found = visit_expressions(expr, |expr| match expr {
        Expr::Function(function) => {
            let name = function.name.0.last().and_then(|name| name.as_ident());
            let name = name.map(|name| name.value.to_ascii_lowercase());
            match name.is_some_and(|name| DRAWING.contains(&name.as_str())) {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        }
        _ => ControlFlow::Continue(()),
    });
    found.is_break()
}

/// An expression from text of ours.
pub(super) fn parse(text: &str) -> Result<Expr> {
    parse_expr(text).map_err(|e| Error::internal(e.message()))
}

/// Puts arguments where `$1`, `$2`... stand.
pub(super) fn put_in(expr: &mut Expr, args: &[Expr]) -> Result<()> {
    let nested: Vec<Expr> = args
        .iter()
        .map(|arg| match arg {
            Expr::Value(_) | Expr::Identifier(_) | Expr::CompoundIdentifier(_) => arg.clone(),
            other => Expr::Nested(Box::new(other.clone())),
        })
        .collect();
    substitute(expr, &nested)?;
    // What repeats an argument doubles with each level of nesting.
    let given = args.iter().map(parts_of).sum::<usize>();
    let parts = parts_of(expr);
    match parts > MAX_PARTS && parts > given + MAX_PARTS / 2 {
        true => Err(Error::binder(
            "the statement is too large to be planned: xor, ANY, ALL and date_diff repeat what they are given, which is large \
             itself; compute that in a subquery first",
        )),
        false => Ok(()),
    }
}

/// Parts that a call may stand for.
const MAX_PARTS: usize = 10_000;

/// Expressions in an expression, itself among them.
fn parts_of(expr: &Expr) -> usize {
    let mut parts = 0;
    let _ = visit_expressions(expr, |_| {
        parts += 1;
        ControlFlow::<()>::Continue(())
    });
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    /// They are the statement's own, and were once put into themselves without end.
    #[test]
    fn parameters_within_arguments_stay_as_they_are() {
        let args = ["a", "$2::INTEGER + $1"].map(|text| parse_expr(text).unwrap());
        let made = template("CASE WHEN $2 = 1 THEN $1 END", &args).unwrap();
        assert_eq!(
            made.to_string(),
            "CASE WHEN ($2::INTEGER + $1) = 1 THEN a END"
        );
    }
}
