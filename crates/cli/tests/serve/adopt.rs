//! `hush adopt`: what was a file becomes a database of an instance, wholly or not at all.

use crate::backups::with_raw_key;
use crate::client::Client;
use crate::instance::{self, KEY, PASSWORD, Running, hush, made};
use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::Duration;

const MARKER: &str = "marker-that-is-adopted";
const SOURCE_KEY: &str = "pass:of the source";

/// A database file with what a database may have.
fn source(place: &Path, key: bool, rows: u32) -> PathBuf {
    let path = place.join(if key { "sealed.hushdb" } else { "plain.hushdb" });
    let sql = format!(
        "CREATE TABLE t (id INTEGER PRIMARY KEY, name VARCHAR NOT NULL, at TIMESTAMP DEFAULT TIMESTAMP '2020-01-01', \
           some DOUBLE[], CHECK (id >= 0)); \
         CREATE INDEX t_name ON t (name); \
         INSERT INTO t (id, name, some) SELECT i, '{MARKER} ' || i, [i / 2, NULL] FROM range({rows}) r(i); \
         DELETE FROM t WHERE id = 1; \
         CREATE SCHEMA other; \
         CREATE TABLE other.empty (a DECIMAL(9, 2), b BLOB); \
         CREATE VIEW v AS SELECT main.t.id, name FROM main.t WHERE t.id < 3; \
         CREATE VIEW other.w AS SELECT count(*) AS n FROM main.v"
    );
    let mut command = hush(&[]);
    if key {
        command.args(["--key-env", "S"]).env("S", SOURCE_KEY);
    }
    let done = command.arg(&path).arg(sql).output().unwrap();
    assert!(done.status.success(), "{}", said(&done));
    path
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn adopt(directory: &Path, source: &Path, name: &str, more: &[&str]) -> Output {
    let mut command = hush(&["adopt"]);
    command.args([directory, source]);
    command.args(["--name", name, "--key-env", "K"]).args(more);
    let keys = [("K", KEY), ("S", SOURCE_KEY), ("W", "pass:another")];
    command.envs(keys).output().unwrap()
}

#[test]
fn a_file_becomes_a_database_with_all_that_it_had() {
    let (place, files) = (made(), tempfile::tempdir().unwrap());
    for key in [false, true] {
        let source = source(files.path(), key, 5000);
        let before = std::fs::read(&source).unwrap();
        let name = if key { "sealed" } else { "Plain one" };
        let options: &[&str] = if key { &["--source-key-env", "S"] } else { &[] };
        let done = adopt(place.path(), &source, name, options);
        assert!(done.status.success(), "{}", said(&done));
        assert!(
            said(&done).contains("2 tables with 4999 rows and 2 views"),
            "{}",
            said(&done)
        );
        assert_eq!(said(&done).contains("plain: whoever"), !key);
        assert!(
            before == std::fs::read(&source).unwrap(),
            "the source has changed"
        );
        // It is there now.
        assert_eq!(
            adopt(place.path(), &source, name, options).status.code(),
            Some(2)
        );
    }
    let server = Running::start(place.path());
    for name in ["Plain one", "sealed"] {
        let mut client = Client::connect(&server, "hush", name, PASSWORD);
        let sql = "SELECT count(*), max(id), min(name), count(at), sum(some[1]) FROM t";
        assert_eq!(
            client.rows(sql),
            [[
                "4999",
                "4999",
                "marker-that-is-adopted 0",
                "4999",
                "6248749.5"
            ]]
        );
        assert_eq!(client.rows("SELECT id FROM v ORDER BY id"), [["0"], ["2"]]);
        assert_eq!(client.rows("SELECT n FROM other.w"), [["2"]]);
        assert_eq!(client.rows("SELECT count(*) FROM other.empty"), [["0"]]);
        for (sql, sqlstate) in [
            ("INSERT INTO t (id, name) VALUES (7, '')", "23505"),
            ("INSERT INTO t (id, name) VALUES (-7, '')", "23514"),
            ("INSERT INTO t (id) VALUES (9999)", "23502"),
        ] {
            assert_eq!(client.run(sql).unwrap_err().sqlstate, sqlstate, "{sql}");
        }
        client
            .run("INSERT INTO t (id, name) VALUES (9999, '')")
            .unwrap();
        client.close();
    }
    server.stop();
    for file in instance::files(place.path()) {
        let bytes = std::fs::read(&file).unwrap();
        let mut windows = bytes.windows(MARKER.len());
        assert!(
            !windows.any(|window| window == MARKER.as_bytes()),
            "{}",
            file.display()
        );
    }
}

#[test]
fn a_directory_becomes_a_database() {
    let (place, files) = (made(), tempfile::tempdir().unwrap());
    let exported = files.path().join("exported");
    let source = source(files.path(), false, 100);
    let export = |options: &str| {
        let sql = format!("EXPORT DATABASE '{}' {options}", exported.display());
        let done = hush(&[source.to_str().unwrap(), &sql]).output().unwrap();
        assert!(done.status.success(), "{}", said(&done));
    };
    // Bare names are of `public`; one that says `main` means that schema.
    let views = "CREATE OR REPLACE VIEW v AS SELECT id, name FROM t WHERE id < 3; DROP VIEW other.w; CREATE VIEW other.w AS SELECT 1 AS n";
    let done = hush(&[source.to_str().unwrap(), views]).output().unwrap();
    assert!(done.status.success(), "{}", said(&done));
    export("(FORMAT parquet)");
    let done = adopt(place.path(), &exported, "exported", &[]);
    assert!(
        said(&done).contains("2 tables with 99 rows and 2 views"),
        "{}",
        said(&done)
    );
    // Without load.sql, by the names of files.
    std::fs::remove_file(exported.join("load.sql")).unwrap();
    let write = |name: &str, text: &str| std::fs::write(exported.join(name), text).unwrap();
    std::fs::remove_file(exported.join("t.parquet")).unwrap();
    write("t.csv", "name,id\n007,1\n\"a,\"\"b\",2\n");
    let done = adopt(place.path(), &exported, "named", &[]);
    assert!(
        said(&done).contains("2 tables with 2 rows and 2 views"),
        "{}",
        said(&done)
    );
    for (name, text) in [
        ("t.csv", "id,nobody\n1,2\n"),
        ("t.csv", "id,name\nx,2\n"),
        ("schema.sql", "COPY (SELECT 1) TO 'x.csv'"),
        ("schema.sql", "CREATE TABLE nowhere (i INT)"),
        ("more.csv", "a\n1\n"),
    ] {
        let before = std::fs::read(exported.join(name)).ok();
        write(name, text);
        let done = adopt(place.path(), &exported, "refused", &[]);
        assert_eq!(
            done.status.code(),
            Some(1),
            "{name} {text}: {}",
            said(&done)
        );
        match before {
            Some(before) => std::fs::write(exported.join(name), before).unwrap(),
            None => std::fs::remove_file(exported.join(name)).unwrap(),
        }
    }
    assert_eq!(instance::databases(place.path()), 3);
    let server = Running::start(place.path());
    let mut client = Client::connect(&server, "hush", "named", PASSWORD);
    let rows = client.rows("SELECT id, name, at, some IS NULL FROM t ORDER BY id");
    let at = "2020-01-01 00:00:00";
    assert_eq!(rows, [["1", "007", at, "t"], ["2", "a,\"b", at, "t"]]);
    server.stop();
}

/// As pg_dump writes it.
const DUMP: &str = r#"--
-- PostgreSQL database dump
--

\restrict abc

SET statement_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET row_security = off;

CREATE SCHEMA other;
ALTER SCHEMA other OWNER TO postgres;
SET default_table_access_method = heap;

CREATE TABLE other.empty (
    a numeric(9,2) DEFAULT 1.5,
    b bytea
);

CREATE TABLE public.t (
    id integer NOT NULL,
    name character varying(40) DEFAULT 'a;b'::character varying,
    at timestamp without time zone,
    CONSTRAINT t_id_check CHECK ((id >= 0))
);

ALTER TABLE public.t OWNER TO postgres;
COMMENT ON TABLE public.t IS 'of no use; here';

CREATE VIEW public.v AS
 SELECT t.id,
    t.name
   FROM public.t
  WHERE (t.id < 3);

COPY other.empty (a, b) FROM stdin;
\.

--
-- Data for Name: t; Type: TABLE DATA; Schema: public; Owner: postgres
--

COPY public.t (id, name, at) FROM stdin;
1	a\tb; CREATE TABLE x (i INT);	2020-01-01 00:00:00
2	\N	\N
7	-- no comment	\N
\.

ALTER TABLE ONLY public.t
    ADD CONSTRAINT t_pkey PRIMARY KEY (id);
CREATE INDEX t_name ON public.t USING btree (name);
GRANT SELECT ON TABLE public.t TO alice;

\unrestrict abc
"#;

#[test]
fn a_dump_becomes_a_database() {
    let (place, files) = (made(), tempfile::tempdir().unwrap());
    let dump = files.path().join("dump.sql");
    std::fs::write(&dump, DUMP).unwrap();
    let done = adopt(place.path(), &dump, "dumped", &[]);
    assert!(
        said(&done).contains("2 tables with 3 rows and 1 views"),
        "{}",
        said(&done)
    );
    for (from, to, said_of) in [
        // Cut off in its rows, in a statement.
        ("7\t-- no comment\t\\N\n\\.", "", "line "),
        ("\\unrestrict abc\n", "CREATE TABLE x (i", "cut off"),
        ("7\t-- no", "x\t-- no", "line 49"),
        ("7\t-- no", "7\tmore\t-- no", "line 48"),
        ("'UTF8'", "'LATIN1'", "line 8"),
        ("SET row_security = off", "DROP TABLE public.t", "line 11"),
        (
            "SET row_security = off",
            "COPY (SELECT 1) TO 'x'",
            "line 11",
        ),
        ("SET row_security = off", "ATTACH 'x' AS x", "line 11"),
        (
            "SET row_security = off",
            "CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1'",
            "line 11",
        ),
        ("SET row_security = off;", "\\connect other", "line 11"),
        ("-- PostgreSQL database dump", "-- \u{0}", "2 tables"),
    ] {
        assert!(DUMP.contains(from), "{from}");
        std::fs::write(&dump, DUMP.replacen(from, to, 1)).unwrap();
        let name = format!("refused {}", to.len());
        let done = adopt(place.path(), &dump, &name, &[]);
        assert!(said(&done).contains(said_of), "{to}: {}", said(&done));
        assert_eq!(done.status.success(), said_of == "2 tables", "{to}");
    }
    let unknown = "CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1'";
    std::fs::write(&dump, DUMP.replace("SET row_security = off", unknown)).unwrap();
    let done = adopt(place.path(), &dump, "without", &["--leave-out"]);
    assert!(
        said(&done).contains("left out: line 11: CREATE FUNCTION"),
        "{}",
        said(&done)
    );
    let server = Running::start(place.path());
    for name in ["dumped", "without"] {
        let mut client = Client::connect(&server, "hush", name, PASSWORD);
        let rows = client.rows("SELECT id, name, at FROM t ORDER BY id");
        assert_eq!(
            rows[0],
            ["1", "a\tb; CREATE TABLE x (i INT);", "2020-01-01 00:00:00"]
        );
        assert_eq!((rows[1][1].as_str(), rows.len()), ("", 3));
        assert_eq!(client.rows("SELECT id FROM v ORDER BY 1"), [["1"], ["2"]]);
        assert_eq!(client.rows("SELECT count(*) FROM other.empty"), [["0"]]);
        for (sql, sqlstate) in [
            ("INSERT INTO t (id) VALUES (7)", "23505"),
            ("INSERT INTO t (id) VALUES (-7)", "23514"),
        ] {
            assert_eq!(client.run(sql).unwrap_err().sqlstate, sqlstate, "{sql}");
        }
        client.run("INSERT INTO t (id) VALUES (8)").unwrap();
        assert_eq!(client.rows("SELECT name FROM t WHERE id = 8"), [["a;b"]]);
        client.close();
    }
    server.stop();
}

/// What pg_dump writes of a SERIAL.
const SERIAL: &str = r#"CREATE TABLE public.s (
    id integer NOT NULL,
    name text
);
CREATE SEQUENCE public.s_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.s_id_seq OWNED BY public.s.id;
ALTER TABLE ONLY public.s ALTER COLUMN id SET DEFAULT nextval('public.s_id_seq'::regclass);
COPY public.s (id, name) FROM stdin;
1	a
7	b
\.
SELECT pg_catalog.setval('public.s_id_seq', 7, true);
ALTER TABLE ONLY public.s
    ADD CONSTRAINT s_pkey PRIMARY KEY (id);
"#;

#[test]
fn a_dumped_serial_goes_on_where_it_was() {
    let (place, files) = (made(), tempfile::tempdir().unwrap());
    let dump = files.path().join("serial.sql");
    std::fs::write(&dump, SERIAL).unwrap();
    let done = adopt(place.path(), &dump, "serial", &[]);
    assert!(done.status.success(), "{}", said(&done));
    let server = Running::start(place.path());
    let mut client = Client::connect(&server, "hush", "serial", PASSWORD);
    client.run("INSERT INTO s (name) VALUES ('c')").unwrap();
    assert_eq!(client.rows("SELECT max(id) FROM s"), [["8"]]);
    client.run("CREATE SEQUENCE own START 5").unwrap();
    assert_eq!(
        client.rows("SELECT nextval('own'), nextval('own')").len(),
        1
    );
    client.run("DROP SEQUENCE own").unwrap();
    server.stop();
}

#[test]
fn what_cannot_be_adopted_leaves_nothing() {
    let (place, files) = (made(), tempfile::tempdir().unwrap());
    let sealed = source(files.path(), true, 10);
    let nothing = files.path().join("nothing");
    let text = files.path().join("text");
    std::fs::write(&text, "no database").unwrap();
    let damaged = files.path().join("damaged.hushdb");
    let mut bytes = std::fs::read(&sealed).unwrap();
    // Beyond both copies of the header and both superblocks.
    bytes[70_000..].iter_mut().for_each(|byte| *byte ^= 1);
    std::fs::write(&damaged, bytes).unwrap();
    let key = ["--source-key-env", "S"];
    for (source, name, options, code) in [
        (&sealed, "x", [].as_slice(), 1),
        (&sealed, "x", &["--source-key-env", "W"], 3),
        (&sealed, "hush", &key, 2),
        (&sealed, "memory", &key, 2),
        (
            &sealed,
            "x",
            &["--source-key-env", "S", "--owner", "nobody"],
            2,
        ),
        (&nothing, "x", &[], 1),
        (&text, "x", &[], 1),
        (&damaged, "x", &key, 5),
    ] {
        let done = adopt(place.path(), source, name, options);
        assert_eq!(
            done.status.code(),
            Some(code),
            "{options:?}: {}",
            said(&done)
        );
        assert!(!said(&done).contains("of the source"));
        assert!(!nothing.exists());
        assert_eq!(instance::databases(place.path()), 1);
    }
    let server = Running::start(place.path());
    assert_eq!(
        adopt(place.path(), &sealed, "x", &key).status.code(),
        Some(6)
    );
    let mut client = Client::connect(&server, "hush", "hush", PASSWORD);
    assert_eq!(client.rows("SELECT datname FROM pg_database"), [["hush"]]);
    server.stop();
}

#[test]
fn an_adoption_that_is_killed_happened_or_did_not() {
    let files = tempfile::tempdir().unwrap();
    let source = source(files.path(), false, 20_000);
    let (place, key) = with_raw_key();
    let (mut wait, mut undone, mut done) = (Duration::ZERO, 0, 0);
    while done < 2 {
        let mut child = hush(&["adopt"])
            .args([place.path(), &source])
            .args(["--name", "x", "--key-env", "K"])
            .env("K", &key)
            .spawn()
            .unwrap();
        std::thread::sleep(wait);
        let _ = child.kill();
        let status = child.wait().unwrap();
        wait += Duration::from_millis(25);
        let server = Running::start_by(place.path(), &key, &[]);
        let mut client = Client::connect(&server, "hush", "hush", PASSWORD);
        let there = client.rows("SELECT datname FROM pg_database WHERE datname = 'x'");
        let files = 1 + there.len();
        assert_eq!(instance::databases(place.path()), files);
        assert!(!status.success() || there.len() == 1);
        match there.is_empty() {
            true => undone += 1,
            false => {
                let mut x = Client::connect(&server, "hush", "x", PASSWORD);
                let sql = "SELECT count(*) FROM t UNION ALL SELECT n FROM other.w";
                assert_eq!(x.rows(sql), [["19999"], ["2"]]);
                x.close();
                while client.run("DROP DATABASE x").is_err() {
                    std::thread::sleep(Duration::from_millis(20));
                }
                done += 1;
            }
        }
        client.close();
        server.stop();
    }
    assert!(undone > 2, "{undone} kills came before the end");
}
