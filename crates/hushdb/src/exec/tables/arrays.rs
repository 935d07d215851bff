//! Columns of tables that are made of rows of our own: a value of each row.

use datafusion::arrow::array::{
    ArrayRef, BooleanArray, Int32Array, Int64Array, Int64Builder, ListBuilder, MapArray,
    StringArray, StringBuilder, StructArray,
};
use datafusion::arrow::buffer::OffsetBuffer;
use datafusion::arrow::datatypes::{DataType, Field, Fields};
use std::sync::Arc;

pub(super) fn texts<T>(rows: &[T], of: impl Fn(&T) -> Option<String>) -> ArrayRef {
    Arc::new(rows.iter().map(of).collect::<StringArray>())
}

pub(super) fn numbers<T>(rows: &[T], of: impl Fn(&T) -> Option<i64>) -> ArrayRef {
    Arc::new(rows.iter().map(of).collect::<Int64Array>())
}

pub(super) fn small_numbers<T>(rows: &[T], of: impl Fn(&T) -> Option<i32>) -> ArrayRef {
    Arc::new(rows.iter().map(of).collect::<Int32Array>())
}

pub(super) fn flags<T>(rows: &[T], of: impl Fn(&T) -> bool) -> ArrayRef {
    let flags = rows.iter().map(|row| Some(of(row)));
    Arc::new(flags.collect::<BooleanArray>())
}

/// Lists of texts, of which some may be NULL.
pub(super) fn text_lists<T>(
    rows: &[T],
    of: impl Fn(&T) -> Option<Vec<Option<String>>>,
) -> ArrayRef {
    let mut lists = ListBuilder::new(StringBuilder::new());
    for row in rows {
        let list = of(row);
        let is_there = list.is_some();
        for item in list.into_iter().flatten() {
            lists.values().append_option(item);
        }
        lists.append(is_there);
    }
    Arc::new(lists.finish())
}

pub(super) fn number_lists<T>(rows: &[T], of: impl Fn(&T) -> Vec<i64>) -> ArrayRef {
    let mut lists = ListBuilder::new(Int64Builder::new());
    for row in rows {
        lists.values().append_slice(&of(row));
        lists.append(true);
    }
    Arc::new(lists.finish())
}

/// Texts that are all there, as items of a list.
pub(super) fn items(texts: impl IntoIterator<Item = String>) -> Vec<Option<String>> {
    texts.into_iter().map(Some).collect()
}

/// Tags, of which nothing here has any: empty maps from texts to texts.
pub(super) fn no_tags<T>(rows: &[T]) -> ArrayRef {
    let fields = Fields::from(vec![
        Field::new("key", DataType::Utf8, false),
        Field::new("value", DataType::Utf8, true),
    ]);
    let entries = StructArray::new_null(fields.clone(), 0);
    let entry = Field::new("entries", DataType::Struct(fields), false);
    let offsets = OffsetBuffer::new_zeroed(rows.len());
    Arc::new(MapArray::new(
        Arc::new(entry),
        offsets,
        entries,
        None,
        false,
    ))
}
