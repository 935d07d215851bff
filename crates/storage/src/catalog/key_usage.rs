//! What of the newest state is under which data key.

use std::collections::BTreeMap;

use super::reseal::roles_of;
use super::store::Store;
use crate::block::{BlockRef, SECTOR_BYTES};
use crate::error::Result;
use crate::tree::visit_blocks;

/// Blocks under one data key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeyUsage {
    /// How many.
    pub blocks: u64,
    /// Their bytes in the file.
    pub bytes: u64,
}

impl KeyUsage {
    fn add(&mut self, block: &BlockRef) {
        self.blocks += 1;
        self.bytes += block.sectors().map_or(0, u64::from) * SECTOR_BYTES as u64;
    }
}

impl Store {
    /// What of the tables and indexes of the newest state is under which data key, by the key's id; 0 in a plain database. Opens
    /// directories and the upper blocks of indexes, no rows. What the file keeps for itself, and the log, are not counted.
    ///
    /// # Errors
    /// Of a block that is damaged.
    pub fn key_usage(&self) -> Result<BTreeMap<u32, KeyUsage>> {
        let snapshot = self.snapshot();
        let mut usage: BTreeMap<u32, KeyUsage> = BTreeMap::new();
        let mut add = |block: &BlockRef| usage.entry(block.key_id).or_default().add(block);
        for table in snapshot.tables() {
            table.block.iter().for_each(&mut add);
            for page in &table.pages {
                page.block.iter().for_each(&mut add);
                let groups = table.page_groups(page)?.iter();
                groups
                    .flat_map(|group| roles_of(group))
                    .for_each(|(_, block)| add(&block));
            }
            for tree in table.indexes().iter().filter_map(|index| index.tree()) {
                visit_blocks(&*self.blocks, tree, &mut |block, _| {
                    add(block);
                    Ok(true)
                })?;
            }
        }
        Ok(usage)
    }
}
