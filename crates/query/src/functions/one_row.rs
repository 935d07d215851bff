//! `$one_row(value, rows)`: the value of a subquery, of which there must not be more rows than one.

use datafusion::arrow::array::AsArray;
use datafusion::arrow::datatypes::{DataType, FieldRef, Int64Type};
use datafusion::common::{Result, plan_err};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility,
};
use hushdb_sql::{Error, ErrorKind, sqlstate};
use std::sync::Arc;

/// The value, where `rows` is NULL, 0 or 1; an error elsewhere.
pub(crate) fn one_row(value: Expr, rows: Expr) -> Expr {
    let function = Arc::new(ScalarUDF::from(OneRow {
        signature: Signature::any(2, Volatility::Immutable),
    }));
    Expr::ScalarFunction(ScalarFunction::new_udf(function, vec![value, rows]))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct OneRow {
    signature: Signature,
}

impl ScalarUDFImpl for OneRow {
    fn name(&self) -> &str {
        "$one_row"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match types {
            [value, DataType::Int64] => Ok(value.clone()),
            _ => plan_err!("$one_row takes a value and a number of rows"),
        }
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        match args.arg_fields {
            [value, _] => Ok(Arc::clone(value)),
            _ => plan_err!("$one_row takes a value and a number of rows"),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [value, rows] = <[_; 2]>::try_from(args.args)
            .or_else(|_| plan_err!("$one_row takes a value and a number of rows"))?;
        let rows = rows.into_array(args.number_rows)?;
        let rows = rows.as_primitive::<Int64Type>();
        if rows.iter().flatten().any(|rows| rows > 1) {
            let refused = Error::new(
                ErrorKind::InvalidInput,
                "Scalar subquery returned more than one row",
            );
            return Err(refused
                .with_sqlstate(sqlstate::CARDINALITY_VIOLATION)
                .into());
        }
        Ok(value)
    }
}
