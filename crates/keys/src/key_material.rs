//! Key text and what it means.
//!
//! `hex:` or `base64:` is followed by exactly 32 bytes, `recovery:` by a recovery key, `pass:` by a passphrase, and any other text is a passphrase as
//! it stands. Text that begins like a raw key and is none is an error: taking it for a passphrase would make a
//! database that its owner cannot open with the key that they think they gave.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hushdb_crypto::{SecretBytes, SecretKey};
use zeroize::Zeroizing;

use crate::KeyError;
use crate::recovery_key::parse_recovery_text;

/// What a key provider yields.
#[derive(Debug, PartialEq, Eq)]
pub enum KeyMaterial {
    /// 32 bytes of full strength: used as they are.
    Raw(SecretKey),
    /// A passphrase: stretched with the parameters of the key slot.
    Passphrase(SecretBytes),
}

impl KeyMaterial {
    /// Reads key text. The prefixes are recognised in any case of letters.
    ///
    /// # Errors
    /// [`KeyError::Malformed`] when a prefix is not followed by what it promises, [`KeyError::Empty`] for no key.
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        if let Some(digits) = strip_prefix(text, "hex:") {
            return Self::from_hex(digits);
        }
        if let Some(encoded) = strip_prefix(text, "base64:") {
            return Self::from_base64(encoded);
        }
        if let Some(typed) = strip_prefix(text, "recovery:") {
            return parse_recovery_text(typed).map(Self::Raw);
        }
        let passphrase = strip_prefix(text, "pass:").unwrap_or(text);
        if passphrase.is_empty() {
            return Err(KeyError::Empty);
        }
        Ok(Self::Passphrase(SecretBytes::from(passphrase)))
    }

    /// Reads key text from bytes that may not be text.
    ///
    /// # Errors
    /// As [`Self::parse`], and [`KeyError::NotText`].
    pub fn parse_bytes(bytes: &[u8]) -> Result<Self, KeyError> {
        Self::parse(std::str::from_utf8(bytes).map_err(|_| KeyError::NotText)?)
    }

    pub(crate) fn from_hex(digits: &str) -> Result<Self, KeyError> {
        let key = SecretKey::written_by(|bytes| hex::decode_to_slice(digits, bytes));
        key.map(Self::Raw).map_err(|_| KeyError::Malformed {
            expected: "hex: is followed by exactly 64 hex digits",
        })
    }

    fn from_base64(encoded: &str) -> Result<Self, KeyError> {
        let malformed = KeyError::Malformed {
            expected: "base64: is followed by exactly 32 bytes in base64 (44 characters)",
        };
        let mut bytes = Zeroizing::new([0; 64]);
        // 44 characters decode to 33 bytes at most, so the buffer is never too short for what is accepted.
        if encoded.len() != 44 {
            return Err(malformed);
        }
        match STANDARD.decode_slice(encoded, bytes.as_mut_slice()) {
            Ok(32) => SecretKey::from_slice(&bytes[..32])
                .map(Self::Raw)
                .ok_or(malformed),
            _ => Err(malformed),
        }
    }
}

fn strip_prefix<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    let head = text.get(..prefix.len())?;
    head.eq_ignore_ascii_case(prefix)
        .then(|| &text[prefix.len()..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(byte: u8) -> Result<KeyMaterial, KeyError> {
        Ok(KeyMaterial::Raw(SecretKey::from_bytes([byte; 32])))
    }

    fn passphrase(text: &str) -> Result<KeyMaterial, KeyError> {
        Ok(KeyMaterial::Passphrase(SecretBytes::from(text)))
    }

    #[test]
    fn each_form_is_understood() {
        assert_eq!(
            KeyMaterial::parse(&format!("hex:{}", "ab".repeat(32))),
            raw(0xab)
        );
        assert_eq!(
            KeyMaterial::parse(&format!("HEX:{}", "AB".repeat(32))),
            raw(0xab)
        );
        assert_eq!(
            KeyMaterial::parse("base64:WlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlo="),
            raw(0x5a)
        );
        let recovery =
            "recovery:000G40S-R40M30C-E20918D-5GR38E6-1W81244-GK2GAH7-C5RR34F-D1P70XB-3RFNBR8";
        let bytes = std::array::from_fn(|at| at as u8);
        let printed = Ok(KeyMaterial::Raw(SecretKey::from_bytes(bytes)));
        assert_eq!(KeyMaterial::parse(recovery), printed);
        assert_eq!(KeyMaterial::parse("pass:hex:no"), passphrase("hex:no"));
        assert_eq!(
            KeyMaterial::parse("correct horse"),
            passphrase("correct horse")
        );
        assert_eq!(KeyMaterial::parse(" é"), passphrase(" é"));
    }

    #[test]
    fn malformed_key_text_is_an_error_never_a_passphrase() {
        for text in [
            "hex:".to_owned(),
            "hex:0011".to_owned(),
            format!("hex:{}", "g0".repeat(32)),
            format!("hex:{} ", "00".repeat(32)),
            format!("hex:{}", "00".repeat(33)),
            "base64:".to_owned(),
            "base64:AAAA".to_owned(),
            format!("base64:{}", "A".repeat(44)),
            format!("Base64:{}=", "*".repeat(43)),
        ] {
            assert!(
                matches!(KeyMaterial::parse(&text), Err(KeyError::Malformed { .. })),
                "{text}"
            );
        }
        assert_eq!(KeyMaterial::parse(""), Err(KeyError::Empty));
        assert_eq!(KeyMaterial::parse("pass:"), Err(KeyError::Empty));
        assert_eq!(
            KeyMaterial::parse_bytes(&[0xff; 32]),
            Err(KeyError::NotText)
        );
    }
}
