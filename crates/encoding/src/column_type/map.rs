//! `MapType`: the type of a MAP, which lies in files as the list of its entries.

use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef};

use super::ColumnType;
use super::json::inner_field;

/// The types of a MAP's keys and values.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MapType {
    /// A struct of a key and a value.
    entry: Box<ColumnType>,
}

impl MapType {
    /// The type of maps from keys of a type to values of a type.
    pub fn new(key: ColumnType, value: ColumnType) -> Self {
        let fields = vec![("key".to_owned(), key), ("value".to_owned(), value)];
        Self {
            entry: Box::new(ColumnType::Struct(fields)),
        }
    }

    /// What a map is a list of: a struct of the key, which is never NULL, and the value.
    pub fn entry(&self) -> &ColumnType {
        &self.entry
    }

    /// The types of key and value, in this order.
    pub fn parts(&self) -> impl Iterator<Item = &ColumnType> {
        let fields = if let ColumnType::Struct(fields) = self.entry.as_ref() {
            fields.as_slice()
        } else {
            &[]
        };
        fields.iter().map(|(_, ty)| ty)
    }

    /// What a map is to Arrow.
    pub(super) fn arrow(&self) -> DataType {
        DataType::Map(self.entries_field(), false)
    }

    /// The Arrow field of a map's entries, with names that Arrow's specification recommends.
    fn entries_field(&self) -> FieldRef {
        let fields = ["key", "value"].into_iter().zip(self.parts());
        let fields = fields.map(|(name, ty)| inner_field(name, ty, name == "value"));
        let entry = DataType::Struct(fields.collect());
        Arc::new(Field::new("entries", entry, false))
    }
}
