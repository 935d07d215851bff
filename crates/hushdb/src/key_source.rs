//! `KeySource`: where the key of a file comes from, and `KeyServices`, the places that a program adds to those of this library.
//!
//! What must hold: a key is asked for when a file is opened, by a provider that the caller chose; nothing here prints one.

use hushdb_crypto::{CryptoProvider, SecretBytes, SecretKey};
use hushdb_keys::KeyProvider;
use hushdb_keys::providers::{CommandKey, EnvKey, FileKey, KeyText, PromptKey, WithKeyFile};
use hushdb_sql::{Error, Result};
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// Where a key comes from. The caller chooses; nothing named in a file is ever run or opened.
pub enum KeySource {
    /// Key text as in FORMAT.md "Key text": `hex:`, `base64:`, `pass:` or a bare passphrase.
    Text(SecretBytes),
    /// Key text in an environment variable.
    Env(String),
    /// Key text in a file.
    File(PathBuf),
    /// Key text as a command's standard output.
    Command(String),
    /// A passphrase typed on the terminal, without echo.
    Prompt,
    /// A key from another of these, which opens together with the key file at this path alone: two factors.
    WithKeyFile(Box<KeySource>, PathBuf),
    /// Another place: a key service, a device, or whatever a program brings along.
    Provider(Arc<dyn KeyProvider>),
}

impl Clone for KeySource {
    fn clone(&self) -> Self {
        match self {
            Self::Text(text) => Self::Text(text.duplicate()),
            Self::Env(name) => Self::Env(name.clone()),
            Self::File(path) => Self::File(path.clone()),
            Self::Command(command) => Self::Command(command.clone()),
            Self::Prompt => Self::Prompt,
            Self::WithKeyFile(key, path) => Self::WithKeyFile(key.clone(), path.clone()),
            Self::Provider(provider) => Self::Provider(Arc::clone(provider)),
        }
    }
}

impl fmt::Debug for KeySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Text(_) => "KeySource::Text",
            Self::Env(_) => "KeySource::Env",
            Self::File(_) => "KeySource::File",
            Self::Command(_) => "KeySource::Command",
            Self::Prompt => "KeySource::Prompt",
            Self::WithKeyFile(..) => "KeySource::WithKeyFile",
            Self::Provider(_) => "KeySource::Provider",
        })
    }
}

impl KeySource {
    /// The provider that yields the key when a file is opened; only then is the key looked at.
    pub fn provider(&self) -> Arc<dyn KeyProvider> {
        match self {
            Self::Text(text) => Arc::new(KeyText::new(text.duplicate())),
            Self::Env(name) => Arc::new(EnvKey::new(name)),
            Self::File(path) => Arc::new(FileKey::new(path)),
            Self::Command(command) => Arc::new(CommandKey::new(command)),
            Self::Prompt => Arc::new(PromptKey::new("Passphrase: ")),
            Self::WithKeyFile(key, path) => Arc::new(WithKeyFile::new(key.provider(), path)),
            Self::Provider(provider) => Arc::clone(provider),
        }
    }

    /// The same key with a key file beside it, if there is a path of one.
    #[must_use]
    pub fn with_key_file(self, path: Option<PathBuf>) -> Self {
        match path {
            Some(path) => Self::WithKeyFile(Box::new(self), path),
            None => self,
        }
    }

    /// The same for the key that a slot is to get: a terminal is asked for a new passphrase, twice.
    pub fn provider_of_new_key(&self) -> Arc<dyn KeyProvider> {
        match self {
            Self::Prompt => Arc::new(PromptKey::new("New key: ")),
            Self::WithKeyFile(key, path) => {
                Arc::new(WithKeyFile::new(key.provider_of_new_key(), path))
            }
            source => source.provider(),
        }
    }
}

/// A new random key of 256 bits.
///
/// # Errors
/// `Internal` where the system gives no random bytes.
pub fn random_key() -> Result<SecretKey> {
    let key = CryptoProvider::aws_lc().random_key();
    key.map_err(|error| Error::internal(error.to_string()))
}

/// Makes a provider from what ATTACH says behind the service's option.
type MakeProvider = dyn Fn(&str) -> Result<Arc<dyn KeyProvider>> + Send + Sync;

/// Places for keys by name: a service `vault` is asked by `ATTACH 'f' (ENCRYPTION_KEY_VAULT 'argument')`. The argument is
/// taken out of the statement before anything reads it, as a key is, since it may hold a token.
#[derive(Clone, Default)]
pub struct KeyServices(BTreeMap<String, Arc<MakeProvider>>);

/// Names that this library has itself.
const TAKEN: [&str; 3] = ["env", "file", "command"];

impl KeyServices {
    /// Adds a service, or puts it in the place of the one that has the name. No error of `make` may repeat its argument.
    ///
    /// # Errors
    /// `InvalidInput` for a name that is no word of letters, digits and underscores, or is `env`, `file` or `command`.
    pub fn register(
        &mut self,
        name: &str,
        make: impl Fn(&str) -> Result<Arc<dyn KeyProvider>> + Send + Sync + 'static,
    ) -> Result<()> {
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let name = name.to_ascii_lowercase();
        if name.is_empty() || !name.chars().all(is_word) || TAKEN.contains(&&*name) {
            return Err(Error::invalid(
                "a key service is called by a word of letters, digits and underscores other than env, file and command",
            ));
        }
        self.0.insert(name, Arc::new(make));
        Ok(())
    }

    /// The source that an option `encryption_key_<name>` names; `None` when there is no such service.
    /// The argument, which may be a token, is copied nowhere.
    pub(crate) fn source(&self, name: &str, argument: &SecretBytes) -> Option<Result<KeySource>> {
        let make = self.0.get(name)?;
        Some(match std::str::from_utf8(argument.expose()) {
            Ok(argument) => make(argument).map(KeySource::Provider),
            Err(_) => Err(Error::binder("what a key service is told is text")),
        })
    }
}

impl fmt::Debug for KeyServices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}
