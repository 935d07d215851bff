//! What can go wrong between a person's key and its bytes. The texts name places and forms, never what was read there.

/// A key could not be had or understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// Text that claims to be a raw key and is none.
    #[error(
        "malformed key: {expected}; for a passphrase that begins like this, write it after pass:"
    )]
    Malformed {
        /// The form that the text should have had.
        expected: &'static str,
    },
    /// No key text at all.
    #[error("the key is empty: give a passphrase, or hex: or base64: followed by 32 bytes")]
    Empty,
    /// Key text that is not UTF-8.
    #[error(
        "the key is not text: write it as hex: followed by 64 hex digits, or base64: followed by 32 bytes"
    )]
    NotText,
    /// The environment variable is not there.
    #[error("environment variable {variable} is not set: set it to the key")]
    EnvironmentMissing {
        /// The variable's name.
        variable: String,
    },
    /// The key file could not be read.
    #[error("key file {path} cannot be read ({kind}): check the path and its permissions")]
    FileUnreadable {
        /// The path as it was given.
        path: String,
        /// The system's reason.
        kind: std::io::ErrorKind,
    },
    /// The key file is larger than any key.
    #[error("key file {path} holds more than {limit} bytes: that is no key, check the path")]
    FileTooLarge {
        /// The path as it was given.
        path: String,
        /// Most bytes that a key file may hold.
        limit: usize,
    },
    /// The key command could not be started, or failed, or printed too much.
    #[error("the key command {what}: run it by hand to see why")]
    Command {
        /// What happened, without the command's output.
        what: String,
    },
    /// No key could be read from the terminal.
    #[error(
        "no key from the terminal ({kind}): run on a terminal, or give the key by variable, file or command"
    )]
    Prompt {
        /// The system's reason.
        kind: std::io::ErrorKind,
    },
    /// The two entries of a new passphrase differ.
    #[error("the two entries differ: type the same new key twice")]
    PromptMismatch,
    /// A provider that talks to a key service failed.
    #[error("key provider {provider}: {what}")]
    Service {
        /// The provider's name.
        provider: &'static str,
        /// What to do about it, without secrets.
        what: String,
    },
}
