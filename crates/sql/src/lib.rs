//! SQL text to statements: our own statements first, DuckDB's dialect of sqlparser for the rest. Also names, types by name and
//! the errors of the library.
//!
//! What must hold: a key in a text is taken out before anything else reads it, and no error repeats it; what is parsed is read or
//! refused by name; no text, however deep or long, overflows a stack or is read without end.
//!
//! Begin with `parser::parse`, which calls the rest, then [`rewrite()`], which gives a parsed query our meaning.
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod aggregate_order;
mod all_types;
mod balance;
mod calls;
mod chains;
mod collations;
mod column_names;
mod computed_frames;
mod constraints;
mod cut_divide;
mod date_parts;
#[doc(hidden)]
mod declared_types;
pub mod decoders;
mod dialect;
mod error;
mod error_place;
mod error_text;
mod error_types;
mod error_wording;
mod excluded_rows;
mod folding;
mod foreign_bytes;
mod grouping_sets;
mod integer_literals;
mod interval_syntax;
mod interval_text;
mod intervals;
mod key_literals;
mod keyword_list;
mod lateral_unnest;
mod literal_keys;
mod macro_arguments;
mod macro_calls;
mod macros;
mod map_types;
mod marks;
mod named_options;
mod named_windows;
mod names;
mod namesakes;
mod nested_calls;
mod operators;
mod own_macros;
mod parameters;
mod parser;
mod patterns;
mod postgres;
mod postgres_arrays;
mod postgres_byte_texts;
mod postgres_bytes;
mod postgres_casts;
mod postgres_comparisons;
mod postgres_conditions;
mod postgres_from;
mod postgres_functions;
mod postgres_json;
mod postgres_literals;
mod postgres_moments;
mod postgres_names;
mod postgres_ordered_sets;
mod postgres_parts;
mod postgres_patterns;
mod postgres_records;
mod postgres_rows;
mod postgres_types;
mod postgres_views;
mod read_or_refuse;
mod reading;
mod recursive_queries;
mod rewrite;
mod samples;
mod secrets;
mod set_operations;
mod set_order;
pub mod settings_text;
mod split;
mod sql_text;
pub mod sqlstate;
pub mod stack;
mod template;
mod token_list;
mod truth_marks;
pub mod type_names;
mod type_parameters;
mod typed_macros;
mod unused_queries;
mod user_macros;
mod user_types;
mod using_joins;
mod value_names;
pub mod walk;
mod wildcards;
mod window_defaults;
mod window_order;

pub use calls::{call, quoted_call};
pub use chains::unchain;
pub use collations::{COLLATE, collation};
pub use column_names::{name as column_name, tables_of, unique};
pub use constraints::{constraint_mut, constraint_of};
pub use cut_divide::{CONCAT, CONTAINS, CUT_DIVIDE, REMAINDER, SHIFT_LEFT, SHIFT_RIGHT};
pub use date_parts::date_part_name;
pub use declared_types::declared;
pub use error::{Error, ErrorKind, Result, Subject, caught};
pub use error_text::without_values;
pub use error_types::physical;
pub use error_wording::{in_no_group, like, offered};
pub use folding::{SPELLED, Spellings};
pub use foreign_bytes::with_blobs;
pub use integer_literals::{
    DECIMAL_LITERAL, INTEGER_LITERAL, NEGATIVE, ONE_TYPE, SAME_TYPE_FUNCTIONS,
};
pub use interval_text::{interval, unreadable_interval};
pub use keyword_list::keyword_categories;
pub use macro_calls::{MacroCalls, TYPED_CALL};
pub use macros::{
    HISTOGRAM_EXACT, HISTOGRAM_OF, MACROS, NO_COUNT, OTHER_NAMES, QUANTILE_BETWEEN, QUANTILE_OF,
    REGEXP_GROUPS, STRPTIME_NANOS, STRPTIME_ZONED, TOP_K, TRIED, TRY_STRPTIME_NANOS,
    TRY_STRPTIME_ZONED, UUID_MILLISECOND, UUID_VERSION, functions_by_text,
};
pub use marks::{
    ASOF, EXCLUDE, FRAME, JSON_EACH, JSON_MEMBERS, JSON_TREE, MERGED, OF_EXPRESSION, PERCENT,
    PIVOT, PIVOT_ENUM, PIVOT_FOR, PIVOT_NAMED, POSITIONAL, SAMPLE, UNPIVOT, UNPIVOT_FOR, USING_KEY,
};
pub use names::{
    alike, find_named, folded, keywords, name_in_text, name_parts, names_current_query,
    planned_names, position_of, quote, quoted, same_parts,
};
pub use nested_calls::{STRUCT_UPDATE, UNION_VALUE, unnest_table};
pub use operators::{GLOB_MATCH, PLACE, UNPACKED};
pub use own_macros::TABLE_MACROS;
pub use parameters::{Numbered, number_parameters, substitute_parameters};
pub use parser::{
    AlterSequence, AttachOption, ChangesWithin, Commented, CopyPath, CopyTarget, DatabaseChange,
    DatabaseParts, DroppedMacro, EntryHead, MacroBody, Merge, MergeAction, MergeClause, MergedRows,
    NewComment, NewMacro, NewOverload, NewParameter, NewSequence, NewType, OnConflict, OptionValue,
    ROWS_OF, RekeySlot, SequenceChange, Statement, TransactionStatement, TypeBody, changes_within,
    field_path, name_columns_of_values, parse, parse_one, parse_postgres, renamed_column,
};
pub use patterns::{FULL_MATCH, LIKE_PATTERN};
pub use postgres::as_postgres;
pub use postgres_byte_texts::postgres_bytes;
pub use postgres_casts::{
    POSTGRES_OUTPUT, POSTGRES_TEXT, POSTGRES_WHOLE, era_behind_day, leaves_range,
};
pub use postgres_comparisons::BESIDE_NUMBER;
pub use postgres_functions::{READ_MOMENT, TO_CHAR, TO_NUMBER};
pub use postgres_literals::{POSTGRES_LITERAL, postgres_list, postgres_literal};
pub use postgres_moments::postgres_moment;
pub use postgres_names::{ColumnName, postgres_columns};
pub use postgres_rows::table_of_row;
pub use postgres_types::{
    NUMERIC_CAST, NUMERIC_SCALE, OID_OF, POSTGRES_AVG, POSTGRES_SUM, STORED_NUMERIC, TEXT_OF,
};
pub use postgres_views::view_text;
pub use read_or_refuse::alias_of;
pub use reading::{parse_data_type, parse_expr, query_of};
pub use recursive_queries::RECURRING;
pub use rewrite::{
    AS_JSON, BIT_NOT, Place, TRY_AS_JSON, XOR, group_by_no_constants, groups_by_queries,
    having_items, make_lateral, may_be_lateral, name_queries, rewrite, rewrite_expr,
};
pub use secrets::may_hold_secret;
pub use set_operations::{SetOperation, set_operation};
pub use split::{StatementSplit, split_statements};
pub use sql_text::sql_text;
pub use truth_marks::TRUTH;
pub use typed_macros::{ArgumentTypes, CastCost};
pub use unused_queries::leave_out_unused;
pub use user_macros::{FindMacro, expand_macros};
pub use user_types::{FindType, expand_type, expand_types};
pub use using_joins::{has_call, is_call, merges, single};
pub use value_names::BRACKETS;
pub use wildcards::{
    IN_PLACE_OF, excluded_names, has_columns_of_tables, without_columns_of_tables,
};
pub use window_order::{FILL, IN_ORDER};
