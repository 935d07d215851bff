//! `Session`: what belongs to one connection, while statements run and between them.
//!
//! What must hold: one statement runs at a time, whichever threads they come from; each sees one state of all databases.

use crate::host::Host;
use crate::instance::{Instance, keep_notice};
use crate::numbers::next_connection;
use crate::prepared::Prepared;
use crate::transaction::{AdvisoryLocks, Isolation, OpenTransaction, Waits};
use hushdb_files::rejects::Rejects;
use hushdb_query::engine::Engine;
use hushdb_query::functions::{Random, Variables, Zone};
use hushdb_query::plan::{DatabaseSnapshot, OrderDefaults, Snapshot, TEMP, Taken};
use hushdb_query::scan::ScanProgress;
use hushdb_sql::{Error, Result, caught, folded, sqlstate};
use hushdb_storage::{MAIN_SCHEMA, Store};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The time zone of sessions that have set none.
pub(crate) const UTC: &str = "UTC";

/// One connection's part of an [`Instance`].
pub(crate) struct Session {
    pub(crate) instance: Arc<Instance>,
    _counted: Arc<()>,
    /// No other connection of the process has it.
    pub(crate) number: u64,
    statements: AtomicU64,
    /// The number of the transaction that was open when the statement began; 0: none was.
    pub(crate) open_number: AtomicU64,
    /// The text of the statement that runs, if that asks for it.
    pub(crate) text: Mutex<Option<String>>,
    /// What random numbers are drawn from.
    pub(crate) random: Arc<Random>,
    /// The one database that it sees, if it does not see all.
    pub(crate) only: Option<String>,
    /// The server that it is one of.
    pub(crate) host: Mutex<Option<Arc<dyn Host>>>,
    pub(crate) settings: Mutex<SessionSettings>,
    /// What SET VARIABLE has set.
    pub(crate) variables: Mutex<Variables>,
    /// What CSV files had that was not read, and is to be stored.
    pub(crate) rejects: Arc<Rejects>,
    /// What it has taken of sequences.
    pub(crate) taken: Arc<Taken>,
    /// What it was opened with.
    pub(crate) default_isolation: Isolation,
    /// What it has locked by numbers that sessions agree on.
    pub(crate) advisory: Arc<AdvisoryLocks>,
    /// The transaction between BEGIN and COMMIT.
    pub(crate) transaction: Mutex<Option<OpenTransaction>>,
    /// What CREATE TEMP makes; made when it is first needed.
    temporary: Mutex<Option<Arc<Store>>>,
    prepared: Mutex<HashMap<String, Arc<Prepared>>>,
    notices: Mutex<Vec<String>>,
    /// The engine that plans for its time zone, and the one that it was made of.
    zoned: Mutex<Option<(Arc<Engine>, Arc<Engine>)>>,
    /// Held while a statement runs.
    turn: Mutex<()>,
    /// The progress of the statement that runs, or of the last one.
    pub(crate) running: Arc<Mutex<Arc<ScanProgress>>>,
}

/// What statements such as USE and SET change for one connection.
pub(crate) struct SessionSettings {
    /// The database and the schema that unqualified names are looked for in.
    pub(crate) database: String,
    pub(crate) schema: String,
    pub(crate) order: OrderDefaults,
    /// Whether texts mean what they do in PostgreSQL.
    pub(crate) postgres: bool,
    pub(crate) explain: ExplainOutput,
    /// Of the transactions that begin from now on.
    pub(crate) isolation: Isolation,
    /// The longest wait for a lock; zero: there is none.
    pub(crate) lock_timeout: Duration,
    /// Whether waits for locks that go on for a second are told.
    pub(crate) log_lock_waits: bool,
    /// Whether a shell should show how far long statements have come.
    pub(crate) progress_bar: bool,
    /// Whether `/` is `//`.
    pub(crate) integer_division: bool,
    /// Whether a query that stands for a value may have one row alone.
    pub(crate) one_row: bool,
    /// Whether ORDER BY takes a literal that is no place.
    pub(crate) order_by_literals: bool,
    /// Whether a transaction sees what there is at its BEGIN.
    pub(crate) immediate: bool,
    /// Values of settings that change nothing.
    pub(crate) hints: HashMap<&'static str, String>,
    /// The name of the time zone in which instants are shown.
    pub(crate) time_zone: &'static str,
}

impl Session {
    pub(crate) fn new(instance: Arc<Instance>, isolation: Isolation) -> Self {
        Self::seeing(instance, isolation, None, MAIN_SCHEMA)
    }

    /// A session that sees one database alone, and begins in one of its schemas.
    pub(crate) fn seeing(
        instance: Arc<Instance>,
        isolation: Isolation,
        only: Option<String>,
        schema: &str,
    ) -> Self {
        let settings = SessionSettings {
            database: only.as_ref().unwrap_or(&instance.default_database).clone(),
            schema: schema.into(),
            order: OrderDefaults::default(),
            postgres: false,
            explain: ExplainOutput::default(),
            isolation,
            lock_timeout: Duration::ZERO,
            log_lock_waits: true,
            progress_bar: true,
            integer_division: false,
            one_row: true,
            order_by_literals: false,
            immediate: false,
            hints: HashMap::new(),
            time_zone: UTC,
        };
        Self {
            _counted: Arc::clone(&instance.sessions),
            instance,
            number: next_connection(),
            statements: AtomicU64::default(),
            open_number: AtomicU64::default(),
            text: Mutex::default(),
            random: Arc::default(),
            only,
            host: Mutex::default(),
            settings: Mutex::new(settings),
            variables: Mutex::default(),
            rejects: Arc::default(),
            taken: Arc::default(),
            default_isolation: isolation,
            advisory: Arc::default(),
            transaction: Mutex::default(),
            temporary: Mutex::default(),
            prepared: Mutex::default(),
            notices: Mutex::default(),
            zoned: Mutex::default(),
            turn: Mutex::default(),
            running: Arc::default(),
        }
    }

    /// Does a statement's work when no other statement of the session runs. A panic is its error, and leaves an open
    /// transaction to be rolled back.
    pub(crate) fn in_turn<T>(
        &self,
        work: impl FnOnce(&Arc<ScanProgress>) -> Result<T>,
    ) -> Result<T> {
        self.in_turn_with(Arc::default(), work)
    }

    /// The same for a statement that may be cancelled before its turn comes.
    pub(crate) fn in_turn_with<T>(
        &self,
        progress: Arc<ScanProgress>,
        work: impl FnOnce(&Arc<ScanProgress>) -> Result<T>,
    ) -> Result<T> {
        let _turn = self.turn.lock();
        progress.check()?;
        self.statements.fetch_add(1, Ordering::Relaxed);
        *self.running.lock() = Arc::clone(&progress);
        let mut is_through = false;
        let result = caught(|| {
            let result = progress.heeds().watch(|| work(&progress));
            is_through = true;
            result
        });
        let result =
            result.map_err(|error| self.instance.explained(error, &self.current_database()));
        if !is_through && let Some(open) = self.transaction.lock().as_ref() {
            open.aborted().store(true, Ordering::Release);
        }
        result
    }

    /// How many statements have run, that which runs now among them.
    pub(crate) fn statements(&self) -> u64 {
        self.statements.load(Ordering::Relaxed)
    }

    /// Says what the text of the statement is that begins to run.
    pub(crate) fn begins(&self, text: &str) {
        let asks = hushdb_sql::names_current_query(text);
        *self.text.lock() = asks.then(|| text.trim().to_owned());
    }

    /// How a transaction that begins now waits, at the connection's level if none is given; `None`: it does not.
    pub(crate) fn new_waits(&self, isolation: Option<Isolation>) -> Option<Arc<Waits>> {
        let settings = self.settings.lock();
        let isolation = isolation.unwrap_or(settings.isolation);
        let report = settings.log_lock_waits && isolation != Isolation::Snapshot;
        let report = report.then(|| self.instance.lock_waits());
        Waits::new(isolation, settings.lock_timeout, report, &self.advisory)
    }

    /// How a statement that begins now waits: as its transaction does, if it is part of one.
    pub(crate) fn waits(&self) -> Option<Arc<Waits>> {
        let timeout = self.settings.lock().lock_timeout;
        if let Some(open) = self.transaction.lock().as_ref() {
            let waits = open.waits().cloned();
            return waits.inspect(|waits| waits.set_timeout(timeout));
        }
        self.new_waits(None)
    }

    /// See [`OpenTransaction::renew`].
    pub(crate) fn renew(&self, keep: bool) -> Result<()> {
        let mut open = self.transaction.lock();
        open.as_mut().map_or(Ok(()), |open| open.renew(keep))
    }

    /// Aborts the open transaction, if there is one.
    ///
    /// # Errors
    /// `Conflict` when what it has seen is not durable and never will be.
    pub(crate) fn abort(&self) -> Result<()> {
        let waits = match self.transaction.lock().as_mut() {
            Some(open) if !open.is_aborted() => {
                open.aborted().store(true, Ordering::Release);
                open.abandon();
                open.waits().cloned()
            }
            _ => None,
        };
        waits.map_or(Ok(()), |waits| waits.told(Ok(())))
    }

    /// Whether a transaction over several statements is open, also one that an error has aborted.
    pub(crate) fn in_transaction(&self) -> bool {
        self.transaction.lock().is_some()
    }

    /// Whether the open transaction has changes that are not committed.
    pub(crate) fn has_changes(&self) -> bool {
        let open = self.transaction.lock();
        open.as_ref().is_some_and(OpenTransaction::has_changes)
    }

    /// Whether the open transaction has changed what others see, which would be changed again for a statement on a newer state.
    pub(crate) fn has_shared_changes(&self) -> bool {
        let open = self.transaction.lock();
        let changed = open.as_ref().and_then(OpenTransaction::changed_database);
        changed.is_some()
    }

    /// Name of the database that unqualified names are looked for in.
    pub(crate) fn current_database(&self) -> String {
        self.settings.lock().database.clone()
    }

    /// What a statement that begins now sees, and waits for others so.
    pub(crate) fn snapshot(&self, waits: Option<&Waits>) -> Snapshot {
        let mut newest = self.newest();
        if let Some(waits) = waits {
            // Its end fails if some of that is given up now.
            let _ = waits.catch_up(&mut newest);
        }
        match self.transaction.lock().as_mut() {
            Some(open) => open.view(newest),
            None => newest,
        }
    }

    /// The same, but that a transaction which has looked at nothing yet need not go on seeing it.
    pub(crate) fn glance(&self) -> Snapshot {
        let newest = self.newest();
        match self.transaction.lock().as_ref() {
            Some(open) => open.glance(newest),
            None => newest,
        }
    }

    fn newest(&self) -> Snapshot {
        let settings = self.settings.lock();
        let only = self.only.as_deref();
        let mut newest = self
            .instance
            .snapshot(&settings.database, &settings.schema, only);
        drop(settings);
        if let Some(store) = self.temporary.lock().as_ref() {
            let own = DatabaseSnapshot {
                store: Arc::clone(store),
                version: store.snapshot(),
                place: None,
                is_temporary: true,
            };
            newest.databases.insert(TEMP.into(), own);
        }
        newest
    }

    /// Makes the connection's own database, unless it is there.
    ///
    /// # Errors
    /// What the operating system says of the directory of temporary files.
    pub(crate) fn make_temporary(&self) -> Result<()> {
        let mut own = self.temporary.lock();
        if own.is_none() {
            *own = Some(self.instance.temporary_store()?);
        }
        Ok(())
    }

    /// Forgets what is the connection's own. Results that still read it go on.
    pub(crate) fn drop_temporary(&self) {
        *self.temporary.lock() = None;
        self.taken.forget(TEMP);
    }

    /// What plans and runs a statement that begins now.
    pub(crate) fn engine(&self) -> Arc<Engine> {
        let shared = self.instance.engine();
        let zone = self.settings.lock().time_zone;
        if zone == UTC {
            return shared;
        }
        let mut zoned = self.zoned.lock();
        if let Some((of, own)) = zoned.as_ref()
            && Arc::ptr_eq(of, &shared)
            && own.time_zone() == Some(zone)
        {
            return Arc::clone(own);
        }
        let own = Arc::new(shared.in_zone(zone));
        *zoned = Some((shared, Arc::clone(&own)));
        own
    }

    /// The time zone in which instants are shown; `None`: UTC.
    pub(crate) fn time_zone(&self) -> Option<Zone> {
        match self.settings.lock().time_zone {
            UTC => None,
            name => Zone::named(name).map(|(zone, _)| zone),
        }
    }

    /// Says something beside a statement's result.
    pub(crate) fn notice(&self, text: impl Into<String>) {
        self.keep_notices(vec![text.into()]);
    }

    pub(crate) fn keep_notices(&self, texts: Vec<String>) {
        for text in texts {
            keep_notice(&self.notices, text);
        }
    }

    /// See [`crate::Connection::take_notices`].
    pub(crate) fn take_notices(&self) -> Vec<String> {
        std::mem::take(&mut self.notices.lock())
    }

    /// Keeps what PREPARE names.
    pub(crate) fn keep_prepared(&self, name: &str, prepared: Prepared) {
        self.prepared
            .lock()
            .insert(folded(name), Arc::new(prepared));
    }

    /// # Errors
    /// `Binder` when PREPARE has not named it.
    pub(crate) fn prepared(&self, name: &str) -> Result<Arc<Prepared>> {
        let prepared = self.prepared.lock().get(&folded(name)).cloned();
        prepared.ok_or_else(|| unknown_statement(name))
    }

    /// All that PREPARE has named.
    pub(crate) fn all_prepared(&self) -> Vec<(String, Arc<Prepared>)> {
        let all = self.prepared.lock();
        all.iter()
            .map(|(name, prepared)| (name.clone(), Arc::clone(prepared)))
            .collect()
    }

    /// # Errors
    /// As `prepared`.
    pub(crate) fn deallocate(&self, name: &str) -> Result<()> {
        let removed = self.prepared.lock().remove(&folded(name));
        removed.map(drop).ok_or_else(|| unknown_statement(name))
    }
}

fn unknown_statement(name: &str) -> Error {
    Error::binder(format!("Prepared statement \"{name}\" does not exist"))
        .with_sqlstate(sqlstate::UNKNOWN_STATEMENT)
}

/// The plans that EXPLAIN shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ExplainOutput {
    #[default]
    PhysicalOnly,
    OptimizedOnly,
    All,
}

impl ExplainOutput {
    pub(crate) fn named(text: &str) -> Option<Self> {
        Some(match text.to_lowercase().as_str() {
            "physical_only" => Self::PhysicalOnly,
            "optimized_only" => Self::OptimizedOnly,
            "all" => Self::All,
            _ => return None,
        })
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::PhysicalOnly => "PHYSICAL_ONLY",
            Self::OptimizedOnly => "OPTIMIZED_ONLY",
            Self::All => "ALL",
        }
    }
}
