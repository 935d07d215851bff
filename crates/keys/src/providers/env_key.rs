//! A key in an environment variable.

use zeroize::Zeroizing;

use crate::{KeyContext, KeyError, KeyMaterial, KeyProvider, ProviderKind};

/// The key text in an environment variable, read when it is needed.
#[derive(Clone, Debug)]
pub struct EnvKey(String);

impl EnvKey {
    /// The provider of this variable's value.
    pub fn new(variable: impl Into<String>) -> Self {
        Self(variable.into())
    }
}

impl KeyProvider for EnvKey {
    fn kind(&self) -> ProviderKind {
        ProviderKind::ENVIRONMENT
    }

    fn establish(&self, context: &KeyContext) -> Result<(KeyMaterial, Vec<u8>), KeyError> {
        Ok((self.recover(context, &[])?, Vec::new()))
    }

    fn recover(&self, _: &KeyContext, _: &[u8]) -> Result<KeyMaterial, KeyError> {
        // A name with '=' or NUL can never be set; asking the system for one may panic.
        if self.0.is_empty() || self.0.contains(['=', '\0']) {
            return Err(KeyError::EnvironmentMissing {
                variable: self.0.clone(),
            });
        }
        let value = std::env::var_os(&self.0).ok_or_else(|| KeyError::EnvironmentMissing {
            variable: self.0.clone(),
        })?;
        let value = Zeroizing::new(value.into_encoded_bytes());
        KeyMaterial::parse_bytes(&value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DatabaseId;

    const CONTEXT: KeyContext = KeyContext {
        database_id: DatabaseId::from_bytes([0; 16]),
    };

    #[test]
    fn a_missing_variable_is_named() {
        for variable in ["HUSHDB_TEST_NO_SUCH_VARIABLE", "", "a=b"] {
            let error = EnvKey::new(variable).recover(&CONTEXT, &[]).unwrap_err();
            assert_eq!(
                error,
                KeyError::EnvironmentMissing {
                    variable: variable.to_owned()
                }
            );
        }
    }

    #[test]
    fn the_value_is_key_text() {
        // PATH is set wherever cargo runs.
        let path = std::env::var("PATH").unwrap();
        assert_eq!(
            EnvKey::new("PATH").recover(&CONTEXT, &[]),
            KeyMaterial::parse(&path)
        );
    }
}
