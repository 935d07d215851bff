//! `Statement`: one statement while it runs, as the code that runs it sees it.

use crate::numbers::next_transaction;
use crate::pg_catalog::Seen;
use crate::session::Session;
use crate::transaction::{Waits, Write};
use datafusion::arrow::array::ArrayRef;
use datafusion::logical_expr::TableSource;
use datafusion::sql::sqlparser::ast::ObjectName;
use hushdb_query::plan::{DatabaseSnapshot, Planner, Snapshot, TableName};
use hushdb_query::scan::ScanProgress;
use hushdb_sql::{Error, Result, name_parts};
use hushdb_storage::{Index, TableVersion, Transaction};
use std::cell::{OnceCell, RefCell};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Rows, and the name that stands for them.
type NamedRows = (String, Arc<dyn TableSource>);

/// What runs, for whom, and what it sees.
pub(crate) struct Statement<'a> {
    pub(crate) session: &'a Session,
    /// Cancels it, and says how far it has come.
    pub(crate) progress: &'a Arc<ScanProgress>,
    /// Taken when it is first asked for: statements that look at no table hold none.
    snapshot: OnceCell<Snapshot>,
    /// How it waits for others who change the same rows; `None`: it does not.
    waits: Option<Arc<Waits>>,
    /// What it sees of its transaction's database may be older than what is committed: it is to be about one key, and to look whether that
    /// means the same now.
    pub(crate) by_key: bool,
    /// When it began, once that is asked for.
    pub(crate) began: OnceCell<i64>,
    /// That of its transaction, once it is asked for.
    transaction: OnceCell<u64>,
    /// What it has asked of `pg_catalog`.
    pub(crate) catalog: Seen,
    /// Of one whose parts are run one after another: the rows that they gave, by the names that stand for them.
    parts: RefCell<Option<Vec<NamedRows>>>,
}

impl<'a> Statement<'a> {
    pub(crate) fn new(session: &'a Session, progress: &'a Arc<ScanProgress>) -> Self {
        Self {
            session,
            progress,
            snapshot: OnceCell::new(),
            waits: None,
            by_key: false,
            began: OnceCell::new(),
            transaction: OnceCell::new(),
            catalog: Seen::default(),
            parts: RefCell::default(),
        }
    }

    /// The same statement, waiting for others who change the same rows.
    pub(crate) fn waiting(mut self, waits: &Arc<Waits>) -> Self {
        self.waits = Some(Arc::clone(waits));
        self
    }

    /// How it waits for others who change the same rows; `None`: it does not.
    pub(crate) fn waits_by(&self) -> Option<&Arc<Waits>> {
        self.waits.as_ref()
    }

    /// Whether it waits for others who change the same rows, and is begun anew from above when they were faster.
    pub(crate) fn waits(&self) -> bool {
        self.waits.is_some()
    }

    /// Whether it can go on with the rows that it sees by a key, for one that is `by_key`; others can. `write` is its hold on the database,
    /// if it has one.
    ///
    /// # Errors
    /// `Conflict` with the storage's `Overtaken` when it is to be begun anew.
    pub(crate) fn still_sees(
        &self,
        write: Option<&Transaction>,
        database: &DatabaseSnapshot,
        table: &TableVersion,
        by: (&Index, &[ArrayRef]),
        rows: &[u64],
    ) -> Result<()> {
        if !self.by_key {
            return Ok(());
        }
        let is_same = |write: &Transaction| write.is_newest_of(table.id, by, rows);
        let same = match write {
            Some(write) => is_same(write)?,
            None => match self.session.transaction.lock().as_mut() {
                Some(open) => match open.writing(false) {
                    Some(write) if Arc::ptr_eq(write.store(), &database.store) => is_same(write)?,
                    _ => true,
                },
                None => true,
            },
        };
        match same {
            true => Ok(()),
            false => Err(hushdb_storage::Error::Overtaken.into()),
        }
    }

    /// Does the work of a statement's parts: each sees what the statement sees, and the rows that others before it gave. The keys that they
    /// change are looked up when whoever calls this writes next.
    pub(crate) fn in_parts<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        *self.parts.borrow_mut() = Some(vec![]);
        let done = work();
        *self.parts.borrow_mut() = None;
        done
    }

    /// Whether it is a part of a statement that runs now.
    pub(crate) fn is_part(&self) -> bool {
        self.parts.borrow().is_some()
    }

    /// Has a name stand for rows in the parts after this one.
    pub(crate) fn keep_rows(&self, name: String, rows: Arc<dyn TableSource>) {
        if let Some(kept) = self.parts.borrow_mut().as_mut() {
            kept.push((name, rows));
        }
    }

    /// The same statement on what there is now: after others were faster, or what it did itself.
    pub(crate) fn anew(&self) -> Self {
        Self {
            waits: self.waits.clone(),
            began: self.began.clone(),
            ..Self::new(self.session, self.progress)
        }
    }

    /// The number of the open transaction, or of the statement's own.
    pub(crate) fn transaction_number(&self) -> u64 {
        match self.session.open_number.load(Ordering::Relaxed) {
            0 => *self.transaction.get_or_init(next_transaction),
            open => open,
        }
    }

    /// The databases as the statement sees them.
    pub(crate) fn snapshot(&self) -> &Snapshot {
        let waits = self.waits.as_deref();
        self.snapshot.get_or_init(|| self.session.snapshot(waits))
    }

    /// Plans parts of the statement.
    pub(crate) fn planner(&self) -> Planner<'_> {
        self.planner_on(self.snapshot())
    }

    /// Plans what names are looked up for in another way.
    pub(crate) fn planner_on<'s>(&'s self, snapshot: &'s Snapshot) -> Planner<'s> {
        let planner = Planner::new(self, snapshot, Arc::clone(self.progress));
        let kept = self.parts.borrow();
        let kept = kept.iter().flatten();
        kept.fold(planner, |planner, (name, rows)| {
            planner.with_rows(name.clone(), Arc::clone(rows))
        })
    }

    /// Begins to change a database in the state that the statement sees.
    ///
    /// # Errors
    /// `InvalidInput` when it is attached READ_ONLY, `Transaction` when the open transaction may not write to it.
    pub(crate) fn write(&self, database: &str) -> Result<Write<'a>> {
        let is_own = self.snapshot().database(database)?.is_temporary;
        if !is_own && self.session.instance.database(database)?.read_only {
            return Err(Error::invalid(format!(
                "Cannot write: database \"{database}\" is attached in read-only mode"
            )));
        }
        let waits = self.waits.as_deref();
        let write = Write::begin(&self.session.transaction, self.snapshot(), database, waits)?;
        Ok(write.looks_up_keys(!self.is_part()))
    }

    /// The table of that name, and the hold on its database.
    ///
    /// # Errors
    /// `Catalog` when there is no such database or schema, and as `write`.
    pub(crate) fn resolve_for_write(&self, name: &ObjectName) -> Result<(TableName, Write<'a>)> {
        self.resolve_parts_for_write(&name_parts(name)?)
    }

    /// The same for a name that was taken apart.
    ///
    /// # Errors
    /// As `resolve_for_write`.
    pub(crate) fn resolve_parts_for_write(
        &self,
        parts: &[String],
    ) -> Result<(TableName, Write<'a>)> {
        let name = self.snapshot().resolve(parts)?;
        let write = self.write(&name.database)?;
        Ok((name, write))
    }

    /// The place of a table or view that is to be made, and the hold on its database; of the connection's own if it is `temporary`.
    ///
    /// # Errors
    /// `Catalog` when there is no such database or schema, `Parser` when the name's database is another one, and as `write`.
    pub(crate) fn resolve_new(
        &self,
        name: &ObjectName,
        temporary: bool,
    ) -> Result<(TableName, Write<'a>)> {
        let name = self.snapshot().resolve_new(&name_parts(name)?, temporary)?;
        let write = self.write(&name.database)?;
        Ok((name, write))
    }

    /// The statement as it makes something of the connection's own, which has a place from now on; `None` if it is not `temporary`.
    ///
    /// # Errors
    /// As [`Session::make_temporary`].
    pub(crate) fn for_new(&self, temporary: bool) -> Result<Option<Self>> {
        if !temporary {
            return Ok(None);
        }
        self.session.make_temporary()?;
        Ok(Some(self.anew()))
    }

    /// Runs a future of the statement to its end, or until someone cancels it.
    ///
    /// # Errors
    /// `Interrupted`, and those of the future.
    pub(crate) fn block_on<T>(&self, future: impl Future<Output = Result<T>>) -> Result<T> {
        self.session.engine().runtime.block_on(async {
            tokio::select! {
                biased;
                () = self.progress.interrupted() => Err(Error::interrupted()),
                result = future => result,
            }
        })
    }
}
