//! `StorageFile`: all that storage asks of a disk.
//!
//! What may be assumed of an implementation, and no more:
//! - A write may reach the disk late, in pieces of any size and in any order relative to other writes, until `sync`
//!   returns; after that it is there. A write that is interrupted by a crash leaves any mixture of old and new bytes.
//! - `set_len` behaves like a write: durable after the next `sync`. Bytes that it adds read as zero.
//! - Reads see the writes of this process at once.
//! - A failed `sync` says nothing about which writes are durable; storage then stops writing.

use std::fmt;
use std::io;
use std::ops::Range;

/// One file under random access. Methods take `&self` and may be called from many threads at once; callers never write
/// one range from two threads.
pub trait StorageFile: Send + Sync + fmt::Debug {
    /// Length in bytes.
    fn len(&self) -> io::Result<u64>;

    /// True for a file without a byte.
    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }

    /// Fills `buf` from `offset`; `UnexpectedEof` where the file ends before.
    fn read_exact_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()>;

    /// Appends `len` bytes from `offset` to `into`. An implementation may spare the zeroing that this one does.
    fn append_exact_at(&self, offset: u64, len: usize, into: &mut Vec<u8>) -> io::Result<()> {
        let start = into.len();
        into.resize(start + len, 0);
        self.read_exact_at(offset, &mut into[start..])
    }

    /// The first bytes from `offset` on that have no place on the disk: they read as zero, also after any crash, and a write may find
    /// the disk full. `None` where that is not known.
    fn hole_after(&self, _offset: u64) -> Option<Range<u64>> {
        None
    }

    /// Writes all of `buf` at `offset`, growing the file where needed.
    fn write_all_at(&self, offset: u64, buf: &[u8]) -> io::Result<()>;

    /// Cuts or grows the file (with zeros).
    fn set_len(&self, len: u64) -> io::Result<()>;

    /// Returns once everything written before is durable, with the file's length.
    fn sync(&self) -> io::Result<()>;

    /// Returns once the file's name is durable in its directory.
    fn sync_directory(&self) -> io::Result<()>;
}
