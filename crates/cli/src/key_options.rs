//! Where a key comes from: the key options of the command line, or a prompt.
//!
//! A key itself is never an argument: command lines are visible to every process of the machine. Options name a place;
//! the library reads it. Before it does, core dumps are switched off again, in case a statement had switched them on, as far as the
//! system lets them be: `key_memory()` tells.

use std::io::{self, IsTerminal};
use std::path::PathBuf;

use clap::Args;
use hushdb::KeySource;

use crate::failure::Failure;

/// What is said where nobody can be asked.
pub(crate) const KEY_REQUIRED: &str =
    "Key Required: this file is encrypted: give its key by --key-env, --key-file or --key-command";

/// The key that opens a file.
#[derive(Args, Clone, Debug, Default)]
#[group(multiple = false)]
pub(crate) struct KeyOptions {
    /// Take the key from this environment variable
    #[arg(long, value_name = "VAR")]
    pub(crate) key_env: Option<String>,
    /// Take the key from this file
    #[arg(long, value_name = "PATH")]
    pub(crate) key_file: Option<PathBuf>,
    /// Take the key from what this command prints
    #[arg(long, value_name = "CMD")]
    pub(crate) key_command: Option<String>,
}

impl KeyOptions {
    /// The place that was named, if one was.
    pub(crate) fn source(&self) -> Option<KeySource> {
        source(&self.key_env, &self.key_file, &self.key_command)
    }

    /// The place that was named, or the terminal: for a file that is known to need a key.
    ///
    /// # Errors
    /// No option and no terminal.
    pub(crate) fn required(&self) -> Result<KeySource, Failure> {
        match self.source() {
            Some(source) => Ok(source),
            None if terminal() => Ok(prompt()),
            None => Err(Failure::Message(KEY_REQUIRED.to_owned())),
        }
    }
}

/// The key that a slot gets.
#[derive(Args, Clone, Debug, Default)]
#[group(multiple = false)]
pub(crate) struct NewKeyOptions {
    /// Take the new key from this environment variable
    #[arg(long, value_name = "VAR")]
    pub(crate) new_key_env: Option<String>,
    /// Take the new key from this file
    #[arg(long, value_name = "PATH")]
    pub(crate) new_key_file: Option<PathBuf>,
    /// Take the new key from what this command prints
    #[arg(long, value_name = "CMD")]
    pub(crate) new_key_command: Option<String>,
    /// Ask for the new key on the terminal (the default when there is one)
    #[arg(long)]
    pub(crate) new_key_prompt: bool,
}

impl NewKeyOptions {
    /// Whether any of them was given.
    pub(crate) fn is_given(&self) -> bool {
        self.new_key_prompt
            || source(&self.new_key_env, &self.new_key_file, &self.new_key_command).is_some()
    }

    /// The place that was named, or the terminal.
    ///
    /// # Errors
    /// No option and no terminal.
    pub(crate) fn source(&self) -> Result<KeySource, Failure> {
        match source(&self.new_key_env, &self.new_key_file, &self.new_key_command) {
            Some(source) => Ok(source),
            None if self.new_key_prompt || terminal() => Ok(prompt()),
            None => Err(Failure::Message(
                "no new key: give --new-key-env, --new-key-file or --new-key-command, or run on a terminal".to_owned(),
            )),
        }
    }
}

fn source(
    env: &Option<String>,
    file: &Option<PathBuf>,
    command: &Option<String>,
) -> Option<KeySource> {
    let env = env.clone().map(KeySource::Env);
    let file = file.clone().map(KeySource::File);
    let command = command.clone().map(KeySource::Command);
    env.or(file).or(command).map(undumped)
}

fn prompt() -> KeySource {
    undumped(KeySource::Prompt)
}

/// A key will be in memory soon.
fn undumped(source: KeySource) -> KeySource {
    let _ = hushdb::files::set_core_dumps(false);
    source
}

/// Whether a person can be asked.
pub(crate) fn terminal() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}
