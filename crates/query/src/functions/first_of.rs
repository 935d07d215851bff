//! Functions that give their first argument: they say something to the planner, and are gone when a plan is run.
//!
//! `$in_place_of(value, column)`: `* REPLACE (value AS column)` is written with it, so that a column which is not there is an
//! error. `$spelled(value, name)`: how the value's name is written, for `plan/spelling.rs`. `$brackets(value)`: brackets around an
//! operand, or the CAST that it is, in the name of what is made of it. Names tell expressions apart.

use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::common::{Result, plan_err};
use datafusion::logical_expr::expr::{Cast, ScalarFunction, TryCast};
use datafusion::logical_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility, lit,
};
use hushdb_sql::{BRACKETS, IN_PLACE_OF, SPELLED};
use std::sync::{Arc, LazyLock};

#[derive(Debug, PartialEq, Eq, Hash)]
struct FirstOf {
    name: &'static str,
    signature: Signature,
}

fn first_of(name: &'static str) -> ScalarUDF {
    let arguments = if name == BRACKETS { 1 } else { 2 };
    ScalarUDF::from(FirstOf {
        name,
        signature: Signature::any(arguments, Volatility::Immutable),
    })
}

pub(super) fn all() -> [Arc<ScalarUDF>; 3] {
    [IN_PLACE_OF, SPELLED, BRACKETS].map(|name| Arc::new(first_of(name)))
}

/// A value whose name has brackets around it.
pub(crate) fn in_brackets(value: Expr) -> Expr {
    static BRACKETED: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| Arc::new(first_of(BRACKETS)));
    let call = ScalarFunction::new_udf(Arc::clone(&BRACKETED), vec![value]);
    Expr::ScalarFunction(call)
}

/// What has brackets around it, if the expression is that.
pub(crate) fn within_brackets(expr: &Expr) -> Option<&Expr> {
    match expr {
        Expr::ScalarFunction(call) if call.name() == BRACKETS => call.args.first(),
        _ => None,
    }
}

/// A value whose name is written in a certain way.
pub fn spelled(value: Expr, name: &str) -> Expr {
    first_of(SPELLED).call(vec![value, lit(name)])
}

impl ScalarUDFImpl for FirstOf {
    fn name(&self) -> &str {
        self.name
    }

    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        let named: Vec<_> = args.iter().map(Expr::schema_name).collect();
        Ok(match (args, named.as_slice()) {
            ([Expr::Cast(Cast { field, .. })], [value]) => {
                format!("CAST({value} AS {})", field.data_type())
            }
            ([Expr::TryCast(TryCast { field, .. })], [value]) => {
                format!("TRY_CAST({value} AS {})", field.data_type())
            }
            (_, [value]) => format!("({value})"),
            (_, all) => format!(
                "{}({})",
                self.name,
                all.iter()
                    .map(ToString::to_string)
                    .collect::<Vec<_>>()
                    .join(",")
            ),
        })
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
