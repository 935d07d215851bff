//! `Catalog`: roles, databases, the keyring's rows and the server's secrets, in an encrypted database of their own that no session
//! plans over.
//!
//! What must hold: every change is one commit that waits for the disk.

use super::files::InstanceFiles;
use crate::failure::{FailureKind, Result, ServeError};
use arrow::array::RecordBatch;
use hushdb::{Connection, Database, DatabaseOptions, KeySource, Value};
use parking_lot::Mutex;

/// Names of secrets.
pub(crate) const KEYRING_ROOT: &str = "keyring root";
pub(crate) const MOCK_SECRET: &str = "mock scram";
pub(crate) const TLS_KEY: &str = "tls key";

/// Its tables, as of the first format of instances.
const TABLES: &str = "
    CREATE TABLE roles (name VARCHAR PRIMARY KEY, verifier VARCHAR, superuser BOOLEAN NOT NULL,
        create_database BOOLEAN NOT NULL, login BOOLEAN NOT NULL, connection_limit INTEGER NOT NULL);
    CREATE TABLE databases (id VARCHAR PRIMARY KEY, name VARCHAR NOT NULL UNIQUE, owner VARCHAR NOT NULL,
        state VARCHAR NOT NULL);
    CREATE TABLE keyring (database_id VARCHAR PRIMARY KEY, wrapped BLOB NOT NULL);
    CREATE TABLE secrets (name VARCHAR PRIMARY KEY, value BLOB NOT NULL);";

/// How far a database has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Creating,
    Online,
    Dropping,
}

impl State {
    fn word(self) -> &'static str {
        match self {
            Self::Creating => "creating",
            Self::Online => "online",
            Self::Dropping => "dropping",
        }
    }

    fn of(word: &str) -> Option<Self> {
        [Self::Creating, Self::Online, Self::Dropping]
            .into_iter()
            .find(|state| state.word() == word)
    }
}

/// A database.
#[derive(Clone, Debug)]
pub(crate) struct DatabaseRow {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) owner: String,
    pub(crate) state: State,
}

/// A role.
#[derive(Clone)]
pub(crate) struct Role {
    pub(crate) name: String,
    /// `None` without a password: nobody comes in.
    pub(crate) verifier: Option<String>,
    pub(crate) superuser: bool,
    pub(crate) create_database: bool,
    pub(crate) login: bool,
    /// Sessions at a time; -1 for any number.
    pub(crate) connection_limit: i32,
}

/// The instance's own database.
pub(crate) struct Catalog {
    database: Database,
    connection: Mutex<Connection>,
}

impl Catalog {
    pub(super) fn create(files: &InstanceFiles, key: KeySource) -> Result<Self> {
        let catalog = Self::open(files, key)?;
        catalog.connection.lock().execute(TABLES)?;
        Ok(catalog)
    }

    pub(super) fn open(files: &InstanceFiles, key: KeySource) -> Result<Self> {
        let options = DatabaseOptions {
            key: Some(key),
            external_access: false,
            enforce_encryption: true,
            memory_limit_bytes: Some(64 << 20),
            threads: Some(1),
            file_sources: files.sources(),
            ..DatabaseOptions::default()
        };
        let database = Database::open_with(Some(&files.catalog()), options)?;
        let connection = Mutex::new(database.connect()?);
        Ok(Self {
            database,
            connection,
        })
    }

    pub(super) fn rows(&self, sql: &str, values: &[Value]) -> Result<Vec<Vec<Value>>> {
        let connection = self.connection.lock();
        let result = connection.prepare(sql)?.execute(values)?;
        let mut rows = vec![];
        for batch in result {
            let batch: RecordBatch = batch?;
            for row in 0..batch.num_rows() {
                let values = batch.columns().iter();
                let values = values.map(|column| Value::of(column.as_ref(), row));
                rows.push(values.collect::<hushdb::Result<Vec<_>>>()?);
            }
        }
        Ok(rows)
    }

    /// Runs statements as one commit.
    fn commit(&self, statements: &[(&str, &[Value])]) -> Result<()> {
        let connection = self.connection.lock();
        connection.execute("BEGIN")?;
        let run = || -> hushdb::Result<()> {
            for (sql, values) in statements {
                connection
                    .prepare(sql)?
                    .execute(values)?
                    .collect_batches()?;
            }
            connection.execute("COMMIT").map(drop)
        };
        let done = run();
        if done.is_err() && connection.in_transaction() {
            connection.execute("ROLLBACK")?;
        }
        Ok(done?)
    }

    pub(crate) fn role(&self, name: &str) -> Result<Option<Role>> {
        let rows = self.rows(
            "SELECT name, verifier, superuser, create_database, login, connection_limit FROM roles WHERE name = $1",
            &[name.into()],
        )?;
        rows.into_iter().next().map(role).transpose()
    }

    pub(crate) fn roles(&self) -> Result<Vec<Role>> {
        let rows = self.rows(
            "SELECT name, verifier, superuser, create_database, login, connection_limit FROM roles ORDER BY name",
            &[],
        )?;
        rows.into_iter().map(role).collect()
    }

    /// Adds a role, or puts it in the place of the one that has the name.
    pub(crate) fn put_role(&self, role: &Role) -> Result<()> {
        self.commit(&[
            (
                "DELETE FROM roles WHERE name = $1",
                &[role.name.as_str().into()],
            ),
            (
                "INSERT INTO roles VALUES ($1, $2, $3, $4, $5, $6)",
                &[
                    role.name.as_str().into(),
                    role.verifier.as_deref().into(),
                    role.superuser.into(),
                    role.create_database.into(),
                    role.login.into(),
                    role.connection_limit.into(),
                ],
            ),
        ])
    }

    pub(crate) fn drop_role(&self, name: &str) -> Result<()> {
        self.commit(&[("DELETE FROM roles WHERE name = $1", &[name.into()])])
    }

    pub(crate) fn databases(&self) -> Result<Vec<DatabaseRow>> {
        let rows = self.rows(
            "SELECT id, name, owner, state FROM databases ORDER BY name",
            &[],
        )?;
        rows.into_iter().map(database).collect()
    }

    pub(crate) fn database(&self, name: &str) -> Result<Option<DatabaseRow>> {
        let rows = self.rows(
            "SELECT id, name, owner, state FROM databases WHERE name = $1",
            &[name.into()],
        )?;
        rows.into_iter().next().map(database).transpose()
    }

    pub(super) fn begin_create(
        &self,
        id: &str,
        name: &str,
        owner: &str,
        wrapped: &[u8],
    ) -> Result<()> {
        let state = State::Creating.word();
        self.commit(&[
            (
                "INSERT INTO databases VALUES ($1, $2, $3, $4)",
                &[id.into(), name.into(), owner.into(), state.into()],
            ),
            (
                "INSERT INTO keyring VALUES ($1, $2)",
                &[id.into(), wrapped.into()],
            ),
        ])
    }

    pub(super) fn set_state(&self, id: &str, state: State) -> Result<()> {
        let values = [state.word().into(), id.into()];
        self.commit(&[("UPDATE databases SET state = $1 WHERE id = $2", &values)])
    }

    pub(super) fn rename(&self, id: &str, name: &str) -> Result<()> {
        let values = [name.into(), id.into()];
        self.commit(&[("UPDATE databases SET name = $1 WHERE id = $2", &values)])
    }

    pub(super) fn give_to(&self, id: &str, owner: &str) -> Result<()> {
        let values = [owner.into(), id.into()];
        self.commit(&[("UPDATE databases SET owner = $1 WHERE id = $2", &values)])
    }

    /// Deletes a database's row and its key.
    pub(super) fn forget(&self, id: &str) -> Result<()> {
        self.commit(&[
            ("DELETE FROM databases WHERE id = $1", &[id.into()]),
            ("DELETE FROM keyring WHERE database_id = $1", &[id.into()]),
        ])
    }

    pub(super) fn wrapped_key(&self, id: &str) -> Result<Vec<u8>> {
        self.blob("SELECT wrapped FROM keyring WHERE database_id = $1", id)
    }

    pub(super) fn keep_secret(&self, name: &str, value: &[u8]) -> Result<()> {
        let values = [name.into(), value.into()];
        self.commit(&[("INSERT INTO secrets VALUES ($1, $2)", &values)])
    }

    /// A secret of the server.
    pub(crate) fn secret(&self, name: &str) -> Result<Vec<u8>> {
        self.blob("SELECT value FROM secrets WHERE name = $1", name)
    }

    /// A secret that may be there.
    pub(super) fn secret_if_any(&self, name: &str) -> Result<Option<Vec<u8>>> {
        self.blob_if_any("SELECT value FROM secrets WHERE name = $1", name)
    }

    pub(super) fn forget_secret(&self, name: &str) -> Result<()> {
        self.commit(&[("DELETE FROM secrets WHERE name = $1", &[name.into()])])
    }

    /// Gives a database the key that was kept as a secret until now.
    pub(super) fn put_key(&self, id: &str, wrapped: &[u8], secret: &str) -> Result<()> {
        self.commit(&[
            (
                "UPDATE keyring SET wrapped = $1 WHERE database_id = $2",
                &[wrapped.into(), id.into()],
            ),
            ("DELETE FROM secrets WHERE name = $1", &[secret.into()]),
        ])
    }

    /// Another root of the keyring, and all keys as it wraps them.
    pub(super) fn change_root(
        &self,
        name: &str,
        root: &[u8],
        wrapped: &[(String, Vec<u8>)],
    ) -> Result<()> {
        let values = [root.into(), name.into()];
        let rows: Vec<[Value; 2]> = wrapped
            .iter()
            .map(|(id, key)| [key.as_slice().into(), id.as_str().into()])
            .collect();
        let mut statements: Vec<(&str, &[Value])> =
            vec![("UPDATE secrets SET value = $1 WHERE name = $2", &values)];
        let update = "UPDATE keyring SET wrapped = $1 WHERE database_id = $2";
        statements.extend(rows.iter().map(|row| (update, row.as_slice())));
        self.commit(&statements)
    }

    /// Does something while all of the catalog lies in its files and nobody changes it.
    pub(super) fn at_rest<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let _connection = self.connection.lock();
        self.database.checkpoint(self.database.name())?;
        work()
    }

    fn blob(&self, sql: &str, name: &str) -> Result<Vec<u8>> {
        self.blob_if_any(sql, name)?.ok_or_else(damaged)
    }

    fn blob_if_any(&self, sql: &str, name: &str) -> Result<Option<Vec<u8>>> {
        let row = self.rows(sql, &[name.into()])?.pop();
        match row.and_then(|mut row| row.pop()) {
            None => Ok(None),
            Some(Value::Blob(bytes)) => Ok(Some(bytes)),
            Some(_) => Err(damaged()),
        }
    }

    pub(crate) fn checkpoint(&self) -> Result<()> {
        Ok(self.database.checkpoint(self.database.name())?)
    }
}

fn damaged() -> ServeError {
    ServeError::new(
        FailureKind::Damaged,
        "the instance catalog lacks a row that it must have",
    )
}

fn role(row: Vec<Value>) -> Result<Role> {
    match <[Value; 6]>::try_from(row) {
        Ok(
            [
                Value::Text(name),
                verifier,
                Value::Boolean(superuser),
                Value::Boolean(create_database),
                Value::Boolean(login),
                Value::Integer(limit),
            ],
        ) => Ok(Role {
            name,
            verifier: match verifier {
                Value::Text(verifier) => Some(verifier),
                _ => None,
            },
            superuser,
            create_database,
            login,
            connection_limit: i32::try_from(limit).unwrap_or(-1),
        }),
        _ => Err(damaged()),
    }
}

fn database(row: Vec<Value>) -> Result<DatabaseRow> {
    match <[Value; 4]>::try_from(row) {
        Ok(
            [
                Value::Text(id),
                Value::Text(name),
                Value::Text(owner),
                Value::Text(state),
            ],
        ) => Ok(DatabaseRow {
            id,
            name,
            owner,
            state: State::of(&state).ok_or_else(damaged)?,
        }),
        _ => Err(damaged()),
    }
}
