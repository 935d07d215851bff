//! What CSV files had that was not read: `store_rejects`.
//!
//! What must hold: it is kept within the memory limit until it is stored, and shown nowhere else, since it is of the files' values.

use datafusion::arrow::array::{
    ArrayRef, BooleanArray, RecordBatch, StringArray, UInt32Array, UInt64Array,
};
use datafusion::execution::memory_pool::{MemoryPool, MemoryReservation};
use hushdb_query::memory::Claim;
use hushdb_sql::Result;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What a connection's statements have not read.
#[derive(Debug, Default)]
pub struct Rejects {
    scans: AtomicU64,
    kept: Mutex<BTreeMap<RejectTables, Kept>>,
}

/// The tables in which it is stored.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RejectTables {
    /// Of files that were read.
    pub scans: String,
    /// Of what is wrong with their lines.
    pub errors: String,
}

#[derive(Debug, Default)]
struct Kept {
    scans: Vec<(u64, u64, ReadFile)>,
    errors: Vec<(u64, u64, Reject)>,
    memory: Option<MemoryReservation>,
}

/// How a file is read.
#[derive(Clone, Debug)]
pub(crate) struct ReadFile {
    pub(crate) path: String,
    pub(crate) delimiter: String,
    pub(crate) quote: String,
    pub(crate) escape: String,
    pub(crate) new_line: String,
    pub(crate) skipped: u32,
    pub(crate) header: bool,
    pub(crate) columns: String,
    pub(crate) date: Option<String>,
    pub(crate) timestamp: Option<String>,
    pub(crate) given: String,
}

/// Why a line was not read.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Why {
    Cast,
    TooFew,
    TooMany,
    TooLong,
}

impl Why {
    fn name(self) -> &'static str {
        match self {
            Self::Cast => "CAST",
            Self::TooFew => "MISSING COLUMNS",
            Self::TooMany => "TOO MANY COLUMNS",
            Self::TooLong => "LINE SIZE OVER MAXIMUM",
        }
    }
}

/// A line that was not read. Places are counted from 1.
#[derive(Clone, Debug)]
pub(crate) struct Reject {
    pub(crate) why: Why,
    pub(crate) line: u64,
    pub(crate) line_byte: u64,
    pub(crate) byte: Option<u64>,
    pub(crate) column: Option<u64>,
    pub(crate) name: Option<String>,
    pub(crate) text: String,
    pub(crate) message: String,
}

impl Rejects {
    /// The number of a scan that begins.
    pub(crate) fn scan(&self) -> u64 {
        self.scans.fetch_add(1, Ordering::Relaxed) + 1
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<RejectTables, Kept>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is to be stored: for each pair of tables the rows of both, of which nothing is kept any longer.
    ///
    /// # Errors
    /// Arrow's.
    pub fn take(&self) -> Result<Vec<(RejectTables, RecordBatch, RecordBatch)>> {
        let kept = std::mem::take(&mut *self.lock());
        let batches = kept
            .into_iter()
            .map(|(tables, kept)| Ok((tables, scan_rows(&kept.scans)?, error_rows(&kept.errors)?)));
        batches.collect()
    }
}

/// Where a statement's scans keep what they do not read.
#[derive(Clone, Copy)]
pub(crate) struct RejectPlace<'a> {
    pub(crate) rejects: &'a Arc<Rejects>,
    pub(crate) pool: &'a Arc<dyn MemoryPool>,
    pub(crate) scan: u64,
    pub(crate) file: u64,
}

/// What is not read of one file.
#[derive(Clone, Debug)]
pub(crate) struct FileRejects {
    pub(crate) rejects: Arc<Rejects>,
    pub(crate) tables: RejectTables,
    pub(crate) scan: u64,
    pub(crate) file: u64,
    /// So many lines are kept, if not all.
    pub(crate) most: Option<u64>,
    pub(crate) about: ReadFile,
    count: Arc<AtomicU64>,
    pool: Arc<dyn MemoryPool>,
}

impl FileRejects {
    pub(crate) fn new(
        place: RejectPlace<'_>,
        tables: &RejectTables,
        most: Option<u64>,
        about: ReadFile,
    ) -> Self {
        Self {
            rejects: Arc::clone(place.rejects),
            tables: tables.clone(),
            scan: place.scan,
            file: place.file,
            most,
            about,
            count: Arc::default(),
            pool: Arc::clone(place.pool),
        }
    }

    /// Has the tables there, whether there is anything to store or not.
    pub(crate) fn begin(&self) {
        self.count.store(0, Ordering::Relaxed);
        self.rejects.lock().entry(self.tables.clone()).or_default();
    }

    /// Keeps a line.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub(crate) fn keep(&self, reject: Reject) -> Result<()> {
        let before = self.count.fetch_add(1, Ordering::Relaxed);
        if self.most.is_some_and(|most| before >= most) {
            return Ok(());
        }
        let mut kept = self.rejects.lock();
        let kept = kept.entry(self.tables.clone()).or_default();
        let memory = kept.memory.get_or_insert_with(|| {
            Claim::Held.register("rejects of CSV files".to_owned(), &self.pool)
        });
        memory.try_grow(size_of::<Reject>() + reject.text.len() + reject.message.len())?;
        if before == 0 {
            let about = self.about.clone();
            kept.scans.push((self.scan, self.file, about));
        }
        kept.errors.push((self.scan, self.file, reject));
        Ok(())
    }
}

fn numbers<T>(rows: &[T], of: impl Fn(&T) -> Option<u64>) -> ArrayRef {
    Arc::new(rows.iter().map(of).collect::<UInt64Array>())
}

fn texts<T>(rows: &[T], of: impl Fn(&T) -> Option<&str>) -> ArrayRef {
    Arc::new(rows.iter().map(of).collect::<StringArray>())
}

fn scan_rows(rows: &[(u64, u64, ReadFile)]) -> Result<RecordBatch> {
    let skipped = rows.iter().map(|(_, _, file)| Some(file.skipped));
    let header = rows.iter().map(|(_, _, file)| Some(file.header));
    let columns: [(&str, ArrayRef); 13] = [
        ("scan_id", numbers(rows, |row| Some(row.0))),
        ("file_id", numbers(rows, |row| Some(row.1))),
        ("file_path", texts(rows, |row| Some(&row.2.path))),
        ("delimiter", texts(rows, |row| Some(&row.2.delimiter))),
        ("quote", texts(rows, |row| Some(&row.2.quote))),
        ("escape", texts(rows, |row| Some(&row.2.escape))),
        (
            "newline_delimiter",
            texts(rows, |row| Some(&row.2.new_line)),
        ),
        ("skip_rows", Arc::new(skipped.collect::<UInt32Array>())),
        ("has_header", Arc::new(header.collect::<BooleanArray>())),
        ("columns", texts(rows, |row| Some(&row.2.columns))),
        ("date_format", texts(rows, |row| row.2.date.as_deref())),
        (
            "timestamp_format",
            texts(rows, |row| row.2.timestamp.as_deref()),
        ),
        ("user_arguments", texts(rows, |row| Some(&row.2.given))),
    ];
    Ok(RecordBatch::try_from_iter(columns)?)
}

fn error_rows(rows: &[(u64, u64, Reject)]) -> Result<RecordBatch> {
    let columns: [(&str, ArrayRef); 10] = [
        ("scan_id", numbers(rows, |row| Some(row.0))),
        ("file_id", numbers(rows, |row| Some(row.1))),
        ("line", numbers(rows, |row| Some(row.2.line))),
        (
            "line_byte_position",
            numbers(rows, |row| Some(row.2.line_byte)),
        ),
        ("byte_position", numbers(rows, |row| row.2.byte)),
        ("column_idx", numbers(rows, |row| row.2.column)),
        ("column_name", texts(rows, |row| row.2.name.as_deref())),
        ("error_type", texts(rows, |row| Some(row.2.why.name()))),
        ("csv_line", texts(rows, |row| Some(&row.2.text))),
        ("error_message", texts(rows, |row| Some(&row.2.message))),
    ];
    Ok(RecordBatch::try_from_iter(columns)?)
}
