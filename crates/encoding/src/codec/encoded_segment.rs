//! `EncodedSegment`: a column of a row group in bytes, and why there may be none.

/// The most rows that a segment, and so a row group, can have, whatever the options say.
pub const MAX_ROW_GROUP_ROWS: u32 = 1 << 20;

/// Why a segment could not be encoded or decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodecError {
    /// The bytes are not a segment of this column: damage, or (in a plain file) an edit.
    Malformed,
    /// The array handed in is not of the column's type.
    WrongType,
    /// The array cannot be stored: more rows or longer values than a segment takes.
    TooLarge,
}

/// A segment in bytes, still in pieces so that they are copied once, into the block's buffer.
pub struct EncodedSegment {
    pub(crate) pieces: Vec<vortex_buffer::ByteBuffer>,
    pub(crate) len: usize,
}

impl EncodedSegment {
    /// Length in bytes of all pieces together.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is nothing in it; an encoded segment always has a header.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The pieces in order, to be written one behind the other.
    pub fn pieces(&self) -> impl Iterator<Item = &[u8]> {
        self.pieces.iter().map(|piece| piece.as_slice())
    }

    /// All pieces in one buffer.
    pub fn to_vec(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.len);
        for piece in self.pieces() {
            out.extend_from_slice(piece);
        }
        out
    }
}
