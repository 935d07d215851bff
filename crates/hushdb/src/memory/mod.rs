//! What a process may hold in memory, and where the rest goes.
//!
//! What must hold: operators and the buffer pool share one limit; what does not fit is written to sealed spill files and
//! nowhere else.

mod budget;
mod spill_files;
mod spilling_join;

pub(crate) use budget::MemoryBudget;
pub(crate) use spill_files::{SealedTempFiles, default_spill_bytes, default_spill_directory};
pub(crate) use spilling_join::SpillingJoins;
