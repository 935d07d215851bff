//! What results say of their statements: the command, and how many rows.

use hushdb::{Database, ResultKind};

#[test]
fn results_name_their_command() {
    use ResultKind::{Count, Done, Rows};
    let database = Database::open_in_memory().unwrap();
    let connection = database.connect().unwrap();
    let steps = [
        (
            "CREATE TABLE t (i INTEGER PRIMARY KEY, v INTEGER)",
            "CREATE TABLE",
            Done,
        ),
        ("INSERT INTO t VALUES (1, 1), (2, 2)", "INSERT", Count(2)),
        (
            "INSERT INTO t SELECT i, i FROM range(3, 8) r(i)",
            "INSERT",
            Count(5),
        ),
        (
            "INSERT INTO t BY NAME SELECT 1 AS v, 9 AS i",
            "INSERT",
            Count(1),
        ),
        ("UPDATE t SET v = 3 WHERE i = 1", "UPDATE", Count(1)),
        ("UPDATE t SET v = v + 1", "UPDATE", Count(8)),
        ("DELETE FROM t WHERE i = 2", "DELETE", Count(1)),
        ("DELETE FROM t WHERE v > 100 RETURNING i", "DELETE", Rows),
        ("SELECT * FROM t WHERE i = 3", "SELECT", Rows),
        ("FROM t", "SELECT", Rows),
        ("VALUES (1)", "SELECT", Rows),
        ("CREATE TABLE u AS FROM t", "SELECT", Count(7)),
        ("CREATE VIEW w AS FROM t", "CREATE VIEW", Done),
        ("CREATE INDEX x ON t (v)", "CREATE INDEX", Done),
        ("ALTER TABLE u ADD COLUMN c INTEGER", "ALTER TABLE", Done),
        ("PREPARE p AS INSERT INTO t VALUES ($1, 0)", "PREPARE", Done),
        ("EXECUTE p(20)", "INSERT", Count(1)),
        ("DEALLOCATE p", "DEALLOCATE", Done),
        ("EXPLAIN FROM t", "EXPLAIN", Rows),
        ("BEGIN", "BEGIN", Done),
        ("SAVEPOINT s", "SAVEPOINT", Done),
        ("ROLLBACK TO s", "ROLLBACK", Done),
        ("RELEASE s", "RELEASE", Done),
        ("COMMIT", "COMMIT", Done),
        ("SET threads = 2", "SET", Done),
        ("RESET threads", "RESET", Done),
        ("SHOW TABLES", "SHOW", Rows),
        ("DESCRIBE t", "DESCRIBE", Rows),
        ("CHECKPOINT", "CHECKPOINT", Done),
        ("TRUNCATE u", "TRUNCATE TABLE", Count(7)),
        ("DROP VIEW w", "DROP VIEW", Done),
    ];
    for (sql, command, kind) in steps {
        let result = connection.execute(sql).unwrap();
        assert_eq!((result.command(), result.kind()), (command, kind), "{sql}");
    }
}

#[test]
fn connections_have_their_own_notices() {
    let database = Database::open_in_memory().unwrap();
    let (one, other) = (database.connect().unwrap(), database.connect().unwrap());
    one.execute("LOAD icu").unwrap();
    assert!(other.take_notices().is_empty() && database.take_notices().is_empty());
    assert_eq!(one.take_notices().len(), 1);
    assert!(one.take_notices().is_empty());
}

#[test]
fn copy_says_what_the_footers_of_its_files_say() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.parquet").display().to_string();
    let database = Database::open_in_memory().unwrap();
    let connection = database.connect().unwrap();
    let rows = "SELECT range AS i, CASE WHEN range % 3 = 0 THEN NULL ELSE 's' || range END AS s FROM range(10)";
    let copy = format!("COPY ({rows}) TO '{path}' (ROW_GROUP_SIZE 4, RETURN_STATS)");
    let batches = connection
        .execute(&copy)
        .unwrap()
        .collect_batches()
        .unwrap();
    let shown = arrow::util::pretty::pretty_format_batches(&batches);
    let shown = shown.unwrap().to_string();
    for (column, facts) in [
        ("\"i\"", "max: 9, min: 0, null_count: 0, num_values: 10"),
        ("\"s\"", "max: s8, min: s1, null_count: 4, num_values: 10"),
    ] {
        let of_column = shown.split_once(&format!("{column}: {{"));
        let (_, of_column) = of_column.unwrap_or_else(|| panic!("{column} in {shown}"));
        assert!(of_column.contains(facts), "{column} in {shown}");
    }
}
