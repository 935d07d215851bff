//! Queries that outgrow memory: the answers of those that do not, from sealed files that leave nothing behind.

use hushdb::{Connection, Database, DatabaseOptions};

const ROWS: u32 = 800_000;
/// Of each table alone, as rows, there is more.
const LIMIT: &str = "48MB";

fn database(directory: &std::path::Path) -> Database {
    let options = DatabaseOptions {
        temp_directory: Some(directory.to_path_buf()),
        threads: Some(2),
        ..DatabaseOptions::default()
    };
    let database = Database::open_with(None, options).unwrap();
    let connection = database.connect().unwrap();
    for sql in [
        format!(
            "CREATE TABLE a AS SELECT i AS k, i % 7 AS g, 'a text that is not short ' || i AS s FROM range({ROWS}) t(i)"
        ),
        format!(
            "CREATE TABLE b AS SELECT CASE WHEN i % 11 = 0 THEN NULL ELSE i * 2 END AS k, 'another text ' || i AS u \
             FROM range({ROWS}) t(i)"
        ),
    ] {
        connection.execute(&sql).unwrap();
    }
    database
}

fn answer(connection: &Connection, sql: &str) -> String {
    let batches = connection.execute(sql).unwrap().collect_batches().unwrap();
    format!("{batches:?}")
}

fn spilled(connection: &Connection) -> String {
    answer(connection, "SELECT written_bytes FROM spill_files()")
}

/// Waits for the tasks of the last query, which give their files back when they are dropped.
fn assert_none_left(connection: &Connection, sql: &str) {
    let left = "SELECT count(*) FROM spill_files() WHERE files + bytes = 0";
    let none = answer(connection, "SELECT count(*) FROM range(1)");
    for _ in 0..500 {
        if answer(connection, left) == none {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("spill files are left: {sql}");
}

#[test]
fn queries_that_spill_have_the_same_answers() {
    let directory = tempfile::tempdir().unwrap();
    let database = database(directory.path());
    let connection = database.connect().unwrap();
    let joined = |kind: &str| {
        format!(
            "SELECT count(*), sum(a.k), sum(b.k), min(s), max(u) FROM a {kind} JOIN b ON a.k = b.k"
        )
    };
    // Keys alone may fit.
    let small = [
        "SELECT count(*), sum(k) FROM a WHERE k IN (SELECT k FROM b WHERE u > 'another text 1')",
        "SELECT count(*), sum(k), max(s) FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE b.k = a.k)",
    ];
    let large = [
        "SELECT count(*), sum(a.k) FROM a JOIN b ON a.k = b.k AND a.s < b.u",
        "SELECT count(*), min(n) FROM (SELECT s, count(*) AS n FROM a GROUP BY s)",
        "SELECT count(DISTINCT u) FROM b",
        "SELECT sum(r * g) FROM (SELECT g, row_number() OVER (ORDER BY s DESC) AS r FROM a)",
    ];
    let joins = ["INNER", "LEFT", "RIGHT", "FULL"].map(joined);
    let large = joins.into_iter().chain(large.map(String::from));
    let small = small.map(|sql| (sql.to_owned(), false));
    for (sql, must_spill) in large.map(|sql| (sql, true)).chain(small) {
        connection.execute("SET memory_limit = '4GB'").unwrap();
        let expected = answer(&connection, &sql);
        let before = spilled(&connection);
        connection
            .execute(&format!("SET memory_limit = '{LIMIT}'"))
            .unwrap();
        assert_eq!(answer(&connection, &sql), expected, "{sql}");
        assert!(
            !must_spill || spilled(&connection) != before,
            "did not spill: {sql}"
        );
        assert_none_left(&connection, &sql);
    }
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn the_limit_of_temporary_files_is_an_error_that_leaves_none() {
    let directory = tempfile::tempdir().unwrap();
    let database = database(directory.path());
    let connection = database.connect().unwrap();
    connection
        .execute(&format!("SET memory_limit = '{LIMIT}'"))
        .unwrap();
    connection
        .execute("SET max_temp_directory_size = '1MB'")
        .unwrap();
    let sql = "SELECT count(*) FROM (SELECT DISTINCT s FROM a)";
    let error = match connection.execute(sql) {
        Err(error) => error,
        Ok(result) => result.collect_batches().unwrap_err(),
    };
    assert_eq!(error.kind(), hushdb::ErrorKind::Full, "{error}");
    assert!(
        error.to_string().contains("max_temp_directory_size"),
        "{error}"
    );
    assert_none_left(&connection, sql);
}

#[test]
fn a_plaintext_temporary_file_cannot_be_had() {
    let database = Database::open_in_memory().unwrap();
    let connection = database.connect().unwrap();
    connection
        .execute("SET temp_file_encryption = true")
        .unwrap();
    assert!(
        connection
            .execute("SET temp_file_encryption = false")
            .is_err()
    );
    for name in [
        "datafusion.runtime.temp_directory",
        "datafusion.runtime.max_temp_directory_size",
        "datafusion.runtime.memory_limit",
    ] {
        assert!(connection.execute(&format!("SET {name} = '/tmp'")).is_err());
        assert!(connection.execute(&format!("RESET {name}")).is_err());
    }
}
