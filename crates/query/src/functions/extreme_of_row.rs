//! `greatest` and `least`: the library's, which takes NULL within lists and structs for less than all else; they are compared by their
//! keys, as `<` and `max` compare them.

use super::comparison_key::keys;
use datafusion::arrow::array::{Array, ArrayRef, make_comparator};
use datafusion::arrow::compute::{SortOptions, interleave};
use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::common::Result;
use datafusion::functions::core;
use datafusion::logical_expr::{
    ColumnarValue, Documentation, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF,
    ScalarUDFImpl, Signature, Volatility,
};
use std::cmp::Ordering;
use std::sync::Arc;

/// Both.
pub(super) fn all() -> [Arc<ScalarUDF>; 2] {
    let both = [
        (core::greatest(), Ordering::Greater),
        (core::least(), Ordering::Less),
    ];
    both.map(|(planned, better)| {
        Arc::new(ScalarUDF::from(ExtremeOfRow {
            planned,
            better,
            signature: Signature::user_defined(Volatility::Immutable),
        }))
    })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct ExtremeOfRow {
    planned: Arc<ScalarUDF>,
    better: Ordering,
    signature: Signature,
}

impl ScalarUDFImpl for ExtremeOfRow {
    fn name(&self) -> &str {
        self.planned.name()
    }

    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        self.planned.schema_name(args)
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        self.planned.coerce_types(types)
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        self.planned.return_type(types)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        self.planned.return_field_from_args(args)
    }

    fn documentation(&self) -> Option<&Documentation> {
        self.planned.documentation()
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        if !args.return_type().is_nested() {
            return self.planned.invoke_with_args(args);
        }
        let rows = args.number_rows;
        let columns = args.args.iter().map(|arg| arg.to_array(rows));
        let columns: Vec<ArrayRef> = columns.collect::<Result<_>>()?;
        let best = best_columns(&columns, rows, self.better)?;
        let arrays: Vec<&dyn Array> = columns.iter().map(AsRef::as_ref).collect();
        Ok(ColumnarValue::Array(interleave(&arrays, &best)?))
    }
}

/// For each row the column that is better than all others there, the first of equal ones, and the row.
fn best_columns(
    columns: &[ArrayRef],
    rows: usize,
    better: Ordering,
) -> Result<Vec<(usize, usize)>> {
    let keys: Vec<ArrayRef> = columns.iter().map(keys).collect::<Result<_>>()?;
    let mut best: Vec<usize> = vec![0; rows];
    for (at, key) in keys.iter().enumerate().skip(1) {
        let others = keys[..at].iter();
        let others = others.map(|other| make_comparator(key, other, SortOptions::default()));
        let others = others.collect::<std::result::Result<Vec<_>, _>>()?;
        for (row, best) in best.iter_mut().enumerate() {
            let is_better = || others[*best](row, row) == better;
            if !key.is_null(row) && (keys[*best].is_null(row) || is_better()) {
                *best = at;
            }
        }
    }
    Ok(best.into_iter().zip(0..).collect())
}
