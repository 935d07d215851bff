//! Columns of a table and the conditions its rows must meet.
//!
//! What must hold: an id is never given twice within a table, so a segment of a dropped column cannot pass for another's.
//! Defaults and conditions are SQL text that storage keeps and does not read.

use crate::numbers::ColumnId;
use hushdb_encoding::ColumnType;
use hushdb_encoding::wire::{Reader, WireError, Writer};

const FLAG_NULLABLE: u8 = 1;
const FLAG_GENERATED: u8 = 2;

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
    /// SQL text of what the value is computed by, from other columns of the row.
    pub generated: Option<String>,
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
    /// SQL text of what the value is computed by, from other columns of the row.
    pub generated: Option<String>,
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
            generated,
        } = self;
        Column {
            id,
            name,
            ty,
            nullable,
            default,
            generated,
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
        let nullable = if self.nullable { FLAG_NULLABLE } else { 0 };
        let generated = self.generated.as_ref().map_or(0, |_| FLAG_GENERATED);
        out.u8(nullable | generated);
        out.optional_text(self.default.as_deref());
        if let Some(generated) = &self.generated {
            out.text(generated);
        }
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        let id = ColumnId::new(reader.u32()?);
        let name = reader.text()?;
        let ty = ColumnType::read(reader)?;
        let flags = reader.u8()?;
        if flags & !(FLAG_NULLABLE | FLAG_GENERATED) != 0 {
            return Err(WireError);
        }
        let default = reader.optional_text()?;
        let generated = match flags & FLAG_GENERATED {
            0 => None,
            _ => Some(reader.text()?),
        };
        // It has one value, which its row gives.
        if generated.is_some() && default.is_some() {
            return Err(WireError);
        }
        Ok(Self {
            id,
            name,
            ty,
            nullable: flags & FLAG_NULLABLE != 0,
            default,
            generated,
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

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Column {
        Column {
            id: ColumnId::new(7),
            name: "c".into(),
            ty: ColumnType::Int64,
            nullable: true,
            default: None,
            generated: Some("a + b".into()),
        }
    }

    fn bytes(of: &Column) -> Vec<u8> {
        let mut out = Writer::default();
        of.write(&mut out);
        out.into_bytes()
    }

    #[test]
    fn a_generated_column_comes_back_and_a_part_of_one_does_not() {
        let bytes = bytes(&sample());
        assert_eq!(Column::read(&mut Reader::new(&bytes)), Ok(sample()));
        for len in 0..bytes.len() {
            assert!(
                Column::read(&mut Reader::new(&bytes[..len])).is_err(),
                "cut to {len}"
            );
        }
    }

    #[test]
    fn one_with_a_default_or_an_unknown_flag_is_refused() {
        let with_default = Column {
            default: Some("1".into()),
            ..sample()
        };
        assert!(Column::read(&mut Reader::new(&bytes(&with_default))).is_err());
        let stored = Column {
            generated: None,
            ..sample()
        };
        let mut plain = bytes(&stored);
        let flags = plain.len() - 2;
        assert_eq!(plain[flags], FLAG_NULLABLE);
        plain[flags] = 4;
        assert!(Column::read(&mut Reader::new(&plain)).is_err());
    }
}
