//! The only temporary files that operators can make: sealed ones.

use datafusion::common::{DataFusionError, Result};
use datafusion::execution::spill_file::{SpillFile, SpillWriter, TempFileFactory};
use futures::Stream;
use hushdb_storage::SpillSpace;
use rustix::fs::Access;
use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// Share of a disk's free space that temporary files may take when nothing else is said.
const DEFAULT_DISK_SHARE: f64 = 0.9;

/// Makes spill files for DataFusion's operators.
pub struct SealedTempFiles(pub Arc<SpillSpace>);

impl TempFileFactory for SealedTempFiles {
    /// The description names an operator; it stays out of what others can see.
    fn create_temp_file(&self, _description: &str) -> Result<Arc<dyn SpillFile>> {
        let file = self.0.create().map_err(external)?;
        Ok(Arc::new(SealedTempFile(Arc::new(file))))
    }
}

struct SealedTempFile(Arc<hushdb_storage::SpillFile>);

impl SpillFile for SealedTempFile {
    fn size(&self) -> Option<u64> {
        Some(self.0.len())
    }

    fn read_stream(&self) -> Result<Pin<Box<dyn Stream<Item = Result<bytes::Bytes>> + Send>>> {
        Ok(Box::pin(Frames {
            file: Arc::clone(&self.0),
            next: 0,
        }))
    }

    fn open_writer(&self) -> Result<Box<dyn SpillWriter>> {
        Ok(Box::new(Writer(Arc::clone(&self.0))))
    }
}

/// The frames of a file. It may be asked again after its end: more may have been flushed.
struct Frames {
    file: Arc<hushdb_storage::SpillFile>,
    next: usize,
}

impl Stream for Frames {
    type Item = Result<bytes::Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Poll::Ready(match self.file.read(self.next) {
            Ok(None) => None,
            Ok(Some((bytes, next))) => {
                self.next = next;
                Some(Ok(bytes))
            }
            Err(error) => Some(Err(external(error))),
        })
    }
}

struct Writer(Arc<hushdb_storage::SpillFile>);

impl io::Write for Writer {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.0.write(buf).map_err(io::Error::other)?;
        Ok(buf.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush().map_err(io::Error::other)
    }
}

impl SpillWriter for Writer {
    fn finish(&mut self) -> Result<()> {
        self.0.finish().map_err(external)
    }
}

pub(super) fn external(error: hushdb_storage::Error) -> DataFusionError {
    hushdb_sql::Error::from(error).into()
}

/// Where temporary files go when nothing else is said: beside the database, or for one in memory to the system's place for
/// them.
pub fn default_spill_directory(database: Option<&Path>) -> PathBuf {
    let beside =
        database
            .and_then(Path::parent)
            .map(|parent| match parent.as_os_str().is_empty() {
                true => PathBuf::from("."),
                false => parent.to_path_buf(),
            });
    // Asks the system: mode bits know neither the user nor a file system that is mounted read-only.
    let writable = |directory: &PathBuf| {
        let files_can_be_made = Access::WRITE_OK | Access::EXEC_OK;
        directory.is_dir() && rustix::fs::access(directory, files_can_be_made).is_ok()
    };
    beside.filter(writable).unwrap_or_else(std::env::temp_dir)
}

/// How much temporary files may take when nothing else is said.
pub fn default_spill_bytes(directory: &Path) -> u64 {
    let free = rustix::fs::statvfs(directory).map(|disk| disk.f_bavail * disk.f_frsize);
    free.map_or(u64::MAX, |free| (free as f64 * DEFAULT_DISK_SHARE) as u64)
}
