//! `error('text')`: fails with that text where a row is evaluated.
//!
//! What must hold: a branch that no row takes does not fail, nor does the planner evaluate it.

use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result, ScalarValue, plan_err};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use hushdb_sql::{Error, ErrorKind};
use std::sync::Arc;

pub(super) fn error() -> Arc<ScalarUDF> {
    Arc::new(ScalarUDF::from(Raised {
        signature: Signature::user_defined(Volatility::Volatile),
    }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Raised {
    signature: Signature,
}

impl ScalarUDFImpl for Raised {
    fn name(&self) -> &str {
        "error"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        match types {
            [text] if text.is_string() || text.is_null() => Ok(vec![DataType::Utf8View]),
            _ => plan_err!("error takes a text"),
        }
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Null)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        for row in 0..args.number_rows {
            let text = match args.args.first() {
                Some(ColumnarValue::Scalar(text)) => text.clone(),
                Some(ColumnarValue::Array(texts)) => ScalarValue::try_from_array(texts, row)?,
                None => ScalarValue::Null,
            };
            if let Some(text) = text.try_as_str().flatten() {
                return Err(Error::new(ErrorKind::InvalidInput, text).into());
            }
        }
        Ok(ColumnarValue::Scalar(ScalarValue::Null))
    }
}
