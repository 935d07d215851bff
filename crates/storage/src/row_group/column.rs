//! Columns of a table and the conditions its rows must meet.
//!
//! What must hold: an id is never given twice within a table, so a segment of a dropped column cannot pass for another's.
//! Defaults and conditions are SQL text that storage keeps and does not read.

use crate::numbers::ColumnId;
use hushdb_encoding::ColumnType;
use hushdb_encoding::wire::{Reader, WireError, Writer};

const FLAG_NULLABLE: u8 = 1;

/// Whether two names are one: the case of ASCII letters does not count, as in DuckDB.
pub fn same_name(a: &str, b: &str) -> bool {
    a.eq_ignore_ascii_case(b)
}

/// A column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Unique within the table, for all its life.
    pub id: ColumnId,
    /// As the user wrote it.
    pub name: String,
    /// Type of the values.
    pub ty: ColumnType,
    /// Whether NULL is allowed.
    pub nullable: bool,
    /// SQL text of the default value.
    pub default: Option<String>,
}

/// What a caller says of a column that does not exist yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnDef {
    /// As the user wrote it.
    pub name: String,
    /// Type of the values.
    pub ty: ColumnType,
    /// Whether NULL is allowed.
    pub nullable: bool,
    /// SQL text of the default value.
    pub default: Option<String>,
}

/// A condition on every row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// Name, if the user gave one.
    pub name: Option<String>,
    /// SQL text of the condition.
    pub sql: String,
}

impl ColumnDef {
    /// The column that this becomes under `id`.
    pub(crate) fn with_id(self, id: ColumnId) -> Column {
        let Self {
            name,
            ty,
            nullable,
            default,
        } = self;
        Column {
            id,
            name,
            ty,
            nullable,
            default,
        }
    }
}

impl Column {
    /// The fewest bytes a column takes in a file.
    pub(crate) const SMALLEST: usize = 4 + 4 + 3 + 1 + 1;

    pub(crate) fn write(&self, out: &mut Writer) {
        out.u32(self.id.number());
        out.text(&self.name);
        self.ty.write(out);
        out.u8(if self.nullable { FLAG_NULLABLE } else { 0 });
        out.optional_text(self.default.as_deref());
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        let id = ColumnId::new(reader.u32()?);
        let name = reader.text()?;
        let ty = ColumnType::read(reader)?;
        let nullable = reader.flag()?;
        let default = reader.optional_text()?;
        Ok(Self {
            id,
            name,
            ty,
            nullable,
            default,
        })
    }
}

impl Check {
    /// The fewest bytes a check takes in a file.
    pub(crate) const SMALLEST: usize = 1 + 4;

    pub(crate) fn write(&self, out: &mut Writer) {
        out.optional_text(self.name.as_deref());
        out.text(&self.sql);
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        Ok(Self {
            name: reader.optional_text()?,
            sql: reader.text()?,
        })
    }
}
