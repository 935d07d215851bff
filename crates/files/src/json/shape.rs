//! What values of JSON look like, and with that, their type.
//!
//! What must hold: the fields of an object keep the order in which they first appear.

use chrono::{NaiveDate, NaiveDateTime, NaiveTime};
use datafusion::arrow::datatypes::{DataType, Field, TimeUnit};
use hushdb_query::functions::JsonPlaces;
use hushdb_sql::type_names::{called_json, named_type};
use hushdb_storage::{HUGEINT, list_item};
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

/// What the values seen so far have in common.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Shape {
    /// Nothing but NULL.
    Unknown,
    Boolean,
    Integer,
    /// Integers of which one is beyond 63 bits, and within 64.
    Wide,
    Double,
    Date,
    Timestamp,
    Time,
    Text,
    List(Box<Shape>),
    Struct(Members),
    /// Of several kinds.
    Json,
}

/// From so many members on they are found by their names' hashes: a stranger's object may have millions.
const MANY: usize = 32;

/// Members of objects, in the order in which they first appear.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Members {
    all: Vec<(String, Shape)>,
    /// Where those are that are found by name, once there are [`MANY`].
    places: HashMap<String, usize>,
}

impl Members {
    /// The member of a name; `place` is where it may be.
    fn get_mut(&mut self, name: &str, place: usize) -> Option<&mut Shape> {
        let here = self.all.get(place).is_some_and(|(known, _)| known == name);
        let place = match here {
            true => Some(place),
            false if self.places.is_empty() => self.all.iter().position(|(known, _)| known == name),
            false => self.places.get(name).copied(),
        }?;
        self.all.get_mut(place).map(|(_, shape)| shape)
    }

    /// Adds a member of a name that is not there.
    fn push(&mut self, name: String, shape: Shape) {
        match self.all.len() {
            ..MANY => {}
            MANY => {
                let names = self.all.iter().map(|(name, _)| name.clone());
                self.places = names.chain([name.clone()]).zip(0..).collect();
            }
            len => {
                self.places.insert(name.clone(), len);
            }
        }
        self.all.push((name, shape));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub(super) fn iter(&self) -> std::slice::Iter<'_, (String, Shape)> {
        self.all.iter()
    }
}

impl Shape {
    /// What both are.
    pub(super) fn merge(self, other: Self) -> Self {
        use Shape as S;
        match (self, other) {
            (S::Unknown, other) | (other, S::Unknown) => other,
            (S::List(a), S::List(b)) => S::List(Box::new(a.merge(*b))),
            (S::Struct(mut fields), S::Struct(others)) => {
                for (place, (name, shape)) in others.all.into_iter().enumerate() {
                    // Records mostly have their fields in one order.
                    match fields.get_mut(&name, place) {
                        Some(known) => {
                            let before = std::mem::replace(known, S::Unknown);
                            *known = before.merge(shape);
                        }
                        None => fields.push(name, shape),
                    }
                }
                S::Struct(fields)
            }
            (a, b) if a == b => a,
            (S::Integer, S::Wide) | (S::Wide, S::Integer) => S::Wide,
            (S::Integer | S::Wide, S::Double) | (S::Double, S::Integer | S::Wide) => S::Double,
            (S::Date, S::Timestamp) | (S::Timestamp, S::Date) => S::Timestamp,
            (
                S::Date | S::Timestamp | S::Time | S::Text,
                S::Date | S::Timestamp | S::Time | S::Text,
            ) => S::Text,
            _ => S::Json,
        }
    }

    /// The same with JSON for what is within so many values.
    pub(super) fn within(self, depth: usize) -> Self {
        let Some(depth) = depth.checked_sub(1) else {
            return Self::Json;
        };
        match self {
            Self::List(item) => Self::List(Box::new(item.within(depth))),
            Self::Struct(mut fields) => {
                for (_, shape) in &mut fields.all {
                    *shape = std::mem::replace(shape, Self::Unknown).within(depth);
                }
                Self::Struct(fields)
            }
            other => other,
        }
    }

    /// Columns that it takes: values that are no objects, and lists.
    pub(super) fn columns(&self) -> usize {
        match self {
            Self::Struct(fields) => fields.iter().map(|(_, shape)| shape.columns()).sum(),
            Self::List(item) => 1 + item.columns(),
            _ => 1,
        }
    }

    /// The type of values of this shape.
    pub(super) fn arrow(&self) -> DataType {
        match self {
            Self::Unknown | Self::Text | Self::Json => DataType::Utf8View,
            Self::Boolean => DataType::Boolean,
            Self::Integer => DataType::Int64,
            Self::Wide => HUGEINT,
            Self::Double => DataType::Float64,
            Self::Date => DataType::Date32,
            Self::Timestamp => DataType::Timestamp(TimeUnit::Microsecond, None),
            Self::Time => DataType::Time64(TimeUnit::Microsecond),
            // A struct has members.
            Self::Struct(fields) if fields.is_empty() => {
                named_type("MAP(VARCHAR, JSON)").map_or(DataType::Utf8View, |map| map.arrow())
            }
            Self::List(item) => {
                let item = item.field(Field::LIST_FIELD_DEFAULT_NAME);
                DataType::List(Arc::new(list_item(item)))
            }
            Self::Struct(fields) => {
                let field = |(name, shape): &(String, Self)| shape.field(name);
                DataType::Struct(fields.iter().map(field).collect())
            }
        }
    }

    /// A field of values of this shape.
    pub(super) fn field(&self, name: &str) -> Field {
        let field = Field::new(name, self.arrow(), true);
        match self {
            Self::Unknown | Self::Json => called_json(field),
            _ => field,
        }
    }

    /// Where values are kept as JSON.
    pub(super) fn json_places(&self) -> JsonPlaces {
        match self {
            Self::Unknown | Self::Json => JsonPlaces::Here,
            Self::List(item) => JsonPlaces::items(item.json_places()),
            Self::Struct(fields) if fields.is_empty() => JsonPlaces::values(JsonPlaces::Here),
            Self::Struct(fields) => {
                let members = fields.iter();
                JsonPlaces::members(members.map(|(name, of)| (name.clone(), of.json_places())))
            }
            Self::Boolean
            | Self::Integer
            | Self::Wide
            | Self::Double
            | Self::Date
            | Self::Timestamp
            | Self::Time
            | Self::Text => JsonPlaces::Nowhere,
        }
    }

    fn of_text(text: &str) -> Self {
        if text.len() >= 8
            && text.as_bytes().get(2) == Some(&b':')
            && NaiveTime::parse_from_str(text, "%H:%M:%S%.f").is_ok()
        {
            return Self::Time;
        }
        // Most text is told from a date by its fifth byte.
        if text.as_bytes().get(4) != Some(&b'-') {
            return Self::Text;
        }
        let moment = |form| NaiveDateTime::parse_from_str(text, form).is_ok();
        if text.len() == 10 && NaiveDate::parse_from_str(text, "%Y-%m-%d").is_ok() {
            Self::Date
        } else if moment("%Y-%m-%d %H:%M:%S%.f") || moment("%Y-%m-%dT%H:%M:%S%.f") {
            Self::Timestamp
        } else {
            Self::Text
        }
    }
}

impl<'de> Deserialize<'de> for Shape {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Values)
    }
}

struct Values;

impl<'de> Visitor<'de> for Values {
    type Value = Shape;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Shape, E> {
        Ok(Shape::Unknown)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Shape, E> {
        Ok(Shape::Boolean)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Shape, E> {
        Ok(Shape::Integer)
    }

    fn visit_u64<E>(self, value: u64) -> Result<Shape, E> {
        Ok(match i64::try_from(value) {
            Ok(_) => Shape::Integer,
            Err(_) => Shape::Wide,
        })
    }

    fn visit_f64<E>(self, _: f64) -> Result<Shape, E> {
        Ok(Shape::Double)
    }

    fn visit_str<E>(self, text: &str) -> Result<Shape, E> {
        Ok(Shape::of_text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Shape, A::Error> {
        let mut shape = Shape::Unknown;
        while let Some(item) = items.next_element::<Shape>()? {
            shape = shape.merge(item);
        }
        Ok(Shape::List(Box::new(shape)))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Shape, A::Error> {
        let mut fields = Members::default();
        while let Some((name, shape)) = members.next_entry::<String, Shape>()? {
            match fields.get_mut(&name, usize::MAX) {
                // Said twice, the last one counts.
                Some(known) => *known = shape,
                None => fields.push(name, shape),
            }
        }
        Ok(Shape::Struct(fields))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(json: &str) -> Shape {
        serde_json::from_str(json).expect("JSON")
    }

    fn members(all: Vec<(&str, Shape)>) -> Shape {
        let mut members = Members::default();
        for (name, shape) in all {
            members.push(name.into(), shape);
        }
        Shape::Struct(members)
    }

    #[test]
    fn shapes_of_records_add_up() {
        let first = shape(r#"{"b": 1, "a": null, "l": [], "d": "2020-01-01"}"#);
        let second = shape(
            r#"{"a": {"x": true}, "b": 1.5, "l": [1], "d": "2020-01-01 10:00:00", "n": "x"}"#,
        );
        let expected = vec![
            ("b", Shape::Double),
            ("a", members(vec![("x", Shape::Boolean)])),
            ("l", Shape::List(Box::new(Shape::Integer))),
            ("d", Shape::Timestamp),
            ("n", Shape::Text),
        ];
        assert_eq!(first.merge(second), members(expected));
    }

    #[test]
    fn very_many_members_in_another_order_are_merged_in_no_time() {
        let object = |names: &mut dyn Iterator<Item = u32>| {
            let members: Vec<String> = names.map(|name| format!("\"k{name}\": 1")).collect();
            shape(&format!("{{{}}}", members.join(",")))
        };
        let began = std::time::Instant::now();
        let first = object(&mut (0..100_000));
        let merged = first.clone().merge(object(&mut (0..100_001).rev()));
        assert_eq!((first.columns(), merged.columns()), (100_000, 100_001));
        assert!(began.elapsed().as_secs() < 20);
    }

    #[test]
    fn what_is_of_several_kinds_is_json() {
        let first = shape(r#"{"a": {"b": [1]}, "c": 1, "d": true, "e": null}"#);
        let second = shape(r#"{"a": {"b": 1}, "c": "x", "d": true, "e": null}"#);
        let merged = first.merge(second);
        let expected = vec![
            ("a", members(vec![("b", Shape::Json)])),
            ("c", Shape::Json),
            ("d", Shape::Boolean),
            ("e", Shape::Unknown),
        ];
        assert_eq!(merged, members(expected));
        assert_eq!(shape("[1, [1]]"), Shape::List(Box::new(Shape::Json)));
        let here = |name: &str| (name.to_owned(), JsonPlaces::Here);
        let within = JsonPlaces::members([here("b")].into_iter());
        let all = [("a".to_owned(), within), here("c"), here("e")];
        assert_eq!(merged.json_places(), JsonPlaces::members(all.into_iter()));
    }

    #[test]
    fn texts_are_dates_only_if_they_are() {
        for (text, expected) in [
            ("2020-02-29", Shape::Date),
            ("2021-02-29", Shape::Text),
            ("2020-02-29T01:02:03.5", Shape::Timestamp),
            ("2020-2-9", Shape::Text),
            ("1234-", Shape::Text),
        ] {
            assert_eq!(Shape::of_text(text), expected, "{text}");
        }
    }
}
