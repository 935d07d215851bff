//! `FROM t, (SELECT t.a + 1)`: a subquery that names what stands before it in FROM is LATERAL without the word.

use super::ordinality;
use crate::error::Result;
use crate::folded;
use crate::read_or_refuse::alias_of;
use crate::walk::{visit, visit_expressions};
use sqlparser::ast::{
    Expr, Join, JoinOperator, ObjectNamePart, Query, Select, TableFactor, TableWithJoins, Visitor,
};
use std::collections::HashSet;
use std::ops::ControlFlow;

/// Marks every such subquery of a FROM.
///
/// # Errors
/// What [`ordinality::number_rows`] reports.
pub(super) fn mark(select: &mut Select) -> Result<()> {
    let mut before = Named::default();
    for (at, table) in select.from.iter_mut().enumerate() {
        if at > 0 {
            of_left(&mut table.relation, &before)?;
        }
        in_order(table, &mut before)?;
    }
    Ok(())
}

/// Marks those of a table and what is joined to it.
fn in_order(table: &mut TableWithJoins, before: &mut Named) -> Result<()> {
    in_brackets(&mut table.relation)?;
    before.add(&table.relation);
    for join in &mut table.joins {
        if takes_lateral(join) {
            of_left(&mut join.relation, before)?;
        }
        in_brackets(&mut join.relation)?;
        before.add(&join.relation);
    }
    Ok(())
}

/// Marks those within brackets, by what stands there.
fn in_brackets(factor: &mut TableFactor) -> Result<()> {
    match factor {
        TableFactor::NestedJoin {
            table_with_joins, ..
        } => in_order(table_with_joins, &mut Named::default()),
        _ => Ok(()),
    }
}

fn takes_lateral(join: &Join) -> bool {
    use JoinOperator as J;
    matches!(
        join.join_operator,
        J::Join(_) | J::Inner(_) | J::Left(_) | J::LeftOuter(_) | J::CrossJoin(_)
    )
}

/// Makes a subquery LATERAL if it names something of `before`.
fn of_left(factor: &mut TableFactor, before: &Named) -> Result<()> {
    let is_of_columns = ordinality::number_rows(factor)?;
    if let TableFactor::Derived {
        lateral, subquery, ..
    } = factor
    {
        *lateral |= is_of_columns || before.are_named_in(subquery);
    }
    Ok(())
}

/// Names that stand to the left.
#[derive(Default)]
struct Named {
    tables: HashSet<String>,
    /// Those of columns that an alias gives.
    columns: HashSet<String>,
}

impl Named {
    fn add(&mut self, factor: &TableFactor) {
        match alias_of(factor) {
            Some(alias) => {
                self.tables.insert(folded(&alias.name.value));
                let columns = alias.columns.iter();
                self.columns
                    .extend(columns.map(|column| folded(&column.name.value)));
            }
            None => self.tables.extend(own_name(factor)),
        }
        if let TableFactor::NestedJoin {
            table_with_joins, ..
        } = factor
        {
            self.add(&table_with_joins.relation);
            let joins = table_with_joins.joins.iter();
            joins.for_each(|join| self.add(&join.relation));
        }
    }

    /// Whether a query names one of these that no table of its own hides.
    fn are_named_in(&self, query: &Query) -> bool {
        if self.tables.is_empty() {
            return false;
        }
        let mut own = Own::default();
        let _ = visit(query, &mut own);
        let found = visit_expressions(query, |expr| {
            let is_outer = match expr {
                Expr::CompoundIdentifier(parts) => parts.first().is_some_and(|table| {
                    let table = folded(&table.value);
                    self.tables.contains(&table) && !own.0.tables.contains(&table)
                }),
                // What a table of its own calls its columns nobody knows here.
                Expr::Identifier(name) => {
                    own.0.tables.is_empty() && self.columns.contains(&folded(&name.value))
                }
                _ => false,
            };
            match is_outer {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        });
        found.is_break()
    }
}

/// The tables that a query has itself, at any depth.
#[derive(Default)]
struct Own(Named);

impl Visitor for Own {
    type Break = ();

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
        self.0.add(factor);
        ControlFlow::Continue(())
    }
}

/// What a table without an alias goes by.
fn own_name(factor: &TableFactor) -> Option<String> {
    let TableFactor::Table { name, .. } = factor else {
        return None;
    };
    match name.0.last()? {
        ObjectNamePart::Identifier(name) => Some(folded(&name.value)),
        ObjectNamePart::Function(_) => None,
    }
}
