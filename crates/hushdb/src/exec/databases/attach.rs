//! ATTACH, DETACH and USE.
//!
//! What must hold: no error repeats a key, however it was given; a database that is attached already is checked against the key,
//! the cipher and the anchor that it is asked for with.

use crate::anchor_file::AnchorFile;
use crate::attached::Attached;
use crate::instance::{MEMORY, check_cipher, database_name, takes_no_key};
use crate::key_source::{KeyServices, KeySource};
use crate::location::Location;
use crate::options::{AttachOptions, Cipher};
use crate::result::QueryResult;
use crate::session::Session;
use hushdb_crypto::SecretBytes;
use hushdb_query::plan::{TEMP, known_as};
use hushdb_sql::settings_text::plain_text;
use hushdb_sql::{AttachOption, Error, OnConflict, Result, sqlstate};
use hushdb_storage::{MAIN_SCHEMA, key_commitment_from_hex, root_digest_from_hex, same_name};
use parking_lot::Mutex;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(in crate::exec) fn attach(
    session: &Session,
    path: &str,
    name: Option<String>,
    on_conflict: OnConflict,
    options: Vec<AttachOption>,
) -> Result<QueryResult> {
    let path = Path::new(path);
    let name = name.unwrap_or_else(|| database_name(path));
    let options = read_options(options, &session.instance.key_services)?;
    let known = known_as(&*session.instance.attached.read(), &name)
        .map(|(known, there)| (known.clone(), Arc::clone(there)));
    let known = known.filter(|_| on_conflict != OnConflict::Fail);
    let Some((name, old)) = known else {
        let notices = session.instance.attach(path, &name, &options)?;
        session.keep_notices(notices);
        return Ok(QueryResult::done());
    };
    let location = Location::of(path, &session.instance.file_sources)?;
    if old.location == location {
        if old.read_only == options.read_only {
            check_open(session, &old, &options)?;
            keep_anchor(session, name, &old, &options);
            return Ok(QueryResult::done());
        }
        if on_conflict == OnConflict::Keep {
            let mode = |read_only| if read_only { "READ_ONLY" } else { "READ_WRITE" };
            let (is, asked) = (mode(old.read_only), mode(options.read_only));
            return Err(Error::binder(format!(
                "Database \"{name}\" is already attached in {is} mode, cannot re-attach in {asked} mode"
            )));
        }
    } else if on_conflict == OnConflict::Keep {
        return Err(Error::binder(format!(
            "Failed to attach database: \"{name}\" is another file, \"{}\"; give this one another name with AS, or DETACH \
             the other",
            old.location
        )));
    }
    drop(old);
    replace(session, path, &location, &name, &options)?;
    Ok(QueryResult::done())
}

/// Attaches a file in the place of what has the name.
fn replace(
    session: &Session,
    path: &Path,
    location: &Location,
    name: &str,
    options: &AttachOptions,
) -> Result<()> {
    let replaced = let_go(session, name)?;
    // A file is closed before it is opened in another way.
    let replaced =
        replaced.filter(|old| old.location == Location::Memory || old.location != *location);
    let shared = &session.instance;
    let attached = shared.attach(path, name, options);
    if let (Err(_), Some(old)) = (&attached, replaced) {
        shared.attached.write().entry(name.into()).or_insert(old);
    }
    session.keep_notices(attached?);
    // Which another database may not have.
    let mut settings = session.settings.lock();
    if settings.database == name {
        settings.schema = MAIN_SCHEMA.into();
    }
    Ok(())
}

fn read_options(given: Vec<AttachOption>, services: &KeyServices) -> Result<AttachOptions> {
    let mut options = AttachOptions::default();
    let mut key_file = None;
    for option in given {
        match option.name == "key_file" {
            true => read_key_file(&option, &mut key_file)?,
            false => read_option(option, services, &mut options)?,
        }
    }
    if key_file.is_some() && options.key.is_none() {
        return Err(Error::binder("KEY_FILE needs an ENCRYPTION_KEY beside it"));
    }
    options.key = options.key.map(|key| key.with_key_file(key_file));
    match options.cipher.is_some() && options.key.is_none() {
        true => Err(Error::binder("ENCRYPTION_CIPHER needs an ENCRYPTION_KEY")),
        false => Ok(options),
    }
}

pub(in crate::exec) fn unknown_cipher() -> Error {
    Error::invalid("unknown ENCRYPTION_CIPHER; there are 'GCM' and 'CTR'")
}

fn read_option(
    option: AttachOption,
    services: &KeyServices,
    options: &mut AttachOptions,
) -> Result<()> {
    if let Some(source) = key_source(&option, services)? {
        return match options.key.replace(source) {
            None => Ok(()),
            Some(_) => Err(Error::binder("give the key in one way only")),
        };
    }
    let value = value_of(&option)?;
    let text = || value.clone().ok_or_else(without_value);
    match option.name.as_str() {
        "encryption_cipher" => {
            let known = Cipher::by_name(&text()?);
            options.cipher = Some(known.ok_or_else(unknown_cipher)?);
        }
        "expected_root" => {
            options.freshness.expected_root = Some(root_digest_from_hex(&text()?)?);
        }
        "expected_key" => {
            options.freshness.expected_key = Some(key_commitment_from_hex(&text()?)?);
        }
        "min_anchor" => options.freshness.min_anchor = Some(text()?.parse()?),
        "anchor_file" => {
            options.anchor_file = Some(AnchorFile::new(no_key(text()?)?));
        }
        "read_only" => options.read_only = flag("READ_ONLY", value.as_deref())?,
        "read_write" => options.read_only = !flag("READ_WRITE", value.as_deref())?,
        "type" => match text()?.to_ascii_lowercase().as_str() {
            "hush" | "hushdb" => {}
            _ => {
                return Err(Error::unsupported(
                    "only HushDB's own files can be attached",
                ));
            }
        },
        _ => return Err(unknown_option()),
    }
    Ok(())
}

/// `KEY_FILE 'path'`: what belongs to the key.
pub(in crate::exec) fn read_key_file(
    option: &AttachOption,
    into: &mut Option<PathBuf>,
) -> Result<()> {
    match into.replace(no_key(text_of(option)?)?.into()) {
        None => Ok(()),
        Some(_) => Err(Error::binder("give KEY_FILE once")),
    }
}

/// Where the key comes from, if that is what an option says; `None` for options about other things.
pub(in crate::exec) fn key_source(
    option: &AttachOption,
    services: &KeyServices,
) -> Result<Option<KeySource>> {
    // Spelt out, or bound.
    let secret = || match &option.secret {
        Some(secret) => Ok(secret.duplicate()),
        None => text_of(option).map(SecretBytes::from),
    };
    let place = || no_key(String::from_utf8_lossy(secret()?.expose()).into_owned());
    Ok(Some(match option.name.as_str() {
        "encryption_key" => KeySource::Text(secret()?),
        "encryption_key_env" => KeySource::Env(place()?),
        "encryption_key_file" => KeySource::File(place()?.into()),
        "encryption_key_command" => KeySource::Command(place()?),
        name => {
            let service = name.strip_prefix("encryption_key_");
            let found = service.and_then(|name| services.source(name, &secret().ok()?));
            return found.transpose();
        }
    }))
}

/// The text that an option is given.
pub(in crate::exec) fn text_of(option: &AttachOption) -> Result<String> {
    value_of(option)?.ok_or_else(without_value)
}

fn value_of(option: &AttachOption) -> Result<Option<String>> {
    let value = option.value.as_ref().map(|value| {
        plain_text(value)
            .ok_or_else(|| Error::binder("an option is a text, or a parameter that is given one"))
    });
    value.transpose()
}

/// Without its name: what stands in a name's place may be a key.
fn without_value() -> Error {
    Error::binder("an option is without its value")
}

/// Without its name: what stands in its place may be a key.
fn unknown_option() -> Error {
    Error::binder(
        "Unrecognized option for attach; there are ENCRYPTION_KEY, ENCRYPTION_KEY_ENV, ENCRYPTION_KEY_FILE, \
         ENCRYPTION_KEY_COMMAND, where the program knows places for keys ENCRYPTION_KEY_URL, KEY_FILE, ENCRYPTION_CIPHER, READ_ONLY, READ_WRITE, TYPE, EXPECTED_ROOT, EXPECTED_KEY, MIN_ANCHOR and ANCHOR_FILE",
    )
}

/// Holds a database that stays attached against the key, the cipher and the anchor that it is asked for with: who gives one relies
/// on it.
fn check_open(session: &Session, database: &Attached, options: &AttachOptions) -> Result<()> {
    let store = &database.store;
    if database.location == Location::Memory && (options.key.is_some() || options.insists()) {
        return Err(takes_no_key());
    }
    if let Some(key) = &options.key {
        store.opens_with(&*key.provider())?;
    }
    check_cipher(store, options.cipher)?;
    let (wanted, none_yet) = options.wanted()?;
    if let Some(none_yet) = none_yet {
        session.notice(none_yet);
    }
    Ok(store.holds(&wanted)?)
}

/// From now on the anchor of a database that stays attached is kept where it is said, if it is said.
fn keep_anchor(session: &Session, name: String, old: &Attached, options: &AttachOptions) {
    if let Some(kept) = options.keeper(&old.store) {
        let attached = Attached {
            checkpointer: old.checkpointer.clone(),
            store: Arc::clone(&old.store),
            location: old.location.clone(),
            shown: old.shown.clone(),
            read_only: old.read_only,
            kept: Some(kept),
            watch: Mutex::new(old.watch.lock().clone()),
        };
        let mut all = session.instance.attached.write();
        all.insert(name, Arc::new(attached));
    }
}

/// Errors name variables and files, so a key must not be taken for one.
fn no_key(text: String) -> Result<String> {
    match ["hex:", "base64:", "pass:", "recovery:"]
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

pub(in crate::exec) fn detach(
    session: &Session,
    name: &str,
    if_exists: bool,
) -> Result<QueryResult> {
    if same_name(&session.settings.lock().database, name) {
        return Err(Error::binder(format!(
            "Cannot detach database \"{name}\" which is the default database. Select a different database using `USE` \
             to allow detaching this database"
        )));
    }
    if let_go(session, name)?.is_none() && !if_exists {
        return Err(Error::catalog(format!(
            "Failed to detach database with name \"{name}\": database not found"
        ))
        .with_sqlstate(sqlstate::UNKNOWN_DATABASE));
    }
    Ok(QueryResult::done())
}

/// Takes a database's name away, if it has one.
fn let_go(session: &Session, name: &str) -> Result<Option<Arc<Attached>>> {
    if same_name(name, MEMORY) {
        return Err(Error::binder("the database \"memory\" is always attached"));
    }
    let known = known_as(&*session.instance.attached.read(), name).map(|(known, _)| known.clone());
    let Some(name) = known else {
        return Ok(None);
    };
    if let Some(open) = session.transaction.lock().as_mut() {
        open.let_go(&name)?;
    }
    // Who relies on an anchor hears that it could not be written, and may try again.
    if let Some(kept) = &session.instance.database(&name)?.kept {
        kept.write()?;
    }
    Ok(session.instance.attached.write().remove(&name))
}

pub(in crate::exec) fn use_database(session: &Session, parts: &[String]) -> Result<QueryResult> {
    let snapshot = session.snapshot(None);
    let database_of =
        |name: &str| known_as(&snapshot.databases, name).map(|(known, _)| known.clone());
    let schema_of = |database: &str, schema: &str| {
        let version = &snapshot.database(database).ok()?.version;
        let (known, _) = known_as(&version.schemas, schema)?;
        Some((database_of(database)?, known.clone()))
    };
    let is_own = parts.first().is_some_and(|name| same_name(name, TEMP));
    if is_own && snapshot.temporary().is_some() {
        return Err(Error::catalog(
            "SET schema cannot be set to internal schema \"temp\"",
        ));
    }
    let found = match parts {
        [name] => database_of(name)
            .map(|database| (database, MAIN_SCHEMA.to_string()))
            .or_else(|| schema_of(&snapshot.current_database, name)),
        [database, schema] => schema_of(database, schema),
        _ => None,
    };
    let Some((database, schema)) = found else {
        return Err(Error::catalog(format!(
            "SET schema: No catalog + schema named \"{}\" found",
            parts.join(".")
        ))
        .with_sqlstate(sqlstate::UNKNOWN_SCHEMA));
    };
    let mut settings = session.settings.lock();
    settings.database = database;
    settings.schema = schema;
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
        for notice in connection.take_notices() {
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
        let with = |key: Option<&str>, read_only| crate::AttachOptions {
            key: key.map(|key| crate::KeySource::Text(key.into())),
            read_only,
            ..crate::AttachOptions::default()
        };
        let key = Some(KEYS[1]);
        database.attach(&file, "x", &with(key, false)).unwrap();
        connection
            .execute("CREATE TABLE x.t AS SELECT 1 AS a")
            .unwrap();
        let taken = database.attach(&file, "x", &with(key, false)).unwrap_err();
        assert_eq!(taken.kind(), ErrorKind::Binder);
        connection.execute("DETACH x").unwrap();
        let none = database.attach(&file, "x", &with(None, true)).unwrap_err();
        assert_eq!(none.kind(), ErrorKind::KeyRequired);
        database.attach(&file, "x", &with(key, true)).unwrap();
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
