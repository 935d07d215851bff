//! The simulated disk: a directory of files that forgets, tears and fails as a real one may, by a seed.

mod broken_file;
mod directory;
mod fault;
mod inode;
mod sim_disk;
mod sim_file;
mod sim_files;

pub use broken_file::{Breakage, BrokenFile};
pub use fault::{Fault, FaultKind};
pub use sim_disk::{DiskOptions, DiskStats, SimDisk};
pub use sim_file::SimFile;
pub use sim_files::SimFiles;
