//! Transactions of a connection: the one between BEGIN and COMMIT, and the one that each writing statement has.

mod advisory;
mod begin;
mod open_transaction;
mod waits;
mod write;

pub(crate) use advisory::{AdvisoryLock, AdvisoryLocks, Until};
pub(crate) use open_transaction::OpenTransaction;
pub use waits::Isolation;
pub(crate) use waits::{Waits, takes_no_locks};
pub(crate) use write::Write;
