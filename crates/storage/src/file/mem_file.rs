//! `MemFile`: a file that lives in memory, for in-memory databases and tests.
//!
//! It grows in chunks, so growing never copies, and threads that touch different chunks do not wait for each other.

use std::io;

use parking_lot::RwLock;

use super::StorageFile;

const CHUNK_BYTES: usize = 1 << 20;

/// A file in memory. Nothing of it reaches a disk.
#[derive(Default)]
pub struct MemFile {
    body: RwLock<Body>,
}

#[derive(Default)]
struct Body {
    len: u64,
    chunks: Vec<RwLock<Box<[u8]>>>,
}

impl MemFile {
    /// An empty file.
    pub fn new() -> Self {
        Self::default()
    }

    /// A file that holds `bytes`.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        let file = Self::new();
        file.put(0, bytes);
        file
    }

    /// A copy of all bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let body = self.body.read();
        let mut bytes = Vec::with_capacity(body.len as usize);
        body.for_pieces(0, body.len as usize, |chunk, at, piece| {
            bytes.extend_from_slice(&chunk.read()[at..at + piece.len()]);
        });
        bytes
    }

    fn put(&self, offset: usize, buf: &[u8]) {
        let end = (offset + buf.len()) as u64;
        if end > self.body.read().len {
            let mut body = self.body.write();
            if end > body.len {
                body.resize(end);
            }
        }
        self.body
            .read()
            .for_pieces(offset, buf.len(), |chunk, at, piece| {
                chunk.write()[at..at + piece.len()].copy_from_slice(&buf[piece]);
            });
    }
}

impl Body {
    fn resize(&mut self, len: u64) {
        let chunks = (len as usize).div_ceil(CHUNK_BYTES);
        if len < self.len
            && let Some(last) = self.chunks.get(len as usize / CHUNK_BYTES)
        {
            last.write()[len as usize % CHUNK_BYTES..].fill(0);
        }
        self.chunks.resize_with(chunks, || {
            RwLock::new(vec![0; CHUNK_BYTES].into_boxed_slice())
        });
        self.len = len;
    }

    /// Calls `f` with each chunk that the range touches, where the range starts in it, and which part of the range that is.
    fn for_pieces(
        &self,
        offset: usize,
        len: usize,
        mut f: impl FnMut(&RwLock<Box<[u8]>>, usize, std::ops::Range<usize>),
    ) {
        let mut done = 0;
        while done < len {
            let (index, at) = ((offset + done) / CHUNK_BYTES, (offset + done) % CHUNK_BYTES);
            let piece = (CHUNK_BYTES - at).min(len - done);
            f(&self.chunks[index], at, done..done + piece);
            done += piece;
        }
    }

    fn holds(&self, offset: u64, len: usize) -> io::Result<usize> {
        match offset.checked_add(len as u64) {
            Some(end) if end <= self.len => Ok(offset as usize),
            _ => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

impl StorageFile for MemFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.body.read().len)
    }

    fn read_exact_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        let body = self.body.read();
        let offset = body.holds(offset, buf.len())?;
        body.for_pieces(offset, buf.len(), |chunk, at, piece| {
            let len = piece.len();
            buf[piece].copy_from_slice(&chunk.read()[at..at + len]);
        });
        Ok(())
    }

    fn append_exact_at(&self, offset: u64, len: usize, into: &mut Vec<u8>) -> io::Result<()> {
        let body = self.body.read();
        let offset = body.holds(offset, len)?;
        body.for_pieces(offset, len, |chunk, at, piece| {
            into.extend_from_slice(&chunk.read()[at..at + piece.len()])
        });
        Ok(())
    }

    fn write_all_at(&self, offset: u64, buf: &[u8]) -> io::Result<()> {
        let end = offset
            .checked_add(buf.len() as u64)
            .ok_or(io::ErrorKind::FileTooLarge)?;
        usize::try_from(end).map_err(|_| io::ErrorKind::FileTooLarge)?;
        self.put(offset as usize, buf);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.body.write().resize(len);
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn sync_directory(&self) -> io::Result<()> {
        Ok(())
    }
}

impl std::fmt::Debug for MemFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MemFile")
            .field("len", &self.body.read().len)
            .finish()
    }
}
