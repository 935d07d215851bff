//! Calls behind a dot: `x.f(y)` is `f(x, y)`, as in `'a,b'.split(',')` and `t.name.upper()`.
//!
//! What must hold: a macro that is called by the name of its schema stays that call.

use crate::error::{Error, Result};
use crate::names::{folded, name_parts};
use crate::walk::{finish, visit_mut};
use sqlparser::ast::{
    AccessExpr, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, ObjectName,
    VisitMut, VisitorMut,
};
use std::ops::ControlFlow;

/// Brings all of them to plain calls, but for those that `is_macro` knows by all parts of their name.
///
/// # Errors
/// `Internal` only.
pub fn unchain(parsed: &mut impl VisitMut, is_macro: &dyn Fn(&[String]) -> bool) -> Result<()> {
    finish(visit_mut(parsed, &mut Unchained(is_macro)))
}

struct Unchained<'a>(&'a dyn Fn(&[String]) -> bool);

impl VisitorMut for Unchained<'_> {
    type Break = Box<Error>;

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Self::Break> {
        match expr {
            Expr::Function(function) if !self.is_known(&function.name) => plain_call(function),
            Expr::CompoundFieldAccess { root, access_chain } if has_call(access_chain) => {
                let root = std::mem::replace(root.as_mut(), Expr::Identifier(Ident::new("")));
                *expr = nested(root, std::mem::take(access_chain));
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

impl Unchained<'_> {
    fn is_known(&self, name: &ObjectName) -> bool {
        name.0.len() > 1 && name_parts(name).is_ok_and(|parts| (self.0)(&parts))
    }
}

fn has_call(chain: &[AccessExpr]) -> bool {
    let is_call = |access: &AccessExpr| matches!(access, AccessExpr::Dot(Expr::Function(_)));
    chain.iter().any(is_call)
}

/// `a.b.f(x)`, whose name the parser takes for that of a function in a schema, is `f(a.b, x)`; `main.f(x)` is `f(x)`.
fn plain_call(function: &mut Function) {
    let parts = function.name.0.iter().map(|part| part.as_ident().cloned());
    let Some(mut parts) = parts.collect::<Option<Vec<Ident>>>() else {
        return;
    };
    let Some(called) = parts.pop().filter(|_| !parts.is_empty()) else {
        return;
    };
    let schema = parts.last().map(|schema| folded(&schema.value));
    let is_ours = matches!(schema.as_deref(), Some("main" | "pg_catalog"));
    if let FunctionArguments::List(list) = &mut function.args
        && !is_ours
    {
        let of = named(parts);
        list.args
            .insert(0, FunctionArg::Unnamed(FunctionArgExpr::Expr(of)));
    }
    function.name = ObjectName::from(vec![called]);
}

fn named(mut parts: Vec<Ident>) -> Expr {
    match parts.len() {
        1 => Expr::Identifier(parts.remove(0)),
        _ => Expr::CompoundIdentifier(parts),
    }
}

/// A value with fields, items and calls behind it, the calls around what stands before them.
fn nested(root: Expr, chain: Vec<AccessExpr>) -> Expr {
    let mut whole = root;
    let mut behind = vec![];
    for access in chain {
        match access {
            AccessExpr::Dot(Expr::Function(mut function)) => {
                let parts = function.name.0.iter().map(|part| part.as_ident().cloned());
                let mut parts: Vec<Ident> = parts.flatten().collect();
                let called = parts.pop();
                let fields = parts.into_iter().map(Expr::Identifier);
                behind.extend(fields.map(AccessExpr::Dot));
                let of = with_access(whole, std::mem::take(&mut behind));
                if let FunctionArguments::List(list) = &mut function.args {
                    list.args
                        .insert(0, FunctionArg::Unnamed(FunctionArgExpr::Expr(of)));
                }
                function.name = ObjectName::from(called.into_iter().collect::<Vec<_>>());
                whole = Expr::Function(function);
            }
            other => behind.push(other),
        }
    }
    with_access(whole, behind)
}

fn with_access(root: Expr, chain: Vec<AccessExpr>) -> Expr {
    if chain.is_empty() {
        return root;
    }
    let names = chain.iter().map(|access| match access {
        AccessExpr::Dot(Expr::Identifier(name)) => Some(name.clone()),
        _ => None,
    });
    let names: Option<Vec<Ident>> = names.collect();
    if let Expr::Identifier(first) = &root
        && let Some(names) = names
    {
        return named(std::iter::once(first.clone()).chain(names).collect());
    }
    Expr::CompoundFieldAccess {
        root: Box::new(root),
        access_chain: chain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_behind_dots_are_around_what_stands_before() {
        for (text, plain) in [
            ("SELECT a.f(1)", "SELECT f(a, 1)"),
            ("SELECT a.b.f().g(2)", "SELECT g(f(a.b), 2)"),
            ("SELECT 'x'.f()[1].g()", "SELECT g(f('x')[1])"),
            ("SELECT main.f(1)", "SELECT f(1)"),
            ("SELECT s.m(1)", "SELECT s.m(1)"),
            ("SELECT a.trim('x')", "SELECT \"TRIM\"(a, 'x')"),
        ] {
            let mut parsed = crate::parse_one(text).unwrap();
            unchain(&mut parsed, &|parts| parts == ["s", "m"]).unwrap();
            assert_eq!(parsed.to_string().to_lowercase(), plain.to_lowercase());
        }
    }
}
