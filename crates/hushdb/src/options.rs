//! How databases are opened and attached.

use crate::anchor_file::{AnchorFile, KeptAnchor};
use crate::key_source::{KeyServices, KeySource};
use crate::location::FileSources;
use hushdb_crypto::CryptoProvider;
use hushdb_keys::Suite;
use hushdb_sql::{Error, Result};
use hushdb_storage::{Freshness, Store};
use std::path::PathBuf;
use std::sync::Arc;

/// How the blocks of an encrypted file are sealed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cipher {
    /// AES-256-GCM.
    #[default]
    Gcm,
    /// AES-256-CTR for values, each block held by a digest in its parent; AES-256-GCM for what is above them and the log.
    Ctr,
}

impl Cipher {
    /// The cipher called `GCM` or `CTR`, in any case of letters.
    pub fn by_name(name: &str) -> Option<Self> {
        match name.to_ascii_uppercase().as_str() {
            "GCM" => Some(Self::Gcm),
            "CTR" => Some(Self::Ctr),
            _ => None,
        }
    }

    pub(crate) fn suite(self) -> Suite {
        match self {
            Self::Gcm => Suite::Gcm,
            Self::Ctr => Suite::Ctr,
        }
    }
}

/// How a database is opened.
#[derive(Clone, Debug)]
pub struct DatabaseOptions {
    /// Refuse every write; other processes may read the file at the same time.
    pub read_only: bool,
    /// Opens an encrypted file, or makes a new file encrypted.
    pub key: Option<KeySource>,
    /// Places for keys that ATTACH may name, beside those of this library.
    pub key_services: KeyServices,
    /// Places for files that paths may name by a scheme, beside those of the operating system.
    pub file_sources: FileSources,
    /// How a new file is sealed, GCM when not given. A file that is there must be sealed so.
    pub cipher: Option<Cipher>,
    /// The least that the file must have; a file that is insisted on is not created.
    pub freshness: Freshness,
    /// Keeps the anchor of the file: it is checked at opening and, unless `read_only`, written anew at closing. In the place of
    /// `freshness.min_anchor`.
    pub anchor_file: Option<AnchorFile>,
    /// Bytes that operators and the buffer pool may hold together; what operators cannot hold is spilled.
    pub memory_limit_bytes: Option<usize>,
    /// The process does nothing else: while more of it is in memory than `memory_limit_bytes` and a fifth and 128 MB beside, memory
    /// that the C library's allocator has freed and kept is given back to the system.
    pub owns_process: bool,
    /// Whether statements may name files, other databases, places of keys and settings of the process. A server that strangers speak
    /// to says no: it is an allow-list, and nothing in SQL switches it on again.
    pub external_access: bool,
    /// Refuse plain databases for writing from the start, as `SET enforce_encryption` does.
    pub enforce_encryption: bool,
    /// Where sealed temporary files go: beside the database when not given, for one in memory to the system's place.
    pub temp_directory: Option<PathBuf>,
    /// Threads that run queries; as many as the machine has cores when not given.
    pub threads: Option<usize>,
    /// Which cryptographic library seals and opens blocks.
    pub crypto: CryptoProvider,
    /// Rows after which a row group ends.
    pub row_group_rows: usize,
}

impl Default for DatabaseOptions {
    fn default() -> Self {
        Self {
            read_only: false,
            key: None,
            key_services: KeyServices::default(),
            file_sources: FileSources::default(),
            cipher: None,
            freshness: Freshness::default(),
            anchor_file: None,
            memory_limit_bytes: None,
            owns_process: false,
            external_access: true,
            enforce_encryption: false,
            temp_directory: None,
            threads: None,
            crypto: CryptoProvider::aws_lc(),
            row_group_rows: hushdb_storage::DEFAULT_ROW_GROUP_ROWS,
        }
    }
}

/// How one more file is attached.
#[derive(Clone, Debug, Default)]
pub struct AttachOptions {
    /// Refuse every write; other processes may read the file at the same time.
    pub read_only: bool,
    /// Opens an encrypted file, or makes a new file encrypted.
    pub key: Option<KeySource>,
    /// How a new file is sealed, GCM when not given. A file that is there must be sealed so.
    pub cipher: Option<Cipher>,
    /// The least that the file must have; a file that is insisted on is not created.
    pub freshness: Freshness,
    /// Keeps the anchor of the file: it is checked at opening and, unless `read_only`, written anew at DETACH and at closing. In
    /// the place of `freshness.min_anchor`.
    pub anchor_file: Option<AnchorFile>,
}

impl AttachOptions {
    /// Whether the file must be one that was seen before.
    pub(crate) fn insists(&self) -> bool {
        self.freshness.is_given() || self.anchor_file.is_some()
    }

    /// The least that the file must have, with what its anchor file says, and a notice if that is not there yet.
    pub(crate) fn wanted(&self) -> Result<(Freshness, Option<String>)> {
        let mut wanted = self.freshness;
        let Some(file) = &self.anchor_file else {
            return Ok((wanted, None));
        };
        if wanted.min_anchor.is_some() {
            return Err(Error::binder(
                "give the anchor in one way only: MIN_ANCHOR has it, ANCHOR_FILE says where it is",
            ));
        }
        wanted.min_anchor = file.read(!self.read_only)?;
        let missing = wanted.min_anchor.is_none();
        Ok((wanted, missing.then(|| file.nothing_yet())))
    }

    /// What keeps the anchor of a store from now on.
    pub(crate) fn keeper(&self, store: &Arc<Store>) -> Option<KeptAnchor> {
        let file = self.anchor_file.as_ref().filter(|_| !self.read_only)?;
        Some(KeptAnchor::new(file.clone(), Arc::clone(store)))
    }
}
