//! The walk through WITH: which of its queries a part of a statement can name, for walkers that write parts out before they are
//! planned.
//!
//! What must hold: a query of WITH is visited once, before whatever may name it; what was seen within a query is forgotten behind it.

use datafusion::sql::sqlparser::ast::helpers::attached_token::AttachedToken;
use datafusion::sql::sqlparser::ast::{Cte, Query, SetExpr, VisitorMut, With};
use hushdb_sql::walk::visit_mut;
use hushdb_sql::{Error, Result, folded, leave_out_unused};
use std::ops::ControlFlow;

/// How a walk goes on.
pub(super) type Flow = ControlFlow<Box<Error>>;

pub(super) fn flow(result: Result<()>) -> Flow {
    match result {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => ControlFlow::Break(Box::new(error)),
    }
}

/// A walker over statements, from the inside out. It calls [`enter`] before a query, and [`leave`] after it.
pub(super) trait WithWalker: VisitorMut<Break = Box<Error>> + Sized {
    fn seen(&mut self) -> &mut Seen;

    /// What it does to a query whose parts were visited, and whose WITH is known still.
    fn after(&mut self, _: &mut Query) -> Result<()> {
        Ok(())
    }
}

/// The queries of WITH that can be named at some place.
#[derive(Default)]
pub(super) struct Seen {
    /// As the walk has left them.
    pub(super) tables: Vec<Cte>,
    /// How many of them, from the first, had names put in.
    pub(super) named: usize,
    pub(super) recursive: bool,
    /// Of each query around: how many were seen outside of it, and its own WITH, which is visited by itself.
    around: Vec<(usize, Option<With>)>,
}

impl Seen {
    /// They, before a query of ours.
    pub(super) fn with(&self) -> Option<With> {
        (!self.tables.is_empty()).then(|| With {
            with_token: AttachedToken::empty(),
            recursive: self.recursive,
            cte_tables: self.tables.clone(),
        })
    }

    fn forget(&mut self, outside: usize) {
        self.tables.truncate(outside);
        self.named = self.named.min(outside);
    }
}

/// Visits the queries of a query's WITH, but for those that nothing names.
pub(super) fn enter(walker: &mut impl WithWalker, query: &mut Query) -> Flow {
    leave_out_unused(query);
    let outside = walker.seen().tables.len();
    let mut with = query.with.take();
    if let Some(with) = &mut with {
        walker.seen().recursive |= with.recursive;
        for table in &mut with.cte_tables {
            visit_table(walker, table, with.recursive)?;
            walker.seen().tables.push(table.clone());
        }
    }
    walker.seen().around.push((outside, with));
    ControlFlow::Continue(())
}

/// Ends what [`enter`] began.
pub(super) fn leave(walker: &mut impl WithWalker, query: &mut Query) -> Flow {
    flow(walker.after(query))?;
    let seen = walker.seen();
    if let Some((outside, with)) = seen.around.pop() {
        seen.forget(outside);
        query.with = with;
    }
    ControlFlow::Continue(())
}

/// Visits a query of WITH. One that names itself has the columns of its first part.
pub(super) fn visit_table(walker: &mut impl WithWalker, table: &mut Cte, recursive: bool) -> Flow {
    let plain = table.query.with.is_none() && table.query.order_by.is_none();
    let first = match table.query.body.as_mut() {
        SetExpr::SetOperation { left, .. } if recursive && plain => {
            visit_mut(left, walker)?;
            left.clone()
        }
        _ => return visit_mut(table, walker),
    };
    let mut itself = table.clone();
    itself.query.body = first;
    walker.seen().tables.push(itself);
    if let SetExpr::SetOperation { right, .. } = table.query.body.as_mut() {
        visit_mut(right, walker)?;
    }
    visit_mut(&mut table.query.limit_clause, walker)?;
    flow(walker.after(&mut table.query))?;
    let seen = walker.seen();
    seen.forget(seen.tables.len().saturating_sub(1));
    ControlFlow::Continue(())
}

/// The names that the queries around a place give by WITH, for walkers that ask for no more.
#[derive(Default)]
pub(super) struct Given(Vec<Vec<String>>);

impl Given {
    pub(super) fn enter(&mut self, query: &Query) {
        let with = query.with.iter().flat_map(|with| &with.cte_tables);
        let names = with.map(|cte| folded(&cte.alias.name.value));
        self.0.push(names.collect());
    }

    pub(super) fn leave(&mut self) {
        self.0.pop();
    }

    pub(super) fn has(&self, name: &str) -> bool {
        let name = folded(name);
        self.0.iter().flatten().any(|given| *given == name)
    }
}
