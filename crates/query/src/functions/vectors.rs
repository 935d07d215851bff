//! `list_distance` and its kind: what two lists of numbers of one length are to each other; `arrays.rs` asks the same of arrays.
//!
//! What must hold: numbers are calculated with in their own type and in their order, as in DuckDB.

use super::whole::{Call, Whole, item, items_of, list_of, registered};
use datafusion::arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, ListArray, PrimitiveArray,
};
use datafusion::arrow::datatypes::{DataType, Float32Type, Float64Type};
use datafusion::common::{Result, ScalarValue};
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::logical_expr::ScalarUDF;
use hushdb_sql::{Error, ErrorKind};
use std::ops::{Add, Div, Mul, Neg, Sub};
use std::sync::Arc;

/// What two rows of numbers are to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Measure {
    /// How far they are apart.
    Distance,
    /// The sum of their products.
    Product,
    /// That sum, negative.
    NegativeProduct,
    /// The cosine of the angle between them.
    Cosine,
    /// One without that.
    CosineDistance,
}

pub(super) fn all(memory: &Arc<dyn MemoryPool>) -> Vec<Arc<ScalarUDF>> {
    let functions: [Whole; 5] = [
        (&["list_distance"], vectors, number, |call, _| {
            of_lists(call, Measure::Distance)
        }),
        (
            &["list_inner_product", "list_dot_product"],
            vectors,
            number,
            |call, _| of_lists(call, Measure::Product),
        ),
        (
            &["list_negative_inner_product", "list_negative_dot_product"],
            vectors,
            number,
            |call, _| of_lists(call, Measure::NegativeProduct),
        ),
        (&["list_cosine_similarity"], vectors, number, |call, _| {
            of_lists(call, Measure::Cosine)
        }),
        (&["list_cosine_distance"], vectors, number, |call, _| {
            of_lists(call, Measure::CosineDistance)
        }),
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

fn of_lists(call: &Call<'_>, measure: Measure) -> Result<ArrayRef> {
    let refused = |which| match which {
        Refused::Length => invalid("the two lists of numbers have to be of one length"),
        Refused::Null(_) => invalid("a list of numbers cannot have NULL in it here"),
    };
    let [left, right] = call.take()?;
    measured(left, right, measure)?.map_err(|which| refused(which).into())
}

fn invalid(what: &str) -> Error {
    Error::new(ErrorKind::InvalidInput, what)
}

/// Why two rows of numbers have no measure.
pub(super) enum Refused {
    /// They are not of one length.
    Length,
    /// There is a NULL in the left one, or in the right one.
    Null(bool),
}

/// What two columns of lists of FLOATs, or of DOUBLEs, are to each other.
pub(super) fn measured(
    left: &ArrayRef,
    right: &ArrayRef,
    measure: Measure,
) -> Result<Result<ArrayRef, Refused>> {
    let (left, right) = (left.as_list::<i32>(), right.as_list::<i32>());
    match left.value_type() {
        DataType::Float32 => Ok(each::<Float32Type>(left, right, measure)),
        DataType::Float64 => Ok(each::<Float64Type>(left, right, measure)),
        other => Err(Error::internal(format!("no measure of values of type {other}")).into()),
    }
}

fn each<T>(left: &ListArray, right: &ListArray, measure: Measure) -> Result<ArrayRef, Refused>
where
    T: ArrowPrimitiveType<Native: Real>,
{
    let (ours, theirs) = (left.values().as_primitive(), right.values().as_primitive());
    let numbers = (0..left.len()).map(|row| {
        if left.is_null(row) || right.is_null(row) {
            return Ok(None);
        }
        let a = vector::<T>(ours, left, row).ok_or(Refused::Null(false))?;
        let b = vector::<T>(theirs, right, row).ok_or(Refused::Null(true))?;
        match a.len() == b.len() {
            true => Ok(measure.of(a, b)),
            false => Err(Refused::Length),
        }
    });
    let numbers = numbers.collect::<Result<PrimitiveArray<T>, Refused>>()?;
    Ok(Arc::new(numbers))
}

/// The numbers of a row; `None` if one of them is NULL.
fn vector<'a, T: ArrowPrimitiveType>(
    values: &'a PrimitiveArray<T>,
    list: &ListArray,
    row: usize,
) -> Option<&'a [T::Native]> {
    let items = items_of(list, row);
    if values.null_count() > 0 && items.clone().any(|item| values.is_null(item)) {
        return None;
    }
    values.values().get(items)
}

/// A FLOAT or a DOUBLE.
trait Real:
    Copy
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
{
    const ZERO: Self;
    const ONE: Self;
    fn root(self) -> Self;
}

impl Real for f32 {
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;
    fn root(self) -> Self {
        self.sqrt()
    }
}

impl Real for f64 {
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;
    fn root(self) -> Self {
        self.sqrt()
    }
}

impl Measure {
    /// The cosine of nothing is none.
    fn of<T: Real>(self, left: &[T], right: &[T]) -> Option<T> {
        Some(match self {
            Self::Distance => {
                let differences = left.iter().zip(right).map(|(a, b)| *a - *b);
                sum(differences.map(|by| by * by)).root()
            }
            Self::Product => product(left, right),
            Self::NegativeProduct => -product(left, right),
            Self::Cosine => cosine(left, right)?,
            Self::CosineDistance => T::ONE - cosine(left, right)?,
        })
    }
}

fn product<T: Real>(left: &[T], right: &[T]) -> T {
    sum(left.iter().zip(right).map(|(a, b)| *a * *b))
}

fn sum<T: Real>(numbers: impl Iterator<Item = T>) -> T {
    numbers.fold(T::ZERO, |sum, number| sum + number)
}

/// -1 where one of them has no direction, as in DuckDB; none of nothing.
fn cosine<T: Real>(left: &[T], right: &[T]) -> Option<T> {
    if left.is_empty() {
        return None;
    }
    let lengths = (product(left, left) * product(right, right)).root();
    let cosine = product(left, right) / lengths;
    Some(match cosine {
        cosine if cosine > T::ONE => T::ONE,
        cosine if cosine >= -T::ONE => cosine,
        _ => -T::ONE,
    })
}
