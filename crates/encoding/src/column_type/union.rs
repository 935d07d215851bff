//! `UnionType`: the type of a UNION, a value of which is one of its members.
//!
//! What must hold: a union has one to 256 members, as many as a tag of one byte tells apart. In memory a value is a struct of its tag and of all
//! members, NULL but for the one that it is; the field of the tag has the name [`MARK`], which no user's field begins with.
//! Refuses: on reading, more members than there may be. Their names are told apart as those of a struct are. Whoever reads or writes values asks
//! [`UnionType::is_sound`].

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt8Type;
use arrow_array::{Array, StructArray};
use arrow_schema::{DataType, FieldRef, Fields};

use super::ColumnType;

/// The name of the field of tags.
const MARK: &str = "\u{1}UNION";

/// The names and types of what a UNION may be.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct UnionType {
    /// The field of the tag, and the members.
    parts: Arc<[(String, ColumnType)]>,
}

impl UnionType {
    /// The most members that a UNION has.
    pub const MAX_MEMBERS: usize = 256;

    /// A UNION of these members; `None` if there are none, or too many.
    pub fn new(members: Vec<(String, ColumnType)>) -> Option<Self> {
        (1..=Self::MAX_MEMBERS).contains(&members.len()).then(|| {
            let tag = (MARK.to_owned(), ColumnType::UInt8);
            Self {
                parts: std::iter::once(tag).chain(members).collect(),
            }
        })
    }

    /// The members, in the order of their tags, which begin with 0.
    pub fn members(&self) -> &[(String, ColumnType)] {
        self.parts.get(1..).unwrap_or_default()
    }

    /// The fields of the struct that a value is: its tag, and the members.
    pub fn parts(&self) -> &[(String, ColumnType)] {
        &self.parts
    }

    /// The members of the UNION that a type stands for, if it does.
    pub fn members_of(of: &DataType) -> Option<&[FieldRef]> {
        let DataType::Struct(fields) = of else {
            return None;
        };
        let (tag, members) = fields.split_first()?;
        let is_tag = tag.name() == MARK && tag.data_type() == &DataType::UInt8;
        (is_tag && !members.is_empty()).then_some(members)
    }

    /// Whether a struct is one of any fields, or a UNION each value of which is the member that its tag names, and no other.
    pub fn is_sound(array: &StructArray) -> bool {
        let Some(members) = Self::members_of(array.data_type()) else {
            return true;
        };
        let Some((tags, columns)) = array.columns().split_first() else {
            return false;
        };
        let tags = tags.as_primitive::<UInt8Type>();
        let tag = |row: usize| tags.is_valid(row).then(|| usize::from(tags.value(row)));
        let is_there = |row: &usize| array.is_valid(*row);
        let mut rows = (0..array.len()).filter(is_there);
        rows.all(|row| tag(row).is_some_and(|tag| tag < members.len()))
            && columns.iter().enumerate().all(|(member, column)| {
                let nulls = column.logical_nulls();
                let is_null = |row| nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
                let mut rows = (0..array.len()).filter(is_there);
                rows.all(|row| is_null(row) || tag(row) == Some(member))
            })
    }

    /// The fields of a UNION of these members.
    pub fn fields(members: impl IntoIterator<Item = FieldRef>) -> Fields {
        let tag = ColumnType::struct_fields(&[(MARK.to_owned(), ColumnType::UInt8)]);
        tag.iter().cloned().chain(members).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{Reader, Writer};

    fn members(count: usize) -> Vec<(String, ColumnType)> {
        let member = |n: usize| (n.to_string(), ColumnType::Int8);
        (0..count).map(member).collect()
    }

    #[test]
    fn a_union_is_known_by_its_arrow_type() {
        let union = UnionType::new(members(3)).unwrap();
        let arrow = ColumnType::Union(union.clone()).arrow();
        let found = UnionType::members_of(&arrow).unwrap();
        let names: Vec<_> = found.iter().map(|field| field.name().as_str()).collect();
        assert_eq!(names, ["0", "1", "2"]);
        let fields = UnionType::fields(found.iter().cloned());
        assert_eq!(DataType::Struct(fields), arrow);
        let plain = ColumnType::Struct(union.members().to_vec()).arrow();
        assert_eq!(UnionType::members_of(&plain), None);
        assert!(UnionType::new(vec![]).is_none());
        assert!(UnionType::new(members(UnionType::MAX_MEMBERS + 1)).is_none());
    }

    #[test]
    fn members_come_back_or_are_refused() {
        let most = UnionType::new(members(UnionType::MAX_MEMBERS)).unwrap();
        let few = UnionType::new(vec![
            ("num".into(), ColumnType::Int32),
            (
                "u".into(),
                ColumnType::Union(UnionType::new(members(1)).unwrap()),
            ),
        ]);
        for union in [most, few.unwrap()] {
            let ty = ColumnType::Union(union);
            let mut out = Writer::default();
            ty.write(&mut out);
            let bytes = out.into_bytes();
            assert_eq!(ColumnType::read(&mut Reader::new(&bytes)), Ok(ty));
            for len in 0..bytes.len() {
                assert!(ColumnType::read(&mut Reader::new(&bytes[..len])).is_err());
            }
        }
        let mut twice = members(2);
        twice[1].0 = "0".into();
        let empty = [28, 0, 0, 0, 0, 0, 0].to_vec();
        let structs = |count| {
            let mut out = Writer::default();
            ColumnType::Struct(members(count)).write(&mut out);
            let mut bytes = out.into_bytes();
            bytes[0] = 28;
            bytes
        };
        let mut out = Writer::default();
        ColumnType::Union(UnionType::new(twice).unwrap()).write(&mut out);
        for bytes in [empty, structs(257), out.into_bytes()] {
            assert!(ColumnType::read(&mut Reader::new(&bytes)).is_err());
        }
        let endless = b"\x1c\0\0\x01\0\0\0\x01\0\0\0a".repeat(1 << 18);
        assert!(ColumnType::read(&mut Reader::new(&endless)).is_err());
    }
}
