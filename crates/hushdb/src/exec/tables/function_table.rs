//! `duckdb_functions()`: the functions that there are, what they do, and examples.
//!
//! What must hold: an example is an expression that runs; what is not described is listed by its name.

use super::{about_tables, process_tables, session_functions};
use crate::exec::Columns;
use datafusion::arrow::array::{ArrayRef, BooleanArray, ListBuilder, StringArray, StringBuilder};
use hushdb_files::parquet_tables;
use hushdb_query::functions::DESCRIPTIONS;
use hushdb_query::plan::{Planner, SEQUENCE_FUNCTIONS};
use hushdb_sql::TABLE_MACROS;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Functions in FROM that `table_functions.rs` names itself.
const TABLE_FUNCTIONS: [&str; 42] = [
    "database_anchor",
    "duckdb_columns",
    "duckdb_constraints",
    "duckdb_functions",
    "duckdb_indexes",
    "duckdb_prepared_statements",
    "duckdb_schemas",
    "duckdb_sequences",
    "duckdb_tables",
    "duckdb_views",
    "generate_series",
    "glob",
    "json_each",
    "json_tree",
    "key_memory",
    "parquet_scan",
    "pragma_database_list",
    "pragma_database_size",
    "pragma_show",
    "pragma_table_info",
    "query",
    "query_table",
    "range",
    "read_blob",
    "read_csv",
    "read_csv_auto",
    "read_json",
    "read_json_auto",
    "read_json_objects",
    "read_json_objects_auto",
    "read_ndjson",
    "read_ndjson_auto",
    "read_ndjson_objects",
    "read_parquet",
    "read_text",
    "repeat",
    "repeat_row",
    "sniff_csv",
    "spill_files",
    "table_info",
    "tpch_queries",
    "which_secret",
];

/// Functions that are made for the statement that calls them, or that its text becomes something else for.
const OF_STATEMENTS: [&str; 18] = [
    "current_date",
    "current_localtime",
    "current_localtimestamp",
    "current_setting",
    "current_time",
    "current_timestamp",
    "date_diff",
    "datediff",
    "get_current_time",
    "get_current_timestamp",
    "getvariable",
    "localtime",
    "localtimestamp",
    "now",
    "position",
    "setseed",
    "today",
    "transaction_timestamp",
];

/// One row for each name and kind of function.
pub(in crate::exec) fn functions(planner: &Planner<'_>) -> Columns {
    let state = planner.state();
    let mut all: BTreeSet<(String, &'static str)> = BTreeSet::new();
    let mut add = |names: Vec<&String>, kind| {
        let named = names.into_iter().filter(|name| is_word(name));
        all.extend(named.map(|name| (name.clone(), kind)));
    };
    add(state.scalar_functions().keys().collect(), "scalar");
    add(state.higher_order_functions().keys().collect(), "scalar");
    add(state.aggregate_functions().keys().collect(), "aggregate");
    add(state.window_functions().keys().collect(), "aggregate");
    all.extend(SEQUENCE_FUNCTIONS.map(|name| (name.to_owned(), "scalar")));
    let macros = hushdb_sql::functions_by_text().map(|(name, kind)| (name.to_owned(), kind));
    all.extend(macros.filter(|(name, _)| is_word(name)));
    all.extend(OF_STATEMENTS.map(|name| (name.to_owned(), "scalar")));
    all.extend(session_functions::NAMES.map(|name| (name.to_owned(), "scalar")));
    let of_postgres = crate::pg_catalog::functions();
    all.extend(of_postgres.map(|name| (name.to_owned(), "macro")));
    let tables = TABLE_FUNCTIONS.iter().chain(&parquet_tables::NAMES);
    let tables = tables.chain(&process_tables::NAMES);
    let tables = tables.chain(&about_tables::NAMES);
    all.extend(tables.map(|name| ((*name).to_owned(), "table")));
    all.extend(TABLE_MACROS.map(|name| (name.to_owned(), "table_macro")));
    let described = |name: &str| DESCRIPTIONS.iter().find(|(own, ..)| *own == name);
    let texts = |of: &dyn Fn(&str, &str) -> Option<String>| -> ArrayRef {
        let texts = all.iter().map(|(name, kind)| of(name, kind));
        Arc::new(texts.collect::<StringArray>())
    };
    let mut examples = ListBuilder::new(StringBuilder::new());
    for (name, kind) in &all {
        if let Some((.., example)) = described(name).filter(|_| !kind.starts_with("table")) {
            examples.values().append_value(example);
        }
        examples.append(true);
    }
    vec![
        ("database_name", texts(&|_, _| Some("system".into()))),
        ("schema_name", texts(&|_, _| Some("main".into()))),
        ("function_name", texts(&|name, _| Some(name.into()))),
        ("function_type", texts(&|_, kind| Some(kind.into()))),
        (
            "description",
            texts(&|name, _| described(name).map(|(_, text, _)| (*text).into())),
        ),
        (
            "internal",
            Arc::new(BooleanArray::from(vec![true; all.len()])),
        ),
        ("examples", Arc::new(examples.finish())),
    ]
}

/// Names of ours, which no statement can say, are not listed.
fn is_word(name: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    name.starts_with(|c: char| c.is_ascii_lowercase()) && name.chars().all(is_letter)
}
