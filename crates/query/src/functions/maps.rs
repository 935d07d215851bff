//! Maps of keys and values: how functions put them together.
//!
//! What must hold: no key is NULL or twice in a map.

use super::comparison_key::keys as comparable_keys;
use datafusion::arrow::array::{Array, ArrayRef, MapArray, StructArray};
use datafusion::arrow::buffer::{NullBuffer, OffsetBuffer};
use datafusion::arrow::datatypes::DataType;
use datafusion::arrow::row::{RowConverter, Rows, SortField};
use datafusion::common::Result;
use hushdb_sql::{Error, ErrorKind};
use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

/// Maps of type `to`, each of so many of the keys and values, NULL where not `valid`.
pub(super) fn maps(
    to: &DataType,
    (keys, values): (ArrayRef, ArrayRef),
    lengths: Vec<usize>,
    valid: Vec<bool>,
) -> Result<ArrayRef> {
    let offsets = OffsetBuffer::from_lengths(lengths);
    let valid = NullBuffer::from(valid);
    maps_at(to, (keys, values), offsets, Some(valid))
}

/// Maps of type `to` that have keys and values where the offsets say.
pub(super) fn maps_at(
    to: &DataType,
    (keys, values): (ArrayRef, ArrayRef),
    offsets: OffsetBuffer<i32>,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef> {
    let DataType::Map(field, ordered) = to else {
        return Err(Error::internal("a function of maps of another type").into());
    };
    let DataType::Struct(fields) = field.data_type() else {
        return Err(Error::internal("a map without entries").into());
    };
    let entries = StructArray::try_new(fields.clone(), vec![keys, values], None)?;
    let maps = MapArray::try_new(Arc::clone(field), offsets, entries, nulls, *ordered)?;
    Ok(Arc::new(maps))
}

/// The keys of maps as bytes that are equal where they are.
pub(super) fn key_rows(of: &ArrayRef) -> Result<Rows> {
    let of = comparable_keys(of)?;
    let field = SortField::new(of.data_type().clone());
    Ok(RowConverter::new(vec![field])?.convert_columns(&[of])?)
}

/// Refuses keys, of one map in each range, that are NULL or twice in their map.
pub(super) fn check_keys(
    keys: &ArrayRef,
    mut each: impl Iterator<Item = Range<usize>>,
) -> Result<()> {
    let rows = key_rows(keys)?;
    // A column of the untyped NULL does not say that it is.
    let nulls = keys.logical_nulls();
    let is_null = |at: usize| nulls.as_ref().is_some_and(|nulls| nulls.is_null(at));
    let mut known = HashSet::new();
    each.try_for_each(|mut of_map| {
        known.clear();
        of_map.try_for_each(|at| match is_null(at) {
            true => Err(invalid("Map keys can not be NULL.")),
            false if known.insert(rows.row(at)) => Ok(()),
            false => Err(invalid("Map keys must be unique.")),
        })
    })
}

/// The places of each map's entries.
pub(super) fn ranges(offsets: &OffsetBuffer<i32>) -> impl Iterator<Item = Range<usize>> {
    let ends = offsets.windows(2);
    ends.map(|ends| ends[0] as usize..ends[1] as usize)
}

pub(super) fn invalid(text: &str) -> datafusion::error::DataFusionError {
    Error::new(ErrorKind::InvalidInput, text).into()
}
