//! Statements that no transaction may have around them: what they do cannot be taken back.

use crate::session::Session;
use hushdb_sql::{Error, Result, sqlstate};

/// A key is changed at once and for all.
pub(in crate::exec) fn stands_alone(session: &Session) -> Result<()> {
    match session.transaction.lock().is_some() {
        true => Err(Error::transaction(
            "ALTER DATABASE cannot run inside a transaction block: COMMIT or ROLLBACK first",
        )
        .with_sqlstate(sqlstate::ACTIVE_TRANSACTION)),
        false => Ok(()),
    }
}
