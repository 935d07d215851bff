//! `Attached`: one attached database, with what looks after it while it is.

use crate::anchor_file::KeptAnchor;
use crate::checkpointer::Checkpointer;
use crate::key_watch::KeyWatch;
use crate::location::Location;
use hushdb_keys::KeyProvider;
use hushdb_storage::Store;
use parking_lot::Mutex;
use std::sync::Arc;

/// One attached database.
pub(crate) struct Attached {
    /// Of a file that is open for writing; ends before the file is closed.
    pub(crate) checkpointer: Option<Arc<Checkpointer>>,
    pub(crate) store: Arc<Store>,
    pub(crate) location: Location,
    /// The same as statements show it.
    pub(crate) shown: Option<Arc<str>>,
    pub(crate) read_only: bool,
    /// Of one with an anchor file, open for writing.
    pub(crate) kept: Option<KeptAnchor>,
    /// Of one whose key a place keeps.
    pub(crate) watch: Mutex<Option<Arc<KeyWatch>>>,
}

impl Attached {
    /// A database that nothing keeps.
    pub(crate) fn in_memory(store: Arc<Store>) -> Self {
        Self {
            checkpointer: None,
            store,
            location: Location::Memory,
            shown: None,
            read_only: false,
            kept: None,
            watch: Mutex::default(),
        }
    }

    /// A slot has the key of this place from now on. Where it is the one that opened the database, that place is asked again from now on.
    pub(crate) fn follow_key(&self, slot: usize, place: Arc<dyn KeyProvider>) {
        if self.store.blocks().header().opened_slot() == Some(slot) {
            *self.watch.lock() = KeyWatch::of(Some(place));
        }
    }
}
