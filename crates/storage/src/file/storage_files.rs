//! `StorageFiles`: a database file and the files beside it, by what their names end with.
//!
//! What may be assumed of an implementation, and no more:
//! - A file that was made, renamed or removed may, after a crash, be found under its old name, its new one or (made) none,
//!   until `sync` returns; after that the change is there. Changes that were not synced may be lost in any order.
//! - A rename is atomic: a name that stood for a file before and after stands for one of the two at every instant.
//! - A file that is open stays usable when its name is changed or removed.

use std::fmt;
use std::sync::Arc;

use super::StorageFile;
use crate::error::Result;

/// What a log begins with.
pub(crate) const LOG_MAGIC: [u8; 4] = *b"HUSW";
/// What a log's name ends with.
pub(crate) const LOG_NAME: &str = ".wal";
/// What the name of a log ends with that goes on behind another.
pub(crate) const NEXT_LOG_NAME: &str = ".wal.next";

/// The files of one database. A name is what follows the database file's own: `""` is that file, `".wal"` its log.
pub trait StorageFiles: Send + Sync + fmt::Debug {
    /// Opens a file, for one writer or as one of many readers; `None` where there is none.
    ///
    /// # Errors
    /// `Busy` and `AlreadyAttached` when somebody has it open, else what the disk says.
    fn open(&self, name: &str, read_only: bool) -> Result<Option<Arc<dyn StorageFile>>>;

    /// Makes a file without a byte, or takes one that is there without a byte.
    ///
    /// # Errors
    /// `InvalidInput` when there is a file with something in it, else as [`StorageFiles::open`].
    fn create(&self, name: &str) -> Result<Arc<dyn StorageFile>>;

    /// Gives a file another name. A file that had that name is gone.
    ///
    /// # Errors
    /// `Io` when there is no such file, or what the disk says.
    fn rename(&self, from: &str, to: &str) -> Result<()>;

    /// Removes a file, if there is one.
    ///
    /// # Errors
    /// What the disk says.
    fn remove(&self, name: &str) -> Result<()>;

    /// Returns once every file made, renamed or removed before is so after a crash, too.
    ///
    /// # Errors
    /// What the disk says; it is then not known which names are durable.
    fn sync(&self) -> Result<()>;
}
