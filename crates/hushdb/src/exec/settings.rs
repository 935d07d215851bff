//! SET, RESET, PRAGMA, INSTALL and LOAD.
//!
//! What must hold: settings are an allow-list; none is ever forwarded to DataFusion, since some of its settings rebuild
//! parts that this project relies on.

use super::show;
use crate::connection::Connection;
use crate::error::{Error, ErrorKind, Result};
use crate::result::QueryResult;
use datafusion::sql::sqlparser::ast::{Expr, Value};
use hushdb_storage::Synchronous;

/// Less memory than this would not hold a few batches of each operator.
const LEAST_MEMORY: usize = 16 << 20;

/// Settings that can be read, with their value now.
pub(super) fn value(connection: &Connection, name: &str) -> Option<String> {
    Some(match name {
        "threads" | "worker_threads" => connection.shared.threads.to_string(),
        "search_path" | "schema" => connection.session.lock().schema.clone(),
        "temp_file_encryption" => "true".into(),
        "memory_limit" | "max_memory" => {
            format!("{} bytes", connection.shared.memory.limit())
        }
        "temp_directory" => {
            let directory = connection.shared.spill.directory();
            directory.display().to_string()
        }
        "max_temp_directory_size" => {
            format!("{} bytes", connection.shared.spill.max_bytes())
        }
        "synchronous" => match connection.shared.durability.lock().synchronous {
            Synchronous::Full => "full".into(),
            Synchronous::Off => "off".into(),
        },
        "wal_autocheckpoint" | "checkpoint_threshold" => {
            let bytes = connection.shared.durability.lock().autocheckpoint_bytes;
            format!("{bytes} bytes")
        }
        "disable_core_dumps" => (!hushdb_crypto::key_memory().core_dumps).to_string(),
        "secure_free" => connection.shared.pool.is_wiping().to_string(),
        _ => return None,
    })
}

pub(super) fn set(connection: &Connection, name: &str, value: &Expr) -> Result<QueryResult> {
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
        ("disable_core_dumps", text) => {
            let possible = !flag(name, text)?;
            hushdb_crypto::set_core_dumps(possible).map_err(|error| {
                Error::new(
                    ErrorKind::Io,
                    format!("the system does not let core dumps be switched: {error}"),
                )
            })?;
            Ok(QueryResult::done())
        }
        ("secure_free", text) => {
            connection.shared.pool.set_wiping(flag(name, text)?);
            Ok(QueryResult::done())
        }
        ("synchronous", "full" | "2" | "extra" | "3") => {
            connection
                .shared
                .set_durability(|d| d.synchronous = Synchronous::Full);
            Ok(QueryResult::done())
        }
        ("synchronous", "off" | "0") => {
            connection
                .shared
                .set_durability(|d| d.synchronous = Synchronous::Off);
            Ok(QueryResult::done())
        }
        ("synchronous", _) => Err(Error::invalid("synchronous is 'full' or 'off'")),
        ("wal_autocheckpoint" | "checkpoint_threshold", text) => {
            let bytes = memory_size(text)?;
            connection
                .shared
                .set_durability(|d| d.autocheckpoint_bytes = bytes);
            Ok(QueryResult::done())
        }
        ("preserve_insertion_order", "true" | "1" | "on") => Ok(QueryResult::done()),
        ("timezone", "utc" | "etc/utc" | "gmt") => Ok(QueryResult::done()),
        ("timezone", _) => Err(Error::unsupported(
            "instants are shown in UTC; other time zones are not there yet",
        )),
        ("enable_progress_bar" | "enable_print_progress_bar", _) => Ok(QueryResult::done()),
        ("memory_limit" | "max_memory", text) => {
            let bytes = usize::try_from(memory_size(text)?).unwrap_or(usize::MAX);
            if bytes < LEAST_MEMORY {
                return Err(Error::invalid(format!(
                    "memory_limit must be at least {} MiB",
                    LEAST_MEMORY >> 20
                )));
            }
            connection.shared.memory.set_limit(bytes);
            Ok(QueryResult::done())
        }
        ("max_temp_directory_size", text) => {
            let bytes = memory_size(text)?;
            connection.shared.spill.set_max_bytes(bytes);
            Ok(QueryResult::done())
        }
        ("temp_directory", _) => {
            let Expr::Value(value) = value else {
                return Err(Error::invalid("temp_directory is a path in quotes"));
            };
            let Value::SingleQuotedString(path) = &value.value else {
                return Err(Error::invalid("temp_directory is a path in quotes"));
            };
            connection.shared.spill.set_directory(path.into());
            Ok(QueryResult::done())
        }
        ("threads" | "worker_threads", _) => Err(Error::unsupported(format!(
            "{name} is given when the database is opened; changing it while it runs is not there yet"
        ))),
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
        "enable_checkpoint_on_shutdown" | "disable_checkpoint_on_shutdown" => {
            let on = name.starts_with("enable");
            connection
                .shared
                .set_durability(|d| d.checkpoint_on_shutdown = on);
            Ok(QueryResult::done())
        }
        _ => Err(Error::catalog(format!(
            "Pragma Function with name {name} does not exist!"
        ))),
    }
}

fn flag(name: &str, text: &str) -> Result<bool> {
    match text {
        "true" | "1" | "on" => Ok(true),
        "false" | "0" | "off" => Ok(false),
        _ => Err(Error::invalid(format!("{name} is true or false"))),
    }
}

/// A size as DuckDB reads it: `16MB` is decimal, `16MiB` is not; a number alone is bytes.
fn memory_size(text: &str) -> Result<u64> {
    let malformed = || Error::invalid("a size reads like '16MB' or '16MiB'");
    let text = text.trim();
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let factor: u64 = match unit.trim() {
        "" | "b" | "byte" | "bytes" => 1,
        "k" | "kb" => 1_000,
        "m" | "mb" => 1_000_000,
        "g" | "gb" => 1_000_000_000,
        "t" | "tb" => 1_000_000_000_000,
        "kib" => 1 << 10,
        "mib" => 1 << 20,
        "gib" => 1 << 30,
        "tib" => 1 << 40,
        _ => return Err(malformed()),
    };
    let number: f64 = number.parse().map_err(|_| malformed())?;
    Ok((number * factor as f64) as u64)
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
