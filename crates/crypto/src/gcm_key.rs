//! An AES-256-GCM key, expanded once and used from many threads (SP 800-38D).
//!
//! Whoever holds a key counts its seals: with random 96-bit nonces no key may seal more than 2^32 times. FORMAT.md,
//! "Sealing", keeps every key below 2^20.

use std::fmt;

use crate::expanded_keys::Expanded;
use crate::parts::Gcm;
use crate::{OpenError, SealError};

/// An expanded AES-256-GCM key.
pub struct GcmKey(Box<dyn Gcm>, Expanded);

impl GcmKey {
    pub(crate) fn new(inner: Box<dyn Gcm>) -> Self {
        Self(inner, Expanded::counted())
    }

    /// Encrypts `buf` in place. Returns the nonce, made inside for this one seal, and the tag over `aad` and ciphertext.
    ///
    /// # Errors
    /// [`SealError`] when there is no random nonce; `buf` must then not be written anywhere.
    pub fn seal_in_place(
        &self,
        aad: &[u8],
        buf: &mut [u8],
    ) -> Result<([u8; 12], [u8; 16]), SealError> {
        self.0.seal(aad, buf)
    }

    /// Decrypts `buf` in place if `tag` holds for `nonce`, `aad` and `buf`.
    ///
    /// # Errors
    /// [`OpenError`] when it does not; what is then left in `buf` is undefined and must be dropped.
    pub fn open_in_place(
        &self,
        nonce: &[u8; 12],
        aad: &[u8],
        buf: &mut [u8],
        tag: &[u8; 16],
    ) -> Result<(), OpenError> {
        self.0.open(nonce, aad, buf, tag)
    }
}

impl fmt::Debug for GcmKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("GcmKey([secret])")
    }
}
