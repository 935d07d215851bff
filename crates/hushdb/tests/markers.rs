//! Text that is written through SQL, wherever text can go, is nowhere in an encrypted file, whole or in part, in any
//! case, as hex or as UTF-16; with both crypto providers, each reading what the other wrote.
//!
//! The same text is looked for and found in a plain file, so the search is known to find what is there.

use hushdb::{Connection, Database, DatabaseOptions, KeySource};
use hushdb_crypto::CryptoProvider;
use std::collections::HashSet;
use std::path::Path;

/// Bytes of a piece that is looked for: short enough to catch a cut value, too long to come up by chance.
const PIECE: usize = 8;

/// 64 letters, different ones for each place.
fn marker(place: &str) -> String {
    let mut state = place
        .bytes()
        .fold(0x9e37_79b9_7f4a_7c15_u64, |state, byte| {
            (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
    let letters = (0..64).map(|_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        char::from(b'a' + (state % 26) as u8)
    });
    letters.collect()
}

/// Everything that is written, by the place where it goes.
const PLACES: [&str; 12] = [
    "schema",
    "table",
    "column",
    "default",
    "check",
    "check name",
    "view",
    "view text",
    "varchar",
    "blob",
    "renamed",
    "passphrase",
];
/// What a plain file holds as it was written; values are compressed, and it has no passphrase.
const AS_WRITTEN: usize = 8;

fn statements() -> Vec<String> {
    let [
        schema,
        table,
        column,
        default,
        check,
        check_name,
        view,
        text,
        varchar,
        blob,
        renamed,
        _,
    ] = PLACES.map(marker);
    vec![
        format!("CREATE SCHEMA {schema}"),
        format!(
            "CREATE TABLE {table} ({column} VARCHAR DEFAULT '{default}', b BLOB, \
             CONSTRAINT {check_name} CHECK ({column} <> '{check}'))"
        ),
        format!("INSERT INTO {table} VALUES ('{varchar}', '{blob}'::BLOB)"),
        format!("INSERT INTO {table} (b) VALUES ('{blob}'::BLOB)"),
        format!("CREATE TABLE {schema}.copied AS SELECT * FROM {table}, range(3000)"),
        format!("CREATE VIEW {view} AS SELECT '{text}' AS q"),
        // What is replaced and dropped stays in the file until its room is used again.
        format!("CREATE TABLE gone AS SELECT * FROM {table}"),
        format!("ALTER TABLE gone RENAME TO {renamed}"),
        format!("DROP TABLE {renamed}"),
        format!("UPDATE {table} SET b = '{varchar}'::BLOB WHERE {column} = '{varchar}'"),
        format!("DELETE FROM {table} WHERE {column} = '{default}'"),
    ]
}

fn options(encrypted: bool, crypto: CryptoProvider) -> DatabaseOptions {
    let key = format!("pass:{}", marker("passphrase"));
    DatabaseOptions {
        key: encrypted.then(|| KeySource::Text(key.as_str().into())),
        crypto,
        ..DatabaseOptions::default()
    }
}

fn run(connection: &Connection, sql: &str) -> usize {
    let batches = connection
        .execute(sql)
        .and_then(hushdb::QueryResult::collect_batches);
    let batches = batches.unwrap_or_else(|error| panic!("{sql}\n{error}"));
    batches.iter().map(|batch| batch.num_rows()).sum()
}

/// Writes the statements' text into a file; gives the bytes of the file and its log while it is open, and of the file after
/// it was closed.
fn write(path: &Path, options: DatabaseOptions) -> [Vec<u8>; 2] {
    let database = Database::open_with(Some(path), options).unwrap();
    let connection = database.connect().unwrap();
    for sql in statements() {
        run(&connection, &sql);
    }
    let mut log = path.as_os_str().to_owned();
    log.push(".wal");
    let log = std::fs::read(log).unwrap();
    assert!(!log.is_empty());
    let open = [std::fs::read(path).unwrap(), log].concat();
    drop((connection, database));
    [open, std::fs::read(path).unwrap()]
}

/// A text as somebody might have written it.
fn forms(text: &str) -> Vec<(&'static str, Vec<u8>)> {
    let hex: String = text.bytes().map(|byte| format!("{byte:02x}")).collect();
    let wide =
        |text: &str, bytes: fn(u16) -> [u8; 2]| text.encode_utf16().flat_map(bytes).collect();
    let upper = text.to_uppercase();
    vec![
        ("as it is", text.into()),
        ("reversed", text.bytes().rev().collect()),
        ("in hex", hex.clone().into()),
        ("in upper-case hex", hex.to_uppercase().into()),
        ("in UTF-16, low byte first", wide(text, u16::to_le_bytes)),
        ("in UTF-16, high byte first", wide(text, u16::to_be_bytes)),
        (
            "upper-case in UTF-16, low byte first",
            wide(&upper, u16::to_le_bytes),
        ),
        (
            "upper-case in UTF-16, high byte first",
            wide(&upper, u16::to_be_bytes),
        ),
        ("in upper case", upper.into()),
    ]
}

/// All runs of `PIECE` bytes.
fn pieces(bytes: &[u8]) -> HashSet<&[u8]> {
    bytes.windows(PIECE).collect()
}

/// The places and forms of which any piece is in the file.
fn found(bytes: &[u8]) -> Vec<(&'static str, &'static str)> {
    let present = pieces(bytes);
    let mut found = vec![];
    for place in PLACES {
        for (form, text) in forms(&marker(place)) {
            // Eight bytes of UTF-16 are four letters, too few to be sure of: two pieces side by side must be there.
            if text.windows(2 * PIECE).any(|run| {
                let (start, end) = run.split_at(PIECE);
                present.contains(start) && present.contains(end)
            }) {
                found.push((place, form));
            }
        }
    }
    found
}

#[test]
fn the_search_finds_what_is_there() {
    for place in PLACES {
        for (form, text) in forms(&marker(place)) {
            let mut bytes = vec![0x5a; 3000];
            assert_eq!(found(&bytes), []);
            // A cut value, at an odd place.
            bytes[1001..1021].copy_from_slice(&text[13..33]);
            assert!(found(&bytes).contains(&(place, form)), "{place} {form}");
        }
    }
    let directory = tempfile::tempdir().unwrap();
    let options = options(false, CryptoProvider::aws_lc());
    for bytes in write(&directory.path().join("plain.db"), options) {
        for place in &PLACES[..AS_WRITTEN] {
            let text = marker(place);
            assert!(
                bytes.windows(64).any(|run| run == text.as_bytes()),
                "{place}"
            );
        }
        // The start of a value is a bound of its column.
        assert!(found(&bytes).contains(&("varchar", "as it is")));
    }
}

#[test]
fn no_marker_is_in_an_encrypted_file() {
    let providers = [CryptoProvider::aws_lc(), CryptoProvider::portable()];
    for (writer, reader) in [(0, 1), (1, 0)] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("sealed.db");
        for bytes in write(&path, options(true, providers[writer])) {
            assert_eq!(
                found(&bytes),
                [],
                "written with {}",
                providers[writer].name()
            );
        }
        let files: Vec<_> = std::fs::read_dir(directory.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert_eq!(files, ["sealed.db"], "nothing else is left");

        let database = Database::open_with(Some(&path), options(true, providers[reader])).unwrap();
        let connection = database.connect().unwrap();
        let [schema, table, column, _, _, _, view, text, varchar, ..] = PLACES.map(marker);
        let same =
            format!("SELECT 1 FROM {table} WHERE {column} = '{varchar}' AND b = '{varchar}'::BLOB");
        assert_eq!(run(&connection, &same), 1);
        assert_eq!(run(&connection, &format!("SELECT 1 FROM {table}")), 1);
        assert_eq!(
            run(&connection, &format!("SELECT 1 FROM {schema}.copied")),
            6000
        );
        assert_eq!(
            run(
                &connection,
                &format!("SELECT 1 FROM {view} WHERE q = '{text}'")
            ),
            1
        );
        run(
            &connection,
            &format!("INSERT INTO {table} ({column}) VALUES ('x')"),
        );
        drop((connection, database));
        assert_eq!(found(&std::fs::read(&path).unwrap()), []);
    }
}
