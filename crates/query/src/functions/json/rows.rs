//! `json_each(json, path)` and `json_tree(json, path)`: the values in a JSON value, a row each.
//!
//! What must hold: what is made of names and paths is counted before it is there, since paths repeat what is above them.

use super::super::room::Room;
use super::super::whole::{Call, Whole, list_of, listed, registered};
use super::path::Path;
use super::value::{Kind, Value};
use crate::heed::check;
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, StringViewBuilder, StructArray, UInt64Builder,
};
use datafusion::arrow::datatypes::{DataType, Field, Fields};
use datafusion::common::Result;
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::logical_expr::ScalarUDF;
use hushdb_sql::type_names::called_json;
use hushdb_sql::{Error, JSON_EACH, JSON_TREE};
use std::sync::Arc;

/// Values between two looks at the statement.
const LOOK_VALUES: u64 = 1024;
/// What a row takes beside its texts.
const ROW_BYTES: usize = 160;

pub(super) fn all(memory: &Arc<dyn MemoryPool>) -> Vec<Arc<ScalarUDF>> {
    let functions: [Whole; 2] = [
        (
            &[JSON_EACH],
            json_and_path,
            |_, _| Some(list_of(DataType::Struct(fields()))),
            |call, room| rows(call, room, false),
        ),
        (
            &[JSON_TREE],
            json_and_path,
            |_, _| Some(list_of(DataType::Struct(fields()))),
            |call, room| rows(call, room, true),
        ),
    ];
    registered(functions, memory)
}

fn json_and_path(types: &[DataType]) -> Option<Vec<DataType>> {
    let is_text = |of: &DataType| of.is_string() || of.is_null();
    ((1..=2).contains(&types.len()) && types.iter().all(is_text))
        .then(|| vec![DataType::Utf8View; types.len()])
}

/// The columns of a row.
fn fields() -> Fields {
    let text = |name: &str| Field::new(name, DataType::Utf8View, true);
    let number = |name: &str| Field::new(name, DataType::UInt64, true);
    Fields::from(vec![
        text("key"),
        called_json(text("value")),
        text("type"),
        called_json(text("atom")),
        number("id"),
        number("parent"),
        text("fullkey"),
        text("path"),
    ])
}

fn rows(call: &Call<'_>, room: &mut Room, deep: bool) -> Result<ArrayRef> {
    let (json, paths) = match call.columns() {
        [json] => (json.as_string_view(), None),
        [json, paths] => (json.as_string_view(), Some(paths.as_string_view())),
        _ => return Err(Error::internal("json_each takes JSON and a path").into()),
    };
    let mut rows = Rows::new(room, deep);
    let mut lengths = Vec::with_capacity(json.len());
    for row in 0..json.len() {
        let before = rows.count;
        if json.is_valid(row) && paths.is_none_or(|paths| paths.is_valid(row)) {
            let path = paths.map_or("$", |paths| paths.value(row));
            rows.add_all(json.value(row), path)?;
        }
        lengths.push(rows.count - before);
    }
    let valid = vec![true; lengths.len()];
    listed(rows.finish()?, lengths, valid)
}

/// What a value is called where it lies.
enum Key<'a> {
    /// It is what the path leads to.
    Root,
    Member(&'a str),
    Item(usize),
}

/// Where a value lies: above it `parent`, by its number and its path.
struct Place<'a> {
    key: Key<'a>,
    parent: Option<u64>,
    above: &'a str,
}

struct Rows<'a> {
    room: &'a mut Room,
    /// All values, or those right below the one that is asked for.
    deep: bool,
    count: usize,
    texts: [StringViewBuilder; 6],
    ids: UInt64Builder,
    parents: UInt64Builder,
}

impl<'a> Rows<'a> {
    fn new(room: &'a mut Room, deep: bool) -> Self {
        Self {
            room,
            deep,
            count: 0,
            texts: std::array::from_fn(|_| StringViewBuilder::new()),
            ids: UInt64Builder::new(),
            parents: UInt64Builder::new(),
        }
    }

    /// The rows of one text.
    fn add_all(&mut self, text: &str, path: &str) -> Result<()> {
        if !path.starts_with('$') {
            let what = "JSON path must start with '$' for json_each/json_tree";
            return Err(Error::binder(what).into());
        }
        let steps = Path::read(path)?;
        if steps.is_wild() {
            let what = "a path of json_each and json_tree leads to one value, and has no *";
            return Err(Error::binder(what).into());
        }
        let document = Value::read(text)?;
        let Some(value) = steps.find(document) else {
            return Ok(());
        };
        let mut id = 0;
        number_of(document, value, &mut id);
        let place = Place {
            key: Key::Root,
            parent: None,
            above: path,
        };
        match (self.deep, value.kind()) {
            (false, Kind::Object | Kind::List) => {
                self.add_parts(value, path, None, &mut id)?;
                Ok(())
            }
            _ => self.add(value, place, &mut id),
        }
    }

    /// A value, and all in it. `id` is its number, and becomes that of the last in it.
    fn add(&mut self, value: Value<'_>, place: Place<'_>, id: &mut u64) -> Result<()> {
        if id.is_multiple_of(LOOK_VALUES) {
            check()?;
        }
        let (key, path) = match place.key {
            Key::Root => (None, place.above.to_owned()),
            Key::Member(name) => (Some(name.to_owned()), format!("{}.{name}", place.above)),
            Key::Item(at) => (Some(at.to_string()), format!("{}[{at}]", place.above)),
        };
        let is_atom = !matches!(value.kind(), Kind::List | Kind::Object | Kind::Null);
        let length = value.text().len() * (1 + usize::from(is_atom));
        self.room
            .take((ROW_BYTES + length + path.len() + place.above.len()) as u128)?;
        let mut json = String::new();
        value.write(&mut json);
        let atom = is_atom.then(|| json.clone());
        let row = [
            key.as_deref(),
            Some(json.as_str()),
            Some(value.type_name()),
            atom.as_deref(),
            Some(path.as_str()),
            Some(place.above),
        ];
        for (out, text) in self.texts.iter_mut().zip(row) {
            match text {
                Some(text) => out.try_append_value(text)?,
                None => out.append_null(),
            }
        }
        self.count += 1;
        self.ids.append_value(*id);
        self.parents.append_option(place.parent);
        match self.deep {
            true => {
                let own = *id;
                self.add_parts(value, &path, Some(own), id)
            }
            false => {
                *id += within(value);
                Ok(())
            }
        }
    }

    fn add_parts(
        &mut self,
        of: Value<'_>,
        above: &str,
        parent: Option<u64>,
        id: &mut u64,
    ) -> Result<()> {
        for (name, value) in of.members() {
            // A name has a number, too.
            *id += 2;
            let key = Key::Member(&name);
            self.add(value, Place { key, parent, above }, id)?;
        }
        for (at, value) in of.items().enumerate() {
            *id += 1;
            let key = Key::Item(at);
            self.add(value, Place { key, parent, above }, id)?;
        }
        Ok(())
    }

    fn finish(self) -> Result<ArrayRef> {
        let Self {
            texts: [mut key, mut value, mut kind, mut atom, mut full, mut path],
            mut ids,
            mut parents,
            ..
        } = self;
        let columns: Vec<ArrayRef> = vec![
            Arc::new(key.finish()),
            Arc::new(value.finish()),
            Arc::new(kind.finish()),
            Arc::new(atom.finish()),
            Arc::new(ids.finish()),
            Arc::new(parents.finish()),
            Arc::new(full.finish()),
            Arc::new(path.finish()),
        ];
        Ok(Arc::new(StructArray::try_new(fields(), columns, None)?))
    }
}

/// How many values and names are in a value.
fn within(value: Value<'_>) -> u64 {
    let members = value.members().map(|(_, value)| 2 + within(value));
    let items = value.items().map(|value| 1 + within(value));
    members.sum::<u64>() + items.sum::<u64>()
}

/// Counts values and names up to one that lies in another; whether it is there.
fn number_of(at: Value<'_>, wanted: Value<'_>, id: &mut u64) -> bool {
    if std::ptr::eq(at.text(), wanted.text()) {
        return true;
    }
    at.members().any(|(_, value)| {
        *id += 2;
        number_of(value, wanted, id)
    }) || at.items().any(|value| {
        *id += 1;
        number_of(value, wanted, id)
    })
}
