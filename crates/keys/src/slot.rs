//! A key slot: one wrapped copy of the master key, and what is needed to unwrap it. FORMAT.md, "Key slots".
//!
//! | offset | bytes | field |
//! | --- | --- | --- |
//! | 0 | 1 | state: 0 empty (then the whole slot is zero), 1 in use |
//! | 1 | 1 | provider kind: 1 text, 2 environment, 3 file, 4 command, 5 prompt, 6 exec, 7 vault, 8 kmip, 9 pkcs11, 10 aws-kms, 11 recovery; a hint for people |
//! | 2 | 1 | KDF: 0 none (raw key), 1 Argon2id 1.3, 2 PBKDF2-HMAC-SHA-512 |
//! | 3 | 1 | length of the label, 0..=96 |
//! | 4 | 4 | first KDF parameter, u32: Argon2id memory in KiB, PBKDF2 iterations, else zero |
//! | 8 | 4 | second KDF parameter, u32: Argon2id passes, else zero |
//! | 12 | 4 | third KDF parameter, u32: Argon2id lanes, else zero |
//! | 16 | 32 | salt, random: of the KDF and of the KEK's derivation |
//! | 48 | 40 | master key, wrapped under the KEK (RFC 3394) |
//! | 88 | 2 | length of the blob, u16; its place follows from the slots before |
//! | 90 | 1 | 1 if a key file belongs to the key, else 0 |
//! | 91 | 5 | zero |
//! | 96 | 96 | label, UTF-8 without control and format characters, padded with zeros |
//! | 192 | 64 | zero |
//!
//! KEK = KBKDF(root, "HUSH1 kek", database id || salt); root is the raw key, or the passphrase stretched with the salt. With a key file,
//! root = HMAC-SHA-256(salt, that || HMAC-SHA-256(salt, "HUSH1 file" || file) || "HUSH1 and") (SP 800-133r2, section 6.3).

use hushdb_crypto::{CryptoProvider, KdfLabel, SecretBytes, SecretKey};
use zeroize::Zeroizing;

use crate::layout::{SLOT_LEN, field, put};
use crate::{DatabaseId, HeaderError, KeyMaterial, ProviderKind, SlotKdf};

/// Key slots in a header.
pub const SLOT_COUNT: usize = 8;

/// Most bytes in a slot's label.
pub const MAX_LABEL_LEN: usize = 96;

const KIND_AT: usize = 1;
const KDF_AT: usize = 2;
const LABEL_LEN_AT: usize = 3;
const PARAMETERS_AT: usize = 4;
const SALT_AT: usize = 16;
const WRAPPED_AT: usize = 48;
const BLOB_LEN_AT: usize = 88;
const KEY_FILE_AT: usize = 90;
const LABEL_AT: usize = 96;

const EMPTY: u8 = 0;
const IN_USE: u8 = 1;

const _: () = assert!(WRAPPED_AT == SALT_AT + 32 && BLOB_LEN_AT == WRAPPED_AT + 40);
const _: () = assert!(LABEL_AT + MAX_LABEL_LEN <= SLOT_LEN);

/// What a slot tells without a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotInfo {
    /// The slot's index, 0 to 7.
    pub slot: usize,
    /// Which kind of provider made it.
    pub kind: ProviderKind,
    /// How its passphrase is stretched.
    pub kdf: SlotKdf,
    /// The owner's name for it.
    pub label: String,
    /// Bytes that a key service keeps in the header for it.
    pub blob_len: usize,
    /// Whether a key file belongs to its key.
    pub has_key_file: bool,
    /// What these bytes say for people: the name and version of the key there. Anyone's, until the header is verified.
    pub place: String,
}

/// A slot in use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeySlot {
    pub(crate) kind: ProviderKind,
    pub(crate) kdf: SlotKdf,
    pub(crate) salt: [u8; 32],
    pub(crate) wrapped_master_key: [u8; 40],
    pub(crate) label: String,
    pub(crate) blob: Vec<u8>,
    pub(crate) has_key_file: bool,
}

impl KeySlot {
    /// Reads the slot at `index`. Its blob is taken from the front of `blobs`. Bytes without a meaning are not looked
    /// at: whoever reads a header holds the page against what it would write.
    pub(crate) fn parse(
        index: usize,
        bytes: &[u8],
        blobs: &mut &[u8],
    ) -> Result<Option<Self>, HeaderError> {
        let tampered = HeaderError::Tampered { what: "a key slot" };
        let [state, kind, kdf, label_len] = field::<4>(bytes, 0);
        match state {
            EMPTY => return Ok(None),
            IN_USE => {}
            _ => return Err(tampered),
        }
        let parameters = [0, 4, 8].map(|at| u32::from_le_bytes(field(bytes, PARAMETERS_AT + at)));
        let kdf =
            SlotKdf::from_wire(kdf, parameters).ok_or(HeaderError::AbsurdKdf { slot: index })?;
        let label = field::<MAX_LABEL_LEN>(bytes, LABEL_AT);
        let label = label
            .get(..usize::from(label_len))
            .and_then(|label| std::str::from_utf8(label).ok());
        let label = label
            .filter(|label| is_valid_label(label))
            .ok_or(tampered.clone())?;
        let blob_len = usize::from(u16::from_le_bytes(field(bytes, BLOB_LEN_AT)));
        let (blob, rest) = blobs.split_at_checked(blob_len).ok_or(tampered)?;
        let [key_file] = field(bytes, KEY_FILE_AT);
        *blobs = rest;
        Ok(Some(Self {
            kind: ProviderKind(kind),
            kdf,
            salt: field(bytes, SALT_AT),
            wrapped_master_key: field(bytes, WRAPPED_AT),
            label: label.to_owned(),
            blob: blob.to_vec(),
            // Another number is refused with the page, which would be written with 1.
            has_key_file: key_file != 0,
        }))
    }

    /// Writes the slot; its blob is written by the header.
    pub(crate) fn render(&self, bytes: &mut [u8]) {
        let (kdf, parameters) = self.kdf.to_wire();
        put(bytes, 0, &[IN_USE]);
        put(bytes, KIND_AT, &[self.kind.0]);
        put(bytes, KDF_AT, &[kdf]);
        put(bytes, LABEL_LEN_AT, &[self.label.len() as u8]);
        for (at, parameter) in [0, 4, 8].into_iter().zip(parameters) {
            put(bytes, PARAMETERS_AT + at, &parameter.to_le_bytes());
        }
        put(bytes, SALT_AT, &self.salt);
        put(bytes, WRAPPED_AT, &self.wrapped_master_key);
        put(bytes, BLOB_LEN_AT, &(self.blob.len() as u16).to_le_bytes());
        put(bytes, KEY_FILE_AT, &[u8::from(self.has_key_file)]);
        put(bytes, LABEL_AT, self.label.as_bytes());
    }

    pub(crate) fn info(&self, slot: usize) -> SlotInfo {
        SlotInfo {
            slot,
            kind: self.kind,
            kdf: self.kdf,
            label: self.label.clone(),
            blob_len: self.blob.len(),
            has_key_file: self.has_key_file,
            place: text_for_people(&self.blob).to_owned(),
        }
    }
}

/// The root of a slot whose key has a key file beside it.
fn both_factors(
    crypto: &CryptoProvider,
    salt: &[u8; 32],
    root: &SecretKey,
    key_file: &SecretBytes,
) -> SecretKey {
    let salt = SecretKey::from_bytes(*salt);
    let file = Zeroizing::new(crypto.hmac_sha256(&salt, &[b"HUSH1 file", key_file.expose()]));
    let parts: [&[u8]; 3] = [root.expose(), file.as_slice(), b"HUSH1 and"];
    SecretKey::from_bytes(crypto.hmac_sha256(&salt, &parts))
}

/// The text that places for keys begin their blobs with: `1 | length | text`. FORMAT.md, "Blobs of places for keys".
fn text_for_people(blob: &[u8]) -> &str {
    let [1, len, rest @ ..] = blob else {
        return "";
    };
    let text = rest.get(..usize::from(*len)).unwrap_or_default();
    let text = std::str::from_utf8(text).unwrap_or_default();
    if is_valid_label(text) { text } else { "" }
}

/// Labels are shown on terminals by people who do not have the key: nothing in one may steer a terminal.
pub(crate) fn is_valid_label(label: &str) -> bool {
    label.len() <= MAX_LABEL_LEN && !label.chars().any(|c| c.is_control() || is_format(c))
}

/// Whether a character is of the kind Cf of Unicode 16, of which some turn the text behind them round and some are not seen, or
/// separates lines (Zl, Zp).
fn is_format(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}' | '\u{890}'..='\u{891}' | '\u{8e2}'
        | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2064}'
        | '\u{2066}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{110bd}' | '\u{110cd}'
        | '\u{13430}'..='\u{1343f}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0001}'
        | '\u{e0020}'..='\u{e007f}'
    )
}

/// The key-encryption key of a slot from its key material, or `None` when the slot takes another kind of material (a
/// raw key where it stretches a passphrase, or the reverse).
pub(crate) fn key_encryption_key(
    crypto: &CryptoProvider,
    database_id: &DatabaseId,
    material: &KeyMaterial,
    kdf: SlotKdf,
    salt: &[u8; 32],
    key_file: Option<&SecretBytes>,
) -> Result<Option<SecretKey>, HeaderError> {
    let derive = |root: &SecretKey| {
        let mut context = [0; 48];
        put(&mut context, 0, database_id.as_bytes());
        put(&mut context, 16, salt);
        match key_file {
            Some(file) => {
                let root = both_factors(crypto, salt, root, file);
                crypto.kbkdf(&root, KdfLabel::KeyEncryption, &context)
            }
            None => crypto.kbkdf(root, KdfLabel::KeyEncryption, &context),
        }
    };
    Ok(match (material, kdf) {
        (KeyMaterial::Raw(root), SlotKdf::None) => Some(derive(root)),
        (KeyMaterial::Passphrase(passphrase), kdf) => kdf
            .stretch(crypto, passphrase.expose(), salt)?
            .map(|root| derive(&root)),
        (KeyMaterial::Raw(_), _) => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_answer_of_two_factors() {
        let salt = std::array::from_fn(|at| 0xa0 + at as u8);
        let root = SecretKey::from_bytes([0x66; 32]);
        for crypto in CryptoProvider::all() {
            let root = both_factors(&crypto, &salt, &root, &SecretBytes::from("x".repeat(32)));
            assert_eq!(
                hex::encode(root.expose()),
                "1984b6ab6153212f44dcace1e3ad379cc8f416db835b8afce22624292882457d"
            );
        }
    }
}
