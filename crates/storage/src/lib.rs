//! The database file: sealed blocks under one root, and the tables in them. Speaks Arrow arrays, never SQL.
//!
//! ```text
//! catalog          immutable versions of all that a database has; transactions, commits, checkpoints
//! table            one state of a table: its row groups and indexes
//! index            from the key of a row to its id
//! row_group        columns and compressed segments of their values; row_keys   what indexes have of a row
//! locks            who waits for whom: writers that would change the same rows
//! store            file header copies, superblock, extents: commit by copy-on-write and a flip of the root
//! tree             trees of blocks, copy-on-write
//! log              sealed, chained records in a file beside it
//! block            payload <-> sealed sectors; refs that pin a child by its tag; pool of opened blocks
//! spill            operator state on disk: sealed, nameless, under a key of the process
//! numbers          generations, LSNs, ids: numbers that mix with no other number; spread   hashes of numbers
//! file             the one joint to the disk: StorageFile, StorageFiles
//! error, role      what can go wrong, and in what: known to all of them
//! clock            what time it is; lent_threads   threads of the caller's
//! ```
//!
//! What must hold: no byte of data is written but through a sealed block; what is read was authenticated first, against
//! the tag that its parent holds; nothing durable is overwritten before the root that replaces it is durable. No thread
//! is started here: those that help are the caller's.
//!
//! Begin with `store/`, whose blocks and root all else stands on, then `catalog/`, what the library sees of a file.
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod block;
mod catalog;
pub mod clock;
#[doc(hidden)]
pub mod decoders;
mod error;
mod file;
mod index;
mod index_kind;
mod interrupt;
mod lent_threads;
mod locks;
mod log;
mod numbers;
mod role;
mod row_group;
mod row_keys;
mod shared;
mod spill;
mod spread;
mod store;
mod table;
mod tree;

pub use block::{
    BlockBuf, BlockKeys, BlockRef, BufferPool, MAX_BLOCK_BYTES, MAX_PAYLOAD_BYTES, PoolStats,
    Protection, Role, SECTOR_BYTES, SealedBlock, SealedFile,
};
pub use catalog::{
    CatalogVersion, CheckReport, Checkpoint, CommentKind, CommentOn, Comments,
    DEFAULT_AUTOCHECKPOINT_BYTES, Finding, ForeignKey, FreeRows, KeyUsage, LockOwner, LogRoom,
    Lost, MAIN_SCHEMA, Macro, MacroOverload, MacroParameter, OnLongWait, PendingRowGroup,
    RekeyProgress, RekeyState, RekeyTotals, Salvage, SalvageReport, SalvagedTable, Savepoint,
    SchemaVersion, Sequence, SequenceDef, SequenceOptions, SequencePoint, SequenceUse, Share,
    Store, Tables, Transaction, Turn, UserType, View,
};
pub use error::{Error, ErrorKind, Place, Result};
pub use file::{
    MemFile, MemFiles, OsFile, OsFiles, OutputFile, StorageFile, StorageFiles, create_directory,
    has_entries, input_path, matching_files, open_input, read_input,
};
pub use hushdb_encoding::{
    ArrayType, BIT, BitString, CodecError, Collation, ColumnType, EncodedSegment, EnumType,
    HUGEINT, MAX_DECIMAL_PRECISION, MAX_DECIMAL64_PRECISION, MAX_ROW_GROUP_ROWS, MAX_TYPE_DEPTH,
    MAX_TYPES_IN_TYPE, MapType, TIMETZ, TimeTz, UHUGEINT, UnionType, Values, VortexCodec,
    bit_string, called_json, expect_panics, is_called_json, is_json_item, is_panic_expected,
    list_item, plain_item,
};
pub use index::{Index, IndexDef, IndexKind};
pub use interrupt::{Interrupt, check_interrupt};
pub use lent_threads::{Beside, LentThreads};
pub use locks::{AdvisoryKey, LockMode, LockView, Patience};
pub use log::{
    LogBasis, LogEnd, LogError, LogHeader, LogKeySource, LogOwner, LogReader, LogRecord, LogWriter,
    MAX_LOG_PAYLOAD_BYTES, MAX_LOG_RECORD_BYTES, Synchronous, UnverifiedLogHeader,
};
pub use numbers::{ColumnId, Generation, Lsn, RowId, TableId};
pub use row_group::{
    Check, Column, ColumnDef, Declared, DistinctSketch, GatheredRows, MemoryRows, RowGroup,
    RowGroupBuilder, Segment, StatValue, same_name,
};
pub use shared::Shared;
pub use spill::{SpillFile, SpillSpace, SpillStats};
pub use store::{
    Anchor, BlockStore, DEFAULT_ROW_GROUP_ROWS, Freshness, HeaderCopies, Notice, StoreInfo,
    StoreOptions, key_commitment_from_hex, root_digest_from_hex,
};
pub use table::TableVersion;
