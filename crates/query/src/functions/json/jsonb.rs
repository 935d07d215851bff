//! PostgreSQL's operators and functions of JSON: `->`, `#>`, `@>`, `?`, `||`, `-` and `#-` by the names that they have there, `jsonb_set`,
//! and the one writing of `jsonb` (PostgreSQL's documentation, "JSON Functions and Operators").
//!
//! What must hold: what gives JSON gives it in the one writing; what a text has that is no JSON is an error that repeats nothing of it.

use super::super::room::Room;
use super::super::whole::{Call, Whole, list_of, listed, registered};
use super::contains::contains;
use super::edit::{Change, changed};
use super::make::{is_null, of_rows, write};
use super::value::{Kind, Value};
use crate::common_types::STAND_IN;
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, StringViewArray, StringViewBuilder, StructArray,
};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field, Fields, Int64Type};
use datafusion::common::{Result, ScalarValue};
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::logical_expr::ScalarUDF;
use hushdb_sql::type_names::called_json;
use hushdb_sql::{Error, ErrorKind};
use std::sync::Arc;

/// What a value takes beside its text.
const VALUE_BYTES: usize = 32;

/// `a || b` of JSON.
pub const JSONB_CONCAT: &str = "jsonb_concat";
/// `a @> b` of JSON.
pub const JSONB_CONTAINS: &str = "jsonb_contains";
/// `a - b` of JSON.
pub const JSONB_DELETE: &str = "jsonb_delete";

/// Functions of this file whose texts are JSON.
pub(super) const GIVE_JSON: [&str; 9] = [
    "as_jsonb",
    "jsonb_object_field",
    "json_by_path",
    JSONB_CONCAT,
    JSONB_DELETE,
    "jsonb_delete_path",
    "jsonb_set",
    "jsonb_insert",
    "jsonb_strip_nulls",
];

pub(super) fn all(memory: &Arc<dyn MemoryPool>) -> Vec<Arc<ScalarUDF>> {
    let mut functions = registered(parts(), memory);
    functions.extend(registered(changes(), memory));
    functions.extend(registered(rows(), memory));
    functions
}

/// What is in a value, and whether something is.
fn parts() -> [Whole; 9] {
    let one = |types: &[DataType]| (types.len() == 1).then(|| types.to_vec());
    let truth = |_: &[DataType], _: &[Option<&ScalarValue>]| Some(DataType::Boolean);
    [
        (&["as_jsonb"], one, json, |call, room| {
            of_rows(call, room, as_jsonb)
        }),
        (&["jsonb_object_field"], json_and_key, json, |call, room| {
            of_rows(call, room, |call, row, out| field(call, row, out, false))
        }),
        (
            &["jsonb_object_field_text"],
            json_and_key,
            json,
            |call, room| of_rows(call, room, |call, row, out| field(call, row, out, true)),
        ),
        (&["json_by_path"], json_and_texts, json, |call, room| {
            of_rows(call, room, |call, row, out| by_path(call, row, out, false))
        }),
        (
            &["json_by_path_text"],
            json_and_texts,
            json,
            |call, room| of_rows(call, room, |call, row, out| by_path(call, row, out, true)),
        ),
        (&[JSONB_CONTAINS], two_json, truth, |call, _| {
            truths(call, |call, row| {
                let [a, b] = texts(call)?;
                Ok(contains(
                    Value::read(a.value(row))?,
                    Value::read(b.value(row))?,
                ))
            })
        }),
        (&["jsonb_exists"], two_json, truth, |call, _| {
            truths(call, |call, row| {
                let [json, name] = texts(call)?;
                Ok(has(Value::read(json.value(row))?, name.value(row)))
            })
        }),
        (&["jsonb_exists_any"], json_and_texts, truth, |call, _| {
            truths(call, |call, row| {
                let (json, names) = with_names(call, row)?;
                Ok(names.iter().flatten().any(|name| has(json, name)))
            })
        }),
        (&["jsonb_exists_all"], json_and_texts, truth, |call, _| {
            truths(call, |call, row| {
                let (json, names) = with_names(call, row)?;
                Ok(names.iter().flatten().all(|name| has(json, name)))
            })
        }),
    ]
}

/// Values that are others with something changed.
fn changes() -> [Whole; 6] {
    [
        (&[JSONB_CONCAT], two_json, json, |call, room| {
            of_rows(call, room, joined)
        }),
        (&[JSONB_DELETE], json_and_what, json, |call, room| {
            of_rows(call, room, deleted)
        }),
        (
            &["jsonb_delete_path"],
            json_and_texts,
            json,
            |call, room| {
                of_rows(call, room, |call, row, out| {
                    if has_null(call, row) {
                        return Ok(false);
                    }
                    let (json, path) = with_names(call, row)?;
                    changed(json, &path_of(&path)?, Change::Delete, out)?;
                    Ok(true)
                })
            },
        ),
        (&["jsonb_set"], json_path_and_new, json, |call, room| {
            of_rows(call, room, |call, row, out| {
                put(
                    call,
                    row,
                    out,
                    |new, create| Change::Set { new, create },
                    true,
                )
            })
        }),
        (&["jsonb_insert"], json_path_and_new, json, |call, room| {
            of_rows(call, room, |call, row, out| {
                put(
                    call,
                    row,
                    out,
                    |new, after| Change::Insert { new, after },
                    false,
                )
            })
        }),
        (&["jsonb_strip_nulls"], one_json, json, |call, room| {
            of_rows(call, room, |call, row, out| {
                let [json] = texts(call)?;
                if json.is_null(row) {
                    return Ok(false);
                }
                Value::read(json.value(row))?.write_jsonb_without_nulls(out);
                Ok(true)
            })
        }),
    ]
}

/// Values in lists, which become rows.
fn rows() -> [Whole; 4] {
    [
        (
            &["json_items"],
            one_json,
            |_, _| Some(list_of(STAND_IN)),
            |call, room| items(call, room, false),
        ),
        (
            &["json_items_text"],
            one_json,
            |_, _| Some(list_of(DataType::Utf8View)),
            |call, room| items(call, room, true),
        ),
        (
            &["json_members"],
            one_json,
            |_, _| Some(list_of(DataType::Struct(member(true)))),
            |call, room| members(call, room, false),
        ),
        (
            &["json_members_text"],
            one_json,
            |_, _| Some(list_of(DataType::Struct(member(false)))),
            |call, room| members(call, room, true),
        ),
    ]
}

fn json(_: &[DataType], _: &[Option<&ScalarValue>]) -> Option<DataType> {
    Some(DataType::Utf8View)
}

/// The fields of a member.
fn member(is_json: bool) -> Fields {
    let value = Field::new("value", DataType::Utf8View, true);
    let value = match is_json {
        true => called_json(value),
        false => value,
    };
    Fields::from(vec![Field::new("key", DataType::Utf8View, true), value])
}

fn is_text(of: &DataType) -> bool {
    of.is_string() || of.is_null()
}

fn one_json(types: &[DataType]) -> Option<Vec<DataType>> {
    (types.len() == 1 && types.iter().all(is_text)).then(|| vec![DataType::Utf8View])
}

fn two_json(types: &[DataType]) -> Option<Vec<DataType>> {
    (types.len() == 2 && types.iter().all(is_text)).then(|| vec![DataType::Utf8View; 2])
}

fn json_and_key(types: &[DataType]) -> Option<Vec<DataType>> {
    match types {
        [json, key] if is_text(json) && key.is_integer() => {
            Some(vec![DataType::Utf8View, DataType::Int64])
        }
        types => two_json(types),
    }
}

fn json_and_texts(types: &[DataType]) -> Option<Vec<DataType>> {
    match types {
        [json, path] if is_text(json) && (path.is_list() || path.is_null()) => {
            Some(vec![DataType::Utf8View, list_of(DataType::Utf8View)])
        }
        _ => None,
    }
}

fn json_and_what(types: &[DataType]) -> Option<Vec<DataType>> {
    json_and_key(types).or_else(|| json_and_texts(types))
}

fn json_path_and_new(types: &[DataType]) -> Option<Vec<DataType>> {
    let (first, rest) = types.split_at_checked(2)?;
    let mut taken = json_and_texts(first)?;
    match rest {
        [new] if is_text(new) => taken.push(DataType::Utf8View),
        [new, flag] if is_text(new) && matches!(flag, DataType::Boolean | DataType::Null) => {
            taken.extend([DataType::Utf8View, DataType::Boolean]);
        }
        _ => return None,
    }
    Some(taken)
}

/// The arguments, which are texts.
fn texts<'a, const N: usize>(call: &'a Call<'_>) -> Result<[&'a StringViewArray; N]> {
    let all: &[ArrayRef; N] = call.take()?;
    Ok(all.each_ref().map(|column| column.as_string_view()))
}

/// A row's JSON and its list of texts.
fn with_names<'a>(call: &'a Call<'_>, row: usize) -> Result<(Value<'a>, StringViewArray)> {
    let (Some(json), Some(names)) = (call.columns().first(), call.columns().get(1)) else {
        return Err(Error::internal("JSON and a path were to come").into());
    };
    let names = names.as_list::<i32>().value(row);
    let names = cast(&names, &DataType::Utf8View)?;
    Ok((
        Value::read(json.as_string_view().value(row))?,
        names.as_string_view().clone(),
    ))
}

fn path_of(path: &StringViewArray) -> Result<Vec<&str>> {
    let steps = path.iter().map(|step| {
        step.ok_or_else(|| {
            let what = "path element must not be null";
            Error::new(ErrorKind::InvalidInput, what)
                .with_sqlstate("22004")
                .into()
        })
    });
    steps.collect()
}

/// Whether an argument of a row is NULL.
fn has_null(call: &Call<'_>, row: usize) -> bool {
    call.columns()
        .iter()
        .any(|column| is_null(column.as_ref(), row))
}

fn truths(call: &Call<'_>, truth: impl Fn(&Call<'_>, usize) -> Result<bool>) -> Result<ArrayRef> {
    let rows = (0..call.rows()).map(|row| match has_null(call, row) {
        true => Ok(None),
        false => truth(call, row).map(Some),
    });
    Ok(Arc::new(rows.collect::<Result<BooleanArray>>()?))
}

/// A text that is JSON, or any other value, in the one writing.
fn as_jsonb(call: &Call<'_>, row: usize, out: &mut String) -> Result<bool> {
    let [values] = call.take()?;
    if is_null(values.as_ref(), row) {
        return Ok(false);
    }
    if values.data_type().is_string() {
        let texts = cast(values, &DataType::Utf8View)?;
        let text = texts.as_string_view().value(row);
        let value = Value::read(text).map_err(|error| {
            Error::new(ErrorKind::Conversion, error.message()).with_sqlstate("22P02")
        })?;
        value.write_jsonb(out);
        return Ok(true);
    }
    let mut text = String::new();
    write(call.field(0), values.as_ref(), row, &mut text)?;
    Value::read(&text)?.write_jsonb(out);
    Ok(true)
}

/// Texts of JSON in the one writing.
///
/// # Errors
/// `InvalidInput` for a text that is none.
pub fn jsonb_texts(values: &ArrayRef) -> Result<ArrayRef> {
    let mut out = StringViewBuilder::with_capacity(values.len());
    let mut text = String::new();
    for value in values.as_string_view() {
        let Some(value) = value else {
            out.append_null();
            continue;
        };
        text.clear();
        Value::read(value)?.write_jsonb(&mut text);
        out.try_append_value(&text)?;
    }
    Ok(Arc::new(out.finish()))
}

/// A value as it is shown: as JSON, or as the text that a string says. `false` is NULL.
fn show(value: Option<Value<'_>>, as_text: bool, out: &mut String) -> bool {
    match value {
        None => return false,
        Some(value) if as_text && value.kind() == Kind::Null => return false,
        Some(value) => match value.string().filter(|_| as_text) {
            Some(text) => out.push_str(&text),
            None => out.push_str(value.text()),
        },
    }
    true
}

fn field(call: &Call<'_>, row: usize, out: &mut String, as_text: bool) -> Result<bool> {
    let [json, key] = call.take()?;
    if has_null(call, row) {
        return Ok(false);
    }
    let value = Value::read(json.as_string_view().value(row))?;
    let found = match key.data_type().is_integer() {
        true => value.item(key.as_primitive::<Int64Type>().value(row)),
        false => value.member(key.as_string_view().value(row)),
    };
    Ok(show(found, as_text, out))
}

fn by_path(call: &Call<'_>, row: usize, out: &mut String, as_text: bool) -> Result<bool> {
    if has_null(call, row) {
        return Ok(false);
    }
    let (json, path) = with_names(call, row)?;
    let mut at = Some(json);
    for step in &path {
        at = match (at, step) {
            (Some(value), Some(step)) => value.step(step),
            _ => None,
        };
    }
    Ok(show(at, as_text, out))
}

/// Whether a text is a name of an object, an item of a list, or the value.
fn has(json: Value<'_>, name: &str) -> bool {
    let is_it = |value: Value<'_>| value.string().is_some_and(|text| text == name);
    match json.kind() {
        Kind::Object => json.member(name).is_some(),
        Kind::List => json.items().any(is_it),
        _ => is_it(json),
    }
}

/// Objects become one, in which the right one's values are; all else becomes a list.
fn joined(call: &Call<'_>, row: usize, out: &mut String) -> Result<bool> {
    if has_null(call, row) {
        return Ok(false);
    }
    let [a, b] = texts(call)?;
    let (a, b) = (Value::read(a.value(row))?, Value::read(b.value(row))?);
    let inner = |value: Value<'_>| {
        let text = value.text();
        text.get(1..text.len().saturating_sub(1))
            .unwrap_or_default()
            .trim()
            .to_owned()
    };
    let as_items = |value: Value<'_>| match value.kind() {
        Kind::List => inner(value),
        _ => value.text().to_owned(),
    };
    let both_objects = a.kind() == Kind::Object && b.kind() == Kind::Object;
    let (open, parts, close) = match both_objects {
        true => ('{', [inner(a), inner(b)], '}'),
        false => ('[', [as_items(a), as_items(b)], ']'),
    };
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    let text = format!("{open}{}{close}", parts.join(","));
    Value::read(&text)?.write_jsonb(out);
    Ok(true)
}

fn deleted(call: &Call<'_>, row: usize, out: &mut String) -> Result<bool> {
    if has_null(call, row) {
        return Ok(false);
    }
    let [json, what] = call.take()?;
    let json = Value::read(json.as_string_view().value(row))?;
    let wrong = |what: &str| Error::new(ErrorKind::InvalidInput, what);
    if !matches!(json.kind(), Kind::Object | Kind::List) {
        return Err(wrong("cannot delete from scalar").into());
    }
    if what.data_type().is_integer() {
        if json.kind() == Kind::Object {
            return Err(wrong("cannot delete from object using integer index").into());
        }
        let place = what.as_primitive::<Int64Type>().value(row).to_string();
        changed(json, &[&place], Change::Delete, out)?;
        return Ok(true);
    }
    match what.data_type().is_list() {
        true => {
            let (json, names) = with_names(call, row)?;
            json.write_jsonb_without(&|name| names.iter().flatten().any(|n| n == name), out);
        }
        false => {
            let gone = what.as_string_view().value(row);
            json.write_jsonb_without(&|name| name == gone, out);
        }
    }
    Ok(true)
}

/// `jsonb_set(json, path, new, flag)` and its kin; `flag` stands where none is said.
fn put(
    call: &Call<'_>,
    row: usize,
    out: &mut String,
    change: impl for<'a> Fn(Value<'a>, bool) -> Change<'a>,
    flag: bool,
) -> Result<bool> {
    if has_null(call, row) {
        return Ok(false);
    }
    let (json, path) = with_names(call, row)?;
    let Some(new) = call.columns().get(2) else {
        return Err(Error::internal("a new value was to come").into());
    };
    let new = Value::read(new.as_string_view().value(row))?;
    let said = call
        .columns()
        .get(3)
        .map(|said| said.as_boolean().value(row));
    changed(
        json,
        &path_of(&path)?,
        change(new, said.unwrap_or(flag)),
        out,
    )?;
    Ok(true)
}

/// Values one after the other, with how many there are of each row.
struct Gathered<'a> {
    room: &'a mut Room,
    keys: StringViewBuilder,
    values: StringViewBuilder,
    lengths: Vec<usize>,
    valid: Vec<bool>,
}

impl<'a> Gathered<'a> {
    fn of(
        call: &Call<'_>,
        room: &'a mut Room,
        add: impl Fn(&mut Self, Value<'_>) -> Result<usize>,
    ) -> Result<Self> {
        let [json] = texts(call)?;
        let mut all = Self {
            room,
            keys: StringViewBuilder::new(),
            values: StringViewBuilder::new(),
            lengths: vec![],
            valid: vec![],
        };
        for text in json {
            crate::heed::check()?;
            let length = match text {
                None => 0,
                Some(text) => add(&mut all, Value::read(text)?)?,
            };
            all.lengths.push(length);
            all.valid.push(text.is_some());
        }
        Ok(all)
    }

    fn push(&mut self, key: &str, value: Value<'_>, as_text: bool) -> Result<()> {
        self.room
            .take_all(VALUE_BYTES + key.len() + value.text().len())?;
        let mut text = String::new();
        self.keys.try_append_value(key)?;
        match show(Some(value), as_text, &mut text) {
            true => self.values.try_append_value(&text)?,
            false => self.values.append_null(),
        }
        Ok(())
    }
}

fn items(call: &Call<'_>, room: &mut Room, as_text: bool) -> Result<ArrayRef> {
    let mut all = Gathered::of(call, room, |all, value| {
        if value.kind() != Kind::List {
            let what = "cannot extract elements from a value that is no array";
            return Err(Error::new(ErrorKind::InvalidInput, what).into());
        }
        let mut count = 0;
        for item in value.items() {
            all.push("", item, as_text)?;
            count += 1;
        }
        Ok(count)
    })?;
    let values: ArrayRef = Arc::new(all.values.finish());
    listed(values, all.lengths, all.valid)
}

fn members(call: &Call<'_>, room: &mut Room, as_text: bool) -> Result<ArrayRef> {
    let mut all = Gathered::of(call, room, |all, value| {
        if value.kind() != Kind::Object {
            let what = "cannot deconstruct a value that is no object";
            return Err(Error::new(ErrorKind::InvalidInput, what).into());
        }
        let mut count = 0;
        for (name, value) in value.members() {
            all.push(&name, value, as_text)?;
            count += 1;
        }
        Ok(count)
    })?;
    let columns: Vec<ArrayRef> = vec![Arc::new(all.keys.finish()), Arc::new(all.values.finish())];
    let structs = StructArray::try_new(member(!as_text), columns, None)?;
    listed(Arc::new(structs), all.lengths, all.valid)
}
