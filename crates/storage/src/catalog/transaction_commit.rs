//! Committing: what changed is written leaves first, then the superblock flips.
//!
//! Holds: a block is written before the block that names it; an unchanged table's blocks are not touched; after a
//! failure the committed state is what it was.

use std::sync::Arc;

use super::catalog_version::CatalogVersion;
use super::transaction::Transaction;
use crate::block::{BlockRef, Role};
use crate::error::{Error, Result};
use crate::table::{Page, RowGroup, TableVersion};

impl Transaction<'_> {
    /// Makes the changes durable and visible, all at once, and returns the new state.
    ///
    /// # Errors
    /// Full and Io of the file, InvalidInput after a change that failed half-way: nothing was committed.
    pub fn commit(mut self) -> Result<Arc<CatalogVersion>> {
        if self.broken {
            return Err(Error::InvalidInput(
                "a change in this transaction failed: roll it back".into(),
            ));
        }
        if !self.changed {
            return Ok(self.store.snapshot());
        }
        self.store_tables()?;
        let replaced = self.catalog.block.take();
        self.release(replaced);
        let root = self
            .store
            .write_block(Role::Metadata, &self.catalog.encode())?;
        self.fresh.insert(root);

        let blocks = &self.store.blocks;
        let oldest = self.store.oldest_in_use(self.catalog.generation);
        for block in &self.released {
            blocks.free(block);
        }
        match blocks.commit(root, oldest) {
            Ok(generation) => {
                self.fresh.clear();
                let catalog = CatalogVersion {
                    generation,
                    schemas: std::mem::take(&mut self.catalog.schemas),
                    next_table_id: self.catalog.next_table_id,
                    block: Some(root),
                };
                Ok(self.store.publish(catalog))
            }
            Err(error) => {
                // Takes back every block since the last commit, ours included, and forgets what was marked free.
                self.fresh.clear();
                self.store.epochs.end(|| blocks.rollback());
                Err(error)
            }
        }
    }

    fn store_tables(&mut self) -> Result<()> {
        let mut schemas = std::mem::take(&mut self.catalog.schemas);
        let mut store_all = || -> Result<()> {
            for schema in schemas.values_mut() {
                if schema.tables.values().all(|table| table.block.is_some()) {
                    continue;
                }
                let schema = Arc::make_mut(schema);
                for table in schema
                    .tables
                    .values_mut()
                    .filter(|table| table.block.is_none())
                {
                    self.store_table(Arc::make_mut(table))?;
                }
            }
            Ok(())
        };
        let result = store_all();
        self.catalog.schemas = schemas;
        result
    }

    fn store_table(&mut self, table: &mut TableVersion) -> Result<()> {
        let mut pages = Vec::with_capacity(table.pages.len());
        for page in &table.pages {
            if page.block.is_some() {
                pages.push(Arc::clone(page));
                continue;
            }
            let mut groups = Vec::new();
            for group in table.page_groups(page)? {
                groups.push(self.store_deletes(group)?);
            }
            let block = self.write(&Page::encode(&groups))?;
            pages.push(Arc::new(Page::stored(groups, block)));
        }
        table.set_pages(pages);
        table.block = Some(self.write(&table.encode())?);
        Ok(())
    }

    fn store_deletes(&mut self, group: &Arc<RowGroup>) -> Result<Arc<RowGroup>> {
        match &group.deletes {
            Some(deletes) if group.deletes_block.is_none() => {
                let block = self.write(&RowGroup::deletes_to_bytes(deletes))?;
                let stored = RowGroup {
                    deletes_block: Some(block),
                    ..RowGroup::clone(group)
                };
                Ok(Arc::new(stored))
            }
            _ => Ok(Arc::clone(group)),
        }
    }

    fn write(&mut self, bytes: &[u8]) -> Result<BlockRef> {
        let block = self.store.write_block(Role::Metadata, bytes)?;
        self.fresh.insert(block);
        Ok(block)
    }
}
