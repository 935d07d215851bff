//! Expressions from texts in which `$1`, `$2`... stand for others.

use super::parameters::substitute;
use super::reading::parse_expr;
use crate::error::{Error, Result};
use crate::walk::visit_expressions;
use sqlparser::ast::Expr;
use std::ops::ControlFlow;

/// An expression from text in which `$1`, `$2`... stand for expressions.
pub(super) fn template(text: &str, args: &[Expr]) -> Result<Expr> {
    let mut expr = parse(text)?;
    put_in(&mut expr, args)?;
    Ok(expr)
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
