//! The parts that a provider is made of: what this crate asks of a library, and nothing more.
//!
//! One trait a primitive, object safe, without state of its own, so that a provider is a struct of `&'static dyn`
//! references and a test can swap one part. Lengths are fixed by the types where the format fixes them.

use std::num::NonZeroU32;

use crate::{OpenError, RandomError, SealError, UnwrapError};

/// Nonce and tag of one seal.
pub(crate) type NonceAndTag = ([u8; 12], [u8; 16]);

/// AES-256-GCM with 96-bit nonces and 128-bit tags (SP 800-38D), an expanded key.
pub(crate) trait Gcm: Send + Sync {
    /// Encrypts `buf` under a nonce that the library makes for this call.
    fn seal(&self, aad: &[u8], buf: &mut [u8]) -> Result<NonceAndTag, SealError>;
    /// Decrypts `buf` if the tag holds; otherwise what is left in `buf` is undefined.
    fn open(
        &self,
        nonce: &[u8; 12],
        aad: &[u8],
        buf: &mut [u8],
        tag: &[u8; 16],
    ) -> Result<(), OpenError>;
}

/// AES-256-CTR (SP 800-38A), an expanded key.
pub(crate) trait Ctr: Send + Sync {
    /// Adds the keystream that starts at `counter_block` (a 128-bit big-endian counter) to `buf`.
    fn apply(&self, counter_block: &[u8; 16], buf: &mut [u8]);
}

/// Block ciphers: expands keys for the two suites.
pub(crate) trait Ciphers: Send + Sync {
    fn gcm(&self, key: &[u8; 32]) -> Box<dyn Gcm>;
    fn ctr(&self, key: &[u8; 32]) -> Box<dyn Ctr>;
}

/// AES-256 key wrap (RFC 3394) of 256-bit keys.
pub(crate) trait KeyWrap: Send + Sync {
    fn wrap(&self, kek: &[u8; 32], key: &[u8; 32]) -> [u8; 40];
    fn unwrap(
        &self,
        kek: &[u8; 32],
        wrapped: &[u8; 40],
        key: &mut [u8; 32],
    ) -> Result<(), UnwrapError>;
}

/// Key derivation.
pub(crate) trait Derive: Send + Sync {
    /// KBKDF in counter mode with HMAC-SHA-256 and a 32-bit counter before the fixed info (SP 800-108r1, 4.1).
    fn kbkdf(&self, key: &[u8], fixed_info: &[u8], out: &mut [u8]);
    /// PBKDF2-HMAC-SHA-512 (RFC 8018).
    fn pbkdf2_sha512(&self, pass: &[u8], salt: &[u8], iterations: NonZeroU32, out: &mut [u8]);
    /// PBKDF2-HMAC-SHA-256 (RFC 8018).
    fn pbkdf2_sha256(&self, pass: &[u8], salt: &[u8], iterations: NonZeroU32, out: &mut [u8]);
}

/// Hash and MAC.
pub(crate) trait Digests: Send + Sync {
    fn sha256(&self, parts: &[&[u8]]) -> [u8; 32];
    fn hmac_sha256(&self, key: &[u8], parts: &[&[u8]]) -> [u8; 32];
}

/// Random bytes fit for keys.
pub(crate) trait Random: Send + Sync {
    fn fill(&self, buf: &mut [u8]) -> Result<(), RandomError>;
}
