//! Columns of a table and the conditions its rows must meet.
//!
//! What must hold: an id is never given twice within a table, so a segment of a dropped column cannot pass for another's.
//! Defaults and conditions are SQL text that storage keeps and does not read.

use crate::numbers::ColumnId;
use hushdb_encoding::ColumnType;
use hushdb_encoding::wire::{Reader, WireError, Writer};
use std::num::NonZeroU32;

const FLAG_NULLABLE: u8 = 1;
const FLAG_GENERATED: u8 = 2;
const FLAG_DECLARED: u8 = 4;

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
    /// What its definition says of its values beyond their type.
    pub declared: Option<Declared>,
}

/// What the definition of a column says of its values beyond their type, as PostgreSQL's types do. Storage keeps it; whoever writes rows
/// heeds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Declared {
    /// `varchar`, with at most as many characters, if that is said.
    Varchar(Option<NonZeroU32>),
    /// `char(n)`: at most as many characters, without the blanks at the end.
    Char(NonZeroU32),
    /// `jsonb`: JSON in the one writing that equal values have.
    Jsonb,
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
    /// What its definition says of its values beyond their type.
    pub declared: Option<Declared>,
}

/// Whether a column can be of a type, and declared so.
pub(crate) fn is_sound(ty: &ColumnType, declared: Option<Declared>) -> bool {
    ty.is_valid() && declared.is_none_or(|declared| declared.suits(ty))
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
            declared,
        } = self;
        Column {
            id,
            name,
            ty,
            nullable,
            default,
            generated,
            declared,
        }
    }
}

impl Declared {
    fn write(self, out: &mut Writer) {
        let (tag, length) = match self {
            Self::Varchar(length) => (1, length.map_or(0, NonZeroU32::get)),
            Self::Char(length) => (2, length.get()),
            Self::Jsonb => (3, 0),
        };
        out.u8(tag);
        out.u32(length);
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        match (reader.u8()?, NonZeroU32::new(reader.u32()?)) {
            (1, length) => Ok(Self::Varchar(length)),
            (2, Some(length)) => Ok(Self::Char(length)),
            (3, None) => Ok(Self::Jsonb),
            _ => Err(WireError),
        }
    }

    /// Whether all that fits this fits another, as it is.
    pub fn is_within(self, other: Option<Self>) -> bool {
        match (self, other) {
            (_, None) => true,
            (Self::Varchar(_) | Self::Char(_), Some(Self::Varchar(None))) => true,
            (Self::Varchar(Some(own)) | Self::Char(own), Some(Self::Varchar(Some(other))))
            | (Self::Char(own), Some(Self::Char(other))) => own <= other,
            (own, Some(other)) => own == other,
        }
    }

    /// Whether values of a type can be so.
    fn suits(self, ty: &ColumnType) -> bool {
        match self {
            Self::Varchar(_) | Self::Char(_) => *ty == ColumnType::Varchar,
            Self::Jsonb => *ty == ColumnType::Json,
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
        let declared = self.declared.map_or(0, |_| FLAG_DECLARED);
        out.u8(nullable | generated | declared);
        out.optional_text(self.default.as_deref());
        if let Some(generated) = &self.generated {
            out.text(generated);
        }
        if let Some(declared) = self.declared {
            declared.write(out);
        }
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        let id = ColumnId::new(reader.u32()?);
        let name = reader.text()?;
        let ty = ColumnType::read(reader)?;
        let flags = reader.u8()?;
        if flags & !(FLAG_NULLABLE | FLAG_GENERATED | FLAG_DECLARED) != 0 {
            return Err(WireError);
        }
        let default = reader.optional_text()?;
        let generated = match flags & FLAG_GENERATED {
            0 => None,
            _ => Some(reader.text()?),
        };
        let declared = match flags & FLAG_DECLARED {
            0 => None,
            _ => Some(Declared::read(reader)?),
        };
        if declared.is_some_and(|declared| !declared.suits(&ty)) {
            return Err(WireError);
        }
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
            declared,
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
            declared: None,
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
        plain[flags] = 8;
        assert!(Column::read(&mut Reader::new(&plain)).is_err());
    }

    #[test]
    fn longer_columns_take_what_shorter_ones_do() {
        let varchar = |n| Declared::Varchar(NonZeroU32::new(n));
        let char = |n| NonZeroU32::new(n).map(Declared::Char).unwrap();
        assert!(varchar(3).is_within(Some(varchar(3))) && varchar(3).is_within(Some(varchar(4))));
        assert!(char(3).is_within(Some(varchar(3))) && char(3).is_within(Some(char(4))));
        assert!(varchar(3).is_within(None) && varchar(3).is_within(Some(varchar(0))));
        assert!(!varchar(3).is_within(Some(varchar(2))) && !varchar(0).is_within(Some(varchar(2))));
        assert!(!varchar(3).is_within(Some(char(4))));
    }

    #[test]
    fn what_is_declared_comes_back_where_it_can_be() {
        let length = NonZeroU32::new(40);
        let char = length.map(Declared::Char).unwrap();
        for (ty, declared) in [
            (ColumnType::Varchar, Declared::Varchar(None)),
            (ColumnType::Varchar, Declared::Varchar(length)),
            (ColumnType::Varchar, char),
            (ColumnType::Json, Declared::Jsonb),
        ] {
            let declared = Some(declared);
            let column = Column {
                ty,
                declared,
                ..sample()
            };
            let whole = bytes(&column);
            assert_eq!(Column::read(&mut Reader::new(&whole)), Ok(column.clone()));
            for len in 0..whole.len() {
                assert!(Column::read(&mut Reader::new(&whole[..len])).is_err());
            }
            let of_numbers = Column {
                ty: ColumnType::Int64,
                ..column
            };
            assert!(Column::read(&mut Reader::new(&bytes(&of_numbers))).is_err());
            for wrong in [0, 4] {
                let mut edited = whole.clone();
                let tag = edited.len() - 5;
                edited[tag] = wrong;
                assert!(Column::read(&mut Reader::new(&edited)).is_err());
            }
        }
    }
}
