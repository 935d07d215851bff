//! What the engine refuses, a test each: the error's kind, that nothing was changed, and that no key is in its text.

use hushdb::{Database, Error, ErrorKind};
use std::path::PathBuf;

const KEY: &str = "hex:5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a";
const OTHER_KEY: &str = "hex:a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5";
/// Parts of all key texts here, which no error may repeat.
const SECRETS: [&str; 3] = ["5a5a", "a5a5", "sesame"];

/// A database in memory and a connection to it, with an empty directory for files.
struct Bench {
    connection: hushdb::Connection,
    directory: tempfile::TempDir,
}

impl Bench {
    fn new() -> Self {
        Self {
            connection: Database::open_in_memory().unwrap().connect().unwrap(),
            directory: tempfile::tempdir().unwrap(),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// ATTACH of a file in the directory, the options as SQL text.
    fn attach(&self, file: &str, name: &str, options: &str) -> String {
        format!("ATTACH '{}' AS {name} {options}", self.path(file).display())
    }

    fn run(&self, sql: &str) {
        if let Err(error) = self.connection.execute(sql) {
            panic!("{sql}\n{error}");
        }
    }

    /// Makes a file with one table and lets go of it.
    fn file(&self, file: &str, options: &str) {
        self.run(&self.attach(file, "made", options));
        self.run("CREATE TABLE made.t AS SELECT 42 AS a");
        self.run("DETACH made");
    }

    /// The error of a statement; it must not repeat a key.
    fn refusal(&self, sql: &str) -> Error {
        let result = self
            .connection
            .execute(sql)
            .and_then(hushdb::QueryResult::collect_batches);
        let Err(error) = result else {
            panic!("accepted: {sql}")
        };
        let told = format!("{error} {error:?}").to_lowercase();
        for secret in SECRETS {
            assert!(!told.contains(secret), "{sql}\n{told}");
        }
        error
    }

    fn refuses(&self, sql: &str, kind: ErrorKind) -> String {
        let error = self.refusal(sql);
        assert_eq!(error.kind(), kind, "{sql}\n{error}");
        error.to_string()
    }

    fn text(&self, sql: &str) -> String {
        let batches = self.connection.execute(sql).unwrap().collect_batches();
        let batch = batches.unwrap().remove(0);
        hushdb::value_text(batch.column(0), 0)
            .unwrap()
            .unwrap_or_else(|| "NULL".into())
    }
}

fn with_key(key: &str) -> String {
    format!("(ENCRYPTION_KEY '{key}')")
}

#[test]
fn wrong_key() {
    let bench = Bench::new();
    bench.file("f.db", &with_key(KEY));
    for key in [OTHER_KEY, "pass:open sesame", "open sesame"] {
        let sql = bench.attach("f.db", "f", &with_key(key));
        let text = bench.refuses(&sql, ErrorKind::WrongKey);
        // The title says it; the sentence does not say it again.
        assert_eq!(
            text.to_lowercase().matches("wrong key").count(),
            1,
            "{text}"
        );
    }
    bench.run(&bench.attach("f.db", "f", &with_key(KEY)));
}

#[test]
fn key_missing() {
    let bench = Bench::new();
    bench.file("f.db", &with_key(KEY));
    bench.refuses(&bench.attach("f.db", "f", ""), ErrorKind::KeyRequired);
}

#[test]
fn key_for_a_plain_file() {
    let bench = Bench::new();
    bench.file("f.db", "");
    let sql = bench.attach("f.db", "f", &with_key(KEY));
    bench.refuses(&sql, ErrorKind::NotEncrypted);
}

#[test]
fn malformed_key() {
    let bench = Bench::new();
    bench.file("f.db", &with_key(KEY));
    let short = format!("hex:{}", "5a".repeat(31));
    let long = format!("hex:{}", "5a".repeat(33));
    let base64_of_31 = format!("base64:{}sesame==", "A".repeat(36));
    for key in [
        short.as_str(),
        &long,
        &KEY.replace("5a5", "5z5"),
        &base64_of_31,
        "hex:sesame",
        "base64:!!sesame",
        "hex:",
        "base64:",
        "pass:",
        "",
    ] {
        let sql = bench.attach("f.db", "f", &with_key(key));
        let text = bench.refuses(&sql, ErrorKind::MalformedKey);
        assert!(
            text.to_lowercase().matches("malformed key").count() == 1,
            "{text}"
        );
        let sql = bench.attach("fresh.db", "f", &with_key(key));
        bench.refuses(&sql, ErrorKind::MalformedKey);
        assert!(!bench.path("fresh.db").exists(), "{key}");
    }
    bench.run(&bench.attach("fresh.db", "fresh", &with_key(KEY)));
}

#[test]
fn not_a_hushdb_file() {
    let bench = Bench::new();
    for bytes in [vec![], b"a,b\n1,2\n".to_vec(), vec![b'x'; 100_000]] {
        std::fs::write(bench.path("f.db"), &bytes).unwrap();
        for options in ["", &with_key(KEY)] {
            let sql = bench.attach("f.db", "f", options);
            let text = bench.refuses(&sql, ErrorKind::InvalidInput);
            assert!(text.contains("not a HushDB file"), "{text}");
        }
        assert_eq!(std::fs::read(bench.path("f.db")).unwrap(), bytes);
    }
}

/// CRC-32C, bit by bit.
fn crc32c(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            (crc >> 1) ^ (0x82f6_3b78 * (crc & 1))
        })
    })
}

#[test]
fn newer_format() {
    let bench = Bench::new();
    for options in ["", &with_key(KEY)] {
        bench.file("f.db", options);
        let mut bytes = std::fs::read(bench.path("f.db")).unwrap();
        for copy in [0, 16_384] {
            // FORMAT.md "File header": version at 8, CRC of what is before it at 4060.
            let page = &mut bytes[copy..copy + 4096];
            assert_eq!(page[4060..4064], crc32c(&page[..4060]).to_le_bytes());
            page[8..10].copy_from_slice(&77u16.to_le_bytes());
            let crc = crc32c(&page[..4060]);
            page[4060..4064].copy_from_slice(&crc.to_le_bytes());
        }
        std::fs::write(bench.path("f.db"), &bytes).unwrap();
        let sql = bench.attach("f.db", "f", options);
        let text = bench.refuses(&sql, ErrorKind::Unsupported);
        assert!(text.contains("77"), "{text}");
        assert_eq!(std::fs::read(bench.path("f.db")).unwrap(), bytes);
        std::fs::remove_file(bench.path("f.db")).unwrap();
    }
}

#[test]
fn truncated_file() {
    let bench = Bench::new();
    for options in ["", &with_key(KEY)] {
        bench.file("f.db", options);
        let bytes = std::fs::read(bench.path("f.db")).unwrap();
        for len in [bytes.len() - 1, bytes.len() - 4096, 65_536, 40_000, 100] {
            std::fs::write(bench.path("f.db"), &bytes[..len]).unwrap();
            let sql = bench.attach("f.db", "f", options);
            let text = bench.refuses(&sql, ErrorKind::Corrupted);
            assert!(text.contains("cut off"), "{len}: {text}");
            assert_eq!(
                std::fs::metadata(bench.path("f.db")).unwrap().len(),
                len as u64
            );
        }
        std::fs::remove_file(bench.path("f.db")).unwrap();
    }
}

#[test]
fn second_attach_of_one_file() {
    let bench = Bench::new();
    bench.run(&bench.attach("f.db", "one", ""));
    bench.refuses(&bench.attach("f.db", "two", ""), ErrorKind::Busy);
    bench.refuses(&bench.attach("f.db", "two", "(READ_ONLY)"), ErrorKind::Busy);
    std::os::unix::fs::symlink(bench.path("f.db"), bench.path("linked.db")).unwrap();
    bench.refuses(&bench.attach("linked.db", "two", ""), ErrorKind::Busy);
}

#[test]
fn writes_to_a_read_only_database() {
    let bench = Bench::new();
    bench.file("f.db", &with_key(KEY));
    let before = std::fs::read(bench.path("f.db")).unwrap();
    let options = format!("(ENCRYPTION_KEY '{KEY}', READ_ONLY)");
    bench.run(&bench.attach("f.db", "f", &options));
    for sql in [
        "INSERT INTO f.t VALUES (1)",
        "UPDATE f.t SET a = 1",
        "DELETE FROM f.t",
        "TRUNCATE TABLE f.t",
        "CREATE TABLE f.u (a INTEGER)",
        "CREATE TABLE f.u AS SELECT 1 AS a",
        "CREATE VIEW f.v AS SELECT 1 AS a",
        "CREATE SCHEMA f.s",
        "ALTER TABLE f.t ADD COLUMN b INTEGER",
        "DROP TABLE f.t",
    ] {
        bench.refuses(sql, ErrorKind::InvalidInput);
    }
    assert_eq!(bench.text("SELECT a FROM f.t"), "42");
    assert_eq!(std::fs::read(bench.path("f.db")).unwrap(), before);
}

#[test]
fn unknown_cipher() {
    let bench = Bench::new();
    let options = format!("(ENCRYPTION_KEY '{KEY}', ENCRYPTION_CIPHER 'ROT13')");
    let sql = bench.attach("f.db", "f", &options);
    bench.refuses(&sql, ErrorKind::InvalidInput);
    assert!(!bench.path("f.db").exists());
}

#[test]
fn another_cipher_than_the_files() {
    for (cipher, other) in [("GCM", "CTR"), ("CTR", "GCM")] {
        let bench = Bench::new();
        let attach = |cipher| {
            let options = format!("(ENCRYPTION_KEY '{KEY}', ENCRYPTION_CIPHER '{cipher}')");
            bench.attach("f.db", "f", &options)
        };
        bench.run(&attach(cipher));
        bench.run("DETACH f");
        let text = bench.refuses(&attach(other), ErrorKind::InvalidInput);
        assert!(text.contains("CTR") && text.contains("GCM"), "{text}");
        bench.run(&attach(cipher));
    }
}

/// Statements over a name that is taken: each gives something that the attached database does not have.
#[test]
fn attach_over_a_name_checks_what_is_given() {
    let bench = Bench::new();
    bench.file("f.db", &with_key(KEY));
    bench.file("g.db", &with_key(KEY));
    bench.run(&bench.attach("f.db", "f", &with_key(KEY)));
    let early = bench.text("SELECT anchor FROM database_anchor('f')");
    bench.run("INSERT INTO f.t VALUES (43)");
    let anchor = bench.text("SELECT anchor FROM database_anchor('f')");
    bench.run(&bench.attach("g.db", "g", &with_key(KEY)));
    let foreign = bench.text("SELECT anchor FROM database_anchor('g')");
    bench.run("DETACH g");
    let ahead = anchor.replacen(
        &format!(":{}:", anchor.split(':').nth(2).unwrap()),
        ":99:",
        1,
    );
    for how in ["IF NOT EXISTS", "OR REPLACE"] {
        let attach = |file: &str, options: &str| match how {
            "OR REPLACE" => {
                bench
                    .attach(file, "f", options)
                    .replacen("ATTACH", "ATTACH OR REPLACE", 1)
            }
            _ => bench
                .attach(file, "f", options)
                .replacen("ATTACH", "ATTACH IF NOT EXISTS", 1),
        };
        for (options, kind) in [
            (with_key(OTHER_KEY), ErrorKind::WrongKey),
            (
                format!("(ENCRYPTION_KEY '{KEY}', ENCRYPTION_CIPHER 'CTR')"),
                ErrorKind::InvalidInput,
            ),
            (format!("(MIN_ANCHOR '{foreign}')"), ErrorKind::InvalidInput),
            (format!("(MIN_ANCHOR '{ahead}')"), ErrorKind::Tampered),
            (
                format!("(EXPECTED_ROOT '{}')", "0".repeat(64)),
                ErrorKind::Tampered,
            ),
        ] {
            bench.refuses(&attach("f.db", &options), kind);
            assert_eq!(bench.text("SELECT count(*) FROM f.t"), "2");
        }
        for anchor in [&early, &anchor] {
            bench.run(&attach("f.db", &format!("(MIN_ANCHOR '{anchor}')")));
        }
        bench.run(&attach("f.db", &with_key(KEY)));
    }
    let other = bench.attach("g.db", "f", &with_key(KEY));
    let other = other.replacen("ATTACH", "ATTACH IF NOT EXISTS", 1);
    let text = bench.refuses(&other, ErrorKind::Binder);
    assert!(
        text.contains("f.db") && text.contains("another file"),
        "{text}"
    );
}

#[test]
fn an_expected_root_names_one_content() {
    let bench = Bench::new();
    bench.file("f.db", &with_key(KEY));
    let path = bench.path("f.db");
    let mut options = hushdb::DatabaseOptions {
        key: Some(hushdb::KeySource::Text(KEY.into())),
        ..hushdb::DatabaseOptions::default()
    };
    let digest = {
        let database = hushdb::Database::open_with(Some(&path), options.clone()).unwrap();
        database.anchor("f").unwrap().root_digest
    };
    options.freshness.expected_root = Some(digest);
    drop(hushdb::Database::open_with(Some(&path), options.clone()).unwrap());
    // A commit that stays in the log: the superblock that names the log is durable, the rest is as long as somebody likes.
    let digest = {
        let open = hushdb::DatabaseOptions {
            freshness: hushdb::Freshness::default(),
            ..options.clone()
        };
        let database = hushdb::Database::open_with(Some(&path), open).unwrap();
        let connection = database.connect().unwrap();
        connection
            .execute("PRAGMA disable_checkpoint_on_shutdown")
            .unwrap();
        connection.execute("INSERT INTO t VALUES (1)").unwrap();
        database.anchor("f").unwrap().root_digest
    };
    options.freshness.expected_root = Some(digest);
    let error = hushdb::Database::open_with(Some(&path), options.clone()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(error.to_string().contains("CHECKPOINT"), "{error}");
}

#[test]
fn cipher_without_a_key() {
    let bench = Bench::new();
    let sql = bench.attach("f.db", "f", "(ENCRYPTION_CIPHER 'GCM')");
    bench.refuses(&sql, ErrorKind::Binder);
    assert!(!bench.path("f.db").exists());
}

#[test]
fn column_types_that_cannot_be_stored() {
    let bench = Bench::new();
    let deep = format!("CREATE TABLE t (a INTEGER{})", "[]".repeat(32));
    bench.refuses(&deep, ErrorKind::Unsupported);
    let deep = format!("CREATE TABLE t (a JSON{})", "[]".repeat(32));
    bench.refuses(&deep, ErrorKind::Unsupported);
    bench.refuses("CREATE TABLE t (a NOSUCHTYPE)", ErrorKind::Catalog);
    bench.refuses("SELECT * FROM t", ErrorKind::Catalog);
}

#[test]
fn keys_that_would_not_be_enforced() {
    let bench = Bench::new();
    for (columns, word) in [
        ("a INTEGER REFERENCES u (a) DEFERRABLE", "DEFERRABLE"),
        (
            "a INTEGER, FOREIGN KEY (a) REFERENCES u (a) MATCH FULL",
            "MATCH",
        ),
        (
            "a INTEGER, UNIQUE NULLS NOT DISTINCT (a)",
            "NULLS NOT DISTINCT",
        ),
    ] {
        let sql = format!("CREATE TABLE t ({columns})");
        let text = bench.refuses(&sql, ErrorKind::Unsupported);
        assert!(text.contains(word), "{sql}: {text}");
    }
    bench.refuses("SELECT * FROM t", ErrorKind::Catalog);
}

/// A table `t` of one row of extremes.
fn extremes() -> Bench {
    let bench = Bench::new();
    bench.run("CREATE TABLE t (a BIGINT, m BIGINT, u UBIGINT, b TINYINT, d DECIMAL(18,2), w DECIMAL(38,0))");
    bench.run(&format!(
        "INSERT INTO t VALUES (9223372036854775807, -9223372036854775807 - 1, 0, 127, 9999999999999999.99, {})",
        "9".repeat(38)
    ));
    bench
}

#[test]
fn numbers_that_do_not_fit() {
    let bench = extremes();
    for sql in [
        "SELECT a + 1 FROM t",
        "SELECT m - 1 FROM t",
        "SELECT a * 2 FROM t",
        "SELECT m // -1 FROM t",
        "SELECT -m FROM t",
        "SELECT -(-a - 1) FROM t",
        "SELECT abs(m) FROM t",
        "SELECT u - 1::UBIGINT FROM t",
        "SELECT b + 1::TINYINT FROM t",
        "SELECT b * b FROM t",
        "SELECT d + d FROM t",
        "SELECT w + 1 FROM t",
        "SELECT -w - 1 FROM t",
        "SELECT w * 10 FROM t",
        "SELECT sum(w) FROM (SELECT w FROM t UNION ALL SELECT w FROM t)",
        "SELECT count(*) FROM t JOIN (SELECT a + 1 AS x FROM t) s ON t.a = s.x",
    ] {
        bench.refuses(sql, ErrorKind::OutOfRange);
    }
}

/// The same operations where the result just fits, so that what is refused is the overflow.
#[test]
fn numbers_that_just_fit() {
    let bench = extremes();
    for (sql, expected) in [
        ("SELECT a - 1 FROM t", "9223372036854775806"),
        ("SELECT m + 1 FROM t", "-9223372036854775807"),
        ("SELECT -(m + 1) FROM t", "9223372036854775807"),
        ("SELECT abs(m + 1) FROM t", "9223372036854775807"),
        ("SELECT b * 1::TINYINT FROM t", "127"),
        (
            "SELECT sum(w - 1) FROM t",
            "99999999999999999999999999999999999998",
        ),
        (
            "SELECT CAST(a // 4294967297 AS INTEGER) FROM t",
            "2147483647",
        ),
        (
            "SELECT CAST(d / 10000000000000 AS DECIMAL(5,1)) FROM t",
            "1000.0",
        ),
    ] {
        assert_eq!(bench.text(sql), expected, "{sql}");
    }
}

#[test]
fn casts_to_what_is_too_narrow() {
    let bench = extremes();
    for sql in [
        "SELECT CAST(a AS INTEGER) FROM t",
        "SELECT CAST(m AS UBIGINT) FROM t",
        "SELECT CAST(b - 128 AS UTINYINT) FROM t",
        "SELECT CAST(d AS DECIMAL(4,1)) FROM t",
        "SELECT CAST(a AS DECIMAL(18,2)) FROM t",
        "SELECT CAST('9999999999' AS INTEGER)",
        "SELECT 12345.6::DECIMAL(4,1)",
        "SELECT count(*) FROM t JOIN (SELECT CAST(d AS DECIMAL(4,1)) AS x FROM t) s ON t.d = s.x",
        "INSERT INTO t (b) VALUES (128)",
        "INSERT INTO t (d) VALUES (10000000000000000)",
        "INSERT INTO t (u) SELECT -1",
        "UPDATE t SET b = 128",
    ] {
        // A cast to a decimal multiplies first, and may fail at that.
        let kind = bench.refusal(sql).kind();
        assert!(
            matches!(kind, ErrorKind::Conversion | ErrorKind::OutOfRange),
            "{sql}: {kind:?}"
        );
    }
    assert_eq!(bench.text("SELECT count(*) FROM t WHERE b = 127"), "1");
    assert_eq!(bench.text("SELECT count(*) FROM t"), "1");
}

/// What a call would make of few bytes is asked for before it is made.
#[test]
fn values_that_would_not_fit_in_memory() {
    let bench = Bench::new();
    bench.run("SET memory_limit = '64MB'");
    for sql in [
        "SELECT length(repeat('x', 2000000000))",
        "SELECT length(lpad('a', 2000000000, 'b')), length(rpad('a', 2000000000, 'b'))",
        "SELECT len(range(1000000000))",
        "SELECT len(list_resize([1], 1000000000))",
        "SELECT len(repeat([1, 2], 1000000000))",
        "SELECT length(regexp_replace(repeat('a', 10000), 'a', repeat('b', 100000), 'g'))",
        "SELECT length(array_to_string(range(100000), repeat('x', 100000)))",
        "SELECT len(string_split(repeat('a', 60000000), ''))",
        "SELECT len(parse_path(repeat('/a', 20000000)))",
        "SELECT length(upper(repeat('ß', 60000000)))",
        "SELECT length(hex(repeat('a', 60000000)))",
        "SELECT length(to_json(repeat('\"', 60000000)))",
        "SELECT length(concat(repeat('x', 40000000), repeat('y', 40000000)))",
        "SELECT length(strftime(TIMESTAMP '2024-01-01', repeat('%c', 10000000)))",
        "SELECT count(*) FROM (SELECT unnest(range(1000000000)))",
        "SELECT sum(len(l)) FROM (SELECT range(100000 + i % 2) AS l FROM range(10000) t(i))",
        "SELECT len(flatten(list_transform(range(30000), x -> range(30000))))",
        "SELECT len(list_transform(range(30000), x -> l)) FROM (SELECT range(30000) AS l) t",
        "SELECT len(list_transform(range(3000), x -> list_transform(range(30000), y -> x + y)))",
        "SELECT len(list_resize(['a'], 1000000, repeat('x', 1000)))",
        "SELECT len(flatten(list_resize([range(1000)], 100000, range(1000))))",
        "SELECT len(range(6000000)[1:5000000])",
        "SELECT len(list_zip(range(2000000), range(2000000), range(2000000)))",
        "SELECT len(list_filter(range(5000000), x -> x % 2 = 0))",
        "SELECT length(string_agg(repeat('x', 100000))) FROM range(10000)",
        "SELECT length(json_group_array(repeat('x', 100000))) FROM range(10000)",
        "SELECT max(length(repeat('x', 100000) || i)) FROM range(10000) t(i)",
        "SELECT length(repeat('x', 30000000) || repeat('y', 30000000))",
        "SELECT length(range(5000000)::VARCHAR)",
    ] {
        bench.refuses(sql, ErrorKind::OutOfMemory);
    }
    for sql in [
        "SELECT length(repeat('xy', 9223372036854775807))",
        "SELECT len(generate_series(1, 9223372036854775807))",
        "SELECT length(replace(repeat('a', 100000), 'a', repeat('b', 100000)))",
    ] {
        bench.refuses(sql, ErrorKind::OutOfRange);
    }
    assert_eq!(bench.text("SELECT length(repeat('x', 1000000))"), "1000000");
}

#[test]
fn statement_that_fails_half_way() {
    let bench = Bench::new();
    bench.run(&bench.attach("f.db", "f", &with_key(KEY)));
    bench.run("USE f");
    bench.run("CREATE TABLE t (a INTEGER NOT NULL, b VARCHAR, CHECK (a < 200000))");
    bench.run("INSERT INTO t SELECT range, 'b' FROM range(1000)");
    let state = || {
        (
            bench.text("SELECT count(*) || '/' || sum(a) || '/' || count(b) FROM t"),
            bench.text("SELECT count(*) FROM (SHOW TABLES)"),
        )
    };
    let before = state();
    let bad = "CAST(CASE WHEN range = 150000 THEN 'x' ELSE '1' END AS INTEGER)";
    for (sql, kind) in [
        (
            "INSERT INTO t SELECT range, 'x' FROM range(300000)".to_string(),
            ErrorKind::Constraint,
        ),
        (
            "INSERT INTO t SELECT CASE WHEN range = 150000 THEN NULL ELSE range END, 'x' FROM range(160000)".into(),
            ErrorKind::Constraint,
        ),
        (
            format!("INSERT INTO t SELECT {bad}, 'x' FROM range(160000)"),
            ErrorKind::Conversion,
        ),
        (
            "INSERT INTO t VALUES (1, 'x'), (NULL, 'x')".into(),
            ErrorKind::Constraint,
        ),
        (
            "UPDATE t SET a = a * 1000000000".into(),
            ErrorKind::OutOfRange,
        ),
        (
            "UPDATE t SET a = a + 199500, b = NULL".into(),
            ErrorKind::Constraint,
        ),
        (
            format!("CREATE TABLE u AS SELECT {bad} AS a FROM range(160000)"),
            ErrorKind::Conversion,
        ),
        (
            format!("CREATE OR REPLACE TABLE t AS SELECT {bad} AS a FROM range(160000)"),
            ErrorKind::Conversion,
        ),
        (
            "DELETE FROM t WHERE CAST(CASE WHEN a = 999 THEN 'x' ELSE '1' END AS INTEGER) = 1".into(),
            ErrorKind::Conversion,
        ),
    ] {
        bench.refuses(&sql, kind);
        assert_eq!(state(), before, "{sql}");
    }
    bench.run("USE memory");
    bench.run("DETACH f");
    bench.run(&bench.attach("f.db", "f", &with_key(KEY)));
    bench.run("USE f");
    assert_eq!(state(), before);
}
