//! `TemporaryFile`: a database file without a name, for what belongs to one connection.
//!
//! What must hold: its bytes count as those of spill files do; what is written into it was sealed before, since a database file over
//! it has a key that nobody keeps; it is gone with its last handle.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use hushdb_crypto::{CryptoProvider, SecretKey};
use hushdb_keys::{KeyContext, KeyError, KeyMaterial, KeyProvider, ProviderKind};
use parking_lot::Mutex;

use super::SpillSpace;
use crate::error::{Error, Result};
use crate::file::StorageFile;

/// See the module.
pub(crate) struct TemporaryFile {
    space: Arc<SpillSpace>,
    file: File,
    /// Bytes that were taken of the space.
    len: Mutex<u64>,
}

impl TemporaryFile {
    pub(super) fn new(space: Arc<SpillSpace>, file: File) -> Self {
        space.usage.files.fetch_add(1, Ordering::Relaxed);
        Self {
            space,
            file,
            len: Mutex::new(0),
        }
    }

    /// Takes what the file grows by, before it does.
    fn grow(&self, to: u64) -> io::Result<()> {
        let mut len = self.len.lock();
        if let Some(more) = to.checked_sub(*len) {
            self.space.take(more).map_err(|error| match error {
                Error::Full(full) => full,
                other => io::Error::other(other.to_string()),
            })?;
            *len = to;
        }
        Ok(())
    }

    fn shrink(&self, to: u64) {
        let mut len = self.len.lock();
        if let Some(fewer) = len.checked_sub(to) {
            let usage = &self.space.usage;
            usage.bytes.fetch_sub(fewer, Ordering::Relaxed);
            *len = to;
        }
    }
}

impl StorageFile for TemporaryFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn read_exact_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(buf, offset)
    }

    fn write_all_at(&self, offset: u64, buf: &[u8]) -> io::Result<()> {
        let end = offset.checked_add(buf.len() as u64);
        self.grow(end.ok_or(io::ErrorKind::FileTooLarge)?)?;
        self.file.write_all_at(buf, offset)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.grow(len)?;
        self.file.set_len(len)?;
        self.shrink(len);
        Ok(())
    }

    /// Nothing of it outlives the process.
    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn sync_directory(&self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        let usage = &self.space.usage;
        usage.bytes.fetch_sub(*self.len.lock(), Ordering::Relaxed);
        usage.files.fetch_sub(1, Ordering::Relaxed);
    }
}

impl std::fmt::Debug for TemporaryFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "TemporaryFile({} bytes)", self.len.lock())
    }
}

/// A key at random, which nobody can ask for again.
pub(crate) struct NobodysKey(SecretKey);

impl NobodysKey {
    /// # Errors
    /// Crypto if there are no random bytes.
    pub(crate) fn random(crypto: &CryptoProvider) -> Result<Self> {
        let key = crypto.random_key();
        let key = key.map_err(|_| Error::Crypto("there are no random bytes"))?;
        Ok(Self(key))
    }
}

impl KeyProvider for NobodysKey {
    fn kind(&self) -> ProviderKind {
        ProviderKind::TEXT
    }

    fn establish(
        &self,
        context: &KeyContext,
    ) -> std::result::Result<(KeyMaterial, Vec<u8>), KeyError> {
        Ok((self.recover(context, &[])?, Vec::new()))
    }

    fn recover(&self, _: &KeyContext, _: &[u8]) -> std::result::Result<KeyMaterial, KeyError> {
        Ok(KeyMaterial::Raw(self.0.duplicate()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_counted_bounded_and_gone_with_its_last_handle() {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path().join("tmp");
        let space = SpillSpace::new(CryptoProvider::aws_lc(), place, 10_000);
        let file = space.database_file().unwrap();
        file.write_all_at(4_000, b"sealed elsewhere").unwrap();
        assert_eq!(space.stats().bytes, 4_016);
        file.write_all_at(0, &[7; 4_000]).unwrap();
        assert_eq!((space.stats().bytes, file.len().unwrap()), (4_016, 4_016));
        for more in [file.write_all_at(9_990, &[0; 11]), file.set_len(10_001)] {
            assert!(matches!(Error::from(more.unwrap_err()), Error::Full(_)));
        }
        assert!(file.write_all_at(u64::MAX, &[1]).is_err());
        file.set_len(10_000).unwrap();
        file.set_len(4).unwrap();
        assert_eq!((space.stats().files, space.stats().bytes), (1, 4));
        assert_eq!(std::fs::read_dir(space.directory()).unwrap().count(), 0);
        drop(file);
        assert_eq!((space.stats().files, space.stats().bytes), (0, 0));
    }
}
