//! Blocks: how a payload becomes sealed sectors and is opened again.
//!
//! ```text
//! BlockBuf   64 B room | payload ........ | room up to a sector boundary
//!            envelope  | ciphertext                            | tag 16
//! ```

mod block_buf;
mod block_ref;
mod buffer_pool;
mod envelope;
mod key_epochs;
mod opened_block;
mod sealed_file;
mod sector;

pub use crate::role::Role;
pub use block_buf::BlockBuf;
pub use block_ref::BlockRef;
pub use buffer_pool::{BufferPool, PoolStats};
pub use envelope::{MAX_BLOCK_BYTES, MAX_PAYLOAD_BYTES, SECTOR_BYTES};
pub use key_epochs::BlockKeys;
pub use sealed_file::{Protection, SealedBlock, SealedFile};

pub(crate) use buffer_pool::{Lent, PoolKey};
pub(crate) use envelope::{ENVELOPE_OVERHEAD_BYTES, is_block_of};
pub(crate) use sector::Sector;
