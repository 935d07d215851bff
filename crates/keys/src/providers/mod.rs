//! The places keys come from: text, environment, file, command, prompt; and a file beside any of them.
//!
//! Each yields key text (see [`KeyMaterial::parse`](crate::KeyMaterial::parse)); none keeps a blob in its slot.

mod command_key;
mod env_key;
mod file_key;
mod key_text;
mod new_recovery_key;
mod prompt_key;
mod with_key_file;

pub use command_key::CommandKey;
pub use env_key::EnvKey;
pub use file_key::FileKey;
pub use key_text::KeyText;
pub use new_recovery_key::NewRecoveryKey;
pub use prompt_key::PromptKey;
pub use with_key_file::WithKeyFile;
