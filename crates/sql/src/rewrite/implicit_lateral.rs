//! `FROM t, (SELECT t.a)`: a query in FROM may name columns of what is to its left without LATERAL. It is planned without them
//! first, and with them where it names a column that is not its own. The target of an UPDATE or DELETE is not to the left of its FROM.

use crate::walk::{visit, visit_mut};
use sqlparser::ast::{Select, Statement, TableFactor, TableWithJoins, Visitor, VisitorMut};
use std::ops::ControlFlow;

/// Whether a statement has a query in FROM, with something to its left, that is not LATERAL.
pub fn may_be_lateral(statement: &Statement, target: &str) -> bool {
    visit(statement, &mut Found(target)).is_break()
}

/// Makes all of them LATERAL.
pub fn make_lateral(statement: &mut Statement, target: &str) {
    let _: ControlFlow<()> = visit_mut(statement, &mut Marked(target));
}

/// Whether a SELECT is about the target of a change.
fn is_of(select: &Select, target: &str) -> bool {
    let first = select.from.first().map(|table| &table.relation);
    match first {
        Some(TableFactor::Table { name, .. }) => {
            let name = name.0.last().and_then(|part| part.as_ident());
            name.is_some_and(|name| name.value == target)
        }
        _ => false,
    }
}

struct Found<'a>(&'a str);

impl Visitor for Found<'_> {
    type Break = ();

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        if is_of(select, self.0) {
            return ControlFlow::Continue(());
        }
        let firsts = select.from.iter().skip(1).map(|table| &table.relation);
        let joined = select.from.iter().flat_map(|table| &table.joins);
        let mut behind = firsts.chain(joined.map(|join| &join.relation));
        match behind.any(|factor| matches!(factor, TableFactor::Derived { lateral: false, .. })) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }
}

struct Marked<'a>(&'a str);

impl VisitorMut for Marked<'_> {
    type Break = ();

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        if is_of(select, self.0) {
            return ControlFlow::Continue(());
        }
        for (at, TableWithJoins { relation, joins }) in select.from.iter_mut().enumerate() {
            if at > 0 {
                mark(relation);
            }
            joins.iter_mut().for_each(|join| mark(&mut join.relation));
        }
        ControlFlow::Continue(())
    }
}

fn mark(factor: &mut TableFactor) {
    if let TableFactor::Derived { lateral, .. } = factor {
        *lateral = true;
    }
}
