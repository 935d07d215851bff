//! Statements that wait for others: each attempt is on the newest state, until no other transaction was faster.
//!
//! What must hold: an attempt that was overtaken has changed nothing, and its locks are kept, so that only rows which it had not
//! locked can disturb the next. A statement that stands alone is answered, with an error too, once what it looked at is durable.

use crate::prepared::{Shape, insert_values};
use crate::result::QueryResult;
use crate::session::Session;
use crate::statement::Statement;
use crate::transaction::{Isolation, Waits};
use datafusion::sql::sqlparser::ast::{self, Expr, Visitor};
use hushdb_query::scan::ScanProgress;
use hushdb_sql::walk::visit;
use hushdb_sql::{Error, ErrorKind, Result, Statement as Parsed};
use std::ops::ControlFlow;
use std::sync::Arc;

/// Attempts until a statement fails with 40001.
const TRIES: usize = 10;

/// What a statement does about the state that its transaction sees.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Sight {
    /// It looks at rows.
    Newest,
    /// It is about one key: where its transaction has changed anything, whether others have changed that one is looked at alone.
    Key,
    /// It adds rows that it spells out: the transaction need not see what others have done since.
    AsItIs,
    /// It begins or ends the transaction.
    None,
}

/// What a parsed statement needs to see; `shape` is what it was recognised as.
pub(super) fn sight(parsed: &Parsed, shape: Option<&Shape>) -> Sight {
    match parsed {
        Parsed::Transaction(_) => Sight::None,
        Parsed::Sql(ast) => match ast.as_ref() {
            ast::Statement::Insert(_) => match shape {
                Some(Shape::Insert { .. }) if !looks(ast) => Sight::AsItIs,
                _ => Sight::Newest,
            },
            _ if shape.is_some() => Sight::Key,
            _ => Sight::Newest,
        },
        _ => Sight::Newest,
    }
}

/// Whether a statement has a query within its values.
fn looks(statement: &ast::Statement) -> bool {
    if let ast::Statement::Insert(insert) = statement
        && let Some(values) = insert_values(insert)
        && values
            .rows
            .iter()
            .all(|row| row.content.iter().all(is_plain))
    {
        return false;
    }
    struct Queries;
    impl Visitor for Queries {
        type Break = ();

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            match expr {
                Expr::Subquery(_) | Expr::Exists { .. } | Expr::InSubquery { .. } => {
                    ControlFlow::Break(())
                }
                _ => ControlFlow::Continue(()),
            }
        }
    }
    visit(statement, &mut Queries).is_break()
}

/// Whether an expression has nothing within it. Most values are such, and need no walk, which takes a stack of its own.
fn is_plain(expr: &Expr) -> bool {
    match expr {
        Expr::Value(_) => true,
        Expr::Function(function) => match &function.args {
            ast::FunctionArguments::None => true,
            ast::FunctionArguments::List(list) => list.args.is_empty() && list.clauses.is_empty(),
            ast::FunctionArguments::Subquery(_) => false,
        },
        _ => false,
    }
}

/// Does the work of a statement that looks and waits as is said, again when it was overtaken.
pub(super) fn settled(
    session: &Session,
    progress: &Arc<ScanProgress>,
    waits: &Arc<Waits>,
    sight: Sight,
    mut work: impl FnMut(&Statement<'_>) -> Result<QueryResult>,
) -> Result<QueryResult> {
    if sight == Sight::None {
        return work(&Statement::new(session, progress));
    }
    if session.in_transaction() {
        return attempts(session, progress, waits, sight, false, work);
    }
    let done = attempts(session, progress, waits, sight, true, work);
    waits.answered(done)
}

fn attempts(
    session: &Session,
    progress: &Arc<ScanProgress>,
    waits: &Arc<Waits>,
    sight: Sight,
    alone: bool,
    mut work: impl FnMut(&Statement<'_>) -> Result<QueryResult>,
) -> Result<QueryResult> {
    let mut tries = TRIES;
    let by_key = sight == Sight::Key && !alone && session.has_shared_changes();
    let mut keep = by_key || sight == Sight::AsItIs;
    loop {
        waits.still_count()?;
        session.renew(keep)?;
        let mut statement = Statement::new(session, progress).waiting(waits);
        statement.by_key = by_key && keep;
        let result = work(&statement);
        tries -= 1;
        match result {
            // What others have defined since may make it right.
            Err(error) if keep && !is_about_waiting(&error) => progress.check()?,
            Err(error) if tries > 0 && is_overtaken(&error, alone, waits.isolation) => {
                progress.check()?;
            }
            result => return result,
        }
        keep = false;
    }
}

/// Whether an error is about a wait for others, which has been had.
fn is_about_waiting(error: &Error) -> bool {
    use hushdb_storage::Error as Stored;
    let source = std::error::Error::source(error);
    matches!(
        source.and_then(|source| source.downcast_ref::<Stored>()),
        Some(Stored::LockTimeout | Stored::Deadlock | Stored::TooManyLocks)
    )
}

/// Whether a statement is to be done again: by what it waited for, or, when it stands alone, at its commit by who does not wait.
fn is_overtaken(error: &Error, alone: bool, isolation: Isolation) -> bool {
    use hushdb_storage::Error as Stored;
    let source = std::error::Error::source(error);
    match source.and_then(|source| source.downcast_ref::<Stored>()) {
        Some(Stored::Overtaken) => alone || isolation == Isolation::ReadCommitted,
        Some(Stored::Deadlock) => false,
        _ => alone && error.kind() == ErrorKind::Conflict,
    }
}
