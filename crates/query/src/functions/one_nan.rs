//! `$one_nan(x)`: `x` with NaNs of one sign. Arrow and DataFusion take a NaN whose sign is set for less than all else, and in SQL every
//! NaN is the greatest. The planner puts it where values that were calculated become columns, arguments or keys.

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, FixedSizeListArray, GenericListArray, OffsetSizeTrait, StructArray,
};
use datafusion::arrow::datatypes::{DataType, Float32Type, Float64Type};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use std::sync::{Arc, LazyLock};

/// The function's name.
const NAME: &str = "$one_nan";

/// The bits of `-inf`: those of NaNs whose sign is set are greater.
const LEAST_32: u32 = f32::NEG_INFINITY.to_bits();
const LEAST_64: u64 = f64::NEG_INFINITY.to_bits();

/// Whether values of a type are floats, or have floats in them.
pub fn has_floats(of: &DataType) -> bool {
    match of {
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
            has_floats(item.data_type())
        }
        DataType::Struct(fields) => fields.iter().any(|field| has_floats(field.data_type())),
        other => other.is_floating(),
    }
}

/// `$one_nan(expr)`.
pub fn with_one_nan(expr: Expr) -> Expr {
    static ONE_NAN: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| {
        let signature = Signature::any(1, Volatility::Immutable);
        Arc::new(ScalarUDF::from(OneNan { signature }))
    });
    Expr::ScalarFunction(ScalarFunction::new_udf(Arc::clone(&ONE_NAN), vec![expr]))
}

/// The same values with NaNs of one sign, if there are others.
pub fn one_nan(array: &ArrayRef) -> Option<ArrayRef> {
    Some(match array.data_type() {
        DataType::Float32 => {
            let floats = array.as_primitive::<Float32Type>();
            let others = floats.values().iter().map(|v| v.to_bits() > LEAST_32);
            if !others.fold(false, |any, other| any | other) {
                return None;
            }
            let plain = |v: f32| if v.is_nan() { f32::NAN } else { v };
            Arc::new(floats.unary::<_, Float32Type>(plain))
        }
        DataType::Float64 => {
            let floats = array.as_primitive::<Float64Type>();
            let others = floats.values().iter().map(|v| v.to_bits() > LEAST_64);
            if !others.fold(false, |any, other| any | other) {
                return None;
            }
            let plain = |v: f64| if v.is_nan() { f64::NAN } else { v };
            Arc::new(floats.unary::<_, Float64Type>(plain))
        }
        DataType::List(_) => of_list(array.as_list::<i32>())?,
        DataType::LargeList(_) => of_list(array.as_list::<i64>())?,
        DataType::FixedSizeList(item, length) => {
            let lists = array.as_fixed_size_list();
            let values = one_nan(lists.values())?;
            let nulls = lists.nulls().cloned();
            let lists = FixedSizeListArray::try_new(Arc::clone(item), *length, values, nulls);
            Arc::new(lists.ok()?)
        }
        DataType::Struct(fields) => {
            let of = array.as_struct();
            let columns: Vec<_> = of.columns().iter().map(one_nan).collect();
            if columns.iter().all(Option::is_none) {
                return None;
            }
            let columns = columns.into_iter().zip(of.columns());
            let columns = columns.map(|(new, old)| new.unwrap_or_else(|| Arc::clone(old)));
            let nulls = of.nulls().cloned();
            Arc::new(StructArray::try_new(fields.clone(), columns.collect(), nulls).ok()?)
        }
        _ => return None,
    })
}

fn of_list<O: OffsetSizeTrait>(lists: &GenericListArray<O>) -> Option<ArrayRef> {
    if !has_floats(&lists.value_type()) {
        return None;
    }
    let values = one_nan(lists.values())?;
    let (field, offsets, _, nulls) = lists.clone().into_parts();
    let lists = GenericListArray::try_new(field, offsets, values, nulls);
    Some(Arc::new(lists.ok()?))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct OneNan {
    signature: Signature,
}

impl ScalarUDFImpl for OneNan {
    fn name(&self) -> &str {
        NAME
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match types {
            [of] => Ok(of.clone()),
            _ => internal_err!("{NAME} takes one value"),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        Ok(match args.args.into_iter().next() {
            Some(ColumnarValue::Array(array)) => {
                ColumnarValue::Array(one_nan(&array).unwrap_or(array))
            }
            Some(ColumnarValue::Scalar(value)) => {
                let plain = one_nan(&value.to_array()?);
                let plain = plain.map(|array| ScalarValue::try_from_array(&array, 0));
                ColumnarValue::Scalar(plain.transpose()?.unwrap_or(value))
            }
            None => return internal_err!("{NAME} takes one value"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::array::{Float32Array, Float64Array, ListArray};

    #[test]
    fn nans_have_one_sign_and_nothing_else_changes() {
        let least = f64::from_bits(LEAST_64 + 1);
        let values = vec![
            Some(f64::NEG_INFINITY),
            Some(-f64::NAN),
            Some(least),
            Some(f64::NAN),
            Some(-0.0),
            None,
        ];
        let array: ArrayRef = Arc::new(Float64Array::from(values));
        let plain = one_nan(&array).unwrap();
        let plain = plain.as_primitive::<Float64Type>();
        let bits: Vec<_> = plain.iter().map(|v| v.map(f64::to_bits)).collect();
        let nan = Some(f64::NAN.to_bits());
        assert_eq!(bits[1..4], [nan, nan, nan]);
        assert_eq!(bits[0], Some(LEAST_64));
        assert_eq!(bits[4], Some((-0.0_f64).to_bits()));
        assert_eq!(bits[5], None);
    }

    #[test]
    fn values_without_other_nans_stay_where_they_are() {
        let array: ArrayRef = Arc::new(Float32Array::from(vec![f32::NEG_INFINITY, f32::NAN]));
        assert!(one_nan(&array).is_none());
        let lists = ListArray::from_iter_primitive::<Float64Type, _, _>([Some(vec![Some(1.0)])]);
        let lists: ArrayRef = Arc::new(lists);
        assert!(one_nan(&lists).is_none());
    }

    #[test]
    fn items_of_lists_have_one_sign() {
        let lists = [Some(vec![Some(1.0), Some(-f64::NAN)]), None, Some(vec![])];
        let lists = ListArray::from_iter_primitive::<Float64Type, _, _>(lists);
        let plain = one_nan(&(Arc::new(lists) as ArrayRef)).unwrap();
        let plain = plain.as_list::<i32>();
        let items = plain.value(0);
        let items = items.as_primitive::<Float64Type>();
        assert!(items.value(1).is_nan() && items.value(1).is_sign_positive());
        assert!(plain.is_null(1) && plain.value(2).is_empty());
    }
}
