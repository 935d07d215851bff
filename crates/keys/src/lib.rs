//! Who may open a database: the file header, its key slots, and the places keys come from.
//!
//! ```text
//! passphrase --Argon2id or PBKDF2--> root --KBKDF--> KEK --unwraps--> master key (MK), one per database
//! raw key ---------------------------^                                 |
//!                     MK --KBKDF--> commitment | header MAC key | wrapping key --unwraps--> system DEK, ring key
//! ```
//!
//! What must hold:
//! - A page read from a file is an [`UnverifiedHeader`] until its MAC holds; no key leaves before that.
//! - The commitment to the master key is compared, in constant time, before anything is opened with a key below it.
//! - Every byte of the page means something or is zero, and is refused otherwise.
//! - Nothing named in a file is run, fetched or opened: the caller chooses the [`KeyProvider`].
//! - The last key slot cannot be removed.
//!
//! This crate reads no database file and writes none: storage hands it pages.
//!
//! Begin with `header.rs`, the page and its bytes, then `key_attempt.rs`, which opens one, and `slot.rs`.
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod database_id;
mod database_keys;
mod header;
mod header_error;
mod header_fields;
mod key_attempt;
mod key_error;
mod key_material;
mod key_provider;
mod key_ring;
mod layout;
mod log_keys;
mod master_key;
mod new_master;
pub mod providers;
mod recovery_key;
mod slot;
mod stretch;
mod suite;
mod unverified_header;

#[cfg(test)]
mod known_answers;
#[cfg(test)]
mod refusals;
#[cfg(test)]
mod slot_operations;

pub use database_id::DatabaseId;
pub use database_keys::{BlockKey, DatabaseKeys};
pub use header::{FirstKeys, Header, SlotOptions};
pub use header_error::HeaderError;
pub use key_attempt::KeyAttempt;
pub use key_error::KeyError;
pub use key_material::KeyMaterial;
pub use key_provider::{KeyContext, KeyProvider, ProviderKind};
pub use key_ring::{DataKeyInfo, KeyRing, ReservedSectors};
pub use layout::{HEADER_LEN, HEADER_OFFSETS, MAGIC};
pub use log_keys::LogKeys;
pub use new_master::{NewMaster, SlotPlan};
pub use recovery_key::recovery_text;
pub use slot::{MAX_LABEL_LEN, SLOT_COUNT, SlotInfo};
pub use stretch::{KdfBudget, SlotKdf, Stretch};
pub use suite::Suite;
pub use unverified_header::UnverifiedHeader;
