//! Locks of writers that wait for each other: advisory, above first-committer-wins, which stays and is what makes answers right.
//!
//! ```text
//! lock_key      what is locked: a key of a table's row, a table, the definitions, a number that sessions agree on; and how
//! lock_table    which owner holds which lock and which wait: first come, first served
//! deadlock      which owner waits for which
//! kin           the same over several stores
//! ```
//!
//! What one transaction holds is `catalog/lock_owner.rs`. Knows nothing else of this crate.
//!
//! What must hold: a lock that is missing costs an error at COMMIT, never a wrong row. Nobody waits here with a lock of `catalog/commit.rs`
//! held, nor takes one of those while the table's own is.

mod deadlock;
mod kin;
mod lock_key;
mod lock_table;

pub(crate) use kin::Kin;
pub(crate) use lock_key::LockKey;
pub use lock_key::{AdvisoryKey, LockMode};
pub(crate) use lock_table::{LockError, LockTable, Wanted};
pub use lock_table::{LockView, Patience};
