//! What an index is of: its name, its kind and its columns.
//!
//! Refuses, on reading: kinds and columns that cannot be.

use hushdb_encoding::wire::{Reader, WireError, Writer};

use crate::index_kind::IndexKind;
use crate::numbers::ColumnId;
use crate::row_group::Column;
use crate::row_keys::can_be_key;

/// An index that is to be made.
#[derive(Clone, Debug)]
pub struct IndexDef {
    /// Its name, of which there is none other in the schema.
    pub name: String,
    /// What it promises.
    pub kind: IndexKind,
    /// Names of the columns that make the key, in order.
    pub columns: Vec<String>,
}

/// What does not change about an index as long as it is there.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct IndexInfo {
    pub(crate) name: String,
    pub(crate) kind: IndexKind,
    /// Ids of the columns that make the key, in order.
    pub(crate) column_ids: Vec<ColumnId>,
}

impl IndexInfo {
    /// The fewest bytes one takes.
    pub(crate) const SMALLEST: usize = 4 + 1 + 4 + 4;

    pub(crate) fn write(&self, out: &mut Writer) {
        out.text(&self.name);
        out.u8(self.kind.tag());
        out.count(self.column_ids.len());
        for id in &self.column_ids {
            out.u32(id.number());
        }
    }

    pub(crate) fn read(reader: &mut Reader<'_>, columns: &[Column]) -> Result<Self, WireError> {
        let name = reader.text()?;
        let kind = match reader.u8()? {
            1 => IndexKind::Primary,
            2 => IndexKind::Unique,
            3 => IndexKind::Plain,
            _ => return Err(WireError),
        };
        let count = reader.count(4)?;
        let mut column_ids = Vec::with_capacity(count);
        for _ in 0..count {
            let id = ColumnId::new(reader.u32()?);
            let column = columns.iter().find(|column| column.id == id);
            let column = column.ok_or(WireError)?;
            let fits = can_be_key(&column.ty) && !(kind == IndexKind::Primary && column.nullable);
            if !fits || column_ids.contains(&id) {
                return Err(WireError);
            }
            column_ids.push(id);
        }
        if column_ids.is_empty() {
            return Err(WireError);
        }
        Ok(Self {
            name,
            kind,
            column_ids,
        })
    }
}
