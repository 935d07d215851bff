//! Two factors: a key file beside a passphrase, a raw key or a key service. Both are needed to open a slot that was made so.
//!
//! What must hold: the file is bytes, not key text, and all of it counts; a missing or short one is an error, never left out.

use std::path::PathBuf;
use std::sync::Arc;

use hushdb_crypto::SecretBytes;

use super::file_key::read_file;
use crate::{KeyContext, KeyError, KeyMaterial, KeyProvider, ProviderKind};

/// Bytes of a key file: as many as a key has, and at most 1 MiB.
const KEY_FILE_BYTES: std::ops::RangeInclusive<usize> = 32..=1 << 20;

/// A key, and a file that belongs to it.
#[derive(Clone)]
pub struct WithKeyFile {
    key: Arc<dyn KeyProvider>,
    path: PathBuf,
}

impl WithKeyFile {
    /// The key of `key`, which opens together with the file at `path`.
    pub fn new(key: Arc<dyn KeyProvider>, path: impl Into<PathBuf>) -> Self {
        Self {
            key,
            path: path.into(),
        }
    }
}

impl KeyProvider for WithKeyFile {
    fn kind(&self) -> ProviderKind {
        self.key.kind()
    }

    fn establish(&self, context: &KeyContext) -> Result<(KeyMaterial, Vec<u8>), KeyError> {
        self.key.establish(context)
    }

    fn recover(&self, context: &KeyContext, blob: &[u8]) -> Result<KeyMaterial, KeyError> {
        self.key.recover(context, blob)
    }

    fn keeps_blob(&self) -> bool {
        self.key.keeps_blob()
    }

    fn asks_a_person(&self) -> bool {
        self.key.asks_a_person()
    }

    fn key_file(&self) -> Result<Option<SecretBytes>, KeyError> {
        let bytes = read_file(&self.path, *KEY_FILE_BYTES.end())?;
        match bytes.len() >= *KEY_FILE_BYTES.start() {
            true => Ok(Some(SecretBytes::new(bytes.to_vec()))),
            false => Err(KeyError::KeyFileTooShort {
                path: self.path.display().to_string(),
                least: *KEY_FILE_BYTES.start(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use crate::providers::KeyText;

    fn read(content: &[u8]) -> Result<Option<usize>, KeyError> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(content).unwrap();
        let key = WithKeyFile::new(Arc::new(KeyText::new("x")), file.path());
        let bytes = key.key_file()?;
        Ok(bytes.map(|bytes| bytes.expose().len()))
    }

    #[test]
    fn all_bytes_count_and_files_that_are_no_key_are_refused() {
        assert_eq!(read(&[7; 32]), Ok(Some(32)));
        assert_eq!(read(&[b'\n'; 33]), Ok(Some(33)));
        assert_eq!(read(&vec![0xff; 1 << 20]), Ok(Some(1 << 20)));
        assert!(matches!(
            read(&[7; 31]),
            Err(KeyError::KeyFileTooShort { .. })
        ));
        assert!(matches!(read(&[]), Err(KeyError::KeyFileTooShort { .. })));
        let large = vec![7; (1 << 20) + 1];
        assert!(matches!(read(&large), Err(KeyError::FileTooLarge { .. })));
        let missing = WithKeyFile::new(Arc::new(KeyText::new("x")), "/nonexistent/file");
        let missing = missing.key_file().map(|_| ());
        assert!(matches!(missing, Err(KeyError::FileUnreadable { .. })));
    }
}
