//! What is in a JSON value: `json_extract(json, path)`, `json_type`, `json_keys` and their kind.
//!
//! What must hold: a path that may lead to several values gives a list of them, and is a constant, since the type depends on it.

use super::super::room::Room;
use super::super::whole::{Call, Whole, item, list_of, listed, registered};
use super::make::{is_null, of_rows, write};
use super::path::Path;
use super::value::{Kind, Value, write_string};
use crate::heed::check;
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BooleanBuilder, ListBuilder, StringViewBuilder, UInt64Builder,
};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Int64Type};
use datafusion::common::{Result, ScalarValue};
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::logical_expr::ScalarUDF;
use hushdb_sql::Error;
use std::sync::Arc;

/// What a value takes beside its text.
const VALUE_BYTES: usize = 32;
/// Rows between two looks at the statement.
const LOOK_ROWS: usize = 256;

/// What is asked of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ask {
    Json,
    Text,
    /// The text, if it is no list and no object.
    Scalar,
    Exists,
    Length,
    Type,
    Keys,
    Pretty,
    Structure,
}

impl Ask {
    fn gives(self) -> DataType {
        match self {
            Self::Json | Self::Text | Self::Scalar | Self::Type => DataType::Utf8View,
            Self::Pretty | Self::Structure => DataType::Utf8View,
            Self::Exists => DataType::Boolean,
            Self::Length => DataType::UInt64,
            Self::Keys => list_of(DataType::Utf8View),
        }
    }
}

/// A function of a value, or of a value and a path.
macro_rules! asks {
    ($names:expr, $takes:ident, $ask:expr) => {
        (
            $names,
            $takes,
            |types, constants| result($ask, types, constants),
            |call, room| answers($ask, call, room),
        )
    };
}

pub(super) fn all(memory: &Arc<dyn MemoryPool>) -> Vec<Arc<ScalarUDF>> {
    let functions: [Whole; 12] = [
        asks!(&["json_extract", "json_extract_path"], with_path, Ask::Json),
        asks!(
            &["json_extract_string", "json_extract_path_text"],
            with_path,
            Ask::Text
        ),
        asks!(&["json_value"], with_path, Ask::Scalar),
        asks!(&["json_exists"], with_path, Ask::Exists),
        asks!(&["json_array_length"], perhaps_path, Ask::Length),
        asks!(&["json_type"], perhaps_path, Ask::Type),
        asks!(&["json_keys"], perhaps_path, Ask::Keys),
        asks!(&["json"], alone, Ask::Json),
        asks!(&["json_pretty"], alone, Ask::Pretty),
        asks!(&["json_structure"], alone, Ask::Structure),
        (
            &["json_valid"],
            alone,
            |_, _| Some(DataType::Boolean),
            |call, room| {
                let texts = json_texts(call, room)?;
                let texts = texts.as_string_view().iter();
                let valid = texts.map(|text| text.map(|text| Value::read(text).is_ok()));
                Ok(Arc::new(
                    valid.collect::<datafusion::arrow::array::BooleanArray>(),
                ))
            },
        ),
        (
            &["json_contains"],
            |types| match types {
                [a, b] => Some(vec![text(a)?, text(b)?]),
                _ => None,
            },
            |_, _| Some(DataType::Boolean),
            |call, _| contained(call),
        ),
    ];
    registered(functions, memory)
}

fn text(of: &DataType) -> Option<DataType> {
    (of.is_string() || of.is_null()).then_some(DataType::Utf8View)
}

/// What is read as JSON: its text, or a value that becomes JSON by itself. A number could be meant as either.
fn json(of: &DataType) -> Option<DataType> {
    text(of).or_else(|| (!of.is_numeric()).then(|| of.clone()))
}

fn alone(types: &[DataType]) -> Option<Vec<DataType>> {
    match types {
        [json] => Some(vec![self::json(json)?]),
        _ => None,
    }
}

fn with_path(types: &[DataType]) -> Option<Vec<DataType>> {
    let [json, path] = types else { return None };
    let path = match path {
        path if path.is_integer() => DataType::Int64,
        path => match item(path).filter(|_| !path.is_null()) {
            Some(item) => list_of(text(&item)?),
            // As it is: a CAST would hide a constant, on which the type of the result depends.
            None if path.is_string() => path.clone(),
            None => text(path)?,
        },
    };
    Some(vec![self::json(json)?, path])
}

fn perhaps_path(types: &[DataType]) -> Option<Vec<DataType>> {
    alone(types).or_else(|| with_path(types))
}

/// The type of the answer: a list where there are several paths, or one that is wild.
fn result(ask: Ask, types: &[DataType], constants: &[Option<&ScalarValue>]) -> Option<DataType> {
    let several = types.get(1).is_some_and(DataType::is_list);
    let path = constants.get(1).copied().flatten();
    let path = path.and_then(|path| path.try_as_str().flatten());
    let is_wild = path.is_some_and(|path| Path::read(path).is_ok_and(|path| path.is_wild()));
    Some(match several || is_wild {
        true => list_of(ask.gives()),
        false => ask.gives(),
    })
}

/// Answers, one after the other.
enum Out {
    Texts(StringViewBuilder),
    Truths(BooleanBuilder),
    Numbers(UInt64Builder),
    Lists(ListBuilder<StringViewBuilder>),
}

impl Out {
    fn new(ask: Ask) -> Self {
        match ask.gives() {
            DataType::Boolean => Self::Truths(BooleanBuilder::new()),
            DataType::UInt64 => Self::Numbers(UInt64Builder::new()),
            DataType::List(_) => Self::Lists(ListBuilder::new(StringViewBuilder::new())),
            _ => Self::Texts(StringViewBuilder::new()),
        }
    }

    fn null(&mut self) {
        match self {
            Self::Texts(out) => out.append_null(),
            Self::Truths(out) => out.append_null(),
            Self::Numbers(out) => out.append_null(),
            Self::Lists(out) => out.append_null(),
        }
    }

    fn answer(&mut self, ask: Ask, value: Option<Value<'_>>, room: &mut Room) -> Result<()> {
        match (self, value) {
            (Self::Truths(out), found) => out.append_value(found.is_some()),
            (out, None) => out.null(),
            (Self::Numbers(out), Some(value)) => out.append_value(value.items().count() as u64),
            (Self::Lists(out), Some(value)) => {
                for (name, _) in value.members() {
                    if value.kind() == Kind::Object {
                        room.take_all(VALUE_BYTES + name.len())?;
                        out.values().try_append_value(name)?;
                    }
                }
                out.append(true);
            }
            (Self::Texts(out), Some(value)) => match text_of(ask, value, room)? {
                Some(text) => out.try_append_value(text)?,
                None => out.append_null(),
            },
        }
        Ok(())
    }

    fn finish(self) -> ArrayRef {
        match self {
            Self::Texts(mut out) => Arc::new(out.finish()),
            Self::Truths(mut out) => Arc::new(out.finish()),
            Self::Numbers(mut out) => Arc::new(out.finish()),
            Self::Lists(mut out) => Arc::new(out.finish()),
        }
    }
}

fn text_of(ask: Ask, value: Value<'_>, room: &mut Room) -> Result<Option<String>> {
    room.take_all(VALUE_BYTES + value.text().len())?;
    let mut text = String::new();
    match ask {
        Ask::Type => text.push_str(value.type_name()),
        Ask::Text | Ask::Scalar => match value.kind() {
            Kind::Null => return Ok(None),
            Kind::List | Kind::Object if ask == Ask::Scalar => return Ok(None),
            Kind::Text if ask == Ask::Text => {
                text = value.string().unwrap_or_default().into_owned()
            }
            _ => value.write(&mut text),
        },
        Ask::Pretty => {
            // Each value is indented by as much as it is deep.
            let most = value.text().len() * 4;
            room.take_if_long(most)?;
            value.write_pretty(0, &mut text);
        }
        Ask::Structure => structure(value).write(&mut text),
        _ => value.write(&mut text),
    }
    Ok(Some(text))
}

/// The paths of a row: `None` if there is none, since it is NULL.
struct Paths {
    column: Option<ArrayRef>,
    last: Option<(String, Path)>,
}

impl Paths {
    fn read(&mut self, text: &str) -> Result<Path> {
        match &self.last {
            Some((known, path)) if known == text => Ok(path.clone()),
            _ => {
                let path = Path::read(text)?;
                self.last = Some((text.to_owned(), path.clone()));
                Ok(path)
            }
        }
    }

    /// The paths of a row. In a list none is NULL.
    fn at(&mut self, row: usize) -> Result<Option<Vec<Option<Path>>>> {
        let Some(column) = self.column.clone() else {
            return Ok(Some(vec![Some(Path::read("")?)]));
        };
        if column.is_null(row) {
            return Ok(None);
        }
        let paths = match column.data_type() {
            DataType::Int64 => vec![Some(Path::item(
                column.as_primitive::<Int64Type>().value(row),
            ))],
            DataType::List(_) => {
                let list = column.as_list::<i32>().value(row);
                if list.null_count() > 0 {
                    return Err(Error::binder("JSON path cannot be NULL").into());
                }
                let paths = list.as_string_view().iter();
                let paths = paths.map(|path| path.map(|path| self.read(path)).transpose());
                paths.collect::<Result<_>>()?
            }
            _ => vec![Some(self.read(column.as_string_view().value(row))?)],
        };
        Ok(Some(paths))
    }
}

/// The first argument as texts of JSON.
fn json_texts(call: &Call<'_>, room: &mut Room) -> Result<ArrayRef> {
    let Some(values) = call.columns().first() else {
        return Err(Error::internal("a function of JSON without arguments").into());
    };
    match values.data_type() {
        DataType::Utf8View => Ok(Arc::clone(values)),
        _ => of_rows(call, room, |call, row, out| {
            let is_there = !is_null(values.as_ref(), row);
            if is_there {
                write(call.field(0), values.as_ref(), row, out)?;
            }
            Ok(is_there)
        }),
    }
}

fn answers(ask: Ask, call: &Call<'_>, room: &mut Room) -> Result<ArrayRef> {
    let texts = json_texts(call, room)?;
    let texts = texts.as_string_view();
    let column = call
        .columns()
        .get(1)
        .map(|column| match column.data_type() {
            DataType::Utf8 | DataType::LargeUtf8 => cast(column, &DataType::Utf8View),
            _ => Ok(Arc::clone(column)),
        });
    let mut paths = Paths {
        column: column.transpose()?,
        last: None,
    };
    let as_list = *call.to != ask.gives();
    let mut out = Out::new(ask);
    let (mut lengths, mut valid) = (vec![], vec![]);
    for row in 0..texts.len() {
        if row.is_multiple_of(LOOK_ROWS) {
            check()?;
        }
        // Paths of no text are not read.
        let known = match texts.is_valid(row) {
            true => paths.at(row)?,
            false => None,
        };
        valid.push(known.is_some());
        let mut count = 0;
        match known {
            None if as_list => {}
            None => out.null(),
            Some(paths) => {
                let value = Value::read(texts.value(row))?;
                for path in &paths {
                    count += found(ask, value, path.as_ref(), as_list, &mut out, room)?;
                }
            }
        }
        lengths.push(count);
    }
    match as_list {
        true => listed(out.finish(), lengths, valid),
        false => Ok(out.finish()),
    }
}

/// Answers of what a path leads to, and says how many.
fn found(
    ask: Ask,
    of: Value<'_>,
    path: Option<&Path>,
    as_list: bool,
    out: &mut Out,
    room: &mut Room,
) -> Result<usize> {
    let Some(path) = path else {
        out.null();
        return Ok(1);
    };
    if !path.is_wild() {
        out.answer(ask, path.find(of), room)?;
        return Ok(1);
    }
    if !as_list {
        let what = "a path with * takes a constant, on which the type of the result depends";
        return Err(Error::binder(what).into());
    }
    let (mut count, mut failed) = (0, None);
    path.find_all(of, &mut |value| {
        count += 1;
        failed = out.answer(ask, Some(value), room).err();
        failed.is_none()
    });
    failed.map_or(Ok(count), Err)
}

/// Whether the second value is in the first one.
fn contained(call: &Call<'_>) -> Result<ArrayRef> {
    let [of, wanted] = call.take()?;
    let rows = of.as_string_view().iter().zip(wanted.as_string_view());
    let found = rows.map(|row| match row {
        (Some(of), Some(wanted)) => {
            check()?;
            Ok(Some(holds(Value::read(of)?, Value::read(wanted)?)))
        }
        _ => Ok(None),
    });
    Ok(Arc::new(
        found.collect::<Result<datafusion::arrow::array::BooleanArray>>()?,
    ))
}

fn holds(of: Value<'_>, wanted: Value<'_>) -> bool {
    covers(of, wanted)
        || of.members().any(|(_, value)| holds(value, wanted))
        || of.items().any(|value| holds(value, wanted))
}

/// Whether all of a value is at the same places of another.
fn covers(of: Value<'_>, wanted: Value<'_>) -> bool {
    match (of.kind(), wanted.kind()) {
        (Kind::Object, Kind::Object) => wanted.members().all(|(name, wanted)| {
            let mut members = of.members();
            let found = members.find(|(own, _)| *own == name);
            found.is_some_and(|(_, value)| covers(value, wanted))
        }),
        (Kind::List, Kind::List) => wanted
            .items()
            .all(|wanted| of.items().any(|value| covers(value, wanted))),
        _ => {
            let written = |value: Value<'_>| {
                let mut text = String::new();
                value.write(&mut text);
                text
            };
            written(of) == written(wanted)
        }
    }
}

/// The types in values, of which several may have been seen at one place.
#[derive(Debug, PartialEq)]
enum Structure {
    Plain(&'static str),
    List(Box<Structure>),
    Object(Vec<(String, Structure)>),
}

fn structure(value: Value<'_>) -> Structure {
    match value.kind() {
        Kind::List => {
            let items = value.items().map(structure);
            Structure::List(Box::new(items.fold(Structure::Plain("NULL"), merged)))
        }
        Kind::Object => {
            let mut members: Vec<(String, Structure)> = vec![];
            for (name, value) in value.members() {
                add(&mut members, name.into_owned(), structure(value));
            }
            match members.is_empty() {
                true => Structure::Plain("JSON"),
                false => Structure::Object(members),
            }
        }
        _ => Structure::Plain(value.type_name()),
    }
}

fn add(members: &mut Vec<(String, Structure)>, name: String, new: Structure) {
    match members.iter_mut().find(|(own, _)| *own == name) {
        Some((_, own)) => {
            let old = std::mem::replace(own, Structure::Plain("NULL"));
            *own = merged(old, new);
        }
        None => members.push((name, new)),
    }
}

/// What both can be read as.
fn merged(left: Structure, right: Structure) -> Structure {
    use Structure as S;
    match (left, right) {
        (S::Plain("NULL"), other) | (other, S::Plain("NULL")) => other,
        (S::List(left), S::List(right)) => S::List(Box::new(merged(*left, *right))),
        (S::Object(mut left), S::Object(right)) => {
            for (name, new) in right {
                add(&mut left, name, new);
            }
            S::Object(left)
        }
        (S::Plain(left), S::Plain(right)) if left == right => S::Plain(left),
        (S::Plain(left), S::Plain(right)) => {
            let is_number = |name| matches!(name, "UBIGINT" | "BIGINT" | "HUGEINT" | "DOUBLE");
            S::Plain(match (is_number(left), is_number(right)) {
                (true, true) if left == "DOUBLE" || right == "DOUBLE" => "DOUBLE",
                (true, true) => "HUGEINT",
                _ => "JSON",
            })
        }
        _ => S::Plain("JSON"),
    }
}

impl Structure {
    fn write(&self, out: &mut String) {
        match self {
            Self::Plain(name) => write_string(name, out),
            Self::List(of) => {
                out.push('[');
                of.write(out);
                out.push(']');
            }
            Self::Object(members) => {
                for (at, (name, of)) in members.iter().enumerate() {
                    out.push(if at == 0 { '{' } else { ',' });
                    write_string(name, out);
                    out.push(':');
                    of.write(out);
                }
                out.push('}');
            }
        }
    }
}
