//! Functions of arrays, which have as many values as their type says: `array_value`, and what two of them are to each other.
//!
//! What must hold: lengths are known by type, and checked before a row is looked at.

use super::nested_cast::cast_nested;
use super::plain::called;
use super::room::{Room, bytes_of};
use super::vectors::{Measure, Refused, measured};
use super::whole::{Call, Whole, item, registered};
use crate::common_types::common_type;
use datafusion::arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, ListArray, PrimitiveArray,
};
use datafusion::arrow::buffer::{NullBuffer, OffsetBuffer};
use datafusion::arrow::compute::interleave;
use datafusion::arrow::datatypes::{DataType, Float32Type, Float64Type};
use datafusion::common::{Result, ScalarValue, plan_err};
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use hushdb_sql::{Error, ErrorKind};
use hushdb_storage::ArrayType;
use std::ops::{Mul, Sub};
use std::sync::Arc;

/// The arrays of which there is a cross product have so many numbers.
const OF_SPACE: u32 = 3;

pub(super) fn all(memory: &Arc<dyn MemoryPool>) -> Vec<Arc<ScalarUDF>> {
    let functions: [Whole; 2] = [
        (
            &["array_value"],
            |types| {
                let common = common_type(types)?;
                (!types.is_empty()).then(|| vec![common; types.len()])
            },
            |types, _| {
                Some(array_of(
                    types.first()?.clone(),
                    types.len().try_into().ok()?,
                ))
            },
            array_value,
        ),
        (
            &["array_cross_product"],
            // Texts and lists are cast when rows are there, by CAST's own rules.
            |types| spatial(types).map(|_| types.to_vec()),
            |types, _| spatial(types),
            |call, _| {
                let [left, right] = call.take()?;
                let (left, right) = (
                    cast_nested(left, call.to, false)?,
                    cast_nested(right, call.to, false)?,
                );
                let (left, right) = (left.as_list::<i32>(), right.as_list::<i32>());
                match left.value_type() {
                    DataType::Float32 => cross::<Float32Type>(left, right),
                    _ => cross::<Float64Type>(left, right),
                }
            },
        ),
    ];
    let mut all = registered(functions, memory);
    all.extend(OfTwo::all());
    all
}

/// The type of so many values of a type.
fn array_of(item: DataType, length: u32) -> DataType {
    DataType::List(Arc::new(ArrayType::field(item, length)))
}

/// An array of a value of each column.
fn array_value(call: &Call<'_>, room: &mut Room) -> Result<ArrayRef> {
    let (columns, rows) = (call.columns(), call.rows());
    let DataType::List(field) = call.to else {
        return Err(Error::internal("an array is a list").into());
    };
    let bytes = columns.iter().map(|column| bytes_of(column.as_ref()));
    let places = rows
        .saturating_mul(columns.len())
        .saturating_mul(size_of::<(usize, usize)>());
    room.take_if_long(bytes.fold(places, usize::saturating_add))?;
    let each: Vec<&dyn Array> = columns.iter().map(AsRef::as_ref).collect();
    let places = (0..rows).flat_map(|row| (0..columns.len()).map(move |column| (column, row)));
    let values = interleave(&each, &places.collect::<Vec<_>>())?;
    let offsets = OffsetBuffer::from_repeated_length(columns.len(), rows);
    Ok(Arc::new(ListArray::try_new(
        Arc::clone(field),
        offsets,
        values,
        None,
    )?))
}

/// The type of arrays of three numbers that both arguments may be.
fn spatial(types: &[DataType]) -> Option<DataType> {
    let [left, right] = types else { return None };
    let number = |of: &DataType| match ArrayType::length_of(of) {
        Some(length) if length != OF_SPACE => None,
        _ if of.is_string() => Some(DataType::Null),
        _ => item(of),
    };
    Some(array_of(float(&[number(left)?, number(right)?])?, OF_SPACE))
}

/// DOUBLE, or FLOAT where one is and none is a DOUBLE; `None` where one is no number.
fn float(of: &[DataType]) -> Option<DataType> {
    let is_number = |of: &DataType| of.is_numeric() || of.is_null();
    let is_any = |ty: DataType| of.contains(&ty);
    of.iter().all(is_number).then(|| {
        match is_any(DataType::Float32) && !is_any(DataType::Float64) {
            true => DataType::Float32,
            false => DataType::Float64,
        }
    })
}

fn has_null(name: &str, is_right: bool) -> Error {
    let side = if is_right { "right" } else { "left" };
    let what = format!("{name}: {side} argument can not contain NULL values");
    Error::new(ErrorKind::InvalidInput, what)
}

fn cross<T>(left: &ListArray, right: &ListArray) -> Result<ArrayRef>
where
    T: ArrowPrimitiveType<Native: Mul<Output = T::Native> + Sub<Output = T::Native>>,
{
    let nulls = NullBuffer::union(left.nulls(), right.nulls());
    let mut values = Vec::with_capacity(left.len() * OF_SPACE as usize);
    for row in 0..left.len() {
        if nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
            continue;
        }
        let numbers = |list: &ListArray, is_right| {
            let numbers = list.value(row);
            let numbers = numbers.as_primitive::<T>();
            match (numbers.null_count(), numbers.values().as_ref()) {
                (0, [x, y, z]) => Ok([*x, *y, *z]),
                _ => Err(has_null("array_cross_product", is_right)),
            }
        };
        let ([a, b, c], [x, y, z]) = (numbers(left, false)?, numbers(right, true)?);
        values.extend([b * z - c * y, c * x - a * z, a * y - b * x]);
    }
    let length = |row| match nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
        true => 0,
        false => OF_SPACE as usize,
    };
    let offsets = OffsetBuffer::from_lengths((0..left.len()).map(length));
    let field = Arc::new(ArrayType::field(T::DATA_TYPE, OF_SPACE));
    let values = Arc::new(PrimitiveArray::<T>::from_iter_values(values));
    Ok(Arc::new(ListArray::try_new(field, offsets, values, nulls)?))
}

/// `array_distance(a, b)` and its kind.
#[derive(Debug, PartialEq, Eq, Hash)]
struct OfTwo {
    name: &'static str,
    aliases: Vec<String>,
    measure: Measure,
    signature: Signature,
}

impl OfTwo {
    fn all() -> impl Iterator<Item = Arc<ScalarUDF>> {
        let functions = [
            ("array_distance", None, Measure::Distance),
            (
                "array_inner_product",
                Some("array_dot_product"),
                Measure::Product,
            ),
            (
                "array_negative_inner_product",
                Some("array_negative_dot_product"),
                Measure::NegativeProduct,
            ),
            ("array_cosine_similarity", None, Measure::Cosine),
            ("array_cosine_distance", None, Measure::CosineDistance),
        ];
        functions.into_iter().map(|(name, alias, measure)| {
            Arc::new(ScalarUDF::from(Self {
                name,
                aliases: alias.into_iter().map(String::from).collect(),
                measure,
                signature: Signature::user_defined(Volatility::Immutable),
            }))
        })
    }

    /// The type of the numbers of both, and how many there are.
    fn both(&self, types: &[DataType]) -> Result<DataType> {
        let refused = |what: &str| plan_err!("{}: {what}", self.name);
        let unknown = || {
            plan_err!(
                "No function matches the given name and argument types '{}'. You might need to add explicit type casts.",
                called(self.name, types)
            )
        };
        let [left, right] = types else {
            return unknown();
        };
        let lengths = [left, right].map(ArrayType::length_of);
        let is_text = types.iter().any(DataType::is_string);
        let length = match lengths {
            [Some(left), Some(right)] if left != right => {
                return refused("Array arguments must be of the same size");
            }
            [Some(length), _] | [_, Some(length)] => length,
            [None, None] => return unknown(),
        };
        let is_array = |of: &DataType| of.is_null() || ArrayType::length_of(of).is_some();
        if !is_text && !types.iter().all(is_array) {
            return unknown();
        }
        let items = types.iter().map(|of| item(of).unwrap_or(DataType::Null));
        let items = items.collect::<Vec<_>>();
        match float(&items) {
            None => unknown(),
            Some(of) if !is_text && items.iter().any(DataType::is_floating) => {
                Ok(array_of(of, length))
            }
            Some(_) => refused("Arguments must be arrays of FLOAT or DOUBLE"),
        }
    }
}

impl ScalarUDFImpl for OfTwo {
    fn name(&self) -> &str {
        self.name
    }

    fn aliases(&self) -> &[String] {
        &self.aliases
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        Ok(vec![self.both(types)?; 2])
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        let of = item(&self.both(types)?);
        of.ok_or_else(|| Error::internal("an array has items").into())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let [left, right] = arrays.as_slice() else {
            return Err(Error::internal("a measure is one of two arrays").into());
        };
        let made = measured(left, right, self.measure)?.map_err(|which| match which {
            Refused::Null(is_right) => has_null(self.name, is_right),
            Refused::Length => Error::internal("two arrays of one type have one length"),
        })?;
        let is_constant = |arg: &ColumnarValue| matches!(arg, ColumnarValue::Scalar(_));
        match args.args.iter().all(is_constant) {
            true => Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(
                &made, 0,
            )?)),
            false => Ok(ColumnarValue::Array(made)),
        }
    }
}
