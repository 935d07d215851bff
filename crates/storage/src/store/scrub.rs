//! Overwriting what is free, so that nothing of it opens under a key that the file gives up.
//!
//! What must hold: only sectors are overwritten that nobody has, and nobody gets them meanwhile. Blocks that are freed
//! meanwhile are not overwritten: when this begins, nothing may be left in use under a key that is to go.

use std::sync::atomic::Ordering;

use super::block_store::BlockStore;
use super::extents::Extent;
use super::file_map::FIRST_SECTOR;
use crate::block::SECTOR_BYTES;
use crate::error::Result;
use crate::file::StorageFile;
use crate::interrupt::check_interrupt;

/// Sectors that are set aside at once: 64 MiB.
const PIECE_SECTORS: u64 = 16_384;
/// Sectors that are written at once: 1 MiB.
const WRITE_SECTORS: u64 = 256;

impl BlockStore {
    /// Whether every block that no commit has named yet is sealed under the data key of new blocks.
    pub(crate) fn is_aside_under_newest(&self) -> Result<bool> {
        let key_id = self.sealed.key_id();
        Ok(self.space()?.lock().is_aside_under(key_id))
    }

    /// Overwrites all free sectors with zeros, and what the file has behind its end. Returns when that is durable. `written` hears
    /// of the bytes. Where the file only grew nothing was ever written, and the disk may have no room to begin: that is left.
    ///
    /// # Errors
    /// `Io`, `Full`, `Interrupted`, those of `written`; what is free stays free.
    pub(crate) fn scrub_unused(&self, written: &mut dyn FnMut(u64) -> Result<()>) -> Result<()> {
        loop {
            let unwritten = self.unwritten.load(Ordering::Acquire);
            let mut from = FIRST_SECTOR;
            loop {
                let file = self.sealed.file().as_ref();
                let piece = self
                    .space()?
                    .lock()
                    .take_unused(file, from, PIECE_SECTORS)?;
                let Some(piece) = piece else {
                    break;
                };
                let scrubbed = zero(file, piece, written);
                let end = piece.sector + piece.sectors;
                self.give_back(piece);
                scrubbed?;
                from = end;
            }
            // A block that got a place and did not reach it left there what was there before.
            if self.unwritten.load(Ordering::Acquire) == unwritten {
                break;
            }
        }
        self.sync()
    }
}

/// Overwrites sectors with zeros, but those that have no place on the disk.
fn zero(
    file: &dyn StorageFile,
    extent: Extent,
    written: &mut dyn FnMut(u64) -> Result<()>,
) -> Result<()> {
    let zeros = vec![0; WRITE_SECTORS as usize * SECTOR_BYTES];
    let mut at = extent.sector.number() * SECTOR_BYTES as u64;
    let end = at + extent.sectors * SECTOR_BYTES as u64;
    while at < end {
        let hole = file.hole_after(at).filter(|hole| hole.end > at);
        // Not by sectors: a write that a full disk cut short may end within one.
        let hole = hole.unwrap_or(end..end);
        let len = if hole.start > at {
            let data = hole.start.min(end) - at;
            let len = data.min(zeros.len() as u64);
            file.write_all_at(at, &zeros[..len as usize])?;
            len
        } else {
            hole.end.min(end) - at
        };
        check_interrupt()?;
        written(len)?;
        at += len;
    }
    Ok(())
}
