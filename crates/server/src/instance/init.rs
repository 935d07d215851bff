//! `hush init`: a new instance with its superuser, its first database and its certificate.

use super::catalog::{Catalog, KEYRING_ROOT, MOCK_SECRET, Role, TLS_KEY};
use super::files::InstanceFiles;
use super::{CERTIFICATE, FILES, FIRST, Instance, MARK, MARK_FORMAT};
use crate::auth::tls::Identity;
use crate::auth::verifier::Verifier;
use crate::failure::{FailureKind, Result, ServeError};
use hushdb::KeySource;
use hushdb::crypto::CryptoProvider;
use hushdb::keys::SecretBytes;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// What a new instance is made with.
pub struct InitOptions {
    /// Where it lies: a directory that is empty or not there yet.
    pub directory: PathBuf,
    /// Opens the instance from now on.
    pub key: KeySource,
    /// The password of the superuser `hush`.
    pub password: SecretBytes,
}

/// Makes an instance; gives the SHA-256 of its certificate, in hexadecimal digits.
///
/// # Errors
/// A directory with something in it, a key that cannot be had, and what writing files gives. What was made before the error stays
/// behind; it is no instance, since `HUSH_INSTANCE` is written last.
pub fn init(options: &InitOptions) -> Result<String> {
    let directory = &options.directory;
    let password = std::str::from_utf8(options.password.expose());
    let password = password.map_err(|_| usage("the password is no UTF-8 text"))?;
    if password.is_empty() {
        return Err(usage("the password is empty"));
    }
    make_directory(directory)?;
    let crypto = CryptoProvider::aws_lc();
    let id = random_hex::<8>(&crypto)?;
    let identity = Identity::self_signed(&id).map_err(ServeError::other)?;
    let catalog = Catalog::create(&InstanceFiles::in_directory(directory), options.key.clone())?;
    let root = crypto.random_key().map_err(|_| no_random())?;
    let mock = crypto.random_key().map_err(|_| no_random())?;
    catalog.keep_secret(KEYRING_ROOT, root.expose())?;
    catalog.keep_secret(MOCK_SECRET, mock.expose())?;
    catalog.keep_secret(TLS_KEY, &identity.private_key)?;
    let verifier = Verifier::of_password(&crypto, password).ok_or_else(no_random)?;
    catalog.put_role(&Role {
        name: FIRST.into(),
        verifier: Some(verifier.to_text()),
        superuser: true,
        create_database: true,
        login: true,
        connection_limit: -1,
    })?;
    catalog.checkpoint()?;
    drop(catalog);
    let written = |error: io::Error| {
        ServeError::other(format!(
            "cannot write into {}: {error}",
            directory.display()
        ))
    };
    let pem = identity.certificate_pem();
    write_synced(&directory.join(CERTIFICATE), pem.as_bytes()).map_err(written)?;
    let mark = format!("{MARK_FORMAT} {id}\n");
    write_synced(&directory.join(MARK), mark.as_bytes()).map_err(written)?;
    File::open(directory)
        .and_then(|d| d.sync_all())
        .map_err(written)?;
    let instance = Instance::open(directory, options.key.clone(), None, Some(1))?;
    let created = instance.create(FIRST, FIRST);
    created.map_err(|(_, message)| ServeError::other(message))?;
    instance.checkpoint();
    Ok(hex::encode(crypto.sha256(&[&identity.certificate])))
}

/// Makes a directory for an instance.
///
/// # Errors
/// One with something in it, and what the system gives.
pub(super) fn make_directory(directory: &Path) -> Result<()> {
    let failed = |error: io::Error| {
        ServeError::other(format!("cannot make {}: {error}", directory.display()))
    };
    match fs::read_dir(directory) {
        Ok(mut entries) => {
            if entries.next().is_some() {
                return Err(usage("the directory is not empty: give another"));
            }
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            DirBuilder::new()
                .mode(0o700)
                .create(directory)
                .map_err(failed)?;
        }
        Err(error) => return Err(failed(error)),
    }
    DirBuilder::new()
        .mode(0o700)
        .create(directory.join(FILES))
        .map_err(failed)
}

fn write_synced(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::create_new(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

fn random_hex<const N: usize>(crypto: &CryptoProvider) -> Result<String> {
    let mut bytes = [0; N];
    crypto.random(&mut bytes).map_err(|_| no_random())?;
    Ok(hex::encode(bytes))
}

fn usage(message: &str) -> ServeError {
    ServeError::new(FailureKind::Usage, message)
}

fn no_random() -> ServeError {
    ServeError::other("the system has no random bytes")
}
