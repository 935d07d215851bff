//! Functions whose meaning differs from DataFusion's: arithmetic that fails on overflow, sums that cannot wrap, and
//! conversions that Arrow does not have. Names and results follow DuckDB's.

pub(crate) mod arithmetic;
pub(crate) mod arithmetic_chain;
mod checked_math;
mod comparison_key;
mod concat;
mod convert;
mod date_part;
mod date_trunc;
mod extreme_by_key;
mod extremes;
mod in_place_of;
mod instant;
mod interval_cast;
mod json_text;
mod length;
mod list_build;
mod list_of;
mod list_sum;
mod lists;
mod maths;
mod nested_cast;
mod nested_text;
pub(crate) mod number_kind;
mod one_row;
mod patterns;
mod plain;
mod room;
mod rounding_cast;
mod sliding;
mod strftime;
mod sum;
mod text;
mod texts;
mod time_difference;
mod time_zone;
mod type_of;

use datafusion::execution::memory_pool::MemoryPool;
use datafusion::logical_expr::{AggregateUDF, ScalarUDF};
use std::sync::Arc;

pub use comparison_key::{has_intervals, key_of, key_type};
pub use concat::LIST_AND_LIST;
pub use convert::{
    BLOB_FROM_TEXT, BLOB_OR_NULL, INTERVAL_FROM_TEXT, ROUND_EVEN, TEXT_FROM_BLOB, TEXT_FROM_UUID,
    TEXT_FROM_VALUE, TRY_INTERVAL_FROM_TEXT, UUID_FROM_TEXT, UUID_OR_NULL, format_blob,
    format_uuid,
};
pub use date_part::date_part;
pub use extremes::extreme_of_keys;
pub use instant::{current_micros, instant_function};
pub use json_text::{json_string, json_value};
pub use list_build::{SLICE, series_length};
pub use lists::MAP_VALUE;
pub use nested_cast::{check_nested_cast, nested_cast};
pub(crate) use one_row::one_row;
pub use rounding_cast::{rounding_cast, rounds};
pub use text::value_text;
pub use texts::SUBSTRING;
pub use time_difference::time_difference;

/// Functions of DataFusion that DuckDB has not, and that allocate what they are told to.
pub const LEFT_OUT: [&str; 1] = ["array_repeat"];

/// Scalar functions to register over DataFusion's. What they make many times as long as their arguments is asked for from `memory`.
pub fn scalar_functions(memory: &Arc<dyn MemoryPool>) -> Vec<Arc<ScalarUDF>> {
    let mut functions = convert::all();
    functions.extend(texts::all(memory));
    functions.extend(concat::all(memory));
    functions.extend(patterns::all(memory));
    functions.extend(maths::all(memory));
    functions.extend(lists::all());
    functions.extend(list_build::all(memory));
    functions.push(Arc::new(ScalarUDF::from(strftime::Strftime::new())));
    functions.push(Arc::new(ScalarUDF::from(type_of::TypeOf::new())));
    functions.push(Arc::new(ScalarUDF::from(length::Length::new())));
    functions.push(date_part());
    functions.push(Arc::new(ScalarUDF::from(date_trunc::DateTrunc::new())));
    functions.extend(time_zone::all());
    functions.extend(checked_math::all());
    functions.push(Arc::new(ScalarUDF::from(in_place_of::InPlaceOf::new())));
    functions.push(Arc::new(ScalarUDF::from(list_sum::ListSum::new())));
    functions
}

/// Aggregates to register over DataFusion's.
pub fn aggregate_functions() -> Vec<Arc<AggregateUDF>> {
    let mut functions = sliding::all();
    functions.extend([
        Arc::new(AggregateUDF::from(sum::ExactSum::sum())),
        Arc::new(AggregateUDF::from(sum::ExactSum::avg())),
        Arc::new(AggregateUDF::from(list_of::ListOf::new())),
        Arc::new(AggregateUDF::from(extremes::FastExtreme::min())),
        Arc::new(AggregateUDF::from(extremes::FastExtreme::max())),
    ]);
    functions
}
