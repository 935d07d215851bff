//! `$key(x)`: a value that compares as DuckDB compares `x`, for types that Arrow and DataFusion compare otherwise. The planner
//! puts it where values are compared, ordered, grouped or joined.
//!
//! What must hold: two values are equal, or one is less, exactly where their keys are; NULL has the key NULL. An INTERVAL counts
//! with 30 days for a month and 24 hours for a day; NULL within a list or struct equals NULL and is greater than all else; NaN
//! equals NaN, and 0.0 equals -0.0.

use super::enums::codes;
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BinaryArray, Decimal128Array, GenericListArray, ListArray,
    OffsetSizeTrait, PrimitiveArray, StructArray,
};
use datafusion::arrow::compute::{SortOptions, cast};
use datafusion::arrow::datatypes::{
    DataType, Field, Float32Type, Float64Type, IntervalMonthDayNano, IntervalMonthDayNanoType,
    IntervalUnit,
};
use datafusion::arrow::row::{RowConverter, SortField};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use hushdb_sql::type_names::enum_type;
use std::sync::{Arc, LazyLock};

const NANOS_PER_DAY: i128 = 86_400_000_000_000;
const DAYS_PER_MONTH: i128 = 30;

/// The type of the keys of a type's values; `None` for types whose values are their own keys, as those of floats are but for zeros
/// and NaNs.
pub fn key_type(of: &DataType) -> Option<DataType> {
    match of {
        DataType::Struct(fields) if enum_type(of).is_some() => {
            fields.first().map(|code| code.data_type().clone())
        }
        DataType::Interval(_) => Some(DataType::Decimal128(38, 0)),
        DataType::List(_)
        | DataType::LargeList(_)
        | DataType::FixedSizeList(..)
        | DataType::Map(..)
        | DataType::Struct(_) => Some(DataType::Binary),
        _ => None,
    }
}

/// Whether equal values of a type may differ: where there are intervals or floats in it.
pub fn may_differ(of: &DataType) -> bool {
    match of {
        DataType::Interval(_) => true,
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
            may_differ(item.data_type())
        }
        DataType::Map(entries, _) => may_differ(entries.data_type()),
        DataType::Struct(fields) => fields.iter().any(|field| may_differ(field.data_type())),
        other => other.is_floating(),
    }
}

/// `$key(expr)`.
pub fn key_of(expr: Expr) -> Expr {
    static KEY: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| {
        let signature = Signature::any(1, Volatility::Immutable);
        Arc::new(ScalarUDF::from(ComparisonKey { signature }))
    });
    Expr::ScalarFunction(ScalarFunction::new_udf(Arc::clone(&KEY), vec![expr]))
}

/// The keys of an array's values.
pub(crate) fn keys(array: &ArrayRef) -> Result<ArrayRef> {
    if enum_type(array.data_type()).is_some() {
        return codes(array);
    }
    let plain = comparable(array)?;
    if !plain.data_type().is_nested() {
        return Ok(plain);
    }
    // NULL is greater than all else within a value; what the whole value is does not matter, it is NULL again below.
    let options = SortOptions::default().nulls_last();
    let field = SortField::new_with_options(plain.data_type().clone(), options);
    let rows = RowConverter::new(vec![field])?.convert_columns(&[Arc::clone(&plain)])?;
    let (offsets, bytes, _) = rows.try_into_binary()?.into_parts();
    let nulls = array.nulls().cloned();
    Ok(Arc::new(BinaryArray::try_new(offsets, bytes, nulls)?))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct ComparisonKey {
    signature: Signature,
}

impl ScalarUDFImpl for ComparisonKey {
    fn name(&self) -> &str {
        "$key"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match types.first() {
            Some(float) if float.is_floating() => Ok(float.clone()),
            other => match other.and_then(key_type) {
                Some(key) => Ok(key),
                None => internal_err!("{types:?} needs no key"),
            },
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        match &args.args[0] {
            ColumnarValue::Array(array) => Ok(ColumnarValue::Array(keys(array)?)),
            ColumnarValue::Scalar(value) => {
                let key = ScalarValue::try_from_array(&keys(&value.to_array()?)?, 0)?;
                Ok(ColumnarValue::Scalar(key))
            }
        }
    }
}

/// The array with values in it that Arrow compares as they are to be compared, but for NULL within them.
fn comparable(array: &ArrayRef) -> Result<ArrayRef> {
    Ok(match array.data_type() {
        DataType::Interval(IntervalUnit::MonthDayNano) => {
            let lengths: Decimal128Array = array
                .as_primitive::<IntervalMonthDayNanoType>()
                .unary(length);
            Arc::new(lengths.with_precision_and_scale(38, 0)?)
        }
        DataType::Interval(_) => comparable(&cast(
            array,
            &DataType::Interval(IntervalUnit::MonthDayNano),
        )?)?,
        DataType::Float32 => {
            let plain = |v: f32| if v.is_nan() { f32::NAN } else { v + 0.0 };
            let plain: PrimitiveArray<Float32Type> =
                array.as_primitive::<Float32Type>().unary(plain);
            Arc::new(plain)
        }
        DataType::Float64 => {
            let plain = |v: f64| if v.is_nan() { f64::NAN } else { v + 0.0 };
            let plain: PrimitiveArray<Float64Type> =
                array.as_primitive::<Float64Type>().unary(plain);
            Arc::new(plain)
        }
        DataType::List(_) => list(array.as_list::<i32>())?,
        DataType::LargeList(_) => list(array.as_list::<i64>())?,
        DataType::FixedSizeList(item, _) => {
            comparable(&cast(array, &DataType::List(Arc::clone(item)))?)?
        }
        // As the list of its entries.
        DataType::Map(..) => {
            let (field, offsets, entries, nulls, _) = array.as_map().clone().into_parts();
            list(&ListArray::try_new(
                field,
                offsets,
                Arc::new(entries),
                nulls,
            )?)?
        }
        DataType::Struct(fields) => {
            let given = array.as_struct();
            let columns = given.columns().iter().map(comparable);
            let columns = columns.collect::<Result<Vec<_>>>()?;
            let fields = fields.iter().zip(&columns);
            let fields = fields.map(|(f, c)| Field::new(f.name(), c.data_type().clone(), true));
            let nulls = given.nulls().cloned();
            Arc::new(StructArray::try_new(fields.collect(), columns, nulls)?)
        }
        _ => Arc::clone(array),
    })
}

fn list<O: OffsetSizeTrait>(list: &GenericListArray<O>) -> Result<ArrayRef> {
    let values = comparable(list.values())?;
    let item = Arc::new(Field::new_list_field(values.data_type().clone(), true));
    let (offsets, nulls) = (list.offsets().clone(), list.nulls().cloned());
    Ok(Arc::new(GenericListArray::try_new(
        item, offsets, values, nulls,
    )?))
}

/// How long an interval is, in nanoseconds.
fn length(interval: IntervalMonthDayNano) -> i128 {
    let days = i128::from(interval.months) * DAYS_PER_MONTH + i128::from(interval.days);
    days * NANOS_PER_DAY + i128::from(interval.nanoseconds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::array::{Float64Array, IntervalMonthDayNanoArray, ListArray};
    use datafusion::arrow::datatypes::Int32Type;

    #[test]
    fn intervals_are_as_long_as_they_are() {
        let of = IntervalMonthDayNano::new;
        let day = 86_400_000_000_000;
        let array: ArrayRef = Arc::new(IntervalMonthDayNanoArray::from(vec![
            of(1, 0, 0),
            of(0, 30, 0),
            of(0, 29, day),
            of(0, 29, day + 1),
        ]));
        let keys = keys(&array).unwrap();
        let keys = keys.as_primitive::<datafusion::arrow::datatypes::Decimal128Type>();
        assert_eq!(keys.value(0), keys.value(1));
        assert_eq!(keys.value(1), keys.value(2));
        assert!(keys.value(3) > keys.value(2));
    }

    #[test]
    fn null_within_is_greatest_and_null_itself_is_null() {
        let lists = [
            Some(vec![]),
            Some(vec![Some(1)]),
            Some(vec![Some(1), None]),
            Some(vec![Some(2)]),
            Some(vec![None]),
            None,
        ];
        let array: ArrayRef = Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(lists));
        let keys = keys(&array).unwrap();
        let keys = keys.as_binary::<i32>();
        for (smaller, greater) in [(0, 1), (1, 2), (2, 3), (3, 4)] {
            assert!(keys.value(smaller) < keys.value(greater), "{smaller}");
        }
        assert!(keys.is_null(5) && keys.null_count() == 1);
    }

    #[test]
    fn signs_of_zero_and_nan_do_not_count() {
        let values: ArrayRef = Arc::new(Float64Array::from(vec![
            0.0,
            -0.0,
            f64::NAN,
            -f64::NAN,
            1.0,
        ]));
        let field = Arc::new(Field::new("x", DataType::Float64, true));
        let array: ArrayRef = Arc::new(StructArray::from(vec![(field, values)]));
        let keys = keys(&array).unwrap();
        let keys = keys.as_binary::<i32>();
        assert_eq!(keys.value(0), keys.value(1));
        assert_eq!(keys.value(2), keys.value(3));
        assert!(keys.value(4) < keys.value(2));
    }
}
