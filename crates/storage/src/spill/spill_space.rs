//! `SpillSpace`: the spill files of a process, under one limit.
#![expect(
    clippy::disallowed_methods,
    reason = "this is the room of nameless files"
)]

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hushdb_crypto::{CryptoProvider, KdfLabel, SecretKey};
use parking_lot::{Mutex, RwLock};
use rustix::fs::OFlags;

use super::SpillFile;
use super::temporary_file::TemporaryFile;
use crate::error::{Error, Result};

/// Where spill files are made, and how much they may take.
pub struct SpillSpace {
    crypto: CryptoProvider,
    /// Made when the first file is.
    secret: Mutex<Option<Secret>>,
    directory: RwLock<PathBuf>,
    max_bytes: AtomicU64,
    pub(super) usage: Usage,
}

/// The process's key, and what its derived keys are bound to.
struct Secret {
    key: SecretKey,
    process_id: [u8; 16],
    files: u64,
}

/// What spill files take now and took in all.
#[derive(Debug, Default)]
pub(super) struct Usage {
    pub(super) files: AtomicU64,
    pub(super) bytes: AtomicU64,
    written: AtomicU64,
}

/// What a [`SpillSpace`] holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpillStats {
    /// Files that are there now.
    pub files: u64,
    /// Bytes in them.
    pub bytes: u64,
    /// Bytes that were ever written.
    pub written_bytes: u64,
}

impl SpillSpace {
    /// Spill files in `directory`, which is made when it is first needed, of up to `max_bytes` all together.
    pub fn new(crypto: CryptoProvider, directory: PathBuf, max_bytes: u64) -> Arc<Self> {
        Arc::new(Self {
            crypto,
            secret: Mutex::new(None),
            directory: RwLock::new(absolute(directory)),
            max_bytes: AtomicU64::new(max_bytes),
            usage: Usage::default(),
        })
    }

    /// Where the next files are made.
    pub fn directory(&self) -> PathBuf {
        self.directory.read().clone()
    }

    /// Has the next files made elsewhere.
    pub fn set_directory(&self, directory: PathBuf) {
        *self.directory.write() = absolute(directory);
    }

    /// Bytes that all files may take.
    pub fn max_bytes(&self) -> u64 {
        self.max_bytes.load(Ordering::Relaxed)
    }

    /// Changes how many bytes all files may take.
    pub fn set_max_bytes(&self, max_bytes: u64) {
        self.max_bytes.store(max_bytes, Ordering::Relaxed);
    }

    /// What there is.
    pub fn stats(&self) -> SpillStats {
        SpillStats {
            files: self.usage.files.load(Ordering::Relaxed),
            bytes: self.usage.bytes.load(Ordering::Relaxed),
            written_bytes: self.usage.written.load(Ordering::Relaxed),
        }
    }

    /// A new file, without a name.
    ///
    /// # Errors
    /// What the operating system says; Crypto if there is no random key.
    pub fn create(self: &Arc<Self>) -> Result<SpillFile> {
        let file = nameless(&self.directory())?;
        let mut secret = self.secret.lock();
        let secret = match &mut *secret {
            // A forked child finds its parent's key gone, and makes one of its own.
            Some(secret) if secret.key.is_there() => secret,
            none => none.insert(self.new_secret()?),
        };
        let file_id = secret.files;
        secret.files += 1;
        let context = [&secret.process_id[..], &file_id.to_be_bytes()].concat();
        let key = self.crypto.kbkdf(&secret.key, KdfLabel::Spill, &context);
        let key = self.crypto.gcm_key(&key);
        Ok(SpillFile::new(Arc::clone(self), file, file_id, key))
    }

    /// A file for a database that nobody finds again, without a name.
    ///
    /// # Errors
    /// What the operating system says.
    pub(crate) fn database_file(self: &Arc<Self>) -> Result<TemporaryFile> {
        let file = nameless(&self.directory())?;
        Ok(TemporaryFile::new(Arc::clone(self), file))
    }

    fn new_secret(&self) -> Result<Secret> {
        let unavailable = |_| Error::Crypto("there are no random bytes");
        let mut process_id = [0; 16];
        self.crypto.random(&mut process_id).map_err(unavailable)?;
        Ok(Secret {
            key: self.crypto.random_key().map_err(unavailable)?,
            process_id,
            files: 0,
        })
    }

    /// Takes bytes before they are written.
    pub(super) fn take(&self, bytes: u64) -> Result<()> {
        let before = self.usage.bytes.fetch_add(bytes, Ordering::Relaxed);
        let limit = self.max_bytes();
        if before.saturating_add(bytes) > limit {
            self.usage.bytes.fetch_sub(bytes, Ordering::Relaxed);
            let full = format!(
                "temporary files would take more than max_temp_directory_size, which is {limit} bytes"
            );
            return Err(Error::Full(io::Error::new(
                io::ErrorKind::QuotaExceeded,
                full,
            )));
        }
        self.usage.written.fetch_add(bytes, Ordering::Relaxed);
        Ok(())
    }
}

impl std::fmt::Debug for SpillSpace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SpillSpace({:?})", self.stats())
    }
}

/// The same directory when the process changes its working directory.
fn absolute(directory: PathBuf) -> PathBuf {
    std::path::absolute(&directory).unwrap_or(directory)
}

/// A file that nobody can find: made without a name, or where the file system cannot do that, with one that is removed
/// before a byte is written.
fn nameless(directory: &Path) -> io::Result<File> {
    std::fs::create_dir_all(directory)?;
    let mut options = OpenOptions::new();
    options.read(true).write(true).mode(0o600);
    // Exclusive: nobody can give it a name later either.
    let flags = (OFlags::TMPFILE | OFlags::EXCL).bits().cast_signed();
    match options.clone().custom_flags(flags).open(directory) {
        Ok(file) => return Ok(file),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Err(error),
        Err(_) => {}
    }
    let mut attempt = 0;
    loop {
        let name = format!("hush-{}-{attempt}.tmp", std::process::id());
        let path = directory.join(name);
        match options.clone().create_new(true).open(&path) {
            Ok(file) => {
                std::fs::remove_file(&path)?;
                return Ok(file);
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && attempt < 1000 => {
                attempt += 1;
            }
            Err(error) => return Err(error),
        }
    }
}
