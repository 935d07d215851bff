//! Brackets around CASTs, in the names of what is made of them: the planner leaves a CAST out of a name, so that `sum(1::BIGINT)` and
//! `sum(1::DOUBLE)` had the same one, and a query cannot have two of one name as aggregates or keys.

use super::calls::{quoted_call as called, unnamed};
use crate::walk::{visit_expressions, visit_own_mut};
use sqlparser::ast::{
    Expr, Function, FunctionArguments, GroupByExpr, Select, SelectItem, VisitorMut,
};
use std::ops::ControlFlow;

/// The function of an operand or CAST that has brackets in the names of what is made of it.
pub const BRACKETS: &str = "$brackets";

/// Brackets the name of a CAST.
pub(super) fn in_brackets(cast: Expr) -> Expr {
    called(BRACKETS, vec![cast])
}

/// Whether an expression is a value as it is written.
pub(super) fn is_value(expr: &Expr) -> bool {
    match expr {
        Expr::Nested(expr) | Expr::UnaryOp { expr, .. } | Expr::Cast { expr, .. } => is_value(expr),
        Expr::Value(_) | Expr::TypedString(_) | Expr::Interval(_) => true,
        _ => false,
    }
}

/// Brackets values of a written type where a SELECT groups or aggregates. Elsewhere there are no names to confuse.
pub(super) fn tell_apart(select: &mut Select, is_scalar: &dyn Fn(&str) -> bool) {
    if !has_groups(select) && !aggregates(select, is_scalar) {
        return;
    }
    let mut brackets = Brackets { inside: 0 };
    let _ = visit_own_mut(&mut select.group_by, &mut brackets);
    let _ = visit_own_mut(&mut select.having, &mut brackets);
    let _ = visit_own_mut(&mut select.qualify, &mut brackets);
    for item in &mut select.projection {
        if let SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } = item {
            let _ = visit_own_mut(expr, &mut brackets);
        }
    }
}

fn has_groups(select: &Select) -> bool {
    match &select.group_by {
        GroupByExpr::Expressions(elements, _) => !elements.is_empty(),
        GroupByExpr::All(_) => true,
    }
}

/// Whether more than functions of one row is called.
fn aggregates(select: &Select, is_scalar: &dyn Fn(&str) -> bool) -> bool {
    let of_rows = |expr: &Expr| match expr {
        Expr::Function(function)
            if function.over.is_some() || !is_scalar(&function.name.to_string().to_lowercase()) =>
        {
            ControlFlow::Break(())
        }
        _ => ControlFlow::Continue(()),
    };
    visit_expressions(&select.projection, of_rows).is_break()
}

struct Brackets {
    /// How many brackets there are around.
    inside: usize,
}

fn is_brackets(function: &Function) -> bool {
    let [name] = function.name.0.as_slice() else {
        return false;
    };
    name.as_ident().is_some_and(|name| name.value == BRACKETS)
}

/// What has brackets in names.
pub(super) fn within_brackets(call: &Function) -> Option<&Expr> {
    match &call.args {
        FunctionArguments::List(list) if is_brackets(call) => list.args.first().and_then(unnamed),
        _ => None,
    }
}

impl VisitorMut for Brackets {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        self.inside += usize::from(matches!(expr, Expr::Function(call) if is_brackets(call)));
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        match expr {
            Expr::Function(call) if is_brackets(call) => self.inside -= 1,
            Expr::Cast { expr: of, .. } if self.inside == 0 && is_value(of) => {
                *expr = in_brackets(expr.clone());
            }
            Expr::TypedString(_) if self.inside == 0 => *expr = in_brackets(expr.clone()),
            _ => {}
        }
        ControlFlow::Continue(())
    }
}
