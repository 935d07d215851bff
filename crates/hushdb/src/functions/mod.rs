//! Functions whose meaning differs from DataFusion's: arithmetic that fails on overflow, sums that cannot wrap, and
//! conversions that Arrow does not have. Names and results follow DuckDB's.

pub(crate) mod arithmetic;
mod checked_math;
mod comparison_key;
mod convert;
mod date_part;
mod extreme_by_key;
mod extremes;
mod instant;
mod json_text;
mod length;
mod list_of;
mod list_sum;
mod nested_cast;
mod nested_text;
pub(crate) mod number_kind;
mod rounding_cast;
mod sum;
mod text;
mod time_difference;
mod time_zone;
mod type_of;

use datafusion::logical_expr::{AggregateUDF, ScalarUDF};
use std::sync::Arc;

pub(crate) use comparison_key::{has_intervals, key_of, key_type};
pub(crate) use convert::{
    BLOB_FROM_TEXT, ROUND_EVEN, TEXT_FROM_BLOB, TEXT_FROM_UUID, TEXT_FROM_VALUE, UUID_FROM_TEXT,
    format_blob, format_uuid,
};
pub(crate) use date_part::date_part;
pub(crate) use instant::{current_micros, instant_function};
pub use json_text::{json_string, json_value};
pub(crate) use nested_cast::{check_nested_cast, nested_cast};
pub(crate) use rounding_cast::{rounding_cast, rounds};
pub use text::value_text;
pub(crate) use time_difference::time_difference;

/// Scalar functions to register over DataFusion's.
pub(crate) fn scalar_functions() -> Vec<Arc<ScalarUDF>> {
    let mut functions = convert::all();
    functions.push(Arc::new(ScalarUDF::from(type_of::TypeOf::new())));
    functions.push(Arc::new(ScalarUDF::from(length::Length::new())));
    functions.push(date_part());
    functions.extend(time_zone::all());
    functions.extend(checked_math::all());
    functions.push(Arc::new(ScalarUDF::from(list_sum::ListSum::new())));
    functions
}

/// Aggregates to register over DataFusion's.
pub(crate) fn aggregate_functions() -> Vec<Arc<AggregateUDF>> {
    vec![
        Arc::new(AggregateUDF::from(sum::ExactSum::sum())),
        Arc::new(AggregateUDF::from(sum::ExactSum::avg())),
        Arc::new(AggregateUDF::from(list_of::ListOf::new())),
        Arc::new(AggregateUDF::from(extremes::FastExtreme::min())),
        Arc::new(AggregateUDF::from(extremes::FastExtreme::max())),
    ]
}
