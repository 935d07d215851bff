//! `hush init` and `hush serve` from the outside: psql over TLS, a client of our own over the Unix socket, kills and wrong keys.
//!
//! psql is run where it is installed; a test that needs it says so and passes where it is not.

mod admin;
mod adopt;
mod advisory;
mod alter_database;
mod backups;
mod client;
mod cursors;
mod dumps;
mod floats;
mod functions;
mod hostile;
mod hostile_table;
mod idle;
mod instance;
mod json;
mod lengths;
mod more_functions;
mod numbers;
mod operands;
mod phrases;
mod recorded;
mod rights;
mod script_values;
mod scripts;
mod values;

use client::Client;
use instance::{KEY, PASSWORD, Running, hush, made, psql};

#[test]
fn psql_comes_in_over_tls_and_its_rows_outlive_a_kill() {
    let place = made();
    let server = Running::start(place.path());
    let tcp = server.url("hush", "hush", "sslmode=require channel_binding=require");
    let Some(created) = psql(
        &tcp,
        PASSWORD,
        &[
            "CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT)",
            "INSERT INTO t VALUES (1, 'marker-in-a-value'), (2, NULL)",
        ],
    ) else {
        return;
    };
    assert_eq!(created.ok(), "CREATE TABLE\nINSERT 0 2\n");
    server.kill();
    let server = Running::start(place.path());
    let tcp = server.url("hush", "hush", "sslmode=require");
    let rows = psql(&tcp, PASSWORD, &["SELECT * FROM t ORDER BY id"]).unwrap();
    assert_eq!(rows.ok(), "1|marker-in-a-value\n2|\n");
    let wrong = psql(&tcp, "not the password", &["SELECT 1"]).unwrap();
    assert!(
        wrong.error().contains("password authentication failed"),
        "{}",
        wrong.error()
    );
    let nobody = psql(
        &server.url("nobody", "hush", "sslmode=require"),
        PASSWORD,
        &["SELECT 1"],
    )
    .unwrap();
    assert!(
        nobody.error().contains("password authentication failed"),
        "{}",
        nobody.error()
    );
    let plain = psql(
        &server.url("hush", "hush", "sslmode=disable"),
        PASSWORD,
        &["SELECT 1"],
    )
    .unwrap();
    assert!(plain.error().contains("TLS"), "{}", plain.error());
    server.stop();
    for file in instance::files(place.path()) {
        let bytes = std::fs::read(&file).unwrap();
        let found = bytes
            .windows(17)
            .any(|window| window == b"marker-in-a-value");
        assert!(!found, "{}", file.display());
    }
}

#[test]
fn a_wrong_key_is_refused_with_its_own_exit_code() {
    let place = made();
    let serve = |key: &str| {
        let mut command = hush(&[
            "serve",
            place.path().to_str().unwrap(),
            "--key-env",
            "K",
            "--listen",
            "127.0.0.1:0",
        ]);
        let done = command.env("K", key).output().unwrap();
        (
            done.status.code(),
            String::from_utf8_lossy(&done.stderr).into_owned(),
        )
    };
    let (code, text) = serve("pass:another one");
    assert_eq!(code, Some(3), "{text}");
    assert!(!text.contains("another one"));
    let (code, text) = serve("");
    assert!(matches!(code, Some(3 | 4)), "{code:?} {text}");
    let mut keyless = hush(&["serve", place.path().to_str().unwrap()]);
    let done = keyless.stdin(std::process::Stdio::null()).output().unwrap();
    assert_eq!(done.status.code(), Some(4), "no key was given");
    let server = Running::start(place.path());
    assert_eq!(serve(KEY).0, Some(6), "two servers have one instance");
    server.stop();
}

#[test]
fn a_demo_is_an_instance_with_pgbenchs_tables() {
    let place = tempfile::tempdir().unwrap();
    let directory = place.path().join("demo");
    let server = Running::start_with(&directory, &["--demo", "--password-env", "P"]);
    let mut client = Client::connect(&server, "hush", "hush", PASSWORD);
    let sql = "SELECT count(*), min(aid), max(aid), sum(abalance) FROM pgbench_accounts";
    assert_eq!(client.rows(sql), [["100000", "1", "100000", "0"]]);
    let sql = "SELECT count(*) FROM pgbench_tellers JOIN pgbench_branches USING (bid)";
    assert_eq!(client.rows(sql), [["10"]]);
    client.close();
    server.stop();
    // It is there now: no second one is made over it, and without --demo it is served.
    let again = hush(&["serve", directory.to_str().unwrap(), "--key-env", "K"])
        .args(["--demo", "--password-env", "P"])
        .envs([("K", KEY), ("P", PASSWORD)])
        .output()
        .unwrap();
    assert_eq!(again.status.code(), Some(2));
    let server = Running::start(&directory);
    let mut client = Client::connect(&server, "hush", "hush", PASSWORD);
    assert_eq!(
        client.rows("SELECT count(*) FROM pgbench_branches"),
        [["1"]]
    );
    server.stop();
}

#[test]
fn databases_have_keys_and_rows_of_their_own() {
    let place = made();
    let server = Running::start(place.path());
    let mut hush = Client::connect(&server, "hush", "hush", PASSWORD);
    for sql in [
        "CREATE USER alice PASSWORD 'of alice'",
        "CREATE USER bob PASSWORD 'of bob'",
        "CREATE DATABASE a OWNER alice",
        "CREATE DATABASE b OWNER bob",
    ] {
        hush.run(sql).unwrap();
    }
    assert_eq!(hush.run("CREATE DATABASE a").unwrap_err().sqlstate, "42P04");
    let mut alice = Client::connect(&server, "alice", "a", "of alice");
    alice.run("CREATE TABLE secret_of_alice (i INT)").unwrap();
    assert_eq!(
        Client::try_connect(&server, "bob", "a", "of bob")
            .unwrap_err()
            .sqlstate,
        "42501"
    );
    let mut bob = Client::connect(&server, "bob", "b", "of bob");
    for (sql, sqlstate) in [
        ("SELECT * FROM a.public.secret_of_alice", None),
        ("SELECT * FROM secret_of_alice", Some("42P01")),
        ("CREATE DATABASE c", Some("42501")),
        ("CREATE USER c", Some("42501")),
        ("DROP DATABASE a", Some("42501")),
        ("COPY (SELECT 1) TO 'x.csv'", Some("42501")),
        ("ATTACH 'x.hushdb' AS x", Some("42501")),
        ("SELECT * FROM read_csv('/etc/passwd')", Some("42501")),
        ("SET enforce_encryption = off", Some("42704")),
        ("LISTEN x", Some("0A000")),
        ("GRANT ALL ON t TO alice", Some("0A000")),
    ] {
        let error = bob.run(sql).unwrap_err();
        assert!(
            sqlstate.is_none_or(|is| is == error.sqlstate),
            "{sql}: {error:?}"
        );
        assert!(
            !error.message.contains("alice") || sql.contains("alice"),
            "{error:?}"
        );
    }
    assert_eq!(bob.rows("SHOW DATABASES"), [["b"]]);
    catalogs_are_apart(&mut bob);
    assert_eq!(hush.run("DROP DATABASE a").unwrap_err().sqlstate, "55006");
    alice.close();
    while hush.run("DROP DATABASE a").is_err() {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert_eq!(
        Client::try_connect(&server, "alice", "a", "of alice")
            .unwrap_err()
            .sqlstate,
        "3D000"
    );
    assert_eq!(instance::databases(place.path()), 2);
    server.stop();
}

/// What bob, of the database b, sees of alice's database a: its name, and that it is hers.
fn catalogs_are_apart(bob: &mut Client) {
    for sql in [
        "SELECT relname FROM pg_class WHERE relname LIKE '%alice%'",
        "SELECT attname FROM pg_attribute JOIN pg_class c ON c.oid = attrelid WHERE relname LIKE '%alice%'",
        "SELECT table_name FROM information_schema.tables WHERE table_catalog <> 'b' OR table_name LIKE '%alice%'",
        "SELECT pid FROM pg_stat_activity WHERE usename <> 'bob'",
        "SELECT to_regclass('a.public.secret_of_alice') AS r WHERE to_regclass('a.public.secret_of_alice') IS NOT NULL",
    ] {
        assert!(bob.rows(sql).is_empty(), "{sql}");
    }
    let databases = bob.rows("SELECT datname FROM pg_database ORDER BY 1");
    assert_eq!(databases, [["a"], ["b"], ["hush"]]);
    let sizes = "SELECT datname FROM pg_database WHERE pg_database_size(datname) IS NOT NULL";
    assert_eq!(bob.rows(sizes), [["b"]]);
    let may = "SELECT datname FROM pg_database WHERE has_database_privilege(datname, 'CONNECT')";
    assert_eq!(bob.rows(may), [["b"]]);
    let passwords = "SELECT rolpassword FROM pg_authid WHERE rolpassword IS NOT NULL";
    assert!(bob.rows(passwords).is_empty());
}

#[test]
fn what_psql_asks_about_tables_is_answered() {
    let place = made();
    let server = Running::start(place.path());
    let url = server.url("hush", "hush", "sslmode=require");
    let Some(made) = psql(
        &url,
        PASSWORD,
        &[
            "CREATE TABLE t (id INTEGER PRIMARY KEY, n NUMERIC(9,2) DEFAULT 1, c TEXT UNIQUE, CHECK (n > 0))",
            "CREATE INDEX t_n ON t (n)",
            "CREATE VIEW v AS SELECT id FROM t",
        ],
    ) else {
        return;
    };
    made.ok();
    // Footers, which psql leaves out beside tuples alone.
    let shown = |command: &str| psql(&url, PASSWORD, &["\\t off", command]).unwrap().ok();
    let table = shown("\\d t");
    for line in [
        "id|integer||not null|",
        "n|numeric(9,2)|||1",
        "c|text|||",
        "\"t_pkey\" PRIMARY KEY, btree (id)",
        "\"t_n\" btree (n)",
        "UNIQUE CONSTRAINT, btree (c)",
        "CHECK ((n > 0))",
    ] {
        assert!(table.contains(line), "{line} in {table}");
    }
    for (command, line) in [
        ("\\d", "public|t|table|hush"),
        ("\\d+", "public|v|view|hush"),
        ("\\dt", "public|t|table|hush"),
        ("\\dv", "public|v|view|hush"),
        ("\\di", "public|t_n|index|hush|t"),
        ("\\d v", "id|integer|||"),
        ("\\d+ v", "SELECT id FROM t"),
        ("\\l", "hush|hush|UTF8"),
        ("\\l+", "pg_default"),
        ("\\dn", "public|hush"),
        ("\\du", "hush|Superuser, Create role, Create DB"),
        ("\\df", ""),
        ("\\dT", ""),
        ("\\z", "public|t|table"),
    ] {
        let said = shown(command);
        assert!(said.contains(line), "{command}: {said}");
    }
    let names = shown("SELECT count(*), 1, n::text FROM t GROUP BY n");
    assert!(names.contains("count|?column?|n\n"), "{names}");
    server.stop();
}

#[test]
fn transactions_fail_as_a_whole_and_texts_of_statements_are_one() {
    let place = made();
    let server = Running::start(place.path());
    let mut client = Client::connect(&server, "hush", "hush", PASSWORD);
    client.run("CREATE TABLE t (i INT PRIMARY KEY)").unwrap();
    assert_eq!(
        client
            .run("INSERT INTO t VALUES (1); INSERT INTO t VALUES (1)")
            .unwrap_err()
            .sqlstate,
        "23505"
    );
    assert_eq!(client.rows("SELECT count(*) FROM t"), [["0"]]);
    client.run("BEGIN").unwrap();
    assert_eq!(client.status, b'T');
    client.run("INSERT INTO t VALUES (7)").unwrap();
    assert_eq!(
        client.run("SELECT * FROM nowhere").unwrap_err().sqlstate,
        "42P01"
    );
    assert_eq!(client.status, b'E');
    assert_eq!(client.run("SELECT 1").unwrap_err().sqlstate, "25P02");
    assert_eq!(client.run("COMMIT").unwrap(), ["ROLLBACK"]);
    assert_eq!(client.status, b'I');
    assert_eq!(client.rows("SELECT count(*) FROM t"), [["0"]]);
    assert_eq!(
        client.rows("SELECT 7 / 2, -7 / 2, 7 / 2.0"),
        [["3", "-3", "3.5000000000000000"]]
    );
    client.run("CREATE VIEW v AS SELECT 7 / 2 AS n").unwrap();
    assert_eq!(client.rows("SELECT n FROM v"), [["3"]]);
    assert_eq!(
        client.rows("SELECT x FROM (VALUES (1), (NULL)) v(x) ORDER BY x DESC LIMIT 1"),
        [[""]]
    );
    assert_eq!(client.run("").unwrap(), [""; 0]);
    assert_eq!(client.run("-- ping").unwrap(), [""; 0]);
    client.run("SET statement_timeout = '100ms'").unwrap();
    let error = client
        .run("SELECT max(a.i * b.i) FROM range(1000000) a(i), range(1000000) b(i)")
        .unwrap_err();
    assert_eq!(error.sqlstate, "57014", "{error:?}");
    server.stop();
}

#[test]
fn the_extended_protocol_describes_and_binds() {
    let place = made();
    let server = Running::start(place.path());
    let mut client = Client::connect(&server, "hush", "hush", PASSWORD);
    client
        .run("CREATE TABLE t (id BIGINT PRIMARY KEY, name TEXT, at TIMESTAMP)")
        .unwrap();
    for id in 1..=7 {
        client
            .run(&format!(
                "INSERT INTO t VALUES ({id}, 'n{id}', '2000-01-01')"
            ))
            .unwrap();
    }
    let described = client
        .describe("SELECT id, name, at FROM t WHERE id = $1 AND name <> $2 LIMIT $3")
        .unwrap();
    assert_eq!(described.0, [20, 25, 20]);
    assert_eq!(
        described.1,
        [("id".into(), 20), ("name".into(), 25), ("at".into(), 1114)]
    );
    let update = client
        .describe("UPDATE t SET name = name || $1 WHERE id = $2 + 1")
        .unwrap();
    // As in PostgreSQL, what is added to 1 is an INTEGER.
    assert_eq!(update, (vec![25, 23], vec![]));
    let insert = client
        .describe("INSERT INTO t (name, id) VALUES ($1, $2) RETURNING id")
        .unwrap();
    assert_eq!(insert, (vec![25, 20], vec![("id".into(), 20)]));
    let rows = client
        .extended(
            "SELECT id, at FROM t WHERE id <= $1 ORDER BY id",
            &[Some("2")],
            0,
            true,
        )
        .unwrap();
    let epoch = vec![0; 8];
    assert_eq!(
        rows.0,
        [
            [1_i64.to_be_bytes().to_vec(), epoch.clone()],
            [2_i64.to_be_bytes().to_vec(), epoch]
        ]
    );
    assert_eq!(rows.1, "SELECT 2");
    server.stop();
}

#[test]
fn portals_are_read_in_pieces_and_pipelines_are_one_transaction() {
    let place = made();
    let server = Running::start(place.path());
    let mut client = Client::connect(&server, "hush", "hush", PASSWORD);
    client
        .run("CREATE TABLE t (id BIGINT PRIMARY KEY, name TEXT, at TIMESTAMP)")
        .unwrap();
    client
        .run("INSERT INTO t (id) SELECT * FROM range(1, 8)")
        .unwrap();
    client.run("BEGIN").unwrap();
    let (rows, end) = client
        .extended("SELECT id FROM t ORDER BY id", &[], 3, false)
        .unwrap();
    assert_eq!((rows.len(), end.as_str()), (3, "suspended"));
    let (rows, end) = client.execute_on(100).unwrap();
    assert_eq!((rows.len(), end.as_str()), (4, "SELECT 7"));
    client.run("COMMIT").unwrap();
    // The second INSERT of a pipeline undoes the first.
    assert_eq!(
        client
            .pipeline(&[
                "INSERT INTO t (id) VALUES (100)",
                "INSERT INTO t (id) VALUES (100)"
            ])
            .unwrap_err()
            .sqlstate,
        "23505"
    );
    assert_eq!(
        client.rows("SELECT count(*) FROM t WHERE id = 100"),
        [["0"]]
    );
    client
        .pipeline(&[
            "INSERT INTO t (id) VALUES (100)",
            "INSERT INTO t (id) VALUES (101)",
        ])
        .unwrap();
    assert_eq!(
        client.rows("SELECT count(*) FROM t WHERE id >= 100"),
        [["2"]]
    );
    let error = client
        .extended("SELECT $1::int", &[Some("x")], 0, false)
        .unwrap_err();
    assert_eq!(error.sqlstate, "22P02");
    server.stop();
}

#[test]
fn rows_are_copied_in_and_out() {
    let place = made();
    let server = Running::start(place.path());
    let mut client = Client::connect(&server, "hush", "hush", PASSWORD);
    client
        .run("CREATE TABLE t (id INT PRIMARY KEY, name TEXT, raw BYTEA)")
        .unwrap();
    let copied = client
        .copy_in(
            "COPY t FROM STDIN",
            &[b"1\ta\\tb\t\\\\x00ff\n2\t", b"\\N\t\\N\n\\.\n"],
        )
        .unwrap();
    assert_eq!(copied, "COPY 2");
    assert_eq!(
        client.copy_out("COPY t TO STDOUT"),
        "1\ta\\tb\t\\\\x00ff\n2\t\\N\t\\N\n"
    );
    assert_eq!(
        client.copy_out(
            "COPY (SELECT id, name FROM t ORDER BY id DESC) TO STDOUT (FORMAT csv, HEADER)"
        ),
        "id,name\n2,\n1,a\tb\n"
    );
    let error = client
        .copy_in("COPY t (id) FROM STDIN (FORMAT csv)", &[b"3\n4\nx\n"])
        .unwrap_err();
    assert_eq!(error.sqlstate, "22P02", "{error:?}");
    let error = client
        .copy_in("COPY t FROM STDIN", &[b"3\ta\n"])
        .unwrap_err();
    assert_eq!(error.sqlstate, "22P04", "{error:?}");
    let error = client
        .copy_in("COPY t (id) FROM STDIN", &[b"9\n9\n"])
        .unwrap_err();
    assert_eq!(error.sqlstate, "23505", "{error:?}");
    assert_eq!(client.rows("SELECT count(*) FROM t"), [["2"]]);
    server.stop();
}

#[test]
fn every_kind_is_copied_as_text_and_in_binary() {
    let place = made();
    let server = Running::start(place.path());
    let mut client = Client::connect(&server, "hush", "hush", PASSWORD);
    let columns = "i INT, l BIGINT[], s TEXT[], d DATE, n NUMERIC(9,2), f REAL, g DOUBLE PRECISION, b BOOLEAN, u UUID, \
        k TIME, at TIMESTAMP, z TIMESTAMPTZ, r BYTEA, t TEXT";
    for table in ["a", "b"] {
        client
            .run(&format!("CREATE TABLE {table} ({columns})"))
            .unwrap();
    }
    let lines = "1\t{1,NULL,-3}\t{a,\"b, c\",NULL,it's}\t2020-02-29\t1.50\t1.1\t1e+300\tt\t00112233-4455-6677-8899-aabbccddeeff\t\
        10:11:12.5\t2020-01-01 01:02:03.000004\t2020-01-01 00:00:00+00\t\\\\x00ff\ta\\tb\n2\t{}\t{}\t0001-01-01\t-0.01\tNaN\t-Infinity\t\
        f\t00000000-0000-0000-0000-000000000000\t00:00:00\t1969-12-31 23:59:59\t1969-12-31 23:59:59+00\t\\\\x\t\n3";
    let lines = format!("{lines}{}\n", "\t\\N".repeat(13));
    client
        .copy_in("COPY a FROM STDIN", &[lines.as_bytes()])
        .unwrap();
    assert_eq!(client.copy_out("COPY a TO STDOUT"), lines);
    let binary = client.copy_out_bytes("COPY a TO STDOUT (FORMAT binary)");
    assert!(binary.starts_with(b"PGCOPY\n\xff\r\n\0"));
    // However it comes.
    let pieces: Vec<&[u8]> = binary.chunks(7).collect();
    let copied = client
        .copy_in("COPY b FROM STDIN WITH BINARY", &pieces)
        .unwrap();
    assert_eq!(copied, "COPY 3");
    assert_eq!(client.copy_out("COPY b TO STDOUT"), lines);
    // The mark behind the last row may be missing, but no part of a row.
    let unmarked = &binary[..binary.len() - 2];
    let copied = client.copy_in("COPY b FROM STDIN BINARY", &[unmarked]);
    assert_eq!(copied.unwrap(), "COPY 3");
    for wrong in [
        &unmarked[..unmarked.len() - 1],
        &binary[..100],
        b"",
        b"1\n2\n",
    ] {
        let error = client
            .copy_in("COPY b FROM STDIN BINARY", &[wrong])
            .unwrap_err();
        assert_eq!(error.sqlstate, "22P04", "{error:?}");
    }
    assert_eq!(client.rows("SELECT count(*) FROM b"), [["6"]]);
    let mixed = client.run("COPY a TO STDOUT (FORMAT binary, HEADER)");
    assert_eq!(mixed.unwrap_err().sqlstate, "42601");
    server.stop();
}
