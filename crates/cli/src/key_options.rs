//! Where a key comes from: the key options of the command line, or a prompt.
//!
//! A key itself is never an argument: command lines are visible to every process of the machine. Options name a place;
//! the library reads it, or asks the service that a URL names (crate `hushdb-kms`). Before it does, core dumps are switched off again, in case a statement had switched them on, as far as the
//! system lets them be: `key_memory()` tells.

use std::io::{self, IsTerminal};
use std::path::PathBuf;

use clap::Args;
use hushdb::{Error, ErrorKind, KeyServices, KeySource};
use hushdb_kms::{Environment, Places};

use crate::failure::Failure;

/// What is said where nobody can be asked.
const KEY_REQUIRED: &str =
    "this file is encrypted: give its key by --key-env, --key-file, --key-command or --key-url";

/// The URL of the key of an encrypted file for which nothing else was said.
const KEY_URL: &str = "HUSHDB_KEY_URL";

/// The key that opens a file.
#[derive(Args, Clone, Debug, Default)]
#[group(skip)]
pub(crate) struct KeyOptions {
    /// Take the key from this environment variable
    #[arg(long, value_name = "VAR", group = "key")]
    pub(crate) key_env: Option<String>,
    /// Take the key from this file
    #[arg(long, value_name = "PATH", group = "key")]
    pub(crate) key_file: Option<PathBuf>,
    /// Take the key from what this command prints
    #[arg(long, value_name = "CMD", group = "key")]
    pub(crate) key_command: Option<String>,
    /// Take the key from this place: vault://, kmip://, aws-kms://, pkcs11: or exec:/ (docs/KEYS.md)
    #[arg(long, value_name = "URL", group = "key")]
    pub(crate) key_url: Option<String>,
    #[command(flatten)]
    pub(crate) second: SecondFactor,
}

/// What belongs to the key.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct SecondFactor {
    /// A key file that belongs to the key, where the slot was made with one: bytes, not text
    #[arg(long, value_name = "PATH")]
    pub(crate) with_key_file: Option<PathBuf>,
}

/// What belongs to the new key.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct NewSecondFactor {
    /// Have the new key open the file together with this key file alone: 32 bytes to 1 MiB
    #[arg(long, value_name = "PATH")]
    pub(crate) new_with_key_file: Option<PathBuf>,
}

impl KeyOptions {
    /// Whether any of them was given.
    pub(crate) fn is_given(&self) -> bool {
        let texts = [&self.key_env, &self.key_command, &self.key_url];
        self.key_file.is_some()
            || self.second.with_key_file.is_some()
            || texts.iter().any(|text| text.is_some())
    }

    /// The place that was named, if one was.
    ///
    /// # Errors
    /// A URL that names none.
    pub(crate) fn source(&self) -> Result<Option<KeySource>, Failure> {
        let (env, file) = (&self.key_env, &self.key_file);
        let key = source(env, file, &self.key_command, &self.key_url)?;
        let beside = &self.second.with_key_file;
        match (key, beside) {
            (None, Some(_)) => self.elsewhere().map(Some),
            (key, _) => Ok(key.map(|key| key.with_key_file(beside.clone()))),
        }
    }

    /// The place that was named, or that of `HUSHDB_KEY_URL`, or the terminal: for a file that is known to need a key.
    ///
    /// # Errors
    /// A URL that names no place; no option, no variable and no terminal.
    pub(crate) fn required(&self) -> Result<KeySource, Failure> {
        match self.source()? {
            Some(source) => Ok(source),
            None => self.elsewhere(),
        }
    }

    /// The place of `HUSHDB_KEY_URL`, or the terminal.
    fn elsewhere(&self) -> Result<KeySource, Failure> {
        let key = match std::env::var(KEY_URL) {
            Ok(url) if !url.is_empty() => of_url(&url)?,
            _ if terminal() => prompt(),
            _ => {
                let error = Error::new(ErrorKind::KeyRequired, KEY_REQUIRED);
                return Err(Failure::Library(error));
            }
        };
        Ok(key.with_key_file(self.second.with_key_file.clone()))
    }
}

/// The key that a slot gets.
#[derive(Args, Clone, Debug, Default)]
#[group(skip)]
pub(crate) struct NewKeyOptions {
    /// Take the new key from this environment variable
    #[arg(long, value_name = "VAR", group = "new_key")]
    pub(crate) new_key_env: Option<String>,
    /// Take the new key from this file
    #[arg(long, value_name = "PATH", group = "new_key")]
    pub(crate) new_key_file: Option<PathBuf>,
    /// Take the new key from what this command prints
    #[arg(long, value_name = "CMD", group = "new_key")]
    pub(crate) new_key_command: Option<String>,
    /// Have this place keep the new key: vault://, kmip://, aws-kms://, pkcs11: or exec:/
    #[arg(long, value_name = "URL", group = "new_key")]
    pub(crate) new_key_url: Option<String>,
    /// Ask for the new key on the terminal (the default when there is one)
    #[arg(long, group = "new_key")]
    pub(crate) new_key_prompt: bool,
    #[command(flatten)]
    pub(crate) second: NewSecondFactor,
}

impl NewKeyOptions {
    /// Whether any of them was given.
    pub(crate) fn is_given(&self) -> bool {
        let texts = [&self.new_key_env, &self.new_key_command, &self.new_key_url];
        self.new_key_prompt
            || self.new_key_file.is_some()
            || self.second.new_with_key_file.is_some()
            || texts.iter().any(|text| text.is_some())
    }

    /// The place that was named, or the terminal.
    ///
    /// # Errors
    /// A URL that names no place; no option and no terminal.
    pub(crate) fn source(&self) -> Result<KeySource, Failure> {
        let (env, file) = (&self.new_key_env, &self.new_key_file);
        let key = match source(env, file, &self.new_key_command, &self.new_key_url)? {
            Some(source) => source,
            None if self.new_key_prompt || terminal() => prompt(),
            None => return Err(Failure::Message(
                "no new key: give --new-key-env, --new-key-file, --new-key-command or --new-key-url, or run on a terminal".to_owned(),
            )),
        };
        Ok(key.with_key_file(self.second.new_with_key_file.clone()))
    }
}

/// The key of a file that is copied.
#[derive(Args, Clone, Debug, Default)]
#[group(skip)]
pub(crate) struct SourceKeyOptions {
    /// Take the source's key from this environment variable
    #[arg(long, value_name = "VAR", group = "source_key")]
    pub(crate) source_key_env: Option<String>,
    /// Take the source's key from this file
    #[arg(long, value_name = "PATH", group = "source_key")]
    pub(crate) source_key_file: Option<PathBuf>,
    /// Take the source's key from what this command prints
    #[arg(long, value_name = "CMD", group = "source_key")]
    pub(crate) source_key_command: Option<String>,
    /// Take the source's key from this place: vault://, kmip://, aws-kms://, pkcs11: or exec:/
    #[arg(long, value_name = "URL", group = "source_key")]
    pub(crate) source_key_url: Option<String>,
}

impl SourceKeyOptions {
    /// The place that was named, if one was.
    ///
    /// # Errors
    /// A URL that names none.
    pub(crate) fn source(&self) -> Result<Option<KeySource>, Failure> {
        let (env, file) = (&self.source_key_env, &self.source_key_file);
        source(env, file, &self.source_key_command, &self.source_key_url)
    }
}

fn source(
    env: &Option<String>,
    file: &Option<PathBuf>,
    command: &Option<String>,
    url: &Option<String>,
) -> Result<Option<KeySource>, Failure> {
    if let Some(url) = url {
        return of_url(url).map(Some);
    }
    let env = env.clone().map(KeySource::Env);
    let file = file.clone().map(KeySource::File);
    let command = command.clone().map(KeySource::Command);
    Ok(env.or(file).or(command).map(undumped))
}

/// The place that a URL names, with what it needs from the environment.
fn of_url(url: &str) -> Result<KeySource, Failure> {
    let provider = Places::new(Environment::of_process()).provider(url);
    let provider = provider.map_err(|error| Failure::Library(no_place(&error)))?;
    Ok(undumped(KeySource::Provider(provider)))
}

fn no_place(error: &hushdb_kms::PlaceError) -> Error {
    Error::new(ErrorKind::InvalidInput, error.to_string())
}

/// `ENCRYPTION_KEY_URL` of ATTACH: the same places.
pub(crate) fn services() -> KeyServices {
    let mut services = KeyServices::default();
    let places = Places::new(Environment::of_process());
    let make = move |url: &str| places.provider(url).map_err(|error| no_place(&error));
    // The name is a word that is free.
    let _ = services.register("url", make);
    services
}

fn prompt() -> KeySource {
    undumped(KeySource::Prompt)
}

/// A key will be in memory soon.
fn undumped(source: KeySource) -> KeySource {
    let _ = hushdb::maintenance::set_core_dumps(false);
    source
}

/// Whether a person can be asked.
pub(crate) fn terminal() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}
