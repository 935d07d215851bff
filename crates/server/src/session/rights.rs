//! `Rights`: what a session's role may do, looked up anew for the first statement after any role has changed, as PostgreSQL does.
//!
//! What must hold: who has lost a right, or is a role no more, runs no statement by it; who ends a transaction may always.

use super::Session;
use super::command::Command;
use crate::instance::catalog::Role;
use crate::shared::Server;
use crate::sql_error::SqlError;
use std::sync::atomic::Ordering;

/// As of a state of all roles.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rights {
    version: u64,
    pub(super) superuser: bool,
    pub(super) create_database: bool,
    /// Whether it may read and write the session's database.
    uses_database: bool,
}

impl Rights {
    /// Those of a role that comes into a database of its own, or is a superuser.
    pub(super) fn at_login(server: &Server, role: &Role) -> Self {
        Self {
            // Whatever has changed since the role was read is seen by the first statement.
            version: server.roles_version.load(Ordering::Acquire).wrapping_sub(1),
            superuser: role.superuser,
            create_database: role.create_database,
            uses_database: true,
        }
    }
}

impl Session {
    /// Looks the role's rights up if any role has changed.
    ///
    /// # Errors
    /// 42501 for who may not use the database any more.
    pub(super) fn heed_rights(&mut self, command: &Command) -> Result<(), SqlError> {
        let version = self.server.roles_version.load(Ordering::Acquire);
        if version != self.rights.version {
            let failed = |_| SqlError::new("58000", "the instance catalog cannot be read");
            let catalog = &self.server.instance.catalog;
            let role = catalog.role(&self.user).map_err(failed)?;
            let database = catalog.database(&self.database).map_err(failed)?;
            let owns = database.is_some_and(|database| database.owner == self.user);
            let superuser = role.as_ref().is_some_and(|role| role.superuser);
            self.rights = Rights {
                version,
                superuser,
                create_database: role.as_ref().is_some_and(|role| role.create_database),
                uses_database: superuser || owns && role.is_some(),
            };
        }
        match self.rights.uses_database || command.is_control() {
            true => Ok(()),
            false => Err(SqlError::denied(format!(
                "permission denied for database \"{}\"",
                self.database
            ))),
        }
    }
}
