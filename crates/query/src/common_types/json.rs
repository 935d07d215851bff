//! JSON within other types. Where types are looked at and not fields, another type stands for JSON.
//!
//! What must hold: what stands for JSON is in no plan. Of arrays only texts of some Parquet files have that type.

use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use hushdb_sql::type_names::{called_json, is_called_json};
use hushdb_storage::{is_json_item, list_item, plain_item};
use std::sync::Arc;

/// What stands for JSON: texts are in views, but for those of some files.
pub(crate) const STAND_IN: DataType = DataType::LargeUtf8;

/// Whether a type has JSON within it.
pub(crate) fn has_json_within(of: &DataType) -> bool {
    let is_json = |field: &Field| is_called_json(field) || has_json_within(field.data_type());
    match of {
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
            is_json_item(item) || has_json_within(item.data_type())
        }
        DataType::Map(entries, _) => is_json(entries),
        DataType::Struct(fields) => fields.iter().any(|field| is_json(field)),
        _ => false,
    }
}

/// A type with other fields within it.
fn with_fields(of: &DataType, change: &impl Fn(&Field) -> Field) -> DataType {
    let changed = |field: &FieldRef| Arc::new(change(field));
    let item = |item: &FieldRef| Arc::new(list_item(change(&plain_item(item))));
    match of {
        DataType::List(of) => DataType::List(item(of)),
        DataType::LargeList(of) => DataType::LargeList(item(of)),
        DataType::FixedSizeList(of, length) => DataType::FixedSizeList(item(of), *length),
        DataType::Map(entries, ordered) => DataType::Map(changed(entries), *ordered),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(changed).collect()),
        other => other.clone(),
    }
}

/// The type of a field, with what stands for JSON where it is.
pub(crate) fn stand_in(field: &Field) -> DataType {
    match is_called_json(field) {
        true => STAND_IN,
        false => with_stand_ins(field.data_type()),
    }
}

/// The same of what is within a type.
pub(crate) fn with_stand_ins(of: &DataType) -> DataType {
    if !has_json_within(of) {
        return of.clone();
    }
    with_fields(of, &|field| {
        Field::new(field.name(), stand_in(field), field.is_nullable())
    })
}

/// The field of what a function gives, with JSON where something stands for it.
pub(crate) fn field_of(name: &str, of: &DataType, nullable: bool) -> Field {
    match *of == STAND_IN {
        true => called_json(Field::new(name, DataType::Utf8View, nullable)),
        false => Field::new(name, without_stand_ins(of), nullable),
    }
}

/// The type that a function knows with what stands for JSON.
pub(crate) fn without_stand_ins(of: &DataType) -> DataType {
    match of {
        of if *of == STAND_IN => DataType::Utf8View,
        of if !of.is_nested() => of.clone(),
        of => with_fields(of, &|field| {
            let inner = field_of(field.name(), field.data_type(), field.is_nullable());
            match is_called_json(&inner) || field.metadata().is_empty() {
                true => inner,
                false => inner.with_metadata(field.metadata().clone()),
            }
        }),
    }
}

/// A type whose texts are in views: what stands for JSON is told from those of some functions and files then.
pub(crate) fn texts_in_views(of: &DataType) -> DataType {
    match of {
        DataType::LargeUtf8 => DataType::Utf8View,
        of if of.is_nested() => with_fields(of, &|field| {
            let inner = texts_in_views(field.data_type());
            field.clone().with_data_type(inner)
        }),
        other => other.clone(),
    }
}

/// The type with texts in the place of JSON.
pub(crate) fn without_json(of: &DataType) -> DataType {
    with_fields(of, &|field| {
        let inner = field
            .clone()
            .with_data_type(without_json(field.data_type()));
        match is_called_json(field) {
            true => inner.with_metadata([].into()),
            false => inner,
        }
    })
}
