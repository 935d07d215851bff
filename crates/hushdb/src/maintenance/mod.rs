//! Looking after database files: what a header says without the key, key slots, another data key, checks, salvage.
//!
//! What must hold: nothing here gives out a key, or a value of a row; what is said of a file that is not verified says so. The crates
//! below stay behind these types, so that a program which looks after files depends on this one alone.
//!
//! Begin reading at `header.rs`, which needs no key; `database_file.rs` is a file that was opened to be looked after.

mod database_file;
mod header;
mod rekey;
mod salvage;
mod slots;

pub use database_file::{
    Block, CheckReport, DatabaseFile, Facts, FileNotice, Relation, RoleTotal, TableFacts,
};
pub use header::{FileHeader, KEY_SLOTS, KeySlot};
pub use hushdb_crypto::set_core_dumps;
pub use hushdb_storage::{OutputFile, is_panic_expected};
pub use rekey::{DataKeyChange, MasterKeyChange, SealingPhase, SealingProgress};
pub use salvage::{Salvage, SalvageReport, SalvagedTable};
pub use slots::{SlotChange, verify_slot};

pub(crate) use slots::{add_slot, change_slot, remove_slot, verify_slot_of};

/// Bytes of a sector, the unit in which blocks lie in a file (FORMAT.md, "File map").
pub const SECTOR_BYTES: u64 = hushdb_storage::SECTOR_BYTES as u64;
