//! Divisions that PostgreSQL does not do because of what stands before them: behind AND and OR, in CASE and COALESCE. They are given NULL
//! to divide by in the rows whose answer is settled without them, since plans ask conditions in an order of their own.
//!
//! What must hold: the answer is that of PostgreSQL, of NULL too. What is written twice has no subquery in it and divides by nothing,
//! so that it fails for no row.

use crate::cut_divide::{divisor_mut, may_divide_by_zero};
use crate::walk::{visit, visit_expressions_mut};
use sqlparser::ast::helpers::attached_token::AttachedToken;
use sqlparser::ast::{
    BinaryOperator, CaseWhen, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments,
    Query, Visitor,
};
use std::ops::ControlFlow;

/// Has an expression divide only where it must.
pub(crate) fn divide_where_asked(expr: &mut Expr) {
    match expr {
        Expr::BinaryOp {
            op: op @ (BinaryOperator::And | BinaryOperator::Or),
            ..
        } => {
            let op = op.clone();
            in_chain(expr, &op);
        }
        Expr::Case {
            operand: None,
            conditions,
            else_result,
            ..
        } => in_case(conditions, else_result.as_deref_mut()),
        Expr::Function(function) if function.name.to_string().eq_ignore_ascii_case("coalesce") => {
            in_coalesce(function);
        }
        _ => {}
    }
}

/// `a <> 0 AND 1 / a > 2` is `a <> 0 AND 1 / (CASE WHEN (a <> 0) IS NOT FALSE THEN a END) > 2`.
fn in_chain(expr: &mut Expr, op: &BinaryOperator) {
    let mut parts = vec![];
    collect(expr, op, &mut parts);
    let found: Vec<Found> = parts.iter().map(|part| found_in(part)).collect();
    if !found.contains(&Found::Division) {
        return;
    }
    let of = |plain: bool| {
        let parts = parts.iter().zip(&found);
        let parts = parts.filter(move |(_, found)| (**found == Found::Nothing) == plain);
        parts.map(|(part, found)| ((*part).clone(), *found))
    };
    let Some(first) = joined(of(true).map(|(part, _)| part), op) else {
        return;
    };
    let open = match op {
        BinaryOperator::And => Expr::IsNotFalse(nested(&first)),
        _ => Expr::IsNotTrue(nested(&first)),
    };
    let rest = of(false).map(|(mut part, found)| {
        if found == Found::Division {
            guard(&mut part, &open);
        }
        part
    });
    if let Some(rest) = joined(rest, op) {
        *expr = Expr::BinaryOp {
            left: Box::new(first),
            op: op.clone(),
            right: Box::new(rest),
        };
    }
}

/// Conditions as results of CASE, which plans take for AND and OR; of all else CASE asks no more than it has to.
fn in_case(conditions: &mut [CaseWhen], else_result: Option<&mut Expr>) {
    if !conditions.iter().any(|when| is_condition(&when.result)) {
        return;
    }
    let mut before: Vec<Expr> = vec![];
    for when in conditions {
        if found_in(&when.condition) != Found::Nothing {
            return;
        }
        let mut open = before.clone();
        open.push(Expr::IsTrue(nested(&when.condition)));
        guard_if_open(&mut when.result, open);
        before.push(Expr::IsNotTrue(nested(&when.condition)));
    }
    if let Some(result) = else_result {
        guard_if_open(result, before);
    }
}

/// `coalesce(a, 1 / b)` divides where `a` is NULL.
fn in_coalesce(function: &mut Function) {
    let FunctionArguments::List(list) = &mut function.args else {
        return;
    };
    let mut before: Vec<Expr> = vec![];
    for arg in &mut list.args {
        let FunctionArg::Unnamed(FunctionArgExpr::Expr(arg)) = arg else {
            return;
        };
        match found_in(arg) {
            Found::Nothing => before.push(Expr::IsNull(nested(arg))),
            Found::Division => guard_if_open(arg, before.clone()),
            Found::Query => {}
        }
    }
}

fn guard_if_open(expr: &mut Expr, open: Vec<Expr>) {
    if found_in(expr) == Found::Division
        && let Some(open) = joined(open.into_iter(), &BinaryOperator::And)
    {
        guard(expr, &open);
    }
}

/// Has the divisors in an expression be NULL but where a condition holds.
fn guard(expr: &mut Expr, open: &Expr) {
    let _: ControlFlow<()> = visit_expressions_mut(expr, |expr| {
        if let Some(divisor) = divisor_mut(expr) {
            let case = Expr::Case {
                case_token: AttachedToken::empty(),
                end_token: AttachedToken::empty(),
                operand: None,
                conditions: vec![CaseWhen {
                    condition: open.clone(),
                    result: divisor.clone(),
                }],
                else_result: None,
            };
            *divisor = Expr::Nested(Box::new(case));
        }
        ControlFlow::Continue(())
    });
}

fn nested(expr: &Expr) -> Box<Expr> {
    Box::new(Expr::Nested(Box::new(expr.clone())))
}

fn is_condition(expr: &Expr) -> bool {
    use BinaryOperator as B;
    match expr {
        Expr::BinaryOp { op, .. } => matches!(
            op,
            B::Eq | B::NotEq | B::Lt | B::LtEq | B::Gt | B::GtEq | B::And | B::Or
        ),
        Expr::Value(value) => matches!(value.value, sqlparser::ast::Value::Boolean(_)),
        Expr::Nested(inner) => is_condition(inner),
        Expr::Between { .. } | Expr::InList { .. } | Expr::IsNull(_) | Expr::IsNotNull(_) => true,
        _ => false,
    }
}

/// The members of a chain of one operator, from left to right.
fn collect<'a>(expr: &'a Expr, of: &BinaryOperator, parts: &mut Vec<&'a Expr>) {
    let mut open = vec![expr];
    while let Some(expr) = open.pop() {
        match expr {
            Expr::BinaryOp { left, op, right } if op == of => open.extend([&**right, &**left]),
            other => parts.push(other),
        }
    }
}

/// Parts as one chain, which is as deep as a tree of that many needs to be.
fn joined(parts: impl Iterator<Item = Expr>, op: &BinaryOperator) -> Option<Expr> {
    let mut parts: Vec<Expr> = parts.collect();
    while parts.len() > 1 {
        let mut pairs = vec![];
        let mut open = parts.into_iter();
        while let Some(left) = open.next() {
            pairs.push(match open.next() {
                Some(right) => Expr::BinaryOp {
                    left: Box::new(left),
                    op: op.clone(),
                    right: Box::new(right),
                },
                None => left,
            });
        }
        parts = pairs;
    }
    parts.pop()
}

/// What a condition has in it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Found {
    Nothing,
    Division,
    Query,
}

impl Visitor for Found {
    type Break = ();

    fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        *self = Found::Query;
        ControlFlow::Break(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        if may_divide_by_zero(expr) {
            *self = Found::Division;
        }
        ControlFlow::Continue(())
    }
}

fn found_in(part: &Expr) -> Found {
    let mut found = Found::Nothing;
    let _: ControlFlow<()> = visit(part, &mut found);
    found
}
