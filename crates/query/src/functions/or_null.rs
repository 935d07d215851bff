//! `$or_null(value)`: the value of a subquery, which is NULL where that has no row.

use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::common::{Result, plan_err};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility,
};
use std::sync::Arc;

/// Its name.
pub(crate) const OR_NULL: &str = "$or_null";

/// The subquery, of which no plan says that it is never NULL. It is all that is left where the subquery has become a column of a join.
pub(crate) fn or_null(value: Expr) -> Expr {
    let function = Arc::new(ScalarUDF::from(OrNull {
        signature: Signature::any(1, Volatility::Immutable),
    }));
    Expr::ScalarFunction(ScalarFunction::new_udf(function, vec![value]))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct OrNull {
    signature: Signature,
}

impl ScalarUDFImpl for OrNull {
    fn name(&self) -> &str {
        OR_NULL
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match types {
            [value] => Ok(value.clone()),
            _ => plan_err!("$or_null takes a value"),
        }
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        match args.arg_fields {
            [value] => Ok(Arc::new(value.as_ref().clone().with_nullable(true))),
            _ => plan_err!("$or_null takes a value"),
        }
    }

    fn simplify(&self, mut args: Vec<Expr>, _: &SimplifyContext) -> Result<ExprSimplifyResult> {
        match args.pop_if(|value| !matches!(value, Expr::ScalarSubquery(_))) {
            Some(value) => Ok(ExprSimplifyResult::Simplified(value)),
            None => Ok(ExprSimplifyResult::Original(args)),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [value] =
            <[_; 1]>::try_from(args.args).or_else(|_| plan_err!("$or_null takes a value"))?;
        Ok(value)
    }
}
