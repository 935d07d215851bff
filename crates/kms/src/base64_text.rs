//! Keys and ciphertexts as base64, in memory that is wiped.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hushdb_crypto::SecretKey;
use zeroize::Zeroizing;

/// A key in base64, 44 characters.
pub(crate) fn of_key(key: &SecretKey) -> Zeroizing<String> {
    let mut text = Zeroizing::new(String::with_capacity(44));
    STANDARD.encode_string(key.expose(), &mut text);
    text
}

/// Exactly 32 bytes; `None` for anything else.
pub(crate) fn key(text: &str) -> Option<SecretKey> {
    let mut bytes = Zeroizing::new([0; 48]);
    if text.len() != 44 {
        return None;
    }
    let len = STANDARD
        .decode_slice(text, bytes.as_mut_slice())
        .ok()
        .filter(|len| *len == 32)?;
    SecretKey::from_slice(&bytes[..len])
}

/// What is no secret.
pub(crate) fn of(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// The bytes of a text that is no secret.
pub(crate) fn bytes(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text).ok()
}
