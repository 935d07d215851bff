//! Functions whose meaning differs from DataFusion's: arithmetic that fails on overflow, sums that cannot wrap, and
//! conversions that Arrow does not have. Names and results follow DuckDB's.

pub(crate) mod arithmetic;
mod convert;
mod sum;

use datafusion::logical_expr::{AggregateUDF, ScalarUDF};
use std::sync::Arc;

pub(crate) use convert::{
    BLOB_FROM_TEXT, ROUND_EVEN, TEXT_FROM_BLOB, TEXT_FROM_UUID, UUID_FROM_TEXT, format_blob,
    format_uuid,
};

/// Scalar functions to register over DataFusion's.
pub(crate) fn scalar_functions() -> Vec<Arc<ScalarUDF>> {
    convert::all()
}

/// Aggregates to register over DataFusion's.
pub(crate) fn aggregate_functions() -> Vec<Arc<AggregateUDF>> {
    vec![
        Arc::new(AggregateUDF::from(sum::ExactSum::sum())),
        Arc::new(AggregateUDF::from(sum::ExactSum::avg())),
    ]
}
