//! `ArrayType`: the type of an ARRAY, which has as many values as its type says.
//!
//! What must hold: no array is longer than [`ArrayType::MAX_LENGTH`], and none is empty. In memory it is a list whose field of items is
//! named by how many there are: two ARRAYs have one Arrow type exactly if they have as many items of one type. No list of another
//! type has items of a name that begins with [`MARK`].
//! Refuses: on reading, lengths that are none of an array's.

use std::sync::Arc;

use arrow_schema::{DataType, Field};

use super::ColumnType;
use super::json::{inner_field, list_item, name_without_json};
use crate::wire::{Reader, WireError, Writer};

/// What the name of the field of items begins with.
const MARK: &str = "\u{1}ARRAY[";

/// How many values an ARRAY has, and of what type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ArrayType {
    item: Box<ColumnType>,
    length: u32,
}

impl ArrayType {
    /// The most values that an ARRAY has, which is DuckDB's limit.
    pub const MAX_LENGTH: u32 = 100_000;

    /// The type of `length` values of a type; `None` for none and for too many.
    pub fn new(item: ColumnType, length: u32) -> Option<Self> {
        (1..=Self::MAX_LENGTH).contains(&length).then(|| Self {
            item: Box::new(item),
            length,
        })
    }

    /// The type of the values.
    pub fn item(&self) -> &ColumnType {
        &self.item
    }

    /// How many values there are.
    pub fn length(&self) -> u32 {
        self.length
    }

    /// How many values the lists of a type have, if it stands for an ARRAY.
    pub fn length_of(of: &DataType) -> Option<u32> {
        let DataType::List(item) = of else {
            return None;
        };
        let name = name_without_json(item);
        let length = name.strip_prefix(MARK)?.strip_suffix(']')?;
        let length = length.parse().ok()?;
        (name == name_of(length)).then_some(length)
    }

    /// The Arrow field of the items of an ARRAY of this length.
    pub fn field(item: DataType, length: u32) -> Field {
        Field::new(name_of(length), item, true)
    }

    /// What an ARRAY is to Arrow.
    pub(super) fn arrow(&self) -> DataType {
        let item = inner_field(&name_of(self.length), &self.item, true);
        DataType::List(Arc::new(list_item(item)))
    }

    pub(super) fn write(&self, out: &mut Writer) {
        out.u32(self.length);
        self.item.write_within(out);
    }

    /// Reads the length, which comes before the type of the items.
    pub(super) fn read_length(reader: &mut Reader<'_>) -> Result<u32, WireError> {
        let length = reader.u32()?;
        match (1..=Self::MAX_LENGTH).contains(&length) {
            true => Ok(length),
            false => Err(WireError),
        }
    }
}

fn name_of(length: u32) -> String {
    format!("{MARK}{length}]")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_array_is_known_by_its_arrow_type() {
        let of = |length| ArrayType::new(ColumnType::Int8, length).map(ColumnType::Array);
        for length in [1, 3, ArrayType::MAX_LENGTH] {
            let arrow = of(length).unwrap().arrow();
            assert_eq!(ArrayType::length_of(&arrow), Some(length));
        }
        assert_ne!(of(2).unwrap().arrow(), of(3).unwrap().arrow());
        assert!(of(0).is_none() && of(ArrayType::MAX_LENGTH + 1).is_none());
        for other in ["item", "\u{1}ARRAY[]", "\u{1}ARRAY[+3]", "\u{1}ARRAY[03]"] {
            let item = Field::new(other, DataType::Int8, true);
            let list = DataType::List(Arc::new(item));
            assert_eq!(ArrayType::length_of(&list), None, "{other}");
        }
    }

    #[test]
    fn lengths_come_back_or_are_refused() {
        let array = |item, length| ColumnType::Array(ArrayType::new(item, length).unwrap());
        let ty = array(array(ColumnType::Varchar, 2), ArrayType::MAX_LENGTH);
        let mut out = Writer::default();
        ty.write(&mut out);
        let bytes = out.into_bytes();
        assert_eq!(bytes.len(), 3 * ColumnType::SMALLEST + 8);
        assert_eq!(ColumnType::read(&mut Reader::new(&bytes)), Ok(ty));
        for len in 0..bytes.len() {
            assert!(ColumnType::read(&mut Reader::new(&bytes[..len])).is_err());
        }
        for length in [0, ArrayType::MAX_LENGTH + 1, u32::MAX] {
            let mut edited = bytes.clone();
            edited[3..7].copy_from_slice(&length.to_le_bytes());
            assert!(ColumnType::read(&mut Reader::new(&edited)).is_err());
        }
        let endless = [27, 0, 0, 1, 0, 0, 0].repeat(1 << 20);
        assert!(ColumnType::read(&mut Reader::new(&endless)).is_err());
    }
}
