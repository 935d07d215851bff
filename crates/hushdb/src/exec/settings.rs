//! SET, RESET, PRAGMA, INSTALL and LOAD.
//!
//! What must hold: settings are an allow-list; none is ever forwarded to DataFusion, since some of its settings rebuild
//! parts that this project relies on.

use super::show;
use crate::connection::Connection;
use crate::error::{Error, Result};
use crate::result::QueryResult;
use datafusion::sql::sqlparser::ast::{Expr, Value};

/// Settings that can be read, with their value now.
pub(super) fn value(connection: &Connection, name: &str) -> Option<String> {
    Some(match name {
        "threads" | "worker_threads" => connection.shared.threads.to_string(),
        "search_path" | "schema" => connection.session.lock().schema.clone(),
        "temp_file_encryption" => "true".into(),
        _ => return None,
    })
}

pub(super) fn set(_: &Connection, name: &str, value: &Expr) -> Result<QueryResult> {
    let text = match value {
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) | Value::Number(text, _) => text.to_lowercase(),
            Value::Boolean(flag) => flag.to_string(),
            _ => String::new(),
        },
        Expr::Identifier(ident) => ident.value.to_lowercase(),
        _ => String::new(),
    };
    match (name, text.as_str()) {
        ("temp_file_encryption", "true" | "1" | "on") => Ok(QueryResult::done()),
        ("temp_file_encryption", _) => Err(Error::invalid(
            "temp_file_encryption cannot be switched off: HushDB writes no plaintext temporary file",
        )),
        ("preserve_insertion_order", "true" | "1" | "on") => Ok(QueryResult::done()),
        ("timezone", "utc" | "etc/utc" | "gmt") => Ok(QueryResult::done()),
        ("timezone", _) => Err(Error::unsupported(
            "instants are shown in UTC; other time zones are not there yet",
        )),
        ("enable_progress_bar" | "enable_print_progress_bar", _) => Ok(QueryResult::done()),
        ("memory_limit" | "max_memory" | "threads" | "worker_threads" | "temp_directory", _) => {
            Err(Error::unsupported(format!(
                "{name} is given when the database is opened; changing it while it runs is not there yet"
            )))
        }
        _ => Err(Error::catalog(format!(
            "unrecognized configuration parameter \"{name}\""
        ))),
    }
}

pub(super) fn reset(name: &str) -> Result<QueryResult> {
    match name {
        "temp_file_encryption" | "preserve_insertion_order" => Ok(QueryResult::done()),
        _ => Err(Error::catalog(format!(
            "unrecognized configuration parameter \"{name}\""
        ))),
    }
}

pub(super) fn pragma(connection: &Connection, name: &str) -> Result<QueryResult> {
    match name {
        "show_tables" => show::tables(&connection.snapshot(), None, false),
        "database_list" | "show_databases" => show::databases(connection),
        "version" => show::text_table(
            &["library_version"],
            &[vec![Some(env!("CARGO_PKG_VERSION").into())]],
        ),
        // Every commit goes to the blocks themselves, so these already are so.
        "enable_checkpoint_on_shutdown" | "disable_checkpoint_on_shutdown" => {
            Ok(QueryResult::done())
        }
        _ => Err(Error::catalog(format!(
            "Pragma Function with name {name} does not exist!"
        ))),
    }
}

/// What DuckDB loads as an extension and HushDB has built in.
pub(super) fn extension(name: &str) -> Result<QueryResult> {
    match name {
        "tpch" | "parquet" | "httpfs" | "core_functions" | "icu" => Ok(QueryResult::done()),
        _ => Err(Error::unsupported(format!(
            "there is no extension \"{name}\"; HushDB has tpch and parquet built in"
        ))),
    }
}
