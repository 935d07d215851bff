//! Settings: SET, RESET, `current_setting('x')` and `duckdb_settings()`.
//!
//! What must hold: settings are an allow-list; none is ever forwarded to DataFusion, since some of its settings rebuild
//! parts that this project relies on. No setting holds a key.

use super::attach;
use crate::connection::Connection;
use crate::result::QueryResult;
use datafusion::sql::sqlparser::ast::{Expr, Value};
use hushdb_query::plan::NullOrder;
use hushdb_sql::settings_text::{memory_size, plain_text, size_text};
use hushdb_sql::type_names::cast_to;
use hushdb_sql::{Error, ErrorKind, Result};
use hushdb_storage::{ColumnType, MAIN_SCHEMA, Synchronous};
use std::sync::atomic::Ordering;

/// Less memory than this would not hold a few batches of each operator.
const LEAST_MEMORY: usize = 16 << 20;
/// More threads than this are a mistake.
const MOST_THREADS: usize = 1024;

/// One setting, with DuckDB's name where it has it.
pub(super) struct Setting {
    pub(super) name: &'static str,
    pub(super) aliases: &'static [&'static str],
    /// BOOLEAN, BIGINT or VARCHAR.
    pub(super) input_type: &'static str,
    /// Whether each connection has its own.
    pub(super) is_local: bool,
    pub(super) description: &'static str,
    get: fn(&Connection) -> String,
    set: fn(&Connection, &str) -> Result<()>,
    /// What RESET sets.
    default: fn(&Connection) -> String,
}

const SETTINGS: [Setting; 19] = [
    Setting {
        name: "debug_force_external",
        aliases: &[],
        input_type: "BOOLEAN",
        is_local: false,
        description: "Whether every operator that can spill does so however much memory there is, for tests",
        get: |connection| connection.shared.memory.forces_spilling().to_string(),
        set: |connection, text| {
            let force = flag("debug_force_external", text)?;
            connection.shared.memory.force_spilling(force);
            Ok(())
        },
        default: |_| "false".into(),
    },
    Setting {
        name: "default_null_order",
        aliases: &["null_order"],
        input_type: "VARCHAR",
        is_local: true,
        description: "Where NULL is sorted when ORDER BY does not say: NULLS_LAST, NULLS_FIRST, \
                      NULLS_FIRST_ON_ASC_LAST_ON_DESC or NULLS_LAST_ON_ASC_FIRST_ON_DESC",
        get: |connection| connection.session.lock().order.nulls.name().into(),
        set: |connection, text| {
            let nulls = NullOrder::named(text).ok_or_else(|| {
                Error::invalid(
                    "default_null_order is NULLS_FIRST, NULLS_LAST, SQLITE (NULLS_FIRST_ON_ASC_LAST_ON_DESC) or POSTGRES \
                     (NULLS_LAST_ON_ASC_FIRST_ON_DESC)",
                )
            })?;
            connection.session.lock().order.nulls = nulls;
            Ok(())
        },
        default: |_| NullOrder::default().name().into(),
    },
    Setting {
        name: "default_order",
        aliases: &[],
        input_type: "VARCHAR",
        is_local: true,
        description: "The order of ORDER BY without a direction: ASC or DESC",
        get: |connection| match connection.session.lock().order.descending {
            true => "DESC".into(),
            false => "ASC".into(),
        },
        set: |connection, text| {
            let descending = match text.to_lowercase().as_str() {
                "asc" | "ascending" => false,
                "desc" | "descending" => true,
                _ => return Err(Error::invalid("default_order is ASC or DESC")),
            };
            connection.session.lock().order.descending = descending;
            Ok(())
        },
        default: |_| "ASC".into(),
    },
    Setting {
        name: "disable_core_dumps",
        aliases: &[],
        input_type: "BOOLEAN",
        is_local: false,
        description: "Whether the process leaves no core dump and cannot be read by other processes of the same user",
        get: |_| (!hushdb_crypto::key_memory().core_dumps).to_string(),
        set: |_, text| {
            let possible = !flag("disable_core_dumps", text)?;
            hushdb_crypto::set_core_dumps(possible).map_err(|error| {
                Error::new(
                    ErrorKind::Io,
                    format!("the system does not let core dumps be switched: {error}"),
                )
            })
        },
        default: |_| "false".into(),
    },
    Setting {
        name: "enable_progress_bar",
        aliases: &["enable_print_progress_bar"],
        input_type: "BOOLEAN",
        is_local: true,
        description: "Whether a shell shows how far a long statement has come",
        get: |connection| connection.session.lock().progress_bar.to_string(),
        set: |connection, text| {
            connection.session.lock().progress_bar = flag("enable_progress_bar", text)?;
            Ok(())
        },
        default: |_| "true".into(),
    },
    Setting {
        name: "enforce_encryption",
        aliases: &[],
        input_type: "BOOLEAN",
        is_local: false,
        description: "Refuse to create a plain database, to attach one for writing, and to export one in the clear",
        get: |connection| enforces_encryption(connection).to_string(),
        set: |connection, text| {
            let on = flag("enforce_encryption", text)?;
            let shared = &connection.shared;
            shared.enforce_encryption.store(on, Ordering::Release);
            for name in shared.plain_databases().iter().filter(|_| on) {
                shared.notice(format!(
                    "the database \"{name}\" is plain and stays attached for writing; DETACH it to have encryption enforced"
                ));
            }
            Ok(())
        },
        default: |_| "false".into(),
    },
    Setting {
        name: "explain_output",
        aliases: &[],
        input_type: "VARCHAR",
        is_local: true,
        description: "What EXPLAIN shows: physical_only, optimized_only (the logical plan) or all",
        get: |connection| connection.session.lock().explain.name().into(),
        set: |connection, text| {
            let output = ExplainOutput::named(text).ok_or_else(|| {
                Error::invalid("explain_output is physical_only, optimized_only or all")
            })?;
            connection.session.lock().explain = output;
            Ok(())
        },
        default: |_| ExplainOutput::default().name().into(),
    },
    Setting {
        name: "max_temp_directory_size",
        aliases: &[],
        input_type: "VARCHAR",
        is_local: false,
        description: "The most bytes that temporary files may have together",
        get: |connection| size_text(connection.shared.spill.max_bytes()),
        set: |connection, text| {
            let bytes = memory_size(text)?;
            connection.shared.spill.set_max_bytes(bytes);
            Ok(())
        },
        default: |connection| connection.shared.defaults.spill_bytes.to_string(),
    },
    Setting {
        name: "memory_limit",
        aliases: &["max_memory"],
        input_type: "VARCHAR",
        is_local: false,
        description: "The most bytes that operators and the buffer pool may hold together",
        get: |connection| size_text(connection.shared.memory.limit() as u64),
        set: |connection, text| {
            let bytes = usize::try_from(memory_size(text)?).unwrap_or(usize::MAX);
            if bytes < LEAST_MEMORY {
                return Err(Error::invalid(format!(
                    "memory_limit must be at least {} MiB",
                    LEAST_MEMORY >> 20
                )));
            }
            connection.shared.set_memory_limit(bytes);
            Ok(())
        },
        default: |connection| connection.shared.defaults.memory_bytes.to_string(),
    },
    Setting {
        name: "preserve_insertion_order",
        aliases: &[],
        input_type: "BOOLEAN",
        is_local: false,
        description: "Rows come in insertion order where nothing reorders them; always on",
        get: |_| "true".into(),
        set: |_, text| match flag("preserve_insertion_order", text)? {
            true => Ok(()),
            false => Err(Error::unsupported(
                "preserve_insertion_order cannot be switched off: rows come in insertion order",
            )),
        },
        default: |_| "true".into(),
    },
    Setting {
        name: "schema",
        aliases: &[],
        input_type: "VARCHAR",
        is_local: true,
        description: "The schema in which unqualified names are looked for, as USE sets it",
        get: |connection| connection.session.lock().schema.clone(),
        set: set_schema,
        default: default_schema,
    },
    Setting {
        name: "search_path",
        aliases: &[],
        input_type: "VARCHAR",
        is_local: true,
        description: "As schema, with its database: one name, database.schema",
        get: |connection| {
            let session = connection.session.lock();
            let parts = [&session.database, &session.schema];
            parts.map(|part| hushdb_sql::quote(part)).join(".")
        },
        set: set_schema,
        default: default_schema,
    },
    Setting {
        name: "secure_free",
        aliases: &[],
        input_type: "BOOLEAN",
        is_local: false,
        description: "Overwrite opened blocks with zeros when they are let go",
        get: |connection| connection.shared.pool.is_wiping().to_string(),
        set: |connection, text| {
            let wipes = flag("secure_free", text)?;
            connection.shared.pool.set_wiping(wipes);
            Ok(())
        },
        default: |_| "false".into(),
    },
    Setting {
        name: "synchronous",
        aliases: &[],
        input_type: "VARCHAR",
        is_local: false,
        description: "Whether a commit waits until it is on disk: full or off",
        get: |connection| match connection.shared.durability.lock().synchronous {
            Synchronous::Full => "full".into(),
            Synchronous::Off => "off".into(),
        },
        set: |connection, text| {
            let synchronous = match text.to_lowercase().as_str() {
                "full" | "2" | "extra" | "3" => Synchronous::Full,
                "off" | "0" => Synchronous::Off,
                _ => return Err(Error::invalid("synchronous is 'full' or 'off'")),
            };
            connection
                .shared
                .set_durability(|d| d.synchronous = synchronous);
            Ok(())
        },
        default: |_| "full".into(),
    },
    Setting {
        name: "temp_directory",
        aliases: &[],
        input_type: "VARCHAR",
        is_local: false,
        description: "Where sealed temporary files go",
        get: |connection| {
            let directory = connection.shared.spill.directory();
            directory.display().to_string()
        },
        set: |connection, text| {
            connection.shared.spill.set_directory(text.into());
            Ok(())
        },
        default: |connection| {
            let directory = &connection.shared.defaults.temp_directory;
            directory.display().to_string()
        },
    },
    Setting {
        name: "temp_file_encryption",
        aliases: &[],
        input_type: "BOOLEAN",
        is_local: false,
        description: "Temporary files are sealed; always on",
        get: |_| "true".into(),
        set: |_, text| match flag("temp_file_encryption", text) {
            Ok(true) => Ok(()),
            _ => Err(Error::invalid(
                "temp_file_encryption cannot be switched off: HushDB writes no plaintext temporary file",
            )),
        },
        default: |_| "true".into(),
    },
    Setting {
        name: "threads",
        aliases: &["worker_threads"],
        input_type: "BIGINT",
        is_local: false,
        description: "Threads that run queries",
        get: |connection| connection.engine().threads.to_string(),
        set: |connection, text| {
            let threads = text.parse().ok().filter(|n| (1..=MOST_THREADS).contains(n));
            let threads = threads.ok_or_else(|| {
                Error::invalid(format!(
                    "threads is a number: 1 at least and {MOST_THREADS} at most"
                ))
            })?;
            connection.shared.set_threads(threads)
        },
        default: |connection| connection.shared.defaults.threads.to_string(),
    },
    Setting {
        name: "timezone",
        aliases: &[],
        input_type: "VARCHAR",
        is_local: false,
        description: "The time zone in which instants are shown; always UTC",
        get: |_| "UTC".into(),
        set: |_, text| match text.to_lowercase().as_str() {
            "utc" | "etc/utc" | "gmt" => Ok(()),
            _ => Err(Error::unsupported(
                "instants are shown in UTC; other time zones are not there yet",
            )),
        },
        default: |_| "UTC".into(),
    },
    Setting {
        name: "wal_autocheckpoint",
        aliases: &["checkpoint_threshold"],
        input_type: "VARCHAR",
        is_local: false,
        description: "Bytes of a log after which a commit makes a checkpoint",
        get: |connection| size_text(connection.shared.durability.lock().autocheckpoint_bytes),
        set: |connection, text| {
            let bytes = memory_size(text)?;
            connection
                .shared
                .set_durability(|d| d.autocheckpoint_bytes = bytes);
            Ok(())
        },
        default: |_| hushdb_storage::DEFAULT_AUTOCHECKPOINT_BYTES.to_string(),
    },
];

/// The plans that EXPLAIN shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ExplainOutput {
    #[default]
    PhysicalOnly,
    OptimizedOnly,
    All,
}

impl ExplainOutput {
    fn named(text: &str) -> Option<Self> {
        Some(match text.to_lowercase().as_str() {
            "physical_only" => Self::PhysicalOnly,
            "optimized_only" => Self::OptimizedOnly,
            "all" => Self::All,
            _ => return None,
        })
    }

    fn name(self) -> &'static str {
        match self {
            Self::PhysicalOnly => "PHYSICAL_ONLY",
            Self::OptimizedOnly => "OPTIMIZED_ONLY",
            Self::All => "ALL",
        }
    }
}

fn flag(name: &str, text: &str) -> Result<bool> {
    match text.to_lowercase().as_str() {
        "true" | "1" | "on" | "yes" => Ok(true),
        "false" | "0" | "off" | "no" => Ok(false),
        _ => Err(Error::invalid(format!("{name} is true or false"))),
    }
}

/// Whether plain databases are refused for writing.
pub(super) fn enforces_encryption(connection: &Connection) -> bool {
    let setting = &connection.shared.enforce_encryption;
    setting.load(Ordering::Acquire)
}

fn set_schema(connection: &Connection, text: &str) -> Result<()> {
    attach::use_database(connection, &hushdb_sql::name_in_text(text)?).map(drop)
}

fn default_schema(connection: &Connection) -> String {
    let parts = [connection.shared.default_database.as_str(), MAIN_SCHEMA];
    parts.map(hushdb_sql::quote).join(".")
}

pub(super) fn settings() -> &'static [Setting] {
    &SETTINGS
}

fn setting(name: &str) -> Result<&'static Setting> {
    let name = name.to_lowercase();
    let mut settings = SETTINGS.iter();
    let found = settings.find(|s| s.name == name || s.aliases.contains(&name.as_str()));
    found.ok_or_else(|| {
        Error::catalog(format!(
            "unrecognized configuration parameter \"{name}\"; FROM duckdb_settings() lists those that there are"
        ))
    })
}

impl Setting {
    pub(super) fn value(&self, connection: &Connection) -> String {
        (self.get)(connection)
    }
}

/// A setting's value now; `None` when there is none of that name.
pub(super) fn value(connection: &Connection, name: &str) -> Option<String> {
    setting(name).ok().map(|setting| setting.value(connection))
}

/// A setting's value now as a literal of its type.
pub(crate) fn literal(connection: &Connection, name: &str) -> Result<Expr> {
    let setting = setting(name)?;
    let text = setting.value(connection);
    Ok(Expr::value(match setting.input_type {
        "BIGINT" => {
            let number = Expr::value(Value::Number(text, false));
            return cast_to(number, &ColumnType::Int64);
        }
        "BOOLEAN" => Value::Boolean(text == "true"),
        _ => Value::SingleQuotedString(text),
    }))
}

pub(super) fn set(connection: &Connection, name: &str, value: &Expr) -> Result<QueryResult> {
    let setting = setting(name)?;
    match value {
        Expr::Identifier(ident) if ident.value.eq_ignore_ascii_case("default") => {
            return reset(connection, name);
        }
        _ => {}
    }
    let text = plain_text(value).ok_or_else(|| {
        Error::invalid(format!(
            "the value of {} is a text, a number, true or false",
            setting.name
        ))
    })?;
    (setting.set)(connection, &text)?;
    Ok(QueryResult::done())
}

pub(super) fn reset(connection: &Connection, name: &str) -> Result<QueryResult> {
    let setting = setting(name)?;
    (setting.set)(connection, &(setting.default)(connection))?;
    Ok(QueryResult::done())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Database;

    #[test]
    fn every_setting_has_its_names_alone_and_can_be_reset() {
        let database = Database::open_in_memory().unwrap();
        let connection = database.connect().unwrap();
        let mut names: Vec<&str> = vec![];
        // Whether a process may dump its core is the system's to say.
        for setting in settings().iter().filter(|s| s.name != "disable_core_dumps") {
            names.push(setting.name);
            names.extend(setting.aliases);
            let before = setting.value(&connection);
            reset(&connection, setting.name).unwrap();
            assert_eq!(setting.value(&connection), before, "{}", setting.name);
            assert!(literal(&connection, setting.name).is_ok());
        }
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    #[test]
    fn statements_that_run_keep_their_threads() {
        let database = Database::open_in_memory().unwrap();
        let connection = database.connect().unwrap();
        let mut rows = connection.execute("SELECT * FROM range(100000)").unwrap();
        rows.next().unwrap().unwrap();
        connection.execute("SET threads = 5").unwrap();
        let engine = connection.engine();
        assert_eq!(engine.threads, 5);
        let options = &engine.state.config_options().execution;
        assert_eq!(options.target_partitions, 5);
        let rest: usize = rows.map(|batch| batch.unwrap().num_rows()).sum();
        assert!(rest > 0);
        connection.execute("RESET threads").unwrap();
        assert_eq!(
            connection.engine().threads,
            database.shared.defaults.threads
        );
    }
}
