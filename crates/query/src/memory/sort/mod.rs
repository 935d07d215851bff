//! Sorts within the memory limit.
//!
//! ```text
//! each input partition   rows -> gathered until memory is refused -> sorted by their keys -> a run in a spill file
//! then                   runs of all partitions -> one merge
//! ```
//!
//! What must hold: what is gathered is reserved before it is kept. A row is copied once when its run is written or read out of
//! memory, and once when runs are merged: keys are compared as bytes, beside the rows.

mod exec;
mod run;
mod sorter;

pub(super) use exec::SpillingSort;
pub use exec::SpillingSorts;
