//! BEGIN, COMMIT, ROLLBACK and savepoints.

use crate::result::QueryResult;
use crate::session::Session;
use crate::transaction::{Isolation, OpenTransaction, Waits};
use hushdb_sql::TransactionStatement;
use hushdb_sql::sqlstate;
use hushdb_sql::{Error, Result};
use std::sync::Arc;

pub(super) fn run(session: &Session, statement: TransactionStatement) -> Result<QueryResult> {
    use TransactionStatement as T;
    let mut current = session.transaction.lock();
    match statement {
        T::Begin {
            read_only,
            isolation,
        } => match *current {
            None => {
                let isolation = isolation.map(named).transpose()?;
                let waits = session.new_waits(isolation);
                *current = Some(OpenTransaction::new(read_only, waits));
                if session.settings.lock().immediate {
                    drop(current);
                    session.snapshot(None);
                }
            }
            Some(_) => {
                return Err(
                    Error::transaction("cannot start a transaction within a transaction")
                        .with_sqlstate(sqlstate::ACTIVE_TRANSACTION),
                );
            }
        },
        T::Commit => current.take().ok_or_else(|| none("commit"))?.commit()?,
        T::Rollback => {
            let open = current.take().ok_or_else(|| none("rollback"))?;
            open.rollback()?;
        }
        T::Savepoint(name) => {
            let open = current.as_mut().ok_or_else(|| none("set a savepoint"))?;
            open.set_savepoint(name);
        }
        T::Release(name) => {
            let open = current.as_mut();
            open.ok_or_else(|| none("release a savepoint"))?
                .release(&name)?;
        }
        T::RollbackTo(name) => {
            let open = current.as_mut();
            open.ok_or_else(|| none("rollback"))?.rollback_to(&name)?;
        }
    }
    Ok(QueryResult::done())
}

/// The isolation level of a name.
fn named(level: &str) -> Result<Isolation> {
    Isolation::by_name(level).ok_or_else(|| {
        Error::unsupported(format!(
            "isolation level {level} is not there; REPEATABLE READ comes next to it"
        ))
    })
}

/// A name that SQL text cannot give to a savepoint without quotes.
const WHOLE: &str = "$whole";

/// Does the work of several statements as one: as a part of the transaction that is open, else in one of its own, which waits as is said
/// and leaves its locks to who began to.
pub(super) fn as_one<T>(
    session: &Session,
    waits: Option<&Arc<Waits>>,
    work: impl FnOnce() -> Result<T>,
) -> Result<T> {
    if let Some(open) = session.transaction.lock().as_mut() {
        open.set_savepoint(WHOLE.into());
    }
    if session.in_transaction() {
        let done = work();
        if let Some(open) = session.transaction.lock().as_mut() {
            if done.is_err() {
                open.undo_to(WHOLE)?;
            }
            open.release(WHOLE)?;
        }
        return done;
    }
    /// Ends it also where the work panics.
    struct Ended<'a>(&'a Session);
    impl Drop for Ended<'_> {
        fn drop(&mut self) {
            drop(self.0.transaction.lock().take());
        }
    }
    *session.transaction.lock() = Some(OpenTransaction::new(false, waits.cloned()));
    let ended = Ended(session);
    let done = work()?;
    let open = session.transaction.lock().take();
    open.map_or(Ok(()), OpenTransaction::commit_keeping_locks)?;
    drop(ended);
    Ok(done)
}

fn none(what: &str) -> Error {
    Error::transaction(format!("cannot {what} - no transaction is active"))
        .with_sqlstate(sqlstate::NO_ACTIVE_TRANSACTION)
}
