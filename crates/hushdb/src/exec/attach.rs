//! ATTACH, DETACH and USE.

use crate::connection::Connection;
use crate::database::{Cipher, KeySource, MEMORY, database_name};
use crate::error::{Error, Result};
use crate::result::QueryResult;
use crate::sql::AttachOption;
use hushdb_storage::{Freshness, root_digest_from_hex};
use std::path::Path;

pub(super) fn attach(
    connection: &Connection,
    path: &str,
    name: Option<String>,
    if_not_exists: bool,
    options: Vec<AttachOption>,
) -> Result<QueryResult> {
    let path = Path::new(path);
    let name = name.unwrap_or_else(|| database_name(path));
    if if_not_exists && connection.shared.attached.read().contains_key(&name) {
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
        let missing = || Error::binder(format!("the option {name} needs a value"));
        let text = || value.clone().ok_or_else(missing);
        let secret = || secret.as_deref().ok_or_else(missing);
        let mut source = |given| match key.replace(given) {
            None => Ok(()),
            Some(_) => Err(Error::binder("give the key in one way only")),
        };
        match name.as_str() {
            "encryption_key" => source(KeySource::Text(secret()?.duplicate()))?,
            "encryption_key_env" => source(KeySource::Env(text()?))?,
            "encryption_key_file" => source(KeySource::File(text()?.into()))?,
            "encryption_key_command" => {
                let command = String::from_utf8_lossy(secret()?.expose());
                source(KeySource::Command(command.into_owned()))?;
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
            "read_only" => read_only = flag(&name, value.as_deref())?,
            "read_write" => read_only = !flag(&name, value.as_deref())?,
            "type" => match text()?.to_ascii_lowercase().as_str() {
                "hush" | "hushdb" => {}
                _ => {
                    return Err(Error::unsupported(
                        "only HushDB's own files can be attached",
                    ));
                }
            },
            other => {
                return Err(Error::binder(format!(
                    "Unrecognized option for attach \"{other}\""
                )));
            }
        }
    }
    if cipher.is_some() && key.is_none() {
        return Err(Error::binder("ENCRYPTION_CIPHER needs an ENCRYPTION_KEY"));
    }
    connection
        .shared
        .attach(path, &name, key.as_ref(), cipher, read_only, freshness)?;
    Ok(QueryResult::done())
}

fn flag(name: &str, value: Option<&str>) -> Result<bool> {
    match value.map(str::to_ascii_lowercase).as_deref() {
        None | Some("true" | "1" | "on") => Ok(true),
        Some("false" | "0" | "off") => Ok(false),
        Some(_) => Err(Error::binder(format!("the option {name} is true or false"))),
    }
}

pub(super) fn detach(connection: &Connection, name: &str, if_exists: bool) -> Result<QueryResult> {
    if name == MEMORY {
        return Err(Error::binder("the database \"memory\" is always attached"));
    }
    if connection.session.lock().database == name {
        return Err(Error::binder(format!(
            "Cannot detach database \"{name}\" which is the default database. Select a different database using `USE` \
             to allow detaching this database"
        )));
    }
    if let Some(open) = connection.transaction.lock().as_mut() {
        open.let_go(name)?;
    }
    if connection.shared.attached.write().remove(name).is_none() && !if_exists {
        return Err(Error::catalog(format!(
            "Failed to detach database with name \"{name}\": database not found"
        )));
    }
    Ok(QueryResult::done())
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
