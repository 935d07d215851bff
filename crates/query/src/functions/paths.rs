//! Paths of files taken apart: `parse_path`, `parse_filename`, `parse_dirname`, `parse_dirpath`. Nothing is looked up.

use super::plain::{Columns, Form, Kind, Row, Run, Written, plain};
use super::room::{Room, VIEW_BYTES};
use datafusion::arrow::array::{ArrayBuilder, ArrayRef, ListBuilder, StringViewBuilder};
use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::common::Result;
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::logical_expr::ScalarUDF;
use std::sync::Arc;

pub(super) fn all(memory: &Arc<dyn MemoryPool>) -> Vec<Arc<ScalarUDF>> {
    const T: Kind = Kind::Text;
    let plain = |names, forms| plain(names, forms, memory);
    let texts = DataType::List(Arc::new(Field::new_list_field(DataType::Utf8View, true)));
    let parts = || Run::Whole(texts.clone(), parts);
    let of_path = |run: fn(Row<'_>, &mut Written<'_>) -> Result<bool>| {
        vec![
            Form::new(&[T], Run::Text(run)),
            Form::new(&[T, T], Run::Text(run)).seeing_nulls(),
        ]
    };
    vec![
        plain(
            &["parse_path"],
            vec![
                Form::new(&[T], parts()).seeing_nulls(),
                Form::new(&[T, T], parts()).seeing_nulls(),
            ],
        ),
        plain(&["parse_dirname"], of_path(directory_name)),
        plain(&["parse_dirpath"], of_path(directory_path)),
        plain(
            &["parse_filename"],
            vec![
                Form::new(&[T], Run::Text(file_name)),
                Form::new(&[T, Kind::Bool], Run::Text(file_name)).seeing_nulls(),
                Form::new(&[T, T], Run::Text(|row, out| named(row, 1, false, out))).seeing_nulls(),
                Form::new(
                    &[T, Kind::Bool, T],
                    Run::Text(|row, out| named(row, 2, row.bool(1), out)),
                )
                .seeing_nulls(),
            ],
        ),
    ]
}

/// What the parts of a path are set apart by.
fn separators(named: &str) -> &'static [char] {
    match named {
        "forward_slash" => &['/'],
        "backslash" => &['\\'],
        "both_slash" => &['/', '\\'],
        // As the system does, on which this runs.
        _ => &['/'],
    }
}

fn given(row: Row<'_>, at: usize) -> &'static [char] {
    separators(row.text(at))
}

/// Whether there is nothing to take apart. What is written as NULL behind the path is as if it were left out.
fn is_unknown(row: Row<'_>, arguments: usize) -> bool {
    row.is_null(0) || (1..arguments).any(|arg| row.is_null(arg) && !row.is_always_null(arg))
}

fn parts(columns: &Columns, room: &mut Room) -> Result<ArrayRef> {
    let mut out = ListBuilder::new(StringViewBuilder::new());
    for row in columns.rows() {
        if is_unknown(row, columns.count()) {
            out.append_null();
            continue;
        }
        let (path, marks) = (row.text(0), given(row, 1));
        let count = split(path, marks).count() as u128;
        room.take_items(out.values().len(), count, VIEW_BYTES)?;
        for part in split(path, marks) {
            out.values().try_append_value(part)?;
        }
        out.append(true);
    }
    Ok(Arc::new(out.finish()))
}

/// The root, if there is one, and names.
fn split<'a>(path: &'a str, marks: &'static [char]) -> impl Iterator<Item = &'a str> {
    let root = path.chars().next().filter(|c| marks.contains(c));
    let root = root.and_then(|c| path.get(..c.len_utf8()));
    let names = path.split(marks).filter(|name| !name.is_empty());
    root.into_iter().chain(names)
}

fn directory_name(row: Row<'_>, out: &mut Written<'_>) -> Result<bool> {
    if is_unknown(row, row.count()) {
        return Ok(false);
    }
    let (path, marks) = (row.text(0), given(row, 1));
    if path.contains(marks) {
        out.push(split(path, marks).next().unwrap_or_default());
    }
    Ok(true)
}

fn directory_path(row: Row<'_>, out: &mut Written<'_>) -> Result<bool> {
    if is_unknown(row, row.count()) {
        return Ok(false);
    }
    let (path, marks) = (row.text(0), given(row, 1));
    out.push(path.rsplit_once(marks).map_or("", |(above, _)| above));
    Ok(true)
}

fn file_name(row: Row<'_>, out: &mut Written<'_>) -> Result<bool> {
    named(row, 2, row.bool(1), out)
}

/// The name behind the last mark, with its ending or without.
fn named(row: Row<'_>, at: usize, trims: bool, out: &mut Written<'_>) -> Result<bool> {
    if is_unknown(row, row.count()) {
        return Ok(false);
    }
    let path = row.text(0);
    let name = path.rsplit(given(row, at)).next().unwrap_or_default();
    out.push(match (trims, name.rfind('.')) {
        (true, Some(end)) => name.get(..end).unwrap_or_default(),
        _ => name,
    });
    Ok(true)
}
