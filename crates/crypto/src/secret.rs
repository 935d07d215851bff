//! Memory that holds secrets: keys of 32 bytes and passphrases of any length.
//!
//! Both lie in the arena, are wiped when dropped and print as `[secret]`. Moving one moves a pointer and leaves no copy
//! behind. Neither is `Copy`; comparing is only possible in constant time.

use std::fmt;

use zeroize::Zeroize;

use crate::arena::Cell;
use crate::constant_time_eq;

/// A 256-bit key.
pub struct SecretKey(Cell);

impl SecretKey {
    /// Takes the key's bytes. The argument is wiped; a copy that the caller keeps is the caller's to wipe.
    pub fn from_bytes(mut bytes: [u8; 32]) -> Self {
        let key = Self(Cell::of(&bytes));
        bytes.zeroize();
        key
    }

    /// Copies a key out of a slice, or `None` when the slice is not 32 bytes long.
    pub fn from_slice(bytes: &[u8]) -> Option<Self> {
        (bytes.len() == 32).then(|| Self(Cell::of(bytes)))
    }

    /// Has the key written where it will lie.
    ///
    /// # Errors
    /// What `write` returns.
    pub fn written_by<E>(write: impl FnOnce(&mut [u8]) -> Result<(), E>) -> Result<Self, E> {
        let mut key = Self::zeroed();
        write(key.expose_mut())?;
        Ok(key)
    }

    /// The bytes, for handing to a library. Do not copy them anywhere else.
    ///
    /// # Panics
    /// In a child that was forked since the key was made: see [`Self::is_there`].
    pub fn expose(&self) -> &[u8; 32] {
        let bytes = self.0.bytes().first_chunk();
        bytes.expect("a key has 32 bytes")
    }

    /// False in a child that was forked since the key was made, which gets zeros in its place.
    pub fn is_there(&self) -> bool {
        self.0.is_there()
    }

    /// A second owner of the same key, where two structures must live apart. Deliberately not `Clone`.
    pub fn duplicate(&self) -> Self {
        Self(Cell::of(self.expose()))
    }

    pub(crate) fn zeroed() -> Self {
        Self(Cell::zeroed(32))
    }

    pub(crate) fn expose_mut(&mut self) -> &mut [u8; 32] {
        let bytes = self.0.bytes_mut().first_chunk_mut();
        bytes.expect("a key has 32 bytes")
    }
}

impl PartialEq for SecretKey {
    fn eq(&self, other: &Self) -> bool {
        constant_time_eq(self.expose(), other.expose())
    }
}

impl Eq for SecretKey {}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretKey([secret])")
    }
}

/// Secret bytes of any length: a passphrase, key text, what a command printed.
pub struct SecretBytes(Cell);

impl SecretBytes {
    /// Takes the bytes, and wipes the vector that they came in.
    pub fn new(mut bytes: Vec<u8>) -> Self {
        let secret = Self(Cell::of(&bytes));
        bytes.zeroize();
        secret
    }

    /// The bytes. Do not copy them anywhere else.
    pub fn expose(&self) -> &[u8] {
        self.0.bytes()
    }

    /// A second owner of the same bytes. Deliberately not `Clone`.
    pub fn duplicate(&self) -> Self {
        Self(Cell::of(self.expose()))
    }
}

impl From<String> for SecretBytes {
    fn from(text: String) -> Self {
        Self::new(text.into_bytes())
    }
}

impl From<&str> for SecretBytes {
    fn from(text: &str) -> Self {
        Self(Cell::of(text.as_bytes()))
    }
}

impl PartialEq for SecretBytes {
    fn eq(&self, other: &Self) -> bool {
        constant_time_eq(self.expose(), other.expose())
    }
}

impl Eq for SecretBytes {}

impl fmt::Debug for SecretBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretBytes([secret])")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_shows_no_byte() {
        let key = SecretKey::from_bytes([0x5a; 32]);
        let text = SecretBytes::from("correct horse");
        assert_eq!(
            format!("{key:?} {text:?}"),
            "SecretKey([secret]) SecretBytes([secret])"
        );
    }

    #[test]
    fn a_key_is_exactly_32_bytes() {
        assert!(SecretKey::from_slice(&[0; 31]).is_none());
        assert!(SecretKey::from_slice(&[0; 33]).is_none());
        assert_eq!(
            SecretKey::from_slice(&[7; 32]).as_ref(),
            Some(&SecretKey::from_bytes([7; 32]))
        );
    }
}
