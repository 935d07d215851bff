//! The files of the demo. Only these are ever created, and only these are removed before a new run.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use hushdb::keys::random_key;

use crate::failure::Failure;

/// Where everything is.
pub(super) struct DemoFiles {
    pub(super) key: PathBuf,
    pub(super) wrong_key: PathBuf,
    pub(super) encrypted: PathBuf,
    pub(super) plain: PathBuf,
    pub(super) tampered: PathBuf,
    pub(super) picture: PathBuf,
    /// An earlier demo's files were there.
    pub(super) replaced: bool,
}

impl DemoFiles {
    /// Makes the directory and two random keys, and removes what an earlier demo left.
    ///
    /// # Errors
    /// The file system's; a directory in which a database lies that no demo made.
    pub(super) fn prepare(directory: &Path) -> Result<Self, Failure> {
        let at = |name: &str| directory.join(name);
        let mut files = Self {
            key: at("demo.key"),
            wrong_key: at("wrong.key"),
            encrypted: at("encrypted.hush"),
            plain: at("plain.hush"),
            tampered: at("tampered.hush"),
            picture: at("bytes.png"),
            replaced: false,
        };
        fs::create_dir_all(directory).map_err(|error| Failure::file(directory, error))?;
        // The key file is written first, so where it is missing the databases are not the demo's.
        if !files.key.exists() && (files.encrypted.exists() || files.plain.exists()) {
            let text = format!(
                "{} has databases that no demo made: give another --dir",
                directory.display()
            );
            return Err(Failure::Message(text));
        }
        for path in [
            &files.wrong_key,
            &files.encrypted,
            &files.plain,
            &files.tampered,
            &files.picture,
            &files.key,
        ] {
            match fs::remove_file(path) {
                Ok(()) => files.replaced = true,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(Failure::file(path, error)),
            }
        }
        write_key(&files.key)?;
        write_key(&files.wrong_key)?;
        Ok(files)
    }
}

/// A new random key as key text, for its owner's eyes only.
fn write_key(path: &Path) -> Result<(), Failure> {
    let key = random_key()?;
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .map_err(|error| Failure::file(path, error))?;
    let mut text = String::from("hex:");
    for byte in key.expose() {
        text.push_str(&format!("{byte:02x}"));
    }
    text.push('\n');
    file.write_all(text.as_bytes())
        .map_err(|error| Failure::file(path, error))
}
