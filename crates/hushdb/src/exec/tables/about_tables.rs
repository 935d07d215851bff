//! What tools of DuckDB ask about a program: its extensions, secrets, rules of planning, time zones and platform, as tables. What it has
//! not is an empty one.

use crate::exec::Columns;
use datafusion::arrow::array::{
    ArrayRef, BooleanArray, Int64Array, IntervalMonthDayNanoArray, ListArray, StringArray,
    TimestampMicrosecondArray, UInt64Array,
};
use datafusion::arrow::datatypes::{DataType, Field};
use hushdb_query::functions::time_zones;
use hushdb_query::plan::Planner;
use std::sync::Arc;

/// What the tables here are called.
pub(in crate::exec) const NAMES: [&str; 14] = [
    "duckdb_approx_database_count",
    "duckdb_extensions",
    "duckdb_external_file_cache",
    "duckdb_keywords",
    "duckdb_log_contexts",
    "duckdb_logs",
    "duckdb_optimizers",
    "duckdb_secret_types",
    "duckdb_secrets",
    "icu_calendar_names",
    "pg_timezone_names",
    "pragma_collations",
    "pragma_platform",
    "pragma_user_agent",
];

/// What one of [`NAMES`] stands for.
pub(in crate::exec) fn named(name: &str, planner: &Planner<'_>) -> Columns {
    match name {
        "duckdb_approx_database_count" => {
            let count = planner.snapshot.attached().count() as u64;
            vec![("approx_count", Arc::new(UInt64Array::from(vec![count])))]
        }
        "duckdb_optimizers" => {
            let rules = planner.state().optimizers().iter();
            vec![("name", texts(rules.map(|rule| rule.name().to_string())))]
        }
        "icu_calendar_names" => vec![("name", texts(["gregorian".to_string()]))],
        "pg_timezone_names" => zones(),
        "pragma_collations" => {
            let names = ["noaccent", "nocase"].map(str::to_string);
            vec![("collname", texts(names))]
        }
        "pragma_platform" => vec![("platform", texts([platform()]))],
        "pragma_user_agent" => {
            let agent = format!("hushdb/v{}({})", env!("CARGO_PKG_VERSION"), platform());
            vec![("user_agent", texts([agent]))]
        }
        "duckdb_extensions" => extensions(),
        "duckdb_keywords" => keywords(),
        "duckdb_logs" => logs(),
        "duckdb_log_contexts" => log_contexts(),
        "duckdb_secret_types" => {
            let names = ["type", "default_provider", "extension"];
            names.map(|name| (name, texts([]))).into()
        }
        "duckdb_secrets" => secrets(),
        _ => vec![
            ("path", texts([])),
            ("nr_bytes", Arc::new(Int64Array::from(Vec::<i64>::new()))),
            ("location", Arc::new(Int64Array::from(Vec::<i64>::new()))),
            ("loaded", no_flags()),
        ],
    }
}

fn texts(values: impl IntoIterator<Item = String>) -> ArrayRef {
    Arc::new(values.into_iter().map(Some).collect::<StringArray>())
}

fn no_flags() -> ArrayRef {
    Arc::new(BooleanArray::from(Vec::<bool>::new()))
}

fn no_lists() -> ArrayRef {
    let item = Arc::new(Field::new_list_field(DataType::Utf8, true));
    Arc::new(ListArray::new_null(item, 0))
}

/// The system and its processor, under the names that DuckDB has for them.
fn platform() -> String {
    let system = match std::env::consts::OS {
        "macos" => "osx",
        other => other,
    };
    let processor = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    format!("{system}_{processor}")
}

/// The zones that `timezone(zone, x)` knows, and what they are now.
fn zones() -> Columns {
    let zones = time_zones(hushdb_storage::clock::unix_micros());
    let offsets = zones.iter().map(|(_, _, offset, _)| *offset);
    let summer = zones.iter().map(|(.., is_summer)| Some(*is_summer));
    vec![
        (
            "name",
            texts(zones.iter().map(|(name, ..)| (*name).to_string())),
        ),
        (
            "abbrev",
            texts(zones.iter().map(|(_, short, ..)| short.clone())),
        ),
        (
            "utc_offset",
            Arc::new(IntervalMonthDayNanoArray::from_iter_values(offsets)),
        ),
        ("is_dst", Arc::new(summer.collect::<BooleanArray>())),
    ]
}

/// There are none.
fn extensions() -> Columns {
    vec![
        ("extension_name", texts([])),
        ("loaded", no_flags()),
        ("installed", no_flags()),
        ("install_path", texts([])),
        ("description", texts([])),
        ("aliases", no_lists()),
        ("extension_version", texts([])),
        ("install_mode", texts([])),
        ("installed_from", texts([])),
    ]
}

/// Words of SQL, and where they may stand for names without quotes.
fn keywords() -> Columns {
    let all: Vec<(String, &str)> = hushdb_sql::keyword_categories().collect();
    vec![
        (
            "keyword_name",
            texts(all.iter().map(|(word, _)| word.clone())),
        ),
        (
            "keyword_category",
            texts(all.iter().map(|(_, category)| (*category).to_owned())),
        ),
    ]
}

fn no_numbers() -> ArrayRef {
    Arc::new(UInt64Array::from(Vec::<u64>::new()))
}

/// Nothing is logged.
fn logs() -> Columns {
    let times = TimestampMicrosecondArray::from(Vec::<i64>::new()).with_timezone("UTC");
    vec![
        ("context_id", no_numbers()),
        ("timestamp", Arc::new(times)),
        ("type", texts([])),
        ("log_level", texts([])),
        ("message", texts([])),
    ]
}

fn log_contexts() -> Columns {
    vec![
        ("context_id", no_numbers()),
        ("scope", texts([])),
        ("connection_id", no_numbers()),
        ("transaction_id", no_numbers()),
        ("query_id", no_numbers()),
        ("thread_id", no_numbers()),
    ]
}

/// The secret that a path would be read with: none.
pub(in crate::exec) fn which_secret() -> Columns {
    ["name", "persistent", "storage"]
        .map(|name| (name, texts([])))
        .into()
}

/// Nothing here keeps a secret by a name.
fn secrets() -> Columns {
    vec![
        ("name", texts([])),
        ("type", texts([])),
        ("provider", texts([])),
        ("persistent", no_flags()),
        ("storage", texts([])),
        ("scope", no_lists()),
        ("secret_string", texts([])),
    ]
}
