//! `ServerHost`: what the server says of itself to a session's statements, in `pg_catalog`.
//!
//! What must hold: who is no superuser sees no session of another role; of other databases everybody sees the names, as in PostgreSQL.

use super::settings::Settings;
use crate::instance::catalog::State;
use crate::shared::Server;
use hushdb::{Host, HostDatabase, HostRole, HostSession, HostSetting};
use parking_lot::Mutex;
use std::sync::Arc;

/// See the module.
pub(super) struct ServerHost {
    pub(super) server: Arc<Server>,
    pub(super) user: String,
    pub(super) number: u32,
    pub(super) settings: Arc<Mutex<Settings>>,
}

impl Host for ServerHost {
    fn user(&self) -> String {
        self.user.clone()
    }

    fn session(&self) -> u32 {
        self.number
    }

    fn roles(&self) -> Vec<HostRole> {
        let roles = self.server.instance.catalog.roles().unwrap_or_default();
        let roles = roles.into_iter().map(|role| HostRole {
            name: role.name,
            superuser: role.superuser,
            create_database: role.create_database,
            login: role.login,
            connection_limit: role.connection_limit,
        });
        roles.collect()
    }

    fn databases(&self) -> Vec<HostDatabase> {
        let databases = self.server.instance.catalog.databases();
        let databases = databases.unwrap_or_default().into_iter();
        let databases = databases.filter(|row| row.state == State::Online);
        let databases = databases.map(|row| HostDatabase {
            name: row.name,
            owner: row.owner,
        });
        databases.collect()
    }

    fn settings(&self) -> Vec<HostSetting> {
        self.settings.lock().all()
    }

    fn setting(&self, name: &str) -> Option<String> {
        self.settings.lock().shown(name)
    }

    fn set(&self, name: &str, value: &str, local: bool) -> hushdb::Result<String> {
        let set = self.settings.lock().set_in_query(name, value, local);
        set.map_err(|refused| {
            use hushdb::ErrorKind as K;
            let kind = match refused.sqlstate.as_str() {
                "0A000" => K::Unsupported,
                _ => K::InvalidInput,
            };
            hushdb::Error::new(kind, refused.message)
        })
    }

    fn sessions(&self) -> Vec<HostSession> {
        let role = self.server.instance.catalog.role(&self.user);
        let superuser = role.is_ok_and(|role| role.is_some_and(|role| role.superuser));
        let of = (!superuser).then_some(self.user.as_str());
        self.server.registry.shown(of)
    }
}
