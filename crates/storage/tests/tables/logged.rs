//! Databases with their logs in memory, for tests of what opening makes of them.

use std::sync::Arc;

use hushdb_keys::providers::KeyText;
use hushdb_storage::*;

use super::fixture::*;

/// The database file, its log and the log behind that.
pub(crate) const NAMES: [&str; 3] = ["", ".wal", ".wal.next"];

fn key() -> KeyText {
    KeyText::new(format!("hex:{}", "5a".repeat(32)))
}

/// A database with its log, in memory.
pub(crate) struct Files {
    pub(crate) files: Arc<MemFiles>,
    key: Option<KeyText>,
}

impl Files {
    pub(crate) fn new(encrypted: bool) -> Self {
        Self {
            files: Arc::new(MemFiles::new()),
            key: encrypted.then(key),
        }
    }

    fn key(&self) -> Option<&dyn hushdb_keys::KeyProvider> {
        self.key
            .as_ref()
            .map(|key| key as &dyn hushdb_keys::KeyProvider)
    }

    /// A database with table `t` of integers 0..10, whose log stays when it is closed.
    pub(crate) fn create(&self) -> Arc<Store> {
        let files = Arc::clone(&self.files) as Arc<dyn StorageFiles>;
        let store = Store::create_in(files, self.key(), &StoreOptions::default()).unwrap();
        store.set_checkpoint_on_close(false);
        fill(
            &store,
            "t",
            vec![def("n", ColumnType::Int64)],
            &[int64s(0..10)],
        );
        store
    }

    pub(crate) fn try_open(&self, options: &StoreOptions) -> Result<Arc<Store>> {
        let files = Arc::clone(&self.files) as Arc<dyn StorageFiles>;
        let store = Store::open_in(files, self.key(), options)?;
        store.set_checkpoint_on_close(false);
        Ok(store)
    }

    pub(crate) fn open(&self) -> Arc<Store> {
        self.try_open(&StoreOptions::default()).unwrap()
    }

    /// As [`Files::try_open`], for a reader who insists on an anchor.
    pub(crate) fn try_open_at(&self, anchor: Anchor) -> Result<Arc<Store>> {
        self.try_open(&StoreOptions {
            read_only: true,
            freshness: Freshness {
                min_anchor: Some(anchor),
                ..Freshness::default()
            },
            ..StoreOptions::default()
        })
    }

    /// As [`Files::open`], for a reader.
    pub(crate) fn open_read_only(&self) -> Arc<Store> {
        let options = StoreOptions {
            read_only: true,
            ..StoreOptions::default()
        };
        self.try_open(&options).unwrap()
    }

    pub(crate) fn key_text(&self) -> Option<KeyText> {
        self.key.as_ref().map(|_| key())
    }

    /// Why it does not open.
    pub(crate) fn refusal(&self) -> Error {
        let before = self.all();
        let error = self.try_open(&StoreOptions::default()).unwrap_err();
        assert_eq!(self.all(), before, "files are untouched: {error}");
        error
    }

    /// The bytes of the three files, as a crash would leave them that loses nothing.
    pub(crate) fn all(&self) -> [Option<Vec<u8>>; 3] {
        NAMES.map(|name| self.files.get(name).map(|file| file.to_bytes()))
    }

    /// The same database with other bytes in its files.
    pub(crate) fn with(&self, all: &[Option<Vec<u8>>; 3]) -> Self {
        let files = Arc::new(MemFiles::new());
        for (name, bytes) in NAMES.iter().zip(all) {
            if let Some(bytes) = bytes {
                files.put(name, Arc::new(MemFile::from_bytes(bytes)));
            }
        }
        let key = self.key.as_ref().map(|_| key());
        Self { files, key }
    }

    pub(crate) fn log(&self) -> Vec<u8> {
        self.files.get(".wal").unwrap().to_bytes()
    }

    pub(crate) fn put_log(&self, bytes: &[u8]) {
        self.files.put(".wal", Arc::new(MemFile::from_bytes(bytes)));
    }

    pub(crate) fn copy(&self) -> (Vec<u8>, Option<Vec<u8>>) {
        let log = self.files.get(".wal").map(|file| file.to_bytes());
        (self.files.get("").unwrap().to_bytes(), log)
    }

    pub(crate) fn restore(&self, (main, log): &(Vec<u8>, Option<Vec<u8>>)) {
        self.files.put("", Arc::new(MemFile::from_bytes(main)));
        match log {
            Some(log) => self.put_log(log),
            None => self.files.remove(".wal").unwrap(),
        }
    }
}

pub(crate) fn insert(store: &Arc<Store>, numbers: std::ops::Range<i64>) {
    let mut txn = store.begin().unwrap();
    txn.insert("main", "t", &[int64s(numbers)]).unwrap();
    txn.commit().unwrap();
}

pub(crate) fn sum(store: &Arc<Store>) -> i64 {
    integers(store, &store.snapshot(), "t", "n")
        .into_iter()
        .flatten()
        .sum()
}

/// Ends the file before the zeros that were written ahead.
pub(crate) fn without_zeros(mut log: Vec<u8>) -> Vec<u8> {
    let len = log
        .iter()
        .rposition(|byte| *byte != 0)
        .map_or(0, |last| last + 1);
    log.truncate(len.next_multiple_of(64));
    log
}
