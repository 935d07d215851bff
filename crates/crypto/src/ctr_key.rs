//! An AES-256-CTR key, expanded once and used from many threads (SP 800-38A).
//!
//! CTR alone says nothing about integrity: who uses it keeps a digest elsewhere (FORMAT.md, "Sealing", suite 2), and
//! takes a fresh random nonce for every block.

use std::fmt;

use crate::expanded_keys::Expanded;
use crate::parts::Ctr;

/// An expanded AES-256-CTR key.
pub struct CtrKey(Box<dyn Ctr>, Expanded);

impl CtrKey {
    pub(crate) fn new(inner: Box<dyn Ctr>) -> Self {
        Self(inner, Expanded::counted())
    }

    /// Encrypts or decrypts `buf` in place; the first counter block is `nonce` || BE32(0).
    ///
    /// `buf` is at most 2^32 blocks of 16 bytes, beyond which the counter would run into the nonce; blocks of a file
    /// end far below.
    pub fn apply(&self, nonce: &[u8; 12], buf: &mut [u8]) {
        debug_assert!(buf.len() as u64 <= 16 << 32);
        let mut counter_block = [0; 16];
        counter_block[..12].copy_from_slice(nonce);
        self.0.apply(&counter_block, buf);
    }
}

impl fmt::Debug for CtrKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CtrKey([secret])")
    }
}
