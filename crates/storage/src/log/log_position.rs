//! `LogPosition`: how far a log is, as an anchor records it.

use super::TAG_BYTES;
use crate::numbers::Lsn;

/// The end of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LogPosition {
    /// Which log of the database it is.
    pub(crate) sequence: u64,
    /// Behind its last record.
    pub(crate) end: Lsn,
    /// The tag of that record, or of the log's header when there is none.
    pub(crate) tag: [u8; TAG_BYTES],
}
