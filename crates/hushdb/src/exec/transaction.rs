//! BEGIN, COMMIT, ROLLBACK and savepoints.

use crate::connection::Connection;
use crate::error::{Error, Result};
use crate::result::QueryResult;
use crate::sql::TransactionStatement;
use crate::transaction::OpenTransaction;

pub(super) fn run(connection: &Connection, statement: TransactionStatement) -> Result<QueryResult> {
    use TransactionStatement as T;
    let mut current = connection.transaction.lock();
    match statement {
        T::Begin { read_only } => match *current {
            None => *current = Some(OpenTransaction::new(read_only)),
            Some(_) => {
                return Err(Error::transaction(
                    "cannot start a transaction within a transaction",
                ));
            }
        },
        T::Commit => current.take().ok_or_else(|| none("commit"))?.commit()?,
        T::Rollback => drop(current.take().ok_or_else(|| none("rollback"))?),
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

fn none(what: &str) -> Error {
    Error::transaction(format!("cannot {what} - no transaction is active"))
}
