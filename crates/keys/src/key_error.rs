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
    /// A group of a recovery key was mistyped.
    #[error("group {group} of the recovery key is mistyped: compare its seven characters")]
    RecoveryGroup {
        /// The group's number, from 1.
        group: usize,
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
    /// The second factor holds less than a key.
    #[error("key file {path} holds fewer than {least} bytes: that is no key file, check the path")]
    KeyFileTooShort {
        /// The path as it was given.
        path: String,
        /// Least bytes that a key file holds.
        least: usize,
    },
    /// Every slot that this key may open takes a key file, too, and none was given.
    #[error("a key file belongs to the key: give it, too, with KEY_FILE or --with-key-file")]
    KeyFileNeeded,
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
    /// The place answered, and gives no key: it is disabled, deleted or too old there, who asks may not have it, or the slot is
    /// bound to something else. Asking again would not help.
    #[error("{place} refuses the key: {why}")]
    Refused {
        /// The kind of place and its host or path.
        place: String,
        /// Status, and what to do, without secrets.
        why: String,
    },
    /// The place does not know who asks: a token has ended, a PIN is wrong. Says nothing about the key, and is never tried twice: a
    /// third wrong PIN may lock a device.
    #[error("{place} does not accept who asks: {why}")]
    CredentialsRefused {
        /// The kind of place and its host or path.
        place: String,
        /// Status, and what to do, without secrets.
        why: String,
    },
    /// The place cannot be reached, is sealed or overloaded, or gave no sense: asking later may help.
    #[error("{place} is not available: {why}")]
    Unavailable {
        /// The kind of place and its host or path.
        place: String,
        /// What happened, and what to do, without secrets.
        why: String,
    },
    /// A header names more slots of one place than an honest one may ask it for.
    #[error(
        "the slots of this place do not open within {limit} requests: restore the header from a backup"
    )]
    TooManyRequests {
        /// Requests that one opening may make.
        limit: usize,
    },
}

impl KeyError {
    /// Whether no other slot is worth a try: the place does not answer, or does not accept who asks.
    pub(crate) fn ends_attempt(&self) -> bool {
        matches!(
            self,
            Self::CredentialsRefused { .. }
                | Self::Unavailable { .. }
                | Self::TooManyRequests { .. }
        )
    }
}
