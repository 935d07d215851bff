//! `duckdb_functions()`: the functions that there are, what they do, and examples.
//!
//! What must hold: an example is an expression that runs; what is not described is listed by its name, and what only a call tells is
//! NULL.

use super::arrays::{flags, items, no_tags, numbers, text_lists, texts};
use super::numbered::{Entries, Entry, SchemaRow};
use super::{about_tables, process_tables, session_functions};
use crate::exec::Columns;
use crate::exec::definitions::comments::said;
use datafusion::arrow::array::BooleanArray;
use datafusion::logical_expr::{Signature, Volatility};
use hushdb_files::parquet_tables;
use hushdb_query::functions::{DESCRIPTIONS, KnownForm, forms_of, forms_of_aggregate};
use hushdb_query::plan::{Planner, SEQUENCE_FUNCTIONS};
use hushdb_sql::type_names::column_type_name;
use hushdb_sql::{MACROS, OTHER_NAMES, TABLE_MACROS};
use hushdb_storage::{CommentKind, MAIN_SCHEMA, Macro};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Functions in FROM that `table_functions.rs` names itself.
const TABLE_FUNCTIONS: [&str; 46] = [
    "database_anchor",
    "duckdb_columns",
    "duckdb_constraints",
    "duckdb_databases",
    "duckdb_dependencies",
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
    "pragma_storage_info",
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
    "storage_info",
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

/// A parameter's name, and its type where that is known.
type Parameter = (String, Option<String>);

/// One way of calling a function.
struct FunctionRow {
    database: String,
    database_oid: i64,
    schema: String,
    oid: i64,
    name: String,
    kind: &'static str,
    alias_of: Option<String>,
    comment: Option<String>,
    /// What it takes.
    parameters: Option<Vec<Parameter>>,
    varargs: Option<String>,
    result: Option<String>,
    definition: Option<String>,
    volatility: Option<Volatility>,
    internal: bool,
}

/// What is known of a function that is there for all.
#[derive(Clone, Default)]
struct Known {
    alias_of: Option<String>,
    forms: Vec<KnownForm>,
    /// The number of parameters of each text, and the text.
    texts: Vec<(usize, String)>,
    volatility: Option<Volatility>,
}

type All = BTreeMap<(String, &'static str), Known>;

/// One row for each way of calling a function, as far as they are known.
pub(in crate::exec) fn functions(planner: &Planner<'_>) -> Columns {
    let mut rows = vec![];
    for (oid, ((name, kind), known)) in (1..).zip(built_in(planner)) {
        rows.extend(built_in_rows(oid, &name, kind, &known));
    }
    let entries = Entries::of(planner);
    for (schema, entry) in entries.all() {
        match entry.entry {
            Entry::Macro(one) => rows.extend(macro_rows(schema, entry.oid, one, false)),
            Entry::TableMacro(one) => rows.extend(macro_rows(schema, entry.oid, one, true)),
            Entry::Table(_)
            | Entry::View(_)
            | Entry::Sequence(_)
            | Entry::Type(_)
            | Entry::Index(..) => {}
        }
    }
    columns(&rows)
}

/// The functions that are there for all.
fn built_in(planner: &Planner<'_>) -> All {
    let state = planner.state();
    let mut all = All::new();
    let alias = |name: &str, own: &str| (name != own && is_word(own)).then(|| own.to_owned());
    let of_signature = |signature: &Signature| Some(signature.volatility);
    for (name, one) in state.scalar_functions() {
        let known = Known {
            alias_of: alias(name, one.name()),
            forms: forms_of(one),
            volatility: of_signature(one.signature()),
            ..Known::default()
        };
        all.insert((name.clone(), "scalar"), known);
    }
    for (name, one) in state.higher_order_functions() {
        let known = Known {
            alias_of: alias(name, one.name()),
            ..Known::default()
        };
        all.insert((name.clone(), "scalar"), known);
    }
    for (name, one) in state.window_functions() {
        let known = Known {
            alias_of: alias(name, one.name()),
            volatility: of_signature(one.signature()),
            ..Known::default()
        };
        all.insert((name.clone(), "aggregate"), known);
    }
    for (name, one) in state.aggregate_functions() {
        let known = Known {
            alias_of: alias(name, one.name()),
            forms: forms_of_aggregate(one),
            volatility: of_signature(one.signature()),
            ..Known::default()
        };
        all.insert((name.clone(), "aggregate"), known);
    }
    add_texts(&mut all);
    for (name, kind) in names_alone() {
        all.entry((name, kind)).or_default();
    }
    all.retain(|(name, _), _| is_word(name));
    all
}

/// Functions that a text stands for, and other names.
fn add_texts(all: &mut All) {
    for (name, of) in OTHER_NAMES {
        let known = all.entry(((*name).to_owned(), "macro")).or_default();
        known.alias_of = Some((*of).to_owned());
    }
    for (name, count, text) in MACROS {
        let known = all.entry(((*name).to_owned(), "macro")).or_default();
        let places = (1..=*count).rev();
        let text = places.fold((*text).to_owned(), |text, place| {
            text.replace(&format!("${place}"), &parameter(place - 1))
        });
        known.texts.push((*count, text));
    }
}

/// Those of which nothing but the name and kind is known.
fn names_alone() -> Vec<(String, &'static str)> {
    let mut all: Vec<(&str, &'static str)> = hushdb_sql::functions_by_text().collect();
    all.extend(SEQUENCE_FUNCTIONS.map(|name| (name, "scalar")));
    all.extend(OF_STATEMENTS.map(|name| (name, "scalar")));
    // The planner knows them as first_value and last_value.
    all.extend(["first", "last"].map(|name| (name, "aggregate")));
    all.extend(session_functions::NAMES.map(|name| (name, "scalar")));
    all.extend(crate::pg_catalog::functions().map(|name| (name, "macro")));
    let tables = TABLE_FUNCTIONS.iter().chain(&parquet_tables::NAMES);
    let tables = tables.chain(&process_tables::NAMES);
    let tables = tables.chain(&about_tables::NAMES);
    all.extend(tables.map(|name| (*name, "table")));
    all.extend(TABLE_MACROS.map(|name| (name, "table_macro")));
    all.into_iter()
        .map(|(name, kind)| (name.to_owned(), kind))
        .collect()
}

/// What DuckDB calls a parameter that has no name.
fn parameter(place: usize) -> String {
    format!("col{place}")
}

fn built_in_rows(oid: i64, name: &str, kind: &'static str, known: &Known) -> Vec<FunctionRow> {
    let row = || FunctionRow {
        database: "system".into(),
        database_oid: 0,
        schema: MAIN_SCHEMA.into(),
        oid,
        name: name.to_owned(),
        kind,
        alias_of: known.alias_of.clone(),
        comment: None,
        parameters: None,
        varargs: None,
        result: None,
        definition: None,
        volatility: known.volatility,
        internal: true,
    };
    let forms = known.forms.iter().map(|form| {
        let types = form.parameters.iter().enumerate();
        let parameters = types.map(|(place, ty)| (parameter(place), Some(ty.clone())));
        FunctionRow {
            parameters: Some(parameters.collect()),
            varargs: form.varargs.clone(),
            result: form.result.clone(),
            ..row()
        }
    });
    let texts = known.texts.iter().map(|(count, text)| FunctionRow {
        parameters: Some((0..*count).map(|place| (parameter(place), None)).collect()),
        definition: Some(text.clone()),
        ..row()
    });
    let rows: Vec<FunctionRow> = forms.chain(texts).collect();
    match rows.is_empty() {
        true => vec![row()],
        false => rows,
    }
}

/// One row for each overload of a user's macro.
fn macro_rows(
    schema: &SchemaRow<'_>,
    oid: i64,
    one: &Arc<Macro>,
    of_tables: bool,
) -> Vec<FunctionRow> {
    let (kind, commented) = match of_tables {
        true => ("table_macro", CommentKind::TableMacro),
        false => ("macro", CommentKind::Macro),
    };
    let rows = one.overloads.iter().map(|overload| {
        let parameters = overload.parameters.iter();
        FunctionRow {
            database: schema.database.to_owned(),
            database_oid: schema.database_oid,
            schema: schema.name.to_owned(),
            oid,
            name: one.name.clone(),
            kind,
            alias_of: None,
            comment: said(schema.version, commented, &one.name, None),
            parameters: Some(
                parameters
                    .map(|one| (one.name.clone(), one.ty.as_ref().map(column_type_name)))
                    .collect(),
            ),
            varargs: None,
            result: None,
            definition: Some(overload.sql.clone()),
            volatility: None,
            internal: false,
        }
    });
    rows.collect()
}

/// DuckDB's word for how often a function gives the same.
fn stability(of: Volatility) -> &'static str {
    match of {
        Volatility::Immutable => "CONSISTENT",
        Volatility::Stable => "CONSISTENT_WITHIN_QUERY",
        Volatility::Volatile => "VOLATILE",
    }
}

/// The sentence and the example of a function that is described.
fn described(row: &FunctionRow) -> Option<(&'static str, &'static str)> {
    let mut all = DESCRIPTIONS.iter().filter(|_| row.internal);
    all.find(|(name, ..)| *name == row.name)
        .map(|(_, text, example)| (*text, *example))
}

/// The columns that say what is called and how it is written.
fn columns(rows: &[FunctionRow]) -> Columns {
    let effects = rows
        .iter()
        .map(|row| Some(row.volatility? == Volatility::Volatile));
    let parameters = |of: &dyn Fn(&Parameter) -> Option<String>| {
        text_lists(rows, |row| {
            Some(row.parameters.as_ref()?.iter().map(of).collect())
        })
    };
    let example = |row: &FunctionRow| {
        let is_table = row.kind.starts_with("table");
        described(row)
            .filter(|_| !is_table)
            .map(|(_, example)| example.to_owned())
    };
    vec![
        (
            "database_name",
            texts(rows, |row| Some(row.database.clone())),
        ),
        (
            "database_oid",
            texts(rows, |row| Some(row.database_oid.to_string())),
        ),
        ("schema_name", texts(rows, |row| Some(row.schema.clone()))),
        ("function_name", texts(rows, |row| Some(row.name.clone()))),
        ("alias_of", texts(rows, |row| row.alias_of.clone())),
        ("function_type", texts(rows, |row| Some(row.kind.into()))),
        (
            "description",
            texts(rows, |row| Some(described(row)?.0.to_owned())),
        ),
        ("comment", texts(rows, |row| row.comment.clone())),
        ("tags", no_tags(rows)),
        ("return_type", texts(rows, |row| row.result.clone())),
        ("parameters", parameters(&|(name, _)| Some(name.clone()))),
        ("parameter_types", parameters(&|(_, ty)| ty.clone())),
        ("varargs", texts(rows, |row| row.varargs.clone())),
        (
            "macro_definition",
            texts(rows, |row| row.definition.clone()),
        ),
        (
            "has_side_effects",
            Arc::new(effects.collect::<BooleanArray>()),
        ),
        ("internal", flags(rows, |row| row.internal)),
        ("function_oid", numbers(rows, |row| Some(row.oid))),
        (
            "examples",
            text_lists(rows, |row| Some(items(example(row)))),
        ),
        (
            "stability",
            texts(rows, |row| Some(stability(row.volatility?).into())),
        ),
        ("categories", text_lists(rows, |_| Some(vec![]))),
    ]
}

/// Names of ours, which no statement can say, are not listed.
fn is_word(name: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    name.starts_with(|c: char| c.is_ascii_lowercase()) && name.chars().all(is_letter)
}
