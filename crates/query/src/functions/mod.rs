//! Functions whose meaning differs from DataFusion's: arithmetic that fails on overflow, sums that cannot wrap, and
//! conversions that Arrow does not have. Names and results follow DuckDB's.
//!
//! What must hold: a function whose result can be many times its arguments asks for the memory first (`room.rs`).

mod approximate;
pub(crate) mod arithmetic;
pub(crate) mod arithmetic_chain;
mod arrays;
mod asked;
mod bins;
mod bit_cast;
mod bit_strings;
mod bits;
mod bits_of_values;
mod checked_math;
mod codings;
mod collated;
mod comparison_key;
mod concat;
mod convert;
mod date_part;
mod date_spans;
mod date_trunc;
mod descriptions;
mod different_values;
mod element;
mod enums;
mod equal_bins;
mod excluding;
mod extreme_by_key;
mod extreme_of_row;
mod extremes;
mod fill;
mod first_of;
mod float_arithmetic;
mod float_extremes;
mod formatted;
mod formatted_values;
mod frame_ends;
mod frame_tree;
mod frame_values;
mod hashed;
mod huge_bits;
mod huge_cast;
mod implicit_casts;
mod instant;
mod interval_cast;
mod interval_mean;
mod interval_units;
mod json;
mod json_text;
mod json_within;
mod known_forms;
mod lambdas;
mod length;
mod like_escape;
mod list_build;
mod list_of;
mod list_statistics;
mod list_sum;
mod lists;
mod lists_of_json;
mod make_moment;
mod maps;
mod matches;
mod maths;
mod md5_numbers;
mod middle;
mod moment_cast;
mod moments;
mod more_texts;
mod moved_moments;
mod moving_sum;
mod named_groups;
mod named_struct;
mod nested_cast;
mod nested_text;
mod normal_interval;
mod of_json;
mod of_lists;
mod one_nan;
mod one_row;
mod or_null;
mod ordered_lists;
mod ordered_texts;
mod paths;
mod patterns;
mod picks;
mod plain;
mod postgres_arrays;
mod postgres_bits;
mod postgres_bytes;
mod postgres_degrees;
mod postgres_formats;
mod postgres_intervals;
mod postgres_literal;
mod postgres_moments;
mod postgres_numbers;
mod postgres_numeric;
mod postgres_parts;
mod postgres_patterns;
mod postgres_scale;
mod postgres_text;
mod postgres_whole;
mod quantile;
mod quotient;
mod raised;
mod random;
mod range_key;
mod remapped;
mod replaced_types;
mod room;
mod rounding;
mod rounding_cast;
mod session_zone;
mod sliding;
mod sorted_pairs;
mod statistics;
mod strftime;
mod strptime;
mod struct_search;
mod structs;
mod sum;
mod sum_numbers;
mod sums;
mod text;
mod text_values;
mod texts;
mod time_difference;
mod time_tz;
mod time_zone;
mod tried;
mod type_of;
mod unions;
mod unknown_cast;
mod uuids;
mod variables;
mod vectors;
mod whole;
mod zipped;
mod zone;

use datafusion::execution::memory_pool::MemoryPool;
use datafusion::logical_expr::{AggregateUDF, HigherOrderUDF, ScalarUDF};
use std::sync::Arc;

pub use asked::{MAKE_LIST, OVERLAY};
pub use bit_strings::{BITS_AND, BITS_LEFT, BITS_OR, BITS_RIGHT};
pub use bits::huge_bits;
pub use collated::collation_key;
pub(crate) use comparison_key::keys;
pub use comparison_key::{key_of, key_type, may_differ};
pub use concat::{ARRAY_CAT, LIST_AND_LIST, TEXT_AND_TEXT};
pub use convert::{
    BLOB_FROM_TEXT, BLOB_OR_NULL, INTERVAL_FROM_TEXT, ROUND_EVEN, ROUND_UNSIGNED, TEXT_FROM_BLOB,
    TEXT_FROM_UUID, TEXT_FROM_VALUE, TRY_INTERVAL_FROM_TEXT, UUID_FROM_TEXT, UUID_OR_NULL,
    format_blob, format_uuid,
};
pub use date_part::date_part;
pub use descriptions::DESCRIPTIONS;
pub use element::ELEMENT;
pub use enums::{field_without_enums, of_texts, without_enums};
pub use excluding::{Excluded, excluding, of_computed};
pub use extremes::extreme_of_keys;
pub use fill::fill;
pub use first_of::spelled;
pub(crate) use first_of::{in_brackets, within_brackets};
pub use frame_ends::{Frame, FrameEnd, FrameUnits};
pub use instant::{STATEMENT_TIMESTAMP, constant_function, instant_function};
pub use interval_units::{INTERVAL_CUT, INTERVAL_DIVIDED, INTERVAL_SCALED, INTERVAL_TIMES};
pub use json::{
    JSONB_CONCAT, JSONB_CONTAINS, JSONB_DELETE, JsonPlaces, Kept, MomentPlaces, Places, json_cast,
    json_records, jsonb_texts, with_json_texts,
};
pub use json_text::{json_string, json_value, without_blanks};
pub use known_forms::{KnownForm, forms_of, forms_of_aggregate};
pub use list_build::{SLICE, series_length};
pub use lists::{LIST_WITHIN, MAP_VALUE};
pub use moment_cast::{is_of_moments, unit_nanos};
pub use more_texts::without_accents;
pub(crate) use moved_moments::{Move, moved};
pub use named_struct::NAMED_STRUCT;
pub use nested_cast::{cast_text, check_nested_cast, nested_cast};
pub(crate) use of_json::of_json;
use of_lists::of_lists;
pub use one_nan::{has_floats, one_nan, with_one_nan};
pub(crate) use one_row::one_row;
pub(crate) use or_null::{OR_NULL, or_null};
pub use postgres_numeric::{NUMERIC, stored_numeric};
pub use postgres_text::{one_type, postgres_text};
pub use postgres_whole::{SHIFTED_LEFT, SHIFTED_RIGHT};
pub use random::Random;
pub(crate) use random::random_function;
pub use range_key::{range_distance, range_key};
pub(crate) use room::while_planning;
pub use rounding_cast::{ROUNDING_CAST, rounding_cast, rounds};
pub(crate) use session_zone::zone_of;
pub use session_zone::{shown_as, shown_field};
pub use strptime::MomentForm;
pub(crate) use text::has_no_whole;
pub use text::value_text;
pub use texts::{POSITION, SUBSTRING};
pub use time_difference::time_difference;
pub(crate) use time_tz::check_cast_of_times;
pub use time_tz::{TIME_MINUS, TIME_OF_DAY, TIME_PLUS};
pub use unions::member_at;
pub use unknown_cast::{is_unknown_cast, unknown_cast};
pub use variables::Variables;
pub(crate) use variables::getvariable;
pub use zone::{Zone, time_zones};

/// Functions of DataFusion that DuckDB has not, and that allocate what they are told to.
pub const LEFT_OUT: [&str; 1] = ["array_repeat"];

/// Scalar functions to register over DataFusion's. What they make many times as long as their arguments is asked for from `memory`.
pub fn scalar_functions(memory: &Arc<dyn MemoryPool>) -> Vec<Arc<ScalarUDF>> {
    let mut functions = asked::all(memory);
    functions.extend(extreme_of_row::all());
    functions.extend(convert::all(memory));
    functions.extend(texts::all(memory));
    functions.extend(concat::all(memory));
    functions.extend(patterns::all(memory));
    functions.extend(matches::all(memory));
    functions.extend(bits::all(memory));
    functions.extend(json::all(memory));
    functions.extend(interval_units::all(memory));
    functions.extend(codings::all(memory));
    functions.extend(maths::all(memory));
    functions.extend(rounding::all(memory));
    functions.extend(lists::all(memory));
    functions.extend(sorted_pairs::all(memory));
    functions.extend(excluding::all(memory));
    functions.extend(list_build::all(memory));
    functions.extend(element::all(memory));
    functions.extend(vectors::all(memory));
    functions.extend(arrays::all(memory));
    functions.extend(unions::all(memory));
    functions.extend(length::all(memory));
    functions.extend(list_sum::all(memory));
    functions.extend(list_statistics::all(memory));
    functions.extend(date_trunc::all(memory));
    functions.extend(date_spans::all(memory));
    functions.extend(remapped::all(memory));
    functions.extend(structs::all(memory));
    functions.extend(struct_search::all(memory));
    functions.extend(make_moment::all(memory));
    functions.extend(strftime::all(memory));
    functions.extend(strptime::all(memory));
    functions.extend(formatted::all(memory));
    functions.extend(paths::all(memory));
    functions.extend(picks::all(memory));
    functions.extend(more_texts::all(memory));
    functions.extend(enums::all());
    functions.extend(named_groups::all(memory));
    functions.extend(uuids::all(memory));
    functions.extend(zipped::all(memory));
    functions.extend(hashed::all(memory));
    functions.extend(replaced_types::all(memory));
    functions.extend(implicit_casts::all(memory));
    functions.extend(md5_numbers::all(memory));
    functions.extend(bins::all(memory));
    functions.extend(equal_bins::all(memory));
    functions.extend(like_escape::all(memory));
    functions.extend(normal_interval::all(memory));
    functions.push(collated::mark());
    functions.push(named_struct::function());
    functions.extend(raised::all());
    functions.push(Arc::new(ScalarUDF::from(type_of::TypeOf::new())));
    functions.push(date_part());
    functions.extend(of_postgres(memory));
    functions.push(moved(Move::Finite));
    functions.extend(time_zone::all(memory));
    functions.extend(time_tz::all(memory));
    functions.extend(bit_strings::all(memory));
    functions.extend(checked_math::all());
    functions.extend(first_of::all());
    shared_with_lists(functions)
}

/// Functions that PostgreSQL's are made of.
fn of_postgres(memory: &Arc<dyn MemoryPool>) -> Vec<Arc<ScalarUDF>> {
    let mut functions = postgres_arrays::all(memory);
    functions.extend(postgres_bits::all(memory));
    functions.extend(postgres_bytes::all(memory));
    functions.extend(postgres_degrees::all(memory));
    functions.extend(postgres_moments::all(memory));
    functions.extend(postgres_parts::all(memory));
    functions.extend(postgres_scale::all(memory));
    functions.extend(postgres_patterns::all(memory));
    functions.extend(postgres_whole::all(memory));
    functions.extend(postgres_formats::all(memory));
    functions.extend(postgres_intervals::all(memory));
    functions.extend(postgres_numbers::all(memory));
    functions.push(postgres_literal::function());
    functions.extend([postgres_numeric::function(), stored_numeric()]);
    functions.extend(postgres_text::functions());
    functions
}

/// Functions that take lists, too, under one name.
fn shared_with_lists(mut functions: Vec<Arc<ScalarUDF>>) -> Vec<Arc<ScalarUDF>> {
    let named =
        |functions: &[Arc<ScalarUDF>], name| functions.iter().find(|f| f.name() == name).cloned();
    let contains = datafusion::functions::string::contains();
    let repeat = named(&functions, "repeat");
    let texts = [
        (named(&functions, list_build::REPEATED), repeat, false),
        (named(&functions, lists::CONTAINS), Some(contains), true),
    ];
    let shared = texts
        .into_iter()
        .filter_map(|(lists, texts, of_null)| Some(of_lists(lists?, texts?, of_null)));
    functions.extend(shared.collect::<Vec<_>>());
    functions
}

/// Functions of lists and lambdas to register over DataFusion's.
pub fn lambda_functions(memory: &Arc<dyn MemoryPool>) -> Vec<Arc<HigherOrderUDF>> {
    let mut functions = lambdas::all(memory);
    functions.push(tried::tried());
    functions
}

/// Aggregates to register over DataFusion's.
pub fn aggregate_functions(memory: &Arc<dyn MemoryPool>) -> Vec<Arc<AggregateUDF>> {
    let mut functions = sliding::all(memory);
    functions.extend(statistics::all());
    functions.extend(quantile::all());
    functions.extend(sum::ExactSum::all().map(|sum| Arc::new(AggregateUDF::from(sum))));
    functions.extend([
        Arc::new(AggregateUDF::from(approximate::Approximate::new())),
        Arc::new(AggregateUDF::from(list_of::ListOf::new())),
        Arc::new(AggregateUDF::from(bits_of_values::BitsOfValues::new(
            memory,
        ))),
        Arc::new(AggregateUDF::from(ordered_texts::TextOf::new(memory))),
        Arc::new(AggregateUDF::from(extremes::FastExtreme::min())),
        Arc::new(AggregateUDF::from(extremes::FastExtreme::max())),
    ]);
    functions
}
