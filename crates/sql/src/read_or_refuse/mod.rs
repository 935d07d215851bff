//! Read or refuse: what the parser's tree says is read by somebody, or refused here by name, before anything is made of it.
//!
//! What must hold: each struct and variant of the tree is taken apart with all its fields, without `..`, so that a field of the
//! parser's next version does not compile until somebody has decided who reads it. `_` stands for a field that `rewrite.rs`,
//! the planner or `exec/` reads, or refuses by itself; all else is in the list of what is refused.

mod alter;
mod change;
mod create;
mod expressions;
mod query;
mod relations;
mod statements;
#[cfg(test)]
mod tests;

pub use relations::alias_of;

use super::parser::{
    ChangesWithin, CopyPath, CopyTarget, MacroBody, NewOverload, Statement, TypeBody,
    changes_within,
};
use crate::error::{Error, Result};
use crate::walk::finish;
use crate::walk::visit;
use sqlparser::ast::{self, Expr, Query, Select, TableFactor, Visit, Visitor, VisitorMut};
use std::ops::ControlFlow;

/// Refuses what nothing would read of a statement.
pub(super) fn check(statement: &Statement) -> Result<()> {
    use Statement as S;
    match statement {
        S::Sql(statement) => match apart(statement)? {
            Some(parts) => parts.iter().try_for_each(sql),
            None => sql(statement),
        },
        S::InsertByName(insert) => {
            change::insert(insert)?;
            tree(insert.as_ref())
        }
        S::Merge(merge) => {
            change::merge(
                &merge.target,
                merge.returning.as_deref().unwrap_or_default(),
            )?;
            // A copy, since this visitor changes nothing.
            merge.clone().visit(&mut Checked)
        }
        S::Prepare { statement, .. } | S::Explain { statement, .. } => check(statement),
        S::Call { args, named, .. } => {
            args.iter().try_for_each(tree)?;
            named.iter().try_for_each(|(_, value)| tree(value))
        }
        S::CreateMacro(new) => new.overloads.iter().try_for_each(macro_overload),
        S::CreateType(new) => match &new.body {
            TypeBody::Type(_) => Ok(()),
            TypeBody::Query(query) => tree(query.as_ref()),
        },
        S::Set { value, .. } | S::SetVariable { value, .. } => tree(value.as_ref()),
        S::Describe(query) | S::Summarize(query) => tree(query.as_ref()),
        S::CopyTo { what, path, .. } => {
            copy_path(path)?;
            match what {
                CopyTarget::Query(query) => tree(query.as_ref()),
                CopyTarget::Table(..) => Ok(()),
            }
        }
        S::CopyFrom { path, .. } => copy_path(path),
        // These are read token by token, and have nothing of the parser's tree but names.
        S::Attach { .. }
        | S::Detach { .. }
        | S::AlterDatabase { .. }
        | S::Use(_)
        | S::Pragma(_)
        | S::Reset(_)
        | S::ResetVariable(_)
        | S::RenameView { .. }
        | S::CreateSequence(_)
        | S::DropMacro(_)
        | S::ReplaceSchema(_)
        | S::DropType { .. }
        | S::AlterSequence(_)
        | S::Comment(_)
        | S::CopyDatabase { .. }
        | S::ExportDatabase { .. }
        | S::ImportDatabase(_)
        | S::ShowTables(_)
        | S::ShowDatabases
        | S::Show(_)
        | S::Checkpoint(_)
        | S::Vacuum(_)
        | S::Analyze(..)
        | S::Transaction(_)
        | S::Extension(_) => Ok(()),
    }
}

fn sql(statement: &ast::Statement) -> Result<()> {
    match query::without_lock(statement)? {
        Some(statement) => tree(&statement),
        None => tree(statement),
    }
}

/// The parts of a statement, or of one that is prepared, which has some within WITH that change rows; the last is the whole without them.
fn apart(statement: &ast::Statement) -> Result<Option<Vec<ast::Statement>>> {
    let inner = match statement {
        ast::Statement::Prepare { statement, .. } => statement.as_ref(),
        other => other,
    };
    let Some(ChangesWithin { parts, rest }) = changes_within(inner)? else {
        return Ok(None);
    };
    let mut whole = statement.clone();
    match &mut whole {
        ast::Statement::Prepare { statement, .. } => **statement = rest,
        other => *other = rest,
    }
    let parts = parts.into_iter().map(|(_, part)| part);
    Ok(Some(parts.chain([whole]).collect()))
}

fn macro_overload(overload: &NewOverload) -> Result<()> {
    let mut defaults = overload
        .parameters
        .iter()
        .filter_map(|one| one.default.as_ref());
    defaults.try_for_each(tree)?;
    match &overload.body {
        MacroBody::Expr(body) => tree(body.as_ref()),
        MacroBody::Query(body) => tree(body.as_ref()),
    }
}

fn copy_path(path: &CopyPath) -> Result<()> {
    match path {
        CopyPath::Written(_) => Ok(()),
        CopyPath::Value(value) => tree(value.as_ref()),
    }
}

fn tree(tree: &impl Visit) -> Result<()> {
    finish(visit(tree, &mut Guard))
}

struct Guard;

fn flow(result: Result<()>) -> ControlFlow<Box<Error>> {
    match result {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => ControlFlow::Break(Box::new(error)),
    }
}

impl Visitor for Guard {
    type Break = Box<Error>;

    fn pre_visit_statement(&mut self, statement: &ast::Statement) -> ControlFlow<Self::Break> {
        flow(statements::statement(statement))
    }

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<Self::Break> {
        flow(query::query(query))
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<Self::Break> {
        flow(query::select(select))
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<Self::Break> {
        flow(relations::factor(factor))
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<Self::Break> {
        flow(expressions::expr(expr))
    }
}

/// The guard, for what is walked over to be changed.
struct Checked;

impl VisitorMut for Checked {
    type Break = Box<Error>;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Self::Break> {
        flow(query::query(query))
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Self::Break> {
        flow(query::select(select))
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Self::Break> {
        flow(relations::factor(factor))
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Self::Break> {
        flow(expressions::expr(expr))
    }
}

/// A clause that may stand there or not.
trait Clause {
    fn is_there(&self) -> bool;
}

impl Clause for bool {
    fn is_there(&self) -> bool {
        *self
    }
}

impl<T> Clause for Option<T> {
    fn is_there(&self) -> bool {
        self.is_some()
    }
}

impl<T> Clause for Vec<T> {
    fn is_there(&self) -> bool {
        !self.is_empty()
    }
}

/// Refuses the first clause that stands there.
fn refuse(clauses: &[(&dyn Clause, &str)]) -> Result<()> {
    match clauses.iter().find(|(clause, _)| clause.is_there()) {
        Some((_, name)) => Err(not_there(name)),
        None => Ok(()),
    }
}

/// Takes a struct of the tree apart, all of it: fields that are read elsewhere before the semicolon, and behind it each clause that is
/// refused where it stands, with what it is called.
macro_rules! refuse_clauses {
    ($tree:expr, $kind:ident { $($read:ident,)*; $($clause:ident: $name:literal,)* }) => {{
        let $kind { $($read: _,)* $($clause,)* } = $tree;
        $crate::read_or_refuse::refuse(&[$(($clause, $name)),*])
    }};
}
use refuse_clauses;

fn not_there(name: &str) -> Error {
    Error::unsupported(format!("{name} is not there yet"))
}
