//! Argon2id, version 1.3 (RFC 9106), from the `argon2` crate for both providers: aws-lc has none.
//!
//! The working memory is wiped before it is given back. Limits on what a file may ask for belong to the key slots; here
//! only what the algorithm itself cannot do is refused.

use argon2::{Algorithm, Argon2, Block, Params, Version};
use zeroize::Zeroizing;

use crate::{SecretKey, StretchError};

/// Cost parameters of Argon2id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Argon2Params {
    /// Memory in KiB, at least 8 per lane.
    pub m_kib: u32,
    /// Passes over the memory.
    pub t: u32,
    /// Lanes.
    pub p: u32,
}

pub(crate) fn stretch(
    pass: &[u8],
    salt: &[u8],
    params: Argon2Params,
) -> Result<SecretKey, StretchError> {
    let params = Params::new(params.m_kib, params.t, params.p, Some(32))
        .map_err(|_| StretchError::Parameters)?;
    let mut blocks = Zeroizing::new(Vec::new());
    blocks
        .try_reserve_exact(params.block_count())
        .map_err(|_| StretchError::OutOfMemory)?;
    blocks.resize(params.block_count(), Block::default());
    let mut key = SecretKey::zeroed();
    Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
        .hash_password_into_with_memory(pass, salt, key.expose_mut(), blocks.as_mut_slice())
        .map_err(|_| StretchError::Parameters)?;
    Ok(key)
}
