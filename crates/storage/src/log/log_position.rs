//! `LogPosition`: how far a log is, as an anchor records it.

use super::TAG_BYTES;

/// The end of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LogPosition {
    /// Which log of the database it is.
    pub(crate) sequence: u64,
    /// The position in bytes behind its last record.
    pub(crate) end: u64,
    /// The tag of that record, or of the log's header when there is none.
    pub(crate) tag: [u8; TAG_BYTES],
}
