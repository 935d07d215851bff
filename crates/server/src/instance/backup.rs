//! `hush backup`: a second instance in another directory, of the same databases under the same keys, each as of one moment.
//!
//! What must hold: nothing plain is written; `HUSH_INSTANCE` comes last, so that what was interrupted is no instance. No database
//! is made, dropped or put under another key meanwhile, so that each of the copy's rows has its file and its key.

use super::catalog::{DatabaseRow, State};
use super::{CATALOG, CERTIFICATE, FILES, Instance, MARK, init, keyring};
use crate::failure::{FailureKind, Result, ServeError};
use hushdb::maintenance::DatabaseFile;
use hushdb::{AttachOptions, Freshness, KeySource};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// What is copied, and where to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Backup {
    /// A directory that is empty, or not there yet.
    pub to: PathBuf,
    /// Whether it is the instance catalog alone, with all keys and roles and no database.
    pub instance_alone: bool,
}

/// What a backup has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BackedUp {
    /// Databases, all blocks of which were opened.
    pub databases: u64,
    /// Their rows.
    pub rows: u64,
}

/// Makes a backup of an instance on which no server runs.
///
/// # Errors
/// `Busy` while one runs, which makes it itself; a directory with something in it; what reading and writing give.
pub fn backup(directory: &Path, key: KeySource, backup: &Backup) -> Result<BackedUp> {
    Instance::open_on_host(directory, key)?.back_up(backup)
}

impl Instance {
    /// Makes a backup, also while sessions read and write.
    ///
    /// # Errors
    /// As [`backup`].
    pub(crate) fn back_up(&self, backup: &Backup) -> Result<BackedUp> {
        let Some(_steps) = self.steps.try_lock() else {
            return Err(ServeError::new(
                FailureKind::Busy,
                "a database is being made, dropped or backed up: try again when that has ended",
            ));
        };
        init::make_directory(&backup.to)?;
        let mut done = BackedUp::default();
        if !backup.instance_alone {
            let rows = self.catalog.databases()?.into_iter();
            for row in rows.filter(|row| row.state == State::Online) {
                done.databases += 1;
                done.rows += self.back_up_database(&row, &backup.to)?;
            }
        }
        let failed =
            |error: io::Error| ServeError::other(format!("the backup cannot be written: {error}"));
        self.catalog
            .at_rest(|| self.copy_catalog(&backup.to).map_err(failed))?;
        for name in [CERTIFICATE, MARK] {
            copy_synced(&self.files.directory().join(name), &backup.to.join(name))
                .map_err(failed)?;
        }
        let directories = [backup.to.join(FILES), backup.to.clone()];
        for directory in directories {
            let synced = File::open(directory).and_then(|directory| directory.sync_all());
            synced.map_err(failed)?;
        }
        Ok(done)
    }

    /// Copies a database as one statement sees it, under its own key, and checks the copy; gives its rows.
    fn back_up_database(&self, row: &DatabaseRow, to: &Path) -> Result<u64> {
        let file = to.join(FILES).join(format!("{}.hushdb", row.id));
        let key = self.keyring.unwrap(&self.catalog, &row.id)?;
        let source = KeySource::Text(keyring::key_text(&key));
        let options = AttachOptions {
            key: Some(source.clone()),
            ..AttachOptions::default()
        };
        // Longer than a name that a database of the instance may have.
        let copy = format!("{}: the backup that is being made of it", row.id);
        // Nobody drops or closes it as long as it counts as a session.
        let session = self
            .connect(row)
            .map_err(|(_, message)| ServeError::other(message))?;
        let copied = self
            .databases
            .attach(&file, &copy, &options)
            .and_then(|()| {
                let connection = self.databases.connect()?;
                let copied = connection.copy_database(&row.name, &copy, "main");
                drop(connection);
                let stored = copied.and_then(|()| self.databases.checkpoint(&copy));
                let closed = self.databases.detach(&copy);
                stored.and(closed)
            });
        drop(session);
        self.disconnected(&row.name);
        copied?;
        let opened =
            DatabaseFile::open_read_only(&file, Some(&*source.provider()), Freshness::default())?;
        let report = opened.check(&mut |_| {})?;
        match report.damage.is_empty() {
            true => Ok(report.rows),
            false => Err(ServeError::new(
                FailureKind::Damaged,
                "a block of the backup does not open: it is none",
            )),
        }
    }

    /// Copies the catalog's files, which nobody writes meanwhile. That its record lock goes as the copied file is closed costs no more
    /// than the holder's name in another process's refusal.
    fn copy_catalog(&self, to: &Path) -> io::Result<()> {
        for ending in ["", ".wal", ".wal.next"] {
            let name = format!("{CATALOG}{ending}");
            match copy_synced(&self.files.directory().join(&name), &to.join(&name)) {
                Err(error) if error.kind() == io::ErrorKind::NotFound && !ending.is_empty() => {}
                other => other?,
            }
        }
        Ok(())
    }
}

/// Copies a file; it is its owner's alone, as the one it is a copy of.
fn copy_synced(from: &Path, to: &Path) -> io::Result<()> {
    fs::copy(from, to)?;
    File::open(to)?.sync_all()
}
