//! What a schema has beside tables and views, in the catalog's root (FORMAT.md, "Catalog", entries).
//!
//! What must hold: an entry of a kind that is not known is refused, never skipped: what it says could matter to every row.
//! Refuses: two entries of one kind and name, an entry with bytes left over.

use std::sync::Arc;

use hushdb_encoding::wire::{Reader, WireError, Writer};

use super::catalog_version::SchemaVersion;
use super::sequence::Sequence;

const SEQUENCE: u8 = 1;

/// The fewest bytes that an entry takes: its kind and the length of what it says.
const SMALLEST: usize = 1 + 4 + Sequence::SMALLEST;

/// Whether a schema has any.
pub(super) fn has_any(schema: &SchemaVersion) -> bool {
    !schema.sequences.is_empty()
}

pub(super) fn write(schema: &SchemaVersion, out: &mut Writer) {
    out.count(schema.sequences.len());
    for sequence in schema.sequences.values() {
        let mut body = Writer::default();
        sequence.write(&mut body);
        out.u8(SEQUENCE);
        out.bytes(&body.into_bytes());
    }
}

pub(super) fn read(reader: &mut Reader<'_>, schema: &mut SchemaVersion) -> Result<(), WireError> {
    for _ in 0..reader.count(SMALLEST)? {
        let kind = reader.u8()?;
        let mut body = Reader::new(reader.bytes()?);
        let is_taken = match kind {
            SEQUENCE => {
                let sequence = Sequence::read(&mut body)?;
                let sequences = &mut schema.sequences;
                sequences
                    .insert(sequence.name.clone(), Arc::new(sequence))
                    .is_some()
            }
            _ => return Err(WireError),
        };
        body.finish()?;
        if is_taken {
            return Err(WireError);
        }
    }
    Ok(())
}
