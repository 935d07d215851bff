//! The catalog: all schemas, tables, views, sequences and macros as immutable versions, and the store that publishes them.
//!
//! What must hold: a version never changes; a commit makes a new one, which shares all that is unchanged; the file has the
//! newest one, as a tree of sealed metadata blocks (FORMAT.md, "Catalog").

mod catalog_version;
mod change_record;
mod check;
mod check_index;
mod checkpoint;
mod checkpoint_steps;
mod checkpointer;
mod comment;
mod commit;
mod commit_log;
mod commit_queue;
mod data_key_age;
mod dead_rows;
mod entries;
mod foreign_key;
mod fresh_blocks;
mod gathered_rows;
mod key_usage;
mod live_versions;
mod lock_owner;
mod log_room;
mod pace;
mod pending_row_group;
mod point_reads;
mod queued_states;
mod rebase;
mod recovery;
mod rekey;
mod replay;
mod reseal;
mod row_locks;
mod salvage;
mod sequence;
mod store;
mod tables;
mod transaction;
mod transaction_ddl;
mod transaction_entries;
mod transaction_index;
mod transaction_locks;
mod user_macro;
mod user_type;
mod vacuum;
mod view;

pub(crate) use replay::Replay;

pub use catalog_version::{CatalogVersion, MAIN_SCHEMA, SchemaVersion};
pub use check::{CheckReport, Finding};
pub use checkpoint_steps::Checkpoint;
pub use comment::{CommentKind, CommentOn, Comments};
pub use commit_log::DEFAULT_AUTOCHECKPOINT_BYTES;
pub use foreign_key::ForeignKey;
pub use key_usage::KeyUsage;
pub use lock_owner::{LockOwner, OnLongWait, Turn};
pub use log_room::LogRoom;
pub use pending_row_group::PendingRowGroup;
pub use rekey::{RekeyProgress, RekeyState, RekeyTotals, Share};
pub use row_locks::FreeRows;
pub use salvage::{Lost, Salvage, SalvageReport, SalvagedTable};
pub use sequence::{Sequence, SequenceDef, SequenceOptions, SequencePoint, SequenceUse};
pub use store::Store;
pub use tables::Tables;
pub use transaction::{Savepoint, Transaction};
pub use user_macro::{Macro, MacroOverload, MacroParameter};
pub use user_type::UserType;
pub use view::View;
