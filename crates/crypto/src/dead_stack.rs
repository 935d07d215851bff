//! Overwrites what calls that have returned left on this thread's stack.
//!
//! Libraries wipe their contexts, but not every local variable: aws-lc-rs leaves the expanded key of a key wrap behind,
//! and moves a CTR key while it makes it.

use std::hint::black_box;

/// Deeper than any call into a cipher library goes.
const DEPTH_BYTES: usize = 32 << 10;

/// To be called from the function that called the library, when it is done with it.
#[inline(never)]
pub(crate) fn wipe() {
    let mut frames = [0u8; DEPTH_BYTES];
    black_box(&mut frames);
}
