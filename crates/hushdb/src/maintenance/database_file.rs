//! `DatabaseFile`: a file that was opened, with its key where it needs one, to be looked after rather than asked.
//!
//! What must hold: opened read-only, nothing is written, and nothing repaired. What a check finds is said by place and kind.

use super::slots::{self, SlotChange};
use hushdb_keys::KeyProvider;
use hushdb_sql::Result;
use hushdb_storage::{
    Anchor, BlockRef, Freshness, Notice, OsFiles, Role, SECTOR_BYTES, StorageFiles, Store,
    StoreOptions,
};
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// An opened file. It is closed when this is dropped; a file is open once in a process.
pub struct DatabaseFile(Arc<Store>);

/// What was noticed, or put right, when the file was opened.
#[derive(Clone, Debug)]
pub struct FileNotice {
    /// In words.
    pub text: String,
    /// Whether something was damaged, also when it stands in another place and the file opens.
    pub is_damage: bool,
}

/// What the key vouches for.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    /// Of the newest superblock.
    pub generation: u64,
    /// SHA-256 over that superblock (FORMAT.md, "Root digest").
    pub root_digest: [u8; 32],
    /// Sectors of [`super::SECTOR_BYTES`] that the file has.
    pub sectors: u64,
    /// Blocks that were sealed so far.
    pub seals: u64,
}

/// A table or a view.
#[derive(Clone, Debug)]
pub struct Relation {
    /// The schema that it is in.
    pub schema: String,
    /// Its name.
    pub name: String,
    /// Of a table, what is stored; `None` for a view.
    pub table: Option<TableFacts>,
}

/// How much a table stores.
#[derive(Clone, Copy, Debug)]
pub struct TableFacts {
    /// Columns.
    pub columns: usize,
    /// Rows.
    pub rows: u64,
    /// Row groups.
    pub row_groups: usize,
    /// Bytes of its compressed segments.
    pub stored_bytes: u64,
    /// Bytes of the same uncompressed.
    pub raw_bytes: u64,
}

/// A block of the file.
#[derive(Clone, Debug)]
pub struct Block {
    /// What it holds, in words.
    pub role: String,
    /// The byte of the file at which it begins.
    pub offset: u64,
    /// Bytes of what is sealed in it.
    pub payload_bytes: u64,
    /// Bytes that it takes in the file.
    pub disk_bytes: u64,
}

/// Blocks of one role together.
#[derive(Clone, Debug)]
pub struct RoleTotal {
    /// What they hold, in words.
    pub role: String,
    /// How many.
    pub blocks: u64,
    /// Bytes of what is sealed in them.
    pub payload_bytes: u64,
    /// Bytes that they take in the file.
    pub disk_bytes: u64,
}

/// What a check found.
#[derive(Clone, Debug)]
pub struct CheckReport {
    /// Blocks that were opened.
    pub blocks: u64,
    /// Column segments that were decoded.
    pub segments: u64,
    /// Rows of all tables.
    pub rows: u64,
    /// Damaged blocks, a line each: what it is, where, and what is wrong.
    pub damage: Vec<String>,
    /// Blocks by what they hold, in the order of FORMAT.md's roles.
    pub by_role: Vec<RoleTotal>,
}

impl DatabaseFile {
    /// Opens the file at `path` to look at it. Nothing is written, nothing repaired.
    ///
    /// # Errors
    /// As [`crate::Database::open_with`].
    pub fn open_read_only(
        path: &Path,
        key: Option<&dyn KeyProvider>,
        freshness: Freshness,
    ) -> Result<Self> {
        Self::open_read_only_in(Arc::new(OsFiles::beside(path)?), key, freshness)
    }

    /// The same of a database that a source of files has.
    ///
    /// # Errors
    /// Likewise.
    pub fn open_read_only_in(
        files: Arc<dyn StorageFiles>,
        key: Option<&dyn KeyProvider>,
        freshness: Freshness,
    ) -> Result<Self> {
        let options = StoreOptions {
            read_only: true,
            freshness,
            ..StoreOptions::default()
        };
        Ok(Self(Store::open_in(files, key, &options)?))
    }

    /// Opens the encrypted file at `path` to change its key slots. Its log is opened too, which an anchor may be about and which
    /// nobody is to find open under a key that was changed.
    ///
    /// # Errors
    /// As [`crate::Database::open_with`]; `NotEncrypted` for a plain database.
    pub fn open_for_keys(path: &Path, key: &dyn KeyProvider, freshness: Freshness) -> Result<Self> {
        Self::open_for_keys_in(Arc::new(OsFiles::beside(path)?), key, freshness)
    }

    /// The same of a database that a source of files has.
    ///
    /// # Errors
    /// Likewise.
    pub fn open_for_keys_in(
        files: Arc<dyn StorageFiles>,
        key: &dyn KeyProvider,
        freshness: Freshness,
    ) -> Result<Self> {
        let options = StoreOptions {
            freshness,
            ..StoreOptions::default()
        };
        Ok(Self(Store::open_in(files, Some(key), &options)?))
    }

    /// What is open.
    pub(super) fn store(&self) -> &Arc<Store> {
        &self.0
    }

    /// What was noticed when it was opened.
    pub fn notices(&self) -> Vec<FileNotice> {
        self.0.notices().into_iter().map(told).collect()
    }

    /// What there is to say of its data keys: that one is due, or that a change has not ended.
    pub fn key_notices(&self) -> Vec<FileNotice> {
        self.0.key_notices().into_iter().map(told).collect()
    }

    /// How far the database has come, to be kept elsewhere.
    ///
    /// # Errors
    /// `Io`, and what was changed.
    pub fn anchor(&self) -> Result<Anchor> {
        Ok(self.0.anchor()?)
    }

    /// What the key vouches for.
    pub fn facts(&self) -> Facts {
        let info = self.0.info();
        Facts {
            generation: info.generation.number(),
            root_digest: info.root_digest,
            sectors: info.total_sectors,
            seals: info.seals,
        }
    }

    /// Tables and views, schema by schema.
    ///
    /// # Errors
    /// `Io`, `Corrupted` and `Tampered` of what is read.
    pub fn relations(&self) -> Result<Vec<Relation>> {
        let mut found = Vec::new();
        let catalog = self.0.snapshot();
        for (schema_name, schema) in &catalog.schemas {
            let relation = |name: &str, table| Relation {
                schema: schema_name.clone(),
                name: name.to_owned(),
                table,
            };
            for table in schema.tables.values() {
                let groups = table.row_groups()?;
                let segments = groups.iter().flat_map(|group| &group.segments);
                let (stored_bytes, raw_bytes) = segments.fold((0, 0), |(stored, raw), segment| {
                    let payload = u64::from(segment.block.payload_len);
                    (stored + payload, raw + segment.raw_bytes)
                });
                let facts = TableFacts {
                    columns: table.columns.len(),
                    rows: table.row_count(),
                    row_groups: groups.len(),
                    stored_bytes,
                    raw_bytes,
                };
                found.push(relation(&table.name, Some(facts)));
            }
            for view in schema.views.values() {
                found.push(relation(&view.name, None));
            }
        }
        Ok(found)
    }

    /// The blocks of a column of a table, row group by row group; `None` where there is no such column.
    ///
    /// # Errors
    /// `Io`, `Corrupted` and `Tampered` of what is read.
    pub fn column_blocks(
        &self,
        schema: &str,
        table: &str,
        column: &str,
    ) -> Result<Option<Vec<Block>>> {
        let catalog = self.0.snapshot();
        let Some(table) = catalog.table(schema, table) else {
            return Ok(None);
        };
        let Some(column) = table.column(column) else {
            return Ok(None);
        };
        let groups = table.row_groups()?;
        let segments = groups.iter().filter_map(|group| group.segment(column.id));
        let blocks = segments.map(|segment| Block::new(Role::ColumnData, &segment.block));
        Ok(Some(blocks.collect()))
    }

    /// Opens every block and decodes every segment. `on_block` is given each block before it is opened.
    ///
    /// # Errors
    /// What keeps the check from going on; damage is in the report.
    pub fn check(&self, on_block: &mut dyn FnMut(&Block)) -> Result<CheckReport> {
        let mut by_role: BTreeMap<Role, RoleTotal> = BTreeMap::new();
        let report = self.0.check(&mut |role, block| {
            let block = Block::new(role, block);
            let total = by_role.entry(role).or_insert_with(|| RoleTotal {
                role: role.to_string(),
                blocks: 0,
                payload_bytes: 0,
                disk_bytes: 0,
            });
            total.blocks += 1;
            total.payload_bytes += block.payload_bytes;
            total.disk_bytes += block.disk_bytes;
            on_block(&block);
        })?;
        let damage = report.findings.iter().map(|finding| {
            let offset = finding.sector.saturating_mul(SECTOR_BYTES as u64);
            format!("{} block at byte {offset}: {}", finding.role, finding.error)
        });
        Ok(CheckReport {
            blocks: report.blocks,
            segments: report.segments,
            rows: report.rows,
            damage: damage.collect(),
            by_role: by_role.into_values().collect(),
        })
    }

    /// Adds a key slot with the key that `key` gives.
    ///
    /// # Errors
    /// `NotEncrypted`; `InvalidInput` where all slots are in use or the label is none; what the provider refuses.
    pub fn add_slot(&self, key: &dyn KeyProvider, label: &str) -> Result<SlotChange> {
        slots::add_slot(&self.0, key, label)
    }

    /// Gives a slot another key, under its label. The only slot need not be named.
    ///
    /// # Errors
    /// As [`Self::add_slot`]; `InvalidInput` for a slot that is not in use, or none where there are several.
    pub fn change_slot(&self, slot: Option<usize>, key: &dyn KeyProvider) -> Result<SlotChange> {
        slots::change_slot(&self.0, slot, key)
    }

    /// Removes a slot. Copies of the file that were made before still open with its key.
    ///
    /// # Errors
    /// `NotEncrypted`; `InvalidInput` for one that is not in use, or is the last.
    pub fn remove_slot(&self, slot: usize) -> Result<SlotChange> {
        slots::remove_slot(&self.0, slot)
    }
}

fn told(notice: Notice) -> FileNotice {
    FileNotice {
        text: notice.to_string(),
        is_damage: notice.is_damage(),
    }
}

impl Block {
    fn new(role: Role, block: &BlockRef) -> Self {
        Self {
            role: role.to_string(),
            offset: block.sector.saturating_mul(SECTOR_BYTES as u64),
            payload_bytes: u64::from(block.payload_len),
            disk_bytes: block
                .sectors()
                .map_or(0, |sectors| u64::from(sectors) * SECTOR_BYTES as u64),
        }
    }
}

impl fmt::Debug for DatabaseFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DatabaseFile")
    }
}
