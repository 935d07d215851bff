//! Memory that holds secrets: keys of 32 bytes and passphrases of any length.
//!
//! Both are wiped when dropped and print as `[secret]`. A key sits in its own heap allocation, so moving a [`SecretKey`]
//! moves a pointer and leaves no copy behind. Neither is `Copy`; comparing is only possible in constant time.

use std::fmt;

use zeroize::{Zeroize, Zeroizing};

use crate::constant_time_eq;

/// A 256-bit key.
pub struct SecretKey(Box<[u8; 32]>);

impl SecretKey {
    /// Takes the key's bytes. The argument is wiped; a copy that the caller keeps is the caller's to wipe.
    pub fn from_bytes(mut bytes: [u8; 32]) -> Self {
        let mut key = Self::zeroed();
        key.0.copy_from_slice(&bytes);
        bytes.zeroize();
        key
    }

    /// Copies a key out of a slice, or `None` when the slice is not 32 bytes long.
    pub fn from_slice(bytes: &[u8]) -> Option<Self> {
        if bytes.len() != 32 {
            return None;
        }
        let mut key = Self::zeroed();
        key.0.copy_from_slice(bytes);
        Some(key)
    }

    /// The bytes, for handing to a library. Do not copy them anywhere else.
    pub fn expose(&self) -> &[u8; 32] {
        &self.0
    }

    /// A second owner of the same key, where two structures must live apart. Deliberately not `Clone`.
    pub fn duplicate(&self) -> Self {
        let mut key = Self::zeroed();
        key.0.copy_from_slice(self.0.as_slice());
        key
    }

    pub(crate) fn zeroed() -> Self {
        Self(Box::new([0; 32]))
    }

    pub(crate) fn expose_mut(&mut self) -> &mut [u8; 32] {
        &mut self.0
    }
}

impl Drop for SecretKey {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl PartialEq for SecretKey {
    fn eq(&self, other: &Self) -> bool {
        constant_time_eq(self.0.as_slice(), other.0.as_slice())
    }
}

impl Eq for SecretKey {}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretKey([secret])")
    }
}

/// Secret bytes of any length: a passphrase, key text, what a command printed.
pub struct SecretBytes(Zeroizing<Vec<u8>>);

impl SecretBytes {
    /// Takes the bytes without copying them.
    pub fn new(bytes: Vec<u8>) -> Self {
        Self(Zeroizing::new(bytes))
    }

    /// The bytes. Do not copy them anywhere else.
    pub fn expose(&self) -> &[u8] {
        &self.0
    }

    /// A second owner of the same bytes. Deliberately not `Clone`.
    pub fn duplicate(&self) -> Self {
        Self::new(self.0.to_vec())
    }
}

impl From<String> for SecretBytes {
    fn from(text: String) -> Self {
        Self::new(text.into_bytes())
    }
}

impl From<&str> for SecretBytes {
    fn from(text: &str) -> Self {
        Self::new(text.as_bytes().to_vec())
    }
}

impl PartialEq for SecretBytes {
    fn eq(&self, other: &Self) -> bool {
        constant_time_eq(&self.0, &other.0)
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
