//! `Host`: what a server says of itself to the statements of one of its sessions. They ask for it in `pg_catalog`.
//!
//! What must hold: of other databases it says their names, and of nothing more than a session of the role may know.

use hushdb_sql::Result;

/// A role of a server.
#[derive(Clone, Debug)]
pub struct HostRole {
    /// Its name.
    pub name: String,
    /// Whether it may do everything.
    pub superuser: bool,
    /// Whether it may make databases.
    pub create_database: bool,
    /// Whether it may come in.
    pub login: bool,
    /// Sessions at a time; -1 for any number.
    pub connection_limit: i32,
}

/// A database of a server.
#[derive(Clone, Debug)]
pub struct HostDatabase {
    /// Its name.
    pub name: String,
    /// The role that owns it.
    pub owner: String,
}

/// A setting of a session.
#[derive(Clone, Debug)]
pub struct HostSetting {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
    /// Its value after RESET.
    pub reset_value: String,
}

/// A session of a server.
#[derive(Clone, Debug)]
pub struct HostSession {
    /// Its number.
    pub number: u32,
    /// Whose it is.
    pub user: String,
    /// The database that it sees.
    pub database: String,
    /// Whether a statement runs in it.
    pub busy: bool,
}

/// A server, as one session of it sees it.
pub trait Host: Send + Sync {
    /// The role of the session.
    fn user(&self) -> String;
    /// The number of the session.
    fn session(&self) -> u32;
    /// All roles.
    fn roles(&self) -> Vec<HostRole>;
    /// All databases.
    fn databases(&self) -> Vec<HostDatabase>;
    /// The settings of the session.
    fn settings(&self) -> Vec<HostSetting>;
    /// A setting of the session, if it has one of the name.
    fn setting(&self, name: &str) -> Option<String>;
    /// Sets a setting of the session, to the end of its transaction if it is local, and gives its value then.
    ///
    /// # Errors
    /// `InvalidInput` for a setting that is not there, or is not set within a query.
    fn set(&self, name: &str, value: &str, local: bool) -> Result<String>;
    /// The sessions that the session may know of.
    fn sessions(&self) -> Vec<HostSession>;
}
