//! One open database file: header copies, superblock, extents, and the `BlockStore` that ties them to sealed blocks.

mod anchor;
mod block_store;
mod committing;
mod extents;
mod file_map;
mod free_list;
mod header_copies;
mod history;
mod key_ring;
mod notice;
mod opening;
mod scrub;
mod shared_keys;
mod space;
mod store_info;
mod store_options;
mod superblock;
mod tree_blocks;

pub use anchor::{Anchor, Freshness, key_commitment_from_hex, root_digest_from_hex};
pub use block_store::BlockStore;
pub use header_copies::HeaderCopies;
pub use notice::Notice;
pub use store_info::StoreInfo;
pub use store_options::{DEFAULT_ROW_GROUP_ROWS, StoreOptions};

pub(crate) use free_list::read_chain as read_free_list;
pub(crate) use history::PastRun;
pub(crate) use superblock::{Superblock, WalState};
