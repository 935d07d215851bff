//! `Registry`: the sessions that there are, for whoever cancels, counts or ends them.
//!
//! What must hold: a cancel needs the session's secret, compared in constant time; nothing here waits for a session.

use super::stream::Socket;
use crate::clock;
use hushdb::crypto::CryptoProvider;
use hushdb::keys::SecretBytes;
use hushdb::{HostSession, InterruptHandle};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// What others see of a session.
pub(crate) struct Seen {
    secret: u32,
    interrupt: InterruptHandle,
    socket: Socket,
    user: String,
    database: String,
    /// Whether a statement runs.
    busy: AtomicBool,
    /// When the statement that runs has taken too long.
    deadline: Mutex<Option<Instant>>,
    /// Whether it was ended for that.
    late: AtomicBool,
}

impl Seen {
    /// A statement begins, and may take this long.
    pub(crate) fn begin(&self, timeout: Option<Duration>) {
        self.late.store(false, Ordering::Release);
        *self.deadline.lock() = timeout.and_then(|timeout| clock::now().checked_add(timeout));
        self.busy.store(true, Ordering::Release);
    }

    /// It has ended. Says whether it took too long.
    pub(crate) fn end(&self) -> bool {
        *self.deadline.lock() = None;
        self.busy.store(false, Ordering::Release);
        self.late.swap(false, Ordering::AcqRel)
    }
}

/// All sessions that have authenticated.
pub(crate) struct Registry {
    sessions: Mutex<HashMap<u32, Arc<Seen>>>,
    next: AtomicU32,
    crypto: CryptoProvider,
}

impl Registry {
    pub(crate) fn new(crypto: CryptoProvider) -> Self {
        Self {
            sessions: Mutex::default(),
            next: AtomicU32::new(1),
            crypto,
        }
    }

    /// Enters a session, unless there are too many. Gives its number and its secret.
    pub(crate) fn enter(
        &self,
        interrupt: InterruptHandle,
        socket: Socket,
        [user, database]: [&String; 2],
        most: usize,
        most_of_user: Option<usize>,
    ) -> Option<(u32, u32, Arc<Seen>)> {
        let mut secret = [0; 4];
        self.crypto.random(&mut secret).ok()?;
        let secret = u32::from_be_bytes(secret);
        let mut sessions = self.sessions.lock();
        let of_user = sessions.values().filter(|seen| seen.user == *user).count();
        if sessions.len() >= most || most_of_user.is_some_and(|most| of_user >= most) {
            return None;
        }
        let mut number = self.next.fetch_add(1, Ordering::Relaxed);
        while number == 0 || sessions.contains_key(&number) {
            number = self.next.fetch_add(1, Ordering::Relaxed);
        }
        let seen = Arc::new(Seen {
            secret,
            interrupt,
            socket,
            user: user.clone(),
            database: database.clone(),
            busy: AtomicBool::new(false),
            deadline: Mutex::default(),
            late: AtomicBool::new(false),
        });
        sessions.insert(number, Arc::clone(&seen));
        Some((number, secret, seen))
    }

    pub(crate) fn leave(&self, number: u32) {
        self.sessions.lock().remove(&number);
    }

    /// Cancels what a session runs, if the secret is its own.
    pub(crate) fn cancel(&self, number: u32, secret: u32) {
        let seen = self.sessions.lock().get(&number).cloned();
        let bytes = |n: u32| SecretBytes::new(n.to_be_bytes().to_vec());
        if let Some(seen) = seen.filter(|seen| bytes(seen.secret) == bytes(secret)) {
            seen.interrupt.interrupt();
        }
    }

    /// What there is to be said of sessions: of all, or of those of one role.
    pub(crate) fn shown(&self, of: Option<&str>) -> Vec<HostSession> {
        let sessions = self.sessions.lock();
        let shown = sessions
            .iter()
            .filter(|(_, seen)| of.is_none_or(|user| seen.user == user));
        let shown = shown.map(|(number, seen)| HostSession {
            number: *number,
            user: seen.user.clone(),
            database: seen.database.clone(),
            busy: seen.busy.load(Ordering::Acquire),
        });
        shown.collect()
    }

    /// How many run a statement, and how many wait for their client.
    pub(crate) fn counts(&self) -> (usize, usize) {
        let sessions = self.sessions.lock();
        let busy = sessions
            .values()
            .filter(|seen| seen.busy.load(Ordering::Acquire));
        let busy = busy.count();
        (busy, sessions.len() - busy)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.sessions.lock().is_empty()
    }

    /// Ends statements that have taken too long.
    pub(crate) fn end_late_statements(&self, now: Instant) {
        for seen in self.sessions.lock().values() {
            let is_late = seen
                .deadline
                .lock()
                .take_if(|deadline| *deadline <= now)
                .is_some();
            if is_late {
                seen.late.store(true, Ordering::Release);
                seen.interrupt.interrupt();
            }
        }
    }

    /// Sessions that wait for their client wait no longer.
    pub(crate) fn hang_up_idle(&self) {
        for seen in self.sessions.lock().values() {
            if !seen.busy.load(Ordering::Acquire) {
                seen.socket.stop_reading();
            }
        }
    }

    pub(crate) fn interrupt_all(&self) {
        self.sessions
            .lock()
            .values()
            .for_each(|seen| seen.interrupt.interrupt());
    }
}
