//! `Environment`: the variables that places take their addresses and credentials from.

use std::collections::BTreeMap;
use std::fmt;
use std::os::unix::ffi::OsStringExt;
use std::sync::Arc;

use hushdb_crypto::SecretBytes;

/// The process's variables, or others in their place. They are looked at when a place is named and, secrets, when it is asked.
#[derive(Clone, Default)]
pub struct Environment(Option<Arc<BTreeMap<String, SecretBytes>>>);

impl Environment {
    /// That of the process.
    pub fn of_process() -> Self {
        Self(None)
    }

    /// These variables and no other.
    pub fn of<K: Into<String>, V: Into<SecretBytes>>(
        variables: impl IntoIterator<Item = (K, V)>,
    ) -> Self {
        let all = variables.into_iter();
        let all = all.map(|(name, value)| (name.into(), value.into()));
        Self(Some(Arc::new(all.collect())))
    }

    /// A variable, which may be a secret; `None` when it is not set, or empty.
    pub(crate) fn secret(&self, name: &str) -> Option<SecretBytes> {
        let value = match &self.0 {
            None => std::env::var_os(name).map(|value| SecretBytes::new(value.into_vec())),
            Some(all) => all.get(name).map(SecretBytes::duplicate),
        };
        value.filter(|value| !value.expose().is_empty())
    }

    /// A variable that is no secret.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        let value = self.secret(name)?;
        Some(String::from_utf8_lossy(value.expose()).into_owned())
    }
}

/// Names alone.
impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            None => f.write_str("Environment(the process's)"),
            Some(all) => f.debug_set().entries(all.keys()).finish(),
        }
    }
}
