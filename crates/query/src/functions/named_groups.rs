//! `regexp_extract(text, pattern, ['name', ...])`: the groups of the first match as a struct. The names come as arguments of their own
//! behind the letters of options, each a constant that the planner sees.

use super::patterns::{Compiled, letters_are_read};
use super::room::Room;
use super::whole::{Call, Whole, registered};
use crate::heed::check;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, StringViewBuilder, StructArray};
use datafusion::arrow::buffer::NullBuffer;
use datafusion::arrow::datatypes::{DataType, Field, Fields};
use datafusion::common::{Result, ScalarValue};
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::logical_expr::ScalarUDF;
use hushdb_sql::{Error, ErrorKind, REGEXP_GROUPS, folded};
use std::collections::HashSet;
use std::sync::Arc;

/// Arguments before the names.
const BEFORE_NAMES: usize = 3;
/// Rows between two looks at the statement.
const LOOK_ROWS: usize = 32;

pub(super) fn all(memory: &Arc<dyn MemoryPool>) -> Vec<Arc<ScalarUDF>> {
    let functions: [Whole; 1] = [(&[REGEXP_GROUPS], takes, gives, extracted)];
    registered(functions, memory)
}

/// The text, the pattern and the options. The names stay as they are: a CAST would hide the constants on which the type of the
/// result depends.
fn takes(types: &[DataType]) -> Option<Vec<DataType>> {
    let is_text = |of: &DataType| of.is_string() || of.is_null();
    let (values, names) = types.split_at_checked(BEFORE_NAMES)?;
    if !types.iter().all(is_text) {
        return None;
    }
    let values = values.iter().map(|_| DataType::Utf8View);
    Some(values.chain(names.iter().cloned()).collect())
}

fn gives(_: &[DataType], constants: &[Option<&ScalarValue>]) -> Option<DataType> {
    let mut known = HashSet::new();
    let names = constants.get(BEFORE_NAMES..)?.iter();
    let fields = names.map(|name| {
        let name = name.and_then(|name| name.try_as_str().flatten());
        let name = name.filter(|name| known.insert(folded(name)))?;
        Some(Field::new(name, DataType::Utf8View, true))
    });
    let fields = fields.collect::<Option<Vec<_>>>()?;
    (!fields.is_empty()).then(|| DataType::Struct(fields.into()))
}

fn extracted(call: &Call<'_>, room: &mut Room) -> Result<ArrayRef> {
    let [texts, patterns, options, ..] = call.columns() else {
        return Err(Error::internal("regexp_extract takes a text, a pattern and options").into());
    };
    let (texts, patterns) = (texts.as_string_view(), patterns.as_string_view());
    let options = options.as_string_view();
    let fields = match call.to {
        DataType::Struct(fields) => fields.clone(),
        _ => Fields::empty(),
    };
    room.take_if_long(texts.get_array_memory_size())?;
    let mut columns: Vec<_> = fields.iter().map(|_| StringViewBuilder::new()).collect();
    let mut compiled = Compiled::default();
    let mut valid = Vec::with_capacity(texts.len());
    for row in 0..texts.len() {
        if row.is_multiple_of(LOOK_ROWS) {
            check()?;
        }
        letters_are_read(options.is_valid(row).then(|| options.value(row)))?;
        if patterns.is_null(row) {
            let what = "regexp_extract with a list of group names needs a pattern that is not NULL";
            return Err(Error::new(ErrorKind::Binder, what).into());
        }
        // What the pattern has is looked at whatever the text is.
        let (regex, _) = compiled.get(patterns.value(row), options.value(row))?;
        let groups = regex.captures_len() - 1;
        if groups < fields.len() {
            let what = format!(
                "Not enough capturing groups ({groups}) for provided names ({})",
                fields.len()
            );
            return Err(Error::new(ErrorKind::Binder, what).into());
        }
        valid.push(texts.is_valid(row));
        if texts.is_null(row) {
            columns.iter_mut().for_each(|column| column.append_null());
            continue;
        }
        let found = regex.captures(texts.value(row));
        for (group, column) in columns.iter_mut().enumerate() {
            let text = found.as_ref().and_then(|found| found.get(group + 1));
            column.try_append_value(text.map_or("", |text| text.as_str()))?;
        }
    }
    let columns = columns
        .iter_mut()
        .map(|column| Arc::new(column.finish()) as ArrayRef);
    let nulls = Some(NullBuffer::from(valid));
    Ok(Arc::new(StructArray::try_new(
        fields,
        columns.collect(),
        nulls,
    )?))
}
