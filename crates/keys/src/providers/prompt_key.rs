//! A key typed on the terminal, without echo.

use zeroize::Zeroizing;

use crate::{KeyContext, KeyError, KeyMaterial, KeyProvider, ProviderKind};

/// Asks on the controlling terminal, not on standard input: that may be a script. A new key is asked for twice.
#[derive(Clone, Debug)]
pub struct PromptKey(String);

impl PromptKey {
    /// A provider that asks with this text, such as `"Key for sales.hush: "`.
    pub fn new(prompt: impl Into<String>) -> Self {
        Self(prompt.into())
    }
}

impl KeyProvider for PromptKey {
    fn kind(&self) -> ProviderKind {
        ProviderKind::PROMPT
    }

    fn establish(&self, _: &KeyContext) -> Result<(KeyMaterial, Vec<u8>), KeyError> {
        let key = KeyMaterial::parse(&ask(&self.0)?)?;
        let again = KeyMaterial::parse(&ask(&format!("{}(again) ", self.0))?)?;
        if key != again {
            return Err(KeyError::PromptMismatch);
        }
        Ok((key, Vec::new()))
    }

    fn recover(&self, _: &KeyContext, _: &[u8]) -> Result<KeyMaterial, KeyError> {
        KeyMaterial::parse(&ask(&self.0)?)
    }

    fn asks_a_person(&self) -> bool {
        true
    }
}

fn ask(prompt: &str) -> Result<Zeroizing<String>, KeyError> {
    rpassword::prompt_password(prompt)
        .map(Zeroizing::new)
        .map_err(|error| KeyError::Prompt { kind: error.kind() })
}
