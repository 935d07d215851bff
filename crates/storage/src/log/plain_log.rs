//! A plain log made of any bytes, for fuzzing: checksums are put over what would otherwise not get past them.

use super::log_header::{BOUND_BYTES as HEADER_BOUND_BYTES, LogHeader};
use super::log_seal::LogSeal;
use super::record_head::{BOUND_BYTES, RECORD_HEAD_BYTES, RECORD_OVERHEAD_BYTES, RecordHead};
use super::{LogBasis, LogOwner, TAG_BYTES};
use crate::numbers::Generation;

/// A header, and `records` behind it with the checksums that they need, as far as their lengths lead from one to the next.
/// Empty where there is no header to be made.
pub(crate) fn plain_log(owner: &LogOwner, records: &[u8]) -> Vec<u8> {
    let basis = LogBasis {
        sequence: 1,
        base_generation: Generation::new(1),
        chain_tag: [0; TAG_BYTES],
    };
    let Ok((header, seal)) = LogHeader::create(owner, basis) else {
        return Vec::new();
    };
    let mut log = header.to_bytes(owner).to_vec();
    let mut previous = seal.header_mac(&log[..HEADER_BOUND_BYTES]);
    let mut rest = records.to_vec();
    let mut left = rest.as_mut_slice();
    while let Some((head, _)) = head_of(left) {
        let Some(len) = head.record_len().filter(|len| *len <= left.len()) else {
            break;
        };
        let (record, behind) = std::mem::take(&mut left).split_at_mut(len);
        put_checksums(record, &seal, &mut previous);
        left = behind;
    }
    log.extend_from_slice(&rest);
    log
}

/// What a head says, whatever its checksum.
fn head_of(bytes: &[u8]) -> Option<(RecordHead, [u8; 12])> {
    let mut head = *bytes.first_chunk::<RECORD_HEAD_BYTES>()?;
    let crc = crc32c::crc32c(&head[..36]);
    head[36..].copy_from_slice(&crc.to_le_bytes());
    RecordHead::from_bytes(&head)
}

fn put_checksums(record: &mut [u8], seal: &LogSeal, previous: &mut [u8; TAG_BYTES]) {
    let Some((head, _)) = head_of(record).filter(|_| record.len() > RECORD_OVERHEAD_BYTES) else {
        return;
    };
    let bound: [u8; BOUND_BYTES] = head.to_bytes();
    let end = record.len() - TAG_BYTES;
    if let Ok((nonce, tag)) = seal.seal(previous, &bound, &mut record[RECORD_HEAD_BYTES..end]) {
        head.write(record, &nonce, &tag);
        *previous = tag;
    }
}
