//! `Checkpointer`: a thread that makes the checkpoints of one attached file, so that no commit does before it answers.
//!
//! What must hold: it is there from the first time that a log is long, and gone with the attachment: dropped, nothing of it holds the
//! file any more. What a checkpoint fails with is said; what was committed is in the log then.

use hushdb_sql::{Error, ErrorKind, caught};
use hushdb_storage::{Interrupt, Store};
use parking_lot::{Condvar, Mutex};
use std::sync::{Arc, Weak};
use std::thread::{Builder, JoinHandle};

/// Takes what a checkpoint failed with, for a person to read.
pub(crate) type Say = Arc<dyn Fn(&Error) + Send + Sync>;

/// What makes the checkpoints of a store, unless it is dropped.
pub(crate) struct Checkpointer {
    store: Weak<Store>,
    shared: Arc<Shared>,
}

struct Shared {
    store: Weak<Store>,
    say: Say,
    state: Mutex<State>,
    woken: Condvar,
    /// Ends the checkpoint that is being made.
    end: Arc<Interrupt>,
}

#[derive(Default)]
struct State {
    is_due: bool,
    is_over: bool,
    thread: Option<JoinHandle<()>>,
}

impl Checkpointer {
    /// Has the checkpoints of a store made on a thread; `say` hears what they fail with.
    pub(crate) fn of(store: &Arc<Store>, say: Say) -> Self {
        let shared = Arc::new(Shared {
            store: Arc::downgrade(store),
            say,
            state: Mutex::default(),
            woken: Condvar::new(),
            end: Arc::default(),
        });
        let woken = Arc::clone(&shared);
        store.wake_for_checkpoints(Some(Arc::new(move || woken.wake())));
        Self {
            store: Arc::downgrade(store),
            shared,
        }
    }
}

impl Drop for Checkpointer {
    fn drop(&mut self) {
        let store = self.store.upgrade();
        if let Some(store) = &store {
            store.wake_for_checkpoints(None);
        }
        let mut state = self.shared.state.lock();
        state.is_over = true;
        let thread = state.thread.take();
        self.shared.woken.notify_all();
        drop(state);
        // What closing stores anyway goes on; the rest stays in the log.
        if !store.is_some_and(|store| store.makes_checkpoint_on_close()) {
            self.shared.end.ask();
        }
        let _ = thread.map(JoinHandle::join);
    }
}

impl Shared {
    /// A checkpoint is due.
    fn wake(self: &Arc<Self>) {
        let mut state = self.state.lock();
        state.is_due = true;
        self.woken.notify_all();
        if state.thread.is_none() && !state.is_over {
            let shared = Arc::clone(self);
            let thread = Builder::new().name("checkpointer".into());
            match thread.spawn(move || shared.work()) {
                Ok(thread) => state.thread = Some(thread),
                Err(error) => {
                    drop(state);
                    // Without a thread commits make them, as they did.
                    if let Some(store) = self.store.upgrade() {
                        store.wake_for_checkpoints(None);
                    }
                    (self.say)(&Error::new(ErrorKind::Io, error.to_string()));
                }
            }
        }
    }

    fn work(&self) {
        loop {
            let mut state = self.state.lock();
            while !state.is_due && !state.is_over {
                self.woken.wait(&mut state);
            }
            if state.is_over {
                return;
            }
            state.is_due = false;
            drop(state);
            let Some(store) = self.store.upgrade() else {
                return;
            };
            let made = self
                .end
                .watch(|| caught(|| Ok::<_, Error>(store.checkpoint_if_long()?)));
            match made {
                // Commits went on: their log may be long by now.
                Ok(true) => self.state.lock().is_due = true,
                Ok(false) => (),
                Err(error) if error.kind() == ErrorKind::Interrupted => (),
                Err(error) => {
                    // After a panic, commits make them: whoever waits for this thread would wait for ever.
                    if error.kind() == ErrorKind::Internal {
                        store.wake_for_checkpoints(None);
                    }
                    (self.say)(&error);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{AttachOptions, Connection, Database, Isolation};
    use std::time::{Duration, Instant};

    fn file(directory: &tempfile::TempDir) -> (Database, Connection) {
        let database = Database::open_in_memory().unwrap();
        let path = directory.path().join("t.hushdb");
        database
            .attach(path, "t", &AttachOptions::default())
            .unwrap();
        let connection = database
            .connect_to("t", "main", Isolation::default())
            .unwrap();
        (database, connection)
    }

    fn run(connection: &Connection, sql: &str) {
        connection.execute(sql).unwrap().collect_batches().unwrap();
    }

    #[test]
    fn checkpoints_are_made_on_a_thread_that_ends_with_the_attachment() {
        let directory = tempfile::tempdir().unwrap();
        let (database, connection) = file(&directory);
        run(&connection, "SET wal_autocheckpoint = '4KB'");
        run(&connection, "CREATE TABLE t (a INTEGER PRIMARY KEY)");
        let store = || database.instance.database("t").unwrap().store.clone();
        let before = store().info().generation;
        for n in 0..300 {
            run(&connection, &format!("INSERT INTO t VALUES ({n})"));
        }
        let began = Instant::now();
        while store().log_bytes() >= 4000 || store().info().generation == before {
            assert!(began.elapsed() < Duration::from_secs(60), "no checkpoint");
            std::thread::sleep(Duration::from_millis(1));
        }
        for round in 0..20 {
            for n in 0..40 {
                let key = 1000 + round * 100 + n;
                run(&connection, &format!("INSERT INTO t VALUES ({key})"));
            }
            // Whatever the thread does now, nothing of it is left.
            database.detach("t").unwrap();
            let path = directory.path().join("t.hushdb");
            database
                .attach(path, "t", &AttachOptions::default())
                .unwrap();
        }
        let rows = connection.execute("SELECT a FROM t").unwrap();
        let rows = rows.collect_batches().unwrap();
        assert_eq!(rows.iter().map(|rows| rows.num_rows()).sum::<usize>(), 1100);
    }
}
