//! `Salvage`: what still opens of a damaged file, to be listed or copied into a new one.
//!
//! What must hold: the damaged file is only read, and a copy that was not finished is removed: a part of what could be saved would
//! look like all of it. Tables, rows by number and places are named, never a value.

use super::header::FileHeader;
use hushdb_keys::{KeyProvider, Suite};
use hushdb_sql::Result;
use hushdb_storage::{
    Freshness, Lost, OsFiles, SalvageReport as StoredReport, StorageFiles, Store, StoreOptions,
};
use std::path::Path;

/// A damaged file, opened as far as it opens.
pub struct Salvage {
    salvage: hushdb_storage::Salvage,
    /// How a copy is sealed: as the file is, and in any case.
    suite: Suite,
}

/// What was saved, or could be.
#[derive(Clone, Debug)]
pub struct SalvageReport {
    /// Tables whose record opens.
    pub tables: Vec<SalvagedTable>,
    /// Views.
    pub views: u64,
    /// What was lost, a line each, in the order of the file's catalog.
    pub lost: Vec<String>,
}

/// A table of which rows can be read.
#[derive(Clone, Debug)]
pub struct SalvagedTable {
    /// Schema and name.
    pub name: String,
    /// Rows that open.
    pub rows: u64,
    /// Rows that it had.
    pub total_rows: u64,
}

impl Salvage {
    /// Opens the file at `path`, and its logs, as far as they open.
    ///
    /// # Errors
    /// What keeps it from opening at all: a wrong key, neither header, no root.
    pub fn open(path: &Path, key: Option<&dyn KeyProvider>, freshness: Freshness) -> Result<Self> {
        let suite = FileHeader::suite_of(path)?;
        let options = StoreOptions {
            freshness,
            ..StoreOptions::default()
        };
        Ok(Self {
            salvage: hushdb_storage::Salvage::open_path(path, key, &options)?,
            suite: match suite {
                Suite::Plain => Suite::Gcm,
                suite => suite,
            },
        })
    }

    /// Says what could be saved.
    ///
    /// # Errors
    /// Of the operating system.
    pub fn survey(self) -> Result<SalvageReport> {
        Ok(self.salvage.survey()?.into())
    }

    /// Copies what opens into a new file, encrypted if a key is given. Nothing is left there if that fails.
    ///
    /// # Errors
    /// A file that is there already or cannot be written.
    pub fn copy_to(self, path: &Path, key: Option<&dyn KeyProvider>) -> Result<SalvageReport> {
        let options = StoreOptions {
            suite: self.suite,
            ..StoreOptions::default()
        };
        let files = OsFiles::beside(path)?;
        let out = Store::create_path(files.path(), key, &options)?;
        let copied = self.salvage.copy_to(&out);
        drop(out);
        if copied.is_err() {
            for name in [".wal.next", ".wal", ""] {
                let _ = files.remove(name);
            }
        }
        Ok(copied?.into())
    }
}

impl From<StoredReport> for SalvageReport {
    fn from(report: StoredReport) -> Self {
        let tables = report.tables.into_iter().map(|table| SalvagedTable {
            name: table.name,
            rows: table.rows,
            total_rows: table.total_rows,
        });
        Self {
            tables: tables.collect(),
            views: report.views,
            lost: report.lost.iter().map(place_of).collect(),
        }
    }
}

fn place_of(lost: &Lost) -> String {
    let mut text = match (&lost.table, &lost.rows) {
        (Some(table), Some(rows)) => {
            // Of those row ids, some may have been deleted.
            format!(
                "{table}, rows {} to {}",
                rows.start,
                rows.end.saturating_sub(1)
            )
        }
        (Some(schema), None) if lost.part.is_none() => format!("a table of schema {schema}"),
        (Some(table), None) => table.clone(),
        (None, _) => match &lost.part {
            Some(part) => return format!("{part}: {}", lost.error),
            None => "the end of the log".to_owned(),
        },
    };
    if let Some(part) = &lost.part {
        text.push_str(", ");
        text.push_str(part);
    }
    format!("{text}: {}", lost.error)
}
