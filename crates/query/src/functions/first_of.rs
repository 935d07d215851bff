//! Functions that give their first argument: they say something to the planner, and are gone when a plan is run.
//!
//! `$in_place_of(value, column)`: `* REPLACE (value AS column)` is written with it, so that a column which is not there is an
//! error. `$spelled(value, name)`: how the value's name is written, for `plan/spelling.rs`.

use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::common::{Result, plan_err};
use datafusion::logical_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility, lit,
};
use hushdb_sql::{IN_PLACE_OF, SPELLED};
use std::sync::Arc;

#[derive(Debug, PartialEq, Eq, Hash)]
struct FirstOf {
    name: &'static str,
    signature: Signature,
}

fn first_of(name: &'static str) -> ScalarUDF {
    ScalarUDF::from(FirstOf {
        name,
        signature: Signature::any(2, Volatility::Immutable),
    })
}

pub(super) fn all() -> [Arc<ScalarUDF>; 2] {
    [IN_PLACE_OF, SPELLED].map(|name| Arc::new(first_of(name)))
}

/// A value whose name is written in a certain way.
pub fn spelled(value: Expr, name: &str) -> Expr {
    first_of(SPELLED).call(vec![value, lit(name)])
}

impl ScalarUDFImpl for FirstOf {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match types.first() {
            Some(first) => Ok(first.clone()),
            None => plan_err!("{} takes a value", self.name),
        }
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        match args.arg_fields.first() {
            Some(first) => Ok(Arc::clone(first)),
            None => plan_err!("{} takes a value", self.name),
        }
    }

    fn simplify(&self, args: Vec<Expr>, _: &SimplifyContext) -> Result<ExprSimplifyResult> {
        match args.first() {
            Some(first) => Ok(ExprSimplifyResult::Simplified(first.clone())),
            None => Ok(ExprSimplifyResult::Original(args)),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        match args.args.into_iter().next() {
            Some(first) => Ok(first),
            None => plan_err!("{} takes a value", self.name),
        }
    }
}
