//! `list_sum(x)`: as `sum` of the list's values, exact for integers and decimals.

use datafusion::arrow::array::{ArrayRef, AsArray, Decimal128Array, Float64Array, ListArray};
use datafusion::arrow::datatypes::{DataType, Decimal128Type, Field, Float64Type};
use datafusion::common::{Result, ScalarValue, plan_err};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};
use hushdb_sql::type_names::type_name;
use hushdb_sql::{Error, ErrorKind};
use std::sync::Arc;

const MAX_DIGITS: u8 = 38;

#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct ListSum {
    signature: Signature,
    aliases: Vec<String>,
}

impl ListSum {
    pub(super) fn new() -> Self {
        Self {
            signature: Signature::user_defined(Volatility::Immutable),
            aliases: vec!["array_sum".into()],
        }
    }
}

impl ScalarUDFImpl for ListSum {
    fn name(&self) -> &str {
        "list_sum"
    }

    fn aliases(&self) -> &[String] {
        &self.aliases
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let [
            DataType::List(item)
            | DataType::LargeList(item)
            | DataType::FixedSizeList(item, _)
            | DataType::ListView(item),
        ] = types
        else {
            return plan_err!("list_sum takes one list of numbers");
        };
        let item = match item.data_type() {
            DataType::Null => DataType::Decimal128(MAX_DIGITS, 0),
            integer if integer.is_integer() => DataType::Decimal128(MAX_DIGITS, 0),
            DataType::Decimal32(_, s) | DataType::Decimal64(_, s) | DataType::Decimal128(_, s) => {
                DataType::Decimal128(MAX_DIGITS, *s)
            }
            float if float.is_floating() => DataType::Float64,
            other => {
                let name = type_name(other);
                return plan_err!("No function matches list_sum({name}[])");
            }
        };
        Ok(vec![DataType::List(Arc::new(Field::new_list_field(
            item, true,
        )))])
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match types {
            [DataType::List(item)] => Ok(item.data_type().clone()),
            _ => plan_err!("list_sum takes one list of numbers"),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let scalar = matches!(args.args[0], ColumnarValue::Scalar(_));
        let input = args.args[0].to_array(if scalar { 1 } else { args.number_rows })?;
        let sums = sums(input.as_list())?;
        if scalar {
            return Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(
                &sums, 0,
            )?));
        }
        Ok(ColumnarValue::Array(sums))
    }
}

fn sums(list: &ListArray) -> Result<ArrayRef> {
    let rows = list.iter();
    if list.value_type() == DataType::Float64 {
        let sum = |values: ArrayRef| {
            let values = values.as_primitive::<Float64Type>();
            let mut values = values.iter().flatten();
            values
                .next()
                .map(|first| values.fold(first, |sum, v| sum + v))
        };
        return Ok(Arc::new(
            rows.map(|values| values.and_then(sum))
                .collect::<Float64Array>(),
        ));
    }
    let limit = 10i128.pow(u32::from(MAX_DIGITS));
    let sum = |values: ArrayRef| {
        let mut sum = None;
        for value in values.as_primitive::<Decimal128Type>().iter().flatten() {
            let next = sum.unwrap_or(0i128).checked_add(value);
            let next = next.filter(|next| next.unsigned_abs() < limit.unsigned_abs());
            sum = Some(next.ok_or_else(|| {
                Error::new(
                    ErrorKind::OutOfRange,
                    "Overflow in list_sum: more than 38 digits",
                )
            })?);
        }
        Ok(sum)
    };
    let sums = rows.map(|values| values.map_or(Ok(None), sum));
    let sums = sums.collect::<Result<Decimal128Array, Error>>()?;
    let DataType::Decimal128(precision, scale) = list.value_type() else {
        return plan_err!("list_sum takes one list of numbers");
    };
    Ok(Arc::new(sums.with_precision_and_scale(precision, scale)?))
}
