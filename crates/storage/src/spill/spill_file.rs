//! `SpillFile`: bytes that are appended, and read back from the first on.
//!
//! ```text
//! file    frame | frame | ...      ciphertext only
//! memory  where each frame begins, its length, nonce and tag
//! ```
//!
//! What must hold: a frame opens in its place in its file only; whoever reads sees what was flushed, in order, and waits for
//! nothing. Nonces and tags are not in the file, so that nobody who can write to it can put an older frame back.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use hushdb_crypto::GcmKey;
use parking_lot::{Mutex, RwLock};

use super::SpillSpace;
use crate::block::Role;
use crate::error::{Error, Place, Result};

/// Bytes that are sealed together.
const FRAME_BYTES: usize = 256 << 10;
/// What was flushed at once is read at once, up to so many bytes: a batch, but no whole run of groups. Of each run that is merged a read is
/// held, which no operator counts.
const READ_BYTES: usize = 2 << 20;
const AAD_LABEL: [u8; 8] = *b"HUSHSPL1";

/// Operator state on disk. Its space is free when it is dropped.
pub struct SpillFile {
    space: Arc<SpillSpace>,
    file: File,
    id: u64,
    key: GcmKey,
    frames: RwLock<Vec<Frame>>,
    /// What is not sealed yet.
    pending: Mutex<Vec<u8>>,
}

#[derive(Clone, Copy)]
struct Frame {
    offset: u64,
    len: usize,
    nonce: [u8; 12],
    tag: [u8; 16],
    /// Whether it was sealed because of a flush.
    is_last: bool,
}

impl SpillFile {
    pub(super) fn new(space: Arc<SpillSpace>, file: File, id: u64, key: GcmKey) -> Self {
        space.usage.files.fetch_add(1, Ordering::Relaxed);
        Self {
            space,
            file,
            id,
            key,
            frames: RwLock::default(),
            pending: Mutex::default(),
        }
    }

    /// Appends bytes. They may be kept until the next call or [`SpillFile::flush`].
    ///
    /// # Errors
    /// Full when the limit of all spill files or the disk is reached, Io, Crypto: the file is of no use then.
    pub fn write(&self, mut bytes: &[u8]) -> Result<()> {
        let mut pending = self.pending.lock();
        while !bytes.is_empty() {
            let room = FRAME_BYTES.saturating_sub(pending.len());
            let (now, rest) = bytes.split_at(room.min(bytes.len()));
            pending.extend_from_slice(now);
            bytes = rest;
            if pending.len() >= FRAME_BYTES {
                self.seal(&mut pending, false)?;
            }
        }
        Ok(())
    }

    /// Lets readers see everything that was written.
    ///
    /// # Errors
    /// As [`SpillFile::write`].
    pub fn flush(&self) -> Result<()> {
        let mut pending = self.pending.lock();
        if pending.is_empty() {
            return Ok(());
        }
        self.seal(&mut pending, true)
    }

    /// As [`SpillFile::flush`], when nothing follows.
    ///
    /// # Errors
    /// As [`SpillFile::write`].
    pub fn finish(&self) -> Result<()> {
        self.flush()?;
        *self.pending.lock() = Vec::new();
        Ok(())
    }

    /// Bytes that readers see.
    pub fn len(&self) -> u64 {
        let frames = self.frames.read();
        frames
            .last()
            .map_or(0, |last| last.offset + last.len as u64)
    }

    /// Whether readers see nothing.
    pub fn is_empty(&self) -> bool {
        self.frames.read().is_empty()
    }

    /// Frames that readers see.
    pub fn frames(&self) -> usize {
        self.frames.read().len()
    }

    /// What was written from the `at`-th frame on: all up to the next flush if that is not too much, else one frame. With it
    /// the number of the frame that follows. `None` where nothing more has been flushed.
    ///
    /// # Errors
    /// `BlockEdited` if somebody changed the file, Io.
    pub fn read(&self, at: usize) -> Result<Option<(Bytes, usize)>> {
        let frames = self.together(at);
        let mut buf = vec![0; frames.iter().map(|frame| frame.len).sum()];
        let mut rest = buf.as_mut_slice();
        for (number, frame) in (at..).zip(&frames) {
            let (bytes, after) = rest.split_at_mut(frame.len);
            self.open(number, frame, bytes)?;
            rest = after;
        }
        Ok((!frames.is_empty()).then(|| (buf.into(), at + frames.len())))
    }

    /// The frames that are read at once.
    fn together(&self, at: usize) -> Vec<Frame> {
        let frames = self.frames.read();
        let rest = frames.get(at..).unwrap_or_default();
        let mut bytes = 0;
        for (number, frame) in (1..).zip(rest) {
            bytes += frame.len;
            if bytes > READ_BYTES {
                break;
            }
            if frame.is_last {
                return rest[..number].to_vec();
            }
        }
        rest.first().copied().into_iter().collect()
    }

    fn open(&self, number: usize, frame: &Frame, bytes: &mut [u8]) -> Result<()> {
        self.file.read_exact_at(bytes, frame.offset)?;
        let aad = self.aad(number);
        let opened = self
            .key
            .open_in_place(&frame.nonce, &aad, bytes, &frame.tag);
        opened.map_err(|_| {
            Error::BlockEdited(Place {
                role: Role::Spill,
                sector: frame.offset / crate::block::SECTOR_BYTES as u64,
            })
        })?;
        Ok(())
    }

    /// Whoever holds `pending` is the only one to add frames, so readers go on while it seals and writes.
    fn seal(&self, pending: &mut Vec<u8>, is_last: bool) -> Result<()> {
        let len = pending.len();
        self.space.take(len as u64)?;
        let offset = self.len();
        let written = self.write_frame(pending, offset);
        pending.clear();
        match written {
            Ok((nonce, tag)) => {
                self.frames.write().push(Frame {
                    offset,
                    len,
                    nonce,
                    tag,
                    is_last,
                });
                Ok(())
            }
            Err(error) => {
                let usage = &self.space.usage;
                usage.bytes.fetch_sub(len as u64, Ordering::Relaxed);
                Err(error)
            }
        }
    }

    fn write_frame(&self, frame: &mut [u8], offset: u64) -> Result<([u8; 12], [u8; 16])> {
        let aad = self.aad(self.frames.read().len());
        let sealed = self.key.seal_in_place(&aad, frame);
        let sealed = sealed.map_err(|_| Error::Crypto("sealing failed"))?;
        self.file.write_all_at(frame, offset)?;
        Ok(sealed)
    }

    fn aad(&self, frame: usize) -> [u8; 24] {
        let mut aad = [0; 24];
        aad[..8].copy_from_slice(&AAD_LABEL);
        aad[8..16].copy_from_slice(&self.id.to_le_bytes());
        aad[16..].copy_from_slice(&(frame as u64).to_le_bytes());
        aad
    }
}

impl Drop for SpillFile {
    fn drop(&mut self) {
        let usage = &self.space.usage;
        usage.bytes.fetch_sub(self.len(), Ordering::Relaxed);
        usage.files.fetch_sub(1, Ordering::Relaxed);
    }
}

impl std::fmt::Debug for SpillFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SpillFile({} bytes)", self.len())
    }
}

#[cfg(test)]
mod tests {
    use hushdb_crypto::CryptoProvider;

    use super::*;
    use crate::spill::SpillStats;

    fn space(max_bytes: u64) -> (tempfile::TempDir, Arc<SpillSpace>) {
        let directory = tempfile::tempdir().unwrap();
        let space = SpillSpace::new(
            CryptoProvider::aws_lc(),
            directory.path().join("tmp"),
            max_bytes,
        );
        (directory, space)
    }

    fn all(file: &SpillFile) -> Vec<u8> {
        let (mut all, mut at) = (vec![], 0);
        while let Some((bytes, next)) = file.read(at).unwrap() {
            all.extend_from_slice(&bytes);
            at = next;
        }
        all
    }

    #[test]
    fn what_is_written_comes_back_and_is_not_on_the_disk() {
        let (_directory, space) = space(u64::MAX);
        let file = space.create().unwrap();
        let bytes: Vec<u8> = b"a secret that operators spill".repeat(30_000);
        for piece in bytes.chunks(77_777) {
            file.write(piece).unwrap();
        }
        assert!(all(&file).len() < bytes.len());
        file.flush().unwrap();
        file.write(b"more").unwrap();
        file.finish().unwrap();
        assert_eq!(all(&file), [&bytes[..], b"more"].concat());
        let mut raw = vec![0; usize::try_from(file.len()).unwrap()];
        file.file.read_exact_at(&mut raw, 0).unwrap();
        assert!(!raw.windows(8).any(|window| window == b"a secret"));
    }

    #[test]
    fn what_was_flushed_at_once_is_read_at_once() {
        let (_directory, space) = space(u64::MAX);
        let file = space.create().unwrap();
        let lengths = |file: &SpillFile| {
            let mut at = 0;
            let reads = std::iter::from_fn(|| {
                let (bytes, next) = file.read(at).unwrap()?;
                at = next;
                Some(bytes.len())
            });
            reads.collect::<Vec<_>>()
        };
        for len in [10, 2 * FRAME_BYTES + 1, READ_BYTES + 1] {
            file.write(&vec![1; len]).unwrap();
            file.flush().unwrap();
        }
        file.write(&vec![2; FRAME_BYTES + 1]).unwrap();
        // Once little enough is left of what was flushed, it is read at once.
        let expected = [
            &[
                10,
                2 * FRAME_BYTES + 1,
                FRAME_BYTES,
                READ_BYTES + 1 - FRAME_BYTES,
            ][..],
            &[FRAME_BYTES],
        ];
        assert_eq!(lengths(&file), expected.concat());
    }

    #[test]
    fn a_file_has_no_name_and_gives_its_space_back() {
        let (_directory, space) = space(u64::MAX);
        let file = space.create().unwrap();
        file.write(&[7; 1000]).unwrap();
        file.finish().unwrap();
        let names = std::fs::read_dir(space.directory()).unwrap();
        assert_eq!(names.count(), 0);
        let (files, bytes) = (space.stats().files, space.stats().bytes);
        assert_eq!((files, bytes), (1, 1000));
        drop(file);
        let expected = SpillStats {
            written_bytes: 1000,
            ..SpillStats::default()
        };
        assert_eq!(space.stats(), expected);
    }

    #[test]
    fn edits_and_frames_in_another_place_are_refused() {
        let (_directory, space) = space(u64::MAX);
        let file = space.create().unwrap();
        file.write(&vec![1; FRAME_BYTES]).unwrap();
        file.write(&vec![2; FRAME_BYTES]).unwrap();
        let mut first = vec![0; FRAME_BYTES];
        file.file.read_exact_at(&mut first, 0).unwrap();
        file.file.write_all_at(&first, FRAME_BYTES as u64).unwrap();
        assert!(file.read(0).is_ok());
        assert!(matches!(file.read(1), Err(Error::BlockEdited(_))));
        file.frames.write().swap(0, 1);
        assert!(matches!(file.read(1), Err(Error::BlockEdited(_))));
        let other = space.create().unwrap();
        other.write(&vec![1; FRAME_BYTES]).unwrap();
        let frame = *other.frames.read().first().unwrap();
        other.file.read_exact_at(&mut first, 0).unwrap();
        file.file.write_all_at(&first, 0).unwrap();
        file.frames.write()[0] = frame;
        assert!(matches!(file.read(0), Err(Error::BlockEdited(_))));
    }

    #[test]
    fn the_limit_holds_over_all_files() {
        let (_directory, space) = space(3 * FRAME_BYTES as u64);
        let (a, b) = (space.create().unwrap(), space.create().unwrap());
        a.write(&vec![0; 2 * FRAME_BYTES]).unwrap();
        assert!(matches!(
            b.write(&vec![0; 2 * FRAME_BYTES]),
            Err(Error::Full(_))
        ));
        drop(a);
        b.write(&vec![0; FRAME_BYTES]).unwrap();
    }
}
