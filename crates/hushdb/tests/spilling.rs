//! Queries that outgrow memory: the answers of those that do not, from sealed files that leave nothing behind.

use hushdb::{Connection, Database, DatabaseOptions};

const ROWS: u32 = 800_000;
/// The tables take more as rows.
const LIMIT: &str = "64MB";

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
        // One NULL on the right, none, and no row at all.
        "SELECT count(*) FROM a WHERE k NOT IN (SELECT k FROM b)",
        "SELECT count(*), max(s) FROM a WHERE k NOT IN (SELECT k FROM b WHERE k IS NOT NULL)",
        "SELECT count(*), count(k), max(u) FROM b WHERE k NOT IN (SELECT k FROM a WHERE s = 'none')",
    ];
    let large = [
        "SELECT count(*), sum(a.k) FROM a JOIN b ON a.k = b.k AND a.s < b.u",
        "SELECT count(*), min(n) FROM (SELECT s, count(*) AS n FROM a GROUP BY s)",
        "SELECT count(DISTINCT u) FROM b",
        "SELECT sum(r * g) FROM (SELECT g, row_number() OVER (ORDER BY s DESC) AS r FROM a)",
        // Frames of whole partitions: all rows, a few large partitions, many small ones.
        "SELECT sum(t - k), max(s) FROM (SELECT k, s, sum(k) OVER () AS t FROM a)",
        "SELECT sum(t - k), max(s), min(m) FROM (SELECT k, s, sum(k) OVER w AS t, min(s) OVER w AS m FROM a \
         WINDOW w AS (PARTITION BY g))",
        "SELECT sum(n), max(c), max(s) FROM (SELECT s, ntile(3) OVER w AS n, cume_dist() OVER w AS c FROM a \
         WINDOW w AS (PARTITION BY k // 100 ORDER BY s))",
        // One partition with a value of its own for each row.
        "SELECT sum(n), sum(round(p * 1e6)), sum(round(c * 1e6)), max(s) FROM (SELECT s, ntile(3) OVER w AS n, \
         percent_rank() OVER w AS p, cume_dist() OVER w AS c FROM a WINDOW w AS (ORDER BY g))",
        "SELECT sum(t % 1009 * k), max(l), min(f) FROM (SELECT k, sum(k) OVER w AS t, last_value(s) OVER w AS l, \
         first_value(s) OVER w AS f FROM a WINDOW w AS (ORDER BY s ROWS BETWEEN 3 PRECEDING AND UNBOUNDED FOLLOWING))",
        "SELECT count(*), max(l), sum(t) FROM (SELECT s, last_value(s) OVER w AS l, \
         sum(k) FILTER (WHERE g = 3) OVER w AS t FROM a \
         WINDOW w AS (ORDER BY s ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING))",
        // Rows that wait for the last of their peers.
        "SELECT sum(t % 1009 * k), max(s), max(l) FROM (SELECT k, s, sum(k) OVER w AS t, max(s) OVER w AS l FROM a \
         WINDOW w AS (ORDER BY g // 4))",
        // A heap of so many rows would not fit.
        "SELECT count(*), max(s) FROM (SELECT s FROM a ORDER BY s DESC LIMIT 700000 OFFSET 7)",
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
fn a_window_function_that_needs_very_many_rows_in_memory_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let database = database(directory.path());
    let connection = database.connect().unwrap();
    connection
        .execute(&format!("SET memory_limit = '{LIMIT}'"))
        .unwrap();
    for (sql, why) in [
        (
            "SELECT max(n), max(s) FROM (SELECT s, median(k) OVER (ORDER BY s ROWS BETWEEN 1 PRECEDING AND UNBOUNDED \
             FOLLOWING) AS n FROM a)",
            "median",
        ),
        (
            "SELECT max(n) FROM (SELECT lead(s, 600000) OVER (ORDER BY k) AS n FROM a)",
            "offset",
        ),
    ] {
        let result = connection
            .execute(sql)
            .and_then(hushdb::QueryResult::collect_batches);
        let error = result.unwrap_err();
        assert_eq!(error.kind(), hushdb::ErrorKind::OutOfMemory, "{error}");
        let message = error.to_string();
        assert!(
            message.contains("memory_limit") && message.contains(why),
            "{error}"
        );
        assert_none_left(&connection, sql);
    }
}

#[test]
fn rows_of_the_left_side_that_match_nothing_come_once() {
    let directory = tempfile::tempdir().unwrap();
    let options = DatabaseOptions {
        temp_directory: Some(directory.path().to_path_buf()),
        threads: Some(2),
        row_group_rows: 100,
        ..DatabaseOptions::default()
    };
    let database = Database::open_with(None, options).unwrap();
    let connection = database.connect().unwrap();
    for table in ["l", "r"] {
        let sql = format!("CREATE TABLE {table} AS SELECT i AS k FROM range(1000) t(i)");
        connection.execute(&sql).unwrap();
    }
    let queries = ["LEFT", "FULL", "RIGHT", "INNER"]
        .map(|kind| {
            format!("SELECT count(*), sum(l.k), sum(r.k) FROM l {kind} JOIN r ON l.k + 990 < r.k")
        })
        .into_iter()
        .chain([
            "SELECT count(*) FROM l WHERE EXISTS (SELECT 1 FROM r WHERE r.k > l.k + 990)"
                .to_owned(),
            "SELECT count(*) FROM l WHERE NOT EXISTS (SELECT 1 FROM r WHERE r.k > l.k + 990)"
                .to_owned(),
            "SELECT count(*), sum(l.k * r.k) FROM l, r".to_owned(),
        ]);
    for sql in queries {
        connection
            .execute("SET debug_force_external = false")
            .unwrap();
        let expected = answer(&connection, &sql);
        let before = spilled(&connection);
        connection
            .execute("SET debug_force_external = true")
            .unwrap();
        assert_eq!(answer(&connection, &sql), expected, "{sql}");
        assert_ne!(spilled(&connection), before, "did not spill: {sql}");
    }
}

#[test]
fn rows_that_a_statement_keeps_spill() {
    let directory = tempfile::tempdir().unwrap();
    let database = database(directory.path());
    let connection = database.connect().unwrap();
    for sql in [
        "CREATE TABLE u (k BIGINT PRIMARY KEY, g BIGINT, s VARCHAR)",
        "INSERT INTO u SELECT * FROM a WHERE k % 2 = 0",
    ] {
        connection.execute(sql).unwrap();
    }
    connection
        .execute(&format!("SET memory_limit = '{LIMIT}'"))
        .unwrap();
    let rows_of = |sql: &str| {
        let before = spilled(&connection);
        let result = connection.execute(sql).unwrap();
        let rows: usize = result.map(|batch| batch.unwrap().num_rows()).sum();
        assert_ne!(spilled(&connection), before, "did not spill: {sql}");
        rows
    };
    // Each key twice: the second time it is there, or was in an earlier row.
    let twice = "INSERT INTO u SELECT k, g, s FROM (SELECT * FROM a UNION ALL SELECT * FROM a) ON CONFLICT DO NOTHING RETURNING k, s";
    assert_eq!(rows_of(twice), ROWS as usize / 2);
    let upsert = "INSERT INTO u SELECT k + 1, g + 10, s FROM a ON CONFLICT (k) DO UPDATE SET g = excluded.g, s = s || '!'";
    assert_eq!(rows_of(upsert), 1);
    let values = |sql: &str| {
        let batches = connection.execute(sql).unwrap().collect_batches().unwrap();
        let columns = batches[0].columns().iter();
        let texts = columns.map(|column| hushdb::value_text(column, 0).unwrap());
        texts.collect::<Vec<_>>()
    };
    assert_eq!(
        values(
            "SELECT count(*), count(DISTINCT k), sum(g), count(*) FILTER (WHERE s LIKE '%!') FROM u"
        ),
        values("SELECT count(*) + 1, max(k) + 2, sum(g + 10), count(*) - 1 FROM a"),
    );
    assert_eq!(rows_of("UPDATE u SET g = g + 1 RETURNING *"), 800_001);
    connection.execute("BEGIN").unwrap();
    connection.execute("DELETE FROM u WHERE k = 5").unwrap();
    assert_eq!(rows_of("SELECT * FROM u"), 800_000);
    connection.execute("ROLLBACK").unwrap();
    assert_eq!(rows_of("DELETE FROM u RETURNING s, k"), 800_001);
    assert_none_left(&connection, "DELETE");
}

#[test]
fn a_list_that_outgrows_memory_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let database = database(directory.path());
    let connection = database.connect().unwrap();
    connection.execute("SET memory_limit = '24MB'").unwrap();
    // The places of the texts alone, without them, would fit.
    let list = "SELECT len(list(s)) FROM a";
    let result = connection
        .execute(list)
        .and_then(hushdb::QueryResult::collect_batches);
    let error = result.unwrap_err();
    assert_eq!(error.kind(), hushdb::ErrorKind::OutOfMemory, "{error}");
    connection.execute("SET memory_limit = '200MB'").unwrap();
    let batches = connection.execute(list).unwrap().collect_batches().unwrap();
    let text = hushdb::value_text(batches[0].column(0), 0).unwrap();
    assert_eq!(text, Some(ROWS.to_string()));
}

#[test]
fn explain_analyze_says_what_each_operator_spilled() {
    let directory = tempfile::tempdir().unwrap();
    let database = database(directory.path());
    let connection = database.connect().unwrap();
    connection
        .execute(&format!("SET memory_limit = '{LIMIT}'"))
        .unwrap();
    for (operator, sql) in [
        (
            "HashJoinExec",
            "SELECT count(*), max(s), max(u) FROM a JOIN b ON a.k = b.k",
        ),
        (
            "SortExec",
            "SELECT max(r), max(s) FROM (SELECT s, row_number() OVER (ORDER BY s) AS r FROM a)",
        ),
        (
            "AggregateExec",
            "SELECT count(*) FROM (SELECT s, count(*) FROM a GROUP BY s)",
        ),
        (
            "WindowAggExec",
            "SELECT max(t), max(s) FROM (SELECT s, sum(k) OVER () AS t FROM a)",
        ),
    ] {
        let batches = connection
            .execute(&format!("EXPLAIN ANALYZE {sql}"))
            .unwrap();
        let batches = batches.collect_batches().unwrap();
        let text = hushdb::value_text(batches[0].column(1), 0)
            .unwrap()
            .unwrap();
        let lines = text
            .lines()
            .filter(|line| line.trim_start().starts_with(operator));
        let spilled = lines.filter(|line| {
            let bytes = line.split("spilled_bytes=").nth(1);
            bytes.is_some_and(|bytes| !bytes.starts_with("0.0") && !bytes.starts_with("0 "))
        });
        assert!(spilled.count() > 0, "{operator}: {text}");
    }
}

#[test]
fn a_sort_of_wide_rows_spills_however_little_memory_there_is() {
    let directory = tempfile::tempdir().unwrap();
    let database = database(directory.path());
    let connection = database.connect().unwrap();
    let sorted = "CREATE OR REPLACE TABLE sorted AS SELECT g, s, 'a constant text' AS c FROM a ORDER BY s DESC";
    for limit in ["32MB", "40MB", "64MB"] {
        connection
            .execute(&format!("SET memory_limit = '{limit}'"))
            .unwrap();
        connection.execute(sorted).unwrap();
        let in_order = "SELECT count(*) FROM (SELECT s, lag(s) OVER () AS before FROM sorted) WHERE before < s";
        let none = answer(&connection, "SELECT count(*) FROM a WHERE k < 0");
        assert_eq!(
            answer(&connection, in_order).replace("count_star()", ""),
            none.replace("count_star()", "")
        );
    }
}

#[test]
fn rows_of_small_commits_are_stored_when_they_press_upon_memory() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t.hushdb");
    let database = Database::open_with(Some(&path), DatabaseOptions::default()).unwrap();
    let connection = database.connect().unwrap();
    connection.execute("CREATE TABLE t (s VARCHAR)").unwrap();
    connection.execute("SET synchronous = off").unwrap();
    let row = format!("INSERT INTO t VALUES ('{}')", "x".repeat(10_000));
    let longest = |limit: &str| {
        connection
            .execute(&format!("SET memory_limit = '{limit}'"))
            .unwrap();
        let lengths = (0..800).map(|_| {
            connection.execute(&row).unwrap();
            let files = std::fs::read_dir(directory.path())
                .unwrap()
                .map(Result::unwrap);
            let logs = files.filter(|file| file.path() != path);
            logs.map(|file| file.metadata().unwrap().len())
                .max()
                .unwrap_or(0)
        });
        lengths.max().unwrap_or(0)
    };
    let (little, much) = (longest("16MiB"), longest("1GiB"));
    assert!(little < 3 << 20, "{little}");
    assert!(much > 7 << 20, "{much}");
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

/// Keys of an index that take more than their share are stored part by part.
#[test]
fn an_index_is_made_of_more_keys_than_memory_holds() {
    let directory = tempfile::tempdir().unwrap();
    let database = database(directory.path());
    let connection = database.connect().unwrap();
    connection.execute("SET memory_limit = '16MiB'").unwrap();
    for sql in [
        // Keys in another order than the rows, so that each part goes in between the others.
        "CREATE TABLE c AS SELECT k * 7919 % 800000 AS x, s FROM a",
        "CREATE UNIQUE INDEX by_x ON c(x)",
        "CREATE INDEX by_s ON c(s)",
    ] {
        connection.execute(sql).unwrap();
    }
    let found = "SELECT x, s FROM c WHERE s = 'a text that is not short 654321'";
    let same = "SELECT k * 7919 % 800000 AS x, s FROM a WHERE k = 654321";
    assert_eq!(answer(&connection, found), answer(&connection, same));
    let explained = answer(&connection, &format!("EXPLAIN {found}"));
    assert!(explained.contains("by_s"), "{explained}");
    connection
        .execute("INSERT INTO c VALUES (799999, 'new')")
        .unwrap_err();
    connection
        .execute("INSERT INTO c VALUES (800000, 'new')")
        .unwrap();
    // Equal keys are in the first part and in the last.
    connection
        .execute("CREATE TABLE d AS SELECT k % 799999 AS x FROM a")
        .unwrap();
    let error = connection
        .execute("CREATE UNIQUE INDEX by_y ON d(x)")
        .map(drop);
    let message = error.unwrap_err().to_string();
    assert!(message.contains("duplicates"), "{message}");
}

/// What is temporary takes room among the spill files, under their limit, and gives it back.
#[test]
fn temporary_tables_are_counted_sealed_and_gone_with_their_connection() {
    let directory = tempfile::tempdir().unwrap();
    let database = database(directory.path());
    let other = database.connect().unwrap();
    let connection = database.connect().unwrap();
    connection
        .execute("CREATE TEMP TABLE c AS SELECT k, s FROM a")
        .unwrap();
    let sums = |table: &str| format!("SELECT count(*), sum(k), max(s) FROM {table}");
    connection.execute("SET memory_limit = '16MiB'").unwrap();
    let rows = answer(&connection, &sums("c"));
    connection.execute("SET memory_limit = '4GB'").unwrap();
    assert_eq!(rows, answer(&connection, &sums("a")));
    assert!(other.execute("FROM c").is_err());
    let bytes = answer(&other, "SELECT bytes > 1000000 AS b FROM spill_files()");
    assert!(bytes.contains("true"), "{bytes}");
    // Nothing has a name.
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    connection
        .execute("SET max_temp_directory_size = '1MB'")
        .unwrap();
    let full = connection.execute("CREATE TEMP TABLE d AS SELECT k, s, s || k AS t FROM a");
    let error = full.map(drop).unwrap_err();
    assert!(
        error.to_string().contains("max_temp_directory_size"),
        "{error}"
    );
    assert!(connection.execute("FROM d").is_err());
    drop(connection);
    assert_none_left(&other, "a temporary table");
}
