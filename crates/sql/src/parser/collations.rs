//! COLLATE NOCASE and NOACCENT in expressions: what is compared or sorted by is brought to lower case, or loses its accents.
//!
//! What must hold: values that are shown stay as they are. A collation anywhere else than where values are compared, in `IN`, `BETWEEN` and
//! an ORDER BY of a query, stays in the tree, and is refused by name.

use crate::calls::call;
use sqlparser::ast::{
    BinaryOperator, Expr, ObjectName, OrderByKind, Query, Value, ValueWithSpan, VisitorMut,
};
use std::ops::ControlFlow;

/// Functions whose results compare as texts of a collation do.
type Keys = Vec<&'static str>;

/// Puts functions in the places of collations.
pub(super) struct Collated;

impl VisitorMut for Collated {
    type Break = Box<crate::error::Error>;

    fn post_visit_query(&mut self, query: &mut Query) -> ControlFlow<Self::Break> {
        if let Some(order) = &mut query.order_by
            && let OrderByKind::Expressions(sorted) = &mut order.kind
        {
            for by in sorted {
                // A number stands for a column.
                let is_place = matches!(
                    &by.expr,
                    Expr::Collate { expr, .. } if matches!(
                        expr.as_ref(),
                        Expr::Value(ValueWithSpan { value: Value::Number(..), .. })
                    )
                );
                if !is_place && let Some(keys) = keys_of(&by.expr) {
                    apply(&mut by.expr, &keys);
                }
            }
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Self::Break> {
        match expr {
            Expr::BinaryOp { left, op, right } if compares(op) => together(&mut [left, right]),
            Expr::IsDistinctFrom(left, right) | Expr::IsNotDistinctFrom(left, right) => {
                together(&mut [left, right]);
            }
            Expr::Between {
                expr, low, high, ..
            } => together(&mut [expr, low, high]),
            Expr::InList { expr, list, .. } => {
                let mut all: Vec<&mut Expr> = std::iter::once(expr.as_mut()).chain(list).collect();
                together(&mut all);
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

fn compares(op: &BinaryOperator) -> bool {
    use BinaryOperator as B;
    matches!(op, B::Eq | B::NotEq | B::Lt | B::LtEq | B::Gt | B::GtEq)
}

/// Has the collation of one of them for all.
fn together(all: &mut [&mut Expr]) {
    if let Some(keys) = all.iter().find_map(|expr| keys_of(expr)) {
        for expr in all {
            apply(expr, &keys);
        }
    }
}

/// The functions of an expression's own collation; `None` where it has none that is known.
fn keys_of(expr: &Expr) -> Option<Keys> {
    match expr {
        Expr::Collate { collation, .. } => functions(collation),
        Expr::Nested(inner) => keys_of(inner),
        _ => None,
    }
}

fn functions(collation: &ObjectName) -> Option<Keys> {
    let parts = collation.0.iter();
    let parts = parts.map(|part| Some(part.as_ident()?.value.to_ascii_lowercase()));
    let parts = parts.collect::<Option<Vec<_>>>()?;
    let functions = parts.iter().map(|part| match part.as_str() {
        "nocase" => Some("lower"),
        "noaccent" => Some("strip_accents"),
        _ => None,
    });
    functions.collect()
}

/// Puts the functions around an expression, in the place of its own collation.
fn apply(expr: &mut Expr, keys: &Keys) {
    let mut inner = std::mem::replace(expr, Expr::value(Value::Null));
    while let Expr::Collate { expr: of, .. } | Expr::Nested(of) = inner {
        inner = *of;
    }
    for name in keys {
        inner = call(name, vec![inner]);
    }
    *expr = inner;
}

#[cfg(test)]
mod tests {
    use super::super::{parse, parse_one};

    #[test]
    fn what_is_compared_and_sorted_by_is_brought_to_keys() {
        for (given, expected) in [
            (
                "SELECT a COLLATE NOCASE = 'A' FROM t ORDER BY a COLLATE noaccent.nocase DESC",
                "SELECT lower(a) = lower('A') FROM t ORDER BY lower(strip_accents(a)) DESC",
            ),
            (
                "SELECT 'x' < (b COLLATE NoAccent), a IN ('x' COLLATE nocase, 'y') FROM t",
                "SELECT strip_accents('x') < strip_accents(b), lower(a) IN (lower('x'), lower('y')) FROM t",
            ),
            (
                "SELECT a COLLATE nocase BETWEEN 'a' AND 'b' FROM t",
                "SELECT lower(a) BETWEEN lower('a') AND lower('b') FROM t",
            ),
        ] {
            let (given, expected) = (parse_one(given).unwrap(), parse_one(expected).unwrap());
            assert_eq!(given.to_string(), expected.to_string());
        }
    }

    #[test]
    fn collations_elsewhere_are_refused() {
        for text in [
            "SELECT a COLLATE nocase FROM t",
            "SELECT a COLLATE de = 'x' FROM t",
            "SELECT DISTINCT a COLLATE nocase FROM t",
            "SELECT a FROM t GROUP BY a COLLATE nocase",
            "SELECT a FROM t ORDER BY 1 COLLATE nocase",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
