//! What a user of encrypted databases types, from beginning to end, as the documents of such databases have it.

use super::place::Place;

const SESSION: &str = "
PRAGMA disable_checkpoint_on_shutdown;
PRAGMA wal_autocheckpoint = '1TB';
INSTALL tpch;
LOAD tpch;
INSTALL httpfs;
LOAD httpfs;
LOAD parquet;
LOAD json;
LOAD icu;
LOAD core_functions;
SET memory_limit = '200MB';
SET temp_file_encryption = true;
SET threads = 2;
ATTACH 'plain.hushdb' AS m;
CALL dbgen(sf = 0.01, catalog = 'm');
ATTACH 'f' AS n (ENCRYPTION_KEY 'k', ENCRYPTION_CIPHER 'GCM');
USE n;
CREATE TABLE n.t AS FROM m.lineitem;
CREATE OR REPLACE TABLE t AS FROM m.lineitem;
ALTER TABLE t RENAME TO l;
SELECT count(*) AS rows FROM (SELECT l1.*, l2.* FROM l l1 JOIN m.lineitem l2 USING (l_orderkey, l_linenumber));
FROM l SELECT max(l_orderkey) AS last;
DROP TABLE l;
CALL dbgen(sf = 0.001);
ATTACH 'g' AS g (ENCRYPTION_KEY 'another', ENCRYPTION_CIPHER 'GCM');
COPY FROM DATABASE n TO g;
SELECT count(*) AS copied FROM g.lineitem;
SELECT column_name, min, max FROM (SUMMARIZE g.nation);
SUMMARIZE n.lineitem;
SELECT name, encrypted, cipher FROM databases() ORDER BY name;
FROM duckdb_databases();
USE memory;
DETACH n;
DETACH g;
";

#[test]
fn a_whole_session_runs_unchanged() {
    let place = Place::new();
    let run = place.piped(&["--csv"], SESSION);
    let said = run.ok();
    for line in [
        "rows\n60175\n",
        "last\n60000\n",
        "copied\n6005\n",
        "n_regionkey,0,4\n",
        "l_orderkey,BIGINT,1,5988,",
        "g,true,GCM\n",
        "m,false,NULL\n",
        "memory,false,NULL\n",
        "n,true,GCM\n",
    ] {
        assert!(said.contains(line), "{line}\n{said}");
    }
    // Extensions are answered, with what there is and what there is not.
    let notices = run.err();
    assert!(notices.contains("tpch is built in"), "{notices}");
    assert!(notices.contains("no reading over HTTP"), "{notices}");
    // No key is said anywhere.
    assert!(!said.contains("another") && !notices.contains("another"));

    // The copies are encrypted, under their own keys.
    let reopen =
        "ATTACH 'g' AS g (ENCRYPTION_KEY 'another'); SELECT count(*) AS n FROM g.lineitem;";
    assert_eq!(place.piped(&["--csv"], reopen).ok(), "n\n6005\n");
    place
        .piped(&["--csv"], "ATTACH 'g' AS g (ENCRYPTION_KEY 'k')")
        .refused();
    place.piped(&["--csv"], "ATTACH 'g' AS g").refused();
}

#[test]
fn keys_come_from_where_they_are_said_to_be() {
    let place = Place::new();
    place.write("key.txt", &format!("{}\n", super::place::KEY_A));
    place
        .hush(&[
            "--key-env",
            "KEY_A",
            "a.hush",
            "CREATE TABLE t AS SELECT 7 AS x",
        ])
        .ok();
    for (option, value) in [
        ("ENCRYPTION_KEY", super::place::KEY_A),
        ("ENCRYPTION_KEY_ENV", "KEY_A"),
        ("ENCRYPTION_KEY_FILE", "key.txt"),
        ("ENCRYPTION_KEY_COMMAND", "cat key.txt"),
    ] {
        let attach = format!("ATTACH 'a.hush' AS a ({option} '{value}'); SELECT x FROM a.t;");
        assert_eq!(place.piped(&["--csv"], &attach).ok(), "x\n7\n", "{option}");
        let bound = format!(
            "PREPARE p AS ATTACH 'a.hush' AS a ({option} $1); EXECUTE p('{value}'); SELECT x FROM a.t;"
        );
        assert_eq!(place.piped(&["--csv"], &bound).ok(), "x\n7\n", "{option}");
    }
    let two = "ATTACH 'a.hush' AS a (ENCRYPTION_KEY_ENV 'KEY_A', ENCRYPTION_KEY_FILE 'key.txt')";
    assert!(
        place
            .piped(&["--csv"], two)
            .refused()
            .contains("one way only")
    );
    for (option, value) in [
        ("ENCRYPTION_KEY_ENV", "NO_SUCH_VARIABLE"),
        ("ENCRYPTION_KEY_FILE", "nothing.txt"),
        ("ENCRYPTION_KEY_COMMAND", "false"),
        ("ENCRYPTION_KEY_ENV", "KEY_B"),
    ] {
        let attach = format!("ATTACH 'a.hush' AS a ({option} '{value}')");
        let said = place.piped(&["--csv"], &attach).refused();
        assert!(!said.contains("hex:"), "{said}");
    }
}

#[test]
fn encryption_can_be_enforced() {
    let place = Place::new();
    let run = place.piped(
        &["--csv"],
        "ATTACH 'p.hush' AS p; SET enforce_encryption = true; ATTACH 'q.hush' AS q;",
    );
    let said = run.err();
    assert_eq!(run.0.status.code(), Some(1), "{said}");
    assert!(said.contains("\"p\" is plain"), "{said}");
    assert!(said.contains("enforce_encryption is on"), "{said}");
    assert!(!place.path("q.hush").exists());
}
