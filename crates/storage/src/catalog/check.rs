//! Walking the whole file: every ref is followed, every block opened, every segment decoded.
//!
//! What must hold: a damaged block becomes a finding and does not end the walk; nothing is written. Findings name places, never
//! content. What is looked at is the newest committed state and what the file below keeps for itself.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::Array;

use super::catalog_version::CatalogVersion;
use super::check_index::check_index;
use super::store::Store;
use crate::block::{BlockRef, Role};
use crate::error::{Error, Result};
use crate::row_group::{DistinctSketch, RowGroup};
use crate::store::PastRun;
use crate::table::TableVersion;
use crate::tree::walk;

/// What [`Store::check`] saw.
#[derive(Debug, Default)]
pub struct CheckReport {
    /// Blocks that were opened.
    pub blocks: u64,
    /// Bytes of payload in them.
    pub bytes: u64,
    /// Column segments that were decoded.
    pub segments: u64,
    /// Rows in all tables that are not deleted.
    pub rows: u64,
    /// Blocks by role.
    pub by_role: BTreeMap<Role, u64>,
    /// What is wrong; empty for a sound file.
    pub findings: Vec<Finding>,
}

/// Something wrong with the file.
#[derive(Debug)]
pub struct Finding {
    /// The role of the block.
    pub role: Role,
    /// Its first sector.
    pub sector: u64,
    /// What is wrong.
    pub error: Error,
}

impl Store {
    /// Opens and decodes everything that the newest state names and holds the places of all blocks against each other
    /// and the free list. `on_block` is called once for each block, for progress.
    ///
    /// # Errors
    /// None for what is wrong with the file: that is in the report.
    pub fn check(&self, on_block: &mut dyn FnMut(Role, &BlockRef)) -> Result<CheckReport> {
        let snapshot = self.snapshot();
        let mut walk = Walk {
            store: self,
            on_block,
            report: CheckReport::default(),
            places: BTreeMap::new(),
        };
        let free = walk.own_blocks();
        walk.key_ring();
        walk.history();
        walk.catalog(&snapshot);
        walk.places(&free);
        Ok(walk.report)
    }
}

struct Walk<'a> {
    store: &'a Store,
    on_block: &'a mut dyn FnMut(Role, &BlockRef),
    report: CheckReport,
    /// First sector, number of sectors and role of every block.
    places: BTreeMap<u64, (u64, Role)>,
}

impl Walk<'_> {
    fn finding(&mut self, role: Role, sector: u64, error: Error) {
        self.report.findings.push(Finding {
            role,
            sector,
            error,
        });
    }

    /// Opens a block afresh, not from the pool, and notes its place.
    fn open(&mut self, role: Role, block: &BlockRef) -> Option<bytes::Bytes> {
        (self.on_block)(role, block);
        self.note(role, block);
        match self.store.blocks.read_from_disk(role, block) {
            Ok(bytes) => Some(bytes),
            Err(error) => {
                self.finding(role, block.sector, error);
                None
            }
        }
    }

    fn note(&mut self, role: Role, block: &BlockRef) {
        self.report.blocks += 1;
        self.report.bytes += u64::from(block.payload_len);
        *self.report.by_role.entry(role).or_default() += 1;
        let sectors = block.sectors().map_or(1, u64::from);
        if self.places.insert(block.sector, (sectors, role)).is_some() {
            self.overlap(role, block.sector);
        }
    }

    fn overlap(&mut self, role: Role, sector: u64) {
        let error = Error::malformed(role, sector, "two blocks stand in one place");
        self.finding(role, sector, error);
    }

    /// The free list's own blocks, and what is free. Who opened read-only has not read it yet.
    fn own_blocks(&mut self) -> Vec<(u64, u64)> {
        let blocks = Arc::clone(&self.store.blocks);
        let mut at = 0;
        let free = if blocks.read_only() {
            blocks.read_free_list(&mut |block| {
                (self.on_block)(Role::FreeList, block);
                self.note(Role::FreeList, block);
                at = block.sector;
            })
        } else {
            for block in blocks.free_list_refs() {
                self.open(Role::FreeList, &block);
            }
            blocks.free_extents()
        };
        free.unwrap_or_else(|error| {
            self.finding(Role::FreeList, at, error);
            Vec::new()
        })
    }

    /// Both copies of the key ring, and what it keeps from being used.
    fn key_ring(&mut self) {
        // What opening has told of is not told twice.
        let told = self.store.blocks.damaged_ring_copy();
        for (copy, block) in self.store.blocks.key_ring_refs().iter().enumerate() {
            match told == Some(copy) {
                true => self.note(Role::KeyRing, block),
                false => drop(self.open(Role::KeyRing, block)),
            }
        }
        for (sector, sectors) in self.store.blocks.reserved_sectors() {
            if self
                .places
                .insert(sector, (sectors, Role::KeyRing))
                .is_some()
            {
                self.overlap(Role::KeyRing, sector);
            }
        }
    }

    /// The runs that the superblock has no room for.
    fn history(&mut self) {
        let history = self.store.blocks.history();
        let Some(tree) = &history.tree else {
            return;
        };
        let mut before: Option<PastRun> = None;
        let mut in_order = true;
        let mut run = |past: Option<PastRun>| {
            in_order &= past.is_some_and(|past| past.follows(before.as_ref()));
            before = past.or(before);
        };
        let open = &mut |block: &BlockRef| self.open(Role::Index, block);
        let walked = walk(Some(tree), open, &mut |key, id| {
            run(PastRun::from_entry(key, id));
        });
        if matches!(walked, Ok(true))
            && let Some(first) = history.recent.first()
        {
            run(Some(*first));
        }
        let wrong = match walked {
            Err(what) => what,
            Ok(_) if !in_order => "the history of the file is out of order",
            Ok(_) => return,
        };
        let sector = tree.root.sector;
        self.finding(
            Role::Index,
            sector,
            Error::malformed(Role::Index, sector, wrong),
        );
    }

    fn catalog(&mut self, catalog: &CatalogVersion) {
        if let Some(root) = &catalog.block {
            self.open(Role::Metadata, root);
        }
        for table in catalog.tables() {
            if let Some(block) = &table.block {
                self.open(Role::Metadata, block);
            }
            self.report.rows += table.row_count();
            for page in &table.pages {
                if let Some(block) = &page.block {
                    self.open(Role::Metadata, block);
                }
                match table.page_groups(page) {
                    Ok(groups) => groups.iter().for_each(|group| self.row_group(table, group)),
                    Err(error) => {
                        let sector = page.block.map_or(0, |block| block.sector);
                        self.finding(Role::Metadata, sector, error);
                    }
                }
            }
            for index in table.indexes() {
                let store = self.store;
                let open = &mut |block: &BlockRef| self.open(Role::Index, block);
                if let Err(error) = check_index(store, table, index, open) {
                    let sector = index.tree().map_or(0, |tree| tree.root.sector);
                    self.finding(Role::Index, sector, error);
                }
            }
        }
    }

    fn row_group(&mut self, table: &TableVersion, group: &RowGroup) {
        if let Some(block) = &group.deletes_block
            && let Some(bytes) = self.open(Role::Metadata, block)
            && group.deletes_from_bytes(&bytes).is_err()
        {
            let error = Error::malformed(Role::Metadata, block.sector, "delete vector");
            self.finding(Role::Metadata, block.sector, error);
        }
        if let Some(block) = &group.sketches
            && let Some(bytes) = self.open(Role::Statistics, block)
            && DistinctSketch::read_all(&bytes).is_err()
        {
            let error = Error::malformed(Role::Statistics, block.sector, "distinct sketches");
            self.finding(Role::Statistics, block.sector, error);
        }
        for segment in &group.segments {
            let Some(bytes) = self.open(Role::ColumnData, &segment.block) else {
                continue;
            };
            let column = table
                .columns
                .iter()
                .find(|column| column.id == segment.column_id);
            let decoded = column
                .and_then(|c| {
                    self.store
                        .codec
                        .decode(&c.ty, group.rows, &bytes, None)
                        .ok()
                })
                .filter(|array| array.null_count() as u64 == segment.null_count);
            self.report.segments += 1;
            if decoded.is_none() {
                let sector = segment.block.sector;
                let error = Error::malformed(Role::ColumnData, sector, "column segment");
                self.finding(Role::ColumnData, sector, error);
            }
        }
    }

    /// No two blocks overlap, none lies outside the file, none is on the free list.
    fn places(&mut self, free: &[(u64, u64)]) {
        let total = self.store.info().total_sectors;
        let mut wrong = Vec::new();
        let mut taken_to = 0;
        for (sector, (sectors, role)) in &self.places {
            let end = sector.saturating_add(*sectors);
            if *sector < taken_to {
                wrong.push((*role, *sector, "two blocks stand in one place"));
            }
            if end > total {
                wrong.push((*role, *sector, "a block lies outside the file"));
            }
            taken_to = taken_to.max(end);
        }
        for (sector, sectors) in free {
            let end = sector.saturating_add(*sectors);
            let before = self.places.range(..end).next_back();
            if let Some((at, (len, role))) = before
                && at.saturating_add(*len) > *sector
            {
                wrong.push((*role, *at, "a block in use is on the free list"));
            }
        }
        for (role, sector, what) in wrong {
            self.finding(role, sector, Error::malformed(role, sector, what));
        }
    }
}
