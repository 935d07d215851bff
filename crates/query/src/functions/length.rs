//! `len(x)` and `length(x)`: characters of a text, values of a list.

use datafusion::arrow::array::{Array, ArrayRef, AsArray, Int64Array};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result, ScalarValue, plan_err};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};
use std::sync::Arc;

#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Length {
    signature: Signature,
    aliases: Vec<String>,
}

impl Length {
    pub(super) fn new() -> Self {
        let aliases = [
            "length",
            "array_length",
            "list_length",
            "char_length",
            "character_length",
        ];
        Self {
            signature: Signature::user_defined(Volatility::Immutable),
            aliases: aliases.map(str::to_string).into(),
        }
    }
}

impl ScalarUDFImpl for Length {
    fn name(&self) -> &str {
        "len"
    }

    fn aliases(&self) -> &[String] {
        &self.aliases
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        match types {
            [DataType::List(_)] => Ok(types.to_vec()),
            [
                DataType::LargeList(item)
                | DataType::FixedSizeList(item, _)
                | DataType::ListView(item),
            ] => Ok(vec![DataType::List(Arc::clone(item))]),
            [text] if text.is_string() || text == &DataType::Null => Ok(vec![DataType::Utf8View]),
            [DataType::Dictionary(_, text)] if text.is_string() => Ok(vec![DataType::Utf8View]),
            _ => plan_err!("len and length take one list or one text"),
        }
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Int64)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let scalar = matches!(args.args[0], ColumnarValue::Scalar(_));
        let input = args.args[0].to_array(if scalar { 1 } else { args.number_rows })?;
        let lengths: ArrayRef = Arc::new(match input.data_type() {
            DataType::List(_) => {
                let list = input.as_list::<i32>();
                let lengths = list.offsets().lengths().map(|len| len as i64);
                Int64Array::new(lengths.collect(), list.nulls().cloned())
            }
            _ => {
                let texts = cast(&input, &DataType::Utf8View)?;
                let texts = texts.as_string_view().iter();
                texts
                    .map(|text| text.map(|text| text.chars().count() as i64))
                    .collect()
            }
        });
        if scalar {
            let value = ScalarValue::try_from_array(&lengths, 0)?;
            return Ok(ColumnarValue::Scalar(value));
        }
        Ok(ColumnarValue::Array(lengths))
    }
}
