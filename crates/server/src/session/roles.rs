//! Databases and roles by SQL: CREATE, ALTER and DROP, and who may.
//!
//! What must hold: a password becomes a verifier here, and is kept nowhere.

use super::command::{DatabaseChange, RoleChange};
use super::{Fail, Session};
use crate::auth::verifier::Verifier;
use crate::failure::ServeError;
use crate::instance::catalog::{DatabaseRow, Role};
use crate::sql_error::SqlError;
use std::sync::atomic::Ordering;
use zeroize::Zeroizing;

fn failed(error: ServeError) -> SqlError {
    SqlError::new("58000", error.to_string())
}

impl Session {
    /// `ALTER TABLE ... OWNER TO`: all that is in a database is its owner's.
    pub(super) fn owner_to(&self, role: &str) -> Result<(), SqlError> {
        let role = match role {
            "current_user" | "session_user" | "current_role" => self.user.as_str(),
            role => role,
        };
        let databases = self.server.instance.catalog.databases();
        let own = databases
            .iter()
            .flatten()
            .find(|row| row.name == self.database);
        match own.is_some_and(|row| row.owner == role) {
            true => Ok(()),
            false => Err(SqlError::missing(
                "another owner of what is in a database than the database's own",
            )
            .with_hint("ALTER DATABASE ... OWNER TO")),
        }
    }

    pub(super) fn create_database(&self, name: &str, owner: Option<&str>) -> Result<(), SqlError> {
        if !self.rights.superuser && !self.rights.create_database {
            return Err(SqlError::denied("permission denied to create database"));
        }
        let owner = owner.unwrap_or(&self.user);
        if owner != self.user && !self.rights.superuser {
            return Err(SqlError::denied(format!(
                "must be able to SET ROLE \"{owner}\""
            )));
        }
        Ok(self.server.instance.create(name, owner)?)
    }

    pub(super) fn drop_database(&mut self, name: &str, if_exists: bool) -> Result<(), SqlError> {
        let row = match self.server.instance.online(name) {
            Ok(row) => row,
            Err(_) if if_exists => {
                let notice = format!("database \"{name}\" does not exist, skipping");
                self.talk.report("NOTICE", &SqlError::new("00000", notice));
                return Ok(());
            }
            Err(refused) => return Err(refused.into()),
        };
        self.owns(&row)?;
        if name == self.database {
            return Err(SqlError::new(
                "55006",
                "cannot drop the currently open database",
            ));
        }
        Ok(self.server.instance.drop_database(name)?)
    }

    fn owns(&self, row: &DatabaseRow) -> Result<(), SqlError> {
        match self.rights.superuser || row.owner == self.user {
            true => Ok(()),
            false => Err(SqlError::denied(format!(
                "must be owner of database {}",
                row.name
            ))),
        }
    }

    pub(super) fn alter_database(
        &mut self,
        name: &str,
        change: &DatabaseChange,
    ) -> Result<(), Fail> {
        let instance = &self.server.instance;
        let row = instance.online(name).map_err(SqlError::from)?;
        self.owns(&row)?;
        match change {
            DatabaseChange::OwnerTo(role) => {
                if !self.rights.superuser && *role != self.user {
                    let message = format!("must be able to SET ROLE \"{role}\"");
                    return Err(SqlError::denied(message).into());
                }
                let _roles = self.server.roles.lock();
                instance.give_to(name, role).map_err(SqlError::from)?;
                // Who owned it may not use it any more.
                self.server.roles_version.fetch_add(1, Ordering::AcqRel);
                Ok(())
            }
            DatabaseChange::RenameTo(_)
                if !self.rights.superuser && !self.rights.create_database =>
            {
                Err(SqlError::denied("permission denied to rename database").into())
            }
            DatabaseChange::RenameTo(new) => {
                if *name == self.database {
                    let message = "current database cannot be renamed";
                    return Err(SqlError::new("0A000", message).into());
                }
                Ok(instance.rename(name, new).map_err(SqlError::from)?)
            }
            DatabaseChange::RotateKey | DatabaseChange::RotateDataKey => {
                // Nobody drops, renames or closes it as long as it counts as a session.
                drop(instance.connect(&row).map_err(SqlError::from)?);
                let sealed = self.timed(|session| session.seal_anew(name, change));
                self.server.instance.disconnected(name);
                if !sealed? {
                    let notice = "older transactions keep some blocks under the old data key: ROTATE DATA KEY goes on with them later";
                    self.talk.report("NOTICE", &SqlError::new("00000", notice));
                }
                Ok(())
            }
        }
    }

    /// Whether all was sealed anew.
    fn seal_anew(&self, name: &str, change: &DatabaseChange) -> Result<bool, Fail> {
        match change {
            DatabaseChange::RotateKey => {
                let rotated = self.server.instance.rotate_key(name, &self.connection);
                rotated.map_err(SqlError::from)?;
            }
            _ => self.connection.begin_rekey(name, None)?,
        }
        Ok(self.connection.seal_anew(name)?)
    }

    /// CREATE ROLE, or ALTER ROLE.
    pub(super) fn change_role(&self, change: &RoleChange, create: bool) -> Result<(), SqlError> {
        let own_password = !create
            && change.name == self.user
            && change.password.is_some()
            && change
                .superuser
                .or(change.create_database)
                .or(change.login)
                .is_none()
            && change.connection_limit.is_none();
        if !self.rights.superuser && !own_password {
            return Err(SqlError::denied(
                "permission denied: roles are changed by superusers",
            ));
        }
        if change.name.is_empty() || change.name.len() > 63 {
            return Err(SqlError::new("42602", "a role is called by 1 to 63 bytes"));
        }
        let _roles = self.server.roles.lock();
        let catalog = &self.server.instance.catalog;
        let before = catalog.role(&change.name).map_err(failed)?;
        let mut role = match (before, create) {
            (Some(_), true) => {
                let message = format!("role \"{}\" already exists", change.name);
                return Err(SqlError::new("42710", message));
            }
            (None, false) => return Err(unknown(&change.name)),
            (Some(role), false) => role,
            (None, true) => Role {
                name: change.name.clone(),
                verifier: None,
                superuser: false,
                create_database: false,
                login: false,
                connection_limit: -1,
            },
        };
        if let Some(password) = &change.password {
            role.verifier = self.verifier(password.as_deref())?;
        }
        role.superuser = change.superuser.unwrap_or(role.superuser);
        role.create_database = change.create_database.unwrap_or(role.create_database);
        role.login = change.login.unwrap_or(role.login);
        role.connection_limit = change.connection_limit.unwrap_or(role.connection_limit);
        if !role.superuser {
            self.keep_a_superuser(&role.name)?;
        }
        catalog.put_role(&role).map_err(failed)?;
        self.server.roles_version.fetch_add(1, Ordering::AcqRel);
        Ok(())
    }

    fn verifier(&self, password: Option<&str>) -> Result<Option<String>, SqlError> {
        let Some(password) = password.filter(|password| !password.is_empty()) else {
            return Ok(None);
        };
        let password = Zeroizing::new(password.to_owned());
        if password.starts_with("md5") && password.len() == 35 {
            return Err(SqlError::missing("an MD5 password"));
        }
        let verifier = Verifier::parse(&password)
            .or_else(|| Verifier::of_password(&self.server.crypto, &password));
        let verifier =
            verifier.ok_or_else(|| SqlError::new("58000", "the system has no random bytes"))?;
        Ok(Some(verifier.to_text()))
    }

    /// Somebody has to be left who may do everything.
    fn keep_a_superuser(&self, without: &str) -> Result<(), SqlError> {
        let roles = self.server.instance.catalog.roles().map_err(failed)?;
        let is_left = roles
            .iter()
            .any(|role| role.superuser && role.login && role.name != without);
        match is_left {
            true => Ok(()),
            false => Err(SqlError::new(
                "2BP01",
                "the last superuser that may log in has to stay",
            )),
        }
    }

    pub(super) fn drop_roles(&mut self, names: &[String], if_exists: bool) -> Result<(), SqlError> {
        if !self.rights.superuser {
            return Err(SqlError::denied(
                "permission denied: roles are changed by superusers",
            ));
        }
        let server = std::sync::Arc::clone(&self.server);
        let _roles = server.roles.lock();
        for name in names {
            let catalog = &server.instance.catalog;
            if catalog.role(name).map_err(failed)?.is_none() {
                if !if_exists {
                    return Err(unknown(name));
                }
                let notice = format!("role \"{name}\" does not exist, skipping");
                self.talk.report("NOTICE", &SqlError::new("00000", notice));
                continue;
            }
            if *name == self.user {
                return Err(SqlError::new("55006", "current user cannot be dropped"));
            }
            let databases = catalog.databases().map_err(failed)?;
            if databases.iter().any(|database| database.owner == *name) {
                let message =
                    format!("role \"{name}\" cannot be dropped because it owns databases");
                return Err(SqlError::new("2BP01", message));
            }
            self.keep_a_superuser(name)?;
            catalog.drop_role(name).map_err(failed)?;
            server.roles_version.fetch_add(1, Ordering::AcqRel);
        }
        Ok(())
    }
}

fn unknown(name: &str) -> SqlError {
    SqlError::new("42704", format!("role \"{name}\" does not exist"))
}
