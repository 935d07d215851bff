//! Queries in a FROM of several tables that have no name get the one by which a statement may call them: `unnamed_subquery`, the next one
//! `unnamed_subquery2`. Without one, columns of two of them could not be told apart. One that stands alone gets it where it is called by it.

use crate::folded;
use crate::read_or_refuse::alias_of;
use crate::walk::{visit_expressions, visit_mut};
use sqlparser::ast::{
    Expr, Ident, Select, Statement, TableAlias, TableFactor, TableWithJoins, VisitorMut,
};
use std::ops::ControlFlow;

const FIRST: &str = "unnamed_subquery";

/// Names those of all SELECTs of a statement.
pub fn name_queries(statement: &mut Statement) {
    let _: ControlFlow<()> = visit_mut(statement, &mut Named);
}

struct Named;

impl VisitorMut for Named {
    type Break = ();

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        name(select);
        ControlFlow::Continue(())
    }
}

/// Names those of a SELECT.
pub(super) fn name(select: &mut Select) {
    let is_alone = match select.from.as_slice() {
        [one] => one.joins.is_empty() && !matches!(one.relation, TableFactor::NestedJoin { .. }),
        from => from.is_empty(),
    };
    if is_alone && !calls(select) {
        return;
    }
    let mut factors = vec![];
    for tables in &mut select.from {
        collect(tables, &mut factors);
    }
    let taken = factors.iter().filter_map(|factor| alias_of(factor));
    let taken: Vec<String> = taken.map(|alias| folded(&alias.name.value)).collect();
    let numbers = 1..;
    let mut names = numbers.map(|number| match number {
        1 => FIRST.to_owned(),
        more => format!("{FIRST}{more}"),
    });
    for factor in factors {
        if let TableFactor::Derived {
            alias: alias @ None,
            ..
        } = factor
        {
            *alias = names
                .find(|name| !taken.contains(name))
                .map(|name| TableAlias {
                    explicit: true,
                    name: Ident::with_quote('"', name),
                    columns: vec![],
                    at: None,
                });
        }
    }
}

/// Whether columns are named by the first name.
fn calls(select: &Select) -> bool {
    let found = visit_expressions(select, |expr| match expr {
        Expr::CompoundIdentifier(parts) if folded(&parts[0].value) == FIRST => {
            ControlFlow::Break(())
        }
        _ => ControlFlow::Continue(()),
    });
    found.is_break()
}

/// The tables of a FROM, those in brackets as well.
fn collect<'a>(tables: &'a mut TableWithJoins, found: &mut Vec<&'a mut TableFactor>) {
    let joined = tables.joins.iter_mut().map(|join| &mut join.relation);
    for factor in std::iter::once(&mut tables.relation).chain(joined) {
        match factor {
            TableFactor::NestedJoin {
                table_with_joins, ..
            } => collect(table_with_joins, found),
            factor => found.push(factor),
        }
    }
}
