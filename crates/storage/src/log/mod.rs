//! The write-ahead log: a file of sealed, chained records beside the database file (FORMAT.md, "Log").
//!
//! ```text
//! 0            128
//! log header   record | record | record | ... | zeros or a torn record
//!   MAC ------> tag --> tag --> tag             each record's tag covers the tag before it
//! ```
//!
//! Payloads are bytes here: what a transaction is, is the business of who appends and replays them.

mod log_basis;
mod log_header;
mod log_owner;
mod log_position;
mod log_reader;
mod log_seal;
mod log_window;
mod log_writer;
mod plain_log;
mod read_ahead;
mod record_head;

#[cfg(test)]
mod known_answers;

pub use crate::error::LogError;
pub use log_basis::LogBasis;
pub(crate) use log_header::LOG_HEADER_BYTES;
pub use log_header::{LogHeader, UnverifiedLogHeader};
pub use log_owner::{LogKeySource, LogOwner};
pub(crate) use log_position::LogPosition;
pub use log_reader::{LogEnd, LogReader, LogRecord};
pub use log_writer::{LogWriter, Synchronous};
pub(crate) use plain_log::plain_log;
pub use record_head::{MAX_LOG_PAYLOAD_BYTES, MAX_LOG_RECORD_BYTES};

/// Bytes of a tag, also of a log header's MAC and a chain tag.
const TAG_BYTES: usize = 16;
