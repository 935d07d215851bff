//! `LogBasis`: what a log stands on. A log is replayed on this and on nothing else.

use crate::numbers::Generation;

/// Which log it is, and on which state of the database its records build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogBasis {
    /// The log's number: one more than the log before it.
    pub sequence: u64,
    /// Generation of the superblock that the log builds on.
    pub base_generation: Generation,
    /// Last tag of the log before it, or the superblock's.
    pub chain_tag: [u8; 16],
}
