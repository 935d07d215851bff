//! `list_distance` and its kind: what two lists of numbers of one length are to each other.

use super::whole::{Call, Whole, item, items_of, list_of, registered};
use datafusion::arrow::array::{Array, ArrayRef, AsArray, Float64Array, ListArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Float64Type};
use datafusion::common::{Result, ScalarValue};
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::logical_expr::ScalarUDF;
use hushdb_sql::{Error, ErrorKind};
use std::sync::Arc;

pub(super) fn all(memory: &Arc<dyn MemoryPool>) -> Vec<Arc<ScalarUDF>> {
    let functions: [Whole; 5] = [
        (
            &["list_distance", "array_distance"],
            vectors,
            number,
            |call, _| of_both(call, |a, b| Some(distance(a, b))),
        ),
        (
            &[
                "list_inner_product",
                "list_dot_product",
                "array_inner_product",
                "array_dot_product",
            ],
            vectors,
            number,
            |call, _| of_both(call, |a, b| Some(product(a, b))),
        ),
        (
            &[
                "list_negative_inner_product",
                "list_negative_dot_product",
                "array_negative_inner_product",
                "array_negative_dot_product",
            ],
            vectors,
            number,
            |call, _| of_both(call, |a, b| Some(-product(a, b))),
        ),
        (
            &["list_cosine_similarity", "array_cosine_similarity"],
            vectors,
            number,
            |call, _| of_both(call, cosine),
        ),
        (
            &["list_cosine_distance", "array_cosine_distance"],
            vectors,
            number,
            |call, _| of_both(call, |a, b| Some(1.0 - cosine(a, b)?)),
        ),
    ];
    registered(functions, memory)
}

/// Two lists of DOUBLE; of FLOAT where one is and the other could be.
fn vectors(types: &[DataType]) -> Option<Vec<DataType>> {
    let [left, right] = types else { return None };
    let items = [item(left)?, item(right)?];
    let known = |t: &DataType| t.is_numeric() || t.is_null();
    let float = |t: &DataType| t == &DataType::Float32;
    let fits_float = |t: &DataType| float(t) || t.is_integer() || t.is_null();
    let of = match items.iter().any(float) && items.iter().all(fits_float) {
        true => DataType::Float32,
        false => DataType::Float64,
    };
    items.iter().all(known).then(|| vec![list_of(of); 2])
}

fn number(types: &[DataType], _: &[Option<&ScalarValue>]) -> Option<DataType> {
    item(types.first()?)
}

fn distance(left: &[f64], right: &[f64]) -> f64 {
    let squares = left.iter().zip(right).map(|(a, b)| (a - b) * (a - b));
    squares.fold(0.0, |sum, square| sum + square).sqrt()
}

fn product(left: &[f64], right: &[f64]) -> f64 {
    left.iter().zip(right).fold(0.0, |sum, (a, b)| sum + a * b)
}

/// -1 where one of them has no direction, as in DuckDB; none of nothing.
fn cosine(left: &[f64], right: &[f64]) -> Option<f64> {
    if left.is_empty() {
        return None;
    }
    let cosine = product(left, right) / (product(left, left) * product(right, right)).sqrt();
    Some(if cosine.is_nan() {
        -1.0
    } else {
        cosine.clamp(-1.0, 1.0)
    })
}

fn of_both(call: &Call<'_>, of: fn(&[f64], &[f64]) -> Option<f64>) -> Result<ArrayRef> {
    let [left, right] = call.take()?.each_ref().map(|list| list.as_list::<i32>());
    let (ours, theirs) = (doubles(left)?, doubles(right)?);
    let numbers = (0..left.len()).map(|row| {
        if left.is_null(row) || right.is_null(row) {
            return Ok(None);
        }
        let (a, b) = (vector(&ours, left, row)?, vector(&theirs, right, row)?);
        match a.len() == b.len() {
            true => Ok(of(a, b)),
            false => Err(invalid("the two lists of numbers have to be of one length")),
        }
    });
    let numbers: ArrayRef = Arc::new(numbers.collect::<Result<Float64Array, Error>>()?);
    Ok(cast(&numbers, call.to)?)
}

fn doubles(list: &ListArray) -> Result<Float64Array> {
    let values = cast(list.values(), &DataType::Float64)?;
    Ok(values.as_primitive::<Float64Type>().clone())
}

fn vector<'a>(values: &'a Float64Array, list: &ListArray, row: usize) -> Result<&'a [f64], Error> {
    let items = items_of(list, row);
    if items.clone().any(|item| values.is_null(item)) {
        return Err(invalid("a list of numbers cannot have NULL in it here"));
    }
    Ok(values.values().get(items).unwrap_or_default())
}

fn invalid(what: &str) -> Error {
    Error::new(ErrorKind::InvalidInput, what)
}
