//! Spill files: what operators cannot hold in memory, and the tables of one connection, sealed always, gone with the process.
//!
//! What must hold: there is no plaintext path, whether a database is encrypted or not; the key is made at random when the process
//! first spills and is in memory only; a file has no name, so that nothing is left after a crash; what is read was authenticated,
//! in its place in its file.

mod spill_file;
mod spill_space;
mod temporary_file;

pub use spill_file::SpillFile;
pub use spill_space::{SpillSpace, SpillStats};
pub(crate) use temporary_file::NobodysKey;
