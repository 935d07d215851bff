//! A key from a command's standard output, as password managers and agents give it.
//!
//! The output is key text as it stands, or `encryptionkey=` and 64 hex digits. One newline at its end is dropped. The
//! command's error output goes to the program's own; its standard output is never shown, not even when it fails.

use std::process::{Command, Stdio};

use crate::providers::file_key::{read_limited, strip_newline};
use crate::{KeyContext, KeyError, KeyMaterial, KeyProvider, ProviderKind};

/// Most bytes that a key command may print.
const MAX_OUTPUT_LEN: usize = 64 * 1024;
const RAW_KEY_PREFIX: &[u8] = b"encryptionkey=";

/// What a command run by `sh -c` prints, run when the key is needed. The command comes from the caller, never from a
/// file that is being opened.
#[derive(Clone)]
pub struct CommandKey(String);

impl CommandKey {
    /// The provider of this command's output.
    pub fn new(command: impl Into<String>) -> Self {
        Self(command.into())
    }
}

/// The command is not shown: people write secrets into commands.
impl std::fmt::Debug for CommandKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("CommandKey([command])")
    }
}

impl KeyProvider for CommandKey {
    fn kind(&self) -> ProviderKind {
        ProviderKind::COMMAND
    }

    fn establish(&self, context: &KeyContext) -> Result<(KeyMaterial, Vec<u8>), KeyError> {
        Ok((self.recover(context, &[])?, Vec::new()))
    }

    fn recover(&self, _: &KeyContext, _: &[u8]) -> Result<KeyMaterial, KeyError> {
        let failed = |what: String| KeyError::Command { what };
        // No standard input: what stands there may be SQL that is not the command's to read.
        let mut child = Command::new("sh")
            .arg("-c")
            .arg(&self.0)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| failed(format!("could not be started ({})", error.kind())))?;
        let Some(stdout) = child.stdout.take() else {
            return Err(failed("has no output".to_owned()));
        };
        // Reading ends the pipe: a command that prints more than the limit meets a closed pipe, so waiting ends too.
        let output = read_limited(stdout, MAX_OUTPUT_LEN);
        let status = child
            .wait()
            .map_err(|error| failed(format!("could not be waited for ({})", error.kind())))?;
        let output =
            output.map_err(|error| failed(format!("could not be read ({})", error.kind())))?;
        let Some(output) = output else {
            return Err(failed(format!("printed more than {MAX_OUTPUT_LEN} bytes")));
        };
        if !status.success() {
            return Err(failed(format!("failed ({status})")));
        }
        let text = strip_newline(&output);
        if text.is_empty() {
            return Err(failed("printed nothing".to_owned()));
        }
        match text.strip_prefix(RAW_KEY_PREFIX) {
            Some(digits) => KeyMaterial::from_hex(std::str::from_utf8(digits).unwrap_or_default()),
            None => KeyMaterial::parse_bytes(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use hushdb_crypto::{SecretBytes, SecretKey};

    use super::*;
    use crate::DatabaseId;

    fn run(command: &str) -> Result<KeyMaterial, KeyError> {
        let context = KeyContext {
            database_id: DatabaseId::from_bytes([0; 16]),
        };
        CommandKey::new(command).recover(&context, &[])
    }

    #[test]
    fn the_output_is_key_text_or_an_encryption_key() {
        assert_eq!(
            run("echo secret"),
            Ok(KeyMaterial::Passphrase(SecretBytes::from("secret")))
        );
        let key = KeyMaterial::Raw(SecretKey::from_bytes([0xab; 32]));
        let digits = "ab".repeat(32);
        assert_eq!(run(&format!("echo encryptionkey={digits}")), Ok(key));
        assert!(matches!(
            run(&format!("printf hex:{digits}")),
            Ok(KeyMaterial::Raw(_))
        ));
    }

    #[test]
    fn a_failing_silent_or_endless_command_is_an_error_without_its_output() {
        for command in [
            "echo visible; exit 3",
            "true",
            "echo",
            "yes visible",
            "kill -9 $$",
            "no_such_program_visible 2>&1",
        ] {
            let error = run(command).unwrap_err();
            assert!(
                matches!(error, KeyError::Command { .. }),
                "{command}: {error}"
            );
            assert!(!error.to_string().contains("visible"), "{error}");
        }
        assert!(matches!(
            run("echo encryptionkey=abc"),
            Err(KeyError::Malformed { .. })
        ));
        assert!(matches!(
            run("echo hex:abc"),
            Err(KeyError::Malformed { .. })
        ));
    }

    #[test]
    fn the_command_reads_no_standard_input_and_is_not_shown() {
        assert!(matches!(run("cat"), Err(KeyError::Command { .. })));
        assert_eq!(
            format!("{:?}", CommandKey::new("echo hunter2")),
            "CommandKey([command])"
        );
    }
}
