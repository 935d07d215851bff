//! The 22 TPC-H queries against the official answers: encrypted, plain and reopened files, both crypto providers.

use hushdb::{Database, DatabaseOptions, KeySource, tpch};
use hushdb_crypto::CryptoProvider;
use std::path::Path;

const SF: f64 = 0.01;

fn options(key: bool, crypto: CryptoProvider) -> DatabaseOptions {
    let text = format!("hex:{}", "5a".repeat(32));
    DatabaseOptions {
        key: key.then(|| KeySource::Text(text.as_str().into())),
        crypto,
        // Small row groups, so that scans prune, split and cross their borders.
        row_group_rows: 8192,
        ..DatabaseOptions::default()
    }
}

fn check(database: &Database) {
    let connection = database.connect().unwrap();
    let mut wrong = vec![];
    for number in 1..=tpch::QUERIES {
        let sql = tpch::query(number).unwrap();
        let checked = connection
            .execute(sql)
            .and_then(hushdb::QueryResult::collect_batches)
            .map_err(|e| e.to_string())
            .and_then(|batches| {
                tpch::check_answer(SF, number, &batches).map_err(|e| e.to_string())
            });
        if let Err(error) = checked {
            wrong.push(format!("Q{number}: {error}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Writes with one provider, checks, and checks again after opening the file with each provider.
fn generate_check_reopen(path: &Path, key: bool, writer: CryptoProvider) {
    let database = Database::open_with(Some(path), options(key, writer)).unwrap();
    database
        .connect()
        .unwrap()
        .execute(&format!("CALL dbgen(sf = {SF})"))
        .unwrap();
    check(&database);
    drop(database);
    for crypto in [CryptoProvider::aws_lc(), CryptoProvider::portable()] {
        check(&Database::open_with(Some(path), options(key, crypto)).unwrap());
    }
}

#[test]
fn answers_from_an_encrypted_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("tpch.hushdb");
    generate_check_reopen(&path, true, CryptoProvider::aws_lc());
}

#[test]
fn answers_from_a_file_encrypted_by_the_portable_provider() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("tpch.hushdb");
    generate_check_reopen(&path, true, CryptoProvider::portable());
}

#[test]
fn answers_from_a_plain_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("tpch.hushdb");
    generate_check_reopen(&path, false, CryptoProvider::aws_lc());
}

#[test]
fn answers_from_memory() {
    let database = Database::open_in_memory().unwrap();
    database
        .connect()
        .unwrap()
        .execute(&format!("CALL dbgen(sf = {SF})"))
        .unwrap();
    check(&database);
}
