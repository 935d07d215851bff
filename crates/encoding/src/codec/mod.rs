//! Column segments: from Arrow array to compressed bytes and back.
//!
//! What must hold: what is decoded has exactly the column's Arrow type and the expected number of rows, and its text is UTF-8;
//! no panic of the compression library passes this module.
//! Refuses: segments of another type or row count, unknown codecs and encodings, lengths that do not add up.

mod encoded_segment;
mod encoding_set;
mod nested;
mod open_segment;
mod parts;
pub mod plain_values;
#[cfg(test)]
mod random_values;
mod segment_header;
mod verify;
mod vortex_codec;

pub use encoded_segment::{CodecError, EncodedSegment, MAX_ROW_GROUP_ROWS};
pub use open_segment::OpenSegment;
pub use segment_header::SegmentHeader;
pub use vortex_codec::VortexCodec;
