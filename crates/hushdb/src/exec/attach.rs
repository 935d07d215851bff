//! ATTACH, DETACH and USE.

use crate::connection::Connection;
use crate::database::{Attached, Cipher, KeySource, MEMORY, database_name, place_of};
use crate::error::{Error, Result};
use crate::result::QueryResult;
use crate::sql::settings_text::plain_text;
use crate::sql::{AttachOption, OnConflict};
use hushdb_crypto::SecretBytes;
use hushdb_storage::{Freshness, MAIN_SCHEMA, root_digest_from_hex};
use std::path::Path;
use std::sync::Arc;

pub(super) fn attach(
    connection: &Connection,
    path: &str,
    name: Option<String>,
    on_conflict: OnConflict,
    options: Vec<AttachOption>,
) -> Result<QueryResult> {
    let path = Path::new(path);
    let name = name.unwrap_or_else(|| database_name(path));
    let there = connection.shared.attached.read().get(&name).cloned();
    if there.is_some() && on_conflict == OnConflict::Keep {
        return Ok(QueryResult::done());
    }
    let mut key: Option<KeySource> = None;
    let mut cipher = None;
    let mut read_only = false;
    let mut freshness = Freshness::default();
    for option in options {
        let AttachOption {
            name,
            value,
            secret,
        } = option;
        // What stands in a name's place may be a key.
        let missing = || Error::binder("an option of ATTACH is without its value");
        let value = value.as_ref().map(|value| {
            plain_text(value).ok_or_else(|| {
                Error::binder("an option of ATTACH is a text, or a parameter that is given one")
            })
        });
        let value = value.transpose()?;
        let text = || value.clone().ok_or_else(missing);
        // Spelt out, or bound.
        let secret = || match &secret {
            Some(secret) => Ok(secret.duplicate()),
            None => text().map(SecretBytes::from),
        };
        let mut source = |given| match key.replace(given) {
            None => Ok(()),
            Some(_) => Err(Error::binder("give the key in one way only")),
        };
        match name.as_str() {
            "encryption_key" => source(KeySource::Text(secret()?))?,
            "encryption_key_env" => source(KeySource::Env(no_key(text()?)?))?,
            "encryption_key_file" => source(KeySource::File(no_key(text()?)?.into()))?,
            "encryption_key_command" => {
                let command = secret()?;
                let command = String::from_utf8_lossy(command.expose());
                source(KeySource::Command(no_key(command.into_owned())?))?;
            }
            "encryption_cipher" => {
                let known = Cipher::by_name(&text()?);
                cipher = Some(known.ok_or_else(|| {
                    Error::invalid("unknown ENCRYPTION_CIPHER; there are 'GCM' and 'CTR'")
                })?);
            }
            "expected_root" => {
                freshness.expected_root = Some(root_digest_from_hex(&text()?)?);
            }
            "min_anchor" => freshness.min_anchor = Some(text()?.parse()?),
            "read_only" => read_only = flag("READ_ONLY", value.as_deref())?,
            "read_write" => read_only = !flag("READ_WRITE", value.as_deref())?,
            "type" => match text()?.to_ascii_lowercase().as_str() {
                "hush" | "hushdb" => {}
                _ => {
                    return Err(Error::unsupported(
                        "only HushDB's own files can be attached",
                    ));
                }
            },
            // What stands in its place may be a key.
            _ => {
                return Err(Error::binder(
                    "Unrecognized option for attach; there are ENCRYPTION_KEY, ENCRYPTION_KEY_ENV, ENCRYPTION_KEY_FILE, \
                     ENCRYPTION_KEY_COMMAND, ENCRYPTION_CIPHER, READ_ONLY, READ_WRITE, TYPE, EXPECTED_ROOT and MIN_ANCHOR",
                ));
            }
        }
    }
    if cipher.is_some() && key.is_none() {
        return Err(Error::binder("ENCRYPTION_CIPHER needs an ENCRYPTION_KEY"));
    }
    let replaces = there.is_some() && on_conflict == OnConflict::Replace;
    let place = match path.as_os_str() == ":memory:" {
        true => None,
        false => Some(place_of(path)?),
    };
    let is_same = there.is_some_and(|old| old.path == place && old.read_only == read_only);
    let replaced = match (replaces, is_same) {
        (true, true) => return Ok(QueryResult::done()),
        (true, false) => let_go(connection, &name)?,
        (false, _) => None,
    };
    // A file is closed before it is opened in another way.
    let replaced = replaced.filter(|old| old.path.is_none() || old.path != place);
    let shared = &connection.shared;
    let attached = shared.attach(path, &name, key.as_ref(), cipher, read_only, freshness);
    if let (Err(_), Some(old)) = (&attached, replaced) {
        shared.attached.write().entry(name.clone()).or_insert(old);
    }
    attached?;
    // Which another database may not have.
    let mut session = connection.session.lock();
    if replaces && session.database == name {
        session.schema = MAIN_SCHEMA.into();
    }
    Ok(QueryResult::done())
}

/// Errors name variables and files, so a key must not be taken for one.
fn no_key(text: String) -> Result<String> {
    match ["hex:", "base64:", "pass:"]
        .iter()
        .any(|start| text.starts_with(start))
    {
        true => Err(Error::binder(
            "that is a key: write it after ENCRYPTION_KEY; the other options say where a key is",
        )),
        false => Ok(text),
    }
}

fn flag(name: &str, value: Option<&str>) -> Result<bool> {
    match value.map(str::to_ascii_lowercase).as_deref() {
        None | Some("true" | "1" | "on") => Ok(true),
        Some("false" | "0" | "off") => Ok(false),
        Some(_) => Err(Error::binder(format!("the option {name} is true or false"))),
    }
}

pub(super) fn detach(connection: &Connection, name: &str, if_exists: bool) -> Result<QueryResult> {
    if connection.session.lock().database == name {
        return Err(Error::binder(format!(
            "Cannot detach database \"{name}\" which is the default database. Select a different database using `USE` \
             to allow detaching this database"
        )));
    }
    if let_go(connection, name)?.is_none() && !if_exists {
        return Err(Error::catalog(format!(
            "Failed to detach database with name \"{name}\": database not found"
        )));
    }
    Ok(QueryResult::done())
}

/// Takes a database's name away, if it has one.
fn let_go(connection: &Connection, name: &str) -> Result<Option<Arc<Attached>>> {
    if name == MEMORY {
        return Err(Error::binder("the database \"memory\" is always attached"));
    }
    if let Some(open) = connection.transaction.lock().as_mut() {
        open.let_go(name)?;
    }
    Ok(connection.shared.attached.write().remove(name))
}

pub(super) fn use_database(connection: &Connection, parts: &[String]) -> Result<QueryResult> {
    let snapshot = connection.snapshot();
    let exists = |database: &str, schema: &str| {
        snapshot
            .databases
            .get(database)
            .is_some_and(|d| d.version.schemas.contains_key(schema))
    };
    let (database, schema) = match parts {
        [name] if snapshot.databases.contains_key(name) => (name.clone(), "main".to_string()),
        [name] if exists(&snapshot.current_database, name) => {
            (snapshot.current_database.clone(), name.clone())
        }
        [database, schema] if exists(database, schema) => (database.clone(), schema.clone()),
        _ => {
            return Err(Error::catalog(format!(
                "SET schema: No catalog + schema named \"{}\" found",
                parts.join(".")
            )));
        }
    };
    let mut session = connection.session.lock();
    session.database = database;
    session.schema = schema;
    Ok(QueryResult::done())
}

#[cfg(test)]
mod tests {
    use crate::{Database, ErrorKind, Value};
    use proptest::prelude::*;

    const KEYS: [&str; 3] = [
        "correct horse battery staple",
        "hex:000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
        "sesame\u{17f}open",
    ];

    /// What stands before and behind a key. No single change makes such a statement create a file.
    const AROUND: [(&str, &str); 6] = [
        (
            "ATTACH '/no/such/place/f' AS x (ENCRYPTION_KEY '",
            "', READ_ONLY)",
        ),
        (
            "ATTACH DATABASE IF NOT EXISTS '/no/such/place/f' (READ_ONLY, ENCRYPTION_CIPHER 'GCM', ENCRYPTION_KEY $$",
            "$$)",
        ),
        (
            "attach '/no/such/place/f' as x (read_only true, encryption_key = E'",
            "')",
        ),
        (
            "ATTACH '/no/such/place/f' AS x (ENCRYPTION_KEY \"",
            "\", READ_ONLY)",
        ),
        (
            "/* now */ ATTACH '/no/such/place/f' AS x (READ_ONLY, ENCRYPTION_KEY ",
            ")",
        ),
        (
            "PREPARE p AS ATTACH '/no/such/place/f' AS x (READ_ONLY, ENCRYPTION_KEY '",
            "')",
        ),
    ];

    fn hold(sql: &str, key: &str) -> Result<(), TestCaseError> {
        let database = Database::open_in_memory().unwrap();
        let connection = database.connect().unwrap();
        let errors = [
            connection.execute(sql).err(),
            connection.run(sql).err(),
            connection.prepare(sql).err(),
            connection.run(&format!("EXPLAIN {sql}")).err(),
            connection.run(&format!("SELECT * FROM ({sql})")).err(),
        ];
        for error in errors.into_iter().flatten() {
            for text in [error.to_string(), format!("{error:?}")] {
                let found = key.split(' ').any(|part| text.contains(part));
                prop_assert!(!found, "{sql}\n{text}");
            }
        }
        for notice in database.take_notices() {
            prop_assert!(!notice.contains(key), "{notice}");
        }
        Ok(())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]

        #[test]
        fn no_error_of_a_changed_attach_repeats_its_key(
            key in 0..KEYS.len(),
            around in 0..AROUND.len(),
            at in any::<prop::sample::Index>(),
            removed in 0..12_usize,
            inserted in "[ '\"$();,=a-zA-Z0-9_-]{0,3}",
        ) {
            let (before, after) = AROUND[around];
            let mut sides = [before.to_string(), after.to_string()];
            let at = at.index(before.len() + after.len());
            let (side, at) = match at.checked_sub(before.len()) {
                Some(at) => (1, at),
                None => (0, at),
            };
            let end = sides[side].len().min(at + removed);
            sides[side].replace_range(at..end, &inserted);
            let key = KEYS[key];
            hold(&format!("{}{key}{}", sides[0], sides[1]), key)?;
        }
    }

    #[test]
    fn a_key_may_be_bound() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("f.hushdb");
        let attach = format!("ATTACH '{}' AS x (ENCRYPTION_KEY ?)", file.display());
        let database = Database::open_in_memory().unwrap();
        let connection = database.connect().unwrap();
        let prepared = connection.prepare(&attach).unwrap();
        assert_eq!(prepared.parameter_count(), 1);
        prepared.execute(&[Value::Text(KEYS[1].into())]).unwrap();
        connection
            .execute("CREATE TABLE x.t AS SELECT 1 AS a")
            .unwrap();
        connection.execute("DETACH x").unwrap();
        let wrong = Value::Text(KEYS[1].replace("00", "ff"));
        let error = prepared.execute(&[wrong]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::WrongKey);
        let error = prepared.execute(&[Value::Blob(vec![7; 32])]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Binder);
        assert!(prepared.execute(&[]).is_err());
        connection
            .execute(&format!("PREPARE open AS {}", attach.replace('?', "$1")))
            .unwrap();
        connection
            .execute(&format!("EXECUTE open('{}')", KEYS[1]))
            .unwrap();
        connection.execute("FROM x.t").unwrap();
    }

    #[test]
    fn the_library_attaches_without_a_text() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("f.hushdb");
        let database = Database::open_in_memory().unwrap();
        let connection = database.connect().unwrap();
        let key = crate::KeySource::Text(KEYS[1].into());
        database.attach(&file, "x", Some(&key), false).unwrap();
        connection
            .execute("CREATE TABLE x.t AS SELECT 1 AS a")
            .unwrap();
        let taken = database.attach(&file, "x", Some(&key), false).unwrap_err();
        assert_eq!(taken.kind(), ErrorKind::Binder);
        connection.execute("DETACH x").unwrap();
        let none = database.attach(&file, "x", None, true).unwrap_err();
        assert_eq!(none.kind(), ErrorKind::KeyRequired);
        database.attach(&file, "x", Some(&key), true).unwrap();
        connection.execute("FROM x.t").unwrap();
        assert!(connection.execute("DROP TABLE x.t").is_err());
    }

    #[test]
    fn a_key_is_no_name_of_a_place() {
        let database = Database::open_in_memory().unwrap();
        let connection = database.connect().unwrap();
        for option in ["ENV", "FILE", "COMMAND"] {
            let key = KEYS[1];
            let sql = format!("ATTACH '/no/such/f' AS x (ENCRYPTION_KEY_{option} '{key}')");
            let error = connection.execute(&sql).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Binder);
            assert!(!error.to_string().contains(key), "{error}");
        }
    }
}
