//! The joint to the disk: [`StorageFile`] and, for the files beside a database file, [`StorageFiles`]; of each two
//! implementations are here, [`OsFile`] and [`MemFile`], [`OsFiles`] and [`MemFiles`]. And [`OutputFile`] and [`open_input`],
//! for what is none of a database's.
#![expect(clippy::disallowed_methods, reason = "this is the room of files")]

mod file_lock;
mod input_file;
mod matching_files;
mod mem_file;
mod mem_files;
mod os_file;
mod os_files;
mod output_file;
mod place;
mod storage_file;
mod storage_files;

pub use input_file::{create_directory, has_entries, input_path, open_input, read_input};
pub use matching_files::matching_files;
pub use mem_file::MemFile;
pub use mem_files::MemFiles;
pub use os_file::OsFile;
pub use os_files::OsFiles;
pub use output_file::OutputFile;
pub use storage_file::StorageFile;
pub use storage_files::StorageFiles;
pub(crate) use storage_files::{LOG_MAGIC, LOG_NAME, NEXT_LOG_NAME};
