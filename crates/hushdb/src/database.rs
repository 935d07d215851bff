//! `Database`: the attached files of one process, and what their connections share.
//!
//! What must hold: a file is attached once; keys stay inside `hushdb-keys` and are asked for when a file is opened.

use crate::anchor_file::{AnchorFile, KeptAnchor};
use crate::connection::Connection;
use crate::key_source::{KeyServices, KeySource};
#[cfg(test)]
use datafusion::execution::SessionState;
use hushdb_crypto::CryptoProvider;
use hushdb_keys::{KeyProvider, Suite};
use hushdb_query::engine::{Engine, default_threads};
use hushdb_query::functions::current_micros;
use hushdb_query::memory::{MemoryBudget, default_spill_bytes, default_spill_directory};
use hushdb_query::plan::{DatabaseSnapshot, Snapshot, known_as};
use hushdb_sql::{Error, Result, sqlstate};
use hushdb_storage::{
    Anchor, BufferPool, Freshness, Notice, OsFiles, SpillSpace, Store, StoreOptions, Synchronous,
};
use parking_lot::{Mutex, RwLock};
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Name of the in-memory database that is always attached.
pub(crate) const MEMORY: &str = "memory";
/// What stands for a path where a database is to live in memory.
pub(crate) const MEMORY_PATH: &str = ":memory:";
/// Share of physical memory that a process may use when nothing else is said; DuckDB's.
const DEFAULT_MEMORY_SHARE: f64 = 0.8;

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

    fn suite(self) -> Suite {
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
            cipher: None,
            freshness: Freshness::default(),
            anchor_file: None,
            memory_limit_bytes: None,
            owns_process: false,
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

/// One attached database.
pub(crate) struct Attached {
    pub(crate) store: Arc<Store>,
    /// Where it was when it was opened, absolute and without links; `None` for a database in memory.
    pub(crate) path: Option<PathBuf>,
    pub(crate) read_only: bool,
    /// Of one with an anchor file, open for writing.
    pub(crate) kept: Option<KeptAnchor>,
}

pub(crate) struct Shared {
    pub(crate) attached: RwLock<BTreeMap<String, Arc<Attached>>>,
    engine: RwLock<Arc<Engine>>,
    /// Refuse to open a plain database for writing.
    pub(crate) enforce_encryption: AtomicBool,
    /// What RESET goes back to.
    pub(crate) defaults: Defaults,
    pub(crate) default_database: String,
    crypto: CryptoProvider,
    pub(crate) key_services: KeyServices,
    pub(crate) pool: Arc<BufferPool>,
    pub(crate) memory: Arc<MemoryBudget>,
    pub(crate) spill: Arc<SpillSpace>,
    row_group_rows: usize,
    notices: Mutex<Vec<String>>,
    pub(crate) durability: Mutex<Durability>,
}

/// Settings as the database was opened with them.
pub(crate) struct Defaults {
    pub(crate) threads: usize,
    pub(crate) memory_bytes: usize,
    pub(crate) temp_directory: PathBuf,
    pub(crate) spill_bytes: u64,
}

/// How attached databases treat their logs; one setting for all, as in DuckDB.
#[derive(Clone, Copy)]
pub(crate) struct Durability {
    pub(crate) synchronous: Synchronous,
    /// Bytes of a log after which a commit makes a checkpoint.
    pub(crate) autocheckpoint_bytes: u64,
    pub(crate) checkpoint_on_shutdown: bool,
}

impl Default for Durability {
    fn default() -> Self {
        Self {
            synchronous: Synchronous::Full,
            autocheckpoint_bytes: hushdb_storage::DEFAULT_AUTOCHECKPOINT_BYTES,
            checkpoint_on_shutdown: true,
        }
    }
}

/// The share of the memory limit that rows of small commits may fill: they are in memory until a checkpoint, about as large as in
/// the log.
const RECENT_ROWS_SHARE: u64 = 8;

impl Durability {
    fn apply(self, store: &Store, memory: &MemoryBudget) {
        let most = memory.limit() as u64 / RECENT_ROWS_SHARE;
        store.set_synchronous(self.synchronous);
        store.set_autocheckpoint_bytes(self.autocheckpoint_bytes.min(most));
        store.set_checkpoint_on_close(self.checkpoint_on_shutdown);
    }
}

/// The library's entry: open one, then `connect`. Clones share everything.
#[derive(Clone)]
pub struct Database {
    pub(crate) shared: Arc<Shared>,
}

impl Database {
    /// A database that lives in memory only.
    ///
    /// # Errors
    /// `Io` when threads cannot be started.
    pub fn open_in_memory() -> Result<Self> {
        Self::open_with(None, DatabaseOptions::default())
    }

    /// Opens a plain database file, or creates it.
    ///
    /// # Errors
    /// `KeyRequired` when the file is encrypted, `Busy` when another process writes to it, and all that opening can find
    /// wrong with a file.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(Some(path.as_ref()), DatabaseOptions::default())
    }

    /// Opens with options. A path is attached under its stem as name and becomes the current database; it is created
    /// when absent, encrypted if a key is given.
    ///
    /// # Errors
    /// As `open`, and `WrongKey`, `NotEncrypted` and `MalformedKey`.
    pub fn open_with(path: Option<&Path>, options: DatabaseOptions) -> Result<Self> {
        options
            .crypto
            .self_test()
            .map_err(|e| Error::internal(e.to_string()))?;
        let threads = options.threads.unwrap_or_else(default_threads).max(1);
        let budget = options
            .memory_limit_bytes
            .unwrap_or_else(default_memory_bytes);
        let pool = Arc::new(BufferPool::new(budget));
        if options.owns_process {
            // One for each thread of the engine, and one for all others.
            hushdb_pages::share_heaps(threads + 1);
            hushdb_pages::keep_large_blocks();
        }
        let memory = MemoryBudget::new(Arc::clone(&pool), budget);
        let memory = Arc::new(match options.owns_process {
            true => memory.of_whole_process(),
            false => memory,
        });
        let temp_directory = options
            .temp_directory
            .unwrap_or_else(|| default_spill_directory(path));
        let spill_bytes = default_spill_bytes(&temp_directory);
        let spill = SpillSpace::new(options.crypto, temp_directory, spill_bytes);
        let store_options = StoreOptions {
            crypto: options.crypto,
            read_only: false,
            row_group_rows: options.row_group_rows,
            pool: Arc::clone(&pool),
            ..StoreOptions::default()
        };
        let in_memory = Attached {
            store: Store::open_in_memory(&store_options)?,
            path: None,
            read_only: false,
            kept: None,
        };
        let default_database = path.map_or_else(|| MEMORY.to_string(), database_name);
        let shared = Shared {
            attached: RwLock::new([(MEMORY.to_string(), Arc::new(in_memory))].into()),
            engine: RwLock::new(Arc::new(Engine::new(
                threads,
                Arc::clone(&memory),
                Arc::clone(&spill),
            )?)),
            enforce_encryption: AtomicBool::new(false),
            defaults: Defaults {
                threads,
                memory_bytes: budget,
                temp_directory: spill.directory(),
                spill_bytes,
            },
            default_database: default_database.clone(),
            crypto: options.crypto,
            key_services: options.key_services.clone(),
            pool,
            memory,
            spill,
            row_group_rows: options.row_group_rows,
            durability: Mutex::default(),
            notices: Mutex::default(),
        };
        if let Some(path) = path {
            let options = AttachOptions {
                read_only: options.read_only,
                key: options.key,
                cipher: options.cipher,
                freshness: options.freshness,
                anchor_file: options.anchor_file,
            };
            shared.attach(path, &default_database, &options)?;
        }
        Ok(Self {
            shared: Arc::new(shared),
        })
    }

    /// A connection; each has its own current database, settings and prepared statements.
    ///
    /// # Errors
    /// None now; reserved for limits.
    pub fn connect(&self) -> Result<Connection> {
        Ok(Connection::new(Arc::clone(&self.shared)))
    }

    /// Attaches another file under a name, as ATTACH does, or creates it; encrypted if a key is given. Every connection sees
    /// it. The key is never a part of a text.
    ///
    /// # Errors
    /// `Binder` when the name is taken, `InvalidInput` for a plain database while `enforce_encryption` is on, and as
    /// `open_with`.
    pub fn attach(
        &self,
        path: impl AsRef<Path>,
        name: &str,
        options: &AttachOptions,
    ) -> Result<()> {
        self.shared.attach(path.as_ref(), name, options)
    }

    /// The name of the database that was opened: the one under which its path is attached, `memory` without one.
    pub fn name(&self) -> &str {
        &self.shared.default_database
    }

    /// How far an attached database has come: a line to keep elsewhere, with which a later opening shows whether anything that
    /// was committed until now is missing ([`AttachOptions::freshness`]).
    ///
    /// # Errors
    /// `Catalog` when there is no such database; `Io` when what was committed cannot be made durable.
    pub fn anchor(&self, name: &str) -> Result<Anchor> {
        Ok(self.shared.database(name)?.store.anchor()?)
    }

    /// Writes the anchors of attached databases into their anchor files ([`AttachOptions::anchor_file`]), as closing does, but says
    /// what went wrong.
    ///
    /// # Errors
    /// The first that cannot be had or written: its file is as it was.
    pub fn keep_anchors(&self) -> Result<()> {
        let attached: Vec<_> = self.shared.attached.read().values().cloned().collect();
        let written = attached
            .iter()
            .filter_map(|database| database.kept.as_ref());
        let written: Vec<Result<()>> = written.map(KeptAnchor::write).collect();
        written.into_iter().collect()
    }

    /// What opening and attaching files found and could bear, such as one of two copies being damaged, and what statements
    /// have to say beside their result, since this was last asked: sentences for a person to read. Whoever may have changed
    /// a file shows here, so they should be shown or logged.
    pub fn take_notices(&self) -> Vec<String> {
        std::mem::take(&mut self.shared.notices.lock())
    }

    /// Whether an encrypted database is attached: whoever keeps statements or results elsewhere should ask.
    pub fn has_encrypted(&self) -> bool {
        let attached = self.shared.attached.read();
        let mut suites = attached.values().map(|db| db.store.info().suite);
        suites.any(|suite| suite != Suite::Plain)
    }

    /// Drops every opened block from memory, so that the next scan reads and opens them again.
    pub fn clear_buffer_pool(&self) {
        self.shared.pool.clear();
    }
}

impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Database")
            .field("current", &self.shared.default_database)
            .finish_non_exhaustive()
    }
}

impl Shared {
    /// Opens a file, or creates it, and attaches it under a name.
    pub(crate) fn attach(&self, path: &Path, name: &str, options: &AttachOptions) -> Result<()> {
        let given = options;
        let AttachOptions {
            read_only,
            cipher,
            key,
            ..
        } = given;
        let (read_only, cipher) = (*read_only, *cipher);
        if known_as(&self.attached.read(), name).is_some() {
            return Err(Error::binder(format!(
                "Failed to attach database: database with name \"{name}\" already exists; give it another name with AS"
            )).with_sqlstate(sqlstate::DUPLICATE_DATABASE));
        }
        let in_memory = path.as_os_str() == MEMORY_PATH;
        let plain = key.is_none() && !read_only && !in_memory;
        if plain && self.enforce_encryption.load(Ordering::Acquire) {
            return Err(Error::invalid(format!(
                "Cannot attach \"{}\" for writing without a key: enforce_encryption is on; give an ENCRYPTION_KEY, or \
                 attach it READ_ONLY",
                path.display()
            )));
        }
        let provider = key.as_ref().map(KeySource::provider);
        if cipher.is_some() && key.is_none() {
            return Err(Error::binder("a cipher needs a key"));
        }
        if in_memory && (key.is_some() || given.insists()) {
            return Err(takes_no_key());
        }
        let (freshness, none_yet) = given.wanted()?;
        let options = StoreOptions {
            crypto: self.crypto,
            suite: cipher.unwrap_or_default().suite(),
            read_only,
            row_group_rows: self.row_group_rows,
            pool: Arc::clone(&self.pool),
            freshness,
            ..StoreOptions::default()
        };
        let place = match in_memory {
            true => None,
            false => Some(place_of(path)?),
        };
        let store = if let Some(place) = &place {
            open_store(place, provider.as_deref(), &options)?
        } else {
            Store::open_in_memory(&options)?
        };
        check_cipher(&store, cipher)?;
        let end = if read_only {
            "open it for writing to have it put right"
        } else {
            "it has been put right"
        };
        let notices = store.notices().into_iter();
        let notices = notices.map(|notice| match notice {
            Notice::AnchorWithoutHistory { .. } => format!("{}: {notice}", path.display()),
            _ => format!("{}: {notice}; {end}", path.display()),
        });
        self.notices
            .lock()
            .extend(none_yet.into_iter().chain(notices));
        self.durability.lock().apply(&store, &self.memory);
        let attached = Attached {
            kept: given.keeper(&store),
            store,
            path: place,
            read_only,
        };
        self.attached
            .write()
            .insert(name.to_string(), Arc::new(attached));
        Ok(())
    }

    /// What plans and runs a statement that begins now.
    pub(crate) fn engine(&self) -> Arc<Engine> {
        Arc::clone(&self.engine.read())
    }

    /// Statements that begin from now on have this many threads.
    pub(crate) fn set_threads(&self, threads: usize) -> Result<()> {
        let mut engine = self.engine.write();
        if engine.threads != threads {
            *engine = Arc::new(engine.with_threads(threads)?);
        }
        Ok(())
    }

    /// Has statements planned with something else than this library has.
    #[cfg(test)]
    pub(crate) fn change_state(&self, change: impl FnOnce(&mut SessionState)) {
        let mut engine = self.engine.write();
        let mut state = engine.state.clone();
        change(&mut state);
        *engine = Arc::new(Engine {
            state,
            runtime: Arc::clone(&engine.runtime),
            threads: engine.threads,
        });
    }

    /// Names of attached files that are plain and open for writing.
    pub(crate) fn plain_databases(&self) -> Vec<String> {
        let attached = self.attached.read();
        let plain = attached.iter().filter(|(_, database)| {
            let suite = database.store.info().suite;
            database.path.is_some() && !database.read_only && suite == Suite::Plain
        });
        plain.map(|(name, _)| name.clone()).collect()
    }

    /// Tells the person who uses the database something; see [`Database::take_notices`].
    pub(crate) fn notice(&self, text: impl Into<String>) {
        self.notices.lock().push(text.into());
    }

    /// Changes what operators, opened blocks and rows of small commits may take.
    pub(crate) fn set_memory_limit(&self, bytes: usize) {
        self.memory.set_limit(bytes);
        self.set_durability(|_| ());
    }

    /// Changes how logs are treated, in every attached database and those to come.
    pub(crate) fn set_durability(&self, change: impl FnOnce(&mut Durability)) {
        let mut durability = self.durability.lock();
        change(&mut durability);
        for attached in self.attached.read().values() {
            durability.apply(&attached.store, &self.memory);
        }
    }

    pub(crate) fn database(&self, name: &str) -> Result<Arc<Attached>> {
        self.attached.read().get(name).cloned().ok_or_else(|| {
            Error::catalog(format!("Database with name \"{name}\" does not exist!"))
                .with_sqlstate(sqlstate::UNKNOWN_DATABASE)
        })
    }

    /// The latest version of every attached database.
    pub(crate) fn snapshot(&self, current_database: &str, current_schema: &str) -> Snapshot {
        let attached = self.attached.read();
        let databases = attached
            .iter()
            .map(|(name, db)| {
                let snapshot = DatabaseSnapshot {
                    store: Arc::clone(&db.store),
                    version: db.store.snapshot(),
                    path: db.path.clone(),
                };
                (name.clone(), snapshot)
            })
            .collect();
        Snapshot {
            databases,
            current_database: current_database.to_string(),
            current_schema: current_schema.to_string(),
            now: current_micros(),
        }
    }
}

/// What is said of a key or an anchor for a database in memory.
pub(crate) fn takes_no_key() -> Error {
    Error::invalid("a database in memory is never written to a file and takes no key and no anchor")
}

/// Opens the file at a path, or creates it.
fn open_store(
    path: &Path,
    key: Option<&dyn KeyProvider>,
    options: &StoreOptions,
) -> Result<Arc<Store>> {
    Ok(if path.exists() {
        Store::open_path(path, key, options)?
    } else if options.read_only || options.freshness.is_given() {
        return Err(Error::new(
            crate::ErrorKind::Io,
            format!(
                "Cannot open file \"{}\": it does not exist, and READ_ONLY or an anchor creates nothing",
                path.display()
            ),
        ));
    } else {
        Store::create_path(path, key, options)?
    })
}

/// Where a path leads now: absolute, without links.
pub(crate) fn place_of(path: &Path) -> Result<PathBuf> {
    let files = OsFiles::beside(path).map_err(|error| {
        let text = format!("Cannot open file \"{}\": {error}", path.display());
        Error::new(crate::ErrorKind::Io, text)
    })?;
    Ok(files.path().to_path_buf())
}

/// Whether a database is sealed with the cipher that is asked for.
pub(crate) fn check_cipher(store: &Store, cipher: Option<Cipher>) -> Result<()> {
    let suite = store.info().suite;
    match cipher.map(Cipher::suite) {
        Some(asked) if asked != suite => Err(Error::invalid(format!(
            "the database is sealed with {suite}, not with {asked}"
        ))),
        _ => Ok(()),
    }
}

/// The name under which a file is attached: its stem.
pub(crate) fn database_name(path: &Path) -> String {
    path.file_stem().map_or_else(
        || "db".to_string(),
        |stem| stem.to_string_lossy().into_owned(),
    )
}

/// A share of the machine's memory as the kernel reports it, or 1 GiB where it does not.
fn default_memory_bytes() -> usize {
    let total_kib = std::fs::read_to_string("/proc/meminfo")
        .ok()
        .and_then(|text| {
            let line = text.lines().find(|l| l.starts_with("MemTotal:"))?;
            line.split_whitespace().nth(1)?.parse::<u64>().ok()
        });
    total_kib.map_or(1 << 30, |kib| {
        (kib as f64 * 1024.0 * DEFAULT_MEMORY_SHARE) as usize
    })
}
