//! Memory, as the operating system can keep it. For secrets: pages that are locked, left out of core dumps and wiped in
//! forked children; and core dumps as a whole. For the rest: what is resident, giving back what is free, and
//! how many heaps there are and what they keep, and how much memory the machine has.
//!
//! What must hold:
//! - Every call is best effort: what the system refuses is reported, never an error.
//! - The only unsafe code of the workspace is one call each in `wipe_on_fork.rs`, `freed_memory.rs`, `heap.rs` and `heaps.rs`.
//!
//! Begin with `pages.rs`, the pages that secrets lie in.
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod core_dumps;
mod freed_memory;
#[cfg(all(unix, feature = "heap"))]
mod heap;
mod heaps;
mod pages;
mod physical_memory;
mod wipe_on_fork;

pub use core_dumps::{core_dumps_are_possible, set_core_dumps};
pub use freed_memory::{give_back_freed_memory, resident_bytes};
#[cfg(all(unix, feature = "heap"))]
pub use heap::Heap;
pub use heaps::{keep_large_blocks, share_heaps};
pub use pages::{Pages, lock_limit_bytes};
pub use physical_memory::physical_memory_bytes;
