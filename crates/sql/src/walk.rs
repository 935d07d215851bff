//! Walks over parsed SQL: one walk for all visitors.
//!
//! What must hold: the parser's own walk is called here alone. It is compiled once for each type of visitor, over hundreds of kinds of
//! nodes, so that each visitor of its own would cost half a megabyte of program; here all come as trait objects.

use crate::error::{Error, Result};
use sqlparser::ast::{
    Expr, ObjectName, Query, Select, Statement, TableFactor, ValueWithSpan, Visit, VisitMut,
    Visitor, VisitorMut,
};
use std::ops::ControlFlow;

/// The error with which a visitor broke off, if it did.
pub(crate) fn finish(flow: ControlFlow<Box<Error>>) -> Result<()> {
    match flow {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(*error),
    }
}

/// Shows a visitor all of a tree.
pub fn visit<B>(tree: &impl Visit, visitor: &mut dyn Visitor<Break = B>) -> ControlFlow<B> {
    tree.visit(&mut Shared(visitor))
}

/// Shows a visitor all of a tree, to change it.
pub fn visit_mut<B>(
    tree: &mut impl VisitMut,
    visitor: &mut dyn VisitorMut<Break = B>,
) -> ControlFlow<B> {
    tree.visit(&mut Unique(visitor))
}

/// Shows a visitor the expressions of a tree, and nothing else of it: but for those of queries within, whose names are their own.
pub fn visit_own<B>(tree: &impl Visit, visitor: &mut dyn Visitor<Break = B>) -> ControlFlow<B> {
    visit(tree, &mut Own(visitor, 0))
}

/// Shows a visitor the expressions of a tree as [`visit_own`], to change them.
pub fn visit_own_mut<B>(
    tree: &mut impl VisitMut,
    visitor: &mut dyn VisitorMut<Break = B>,
) -> ControlFlow<B> {
    visit_mut(tree, &mut Own(visitor, 0))
}

/// Calls `each` with every expression of a tree, those within others after these.
pub fn visit_expressions<B>(
    tree: &impl Visit,
    mut each: impl FnMut(&Expr) -> ControlFlow<B>,
) -> ControlFlow<B> {
    visit(tree, &mut Expressions(&mut each))
}

/// Calls `each` with the expressions of a tree but for those of queries within, those within others after these.
pub fn visit_own_expressions<B>(
    tree: &impl Visit,
    mut each: impl FnMut(&Expr) -> ControlFlow<B>,
) -> ControlFlow<B> {
    visit_own(tree, &mut Expressions(&mut each))
}

/// Calls `each` with every expression of a tree, those within others before these.
pub fn visit_expressions_mut<B>(
    tree: &mut impl VisitMut,
    mut each: impl FnMut(&mut Expr) -> ControlFlow<B>,
) -> ControlFlow<B> {
    visit_mut(tree, &mut Expressions(&mut each))
}

/// Calls `each` with every name of a table in a tree.
pub(crate) fn visit_relations<B>(
    tree: &impl Visit,
    mut each: impl FnMut(&ObjectName) -> ControlFlow<B>,
) -> ControlFlow<B> {
    visit(tree, &mut Relations(&mut each))
}

struct Expressions<'a, F: ?Sized>(&'a mut F);

impl<B, F: FnMut(&Expr) -> ControlFlow<B>> Visitor for Expressions<'_, F> {
    type Break = B;

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<B> {
        (self.0)(expr)
    }
}

impl<B, F: FnMut(&mut Expr) -> ControlFlow<B>> VisitorMut for Expressions<'_, F> {
    type Break = B;

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<B> {
        (self.0)(expr)
    }
}

struct Relations<'a, F>(&'a mut F);

impl<B, F: FnMut(&ObjectName) -> ControlFlow<B>> Visitor for Relations<'_, F> {
    type Break = B;

    fn pre_visit_relation(&mut self, name: &ObjectName) -> ControlFlow<B> {
        (self.0)(name)
    }
}

/// A visitor of what is outside of queries, and how many of these are around.
struct Own<'a, V: ?Sized>(&'a mut V, usize);

/// The same for both kinds of visitors.
macro_rules! outside_of_queries {
    ($query:ty, $expr:ty) => {
        fn pre_visit_query(&mut self, _: $query) -> ControlFlow<B> {
            self.1 += 1;
            ControlFlow::Continue(())
        }

        fn post_visit_query(&mut self, _: $query) -> ControlFlow<B> {
            self.1 -= 1;
            ControlFlow::Continue(())
        }

        fn pre_visit_expr(&mut self, expr: $expr) -> ControlFlow<B> {
            match self.1 {
                0 => self.0.pre_visit_expr(expr),
                _ => ControlFlow::Continue(()),
            }
        }

        fn post_visit_expr(&mut self, expr: $expr) -> ControlFlow<B> {
            match self.1 {
                0 => self.0.post_visit_expr(expr),
                _ => ControlFlow::Continue(()),
            }
        }
    };
}

impl<B> Visitor for Own<'_, dyn Visitor<Break = B> + '_> {
    type Break = B;

    outside_of_queries!(&Query, &Expr);
}

impl<B> VisitorMut for Own<'_, dyn VisitorMut<Break = B> + '_> {
    type Break = B;

    outside_of_queries!(&mut Query, &mut Expr);
}

/// Any visitor that changes nothing.
struct Shared<'a, B>(&'a mut dyn Visitor<Break = B>);

/// Any visitor.
struct Unique<'a, B>(&'a mut dyn VisitorMut<Break = B>);

/// Hands each call on to the visitor within.
macro_rules! hand_on {
    ($($method:ident($node:ty),)*) => {
        $(fn $method(&mut self, node: $node) -> ControlFlow<B> {
            self.0.$method(node)
        })*
    };
}

impl<B> Visitor for Shared<'_, B> {
    type Break = B;

    hand_on!(
        pre_visit_query(&Query),
        post_visit_query(&Query),
        pre_visit_select(&Select),
        post_visit_select(&Select),
        pre_visit_relation(&ObjectName),
        post_visit_relation(&ObjectName),
        pre_visit_table_factor(&TableFactor),
        post_visit_table_factor(&TableFactor),
        pre_visit_expr(&Expr),
        post_visit_expr(&Expr),
        pre_visit_statement(&Statement),
        post_visit_statement(&Statement),
        pre_visit_value(&ValueWithSpan),
        post_visit_value(&ValueWithSpan),
    );
}

impl<B> VisitorMut for Unique<'_, B> {
    type Break = B;

    hand_on!(
        pre_visit_query(&mut Query),
        post_visit_query(&mut Query),
        pre_visit_select(&mut Select),
        post_visit_select(&mut Select),
        pre_visit_relation(&mut ObjectName),
        post_visit_relation(&mut ObjectName),
        pre_visit_table_factor(&mut TableFactor),
        post_visit_table_factor(&mut TableFactor),
        pre_visit_expr(&mut Expr),
        post_visit_expr(&mut Expr),
        pre_visit_statement(&mut Statement),
        post_visit_statement(&mut Statement),
        pre_visit_value(&mut ValueWithSpan),
        post_visit_value(&mut ValueWithSpan),
    );
}
