//! The joint to the disk: [`StorageFile`], and its two implementations here, [`OsFile`] and [`MemFile`].

mod file_lock;
mod mem_file;
mod os_file;
mod storage_file;

pub use mem_file::MemFile;
pub use os_file::OsFile;
pub use storage_file::StorageFile;
