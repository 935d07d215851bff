//! What a schema has beside tables and views, in the catalog's root (FORMAT.md, "Catalog", entries).
//!
//! What must hold: an entry of a kind that is not known is refused, never skipped: what it says could matter to every row.
//! Refuses: two entries of one kind and name, an entry with bytes left over.

use std::sync::Arc;

use hushdb_encoding::wire::{Reader, WireError, Writer};

use super::catalog_version::SchemaVersion;
use super::comment::CommentOn;
use super::foreign_key::ForeignKey;
use super::sequence::Sequence;
use super::user_macro::Macro;
use super::user_type::UserType;

const SEQUENCE: u8 = 1;
const MACRO: u8 = 2;
const TABLE_MACRO: u8 = 3;
const COMMENT: u8 = 4;
const TYPE: u8 = 5;
const FOREIGN_KEY: u8 = 6;
const TYPED_MACRO: u8 = 7;
const TYPED_TABLE_MACRO: u8 = 8;

/// The fewest bytes that an entry takes: its kind and the length of what it says.
const SMALLEST: usize = 1
    + 4
    + least(
        CommentOn::SMALLEST,
        least(
            Sequence::SMALLEST,
            least(
                Macro::SMALLEST,
                least(UserType::SMALLEST, ForeignKey::SMALLEST),
            ),
        ),
    );

const fn least(a: usize, b: usize) -> usize {
    if a < b { a } else { b }
}

/// Whether a schema has any.
pub(super) fn has_any(schema: &SchemaVersion) -> bool {
    has_things(schema) || !(schema.comments.is_empty() && schema.foreign_keys.is_empty())
}

/// Whether a schema has any that are more than what is said of others.
pub(super) fn has_things(schema: &SchemaVersion) -> bool {
    !(schema.sequences.is_empty()
        && schema.macros.is_empty()
        && schema.table_macros.is_empty()
        && schema.types.is_empty())
}

pub(super) fn write(schema: &SchemaVersion, out: &mut Writer) {
    let macros = schema.macros.len() + schema.table_macros.len();
    out.count(
        schema.sequences.len()
            + macros
            + schema.comments.len()
            + schema.types.len()
            + schema.foreign_keys.len(),
    );
    for sequence in schema.sequences.values() {
        let mut body = Writer::default();
        sequence.write(&mut body);
        out.u8(SEQUENCE);
        out.bytes(&body.into_bytes());
    }
    for (kind, typed, macros) in [
        (MACRO, TYPED_MACRO, &schema.macros),
        (TABLE_MACRO, TYPED_TABLE_MACRO, &schema.table_macros),
    ] {
        for one in macros.values() {
            let mut body = Writer::default();
            one.write(&mut body);
            out.u8(if one.has_types() { typed } else { kind });
            out.bytes(&body.into_bytes());
        }
    }
    for one in schema.types.values() {
        let mut body = Writer::default();
        one.write(&mut body);
        out.u8(TYPE);
        out.bytes(&body.into_bytes());
    }
    for key in &schema.foreign_keys {
        let mut body = Writer::default();
        key.write(&mut body);
        out.u8(FOREIGN_KEY);
        out.bytes(&body.into_bytes());
    }
    for (on, text) in &schema.comments {
        let mut body = Writer::default();
        on.write(text, &mut body);
        out.u8(COMMENT);
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
            MACRO | TABLE_MACRO | TYPED_MACRO | TYPED_TABLE_MACRO => {
                let typed = matches!(kind, TYPED_MACRO | TYPED_TABLE_MACRO);
                let one = Macro::read(&mut body, typed)?;
                let macros = match kind {
                    MACRO | TYPED_MACRO => &mut schema.macros,
                    _ => &mut schema.table_macros,
                };
                macros.insert(one.name.clone(), Arc::new(one)).is_some()
            }
            COMMENT => {
                let (on, text) = CommentOn::read(&mut body)?;
                schema.comments.insert(on, text).is_some()
            }
            TYPE => {
                let one = UserType::read(&mut body)?;
                let types = &mut schema.types;
                types.insert(one.name.clone(), Arc::new(one)).is_some()
            }
            FOREIGN_KEY => {
                let key = Arc::new(ForeignKey::read(&mut body)?);
                let is_taken = schema.foreign_keys.contains(&key);
                schema.foreign_keys.push(key);
                is_taken
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
