//! Tables of one name in several schemas: where a statement has such, their names are completed, since the planner takes `t.a`
//! and `s.t.a` for the same column.
//!
//! What it refuses: two relations of one FROM that go by one name, and `t.a` where that could be either's.

use super::{folded, quote};
use crate::error::{Error, Result};
use crate::walk::{visit_expressions, visit_mut};
use sqlparser::ast::{
    Expr, Ident, ObjectName, ObjectNamePart, Select, SelectItem, SelectItemQualifiedWildcardKind,
    Statement, TableFactor, TableWithJoins, VisitorMut,
};
use std::collections::{HashMap, HashSet};
use std::convert::Infallible;
use std::ops::ControlFlow;

/// Finds the database, schema and name of what is meant by a name.
pub(crate) type Complete<'a> = &'a dyn Fn(&[String]) -> Option<[String; 3]>;

/// Completes the names of tables that share their last part with another one.
pub(super) fn complete(statement: &mut Statement, complete: Complete<'_>) {
    let mut names = Names::default();
    let ControlFlow::Continue(()) = visit_mut(statement, &mut names);
    let several = names.spellings.into_iter().filter(|(_, s)| s.len() > 1);
    let namesakes: HashSet<String> = several.map(|(name, _)| name).collect();
    if !namesakes.is_empty() {
        let mut completed = Completed {
            namesakes,
            queries: names.queries,
            complete,
        };
        let ControlFlow::Continue(()) = visit_mut(statement, &mut completed);
    }
}

/// The parts of a table's name, if it goes by no other.
fn plain(factor: &TableFactor) -> Option<Vec<String>> {
    match factor {
        TableFactor::Table {
            name,
            alias: None,
            args: None,
            ..
        } => {
            let parts = name.0.iter().map(ObjectNamePart::as_ident);
            parts
                .map(|part| part.map(|part| folded(&part.value)))
                .collect()
        }
        _ => None,
    }
}

#[derive(Default)]
struct Names {
    /// The ways in which tables are named, by their last part.
    spellings: HashMap<String, HashSet<Vec<String>>>,
    /// Names of queries of WITH.
    queries: HashSet<String>,
}

impl VisitorMut for Names {
    type Break = Infallible;

    fn pre_visit_query(&mut self, query: &mut sqlparser::ast::Query) -> ControlFlow<Infallible> {
        let tables = query.with.iter().flat_map(|with| &with.cte_tables);
        self.queries
            .extend(tables.map(|table| folded(&table.alias.name.value)));
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Infallible> {
        if let Some(parts) = plain(factor)
            && let Some(last) = parts.last().cloned()
        {
            self.spellings.entry(last).or_default().insert(parts);
        }
        ControlFlow::Continue(())
    }
}

struct Completed<'a> {
    namesakes: HashSet<String>,
    queries: HashSet<String>,
    complete: Complete<'a>,
}

impl VisitorMut for Completed<'_> {
    type Break = Infallible;

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Infallible> {
        let Some(parts) = plain(factor) else {
            return ControlFlow::Continue(());
        };
        let is_namesake = parts
            .last()
            .is_some_and(|name| self.namesakes.contains(name));
        let is_query = parts.len() == 1 && self.queries.contains(&parts[0]);
        if is_namesake
            && !is_query
            && let TableFactor::Table { name, .. } = factor
            && let Some(whole) = (self.complete)(&parts)
        {
            let parts = whole.map(|part| Ident::with_quote('"', part));
            *name = ObjectName::from(parts.to_vec());
        }
        ControlFlow::Continue(())
    }
}

/// Refuses what could be meant of either of two relations of one FROM.
pub(super) fn refuse_ambiguous(select: &Select) -> Result<()> {
    let mut relations = vec![];
    select
        .from
        .iter()
        .for_each(|table| collect(table, &mut relations));
    for (at, (name, parts)) in relations.iter().enumerate() {
        let Some((_, other)) = relations[..at].iter().find(|(other, _)| other == name) else {
            continue;
        };
        let apart = parts.len() > 1 && other.len() > 1 && parts != other;
        if !apart {
            return Err(Error::binder(format!(
                "Ambiguous reference to table \"{name}\": two relations of one FROM go by this name; give one an alias"
            )));
        }
        let is_it = |ident: &Ident| folded(&ident.value) == *name;
        let named = visit_expressions(&select.projection, |expr| is_column_of(expr, is_it))
            .is_break()
            || visit_expressions(&select.selection, |expr| is_column_of(expr, is_it)).is_break()
            || visit_expressions(&select.from, |expr| is_column_of(expr, is_it)).is_break()
            || visit_expressions(&select.group_by, |expr| is_column_of(expr, is_it)).is_break()
            || visit_expressions(&select.having, |expr| is_column_of(expr, is_it)).is_break()
            || select.projection.iter().any(|item| is_star_of(item, is_it));
        if named {
            let both = [parts, other].map(|parts| {
                let parts = parts.iter().skip(1).map(|part| quote(part));
                parts.collect::<Vec<_>>().join(".")
            });
            return Err(Error::binder(format!(
                "Ambiguous reference to table \"{name}\" (use: {} or {})",
                both[1], both[0]
            )));
        }
    }
    Ok(())
}

/// Relations with a name, and its parts if it is a table's own.
fn collect(table: &TableWithJoins, found: &mut Vec<(String, Vec<String>)>) {
    let joined = table.joins.iter().map(|join| &join.relation);
    for factor in std::iter::once(&table.relation).chain(joined) {
        if let Some(parts) = plain(factor) {
            found.extend(parts.last().cloned().map(|name| (name, parts)));
            continue;
        }
        match factor {
            TableFactor::NestedJoin {
                table_with_joins,
                alias: None,
            } => collect(table_with_joins, found),
            TableFactor::Table {
                alias: Some(alias), ..
            }
            | TableFactor::Derived {
                alias: Some(alias), ..
            }
            | TableFactor::NestedJoin {
                alias: Some(alias), ..
            } => found.push((folded(&alias.name.value), vec![])),
            _ => {}
        }
    }
}

fn is_column_of(expr: &Expr, is_it: impl Fn(&Ident) -> bool) -> ControlFlow<()> {
    match expr {
        Expr::CompoundIdentifier(parts) if parts.first().is_some_and(is_it) => {
            ControlFlow::Break(())
        }
        _ => ControlFlow::Continue(()),
    }
}

fn is_star_of(item: &SelectItem, is_it: impl Fn(&Ident) -> bool) -> bool {
    match item {
        SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), _) => {
            let [ObjectNamePart::Identifier(name)] = name.0.as_slice() else {
                return false;
            };
            is_it(name)
        }
        _ => false,
    }
}
