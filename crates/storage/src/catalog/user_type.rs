//! A type under a name (CREATE TYPE).
//!
//! What must hold: columns have the type itself, not its name: what stands under a name may go or change, and no row with it.

use hushdb_encoding::wire::{Reader, WireError, Writer};

use crate::ColumnType;

/// A named type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserType {
    /// As the user wrote it.
    pub name: String,
    /// What it stands for.
    pub ty: ColumnType,
}

impl UserType {
    /// The fewest bytes that one takes in a file.
    pub(super) const SMALLEST: usize = 4 + ColumnType::SMALLEST;

    pub(super) fn write(&self, out: &mut Writer) {
        out.text(&self.name);
        self.ty.write(out);
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        Ok(Self {
            name: reader.text()?,
            ty: ColumnType::read(reader)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::EnumType;

    #[test]
    fn a_type_comes_back_and_a_part_of_one_does_not() {
        let values = EnumType::new(vec!["sad".into(), "ok".into()]).unwrap();
        let mood = UserType {
            name: "mood".into(),
            ty: ColumnType::List(Box::new(ColumnType::Enum(values))),
        };
        let mut out = Writer::default();
        mood.write(&mut out);
        let bytes = out.into_bytes();
        assert_eq!(UserType::read(&mut Reader::new(&bytes)), Ok(mood));
        for len in 0..bytes.len() {
            assert!(UserType::read(&mut Reader::new(&bytes[..len])).is_err());
        }
    }
}
