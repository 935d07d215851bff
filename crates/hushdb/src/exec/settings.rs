//! Settings: SET, RESET, `current_setting('x')` and `duckdb_settings()`.
//!
//! What must hold: settings are an allow-list; none is ever forwarded to DataFusion, since some of its settings rebuild
//! parts that this project relies on. No setting holds a key.

use super::confined;
use super::databases::attach;
use super::hints::HINTS;
use super::setting::{Setting, flag, session_flag};
use crate::key_watch::Recheck;
use crate::result::QueryResult;
use crate::session::{ExplainOutput, Session, UTC};
use crate::transaction::Isolation;
use datafusion::sql::sqlparser::ast::{Expr, Value};
use hushdb_query::functions::Zone;
use hushdb_query::plan::NullOrder;
use hushdb_sql::settings_text::{memory_size, plain_text, size_text};
use hushdb_sql::type_names::cast_to;
use hushdb_sql::{Error, ErrorKind, Result, like, offered};
use hushdb_storage::{ColumnType, MAIN_SCHEMA, Synchronous};
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Less memory than this would not hold a few batches of each operator.
const LEAST_MEMORY: usize = 16 << 20;
/// More threads than this are a mistake.
const MOST_THREADS: usize = 1024;

const SETTINGS: [Setting; 32] = [
    Setting {
        name: "debug_force_external",
        aliases: &[],
        input_type: "BOOLEAN",
        is_local: false,
        description: "Whether every operator that can spill does so however much memory there is, for tests",
        get: |session| session.instance.memory.forces_spilling().to_string(),
        set: |session, text| {
            let force = flag("debug_force_external", text)?;
            session.instance.memory.force_spilling(force);
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
        get: |session| session.settings.lock().order.nulls.name().into(),
        set: |session, text| {
            let nulls = NullOrder::named(text).ok_or_else(|| {
                Error::invalid(
                    "default_null_order is NULLS_FIRST, NULLS_LAST, SQLITE (NULLS_FIRST_ON_ASC_LAST_ON_DESC) or POSTGRES \
                     (NULLS_LAST_ON_ASC_FIRST_ON_DESC)",
                )
            })?;
            session.settings.lock().order.nulls = nulls;
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
        get: |session| match session.settings.lock().order.descending {
            true => "DESC".into(),
            false => "ASC".into(),
        },
        set: |session, text| {
            let descending = match text.to_lowercase().as_str() {
                "asc" | "ascending" => false,
                "desc" | "descending" => true,
                _ => return Err(Error::invalid("default_order is ASC or DESC")),
            };
            session.settings.lock().order.descending = descending;
            Ok(())
        },
        default: |_| "ASC".into(),
    },
    Setting {
        name: "default_transaction_isolation",
        aliases: &[],
        input_type: "VARCHAR",
        is_local: true,
        description: "What transactions that begin from now on see, and whether they wait: snapshot (they do not), read committed or \
                      repeatable read",
        get: |session| session.settings.lock().isolation.name().into(),
        set: |session, text| {
            let isolation = Isolation::by_name(text).ok_or_else(|| {
                Error::invalid(
                    "default_transaction_isolation is 'snapshot', 'read committed' or 'repeatable read'; serializable is not there",
                )
            })?;
            session.settings.lock().isolation = isolation;
            Ok(())
        },
        default: |session| session.default_isolation.name().into(),
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
        name: "early_release",
        aliases: &[],
        input_type: "BOOLEAN",
        is_local: false,
        description: "Whether a commit lets go of its locks when it is queued for the disk, or when it is there",
        get: |session| session.instance.durability.lock().early_release.to_string(),
        set: |session, text| {
            let on = flag("early_release", text)?;
            session.instance.set_durability(|d| d.early_release = on);
            Ok(())
        },
        default: |_| "true".into(),
    },
    Setting {
        name: "enable_progress_bar",
        aliases: &["enable_print_progress_bar"],
        input_type: "BOOLEAN",
        is_local: true,
        description: "Whether a shell shows how far a long statement has come",
        get: |session| session.settings.lock().progress_bar.to_string(),
        set: |session, text| {
            session.settings.lock().progress_bar = flag("enable_progress_bar", text)?;
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
        get: |session| enforces_encryption(session).to_string(),
        set: |session, text| {
            let on = flag("enforce_encryption", text)?;
            let shared = &session.instance;
            shared.enforce_encryption.store(on, Ordering::Release);
            for name in shared.plain_databases().iter().filter(|_| on) {
                session.notice(format!(
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
        get: |session| session.settings.lock().explain.name().into(),
        set: |session, text| {
            let output = ExplainOutput::named(text).ok_or_else(|| {
                Error::invalid("explain_output is physical_only, optimized_only or all")
            })?;
            session.settings.lock().explain = output;
            Ok(())
        },
        default: |_| ExplainOutput::default().name().into(),
    },
    session_flag!(
        "immediate_transaction_mode",
        immediate,
        "false",
        "Whether a transaction sees what there is when it begins, and not when its first statement runs"
    ),
    session_flag!(
        "integer_division",
        integer_division,
        "false",
        "Whether / is //, the quotient without its fraction"
    ),
    Setting {
        name: "key_recheck",
        aliases: &[],
        input_type: "VARCHAR",
        is_local: false,
        description: "How often the places of keys are asked again for those of attached databases; 0: never",
        get: |session| millis(session.instance.recheck.lock().every),
        set: |session, text| {
            let every = duration("key_recheck", text)?;
            session.instance.set_recheck(|times| times.every = every);
            Ok(())
        },
        default: |_| millis(Recheck::default().every),
    },
    Setting {
        name: "key_recheck_grace",
        aliases: &[],
        input_type: "VARCHAR",
        is_local: false,
        description: "How long a key may be refused before its database is ended",
        get: |session| millis(session.instance.recheck.lock().grace),
        set: |session, text| {
            let grace = duration("key_recheck_grace", text)?;
            session.instance.set_recheck(|times| times.grace = grace);
            Ok(())
        },
        default: |_| millis(Recheck::default().grace),
    },
    Setting {
        name: "key_recheck_tolerance",
        aliases: &[],
        input_type: "VARCHAR",
        is_local: false,
        description: "How long the place of a key may be silent before its database is ended",
        get: |session| millis(session.instance.recheck.lock().tolerance),
        set: |session, text| {
            let tolerance = duration("key_recheck_tolerance", text)?;
            session
                .instance
                .set_recheck(|times| times.tolerance = tolerance);
            Ok(())
        },
        default: |_| millis(Recheck::default().tolerance),
    },
    Setting {
        name: "lock_timeout",
        aliases: &[],
        input_type: "VARCHAR",
        is_local: true,
        description: "The longest wait for a lock, in milliseconds or as '5s', '2min'; 0: as long as it takes",
        get: |session| format!("{}ms", session.settings.lock().lock_timeout.as_millis()),
        set: |session, text| {
            session.settings.lock().lock_timeout = duration("lock_timeout", text)?;
            Ok(())
        },
        default: |_| "0".into(),
    },
    Setting {
        name: "log_lock_waits",
        aliases: &[],
        input_type: "BOOLEAN",
        is_local: true,
        description: "Whether a wait for a lock that has gone on for a second is told, by Database::take_notices and in a server's log",
        get: |session| session.settings.lock().log_lock_waits.to_string(),
        set: |session, text| {
            session.settings.lock().log_lock_waits = flag("log_lock_waits", text)?;
            Ok(())
        },
        default: |_| "true".into(),
    },
    Setting {
        name: "max_temp_directory_size",
        aliases: &[],
        input_type: "VARCHAR",
        is_local: false,
        description: "The most bytes that temporary files may have together",
        get: |session| size_text(session.instance.spill.max_bytes()),
        set: |session, text| {
            let bytes = memory_size(text)?;
            session.instance.spill.set_max_bytes(bytes);
            Ok(())
        },
        default: |session| session.instance.defaults.spill_bytes.to_string(),
    },
    Setting {
        name: "memory_limit",
        aliases: &["max_memory"],
        input_type: "VARCHAR",
        is_local: false,
        description: "The most bytes that operators and the buffer pool may hold together",
        get: |session| size_text(session.instance.memory.limit() as u64),
        set: |session, text| {
            let bytes = usize::try_from(memory_size(text)?).unwrap_or(usize::MAX);
            if bytes < LEAST_MEMORY {
                return Err(Error::invalid(format!(
                    "memory_limit must be at least {} MiB",
                    LEAST_MEMORY >> 20
                )));
            }
            session.instance.set_memory_limit(bytes);
            Ok(())
        },
        default: |session| session.instance.defaults.memory_bytes.to_string(),
    },
    Setting {
        name: "old_implicit_casting",
        aliases: &[],
        input_type: "BOOLEAN",
        is_local: true,
        description: "Whether texts are cast wherever something else is wanted, as they once were in DuckDB; always off",
        get: |_| "false".into(),
        set: |_, text| match flag("old_implicit_casting", text) {
            Ok(false) => Ok(()),
            _ => Err(Error::unsupported(
                "old_implicit_casting cannot be switched on: write the casts",
            )),
        },
        default: |_| "false".into(),
    },
    session_flag!(
        "order_by_non_integer_literal",
        order_by_literals,
        "false",
        "Whether ORDER BY takes a literal that is no place, which sorts nothing"
    ),
    Setting {
        name: "rekey_bytes_per_second",
        aliases: &[],
        input_type: "VARCHAR",
        is_local: false,
        description: "Bytes a second that a change of the data key seals anew at most; 0: as many as it can",
        get: |session| size_text(session.instance.durability.lock().rekey_bytes_per_second),
        set: |session, text| {
            let bytes = match text.trim() {
                "0" => 0,
                text => memory_size(text)?,
            };
            session
                .instance
                .set_durability(|d| d.rekey_bytes_per_second = bytes);
            Ok(())
        },
        default: |_| "0".into(),
    },
    session_flag!(
        "scalar_subquery_error_on_multiple_rows",
        one_row,
        "true",
        "Whether several rows of a query that stands for a value are an error; otherwise the first is the value"
    ),
    Setting {
        name: "schema",
        aliases: &[],
        input_type: "VARCHAR",
        is_local: true,
        description: "The schema in which unqualified names are looked for, as USE sets it",
        get: |session| session.settings.lock().schema.clone(),
        set: set_schema,
        default: default_schema,
    },
    Setting {
        name: "search_path",
        aliases: &[],
        input_type: "VARCHAR",
        is_local: true,
        description: "As schema, with its database: one name, database.schema",
        get: |session| {
            let session = session.settings.lock();
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
        get: |session| session.instance.pool.is_wiping().to_string(),
        set: |session, text| {
            let wipes = flag("secure_free", text)?;
            session.instance.pool.set_wiping(wipes);
            Ok(())
        },
        default: |_| "false".into(),
    },
    Setting {
        name: "sql_dialect",
        aliases: &[],
        input_type: "VARCHAR",
        is_local: true,
        description: "Whose meaning / of whole numbers has: duckdb (a DOUBLE) or postgres (it cuts)",
        get: |session| match session.settings.lock().postgres {
            true => "postgres".into(),
            false => "duckdb".into(),
        },
        set: |session, text| {
            let postgres = match text.to_lowercase().as_str() {
                "postgres" | "postgresql" => true,
                "duckdb" => false,
                _ => return Err(Error::invalid("sql_dialect is duckdb or postgres")),
            };
            session.settings.lock().postgres = postgres;
            Ok(())
        },
        default: |_| "duckdb".into(),
    },
    Setting {
        name: "synchronous",
        aliases: &[],
        input_type: "VARCHAR",
        is_local: false,
        description: "Whether a commit waits until it is on disk: full or off",
        get: |session| match session.instance.durability.lock().synchronous {
            Synchronous::Full => "full".into(),
            Synchronous::Off => "off".into(),
        },
        set: |session, text| {
            let synchronous = match text.to_lowercase().as_str() {
                "full" | "2" | "extra" | "3" => Synchronous::Full,
                "off" | "0" => Synchronous::Off,
                _ => return Err(Error::invalid("synchronous is 'full' or 'off'")),
            };
            session
                .instance
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
        get: |session| {
            let directory = session.instance.spill.directory();
            directory.display().to_string()
        },
        set: |session, text| {
            session.instance.spill.set_directory(text.into());
            Ok(())
        },
        default: |session| {
            let directory = &session.instance.defaults.temp_directory;
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
        get: |session| session.engine().threads.to_string(),
        set: |session, text| {
            let threads = text.parse().ok().filter(|n| (1..=MOST_THREADS).contains(n));
            let threads = threads.ok_or_else(|| {
                Error::invalid(format!(
                    "threads is a number: 1 at least and {MOST_THREADS} at most"
                ))
            })?;
            session.instance.set_threads(threads)
        },
        default: |session| session.instance.defaults.threads.to_string(),
    },
    Setting {
        name: "timezone",
        aliases: &[],
        input_type: "VARCHAR",
        is_local: true,
        description: "The time zone in which instants are shown, and dates and times read that say none: a name of the IANA database",
        get: |session| session.settings.lock().time_zone.into(),
        set: |session, text| {
            let (_, name) = Zone::named(text).ok_or_else(|| {
                Error::unsupported(
                    "Unknown TimeZone: it takes a name of the IANA database, such as 'Europe/Berlin'",
                )
            })?;
            session.settings.lock().time_zone = name;
            Ok(())
        },
        default: |_| UTC.into(),
    },
    Setting {
        name: "wal_autocheckpoint",
        aliases: &["checkpoint_threshold"],
        input_type: "VARCHAR",
        is_local: false,
        description: "Bytes of a log after which a checkpoint is made; 16 MiB: more where it would write more",
        get: |session| size_text(session.instance.durability.lock().autocheckpoint_bytes),
        set: |session, text| {
            let bytes = memory_size(text)?;
            session
                .instance
                .set_durability(|d| d.autocheckpoint_bytes = bytes);
            Ok(())
        },
        default: |_| hushdb_storage::DEFAULT_AUTOCHECKPOINT_BYTES.to_string(),
    },
];

/// A number of milliseconds, or of what stands behind it; PostgreSQL's units.
fn duration(name: &str, text: &str) -> Result<Duration> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit());
    let (number, unit) = text.split_at(digits.unwrap_or(text.len()));
    let millis = match unit.trim() {
        "" | "ms" => Some(1),
        "s" => Some(1000),
        "min" => Some(60_000),
        "h" => Some(3_600_000),
        "d" => Some(86_400_000),
        _ => None,
    };
    let number: Option<u64> = number.parse().ok();
    let millis = number.zip(millis).and_then(|(n, unit)| n.checked_mul(unit));
    let millis = millis.filter(|millis| *millis <= i32::MAX as u64);
    millis.map(Duration::from_millis).ok_or_else(|| {
        Error::invalid(format!(
            "{name} is a number of milliseconds up to 2147483647, or one with a unit: ms, s, min, h or d"
        ))
    })
}

/// As [`duration`] reads it.
fn millis(time: Duration) -> String {
    format!("{}ms", time.as_millis())
}

/// Whether plain databases are refused for writing.
pub(super) fn enforces_encryption(session: &Session) -> bool {
    let setting = &session.instance.enforce_encryption;
    setting.load(Ordering::Acquire)
}

fn set_schema(session: &Session, text: &str) -> Result<()> {
    attach::use_database(session, &hushdb_sql::name_in_text(text)?).map(drop)
}

fn default_schema(session: &Session) -> String {
    let database = session.only.as_ref();
    let database = database.unwrap_or(&session.instance.default_database);
    let parts = [database.as_str(), MAIN_SCHEMA];
    parts.map(hushdb_sql::quote).join(".")
}

/// All of them, with the hints that change nothing here.
pub(super) fn settings() -> impl Iterator<Item = &'static Setting> + Clone {
    let (own, hints): (&[Setting], &[Setting]) = (&SETTINGS, &HINTS);
    own.iter().chain(hints)
}

fn setting(name: &str) -> Result<&'static Setting> {
    let name = name.to_lowercase();
    let found = settings().find(|s| s.name == name || s.aliases.contains(&name.as_str()));
    found.ok_or_else(|| match name.as_str() {
        "rekey_after" => Error::invalid(super::databases::data_key_age::OF_A_DATABASE),
        _ => {
            let names = settings().map(|setting| setting.name);
            Error::catalog(format!(
                "unrecognized configuration parameter \"{name}\"\nFROM duckdb_settings() lists those that there are{}",
                offered("\nDid you mean", &like(&name, names))
            ))
        }
    })
}

/// A setting's value now; `None` when there is none of that name.
pub(super) fn value(session: &Session, name: &str) -> Option<String> {
    setting(name).ok().map(|setting| setting.value(session))
}

/// A setting's value now as a literal of its type.
pub(crate) fn literal(session: &Session, name: &str) -> Result<Expr> {
    let setting = setting(name)?;
    let text = setting.value(session);
    Ok(Expr::value(match setting.input_type {
        "BIGINT" => {
            let number = Expr::value(Value::Number(text, false));
            return cast_to(number, &ColumnType::Int64);
        }
        "DOUBLE" => {
            let number = Expr::value(Value::SingleQuotedString(text));
            return cast_to(number, &ColumnType::Double);
        }
        "BOOLEAN" => Value::Boolean(text == "true"),
        _ => Value::SingleQuotedString(text),
    }))
}

pub(super) fn set(session: &Session, name: &str, value: &Expr) -> Result<QueryResult> {
    let setting = setting(name)?;
    confined::check_setting(session, setting.name)?;
    match value {
        Expr::Identifier(ident) if ident.value.eq_ignore_ascii_case("default") => {
            return reset(session, name);
        }
        _ => {}
    }
    let text = plain_text(value).ok_or_else(|| {
        Error::invalid(format!(
            "the value of {} is a text, a number, true or false",
            setting.name
        ))
    })?;
    (setting.set)(session, &text)?;
    Ok(QueryResult::done())
}

pub(super) fn reset(session: &Session, name: &str) -> Result<QueryResult> {
    let setting = setting(name)?;
    confined::check_setting(session, setting.name)?;
    (setting.set)(session, &(setting.default)(session))?;
    Ok(QueryResult::done())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Database;

    #[test]
    fn every_setting_has_its_names_alone_and_can_be_reset() {
        let database = Database::open_in_memory().unwrap();
        let session = Session::new(database.instance, Isolation::default());
        let mut names: Vec<&str> = vec![];
        // Whether a process may dump its core is the system's to say.
        for setting in settings().filter(|s| s.name != "disable_core_dumps") {
            names.push(setting.name);
            names.extend(setting.aliases);
            let before = setting.value(&session);
            reset(&session, setting.name).unwrap();
            assert_eq!(setting.value(&session), before, "{}", setting.name);
            assert!(literal(&session, setting.name).is_ok());
        }
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    #[test]
    fn durations_have_units_and_ends() {
        for (text, millis) in [("0", 0), ("250", 250), ("5s", 5000), (" 2 min ", 120_000)] {
            assert_eq!(duration("x", text).unwrap(), Duration::from_millis(millis));
        }
        for text in [
            "",
            "s",
            "-1",
            "1.5s",
            "1 week",
            "25d",
            "99999999999999999999",
        ] {
            assert!(duration("x", text).is_err(), "{text}");
        }
    }

    #[test]
    fn statements_that_run_keep_their_threads() {
        let database = Database::open_in_memory().unwrap();
        let connection = database.connect().unwrap();
        let mut rows = connection.execute("SELECT * FROM range(100000)").unwrap();
        rows.next().unwrap().unwrap();
        connection.execute("SET threads = 5").unwrap();
        let engine = database.instance.engine();
        assert_eq!(engine.threads, 5);
        let options = &engine.state.config_options().execution;
        assert_eq!(options.target_partitions, 5);
        let rest: usize = rows.map(|batch| batch.unwrap().num_rows()).sum();
        assert!(rest > 0);
        connection.execute("RESET threads").unwrap();
        assert_eq!(
            database.instance.engine().threads,
            database.instance.defaults.threads
        );
    }
}
