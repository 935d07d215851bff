//! JSON made of values: `to_json`, `json_object`, `json_array`, `json_merge_patch`, and CASTs to JSON.

use super::super::json_text::with_zero;
use super::super::room::{Room, SMALL};
use super::super::unions::member_at;
use super::super::whole::{Call, Whole, registered};
use super::super::{one_type, postgres_text, value_text};
use super::value::{Kind, Value, double, write_string};
use crate::common_types::number_kind::is_huge;
use crate::heed::check;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, StringViewBuilder};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Float32Type, Float64Type};
use datafusion::common::{Result, ScalarValue};
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::logical_expr::ScalarUDF;
use hushdb_sql::type_names::{enum_type, is_called_json, is_row};
use hushdb_sql::{AS_JSON, Error, TRY_AS_JSON};
use hushdb_storage::{UnionType, plain_item};
use std::sync::Arc;

/// What a value takes beside its text.
const VALUE_BYTES: usize = 32;
/// Digits that every DOUBLE keeps: decimals of a type that may have more are written with all of theirs.
const DOUBLE_DIGITS: u8 = 15;
/// Rows between two looks at the statement.
const LOOK_ROWS: usize = 256;

pub(super) fn all(memory: &Arc<dyn MemoryPool>) -> Vec<Arc<ScalarUDF>> {
    let one = |types: &[DataType]| (types.len() == 1).then(|| types.to_vec());
    let functions: [Whole; 9] = [
        (&["to_json_as_postgres"], one, json, |call, room| {
            of_rows(call, room, |call, row, out| {
                let [value] = call.take()?;
                if is_null(value.as_ref(), row) {
                    return Ok(false);
                }
                write_in(Style::Postgres, call.field(0), value.as_ref(), row, out)?;
                Ok(true)
            })
        }),
        (&["json_object_as_postgres"], pairs, json, |call, room| {
            of_rows(call, room, |call, row, out| {
                object(Style::Postgres, call, row, out)
            })
        }),
        (
            &["json_array_as_postgres"],
            |types| Some(types.to_vec()),
            json,
            |call, room| {
                of_rows(call, room, |call, row, out| {
                    array(Style::Postgres, call, row, out)
                })
            },
        ),
        (
            &["to_json", "json_quote", "row_to_json", "array_to_json"],
            one,
            json,
            |call, room| {
                of_rows(call, room, |call, row, out| {
                    let [value] = call.take()?;
                    if is_null(value.as_ref(), row) {
                        return Ok(false);
                    }
                    write(call.field(0), value.as_ref(), row, out)?;
                    Ok(true)
                })
            },
        ),
        (&["json_object"], pairs, json, |call, room| {
            of_rows(call, room, |call, row, out| {
                object(Style::Duck, call, row, out)
            })
        }),
        (
            &["json_array"],
            |types| Some(types.to_vec()),
            json,
            |call, room| {
                of_rows(call, room, |call, row, out| {
                    array(Style::Duck, call, row, out)
                })
            },
        ),
        (&["json_merge_patch"], texts, json, |call, room| {
            of_rows(call, room, patched)
        }),
        (&[AS_JSON], one, json, |call, room| {
            cast_rows(call, room, true)
        }),
        (&[TRY_AS_JSON], one, json, |call, room| {
            cast_rows(call, room, false)
        }),
    ];
    registered(functions, memory)
}

fn json(_: &[DataType], _: &[Option<&ScalarValue>]) -> Option<DataType> {
    Some(DataType::Utf8View)
}

/// Names that are texts, each with a value.
fn pairs(types: &[DataType]) -> Option<Vec<DataType>> {
    let is_pair = |pair: &[DataType]| pair.len() == 2 && pair[0].is_string();
    types.chunks(2).all(is_pair).then(|| types.to_vec())
}

fn texts(types: &[DataType]) -> Option<Vec<DataType>> {
    let is_text = |t: &DataType| t.is_string() || t.is_null();
    let fits = types.len() > 1 && types.iter().all(is_text);
    fits.then(|| vec![DataType::Utf8View; types.len()])
}

/// The text of each row; `false` is NULL.
pub(super) fn of_rows(
    call: &Call<'_>,
    room: &mut Room,
    write: impl Fn(&Call<'_>, usize, &mut String) -> Result<bool>,
) -> Result<ArrayRef> {
    let mut out = StringViewBuilder::new();
    let mut text = String::new();
    // Of no arguments there is one answer; of arguments there may be no rows.
    let rows = if call.columns().is_empty() {
        1
    } else {
        call.rows()
    };
    for row in 0..rows {
        if row.is_multiple_of(LOOK_ROWS) {
            check()?;
        }
        text.clear();
        let long: usize = call.columns().iter().map(|of| long_text(of, row)).sum();
        room.take_if_long(long.saturating_mul(2))?;
        match write(call, row, &mut text)? {
            true => {
                room.take_all(VALUE_BYTES + text.len().saturating_sub(long))?;
                out.try_append_value(&text)?;
            }
            false => out.append_null(),
        }
    }
    Ok(Arc::new(out.finish()))
}

/// Bytes of a row's text as JSON, if it is long: it is written, and copied to where it is kept. What quotes and backslashes take more is
/// known by looking.
fn long_text(values: &ArrayRef, row: usize) -> usize {
    if values.data_type().is_null() || values.is_null(row) {
        return 0;
    }
    let text = match values.data_type() {
        DataType::Utf8View => values.as_string_view().value(row),
        DataType::Utf8 => values.as_string::<i32>().value(row),
        DataType::LargeUtf8 => values.as_string::<i64>().value(row),
        of if of.is_nested() && values.get_array_memory_size() > SMALL => {
            let one = values.slice(row, 1).to_data();
            return one.get_slice_memory_size().unwrap_or(0);
        }
        _ => return 0,
    };
    if text.len() < SMALL / 8 {
        return 0;
    }
    let more = text.bytes().map(|byte| match byte {
        b'"' | b'\\' => 1,
        ..b' ' => 5,
        _ => 0,
    });
    text.len() + more.sum::<usize>()
}

/// Arrays of the untyped NULL say that they have none.
pub(super) fn is_null(values: &dyn Array, row: usize) -> bool {
    values.data_type().is_null() || values.is_null(row)
}

/// In whose writing values are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    Duck,
    /// With the zeros of numerics, and moments as ISO 8601 has them.
    Postgres,
}

/// A value as JSON; one that is JSON stays what it is.
pub(super) fn write(
    field: Option<&Field>,
    values: &dyn Array,
    row: usize,
    out: &mut String,
) -> Result<()> {
    write_in(Style::Duck, field, values, row, out)
}

fn write_in(
    style: Style,
    field: Option<&Field>,
    values: &dyn Array,
    row: usize,
    out: &mut String,
) -> Result<()> {
    if is_null(values, row) {
        out.push_str("null");
        return Ok(());
    }
    match values.data_type() {
        DataType::List(item) => {
            let items = values.as_list::<i32>().value(row);
            list(style, item, items.as_ref(), out)?;
        }
        DataType::LargeList(item) => {
            let items = values.as_list::<i64>().value(row);
            list(style, item, items.as_ref(), out)?;
        }
        DataType::FixedSizeList(item, _) => {
            let items = values.as_fixed_size_list().value(row);
            list(style, item, items.as_ref(), out)?;
        }
        of if let Some(members) = UnionType::members_of(of) => {
            let found = member_at(members, values.as_struct(), row);
            members_of(style, false, found.into_iter(), row, out)?;
        }
        of @ DataType::Struct(fields) if enum_type(of).is_none() => {
            let columns = values.as_struct().columns();
            members_of(style, is_row(fields), fields.iter().zip(columns), row, out)?;
        }
        DataType::Map(..) => map(style, values, row, out)?,
        of if style == Style::Postgres && is_other_in_postgres(of) => {
            out.push_str(&in_postgres(values, row)?);
        }
        DataType::Float32 => out.push_str(&double(
            values.as_primitive::<Float32Type>().value(row).into(),
        )),
        DataType::Float64 => {
            out.push_str(&double(values.as_primitive::<Float64Type>().value(row)));
        }
        of => {
            let text = value_text(values, row)?.unwrap_or_default();
            let is_json = field.is_some_and(is_called_json);
            let is_whole = of.is_integer() || is_huge(of);
            match of {
                _ if is_json && style == Style::Duck => match Value::read(&text) {
                    Ok(value) => value.write(out),
                    Err(_) => out.push_str(&text),
                },
                DataType::Boolean => out.push_str(&text),
                _ if is_whole || is_json => out.push_str(&text),
                of if of.is_decimal() && digits(of) <= DOUBLE_DIGITS => {
                    out.push_str(&text.parse().map_or(text, double));
                }
                of if of.is_decimal() => out.push_str(&with_zero(text)),
                _ => write_string(&text, out),
            }
        }
    }
    Ok(())
}

/// The digits of a decimal's type.
fn digits(of: &DataType) -> u8 {
    match of {
        DataType::Decimal32(digits, _)
        | DataType::Decimal64(digits, _)
        | DataType::Decimal128(digits, _)
        | DataType::Decimal256(digits, _) => *digits,
        _ => 0,
    }
}

/// An object of members; those of a `row(...)` have no names, but for PostgreSQL.
fn members_of<'a>(
    style: Style,
    is_row: bool,
    members: impl Iterator<Item = (&'a FieldRef, &'a ArrayRef)>,
    row: usize,
    out: &mut String,
) -> Result<()> {
    out.push('{');
    for (at, (field, column)) in members.enumerate() {
        if at > 0 {
            out.push(',');
        }
        match (is_row, style) {
            (false, _) => write_string(field.name(), out),
            (true, Style::Duck) => write_string("", out),
            (true, Style::Postgres) => write_string(&format!("f{}", at + 1), out),
        }
        out.push(':');
        write_in(style, Some(field), column.as_ref(), row, out)?;
    }
    out.push('}');
    Ok(())
}

fn map(style: Style, values: &dyn Array, row: usize, out: &mut String) -> Result<()> {
    let entries = values.as_map().value(row);
    out.push('{');
    for entry in 0..entries.len() {
        if entry > 0 {
            out.push(',');
        }
        let key = value_text(entries.column(0).as_ref(), entry)?;
        write_string(&key.unwrap_or_default(), out);
        out.push(':');
        let value = entries.fields().get(1).map(AsRef::as_ref);
        write_in(style, value, entries.column(1).as_ref(), entry, out)?;
    }
    out.push('}');
    Ok(())
}

/// Whether PostgreSQL writes values of a type otherwise.
fn is_other_in_postgres(of: &DataType) -> bool {
    of.is_floating()
        || of.is_decimal() && !is_huge(of)
        || of.is_binary()
        || matches!(of, DataType::Timestamp(..) | DataType::Interval(_))
}

/// A value as JSON, as PostgreSQL writes it.
fn in_postgres(values: &dyn Array, row: usize) -> Result<String> {
    let one = one_type(&values.slice(row, 1))?;
    let text = postgres_text(one.as_ref(), 0)?.unwrap_or_default();
    let of = values.data_type();
    let is_finite = text.bytes().any(|byte| byte.is_ascii_digit());
    if (of.is_floating() || of.is_decimal()) && is_finite {
        return Ok(text);
    }
    let text = match of {
        DataType::Timestamp(_, zone) if is_finite => {
            let zone = if zone.is_some() { ":00" } else { "" };
            text.replacen(' ', "T", 1) + zone
        }
        _ => text,
    };
    let mut quoted = String::with_capacity(text.len() + 2);
    write_string(&text, &mut quoted);
    Ok(quoted)
}

fn list(style: Style, field: &Field, items: &dyn Array, out: &mut String) -> Result<()> {
    let field = &plain_item(field);
    out.push('[');
    for item in 0..items.len() {
        if item > 0 {
            out.push(',');
        }
        write_in(style, Some(field), items, item, out)?;
    }
    out.push(']');
    Ok(())
}

fn object(style: Style, call: &Call<'_>, row: usize, out: &mut String) -> Result<bool> {
    let (comma, colon) = match style {
        Style::Duck => (",", ":"),
        Style::Postgres => (", ", " : "),
    };
    out.push('{');
    for (at, pair) in call.columns().chunks(2).enumerate() {
        let [name, value] = pair else { continue };
        let Some(name) = value_text(name.as_ref(), row)? else {
            let what = "the names in json_object must not be NULL";
            return Err(Error::invalid(what).into());
        };
        if at > 0 {
            out.push_str(comma);
        }
        write_string(&name, out);
        out.push_str(colon);
        write_in(style, call.field(2 * at + 1), value.as_ref(), row, out)?;
    }
    out.push('}');
    Ok(true)
}

fn array(style: Style, call: &Call<'_>, row: usize, out: &mut String) -> Result<bool> {
    out.push('[');
    for (at, value) in call.columns().iter().enumerate() {
        if at > 0 {
            out.push_str(if style == Style::Duck { "," } else { ", " });
        }
        write_in(style, call.field(at), value.as_ref(), row, out)?;
    }
    out.push(']');
    Ok(true)
}

fn cast_rows(call: &Call<'_>, room: &mut Room, strict: bool) -> Result<ArrayRef> {
    let [values] = call.take()?;
    of_rows(call, room, |_, row, out| cast(values, row, out, strict))
}

/// Values that are not known to be JSON as JSON, as CAST or TRY_CAST has it.
pub(crate) fn as_json(values: &ArrayRef, lenient: bool) -> Result<ArrayRef> {
    let mut out = StringViewBuilder::with_capacity(values.len());
    let mut text = String::new();
    for row in 0..values.len() {
        text.clear();
        match cast(values, row, &mut text, !lenient)? {
            true => out.try_append_value(&text)?,
            false => out.append_null(),
        }
    }
    Ok(Arc::new(out.finish()))
}

/// A text that is JSON as it is written; all else as `to_json` has it.
fn cast(values: &ArrayRef, row: usize, out: &mut String, strict: bool) -> Result<bool> {
    if is_null(values.as_ref(), row) {
        return Ok(false);
    }
    if !values.data_type().is_string() {
        write(None, values.as_ref(), row, out)?;
        return Ok(true);
    }
    let text = value_text(values.as_ref(), row)?.unwrap_or_default();
    match Value::read(&text) {
        Ok(_) => out.push_str(&text),
        Err(_) if !strict => return Ok(false),
        Err(error) => {
            let kind = hushdb_sql::ErrorKind::Conversion;
            return Err(Error::new(kind, error.message()).into());
        }
    }
    Ok(true)
}

/// RFC 7396, from left to right; a patch that is NULL makes all NULL until the next.
fn patched(call: &Call<'_>, row: usize, out: &mut String) -> Result<bool> {
    let mut all: Option<String> = None;
    for column in call.columns() {
        let column = column.as_string_view();
        if column.is_null(row) {
            all = None;
            continue;
        }
        let patch = Value::read(column.value(row))?;
        let mut new = String::new();
        match &all {
            Some(old) if Value::read(old)?.kind() == Kind::Object => {
                patch_into(Some(Value::read(old)?), patch, &mut new);
            }
            // What is no object is replaced as a whole.
            _ => patch.write(&mut new),
        }
        all = Some(new);
    }
    out.push_str(all.as_deref().unwrap_or_default());
    Ok(all.is_some())
}

fn patch_into(of: Option<Value<'_>>, patch: Value<'_>, out: &mut String) {
    if patch.kind() != Kind::Object {
        return patch.write(out);
    }
    let of = of.filter(|of| of.kind() == Kind::Object);
    out.push('{');
    let mut is_first = true;
    let mut name_written = |name: &str, out: &mut String| {
        if !std::mem::take(&mut is_first) {
            out.push(',');
        }
        write_string(name, out);
        out.push(':');
    };
    for (name, value) in of.iter().flat_map(|of| of.members()) {
        if !patch.members().any(|(own, _)| own == name) {
            name_written(&name, out);
            value.write(out);
        }
    }
    for (name, new) in patch.members() {
        if new.kind() != Kind::Null {
            let old = of.and_then(|of| of.members().find(|(own, _)| *own == name));
            name_written(&name, out);
            patch_into(old.map(|(_, value)| value), new, out);
        }
    }
    out.push('}');
}
