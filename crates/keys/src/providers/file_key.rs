//! A key in a file. One newline at the end, as editors leave it, is not part of the key; anything else is.
#![expect(clippy::disallowed_methods, reason = "it reads a key's file")]

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use zeroize::Zeroizing;

use crate::{KeyContext, KeyError, KeyMaterial, KeyProvider, ProviderKind};

/// Most bytes that a key file may hold: far above any key, far below a mistaken path.
const MAX_KEY_FILE_LEN: usize = 64 * 1024;

/// The key text in a file, read when it is needed.
#[derive(Clone, Debug)]
pub struct FileKey(PathBuf);

impl FileKey {
    /// The provider of this file's text.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }
}

impl KeyProvider for FileKey {
    fn kind(&self) -> ProviderKind {
        ProviderKind::FILE
    }

    fn establish(&self, context: &KeyContext) -> Result<(KeyMaterial, Vec<u8>), KeyError> {
        Ok((self.recover(context, &[])?, Vec::new()))
    }

    fn recover(&self, _: &KeyContext, _: &[u8]) -> Result<KeyMaterial, KeyError> {
        let text = read_file(&self.0, MAX_KEY_FILE_LEN)?;
        KeyMaterial::parse_bytes(strip_newline(&text))
    }
}

/// All of a file, which has no more bytes than `limit`.
pub(super) fn read_file(path: &Path, limit: usize) -> Result<Zeroizing<Vec<u8>>, KeyError> {
    let shown = || path.display().to_string();
    let unreadable = |error: std::io::Error| KeyError::FileUnreadable {
        path: shown(),
        kind: error.kind(),
    };
    let file = File::open(path).map_err(unreadable)?;
    let bytes = read_limited(file, limit).map_err(unreadable)?;
    bytes.ok_or_else(|| KeyError::FileTooLarge {
        path: shown(),
        limit,
    })
}

/// Reads to the end, or `None` when there is more than `limit`. The buffer never grows, so no stale copy is left.
pub(super) fn read_limited(
    from: impl Read,
    limit: usize,
) -> std::io::Result<Option<Zeroizing<Vec<u8>>>> {
    // One byte more than may come, and the spare room that `read_to_end` wants to see the end without growing.
    let mut buffer = Zeroizing::new(Vec::with_capacity(limit + 64));
    from.take(limit as u64 + 1).read_to_end(&mut buffer)?;
    Ok((buffer.len() <= limit).then_some(buffer))
}

/// Without one `\n` or `\r\n` at the end.
pub(super) fn strip_newline(text: &[u8]) -> &[u8] {
    let text = text.strip_suffix(b"\n").unwrap_or(text);
    text.strip_suffix(b"\r").unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use hushdb_crypto::SecretBytes;

    use super::*;
    use crate::DatabaseId;

    const CONTEXT: KeyContext = KeyContext {
        database_id: DatabaseId::from_bytes([0; 16]),
    };

    fn recover(content: &[u8]) -> Result<KeyMaterial, KeyError> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(content).unwrap();
        FileKey::new(file.path()).recover(&CONTEXT, &[])
    }

    #[test]
    fn one_newline_at_the_end_is_not_the_key() {
        let is = |text: &str| Ok(KeyMaterial::Passphrase(SecretBytes::from(text)));
        assert_eq!(recover(b"secret"), is("secret"));
        assert_eq!(recover(b"secret\n"), is("secret"));
        assert_eq!(recover(b"secret\r\n"), is("secret"));
        assert_eq!(recover(b"secret\n\n"), is("secret\n"));
        assert_eq!(recover(b" secret "), is(" secret "));
    }

    #[test]
    fn huge_empty_missing_and_binary_files_are_refused() {
        assert!(recover(&vec![b'a'; MAX_KEY_FILE_LEN]).is_ok());
        assert!(matches!(
            recover(&vec![b'a'; MAX_KEY_FILE_LEN + 1]),
            Err(KeyError::FileTooLarge { .. })
        ));
        assert_eq!(recover(b""), Err(KeyError::Empty));
        assert_eq!(recover(b"\n"), Err(KeyError::Empty));
        assert_eq!(recover(&[0xfe; 32]), Err(KeyError::NotText));
        let missing = FileKey::new("/nonexistent/key").recover(&CONTEXT, &[]);
        assert!(matches!(
            missing,
            Err(KeyError::FileUnreadable {
                kind: std::io::ErrorKind::NotFound,
                ..
            })
        ));
    }
}
