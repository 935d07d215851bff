//! `BlockBuf`: a payload being gathered, with room for its envelope around it, so that it is sealed where it lies and
//! written in one piece.

use std::io;

use super::envelope::{
    ENVELOPE_HEAD_BYTES, ENVELOPE_OVERHEAD_BYTES, MAX_PAYLOAD_BYTES, SECTOR_BYTES,
};
use crate::error::{Error, Result};

/// A growing payload. Write to it as `io::Write` or with [`BlockBuf::extend_from_slice`].
pub struct BlockBuf {
    // The first 64 bytes are the envelope's.
    bytes: Vec<u8>,
}

impl BlockBuf {
    /// An empty payload with room for `payload_len_hint` bytes.
    pub fn with_capacity(payload_len_hint: usize) -> Self {
        let capacity = (payload_len_hint + ENVELOPE_OVERHEAD_BYTES).next_multiple_of(SECTOR_BYTES);
        let mut bytes = Vec::with_capacity(capacity);
        bytes.resize(ENVELOPE_HEAD_BYTES, 0);
        Self { bytes }
    }

    /// Appends to the payload.
    pub fn extend_from_slice(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Grows (with zeros) or cuts the payload.
    pub fn resize(&mut self, payload_len: usize) {
        self.bytes.resize(ENVELOPE_HEAD_BYTES + payload_len, 0);
    }

    /// The payload so far.
    pub fn payload(&self) -> &[u8] {
        &self.bytes[ENVELOPE_HEAD_BYTES..]
    }

    /// The payload so far, to fill in what is known late.
    pub fn payload_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[ENVELOPE_HEAD_BYTES..]
    }

    /// Bytes of payload so far.
    pub fn len(&self) -> usize {
        self.bytes.len() - ENVELOPE_HEAD_BYTES
    }

    /// True without payload.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Length of the payload as a ref holds it, and the sectors that the block will take.
    pub(crate) fn measure(&self) -> Result<(u32, u32)> {
        let payload = self.len();
        if payload > MAX_PAYLOAD_BYTES {
            return Err(Error::InvalidInput(format!(
                "a block holds {MAX_PAYLOAD_BYTES} bytes, not {payload}"
            )));
        }
        Ok((payload as u32, Self::sectors_for(payload)))
    }

    /// The sectors that a block with such a payload takes.
    pub(crate) fn sectors_for(payload_len: usize) -> u32 {
        (payload_len + ENVELOPE_OVERHEAD_BYTES).div_ceil(SECTOR_BYTES) as u32
    }

    /// The whole block: room, payload, zeros up to the sector boundary.
    pub(crate) fn into_padded(self, sectors: u32) -> Vec<u8> {
        let mut bytes = self.bytes;
        bytes.resize(sectors as usize * SECTOR_BYTES, 0);
        bytes
    }
}

impl io::Write for BlockBuf {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.bytes.extend_from_slice(buf);
        Ok(buf.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl std::fmt::Debug for BlockBuf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "BlockBuf({} bytes)", self.len())
    }
}
