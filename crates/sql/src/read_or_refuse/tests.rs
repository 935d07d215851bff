//! Statements that must be read, and those that must be refused with the word that the error names.

use super::super::parse;

/// Statements that say more than is read, and the word by which they are refused.
const REFUSED: &[(&str, &str)] = &[
    ("SELECT * FROM t FETCH FIRST 1 ROW WITH TIES", "FETCH"),
    ("CREATE TABLE u AS SELECT * FROM t FOR UPDATE", "FOR UPDATE"),
    ("COPY (SELECT * FROM t FOR SHARE) TO 'f'", "FOR UPDATE"),
    ("EXPLAIN SELECT * FROM t FOR UPDATE", "FOR UPDATE"),
    (
        "SELECT * FROM t FOR UPDATE FOR SHARE",
        "more than one locking clause",
    ),
    ("SELECT * FROM a JOIN b", "CROSS JOIN"),
    ("SELECT * FROM a LEFT JOIN b", "CROSS JOIN"),
    ("SELECT * FROM a CROSS APPLY b", "APPLY"),
    ("SELECT TOP 1 * FROM t", "TOP"),
    ("SELECT 1 INTO t", "INTO"),
    ("SELECT a FROM t SORT BY a", "SORT BY"),
    ("SELECT a FROM t CLUSTER BY a", "CLUSTER BY"),
    ("SELECT a FROM t DISTRIBUTE BY a", "DISTRIBUTE BY"),
    ("SELECT 1 EXCEPT BY NAME SELECT 1", "BY NAME"),
    ("SELECT trim('abc', 'a', 'c')", "trim"),
    ("SELECT floor(a TO day) FROM t", "FLOOR"),
    ("SELECT a RLIKE 'b' FROM t", "RLIKE"),
    ("SELECT CAST('1' AS INTEGER FORMAT 'x')", "FORMAT"),
    ("SELECT f(DISTINCT a LIMIT 1) FROM t", "LIMIT"),
    ("SELECT * FROM t AS u(a INTEGER)", "a type in the columns"),
    ("INSERT OVERWRITE t SELECT 1", "OVERWRITE"),
    ("UPDATE t AS u(x) SET a = 1", "names of the columns"),
    ("DELETE FROM t AS u(x) WHERE x = 1", "names of the columns"),
    ("TRUNCATE TABLE t CASCADE", "CASCADE"),
    ("TRUNCATE TABLE ONLY t", "ONLY"),
    (
        "CREATE TABLE t (a INTEGER) WITH (x = 1)",
        "options of a table",
    ),
    (
        "CREATE TABLE t (a INTEGER) COMMENT = 'x'",
        "options of a table",
    ),
    ("CREATE TABLE t (a INTEGER) INHERITS (u)", "INHERITS"),
    ("CREATE TABLE t (a INTEGER) ON COMMIT DROP", "ON COMMIT"),
    (
        "CREATE TABLE t (a INTEGER CHECK (a > 0) NOT ENFORCED)",
        "ENFORCED",
    ),
    (
        "CREATE TABLE t (a INTEGER PRIMARY KEY DEFERRABLE)",
        "DEFERRABLE",
    ),
    (
        "CREATE TABLE t (a INTEGER, UNIQUE (a) DEFERRABLE)",
        "DEFERRABLE",
    ),
    (
        "CREATE VIEW v WITH (x = 1) AS SELECT 1",
        "options of a view",
    ),
    ("CREATE SCHEMA AUTHORIZATION me", "AUTHORIZATION"),
    ("ALTER TABLE ONLY t RENAME TO u", "ONLY"),
    ("ALTER TABLE t ADD COLUMN a INTEGER FIRST", "FIRST"),
    ("ALTER TABLE t DROP CONSTRAINT a CASCADE", "CASCADE"),
    (
        "ALTER TABLE t ADD CONSTRAINT c CHECK (a > 0) NOT VALID",
        "NOT VALID",
    ),
    ("DROP TABLE t PURGE", "PURGE"),
];

#[test]
fn what_nothing_reads_is_refused_by_name() {
    let wrong = REFUSED.iter().filter_map(|(sql, word)| match parse(sql) {
        Ok(_) => Some(format!("accepted: {sql}")),
        Err(error) if error.to_string().contains(word) => None,
        Err(error) => Some(format!("{sql}: {error}")),
    });
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_is_read_is_not_refused() {
    for sql in [
        "WITH RECURSIVE a AS (SELECT 1 AS x UNION ALL SELECT x + 1 FROM a) SELECT DISTINCT ON (x) * FROM a",
        "SELECT * EXCLUDE (a) REPLACE (1 AS b), t.*, f(*), count(DISTINCT x ORDER BY y) FILTER (WHERE z) FROM t",
        "SELECT sum(a) OVER (PARTITION BY b ORDER BY c DESC NULLS LAST ROWS 1 PRECEDING) FROM t",
        "FROM a SEMI JOIN b USING (x), LATERAL (SELECT 1), unnest([1]) AS u(x) ORDER BY ALL LIMIT 1 OFFSET 2",
        "SELECT a FROM positional, t positional WHERE a LIKE 'x' ESCAPE '!' AND b BETWEEN 1 AND 2",
        "INSERT OR REPLACE INTO t (a) VALUES (1) RETURNING *",
        "UPDATE t AS u SET a = 1 FROM v WHERE u.a = v.a RETURNING a",
        "CREATE OR REPLACE TABLE t (a INTEGER DEFAULT 1 CHECK (a > 0) NOT NULL, PRIMARY KEY (a), UNIQUE (a))",
        "CREATE UNIQUE INDEX i ON t (a)",
        "ALTER TABLE t ALTER COLUMN a SET DATA TYPE VARCHAR USING a || 'x'",
    ] {
        if let Err(error) = parse(sql) {
            panic!("{sql}: {error}");
        }
    }
}
