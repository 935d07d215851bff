//! `$of_json(value)`: a text that is JSON where the library does not say so: what is unnested from a list, and one of several values.

use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{Result, plan_err};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility,
};
use hushdb_sql::type_names::called_json;
use std::sync::Arc;

const NAME: &str = "$of_json";

/// The value, which is JSON.
pub(crate) fn of_json(value: Expr) -> Expr {
    let function = Arc::new(ScalarUDF::from(OfJson {
        signature: Signature::any(1, Volatility::Immutable),
    }));
    Expr::ScalarFunction(ScalarFunction::new_udf(function, vec![value]))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct OfJson {
    signature: Signature,
}

impl ScalarUDFImpl for OfJson {
    fn name(&self) -> &str {
        NAME
    }

    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        let names = args.iter().map(|arg| arg.schema_name().to_string());
        Ok(names.collect())
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match types {
            [value] if value.is_string() => Ok(value.clone()),
            _ => plan_err!("JSON is a text"),
        }
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let types = args
            .arg_fields
            .iter()
            .map(|field| field.data_type().clone());
        let of = self.return_type(&types.collect::<Vec<_>>())?;
        Ok(Arc::new(called_json(Field::new(NAME, of, true))))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        match args.args.into_iter().next() {
            Some(value) => Ok(value),
            None => plan_err!("JSON is a text"),
        }
    }
}
