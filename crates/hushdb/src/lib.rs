//! HushDB: an embedded analytical SQL database that keeps everything it writes secret and notices what was changed.
//!
//! ```
//! let database = hushdb::Database::open_in_memory()?;
//! let connection = database.connect()?;
//! connection.execute("CREATE TABLE t AS SELECT 42 AS answer")?;
//! let batches = connection.execute("SELECT answer FROM t")?.collect_batches()?;
//! assert_eq!(batches[0].num_rows(), 1);
//! let insert = connection.prepare("INSERT INTO t VALUES (?)")?;
//! insert.execute(&[43.into()])?;
//! # Ok::<(), hushdb::Error>(())
//! ```
//!
//! `Database` holds the attached files, `Connection` runs statements, `QueryResult` streams Arrow batches. What lies in a
//! file is written and verified by `hushdb-storage`; DataFusion plans and runs the queries.
//!
//! What must hold: a statement sees one state of its databases and changes it as a whole or not at all; what it refuses, it names;
//! a panic, a library's or ours, ends the statement and not its caller; no key and no value stands in an error or a notice.
//!
//! Begin with `connection.rs`, the face, then `exec/mod.rs`, which carries statements out; `statement.rs` is what all of it is given.
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod anchor_file;
mod attached;
mod checkpointer;
mod connection;
mod database;
mod exec;
mod host;
mod instance;
mod key_source;
mod key_watch;
mod location;
pub mod maintenance;
mod numbers;
mod options;
mod pg_catalog;
mod prepared;
mod prepared_statement;
mod result;
mod running;
mod session;
mod statement;
pub mod tpch;
mod transaction;
mod value;

pub use anchor_file::AnchorFile;
pub use connection::{Connection, InterruptHandle, ProgressHandle};
pub use database::Database;
pub use host::{Host, HostDatabase, HostRole, HostSession, HostSetting};
#[cfg(all(unix, feature = "heap"))]
pub use hushdb_pages::Heap;
pub use hushdb_query::functions::Zone as TimeZone;
pub use hushdb_query::functions::{json_string, json_value, one_type, postgres_text, value_text};
pub use hushdb_sql::type_names::{display_type, is_enum};
pub use hushdb_sql::{Error, ErrorKind, Result, Subject};
pub use hushdb_sql::{
    StatementSplit, era_behind_day, may_hold_secret, postgres_bytes, postgres_moment,
    split_statements,
};
pub use key_source::{KeyServices, KeySource};
pub use location::FileSources;
pub use options::{AttachOptions, Cipher, DatabaseOptions};
pub use pg_catalog::{POSTGRES_TYPE, postgres_type, postgres_type_of};
pub use prepared_statement::{Description, PreparedStatement};
pub use result::{QueryResult, ResultKind};
pub use running::Running;
pub use transaction::Isolation;
pub use value::Value;

pub use hushdb_storage::{
    Anchor, BIT, BitString, ColumnType, Freshness, HUGEINT, TIMETZ, TimeTz, UHUGEINT, bit_string,
    key_commitment_from_hex, root_digest_from_hex,
};

/// What a program needs that brings a place for keys along: [`KeyProvider`](keys::KeyProvider) and what it speaks of.
pub mod keys {
    pub use crate::key_source::random_key;
    pub use hushdb_crypto::{SecretBytes, SecretKey};
    pub use hushdb_keys::providers::NewRecoveryKey;
    pub use hushdb_keys::{
        DatabaseId, KeyContext, KeyError, KeyMaterial, KeyProvider, ProviderKind, SlotOptions,
        SlotPlan,
    };
}

/// What a program needs that brings a place for files along, which [`FileSources`] names by a scheme: [`StorageFiles`](files::StorageFiles)
/// and what it speaks of.
pub mod files {
    pub use hushdb_storage::{Error, OsFiles, Result, StorageFile, StorageFiles};
}

/// What a program needs that makes verifiers and wraps keys with the ciphers of the database.
pub mod crypto {
    pub use hushdb_crypto::{CryptoProvider, KdfLabel};
}
