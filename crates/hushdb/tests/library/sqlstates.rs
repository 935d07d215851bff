//! The SQLSTATEs of errors: those that PostgreSQL gives for the same mistake (appendix A of its manual).

use hushdb::Database;

#[test]
fn each_mistake_has_the_state_that_programs_know() {
    let connection = Database::open_in_memory().unwrap().connect().unwrap();
    connection
        .execute("CREATE TABLE t (k INTEGER PRIMARY KEY, c INTEGER NOT NULL CHECK (c > 0)); CREATE VIEW v AS FROM t")
        .unwrap();
    for (sql, state) in [
        ("SELEC 1", "42601"),
        ("SELECT * FROM missing", "42P01"),
        ("DROP VIEW missing", "42P01"),
        ("INSERT INTO missing VALUES (1)", "42P01"),
        ("INSERT INTO v VALUES (1)", "42809"),
        ("SELECT * FROM no_schema.t", "3F000"),
        ("SELECT * FROM no_database.main.t", "3D000"),
        ("SELECT missing FROM t", "42703"),
        ("UPDATE t SET missing = 1", "42703"),
        ("SELECT k FROM t a, t b", "42702"),
        ("SELECT missing(1)", "42883"),
        ("SELECT abs(1, 2, 3)", "42883"),
        ("SELECT * FROM missing(1)", "42883"),
        ("SELECT 1::missing", "42704"),
        ("DROP INDEX missing", "42704"),
        ("SET missing = 1", "42704"),
        ("CREATE TABLE t (a INTEGER)", "42P07"),
        ("CREATE VIEW t AS SELECT 1", "42P07"),
        ("CREATE SCHEMA main", "42P06"),
        ("CREATE TABLE u (a INTEGER, a INTEGER)", "42701"),
        ("SELECT c, sum(k) FROM t GROUP BY k", "42803"),
        ("SELECT sum(sum(k)) FROM t", "42803"),
        ("SELECT 'a'::INTEGER", "22P02"),
        ("SELECT 2147483647::INTEGER + 1::INTEGER", "22003"),
        ("SELECT chr(-1)", "22023"),
        ("INSERT INTO t VALUES (1, NULL)", "23502"),
        ("INSERT INTO t VALUES (1, -1)", "23514"),
        ("INSERT INTO t VALUES (1, 1), (1, 2)", "23505"),
        ("EXECUTE missing", "26000"),
        ("DEALLOCATE missing", "26000"),
        ("COMMIT", "25P01"),
        ("BEGIN; BEGIN", "25001"),
        ("SELECT 1", "25P02"),
        (
            "ROLLBACK; BEGIN READ ONLY; INSERT INTO t VALUES (2, 2)",
            "25006",
        ),
        ("ROLLBACK; BEGIN; ROLLBACK TO SAVEPOINT missing", "3B001"),
        ("ROLLBACK; DETACH missing", "3D000"),
        ("COPY (SELECT 1) TO '/missing/file.csv'", "58030"),
    ] {
        let error = connection
            .execute(sql)
            .and_then(|result| result.collect_batches());
        let error = error.expect_err(sql);
        assert_eq!(error.sqlstate(), state, "{sql}: {error}");
    }
}
