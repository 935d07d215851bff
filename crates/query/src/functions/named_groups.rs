//! `regexp_extract(text, pattern, ['name', ...])`: the groups of the first match as a struct.

use super::patterns::Compiled;
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

/// Rows between two looks at the statement.
const LOOK_ROWS: usize = 32;

pub(super) fn all(memory: &Arc<dyn MemoryPool>) -> Vec<Arc<ScalarUDF>> {
    let functions: [Whole; 1] = [(&[REGEXP_GROUPS], takes, gives, extracted)];
    registered(functions, memory)
}

/// The names stay as they are: a CAST would hide the constant on which the type of the result depends.
fn takes(types: &[DataType]) -> Option<Vec<DataType>> {
    let is_text = |of: &DataType| of.is_string() || of.is_null();
    match types {
        [text, pattern, names, options @ ..]
            if is_text(text) && is_text(pattern) && names.is_list() && options.len() < 2 =>
        {
            let mut all = vec![DataType::Utf8View, DataType::Utf8View, names.clone()];
            all.extend(options.iter().map(|_| DataType::Utf8View));
            Some(all)
        }
        _ => None,
    }
}

fn gives(_: &[DataType], constants: &[Option<&ScalarValue>]) -> Option<DataType> {
    let ScalarValue::List(names) = constants.get(2).copied().flatten()? else {
        return None;
    };
    let names = datafusion::arrow::compute::cast(names.values(), &DataType::Utf8View).ok()?;
    let mut known = HashSet::new();
    let fields = names.as_string_view().iter().map(|name| {
        let name = name.filter(|name| known.insert(folded(name)))?;
        Some(Field::new(name, DataType::Utf8View, true))
    });
    let fields = fields.collect::<Option<Vec<_>>>()?;
    (!fields.is_empty()).then(|| DataType::Struct(fields.into()))
}

fn extracted(call: &Call<'_>, room: &mut Room) -> Result<ArrayRef> {
    let (texts, patterns, options) = match call.columns() {
        [texts, patterns, _] => (texts, patterns, None),
        [texts, patterns, _, options] => (texts, patterns, Some(options.as_string_view())),
        _ => return Err(Error::internal("regexp_extract takes three arguments or four").into()),
    };
    let (texts, patterns) = (texts.as_string_view(), patterns.as_string_view());
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
        let is_known = texts.is_valid(row)
            && patterns.is_valid(row)
            && options.is_none_or(|options| options.is_valid(row));
        valid.push(is_known);
        if !is_known {
            columns.iter_mut().for_each(|column| column.append_null());
            continue;
        }
        let letters = options.map_or("", |options| options.value(row));
        let (regex, _) = compiled.get(patterns.value(row), letters)?;
        let groups = regex.captures_len() - 1;
        if groups < fields.len() {
            let what = format!(
                "Not enough capturing groups ({groups}) for provided names ({})",
                fields.len()
            );
            return Err(Error::new(ErrorKind::Binder, what).into());
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
