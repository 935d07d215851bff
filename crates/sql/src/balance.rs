//! Depth of parsed trees: chains of AND, OR and UNION are made log n deep, and what is too deep is refused. Keys of a statement that
//! are literals go without brackets then.
//!
//! What must hold: operands stay in their order, so that whatever is read from left to right still is, and the text of a tree
//! is the same as before. Short chains stay as they were parsed. Nothing here recurses deeper than `MAX_DEPTH`.

use super::literal_keys;
use super::walk::finish;
use crate::error::{Error, Result};
use crate::walk::visit_mut;
use sqlparser::ast::{
    BinaryOperator, Expr, Query, Select, SetExpr, SetOperator, SetQuantifier, TableFactor, Value,
    Values, VisitMut, VisitorMut,
};
use std::ops::ControlFlow;

/// Levels that the tree of a statement may have; DuckDB's `max_expression_depth`.
const MAX_DEPTH: usize = 1000;
/// Operands from which on a chain is made flat.
const LONG: usize = 32;

/// Balances the chains of a tree and holds it against the greatest depth.
pub(super) fn bring_into_shape(parsed: &mut impl VisitMut) -> Result<()> {
    finish(visit_mut(parsed, &mut Shaper::default()))
}

/// Balances the chains of what it visits and holds it against the greatest depth.
#[derive(Default)]
pub(super) struct Shaper {
    depth: usize,
    /// Levels of set operations in the queries that are being visited.
    set_operations: Vec<usize>,
    /// Whether nothing has been put in yet, so that brackets were written.
    is_written: bool,
}

impl Shaper {
    /// One for a statement that was read.
    pub(super) fn of_statement() -> Self {
        Self {
            is_written: true,
            ..Self::default()
        }
    }

    fn enter(&mut self, levels: usize) -> ControlFlow<Box<Error>> {
        self.depth += levels;
        if self.depth <= MAX_DEPTH {
            return ControlFlow::Continue(());
        }
        ControlFlow::Break(Box::new(Error::parser(format!(
            "the statement is nested too deeply: {MAX_DEPTH} levels are allowed, and each operator of a chain is one; write \
             IN (...) or a list instead, or take it apart by WITH"
        ))))
    }
}

impl VisitorMut for Shaper {
    type Break = Box<Error>;

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Self::Break> {
        if self.is_written {
            literal_keys::plain_keys(select);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Self::Break> {
        if self.is_written {
            literal_keys::plain_order(query);
        }
        balance_unions(&mut query.body);
        let levels = 1 + height(&query.body);
        self.set_operations.push(levels);
        self.enter(levels)
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<Self::Break> {
        self.depth -= self.set_operations.pop().unwrap_or_default();
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Self::Break> {
        if let Expr::Function(function) = expr
            && self.is_written
        {
            literal_keys::plain_order_of_arguments(function);
        }
        balance_conditions(expr);
        self.enter(1)
    }

    fn post_visit_expr(&mut self, _: &mut Expr) -> ControlFlow<Self::Break> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, _: &mut TableFactor) -> ControlFlow<Self::Break> {
        self.enter(1)
    }

    fn post_visit_table_factor(&mut self, _: &mut TableFactor) -> ControlFlow<Self::Break> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }
}

/// The operands of a left-deep chain, first to last; `split` takes the last link off.
fn operands<T>(mut chain: T, split: impl Fn(T) -> ControlFlow<T, (T, T)>) -> Vec<T> {
    let mut operands = vec![];
    loop {
        match split(chain) {
            ControlFlow::Continue((rest, last)) => {
                operands.push(last);
                chain = rest;
            }
            ControlFlow::Break(first) => {
                operands.push(first);
                operands.reverse();
                return operands;
            }
        }
    }
}

/// One tree of all operands in their order, as flat as can be.
fn joined<T>(mut operands: Vec<T>, join: impl Fn(T, T) -> T) -> Option<T> {
    while operands.len() > 1 {
        let mut pairs = Vec::with_capacity(operands.len().div_ceil(2));
        let mut rest = operands.into_iter();
        while let Some(left) = rest.next() {
            pairs.push(match rest.next() {
                Some(right) => join(left, right),
                None => left,
            });
        }
        operands = pairs;
    }
    operands.pop()
}

/// The length of a left-deep chain of AND, or of OR, and its operator.
fn condition_chain(expr: &Expr) -> Option<(usize, BinaryOperator)> {
    let Expr::BinaryOp { op, .. } = expr else {
        return None;
    };
    if !matches!(op, BinaryOperator::And | BinaryOperator::Or) {
        return None;
    }
    let (mut length, mut at) = (1, expr);
    while let Expr::BinaryOp { left, op: o, .. } = at
        && o == op
    {
        length += 1;
        at = left;
    }
    Some((length, op.clone()))
}

fn balance_conditions(expr: &mut Expr) {
    let Some((length, chained)) = condition_chain(expr) else {
        return;
    };
    if length <= LONG {
        return;
    }
    let nothing = || Expr::Value(Value::Null.into());
    let operands = operands(std::mem::replace(expr, nothing()), |e| match e {
        Expr::BinaryOp { left, op, right } if op == chained => {
            ControlFlow::Continue((*left, *right))
        }
        other => ControlFlow::Break(other),
    });
    let join = |left, right| Expr::BinaryOp {
        left: Box::new(left),
        op: chained.clone(),
        right: Box::new(right),
    };
    *expr = joined(operands, join).unwrap_or_else(nothing);
}

/// The quantifier of a UNION of which it does not matter how it is bracketed: ALL, or none.
fn union_quantifier(body: &SetExpr) -> Option<SetQuantifier> {
    match body {
        SetExpr::SetOperation {
            op: SetOperator::Union,
            set_quantifier,
            ..
        } if matches!(
            set_quantifier,
            SetQuantifier::All | SetQuantifier::Distinct | SetQuantifier::None
        ) =>
        {
            Some(*set_quantifier)
        }
        _ => None,
    }
}

/// Balances the chains of UNION within a query's body, each of one quantifier.
fn balance_unions(body: &mut SetExpr) {
    let mut at = body;
    loop {
        if let Some(quantifier) = union_quantifier(at) {
            balance_union(at, quantifier);
        }
        match at {
            SetExpr::SetOperation { left, .. } => at = left,
            _ => return,
        }
    }
}

fn balance_union(body: &mut SetExpr, quantifier: SetQuantifier) {
    let (mut length, mut at) = (1, &*body);
    while let SetExpr::SetOperation { left, .. } = at
        && union_quantifier(at) == Some(quantifier)
    {
        length += 1;
        at = left;
    }
    if length <= LONG {
        return;
    }
    let nothing = || {
        SetExpr::Values(Values {
            explicit_row: false,
            value_keyword: false,
            rows: vec![],
        })
    };
    let operands = operands(std::mem::replace(body, nothing()), |e| {
        if union_quantifier(&e) != Some(quantifier) {
            return ControlFlow::Break(e);
        }
        match e {
            SetExpr::SetOperation { left, right, .. } => ControlFlow::Continue((*left, *right)),
            other => ControlFlow::Break(other),
        }
    });
    let join = |left, right| SetExpr::SetOperation {
        op: SetOperator::Union,
        set_quantifier: quantifier,
        left: Box::new(left),
        right: Box::new(right),
    };
    *body = joined(operands, join).unwrap_or_else(nothing);
}

/// Levels of set operations in a body.
fn height(body: &SetExpr) -> usize {
    let mut highest = 0;
    let mut open = vec![(body, 1)];
    while let Some((body, level)) = open.pop() {
        if let SetExpr::SetOperation { left, right, .. } = body {
            highest = highest.max(level);
            open.push((left, level + 1));
            open.push((right, level + 1));
        }
    }
    highest
}

#[cfg(test)]
mod tests {
    use super::super::reading::parse_expr;
    use super::*;
    use crate::parse_one;
    use sqlparser::ast::Statement;

    fn depth(expr: &Expr) -> usize {
        match expr {
            Expr::BinaryOp { left, right, .. } => 1 + depth(left).max(depth(right)),
            _ => 0,
        }
    }

    #[test]
    fn long_chains_are_flat_and_read_the_same() {
        for operator in ["AND", "OR"] {
            let names: Vec<String> = (0..1000).map(|i| format!("c{i}")).collect();
            let text = names.join(&format!(" {operator} "));
            let expr = parse_expr(&text).unwrap();
            assert_eq!(expr.to_string(), text);
            assert_eq!(depth(&expr), 10);
        }
    }

    #[test]
    fn short_chains_stay() {
        let expr = parse_expr("a AND b AND c AND d").unwrap();
        assert_eq!(depth(&expr), 3);
    }

    #[test]
    fn unions_keep_their_order_and_kind() {
        let all: Vec<String> = (0..100).map(|i| format!("SELECT {i}")).collect();
        let text = format!("{} UNION SELECT 1", all.join(" UNION ALL "));
        let parsed = parse_one(&text).unwrap();
        assert_eq!(parsed.to_string(), text);
        let Statement::Query(query) = parsed else {
            panic!("no query")
        };
        assert_eq!(height(&query.body), 8);
    }

    #[test]
    fn what_cannot_be_flat_is_refused() {
        for chain in [vec!["1"; 2000].join(" + "), vec!["'a'"; 2000].join(" || ")] {
            let error = parse_expr(&chain).unwrap_err();
            assert!(error.message().contains("too deeply"), "{error}");
        }
    }
}
