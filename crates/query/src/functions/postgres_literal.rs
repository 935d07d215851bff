//! A text whose type is that of what it meets, until the plan knows that; after that it is a text like any other.

use datafusion::arrow::datatypes::DataType;
use datafusion::common::Result;
use datafusion::logical_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use hushdb_sql::POSTGRES_LITERAL;
use std::sync::Arc;

#[derive(Debug, PartialEq, Eq, Hash)]
struct PostgresLiteral {
    signature: Signature,
}

pub(super) fn function() -> Arc<ScalarUDF> {
    Arc::new(ScalarUDF::from(PostgresLiteral {
        signature: Signature::uniform(
            1,
            vec![DataType::Utf8, DataType::Utf8View],
            Volatility::Immutable,
        ),
    }))
}

impl ScalarUDFImpl for PostgresLiteral {
    fn name(&self) -> &str {
        POSTGRES_LITERAL
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        Ok(types.first().cloned().unwrap_or(DataType::Utf8))
    }

    fn simplify(&self, mut args: Vec<Expr>, _: &SimplifyContext) -> Result<ExprSimplifyResult> {
        Ok(match args.pop() {
            Some(text) => ExprSimplifyResult::Simplified(text),
            None => ExprSimplifyResult::Original(args),
        })
    }

    fn invoke_with_args(&self, mut args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        Ok(args.args.remove(0))
    }
}
