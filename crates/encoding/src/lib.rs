//! Column types, and their values as bytes: compressed segments, plain values of log records, fields of metadata. Knows Arrow
//! and the compression library, and nobody else knows the latter; knows no file, no block and no key.
//!
//! What must hold: bytes that were written keep their meaning (FORMAT.md, "Tables", "Segments", "Write-ahead log"); whatever the
//! bytes are, a reader returns, allocates no more than they account for, and gives arrays of the column's type or an error; no
//! panic of a library passes.
//!
//! Begin with [`ColumnType`], whose row in `column_type/properties.rs` says how its values lie, then [`VortexCodec`].
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod bit_string;
mod codec;
mod column_type;
mod expected_panics;
mod nested_values;
mod time_tz;
pub mod wire;

pub use bit_string::{BIT, BitString, bit_string};
pub use codec::{
    CodecError, EncodedSegment, MAX_ROW_GROUP_ROWS, OpenSegment, SegmentHeader, VortexCodec,
    plain_values,
};
pub use column_type::{
    ArrayType, Bounds, Collation, ColumnType, EnumType, HUGEINT, MAX_DECIMAL_PRECISION,
    MAX_DECIMAL64_PRECISION, MAX_TYPE_DEPTH, MAX_TYPES_IN_TYPE, MapType, Parts, Properties,
    UHUGEINT, UnionType, Values, called_json, is_called_json, is_json_item, list_item, plain_item,
};
pub use expected_panics::{expect_panics, is_panic_expected};
pub use nested_values::{compact, row_bytes};
pub use time_tz::{TIMETZ, TimeTz};
