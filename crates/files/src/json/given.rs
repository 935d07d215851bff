//! Columns that were given: how they are read, where they have values that are kept as JSON, and where dates in a format.

use datafusion::arrow::datatypes::{DataType, Field, Fields, Schema, SchemaRef, TimeUnit};
use hushdb_query::functions::{JsonPlaces, Kept, MomentForm, MomentPlaces};
use hushdb_sql::type_names::arrow_field;
use hushdb_storage::{ColumnType, Values};
use std::sync::Arc;

/// Columns as they are read.
pub(super) fn schema_for<'a>(
    columns: impl Iterator<Item = (&'a str, &'a ColumnType)>,
) -> SchemaRef {
    let fields = columns.map(
        |(name, ty)| match *ty == ColumnType::Json || has_union(ty) {
            true => arrow_field(name, &ColumnType::Json, true),
            false => Field::new(name, read_as(ty), true),
        },
    );
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

/// Whether there are unions in values: such columns are read as JSON, which a CAST makes values of.
fn has_union(ty: &ColumnType) -> bool {
    if matches!(ty, ColumnType::Union(_)) {
        return true;
    }
    match ty.properties().values {
        Values::List(item) | Values::Map(item) => has_union(item),
        Values::Struct(fields) => fields.iter().any(|(_, ty)| has_union(ty)),
        Values::Bits | Values::Fixed(_) | Values::Text | Values::Bytes => false,
    }
}

/// Where records of such columns have values that are kept as JSON.
pub(super) fn places_in<'a>(
    columns: impl Iterator<Item = (&'a str, &'a ColumnType)>,
) -> JsonPlaces {
    JsonPlaces::members(columns.map(|(name, ty)| (name.to_owned(), json_places(ty))))
}

fn json_places(ty: &ColumnType) -> JsonPlaces {
    if has_union(ty) {
        return JsonPlaces::Here(Kept::All);
    }
    match ty {
        ColumnType::Json | ColumnType::Union(_) => JsonPlaces::Here(Kept::All),
        ColumnType::List(item) => JsonPlaces::items(json_places(item)),
        ColumnType::Array(array) => JsonPlaces::items(json_places(array.item())),
        ColumnType::Struct(fields) => {
            places_in(fields.iter().map(|(name, ty)| (name.as_str(), ty)))
        }
        ColumnType::Map(map) => {
            let value = map.parts().nth(1).map(json_places);
            JsonPlaces::values(value.unwrap_or(JsonPlaces::Nowhere))
        }
        ColumnType::Boolean
        | ColumnType::Int8
        | ColumnType::Int16
        | ColumnType::Int32
        | ColumnType::Int64
        | ColumnType::UInt8
        | ColumnType::UInt16
        | ColumnType::UInt32
        | ColumnType::UInt64
        | ColumnType::HugeInt
        | ColumnType::UHugeInt
        | ColumnType::Float
        | ColumnType::Double
        | ColumnType::Decimal { .. }
        | ColumnType::Varchar
        | ColumnType::Collated(_)
        | ColumnType::Blob
        | ColumnType::Date
        | ColumnType::Time
        | ColumnType::Timestamp(..)
        | ColumnType::Interval
        | ColumnType::Uuid
        | ColumnType::TimeTz
        | ColumnType::Bit
        | ColumnType::Enum(_) => JsonPlaces::Nowhere,
    }
}

/// The type in which values of a column's type are read.
fn read_as(ty: &ColumnType) -> DataType {
    match ty {
        ColumnType::Blob
        | ColumnType::Uuid
        | ColumnType::TimeTz
        | ColumnType::Bit
        | ColumnType::Interval
        | ColumnType::Enum(_)
        | ColumnType::HugeInt
        | ColumnType::UHugeInt
        | ColumnType::Union(_) => DataType::Utf8View,
        ColumnType::List(item) => {
            DataType::List(Arc::new(Field::new_list_field(read_as(item), true)))
        }
        // A cast checks how long it is.
        ColumnType::Array(array) => {
            DataType::List(Arc::new(Field::new_list_field(read_as(array.item()), true)))
        }
        ColumnType::Struct(fields) => {
            let fields = fields.iter();
            let fields = fields.map(|(name, ty)| Field::new(name, read_as(ty), true));
            DataType::Struct(fields.collect())
        }
        ColumnType::Map(map) => {
            // The names of an object's values are texts.
            let value = map.parts().nth(1).map_or(DataType::Utf8View, read_as);
            let fields = vec![
                Field::new("key", DataType::Utf8View, false),
                Field::new("value", value, true),
            ];
            let entry = DataType::Struct(fields.into());
            DataType::Map(Arc::new(Field::new("entries", entry, false)), false)
        }
        ColumnType::Boolean
        | ColumnType::Int8
        | ColumnType::Int16
        | ColumnType::Int32
        | ColumnType::Int64
        | ColumnType::UInt8
        | ColumnType::UInt16
        | ColumnType::UInt32
        | ColumnType::UInt64
        | ColumnType::Float
        | ColumnType::Double
        | ColumnType::Decimal { .. }
        | ColumnType::Varchar
        | ColumnType::Json
        | ColumnType::Collated(_)
        | ColumnType::Date
        | ColumnType::Time
        | ColumnType::Timestamp(..) => ty.arrow(),
    }
}

/// The same places, and all that are texts, where lists and objects are kept as JSON.
pub(super) fn with_nested_texts(fields: &Fields, places: &JsonPlaces) -> JsonPlaces {
    let fields = fields.iter().map(|field| {
        let places = places.of_member(field.name());
        (field.name().clone(), nested_in(field.data_type(), places))
    });
    JsonPlaces::members(fields)
}

fn nested_in(ty: &DataType, places: &JsonPlaces) -> JsonPlaces {
    match (places, ty) {
        (JsonPlaces::Here(_), _) => places.clone(),
        (_, DataType::Utf8View) => JsonPlaces::Here(Kept::Nested),
        (_, DataType::List(item)) => {
            JsonPlaces::items(nested_in(item.data_type(), places.of_items()))
        }
        (_, DataType::Struct(fields)) => with_nested_texts(fields, places),
        (_, DataType::Map(entry, _)) => match entry.data_type() {
            DataType::Struct(entry) => match entry.last() {
                Some(value) => JsonPlaces::values(nested_in(value.data_type(), places.of_values())),
                None => JsonPlaces::Nowhere,
            },
            _ => JsonPlaces::Nowhere,
        },
        _ => places.clone(),
    }
}

/// Formats that were given for all dates and points in time.
#[derive(Clone, Default)]
pub(super) struct MomentForms {
    pub(super) date: Option<MomentForm>,
    pub(super) moment: Option<MomentForm>,
}

impl MomentForms {
    /// Where records of such columns have values in these formats.
    pub(super) fn places<'a>(
        &self,
        columns: impl Iterator<Item = (&'a str, &'a ColumnType)>,
    ) -> MomentPlaces {
        MomentPlaces::members(columns.map(|(name, ty)| (name.to_owned(), self.places_of(ty))))
    }

    fn places_of(&self, ty: &ColumnType) -> MomentPlaces {
        let here = |form: &Option<MomentForm>| match form {
            Some(form) => MomentPlaces::Here(form.clone()),
            None => MomentPlaces::Nowhere,
        };
        // What is read as JSON is cast later.
        if has_union(ty) {
            return MomentPlaces::Nowhere;
        }
        match ty {
            ColumnType::Date => here(&self.date),
            ColumnType::Timestamp(TimeUnit::Microsecond, false) => here(&self.moment),
            ColumnType::Array(array) => MomentPlaces::items(self.places_of(array.item())),
            ColumnType::Map(map) => {
                let value = map.parts().nth(1).map(|value| self.places_of(value));
                MomentPlaces::values(value.unwrap_or(MomentPlaces::Nowhere))
            }
            ColumnType::Struct(fields) => {
                self.places(fields.iter().map(|(name, ty)| (name.as_str(), ty)))
            }
            ty => match ty.properties().values {
                Values::List(item) => MomentPlaces::items(self.places_of(item)),
                _ => MomentPlaces::Nowhere,
            },
        }
    }
}
