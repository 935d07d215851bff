//! JSON to Arrow: a text whose field says that it is, in its metadata; the field of a list's items, in its name, since the library that
//! plans and runs queries keeps the names of these and not what their metadata says.
//!
//! What must hold: a list, struct or map of JSON is another Arrow type than one of VARCHAR.

use arrow_schema::Field;

use super::ColumnType;

/// The key of a field's metadata for what its type is beyond Arrow's.
const EXTENSION_KEY: &str = "ARROW:extension:name";
/// Arrow's canonical name for JSON in a text.
const JSON_EXTENSION: &str = "arrow.json";
/// What the name of the field of a list's items ends with where they are JSON.
const ITEM_MARK: &str = "\u{1}JSON";

/// Whether a text is known to be JSON.
pub fn is_called_json(field: &Field) -> bool {
    let name = field.metadata().get(EXTENSION_KEY);
    field.data_type().is_string() && name.is_some_and(|name| name == JSON_EXTENSION)
}

/// The field, as one of texts that are JSON.
pub fn called_json(field: Field) -> Field {
    field.with_metadata([(EXTENSION_KEY.to_owned(), JSON_EXTENSION.to_owned())].into())
}

/// Whether the items of a list are known to be JSON, by their field.
pub fn is_json_item(item: &Field) -> bool {
    item.data_type().is_string() && item.name().ends_with(ITEM_MARK)
}

/// The field of a list's items as fields are elsewhere, which say in their metadata that they are JSON.
pub fn plain_item(item: &Field) -> Field {
    match item.name().strip_suffix(ITEM_MARK) {
        Some(name) if is_json_item(item) => called_json(item.clone().with_name(name)),
        _ => item.clone(),
    }
}

/// The field of a list's items, of one that is as fields are elsewhere.
pub fn list_item(plain: Field) -> Field {
    match is_called_json(&plain) {
        true => {
            let name = item_name(plain.name(), true);
            plain.with_name(name).with_metadata([].into())
        }
        false => plain,
    }
}

/// The name of the field of items, without what says that they are JSON.
pub(super) fn name_without_json(item: &Field) -> &str {
    let name = item.name();
    name.strip_suffix(ITEM_MARK)
        .filter(|_| is_json_item(item))
        .unwrap_or(name)
}

/// The name of the field of items.
fn item_name(name: &str, is_json: bool) -> String {
    format!("{name}{}", if is_json { ITEM_MARK } else { "" })
}

/// The Arrow field of values of a type that are within others.
pub(super) fn inner_field(name: &str, ty: &ColumnType, nullable: bool) -> Field {
    let field = Field::new(name, ty.arrow(), nullable);
    match *ty == ColumnType::Json {
        true => called_json(field),
        false => field,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_schema::DataType;

    use super::super::{ArrayType, MapType};
    use super::*;
    use crate::wire::{Reader, Writer};

    fn bytes_of(ty: &ColumnType) -> Vec<u8> {
        let mut out = Writer::default();
        ty.write(&mut out);
        out.into_bytes()
    }

    fn all() -> Vec<ColumnType> {
        let list = |of| ColumnType::List(Box::new(of));
        let array = ArrayType::new(ColumnType::Json, 3).expect("a length");
        vec![
            list(ColumnType::Json),
            list(list(ColumnType::Json)),
            ColumnType::Array(array),
            ColumnType::Struct(vec![("a".into(), ColumnType::Json)]),
            ColumnType::Map(MapType::new(ColumnType::Json, ColumnType::Json)),
        ]
    }

    fn with_texts(of: &ColumnType) -> ColumnType {
        match of {
            ColumnType::Json => ColumnType::Varchar,
            ColumnType::List(item) => ColumnType::List(Box::new(with_texts(item))),
            ColumnType::Array(array) => {
                ColumnType::Array(ArrayType::new(with_texts(array.item()), 3).expect("a length"))
            }
            ColumnType::Struct(_) => ColumnType::Struct(vec![("a".into(), ColumnType::Varchar)]),
            ColumnType::Map(_) => {
                ColumnType::Map(MapType::new(ColumnType::Varchar, ColumnType::Varchar))
            }
            other => other.clone(),
        }
    }

    #[test]
    fn what_has_json_in_it_is_another_type() {
        for ty in all() {
            let texts = with_texts(&ty);
            assert_ne!(ty.arrow(), texts.arrow(), "{ty:?}");
            let bytes = bytes_of(&ty);
            assert_ne!(bytes, bytes_of(&texts), "{ty:?}");
            assert_eq!(ColumnType::read(&mut Reader::new(&bytes)), Ok(ty));
        }
    }

    /// Releases that know JSON in columns alone read the tag with zeros behind it, and refuse all else.
    #[test]
    fn json_within_others_has_bytes_of_its_own() {
        let within = [20, 0, 0, 26, 1, 0];
        assert_eq!(bytes_of(&all()[0]), within);
        for wrong in [
            [20, 0, 0, 26, 0, 0].as_slice(),
            &[26, 1, 0],
            &[20, 0, 0, 26, 2, 0],
        ] {
            assert!(
                ColumnType::read(&mut Reader::new(wrong)).is_err(),
                "{wrong:?}"
            );
        }
    }

    #[test]
    fn items_come_back_and_arrays_keep_their_length() {
        let array = ArrayType::new(ColumnType::Json, 3).map(ColumnType::Array);
        let DataType::List(item) = array.expect("a length").arrow() else {
            panic!("an array is a list");
        };
        assert!(is_json_item(&item) && !is_called_json(&item));
        assert!(is_called_json(&plain_item(&item)));
        assert_eq!(list_item(plain_item(&item)), *item);
        assert_eq!(
            ArrayType::length_of(&DataType::List(Arc::clone(&item))),
            Some(3)
        );
        let number = item.as_ref().clone().with_data_type(DataType::Int32);
        assert!(!is_json_item(&number));
    }
}
