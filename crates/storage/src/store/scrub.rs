//! Overwriting what is free, so that nothing of it opens under a key that the file gives up.
//!
//! What must hold: only sectors are overwritten that nobody has, and nobody gets them meanwhile. Blocks that are freed
//! meanwhile are not overwritten: when this begins, nothing may be left in use under a key that is to go.

use std::sync::atomic::Ordering;

use super::block_store::BlockStore;
use super::file_map::FIRST_SECTOR;
use crate::block::SECTOR_BYTES;
use crate::error::Result;
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
    /// of the bytes.
    ///
    /// # Errors
    /// `Io`, `Full`, `Interrupted`, those of `written`; what is free stays free.
    pub(crate) fn scrub_unused(&self, written: &mut dyn FnMut(u64) -> Result<()>) -> Result<()> {
        let zeros = vec![0; WRITE_SECTORS as usize * SECTOR_BYTES];
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
                let end = piece.sector + piece.sectors;
                let mut scrubbed = Ok(());
                for done in (0..piece.sectors).step_by(WRITE_SECTORS as usize) {
                    let len = WRITE_SECTORS.min(piece.sectors - done) as usize * SECTOR_BYTES;
                    let offset = (piece.sector + done).number() * SECTOR_BYTES as u64;
                    let zeroed = file.write_all_at(offset, &zeros[..len]);
                    scrubbed = zeroed.map_err(Into::into).and_then(|()| {
                        check_interrupt()?;
                        written(len as u64)
                    });
                    if scrubbed.is_err() {
                        break;
                    }
                }
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
