//! What a session may do where statements may not reach outside of its database: see `DatabaseOptions::external_access`.
//!
//! What must hold: an allow-list. A statement, function or setting that is new is refused until somebody decides otherwise: the match
//! over statements has no arm for the rest.

use crate::session::Session;
use hushdb_sql::{Error, ErrorKind, ROWS_OF, Result, Statement as Parsed, sqlstate};

/// Table functions that show nothing but the session's database, or nothing of any.
const FUNCTIONS: [&str; 26] = [
    ROWS_OF,
    "range",
    "generate_series",
    "database_anchor",
    "databases",
    "duckdb_databases",
    "duckdb_dependencies",
    "duckdb_functions",
    "duckdb_schemas",
    "duckdb_tables",
    "duckdb_types",
    "duckdb_views",
    "duckdb_sequences",
    "duckdb_columns",
    "duckdb_indexes",
    "duckdb_constraints",
    "pragma_table_info",
    "table_info",
    "pg_get_keywords",
    "duckdb_variables",
    "pragma_version",
    "duckdb_extensions",
    "duckdb_secrets",
    "pg_timezone_names",
    "pragma_collations",
    "locks",
];

/// Settings that a session has for itself.
const SETTINGS: [&str; 11] = [
    "default_null_order",
    "default_order",
    "default_transaction_isolation",
    "enable_progress_bar",
    "explain_output",
    "lock_timeout",
    "scalar_subquery_error_on_multiple_rows",
    "schema",
    "search_path",
    "sql_dialect",
    "timezone",
];

/// # Errors
/// `InvalidInput` with SQLSTATE 42501 for a statement that reaches outside.
pub(super) fn check(session: &Session, parsed: &Parsed) -> Result<()> {
    if session.instance.external_access {
        return Ok(());
    }
    let what = match parsed {
        Parsed::Explain { statement, .. } => return check(session, statement),
        // `run_sql` is the allow-list of these.
        Parsed::Sql(_)
        | Parsed::InsertByName(_)
        | Parsed::Merge(_)
        | Parsed::Prepare { .. }
        | Parsed::Use(_)
        | Parsed::Set { .. }
        | Parsed::Reset(_)
        | Parsed::SetVariable { .. }
        | Parsed::ResetVariable(_)
        | Parsed::RenameView { .. }
        | Parsed::CreateSequence(_)
        | Parsed::CreateMacro(_)
        | Parsed::DropMacro(_)
        | Parsed::CreateType(_)
        | Parsed::ReplaceSchema(_)
        | Parsed::DropType { .. }
        | Parsed::AlterSequence(_)
        | Parsed::Comment(_)
        | Parsed::Summarize(_)
        | Parsed::Describe(_)
        | Parsed::ShowTables(_)
        | Parsed::ShowDatabases
        | Parsed::Show(_)
        | Parsed::Checkpoint(_)
        | Parsed::Vacuum(_)
        | Parsed::Analyze(..)
        | Parsed::Transaction(_) => return Ok(()),
        Parsed::Attach { .. } => "ATTACH",
        Parsed::Detach { .. } => "DETACH",
        // Places of keys are files, programs and services of the host.
        Parsed::AlterDatabase { .. } => "ALTER DATABASE",
        Parsed::Call { .. } => "CALL",
        Parsed::Pragma(_) => "PRAGMA",
        Parsed::CopyFrom { .. } => "COPY FROM a file",
        Parsed::CopyTo { .. } => "COPY TO a file",
        Parsed::CopyDatabase { .. } => "COPY FROM DATABASE",
        Parsed::ExportDatabase { .. } => "EXPORT DATABASE",
        Parsed::ImportDatabase(_) => "IMPORT DATABASE",
        Parsed::Extension(_) => "INSTALL and LOAD",
    };
    Err(refused(what))
}

/// # Errors
/// As `check`, for a function in FROM.
pub(super) fn check_function(session: &Session, name: &str) -> Result<()> {
    match session.instance.external_access || FUNCTIONS.contains(&name) {
        true => Ok(()),
        false => Err(refused(name)),
    }
}

/// # Errors
/// As `check`, for a setting that is changed.
pub(super) fn check_setting(session: &Session, name: &str) -> Result<()> {
    match session.instance.external_access || SETTINGS.contains(&name) {
        true => Ok(()),
        false => Err(refused(&format!("the setting {name}"))),
    }
}

fn refused(what: &str) -> Error {
    Error::new(
        ErrorKind::InvalidInput,
        format!(
            "permission denied: {what} reaches outside of this database, which this server does not allow; do it on the host with hush"
        ),
    )
    .with_sqlstate(sqlstate::INSUFFICIENT_PRIVILEGE)
}

#[cfg(test)]
mod tests {
    use crate::{Database, DatabaseOptions, Isolation};

    #[test]
    fn nothing_outside_is_reached() {
        let options = DatabaseOptions {
            external_access: false,
            ..DatabaseOptions::default()
        };
        let database = Database::open_with(None, options).unwrap();
        let connection = database
            .connect_to("memory", "main", Isolation::default())
            .unwrap();
        for refused in [
            "ATTACH 'x.hushdb' AS x",
            "COPY (SELECT 1) TO 'x.csv'",
            "EXPORT DATABASE 'x'",
            "IMPORT DATABASE 'x'",
            "SELECT * FROM read_csv('/etc/passwd')",
            "SELECT * FROM read_json('/etc/passwd')",
            "SELECT * FROM read_parquet('/etc/passwd')",
            "SELECT * FROM read_text('/etc/passwd')",
            "SELECT * FROM read_blob('/etc/passwd')",
            "SELECT * FROM glob('/etc/*')",
            "SELECT * FROM parquet_schema('/etc/passwd')",
            "FROM spill_files()",
            "CALL dbgen(sf = 0.01)",
            "PRAGMA disable_checkpoint_on_shutdown",
            "SET temp_directory = '/tmp'",
            "SET enforce_encryption = false",
            "RESET synchronous",
            "INSTALL httpfs",
            "EXPLAIN SELECT * FROM read_csv('/etc/passwd')",
            "CREATE VIEW v AS SELECT * FROM read_csv('/etc/passwd')",
        ] {
            let error = connection.execute(refused).unwrap_err();
            assert_eq!(error.sqlstate(), "42501", "{refused}: {error}");
        }
        let error = connection.execute("FROM 'data.csv'").unwrap_err();
        assert_eq!(error.sqlstate(), "42P01", "{error}");
    }

    #[test]
    fn a_session_of_one_database_sees_no_other() {
        let database = Database::open_in_memory().unwrap();
        for name in ["a", "b"] {
            let path = std::path::Path::new(":memory:");
            database.attach(path, name, &Default::default()).unwrap();
        }
        let connection = database
            .connect_to("a", "main", Isolation::default())
            .unwrap();
        connection
            .execute("CREATE TEMP TABLE own AS SELECT 1 AS a; CREATE TEMP VIEW sees AS FROM own; FROM sees")
            .unwrap();
        for seen in [
            "SELECT * FROM b.main.t",
            "CREATE TABLE b.main.t (i INT)",
            "USE b",
            "CHECKPOINT b",
        ] {
            assert!(connection.execute(seen).is_err(), "{seen}");
        }
        let count = |sql: &str| {
            let rows = connection.execute(sql).unwrap().collect_batches().unwrap();
            rows.iter().map(|rows| rows.num_rows()).sum::<usize>()
        };
        assert_eq!(count("SHOW DATABASES"), 1);
        assert_eq!(count("FROM duckdb_databases()"), 1);
        assert!(
            database
                .connect_to("c", "main", Isolation::default())
                .is_err()
        );
        database.detach("b").unwrap();
        assert!(
            database
                .connect_to("b", "main", Isolation::default())
                .is_err()
        );
    }
}
