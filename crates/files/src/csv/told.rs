//! `sniff_csv('file')`: what is found out from the beginning of a CSV file, as one row, with the call that reads it so.
//!
//! What must hold: the call reads the file as `read_csv` does without options.

use super::kinds::Kind;
use super::{Seen, seen};
use crate::rejects::ReadFile;
use datafusion::arrow::array::{
    ArrayRef, BooleanArray, ListArray, StringArray, StructArray, UInt32Array,
};
use datafusion::arrow::buffer::OffsetBuffer;
use datafusion::arrow::datatypes::{DataType, Field, Fields};
use hushdb_sql::type_names::column_type_name;
use hushdb_sql::{OptionValue, Result};
use std::sync::Arc;

/// What stands for no byte.
const NONE: &str = "(empty)";

/// The columns of the row.
///
/// # Errors
/// As `read_csv`.
pub fn told(path: &str, given: &[(String, OptionValue)]) -> Result<Vec<(&'static str, ArrayRef)>> {
    let seen = seen(path, given)?;
    let marks = Marks::of(&seen);
    let columns = columns(&seen);
    let form = |is_date: bool| {
        let mut forms = seen.kinds.iter().filter_map(|kind| match kind {
            Kind::Date(form) if is_date => Some(form.clone()),
            Kind::Timestamp(Some(form)) if !is_date => Some(form.clone()),
            _ => None,
        });
        forms.next()
    };
    let (date, timestamp) = (form(true), form(false));
    let call = call(path, given, &seen, &marks, &columns, [&date, &timestamp]);
    let own = (!given.is_empty()).then(|| written(given));
    let one = |value: Option<&str>| -> ArrayRef { Arc::new(StringArray::from(vec![value])) };
    let byte = |byte: &str| one(Some(if byte.is_empty() { NONE } else { byte }));
    Ok(vec![
        ("Delimiter", byte(&marks.delimiter)),
        ("Quote", byte(&marks.quote)),
        ("Escape", byte(&marks.escape)),
        ("NewLineDelimiter", one(Some(marks.new_line))),
        ("Comment", byte(&marks.comment)),
        (
            "SkipRows",
            Arc::new(UInt32Array::from(vec![
                u32::try_from(seen.options.skip).unwrap_or(u32::MAX),
            ])),
        ),
        ("HasHeader", Arc::new(BooleanArray::from(vec![seen.header]))),
        ("Columns", listed(&columns)?),
        ("DateFormat", one(date.as_deref())),
        ("TimestampFormat", one(timestamp.as_deref())),
        ("UserArguments", one(own.as_deref())),
        ("Prompt", one(Some(&call))),
    ])
}

/// How a file is read, as the table of rejects has it.
pub(super) fn read_file(path: &str, given: &[(String, OptionValue)], seen: &Seen) -> ReadFile {
    let marks = Marks::of(seen);
    let kept = |text: String| match text.is_empty() {
        true => NONE.to_owned(),
        false => text,
    };
    ReadFile {
        path: path.to_owned(),
        delimiter: kept(marks.delimiter),
        quote: kept(marks.quote),
        escape: kept(marks.escape),
        new_line: marks.new_line.to_owned(),
        skipped: u32::try_from(seen.options.skip).unwrap_or(u32::MAX),
        header: seen.header,
        columns: of_pairs(&columns(seen)).replace("', '", "','"),
        date: seen.options.date_form.clone(),
        timestamp: seen.options.timestamp_form.clone(),
        given: written(given),
    }
}

/// Bytes that mean something, as texts; an empty one for none, or for one that the beginning has not.
struct Marks {
    delimiter: String,
    quote: String,
    escape: String,
    comment: String,
    new_line: &'static str,
}

impl Marks {
    fn of(seen: &Seen) -> Self {
        let bytes = seen.sample.bytes.as_slice();
        let has = |byte: &u8| bytes.contains(byte);
        let dialect = &seen.dialect;
        let text = |byte: Option<u8>| byte.map_or(String::new(), |b| char::from(b).to_string());
        let quote = dialect.quote.filter(has);
        let escape = dialect.escape.filter(|escape| {
            let pair = [*escape, dialect.quote.unwrap_or(*escape)];
            quote.is_some() && bytes.windows(2).any(|two| two == pair)
        });
        let comment = dialect.comment.map(|comment| comment.byte).filter(has);
        let new_line = match bytes.iter().position(|byte| matches!(byte, b'\r' | b'\n')) {
            Some(at) if bytes.get(at..at + 2) == Some(b"\r\n") => "\\r\\n",
            Some(at) if bytes.get(at) == Some(&b'\r') => "\\r",
            _ => "\\n",
        };
        Self {
            delimiter: match &seen.options.long_delimiter {
                Some(long) => long.clone(),
                None => text(Some(dialect.delimiter)),
            },
            quote: text(quote),
            escape: text(escape),
            comment: text(comment),
            new_line,
        }
    }
}

/// Names and types.
fn columns(seen: &Seen) -> Vec<(String, String)> {
    let columns = seen.names.iter().zip(&seen.types).zip(&seen.kinds);
    let columns = columns.map(|((name, ty), kind)| {
        let ty = match ty {
            Some(ty) => column_type_name(ty),
            None if seen.options.all_varchar => "VARCHAR".into(),
            None => column_type_name(&kind.column_type()),
        };
        (name.clone(), ty)
    });
    columns.collect()
}

fn listed(columns: &[(String, String)]) -> Result<ArrayRef> {
    let texts = |of: fn(&(String, String)) -> &str| -> ArrayRef {
        Arc::new(StringArray::from_iter_values(columns.iter().map(of)))
    };
    let fields = Fields::from(vec![
        Field::new("name", DataType::Utf8, true),
        Field::new("type", DataType::Utf8, true),
    ]);
    let structs = [texts(|(name, _)| name), texts(|(_, ty)| ty)];
    let structs = StructArray::try_new(fields, structs.to_vec(), None)?;
    let item = Arc::new(Field::new_list_field(
        DataType::Struct(structs.fields().clone()),
        true,
    ));
    let offsets = OffsetBuffer::from_lengths([columns.len()]);
    Ok(Arc::new(ListArray::try_new(
        item,
        offsets,
        Arc::new(structs),
        None,
    )?))
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// Options as they are written in a call.
fn written(given: &[(String, OptionValue)]) -> String {
    let value = |value: &OptionValue| match value {
        OptionValue::None => "true".to_owned(),
        OptionValue::Text(text) => {
            let bare = text.parse::<f64>().is_ok() || matches!(text.as_str(), "true" | "false");
            if bare { text.clone() } else { quoted(text) }
        }
        OptionValue::List(items) => {
            let items: Vec<String> = items.iter().map(|item| quoted(item)).collect();
            format!("[{}]", items.join(", "))
        }
        OptionValue::Pairs(pairs) => of_pairs(pairs),
    };
    let all = given
        .iter()
        .map(|(name, of)| format!("{name}={}", value(of)));
    all.collect::<Vec<_>>().join(", ")
}

fn of_pairs(pairs: &[(String, String)]) -> String {
    let pairs = pairs.iter();
    let pairs = pairs.map(|(name, ty)| format!("{}: {}", quoted(name), quoted(ty)));
    format!("{{{}}}", pairs.collect::<Vec<_>>().join(", "))
}

/// The call that reads the file so: what was found out, then what was given.
fn call(
    path: &str,
    given: &[(String, OptionValue)],
    seen: &Seen,
    marks: &Marks,
    columns: &[(String, String)],
    [date, timestamp]: [&Option<String>; 2],
) -> String {
    let is_given = |names: &[&str]| given.iter().any(|(name, _)| names.contains(&name.as_str()));
    let mut options = vec![quoted(path)];
    let mut say = |names: &[&str], value: Option<String>| {
        if let (Some(name), Some(value), false) = (names.first(), value, is_given(names)) {
            options.push(format!("{name}={value}"));
        }
    };
    say(&["auto_detect"], Some("false".into()));
    say(
        &["delim", "delimiter", "sep"],
        Some(quoted(&marks.delimiter)),
    );
    say(&["quote"], Some(quoted(&marks.quote)));
    say(&["escape"], Some(quoted(&marks.escape)));
    say(&["new_line"], Some(quoted(marks.new_line)));
    say(&["skip"], Some(seen.options.skip.to_string()));
    say(&["comment"], Some(quoted(&marks.comment)));
    say(&["header"], Some(seen.header.to_string()));
    say(&["columns"], Some(of_pairs(columns)));
    say(&["dateformat", "date_format"], date.as_deref().map(quoted));
    let names = ["timestampformat", "timestamp_format"];
    say(&names, timestamp.as_deref().map(quoted));
    if !given.is_empty() {
        options.push(written(given));
    }
    format!("FROM read_csv({});", options.join(", "))
}
