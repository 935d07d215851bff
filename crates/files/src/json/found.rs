//! The types that a file's values have, of what they look like: an object is a STRUCT, or a MAP where names are many and their values
//! alike, or where few of the objects have each of them.
//!
//! What must hold: finding them takes a number of steps that is bounded, whatever the file.

use super::shape::{Members, Shape};
use super::text_kinds::{TextKind, TextKinds};
use datafusion::arrow::datatypes::{Field, TimeUnit};
use hushdb_query::functions::{JsonPlaces, Kept, MomentForm, MomentPlaces};
use hushdb_sql::type_names::arrow_field;
use hushdb_sql::{Error, Result};
use hushdb_storage::{ColumnType, MapType};
use std::cell::Cell;
use std::collections::HashMap;

/// What all values in a place are.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Found {
    /// Nothing but NULL.
    Null,
    Boolean,
    Integer,
    Wide,
    Double,
    Time,
    Uuid,
    Date(MomentForm),
    Timestamp(MomentForm),
    Text,
    Json,
    List(Box<Found>),
    Struct(Vec<(String, Found)>),
    /// From names to values of a type.
    Map(Box<Found>),
}

/// How alike types are on average of which one MAP is made, where 1 is the same.
const ALIKE: f64 = 0.8;
/// Values that are looked at, at most.
const MOST_STEPS: usize = 5_000_000;

/// What decides.
pub(super) struct Finder {
    texts: TextKinds,
    /// What is within so many values is JSON.
    depth: usize,
    /// Objects of so many names are maps, if the values are alike.
    map_from: usize,
    /// Objects are maps if a name is in a smaller part of them on average.
    appearance: f64,
    /// An object that has a member twice is read, too.
    takes_twice: bool,
    steps: Cell<usize>,
}

impl Finder {
    pub(super) fn new(texts: TextKinds, depth: usize, map_from: usize, appearance: f64) -> Self {
        Self {
            texts,
            depth,
            map_from,
            appearance,
            takes_twice: false,
            steps: Cell::new(0),
        }
    }

    /// The same for objects that may have a member twice, or not.
    pub(super) fn taking_twice(self, takes_twice: bool) -> Self {
        Self {
            takes_twice,
            ..self
        }
    }

    pub(super) fn texts(&self) -> &TextKinds {
        &self.texts
    }

    /// The type of values that look like this.
    ///
    /// # Errors
    /// `InvalidInput` when it would take too long to find, and where a struct would be made of an object that has a member twice.
    pub(super) fn found(&self, shape: &Shape) -> Result<Found> {
        self.within(shape, 0, &Found::Json)
    }

    /// The type of values within so many others, where `null` is that of values of which nothing is known.
    fn within(&self, shape: &Shape, depth: usize, null: &Found) -> Result<Found> {
        self.step(1)?;
        if depth >= self.depth {
            return Ok(Found::Json);
        }
        Ok(match shape {
            Shape::Unknown => null.clone(),
            Shape::Boolean => Found::Boolean,
            Shape::Integer => Found::Integer,
            Shape::Wide => Found::Wide,
            Shape::Double => Found::Double,
            Shape::Json => Found::Json,
            Shape::Text(fits) => match self.texts.found(*fits) {
                TextKind::Time => Found::Time,
                TextKind::Date(form) => Found::Date(form),
                TextKind::Timestamp(form) => Found::Timestamp(form),
                TextKind::Integer => Found::Integer,
                TextKind::Uuid => Found::Uuid,
                TextKind::Text => Found::Text,
            },
            Shape::List(item) => Found::List(Box::new(self.within(item, depth + 1, null)?)),
            Shape::Struct(members) => self.object(members, depth, null)?,
        })
    }

    fn object(&self, members: &Members, depth: usize, null: &Found) -> Result<Found> {
        let names = members.iter().len();
        if names == 0 {
            return Ok(Found::Map(Box::new(null.clone())));
        }
        #[expect(clippy::cast_precision_loss, reason = "it is compared with a share")]
        let is_rare = {
            let share = |times: u64| times as f64 / members.objects() as f64;
            let shares: f64 = members.iter().map(|member| share(member.times)).sum();
            shares / (names as f64) < self.appearance
        };
        if is_rare {
            return Ok(Found::Map(Box::new(self.value(members, depth, null)?)));
        }
        let fields = members.iter().map(|member| {
            let found = self.within(&member.shape, depth + 1, null)?;
            Ok((member.name.clone(), found))
        });
        let fields = fields.collect::<Result<Vec<_>>>()?;
        if names >= self.map_from {
            let value = self.value(members, depth, &Found::Null)?;
            let types = fields.iter().map(|(_, found)| found);
            if self.average(types, &|found| self.likeness(&value, found, depth + 1)) >= ALIKE {
                let value = match null {
                    Found::Null => value,
                    _ => value.or_json(),
                };
                return Ok(Found::Map(Box::new(value)));
            }
        }
        match members.is_twice() && !self.takes_twice {
            false => Ok(Found::Struct(fields)),
            true => Err(Error::invalid(
                "an object has a member twice; ignore_errors = true reads the first of them, maximum_depth = 1 objects within records as JSON",
            )),
        }
    }

    /// The type of the values of a map. A map counts for two of the depth.
    fn value(&self, members: &Members, depth: usize, null: &Found) -> Result<Found> {
        let mut value = Shape::Unknown;
        for member in members.iter() {
            self.step(member.shape.columns())?;
            value = value.merge(member.shape.clone());
        }
        self.within(&value, depth + 2, null)
    }

    fn step(&self, steps: usize) -> Result<()> {
        self.steps.set(self.steps.get().saturating_add(steps));
        match self.steps.get() > MOST_STEPS {
            false => Ok(()),
            true => Err(Error::invalid(
                "objects of very many names are within one another; set map_inference_threshold = -1, or maximum_depth",
            )),
        }
    }

    /// How alike several are, or that one is not at all.
    fn average<'a>(
        &self,
        types: impl ExactSizeIterator<Item = &'a Found>,
        likeness: &dyn Fn(&Found) -> f64,
    ) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "it is an average")]
        let count = types.len() as f64;
        let mut sum = 0.0;
        for found in types {
            let own = likeness(found);
            if own < 0.0 {
                return own;
            }
            sum += own;
        }
        sum / count
    }

    /// How alike one type is to what it became together with others; negative if it is not at all.
    fn likeness(&self, merged: &Found, own: &Found, depth: usize) -> f64 {
        use Found as F;
        match (merged, own) {
            _ if depth >= self.depth => 1.0,
            (F::Null, _) | (_, F::Null) => 1.0,
            (F::Json, _) => -1.0,
            (_, F::Json) => 1.0,
            _ if merged == own => 1.0,
            (F::Struct(fields), F::Map(value)) => {
                let fields = fields.iter().map(|(_, found)| found);
                self.average(fields, &|found| self.likeness(found, value, depth + 1))
            }
            (F::Map(value), F::Struct(fields)) => {
                let fields = fields.iter().map(|(_, found)| found);
                self.average(fields, &|found| self.likeness(value, found, depth + 1))
            }
            (F::Map(merged), F::Map(own)) | (F::List(merged), F::List(own)) => {
                self.likeness(merged, own, depth + 1)
            }
            (F::Struct(merged), F::Struct(own)) => self.structs(merged, own, depth),
            _ => 1.0,
        }
    }

    /// How many of the members of all objects those of one have, and how alike these are.
    fn structs(&self, merged: &[(String, Found)], own: &[(String, Found)], depth: usize) -> f64 {
        let names = merged.iter().map(|(name, found)| (name.as_str(), found));
        let names: HashMap<&str, &Found> = names.collect();
        let mut sum = 0.0;
        for (name, found) in own {
            let Some(merged) = names.get(name.as_str()) else {
                return -1.0;
            };
            let likeness = self.likeness(merged, found, depth + 1);
            if likeness < 0.0 {
                return likeness;
            }
            sum += likeness;
        }
        #[expect(clippy::cast_precision_loss, reason = "it is an average")]
        let count = merged.len() as f64;
        sum / count
    }
}

impl Found {
    /// The same with JSON where nothing is known.
    fn or_json(self) -> Self {
        match self {
            Self::Null => Self::Json,
            Self::List(item) => Self::List(Box::new(item.or_json())),
            Self::Map(value) => Self::Map(Box::new(value.or_json())),
            Self::Struct(fields) => {
                let fields = fields.into_iter();
                Self::Struct(
                    fields
                        .map(|(name, found)| (name, found.or_json()))
                        .collect(),
                )
            }
            other => other,
        }
    }

    fn column_type(&self) -> ColumnType {
        match self {
            Self::Null | Self::Json => ColumnType::Json,
            Self::Boolean => ColumnType::Boolean,
            Self::Integer => ColumnType::Int64,
            Self::Wide => ColumnType::HugeInt,
            Self::Double => ColumnType::Double,
            Self::Time => ColumnType::Time,
            Self::Uuid => ColumnType::Uuid,
            Self::Date(_) => ColumnType::Date,
            Self::Timestamp(_) => ColumnType::Timestamp(TimeUnit::Microsecond, false),
            Self::Text => ColumnType::Varchar,
            Self::List(item) => ColumnType::List(Box::new(item.column_type())),
            Self::Map(value) => {
                ColumnType::Map(MapType::new(ColumnType::Varchar, value.column_type()))
            }
            Self::Struct(fields) => {
                let fields = fields.iter();
                let fields = fields.map(|(name, found)| (name.clone(), found.column_type()));
                ColumnType::Struct(fields.collect())
            }
        }
    }

    /// A field of values of this type.
    pub(super) fn field(&self, name: &str) -> Field {
        arrow_field(name, &self.column_type(), true)
    }

    /// Columns that it takes: values that are no objects, and lists.
    pub(super) fn columns(&self) -> usize {
        match self {
            Self::Struct(fields) => fields.iter().map(|(_, found)| found.columns()).sum(),
            Self::List(item) | Self::Map(item) => 1 + item.columns(),
            _ => 1,
        }
    }

    /// Where values are kept as JSON.
    pub(super) fn json_places(&self) -> JsonPlaces {
        match self {
            Self::Null | Self::Json => JsonPlaces::Here(Kept::All),
            Self::List(item) => JsonPlaces::items(item.json_places()),
            Self::Map(value) => JsonPlaces::values(value.json_places()),
            Self::Struct(fields) => {
                let fields = fields.iter();
                JsonPlaces::members(fields.map(|(name, of)| (name.clone(), of.json_places())))
            }
            _ => JsonPlaces::Nowhere,
        }
    }

    /// Where dates and points in time are in a format.
    pub(super) fn moment_places(&self) -> MomentPlaces {
        match self {
            Self::Date(form) | Self::Timestamp(form) => MomentPlaces::Here(form.clone()),
            Self::List(item) => MomentPlaces::items(item.moment_places()),
            Self::Map(value) => MomentPlaces::values(value.moment_places()),
            Self::Struct(fields) => {
                let fields = fields.iter();
                MomentPlaces::members(fields.map(|(name, of)| (name.clone(), of.moment_places())))
            }
            _ => MomentPlaces::Nowhere,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::shape::Values;
    use super::*;

    fn found(json: &str, map_from: usize, appearance: f64) -> Result<ColumnType> {
        let texts = TextKinds::new(None, None, false).expect("formats");
        let finder = Finder::new(texts, usize::MAX, map_from, appearance);
        let shape = Values(finder.texts()).shape(json).expect("JSON");
        finder.found(&shape).map(|found| found.column_type())
    }

    fn name(json: &str, map_from: usize) -> String {
        let ty = found(json, map_from, 0.1).expect("it is found");
        hushdb_sql::type_names::column_type_name(&ty)
    }

    #[test]
    fn objects_of_values_that_are_alike_are_maps() {
        for (json, expected) in [
            (r#"{"x": 1, "y": 2.5}"#, "MAP(VARCHAR, DOUBLE)"),
            (r#"{"x": 1, "y": "s"}"#, "STRUCT(x BIGINT, y VARCHAR)"),
            (r#"{"x": null, "y": null}"#, "MAP(VARCHAR, JSON)"),
            (
                r#"{"x": {"k": 1}, "y": {"k": 2}}"#,
                "MAP(VARCHAR, STRUCT(k BIGINT))",
            ),
            (
                r#"{"x": {"k": 1}, "y": {"l": 2}}"#,
                "MAP(VARCHAR, MAP(VARCHAR, BIGINT))",
            ),
            (
                r#"{"x": {}, "y": {"k": 1}}"#,
                "MAP(VARCHAR, STRUCT(k BIGINT))",
            ),
            (r#"[{"x": 1}]"#, "STRUCT(x BIGINT)[]"),
            ("{}", "MAP(VARCHAR, JSON)"),
        ] {
            assert_eq!(name(json, 2), expected, "{json}");
        }
    }

    #[test]
    fn maps_within_maps_are_found_in_bounded_time() {
        let deep = (0..100).fold("1".to_owned(), |within, _| format!("{{\"a\": {within}}}"));
        assert!(found(&deep, 1, 0.1).is_err());
        assert!(found(&deep, 2, 0.1).is_ok());
    }
}
