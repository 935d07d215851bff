//! `Engine` and `Subject`: who is measured, under which key, and how it attaches a file.

use std::path::Path;

/// A raw key, so that opening costs no key derivation from a passphrase. It protects nothing: the data is public.
const KEY: &str = "hex:000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
/// DuckDB takes base64 text for a raw key.
const DUCKDB_KEY: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
/// And SQLCipher a blob.
const SQLCIPHER_KEY: &str = "x'000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f'";

/// One that is measured.
#[derive(Clone, Copy)]
pub(crate) struct Subject {
    pub(crate) name: &'static str,
    pub(crate) engine: Engine,
    pub(crate) key: Option<&'static str>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Engine {
    Hush,
    Duckdb,
    Sqlcipher,
}

pub(crate) const ENCRYPTED: Subject = Subject {
    name: "encrypted",
    engine: Engine::Hush,
    key: Some(KEY),
};
pub(crate) const PLAIN: Subject = Subject {
    name: "plain",
    engine: Engine::Hush,
    key: None,
};
pub(crate) const CONTROL: Subject = Subject {
    name: "control",
    engine: Engine::Hush,
    key: None,
};
pub(crate) const DUCKDB: Subject = Subject {
    name: "duckdb",
    engine: Engine::Duckdb,
    key: Some(DUCKDB_KEY),
};
pub(crate) const SQLCIPHER: Subject = Subject {
    name: "sqlcipher",
    engine: Engine::Sqlcipher,
    key: Some(SQLCIPHER_KEY),
};

/// What an engine's files end with.
pub(crate) fn engine_name(engine: Engine) -> &'static str {
    match engine {
        Engine::Hush => "hushdb",
        Engine::Duckdb => "duckdb",
        Engine::Sqlcipher => "sqlite",
    }
}

/// The statement that attaches a file.
pub(crate) fn attach(path: &Path, name: &str, key: Option<&str>, read_only: bool) -> String {
    let mut options = Vec::new();
    if let Some(key) = key {
        options.push(format!("ENCRYPTION_KEY '{key}', ENCRYPTION_CIPHER 'GCM'"));
    }
    if read_only {
        options.push("READ_ONLY".to_owned());
    }
    let options = if options.is_empty() {
        String::new()
    } else {
        format!(" ({})", options.join(", "))
    };
    format!(
        "ATTACH '{}' AS {name}{options}",
        path.display().to_string().replace('\'', "''")
    )
}
