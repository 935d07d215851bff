//! `error('text')`: fails with that text where a row is evaluated; `error_as_postgres('sqlstate', 'text')` says which error it is.
//!
//! What must hold: a branch that no row takes does not fail, nor does the planner evaluate it.

use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result, ScalarValue, plan_err};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use hushdb_sql::{Error, ErrorKind};
use std::sync::Arc;

/// The SQLSTATEs that can be said.
const SAID: [&str; 4] = ["22011", "2201G", "22023", "2202E"];

pub(super) fn all() -> [Arc<ScalarUDF>; 2] {
    let one = |says_state| {
        Arc::new(ScalarUDF::from(Raised {
            says_state,
            signature: Signature::user_defined(Volatility::Volatile),
        }))
    };
    [one(false), one(true)]
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Raised {
    /// Whether a SQLSTATE comes before the text.
    says_state: bool,
    signature: Signature,
}

impl ScalarUDFImpl for Raised {
    fn name(&self) -> &str {
        match self.says_state {
            true => "error_as_postgres",
            false => "error",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let is_text = |of: &DataType| of.is_string() || of.is_null();
        let count = if self.says_state { 2 } else { 1 };
        match types.len() == count && types.iter().all(is_text) {
            true => Ok(vec![DataType::Utf8View; count]),
            false => plan_err!("{} takes a text", self.name()),
        }
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Null)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        for row in 0..args.number_rows {
            let text = match args.args.last() {
                Some(ColumnarValue::Scalar(text)) => text.clone(),
                Some(ColumnarValue::Array(texts)) => ScalarValue::try_from_array(texts, row)?,
                None => ScalarValue::Null,
            };
            if let Some(text) = text.try_as_str().flatten() {
                let error = Error::new(ErrorKind::InvalidInput, text);
                return Err(match self.state(&args) {
                    Some(sqlstate) => error.with_sqlstate(sqlstate).into(),
                    None => error.into(),
                });
            }
        }
        Ok(ColumnarValue::Scalar(ScalarValue::Null))
    }
}

impl Raised {
    fn state(&self, args: &ScalarFunctionArgs) -> Option<&'static str> {
        let Some(ColumnarValue::Scalar(state)) = args.args.first().filter(|_| self.says_state)
        else {
            return None;
        };
        let state = state.try_as_str().flatten()?;
        SAID.into_iter().find(|known| *known == state)
    }
}
