//! Queries of WITH that nothing names: they are not looked at, so that they may name tables and columns that are not there.
//!
//! What must hold: a query that may be named stays, also one that only a text or the name of a column is like.

use super::folded;
use crate::walk::visit;
use sqlparser::ast::{Expr, ObjectName, ObjectNamePart, Query, Value, Visit, Visitor};
use std::collections::HashSet;
use std::convert::Infallible;
use std::ops::ControlFlow;

/// Takes them out of a query's WITH.
pub fn leave_out_unused(query: &mut Query) {
    let Some(mut with) = query.with.take() else {
        return;
    };
    let mut own = HashSet::new();
    let mut names = with.cte_tables.iter().map(|table| &table.alias.name.value);
    // A name that is given twice is an error of the statement.
    if names.all(|name| own.insert(folded(name))) {
        let mut named = Named::default();
        named.all_of(&*query);
        // What stands later names what stands before it.
        for table in std::mem::take(&mut with.cte_tables).into_iter().rev() {
            if named.0.contains(&folded(&table.alias.name.value)) {
                named.all_of(&table.query);
                with.cte_tables.push(table);
            }
        }
        with.cte_tables.reverse();
    }
    query.with = (!with.cte_tables.is_empty()).then_some(with);
}

/// What may be the name of such a query.
#[derive(Default)]
struct Named(HashSet<String>);

impl Named {
    fn all_of(&mut self, tree: &impl Visit) {
        let ControlFlow::Continue(()) = visit(tree, self);
    }
}

impl Visitor for Named {
    type Break = Infallible;

    fn pre_visit_relation(&mut self, relation: &ObjectName) -> ControlFlow<Infallible> {
        if let [ObjectNamePart::Identifier(name)] = relation.0.as_slice() {
            self.0.insert(folded(&name.value));
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<Infallible> {
        match expr {
            Expr::Identifier(name) => {
                self.0.insert(folded(&name.value));
            }
            Expr::Value(value) => {
                if let Value::SingleQuotedString(text) = &value.value {
                    self.0.insert(folded(text));
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}
