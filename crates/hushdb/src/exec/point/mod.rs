//! Statements about one key, which are run without a plan: `SELECT ... WHERE key = value`, the same for UPDATE and DELETE,
//! and `INSERT ... VALUES`.

mod resolved;
mod run;
mod shape;

pub(crate) use resolved::Resolved;
pub(super) use run::run;
pub(super) use shape::{Shape, recognise};
