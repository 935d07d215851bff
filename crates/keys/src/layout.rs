//! Where everything stands in the file header. FORMAT.md, "File map". One page of 4096 bytes, kept twice.
//!
//! | offset | bytes | field |
//! | --- | --- | --- |
//! | 0 | 8 | magic `89 48 55 53 48 44 42 0A` (`\x89HUSHDB\n`) |
//! | 8 | 2 | format version, u16: 1, or 2 once the file has had a key ring or a slot with a key file |
//! | 10 | 1 | suite: 0 plain, 1 AES-256-GCM, 2 AES-256-CTR |
//! | 11 | 1 | zero |
//! | 12 | 4 | system key id, u32, at least 1 |
//! | 16 | 16 | database id |
//! | 32 | 8 | sequence, u64: grows by one with every change of the header |
//! | 40 | 32 | commitment to the master key |
//! | 72 | 40 | system DEK, wrapped |
//! | 112 | 4 | previous system key id, u32, 0 = none |
//! | 116 | 40 | previous system DEK, wrapped |
//! | 156 | 40 | ring key, wrapped |
//! | 196 | 1 | suite of the previous system DEK, if it is another than at 10, else 0 |
//! | 197 | 59 | zero |
//! | 256 | 8 x 256 | key slots (see `slot.rs`) |
//! | 2304 | 1756 | blob area: the slots' blobs in slot order without gaps, then zero |
//! | 4060 | 4 | CRC-32C of bytes 0..4060 |
//! | 4064 | 32 | HMAC-SHA-256 of bytes 0..4064 under the header MAC key |
//!
//! Integers are little-endian. Magic, version and CRC keep their places in every later format, so that a newer file is
//! told from a damaged one. A plain database (suite 0) has only magic, version, suite, database id, sequence and CRC; all
//! else is zero.

/// Bytes of one copy of the file header.
pub const HEADER_LEN: usize = 4096;

/// Where the two copies stand in a database file: too far apart to share a page of flash memory.
pub const HEADER_OFFSETS: [u64; 2] = [0, 16384];

/// What a database file begins with, and each copy of its header.
pub const MAGIC: [u8; 8] = *b"\x89HUSHDB\n";
/// The format of a file that never had a key ring, nor a slot with a key file.
pub(crate) const FIRST_FORMAT_VERSION: u16 = 1;
/// The newest format, of a file that has had one.
pub(crate) const FORMAT_VERSION: u16 = 2;

pub(crate) const VERSION_AT: usize = 8;
pub(crate) const SUITE_AT: usize = 10;
pub(crate) const SYSTEM_KEY_ID_AT: usize = 12;
pub(crate) const DATABASE_ID_AT: usize = 16;
pub(crate) const SEQUENCE_AT: usize = 32;
pub(crate) const COMMITMENT_AT: usize = 40;
pub(crate) const SYSTEM_DEK_AT: usize = 72;
pub(crate) const PREVIOUS_KEY_ID_AT: usize = 112;
pub(crate) const PREVIOUS_DEK_AT: usize = 116;
pub(crate) const RING_KEY_AT: usize = 156;
pub(crate) const PREVIOUS_SUITE_AT: usize = 196;
pub(crate) const SLOTS_AT: usize = 256;
pub(crate) const SLOT_LEN: usize = 256;
pub(crate) const BLOB_AREA_AT: usize = 2304;
pub(crate) const BLOB_AREA_LEN: usize = CRC_AT - BLOB_AREA_AT;
pub(crate) const CRC_AT: usize = 4060;
pub(crate) const MAC_AT: usize = 4064;

/// One copy of the header.
pub(crate) type Page = [u8; HEADER_LEN];

const _: () =
    assert!(SYSTEM_DEK_AT == COMMITMENT_AT + 32 && PREVIOUS_KEY_ID_AT == SYSTEM_DEK_AT + 40);
const _: () = assert!(RING_KEY_AT == PREVIOUS_DEK_AT + 40 && RING_KEY_AT + 40 == PREVIOUS_SUITE_AT);
const _: () = assert!(SLOTS_AT + crate::SLOT_COUNT * SLOT_LEN == BLOB_AREA_AT);
const _: () = assert!(CRC_AT + 4 == MAC_AT && MAC_AT + 32 == HEADER_LEN && BLOB_AREA_LEN == 1756);

/// The `N` bytes at a fixed place of a page or slot. `at` is one of the constants above, never a number from a file.
pub(crate) fn field<const N: usize>(page: &[u8], at: usize) -> [u8; N] {
    let mut bytes = [0; N];
    if let Some(field) = page.get(at..at + N) {
        bytes.copy_from_slice(field);
    }
    bytes
}

/// Writes a field at a fixed place.
pub(crate) fn put(page: &mut [u8], at: usize, bytes: &[u8]) {
    page[at..at + bytes.len()].copy_from_slice(bytes);
}
