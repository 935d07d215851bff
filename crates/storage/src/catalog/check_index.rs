//! Holding indexes against their tables: blocks in order, one entry for each row, none too many.

use bytes::Bytes;

use super::store::Store;
use crate::block::{BlockRef, Role};
use crate::error::{Error, Result};
use crate::index::Index;
use crate::numbers::RowId;
use crate::row_keys::{KeyRun, MergedRuns};
use crate::table::TableVersion;
use crate::tree::walk;

/// Walks the tree of an index, whose blocks `open` gives (`None`: it has said what is wrong with one), and compares what
/// it says with the rows.
///
/// # Errors
/// What is wrong with the index or with the rows that it is held against.
pub(super) fn check_index(
    store: &Store,
    table: &TableVersion,
    index: &Index,
    open: &mut dyn FnMut(&BlockRef) -> Option<Bytes>,
) -> Result<()> {
    let sector = index.tree().map_or(0, |tree| tree.root.sector);
    let wrong = |what| Error::malformed(Role::Index, sector, what);
    let mut runs = Vec::new();
    for group in table.row_groups()? {
        runs.push(KeyRun {
            first_row_id: group.first_row_id,
            keys: store.run_of(index, table, group)?.into(),
        });
    }
    let mut rows = MergedRuns::new(&runs);
    let mut agrees = true;
    let mut compare = |key: &[u8], id: u64| -> Result<()> {
        if table.is_visible(RowId::new(id))? {
            agrees &= rows.next() == Some((key, id));
        }
        Ok(())
    };
    let mut unstored = index.unstored().peekable();
    let mut failed = None;
    let walked = walk(index.tree(), open, &mut |key, id| {
        let mut both = || {
            while let Some((key, id)) = unstored.next_if(|entry| *entry < (key, id)) {
                compare(key, id)?;
            }
            let _ = unstored.next_if(|entry| *entry == (key, id));
            compare(key, id)
        };
        if let Err(error) = both() {
            failed.get_or_insert(error);
        }
    });
    if let Some(error) = failed {
        return Err(error);
    }
    // A block that does not open has been reported, and leaves nothing to compare.
    if !walked.map_err(wrong)? {
        return Ok(());
    }
    for (key, id) in unstored {
        compare(key, id)?;
    }
    match agrees && rows.next().is_none() {
        true => Ok(()),
        false => Err(wrong("an index and the rows of its table disagree")),
    }
}
