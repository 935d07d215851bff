//! Small rewrites of parsed SQL before planning: `FROM t` without SELECT, checked negation, parameters.

use crate::error::{Error, Result};
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, Select, SelectFlavor, SelectItem, Statement, UnaryOperator, Value,
    VisitMut, VisitorMut, WildcardAdditionalOptions,
};
use std::ops::ControlFlow;

/// Rewrites a statement in place.
pub(crate) fn rewrite(statement: &mut Statement) -> Result<()> {
    finish(VisitMut::visit(statement, &mut Rewriter))
}

/// Rewrites one expression in place.
pub(crate) fn rewrite_expr(expr: &mut Expr) -> Result<()> {
    finish(VisitMut::visit(expr, &mut Rewriter))
}

fn finish(flow: ControlFlow<Box<Error>>) -> Result<()> {
    match flow {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(*error),
    }
}

struct Rewriter;

impl VisitorMut for Rewriter {
    type Break = Box<Error>;

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Self::Break> {
        if select.flavor == SelectFlavor::FromFirstNoSelect && select.projection.is_empty() {
            select.projection = vec![SelectItem::Wildcard(WildcardAdditionalOptions::default())];
        }
        select.flavor = SelectFlavor::Standard;
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Self::Break> {
        // `-x` as `0 - x`, which is checked; `-1` stays a literal.
        if let Expr::UnaryOp {
            op: UnaryOperator::Minus,
            expr: inner,
        } = expr
            && !matches!(
                inner.as_ref(),
                Expr::Value(_) | Expr::Interval(_) | Expr::TypedString(_)
            )
        {
            let operand = std::mem::replace(inner.as_mut(), number("0"));
            *expr = Expr::Nested(Box::new(Expr::BinaryOp {
                left: Box::new(number("0")),
                op: BinaryOperator::Minus,
                right: Box::new(operand),
            }));
        }
        ControlFlow::Continue(())
    }
}

fn number(text: &str) -> Expr {
    Expr::Value(Value::Number(text.into(), false).into())
}

/// Puts the arguments of EXECUTE where a prepared statement has `$1`, `$name` or `?`.
///
/// # Errors
/// `Binder` when a parameter has no value, or a value no parameter.
pub(crate) fn substitute_parameters(statement: &mut Statement, values: &[Expr]) -> Result<()> {
    let mut binder = Parameters {
        values,
        next: 0,
        used: vec![false; values.len()],
    };
    finish(VisitMut::visit(statement, &mut binder))?;
    if binder.used.contains(&false) {
        return Err(Error::binder(format!(
            "{} values were given, and the prepared statement uses {}",
            values.len(),
            binder.used.iter().filter(|used| **used).count()
        )));
    }
    Ok(())
}

struct Parameters<'a> {
    values: &'a [Expr],
    /// For `?`, which count by themselves.
    next: usize,
    used: Vec<bool>,
}

impl VisitorMut for Parameters<'_> {
    type Break = Box<Error>;

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Self::Break> {
        let Expr::Value(value) = expr else {
            return ControlFlow::Continue(());
        };
        let Value::Placeholder(name) = &value.value else {
            return ControlFlow::Continue(());
        };
        let index = if name == "?" {
            self.next += 1;
            self.next
        } else {
            name.trim_start_matches(['$', '?']).parse().unwrap_or(0)
        };
        match index.checked_sub(1).and_then(|i| self.values.get(i)) {
            Some(given) => {
                self.used[index - 1] = true;
                *expr = given.clone();
                ControlFlow::Continue(())
            }
            None => ControlFlow::Break(Box::new(Error::binder(format!(
                "parameter {name} has no value; {} were given",
                self.values.len()
            )))),
        }
    }
}
