//! Marks in parsed SQL for the planner of operators (`plan/operators.rs`): DataFusion reads every integer literal as BIGINT, and
//! gives a CASE the type of its first value. The marks are operators that no SQL text has.
//!
//! What must hold: a literal that says something else than a value has no mark: a position in ORDER BY or GROUP BY, a limit,
//! the bound of a window's frame, the length of an interval.

use super::calls::call;
use super::marks::{mark, mark_with};
use super::truth_marks::{mark_changed, mark_condition, mark_joins, mark_select};
use super::walk::finish;
use crate::error::{Error, Result};
use crate::walk::visit_mut;
use sqlparser::ast::{
    BinaryOperator, Expr, Fetch, Function, GroupByExpr, LimitClause, OrderByKind, Query, Select,
    Statement, TableFactor, UnaryOperator, Value, VisitorMut, WindowFrame, WindowFrameBound,
    WindowType,
};
use std::ops::ControlFlow;

/// The operator of `-x`; `-1` is a literal.
pub const NEGATIVE: &str = "negative";

/// Behind an integer literal.
pub const INTEGER_LITERAL: &str = "integer literal";

/// Behind a number with a point whose digits begin with 0, which the planner does not count; its right side is how many there are.
pub const DECIMAL_LITERAL: &str = "decimal literal";
/// As many digits as a decimal has; a number of more is a DOUBLE.
const MOST_DIGITS: usize = 38;
/// Behind what has several values that are to have one type.
pub const ONE_TYPE: &str = "one type";

/// Functions whose arguments all have the result's type.
pub const SAME_TYPE_FUNCTIONS: [&str; 8] = [
    "coalesce",
    "nullif",
    "nvl",
    "ifnull",
    "greatest",
    "least",
    "make_array",
    "array_value",
];

/// Marks a statement in place.
pub(super) fn mark_statement(statement: &mut Statement) -> Result<()> {
    finish(visit_mut(statement, &mut Marker::default()))
}

/// Marks an expression in place.
pub(super) fn mark_expr(expr: &mut Expr) -> Result<()> {
    finish(visit_mut(expr, &mut Marker::default()))
}

#[derive(Default)]
struct Marker {
    /// How many INTERVALs are around.
    intervals: usize,
}

/// Takes the mark of a literal away again.
fn unmark(expr: &mut Expr) {
    take_mark(expr);
}

/// Takes the mark of a literal away, and gives it where there was one.
fn take_mark(expr: &mut Expr) -> Option<(BinaryOperator, Expr)> {
    let Expr::BinaryOp { left, op, right } = expr else {
        return None;
    };
    if !is_mark_of_literal(op) {
        return None;
    }
    let nothing = || Expr::value(Value::Null);
    let mark = (op.clone(), std::mem::replace(right.as_mut(), nothing()));
    *expr = std::mem::replace(left, nothing());
    Some(mark)
}

/// `-(-1)` is the literal 1 to whoever has seen its first sign: the literal behind the two of them, and its mark.
fn without_signs(of: &Expr) -> Option<(Expr, BinaryOperator, Expr)> {
    match of {
        Expr::Nested(of) => without_signs(of),
        Expr::BinaryOp { left, op, right } if is_mark_of_literal(op) => match left.as_ref() {
            Expr::UnaryOp {
                op: UnaryOperator::Minus,
                expr: literal,
            } => Some((literal.as_ref().clone(), op.clone(), right.as_ref().clone())),
            Expr::Value(_) => {
                let negative = Expr::UnaryOp {
                    op: UnaryOperator::Minus,
                    expr: left.clone(),
                };
                Some((negative, op.clone(), right.as_ref().clone()))
            }
            _ => None,
        },
        _ => None,
    }
}

fn is_mark_of_literal(op: &BinaryOperator) -> bool {
    let is_literal = |mark: &str| [INTEGER_LITERAL, DECIMAL_LITERAL].contains(&mark);
    matches!(op, BinaryOperator::Custom(mark) if is_literal(mark))
}

/// How many digits a number with a point has, if the first one is 0: `0.5` has two, and so has its type.
fn digits_from_zero(text: &str) -> Option<usize> {
    let digits = digits_around_point(text)?;
    text.starts_with('0').then_some(digits)
}

/// Whether a number is a DOUBLE: it has an exponent, or a point and more digits than a decimal.
pub(super) fn is_double(text: &str) -> bool {
    text.contains(['e', 'E'])
        || digits_around_point(text).is_some_and(|digits| digits > MOST_DIGITS)
}

/// How many digits a number with a point and without an exponent has.
fn digits_around_point(text: &str) -> Option<usize> {
    let (whole, fraction) = text.split_once('.')?;
    let count = |digits: &str| {
        let are_digits = digits.bytes().all(|b| b.is_ascii_digit() || b == b'_');
        are_digits.then(|| digits.bytes().filter(u8::is_ascii_digit).count())
    };
    Some(count(whole)? + count(fraction)?)
}

/// `[a, b]` as the call that it is: the planner finds in a list no columns of an outer query, and no queries of a WITH.
fn call_for_list(expr: &mut Expr) {
    if let Expr::Array(array) = expr
        && !array.elem.iter().all(is_written)
    {
        *expr = call("make_array", std::mem::take(&mut array.elem));
    }
}

/// Whether an expression is made of what is written alone.
fn is_written(expr: &Expr) -> bool {
    match expr {
        Expr::Value(_) | Expr::TypedString(_) => true,
        Expr::Nested(of) | Expr::UnaryOp { expr: of, .. } => is_written(of),
        Expr::Array(array) => array.elem.iter().all(is_written),
        _ => false,
    }
}

fn is_integer(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_digit() || b == b'_')
}

fn has_one_type(function: &Function) -> bool {
    let [name] = function.name.0.as_slice() else {
        return false;
    };
    let name = name.as_ident().map(|ident| ident.value.as_str());
    name.is_some_and(|name| {
        SAME_TYPE_FUNCTIONS
            .iter()
            .any(|known| name.eq_ignore_ascii_case(known))
    })
}

fn unmark_frame(frame: &mut WindowFrame) {
    let bounds = [Some(&mut frame.start_bound), frame.end_bound.as_mut()];
    for bound in bounds.into_iter().flatten() {
        if let WindowFrameBound::Preceding(Some(by)) | WindowFrameBound::Following(Some(by)) = bound
        {
            unmark(by);
        }
    }
}

/// Positions, also within GROUPING SETS and the like.
fn unmark_group(expr: &mut Expr) {
    match expr {
        Expr::GroupingSets(sets) | Expr::Cube(sets) | Expr::Rollup(sets) => {
            sets.iter_mut().flatten().for_each(unmark_group);
        }
        _ => unmark(expr),
    }
}

impl VisitorMut for Marker {
    type Break = Box<Error>;

    fn pre_visit_statement(&mut self, statement: &mut Statement) -> ControlFlow<Self::Break> {
        mark_changed(statement);
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Self::Break> {
        if let TableFactor::NestedJoin {
            table_with_joins, ..
        } = factor
        {
            mark_joins(table_with_joins);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Self::Break> {
        mark_select(select);
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Self::Break> {
        self.intervals += usize::from(matches!(expr, Expr::Interval(_)));
        call_for_list(expr);
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Self::Break> {
        match expr {
            Expr::Interval(_) => self.intervals -= 1,
            Expr::Value(value) if self.intervals == 0 => {
                let Value::Number(text, _) = &value.value else {
                    return ControlFlow::Continue(());
                };
                if is_integer(text) {
                    mark(expr, INTEGER_LITERAL);
                } else if let Some(digits) = digits_from_zero(text) {
                    let digits = Expr::value(Value::Number(digits.to_string(), false));
                    mark_with(expr, BinaryOperator::Custom(DECIMAL_LITERAL.into()), digits);
                }
            }
            // The sign belongs to the literal.
            Expr::UnaryOp {
                op: UnaryOperator::Minus,
                expr: inner,
            } => {
                let is_value = matches!(
                    inner.as_ref(),
                    Expr::Value(_) | Expr::Interval(_) | Expr::TypedString(_)
                );
                let is_bare = match inner.as_ref() {
                    Expr::BinaryOp { left, .. } => matches!(left.as_ref(), Expr::Value(_)),
                    _ => false,
                };
                if is_bare && let Some((op, right)) = take_mark(inner) {
                    mark_with(expr, op, right);
                } else if let Some((literal, op, right)) = without_signs(inner) {
                    *expr = literal;
                    mark_with(expr, op, right);
                } else if !is_value {
                    let of = std::mem::replace(inner.as_mut(), Expr::value(Value::Null));
                    *expr = of;
                    mark(expr, NEGATIVE);
                }
            }
            Expr::UnaryOp {
                op: UnaryOperator::Not,
                expr: condition,
            } => mark_condition(condition),
            Expr::Case { .. } | Expr::IsDistinctFrom(..) | Expr::IsNotDistinctFrom(..) => {
                mark(expr, ONE_TYPE);
            }
            Expr::Function(function) => {
                if let Some(WindowType::WindowSpec(window)) = &mut function.over {
                    window.window_frame.iter_mut().for_each(unmark_frame);
                }
                if has_one_type(function) {
                    mark(expr, ONE_TYPE);
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, query: &mut Query) -> ControlFlow<Self::Break> {
        if let Some(order_by) = &mut query.order_by
            && let OrderByKind::Expressions(expressions) = &mut order_by.kind
        {
            for expression in expressions {
                unmark(&mut expression.expr);
            }
        }
        match &mut query.limit_clause {
            Some(LimitClause::LimitOffset { limit, offset, .. }) => {
                limit.iter_mut().for_each(unmark);
                if let Some(offset) = offset {
                    unmark(&mut offset.value);
                }
            }
            Some(LimitClause::OffsetCommaLimit { offset, limit }) => {
                unmark(offset);
                unmark(limit);
            }
            None => {}
        }
        if let Some(Fetch {
            quantity: Some(quantity),
            ..
        }) = &mut query.fetch
        {
            unmark(quantity);
        }
        ControlFlow::Continue(())
    }

    fn post_visit_select(&mut self, select: &mut Select) -> ControlFlow<Self::Break> {
        if let GroupByExpr::Expressions(expressions, _) = &mut select.group_by {
            expressions.iter_mut().for_each(unmark_group);
        }
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Statement, parse};

    fn marked(text: &str) -> String {
        let Statement::Sql(mut statement) = parse(text).unwrap() else {
            panic!("{text} is a statement of ours");
        };
        mark_statement(&mut statement).unwrap();
        statement.to_string()
    }

    #[test]
    fn positions_limits_frames_and_intervals_have_no_mark() {
        for text in [
            "SELECT a FROM t GROUP BY 1 ORDER BY 1 LIMIT 2 OFFSET 3",
            "SELECT sum(a) OVER (ORDER BY a ROWS BETWEEN 1 PRECEDING AND 2 FOLLOWING) FROM t",
            "SELECT INTERVAL 3 DAY, 1.5",
        ] {
            assert!(!marked(text).contains(INTEGER_LITERAL), "{text}");
        }
    }

    #[test]
    fn values_have_one_mark_with_their_sign() {
        for text in ["SELECT 1", "SELECT -1", "SELECT f(a, 1)", "VALUES (1)"] {
            assert_eq!(marked(text).matches(INTEGER_LITERAL).count(), 1, "{text}");
        }
        assert!(marked("SELECT -1").starts_with("SELECT -1 "));
        for (text, digits) in [
            ("0.5", Some(2)),
            ("00.5", Some(3)),
            ("0.", Some(1)),
            ("1.5", None),
            (".5", None),
            ("0.5e1", None),
        ] {
            assert_eq!(digits_from_zero(text), digits, "{text}");
        }
        assert!(marked("SELECT -0.5").starts_with("SELECT -0.5 decimal literal 2"));
    }
}
