//! `Setting`: one setting, and how its value is read.

use crate::session::Session;
use hushdb_sql::{Error, Result};

/// One setting, with DuckDB's name where it has it.
pub(super) struct Setting {
    pub(super) name: &'static str,
    pub(super) aliases: &'static [&'static str],
    /// BOOLEAN, BIGINT or VARCHAR.
    pub(super) input_type: &'static str,
    /// Whether each session has its own.
    pub(super) is_local: bool,
    pub(super) description: &'static str,
    pub(super) get: fn(&Session) -> String,
    pub(super) set: fn(&Session, &str) -> Result<()>,
    /// What RESET sets.
    pub(super) default: fn(&Session) -> String,
}

impl Setting {
    /// Its value now.
    pub(super) fn value(&self, session: &Session) -> String {
        (self.get)(session)
    }
}

/// A value of a setting that is true or false.
pub(super) fn flag(name: &str, text: &str) -> Result<bool> {
    match text.to_lowercase().as_str() {
        "true" | "1" | "on" | "yes" => Ok(true),
        "false" | "0" | "off" | "no" => Ok(false),
        _ => Err(Error::invalid(format!("{name} is true or false"))),
    }
}

/// A setting of a session that is on or off: its name, where it is kept, DuckDB's default and what it says.
macro_rules! session_flag {
    ($name:literal, $kept:ident, $default:literal, $description:literal) => {
        Setting {
            name: $name,
            aliases: &[],
            input_type: "BOOLEAN",
            is_local: true,
            description: $description,
            get: |session| session.settings.lock().$kept.to_string(),
            set: |session, text| {
                session.settings.lock().$kept = flag($name, text)?;
                Ok(())
            },
            default: |_| $default.into(),
        }
    };
}
pub(super) use session_flag;
