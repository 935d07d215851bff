//! What can go wrong in a cryptographic operation. Each type is one situation, and none carries data: the text of an
//! error can be shown to anyone.

/// The library could not seal: its random generator failed or the buffer is beyond the cipher's limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "sealing failed: no random nonce, or the data is longer than the cipher allows; nothing may be written"
)]
pub struct SealError;

/// The tag does not hold: wrong key, nonce or associated data, or the bytes were changed. The buffer is to be dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the authentication tag does not hold: wrong key, or the bytes were changed")]
pub struct OpenError;

/// A wrapped key does not unwrap under this key (RFC 3394 integrity check).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the wrapped key does not unwrap under this key")]
pub struct UnwrapError;

/// The operating system gave no random bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the system's random generator failed; do not go on without it")]
pub struct RandomError;

/// A passphrase could not be stretched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StretchError {
    /// The parameters or the salt are outside of what RFC 9106 defines.
    #[error(
        "Argon2id parameters outside of RFC 9106: choose memory of at least 8 KiB per lane, one pass and one lane"
    )]
    Parameters,
    /// The memory that the parameters ask for is not to be had.
    #[error(
        "not enough memory for Argon2id: free some, or use a key slot with a smaller memory parameter"
    )]
    OutOfMemory,
}

/// A part gave a wrong answer to a question whose answer is known: nothing that it makes can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the self-test of {part} in crypto provider {provider} failed: this build or machine must not be used"
)]
pub struct SelfTestError {
    /// Name of the provider that failed.
    pub provider: &'static str,
    /// The primitive that failed.
    pub part: &'static str,
}
