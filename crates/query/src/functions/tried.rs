//! `try(x)`: what an expression is in the rows where it does not fail, and NULL in the others. The expression comes as a lambda.
//!
//! What must hold: only what is wrong with a value becomes NULL, never a cancelled statement, memory that is not there, or a defect.

use crate::heed::check;
use datafusion::arrow::array::{Array, ArrayRef, BooleanArray, new_null_array};
use datafusion::arrow::compute::concat;
use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::common::{Result, internal_err};
use datafusion::logical_expr::{
    ColumnarValue, HigherOrderFunctionArgs, HigherOrderReturnFieldArgs, HigherOrderSignature,
    HigherOrderUDF, HigherOrderUDFImpl, LambdaArgument, LambdaParametersProgress, ValueOrLambda,
    Volatility,
};
use hushdb_sql::{Error, ErrorKind, TRIED};
use std::sync::Arc;

pub(super) fn tried() -> Arc<HigherOrderUDF> {
    Arc::new(HigherOrderUDF::new_from_impl(Tried {
        signature: HigherOrderSignature::user_defined(Volatility::Immutable),
    }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Tried {
    signature: HigherOrderSignature,
}

/// The constant that stands for a row, and the expression.
fn parts<V, L>(args: &[ValueOrLambda<V, L>]) -> Result<(&V, &L)> {
    match args {
        [ValueOrLambda::Value(row), ValueOrLambda::Lambda(lambda)] => Ok((row, lambda)),
        _ => internal_err!("{TRIED} takes a lambda"),
    }
}

impl HigherOrderUDFImpl for Tried {
    fn name(&self) -> &str {
        TRIED
    }

    fn signature(&self) -> &HigherOrderSignature {
        &self.signature
    }

    /// Nothing of the expression may be computed outside of it, where it would fail.
    fn short_circuits(&self) -> bool {
        true
    }

    fn coerce_value_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        Ok(types.to_vec())
    }

    fn lambda_parameters(
        &self,
        _: usize,
        fields: &[ValueOrLambda<FieldRef, Option<FieldRef>>],
    ) -> Result<LambdaParametersProgress> {
        let (row, _) = parts(fields)?;
        Ok(LambdaParametersProgress::Complete(vec![vec![Arc::clone(
            row,
        )]]))
    }

    fn return_field_from_args(&self, args: HigherOrderReturnFieldArgs) -> Result<FieldRef> {
        let (_, lambda) = parts(args.arg_fields)?;
        Ok(Arc::new(lambda.as_ref().clone().with_nullable(true)))
    }

    fn invoke_with_args(&self, args: HigherOrderFunctionArgs) -> Result<ColumnarValue> {
        let (_, lambda) = parts(&args.args)?;
        let mut made = vec![];
        try_rows(lambda, 0, args.number_rows, args.return_type(), &mut made)?;
        let made: Vec<&dyn Array> = made.iter().map(AsRef::as_ref).collect();
        Ok(ColumnarValue::Array(match made.as_slice() {
            [] => new_null_array(args.return_type(), 0),
            made => concat(made)?,
        }))
    }
}

/// The expression of `count` rows from `start` on. Where it fails, the halves of them are tried by themselves.
fn try_rows(
    lambda: &LambdaArgument,
    start: usize,
    count: usize,
    to: &DataType,
    made: &mut Vec<ArrayRef>,
) -> Result<()> {
    check()?;
    match evaluated(lambda, start, count) {
        Ok(values) => made.push(values),
        Err(error) => {
            let error = Error::from(error);
            if !is_of_a_value(error.kind()) {
                return Err(error.into());
            }
            let half = count / 2;
            if half == 0 {
                made.push(new_null_array(to, count));
                return Ok(());
            }
            try_rows(lambda, start, half, to, made)?;
            try_rows(lambda, start + half, count - half, to, made)?;
        }
    }
    Ok(())
}

fn evaluated(lambda: &LambdaArgument, start: usize, count: usize) -> Result<ArrayRef> {
    let rows = || Ok(Arc::new(BooleanArray::from(vec![true; count])) as ArrayRef);
    let made = lambda.evaluate(&[&rows], |captured| {
        let of_rows = captured.iter().map(|column| column.slice(start, count));
        Ok(of_rows.collect())
    })?;
    made.into_array(count)
}

fn is_of_a_value(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::Conversion | ErrorKind::OutOfRange | ErrorKind::InvalidInput
    )
}
