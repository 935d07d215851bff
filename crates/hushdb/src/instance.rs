//! `Instance`: the attached files of one process, and what all sessions share.
//!
//! What must hold: a file is attached once; keys stay inside `hushdb-keys` and are asked for when a file is opened.

use crate::attached::Attached;
use crate::checkpointer::Checkpointer;
use crate::key_source::{KeyServices, KeySource};
use crate::key_watch::{self, DueKey, KeyWatch, Recheck, Verdict, Watched};
use crate::location::{FileSources, Location, file_path, is_in_memory};
use crate::options::{AttachOptions, Cipher, DatabaseOptions};
#[cfg(test)]
use datafusion::execution::SessionState;
use hushdb_crypto::CryptoProvider;
use hushdb_keys::{KeyProvider, Suite};
use hushdb_query::engine::{Engine, default_threads, lent_threads};
use hushdb_query::memory::{MemoryBudget, default_spill_bytes, default_spill_directory};
use hushdb_query::plan::{DatabaseSnapshot, Snapshot, TEMP, known_as, session_state};
use hushdb_sql::{Error, ErrorKind, Result, sqlstate};
use hushdb_storage::{
    BufferPool, Error as StorageError, LogRoom, Notice, OnLongWait, SpillSpace, Store,
    StoreOptions, Synchronous, clock, same_name,
};
use parking_lot::{Mutex, RwLock};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Notices that come by themselves and that nobody has taken: the oldest go before there are more.
const MOST_NOTICES: usize = 100;

pub(crate) fn keep_notice(notices: &Mutex<Vec<String>>, text: String) {
    let mut notices = notices.lock();
    if notices.len() >= MOST_NOTICES {
        notices.remove(0);
    }
    notices.push(text);
}

/// Name of the in-memory database that is always attached.
pub(crate) const MEMORY: &str = "memory";
/// Share of physical memory that a process may use when nothing else is said; DuckDB's.
const DEFAULT_MEMORY_SHARE: f64 = 0.8;

/// What the sessions of one `Database` share.
pub(crate) struct Instance {
    pub(crate) attached: RwLock<BTreeMap<String, Arc<Attached>>>,
    engine: RwLock<Arc<Engine>>,
    /// Refuse to open a plain database for writing.
    pub(crate) enforce_encryption: AtomicBool,
    /// See [`DatabaseOptions::external_access`].
    pub(crate) external_access: bool,
    /// What RESET goes back to.
    pub(crate) defaults: Defaults,
    pub(crate) default_database: String,
    crypto: CryptoProvider,
    pub(crate) key_services: KeyServices,
    pub(crate) file_sources: FileSources,
    pub(crate) pool: Arc<BufferPool>,
    pub(crate) memory: Arc<MemoryBudget>,
    pub(crate) spill: Arc<SpillSpace>,
    pub(crate) recheck: Mutex<Recheck>,
    /// Databases that were ended since their keys were refused, and what is said of them.
    ended: Mutex<BTreeMap<String, String>>,
    row_group_rows: usize,
    notices: Arc<Mutex<Vec<String>>>,
    pub(crate) durability: Mutex<Durability>,
    /// What the logs of all attached databases share.
    log_room: Arc<LogRoom>,
    /// What each session has one of, and nobody else but this.
    pub(crate) sessions: Arc<()>,
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
    /// Bytes a second that are sealed anew at most; 0: as many as it can.
    pub(crate) rekey_bytes_per_second: u64,
    /// Whether locks go when a commit is queued, or when it is durable.
    pub(crate) early_release: bool,
}

impl Default for Durability {
    fn default() -> Self {
        Self {
            synchronous: Synchronous::Full,
            autocheckpoint_bytes: hushdb_storage::DEFAULT_AUTOCHECKPOINT_BYTES,
            checkpoint_on_shutdown: true,
            rekey_bytes_per_second: 0,
            early_release: true,
        }
    }
}

/// The share of the memory limit that rows of small commits may fill: they are in memory until a checkpoint, about as large as in
/// the log.
const RECENT_ROWS_SHARE: u64 = 8;

impl Durability {
    fn apply(self, store: &Store, memory: &MemoryBudget, room: &Arc<LogRoom>) {
        let most = memory.limit() as u64 / RECENT_ROWS_SHARE;
        // Whoever says how long a log is to be has it that long. Half is left for when a checkpoint is under way.
        let grows = self.autocheckpoint_bytes == hushdb_storage::DEFAULT_AUTOCHECKPOINT_BYTES;
        room.set_most(most / 2);
        store.let_log_grow(grows.then_some(room));
        store.set_synchronous(self.synchronous);
        store.set_autocheckpoint_bytes(self.autocheckpoint_bytes.min(most));
        store.set_most_log_bytes(most);
        store.set_checkpoint_on_close(self.checkpoint_on_shutdown);
        store.set_rekey_bytes_per_second(self.rekey_bytes_per_second);
        store.set_early_release(self.early_release);
    }
}

impl Instance {
    /// As [`crate::Database::open_with`].
    pub(crate) fn open(path: Option<&Path>, options: DatabaseOptions) -> Result<Self> {
        options
            .crypto
            .self_test()
            .map_err(|e| Error::internal(e.to_string()))?;
        let threads = options.threads.unwrap_or_else(default_threads).max(1);
        let budget = options
            .memory_limit_bytes
            .unwrap_or_else(default_memory_bytes);
        let pool = Arc::new(BufferPool::new(budget));
        let memory = Arc::new(memory_budget(&pool, budget, threads, options.owns_process));
        let temp_directory = options
            .temp_directory
            .unwrap_or_else(|| default_spill_directory(path.and_then(file_path)));
        let spill_bytes = default_spill_bytes(&temp_directory);
        let spill = SpillSpace::new(options.crypto, temp_directory, spill_bytes);
        let in_memory = Store::open_in_memory(&StoreOptions {
            crypto: options.crypto,
            row_group_rows: options.row_group_rows,
            pool: Arc::clone(&pool),
            ..StoreOptions::default()
        })?;
        let in_memory = Attached::in_memory(in_memory);
        let default_database = path.map_or_else(|| MEMORY.to_string(), database_name);
        let instance = Self {
            attached: RwLock::new([(MEMORY.to_string(), Arc::new(in_memory))].into()),
            engine: RwLock::new(Arc::new(Engine::new(
                threads,
                session_state(threads, Arc::clone(&memory), Arc::clone(&spill))?,
            )?)),
            enforce_encryption: AtomicBool::new(options.enforce_encryption),
            external_access: options.external_access,
            defaults: Defaults {
                threads,
                memory_bytes: budget,
                temp_directory: spill.directory(),
                spill_bytes,
            },
            default_database: default_database.clone(),
            crypto: options.crypto,
            key_services: options.key_services.clone(),
            file_sources: options.file_sources.clone(),
            pool,
            memory,
            spill,
            row_group_rows: options.row_group_rows,
            durability: Mutex::default(),
            log_room: Arc::default(),
            sessions: Arc::default(),
            recheck: Mutex::default(),
            ended: Mutex::default(),
            notices: Arc::default(),
        };
        if let Some(path) = path {
            let options = AttachOptions {
                read_only: options.read_only,
                key: options.key,
                cipher: options.cipher,
                freshness: options.freshness,
                anchor_file: options.anchor_file,
            };
            let notices = instance.attach(path, &default_database, &options)?;
            instance.keep_notices(notices);
        }
        Ok(instance)
    }

    /// Opens a file, or creates it, and attaches it under a name. Gives what is to be said of it.
    pub(crate) fn attach(
        &self,
        path: &Path,
        name: &str,
        options: &AttachOptions,
    ) -> Result<Vec<String>> {
        self.refuse_attach(path, name, options)?;
        let provider = options.key.as_ref().map(KeySource::provider);
        let (freshness, none_yet) = options.wanted()?;
        let store_options = StoreOptions {
            crypto: self.crypto,
            suite: options.cipher.unwrap_or_default().suite(),
            read_only: options.read_only,
            row_group_rows: self.row_group_rows,
            pool: Arc::clone(&self.pool),
            freshness,
            threads: lent_threads(self.engine().threads),
            ..StoreOptions::default()
        };
        let location = Location::of(path, &self.file_sources)?;
        let store = match &location {
            Location::File(path) => open_store(path, provider.as_deref(), &store_options)?,
            Location::Source(url) => {
                self.open_elsewhere(url, provider.as_deref(), &store_options)?
            }
            Location::Memory => Store::open_in_memory(&store_options)?,
        };
        check_cipher(&store, options.cipher)?;
        let notices = opening_notices(&store, path, options.read_only);
        self.durability
            .lock()
            .apply(&store, &self.memory, &self.log_room);
        let is_file = location != Location::Memory && !options.read_only;
        let attached = Attached {
            checkpointer: is_file.then(|| Arc::new(self.checkpointer(name, &store))),
            kept: options.keeper(&store),
            store,
            shown: location.shown().map(Arc::from),
            location,
            read_only: options.read_only,
            watch: Mutex::new(KeyWatch::of(provider)),
        };
        self.ended.lock().remove(name);
        self.attached
            .write()
            .insert(name.to_string(), Arc::new(attached));
        Ok(none_yet.into_iter().chain(notices).collect())
    }

    /// Opens the database that a source of the program's has, or creates it there.
    fn open_elsewhere(
        &self,
        url: &str,
        key: Option<&dyn KeyProvider>,
        options: &StoreOptions,
    ) -> Result<Arc<Store>> {
        let here = Location::Source(url.to_owned());
        let is_it = |database: &Arc<Attached>| database.location == here;
        if self.attached.read().values().any(is_it) {
            return Err(StorageError::AlreadyAttached.into());
        }
        let files = self.file_sources.files(url)?;
        match Store::open_in(Arc::clone(&files), key, options) {
            Err(StorageError::Io(error)) if error.kind() == std::io::ErrorKind::NotFound => {}
            opened => return Ok(opened?),
        }
        match creates_nothing(options) {
            true => Err(is_not_there(&url)),
            false => Ok(Store::create_in(files, key, options)?),
        }
    }

    /// A database of one connection, which is gone with it.
    ///
    /// # Errors
    /// What the operating system says of the directory of temporary files.
    pub(crate) fn temporary_store(&self) -> Result<Arc<Store>> {
        let options = StoreOptions {
            crypto: self.crypto,
            row_group_rows: self.row_group_rows,
            pool: Arc::clone(&self.pool),
            ..StoreOptions::default()
        };
        Ok(Store::create_temporary(&self.spill, &options)?)
    }

    /// Makes checkpoints of a file that is attached under a name; what they fail with is a notice.
    fn checkpointer(&self, name: &str, store: &Arc<Store>) -> Checkpointer {
        let (name, notices) = (name.to_owned(), Arc::clone(&self.notices));
        let say = move |error: &Error| {
            let text = "failed, and what was committed stays in its log";
            keep_notice(
                &notices,
                format!("a checkpoint of database \"{name}\" {text}: {error}"),
            );
        };
        Checkpointer::of(store, Arc::new(say))
    }

    /// What is wrong with an attachment whatever the file holds.
    fn refuse_attach(&self, path: &Path, name: &str, options: &AttachOptions) -> Result<()> {
        if same_name(name, TEMP) {
            return Err(Error::binder(format!(
                "Attached database name \"{name}\" cannot be used because it is a reserved name"
            )));
        }
        if known_as(&*self.attached.read(), name).is_some() {
            return Err(Error::binder(format!(
                "Failed to attach database: database with name \"{name}\" already exists; give it another name with AS"
            )).with_sqlstate(sqlstate::DUPLICATE_DATABASE));
        }
        let has_key = options.key.is_some();
        let plain = !has_key && !options.read_only && !is_in_memory(path);
        if plain && self.enforce_encryption.load(Ordering::Acquire) {
            return Err(Error::invalid(format!(
                "Cannot attach \"{}\" for writing without a key: enforce_encryption is on; give an ENCRYPTION_KEY, or \
                 attach it READ_ONLY",
                path.display()
            )));
        }
        if options.cipher.is_some() && !has_key {
            return Err(Error::binder("a cipher needs a key"));
        }
        if is_in_memory(path) && (has_key || options.insists()) {
            return Err(takes_no_key());
        }
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

    /// Has keys asked for again as it says, from now on.
    pub(crate) fn set_recheck(self: &Arc<Self>, change: impl FnOnce(&mut Recheck)) {
        let mut times = self.recheck.lock();
        change(&mut times);
        if !times.every.is_zero() && !times.is_watched {
            times.is_watched = true;
            let instance = Arc::downgrade(self);
            std::thread::spawn(move || key_watch::watch(&instance));
        }
    }

    /// Says of an error that a database which is not there was ended, if that is what is behind it.
    pub(crate) fn explained(&self, error: Error, current: &str) -> Error {
        let ended = self.ended.lock();
        let missing = matches!(error.kind(), ErrorKind::Catalog | ErrorKind::Binder);
        let text = error.to_string();
        let of = |name: &str| name == current || is_named(&text, name);
        let mut found = ended.iter().filter(|(name, _)| missing && of(name));
        match found.next() {
            Some((_, why)) => Error::new(ErrorKind::KeyRefused, why.clone()),
            None => error,
        }
    }

    /// Names of attached files that are plain and open for writing.
    pub(crate) fn plain_databases(&self) -> Vec<String> {
        let attached = self.attached.read();
        let plain = attached.iter().filter(|(_, database)| {
            let suite = database.store.info().suite;
            database.location != Location::Memory && !database.read_only && suite == Suite::Plain
        });
        plain.map(|(name, _)| name.clone()).collect()
    }

    /// Keeps what is to be said by [`crate::Database::take_notices`].
    pub(crate) fn keep_notices(&self, notices: Vec<String>) {
        for notice in notices {
            keep_notice(&self.notices, notice);
        }
    }

    /// Makes notices of waits for locks, without the names of anything.
    pub(crate) fn lock_waits(&self) -> OnLongWait {
        let notices = Arc::clone(&self.notices);
        Arc::new(move |wait| {
            let of = match wait.table_id {
                Some(id) => format!("a lock ({}) of table {id}", wait.kind),
                None => format!("a lock ({})", wait.kind),
            };
            let others = wait.waits.map(|(_, others)| others).unwrap_or_default();
            let others: Vec<String> = others.iter().map(u64::to_string).collect();
            let text = format!(
                "lock owner {} has waited for a second for {of} in mode {}, behind {}; FROM locks() has who waits now",
                wait.owner,
                wait.mode,
                others.join(", ")
            );
            keep_notice(&notices, text);
        })
    }

    /// See [`crate::Database::take_notices`].
    pub(crate) fn take_notices(&self) -> Vec<String> {
        std::mem::take(&mut self.notices.lock())
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
            durability.apply(&attached.store, &self.memory, &self.log_room);
        }
    }

    pub(crate) fn database(&self, name: &str) -> Result<Arc<Attached>> {
        self.attached.read().get(name).cloned().ok_or_else(|| {
            Error::catalog(format!("Catalog with name {name} does not exist!"))
                .with_sqlstate(sqlstate::UNKNOWN_DATABASE)
        })
    }

    /// Takes a database's name away: whoever sees it still goes on, and its file is closed behind the last of them.
    pub(crate) fn detach(&self, name: &str) -> Result<()> {
        let database = self.database(name)?;
        if let Some(kept) = &database.kept {
            kept.write()?;
        }
        // Closing may take a while, with the others there.
        let removed = self.attached.write().remove(name);
        drop(removed);
        Ok(())
    }

    /// The latest version of every attached database, or of the only one that a session sees.
    pub(crate) fn snapshot(
        &self,
        current_database: &str,
        current_schema: &str,
        only: Option<&str>,
    ) -> Snapshot {
        let attached = self.attached.read();
        let seen = attached
            .iter()
            .filter(|(name, _)| only.is_none_or(|only| only == name.as_str()));
        let databases = seen
            .map(|(name, db)| {
                let snapshot = DatabaseSnapshot {
                    store: Arc::clone(&db.store),
                    version: db.store.snapshot(),
                    place: db.shown.clone(),
                    is_temporary: false,
                };
                (name.clone(), snapshot)
            })
            .collect();
        Snapshot {
            databases,
            current_database: current_database.to_string(),
            current_schema: current_schema.to_string(),
            now: clock::unix_micros(),
        }
    }
}

impl Watched for Instance {
    fn recheck(&self) -> &Mutex<Recheck> {
        &self.recheck
    }

    fn due_keys(&self, times: &Recheck) -> Vec<DueKey> {
        let attached = self.attached.read();
        let due = attached.iter().filter_map(|(name, database)| {
            let watch = database
                .watch
                .lock()
                .clone()
                .filter(|it| it.is_due(times))?;
            let page = database.store.blocks().header().to_page();
            Some((name.clone(), watch, page))
        });
        due.collect()
    }

    fn heard_of_key(&self, name: &str, watch: &Arc<KeyWatch>, verdict: Verdict) {
        let (why, ends) = match verdict {
            Verdict::Stays => return,
            Verdict::Told(why) => (why, false),
            Verdict::Ends(why) => (why, true),
        };
        if !ends {
            let text = format!("{name}: the key was asked for again, and not given: {why}");
            return self.keep_notices(vec![text]);
        }
        let is_it = |database: &Arc<Attached>| {
            let own = database.watch.lock();
            own.as_ref().is_some_and(|own| Arc::ptr_eq(own, watch))
        };
        let mut attached = self.attached.write();
        let Some(database) = attached
            .get(name)
            .filter(|database| is_it(database))
            .cloned()
        else {
            return;
        };
        attached.remove(name);
        drop(attached);
        let text = format!(
            "database \"{name}\" was ended, since its key was not given any more: {why}; attach it again"
        );
        self.ended.lock().insert(name.to_owned(), text.clone());
        database.store.withdraw_keys();
        self.keep_notices(vec![text]);
    }
}

impl Drop for Instance {
    /// Closes the files here. Threads that end late may have them still, and a program that ends then would end them within a checkpoint.
    fn drop(&mut self) {
        let attached = std::mem::take(self.attached.get_mut());
        let stores: Vec<_> = attached
            .values()
            .map(|database| Arc::clone(&database.store))
            .collect();
        // Their checkpointers end first, and anchors are written.
        drop(attached);
        stores.iter().for_each(|store| store.close());
    }
}

/// What operators and opened blocks may take; of a process that does nothing else, also what its allocator keeps.
fn memory_budget(
    pool: &Arc<BufferPool>,
    bytes: usize,
    threads: usize,
    owns_process: bool,
) -> MemoryBudget {
    let memory = MemoryBudget::new(Arc::clone(pool), bytes);
    if !owns_process {
        return memory;
    }
    // One for each thread of the engine, and one for all others.
    hushdb_pages::share_heaps(threads + 1);
    hushdb_pages::keep_large_blocks();
    memory.of_whole_process()
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
    } else if creates_nothing(options) {
        return Err(is_not_there(&path.display()));
    } else {
        Store::create_path(path, key, options)?
    })
}

fn creates_nothing(options: &StoreOptions) -> bool {
    options.read_only || options.freshness.is_given()
}

fn is_not_there(place: &dyn std::fmt::Display) -> Error {
    let text = format!(
        "Cannot open file \"{place}\": it does not exist, and READ_ONLY or an anchor creates nothing"
    );
    Error::new(crate::ErrorKind::Io, text)
}

/// What opening found, for a person to read.
fn opening_notices(store: &Store, path: &Path, read_only: bool) -> Vec<String> {
    let end = match read_only {
        true => "open it for writing to have it put right",
        false => "it has been put right",
    };
    let notices = store.notices().into_iter();
    let notices = notices.map(|notice| match notice {
        Notice::AnchorWithoutHistory { .. } => format!("{}: {notice}", path.display()),
        _ => format!("{}: {notice}; {end}", path.display()),
    });
    let of_keys = store.key_notices().into_iter();
    let of_keys = of_keys.map(|notice| format!("{}: {notice}", path.display()));
    notices.chain(of_keys).collect()
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

/// The name under which a file is attached: its stem, unless that means what is a connection's own.
pub(crate) fn database_name(path: &Path) -> String {
    let stem = path.file_stem().map(|stem| stem.to_string_lossy());
    let stem = stem.map_or_else(|| "db".to_string(), |stem| stem.into_owned());
    match same_name(&stem, TEMP) {
        true => format!("{stem}_db"),
        false => stem,
    }
}

/// A share of the machine's memory as the kernel reports it, or 1 GiB where it does not.
fn default_memory_bytes() -> usize {
    hushdb_pages::physical_memory_bytes().map_or(1 << 30, |bytes| {
        (bytes as f64 * DEFAULT_MEMORY_SHARE) as usize
    })
}

/// Whether a text has the name, whole: no letter, digit or underscore before or behind it.
fn is_named(text: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(name).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let behind = text[at + name.len()..].chars().next();
        !before.is_some_and(is_part) && !behind.is_some_and(is_part)
    })
}

#[cfg(test)]
mod tests {
    use super::{MOST_NOTICES, is_named, keep_notice};
    use crate::Database;
    use parking_lot::Mutex;

    #[test]
    fn the_oldest_notices_go_where_nobody_takes_them() {
        let notices = Mutex::default();
        for n in 0..MOST_NOTICES + 3 {
            keep_notice(&notices, n.to_string());
        }
        let kept = notices.into_inner();
        assert_eq!((kept.len(), kept[0].as_str()), (MOST_NOTICES, "3"));
    }

    #[test]
    fn a_name_within_another_is_not_named() {
        let text = "Catalog \"shop\" does not exist! Table shop_2.main.workshop";
        assert!(is_named(text, "shop"));
        assert!(is_named("shop", "shop"));
        for other in ["work", "op", "sho", "shop_", "Shop"] {
            assert!(!is_named(text, other), "{other}");
        }
        assert!(!is_named("Table shop_2.main.t", "shop"));
    }

    #[test]
    fn a_file_is_closed_with_the_database_whoever_has_it_still() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("t.hushdb");
        let database = Database::open(&path).unwrap();
        let connection = database.connect().unwrap();
        connection.run("CREATE TABLE t (n INTEGER)").unwrap();
        connection.run("INSERT INTO t VALUES (1)").unwrap();
        let attached = database.instance.database("t").unwrap();
        let store = attached.store.clone();
        drop(attached);
        assert!(store.log_bytes() > 0);
        drop((connection, database));
        assert_eq!(store.log_bytes(), 0);
        assert!(!path.with_extension("hushdb.wal").exists());
    }
}
