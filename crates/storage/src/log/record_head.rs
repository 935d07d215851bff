//! `RecordHead`: the 40 bytes before a record's ciphertext, and the arithmetic of records (FORMAT.md, "Log").
//!
//! What must hold: bytes 0..24 are covered by the tag. The checksum tells a head that was written from one that was not, and
//! nothing is decided in a record's favour by it.

use super::TAG_BYTES;
use crate::numbers::Lsn;

/// The largest record, head and tag included.
pub const MAX_LOG_RECORD_BYTES: usize = 64 << 20;
/// The largest payload of a record.
pub const MAX_LOG_PAYLOAD_BYTES: usize =
    MAX_LOG_RECORD_BYTES - RECORD_OVERHEAD_BYTES - LENGTH_BYTES;

/// Records begin and end on such boundaries.
pub(super) const RECORD_ALIGNMENT: usize = 64;
pub(super) const RECORD_HEAD_BYTES: usize = 40;
pub(super) const RECORD_OVERHEAD_BYTES: usize = RECORD_HEAD_BYTES + TAG_BYTES;
/// Bytes of the payload's length, in front of it, sealed with it.
pub(super) const LENGTH_BYTES: usize = 4;
/// The part of a head that the tag covers; the nonce is by what a nonce is.
pub(super) const BOUND_BYTES: usize = 24;

const _: () = assert!(BOUND_BYTES + 12 + 4 == RECORD_HEAD_BYTES);
const _: () = assert!(MAX_LOG_RECORD_BYTES.is_multiple_of(RECORD_ALIGNMENT));

/// What a record says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RecordHead {
    pub(super) body_len: u32,
    pub(super) flags: u8,
    pub(super) reserved: [u8; 3],
    pub(super) lsn: Lsn,
    pub(super) durable_lsn: Lsn,
}

impl RecordHead {
    pub(super) fn to_bytes(self) -> [u8; BOUND_BYTES] {
        let mut bytes = [0; BOUND_BYTES];
        bytes[0..4].copy_from_slice(&self.body_len.to_le_bytes());
        bytes[4] = self.flags;
        bytes[5..8].copy_from_slice(&self.reserved);
        bytes[8..16].copy_from_slice(&self.lsn.number().to_le_bytes());
        bytes[16..24].copy_from_slice(&self.durable_lsn.number().to_le_bytes());
        bytes
    }

    /// Reads a head and its nonce; `None` where no head was written, or not all of it.
    pub(super) fn from_bytes(bytes: &[u8]) -> Option<(Self, [u8; 12])> {
        let bytes = bytes.first_chunk::<RECORD_HEAD_BYTES>()?;
        if crc32c::crc32c(&bytes[..36]).to_le_bytes() != bytes[36..40] {
            return None;
        }
        let head = Self {
            body_len: u32::from_le_bytes(array(bytes, 0)),
            flags: bytes[4],
            reserved: array(bytes, 5),
            lsn: Lsn::new(u64::from_le_bytes(array(bytes, 8))),
            durable_lsn: Lsn::new(u64::from_le_bytes(array(bytes, 16))),
        };
        Some((head, array(bytes, 24)))
    }

    /// Puts head, nonce and tag around the sealed body in `record`.
    pub(super) fn write(self, record: &mut [u8], nonce: &[u8; 12], tag: &[u8; TAG_BYTES]) {
        let tag_at = record.len() - TAG_BYTES;
        record[..24].copy_from_slice(&self.to_bytes());
        record[24..36].copy_from_slice(nonce);
        let crc = crc32c::crc32c(&record[..36]);
        record[36..40].copy_from_slice(&crc.to_le_bytes());
        record[tag_at..].copy_from_slice(tag);
    }

    /// Bytes of the whole record, if a record can have as many.
    pub(super) fn record_len(&self) -> Option<usize> {
        let len = (self.body_len as usize).checked_add(RECORD_OVERHEAD_BYTES)?;
        (len.is_multiple_of(RECORD_ALIGNMENT) && len <= MAX_LOG_RECORD_BYTES && self.body_len != 0)
            .then_some(len)
    }

    /// Whether this is the head of a record at `position` that says: everything below a point beyond `lsn` was durable.
    pub(super) fn proves_durable(&self, position: Lsn, lsn: Lsn) -> bool {
        self.lsn == position && self.durable_lsn <= position && self.durable_lsn > lsn
    }
}

/// Bytes of the record that holds a payload of `payload_len`, if one can.
pub(super) fn record_len_for(payload_len: usize) -> Option<usize> {
    (payload_len <= MAX_LOG_PAYLOAD_BYTES).then(|| {
        (RECORD_OVERHEAD_BYTES + LENGTH_BYTES + payload_len).next_multiple_of(RECORD_ALIGNMENT)
    })
}

/// The payload in an opened body: its length in front, zeros behind.
pub(super) fn payload_of(body: &[u8]) -> Result<&[u8], &'static str> {
    let (len, rest) = body
        .split_first_chunk::<LENGTH_BYTES>()
        .ok_or("it has no room for its payload's length")?;
    let len = u32::from_le_bytes(*len) as usize;
    if record_len_for(len) != Some(body.len() + RECORD_OVERHEAD_BYTES) {
        return Err("its payload's length is not what its own length says");
    }
    let (payload, padding) = rest
        .split_at_checked(len)
        .ok_or("its payload's length is beyond its own")?;
    match padding.iter().all(|&byte| byte == 0) {
        true => Ok(payload),
        false => Err("its padding is not zero"),
    }
}

fn array<const N: usize>(bytes: &[u8; RECORD_HEAD_BYTES], at: usize) -> [u8; N] {
    let mut part = [0; N];
    part.copy_from_slice(&bytes[at..at + N]);
    part
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_whole_cache_lines() {
        assert_eq!(record_len_for(0), Some(64));
        assert_eq!(record_len_for(4), Some(64));
        assert_eq!(record_len_for(5), Some(128));
        assert_eq!(
            record_len_for(MAX_LOG_PAYLOAD_BYTES),
            Some(MAX_LOG_RECORD_BYTES)
        );
        assert_eq!(record_len_for(MAX_LOG_PAYLOAD_BYTES + 1), None);
        assert_eq!(record_len_for(usize::MAX), None);
    }

    #[test]
    fn only_the_one_body_that_holds_a_payload_is_taken() {
        assert_eq!(payload_of(&[0; 8]), Ok([].as_slice()));
        let mut body = [0; 8];
        body[0] = 3;
        body[4..7].copy_from_slice(b"abc");
        assert_eq!(payload_of(&body), Ok(b"abc".as_slice()));
        body[7] = 1;
        assert!(payload_of(&body).is_err());
        body[0] = 5;
        assert!(payload_of(&body).is_err());
        body[..4].fill(0xff);
        assert!(payload_of(&body).is_err());
        assert!(payload_of(&[0; 3]).is_err());
        assert!(payload_of(&[0; 72]).is_err());
    }
}
