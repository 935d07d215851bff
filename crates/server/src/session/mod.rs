//! A session: one client, one thread, one connection to one database.
//!
//! What must hold: an error within a transaction block fails the block; what comes after an error in a pipeline is skipped up to its
//! Sync; the client is told of a commit only when it is one. A session whose client is quiet keeps no stack that its statements have
//! used: it goes on in a new thread.

mod alter;
pub(crate) mod command;
mod copy;
mod cursor;
mod execute;
mod extended;
mod host;
mod login;
mod rights;
mod roles;
mod set;
pub(crate) mod settings;
mod simple;
mod transaction;

use crate::clock;
use crate::monitor::log::Event;
use crate::places::Place;
use crate::registry::Seen;
use crate::shared::Server;
use crate::sql_error::SqlError;
use crate::stream::{Socket, Stream};
use crate::violation::Violation;
use crate::wire::back::{Out, Report};
use crate::wire::frame::{Expected, FrameError, Frames};
use crate::wire::front::{self, Front};
use crate::wire::startup::Startup;
use cursor::Cursor;
use extended::{Portal, Prepared};
use hushdb::Connection;
use parking_lot::Mutex;
use rights::Rights;
use settings::Settings;
use std::collections::HashMap;
use std::io::{ErrorKind, Write};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};
use transaction::Block;

/// The most of a stack that a session may take; pages that it never touches take no memory. It is what statements ask for and more:
/// a session with less has a stack made and thrown away for each of them, for which all other sessions wait.
const STACK: usize = 16 << 20;
/// A client that does not take what it is sent is given up after this.
const WRITE_TIMEOUT: Duration = Duration::from_secs(300);
/// A client that says nothing for so long is quiet.
const QUIET: Duration = Duration::from_secs(1);

/// Why a session ends.
#[derive(Debug)]
pub(crate) enum End {
    /// The client has gone, or said so.
    Closed,
    /// The client broke the protocol.
    Violation(Violation),
    /// The client is told why: a SQLSTATE and a sentence.
    Fatal(&'static str, String),
}

impl End {
    /// What the client is told, if anything.
    fn sqlstate(&self) -> Option<&'static str> {
        match self {
            Self::Closed => None,
            Self::Violation(violation) => Some(violation.sqlstate),
            Self::Fatal(sqlstate, _) => Some(sqlstate),
        }
    }
}

impl From<FrameError> for End {
    fn from(error: FrameError) -> Self {
        match error {
            FrameError::Violation(violation) => Self::Violation(violation),
            FrameError::Io(error)
                if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) =>
            {
                Self::Fatal("57P05", "terminating connection due to timeout".into())
            }
            FrameError::Closed | FrameError::Io(_) => Self::Closed,
        }
    }
}

/// Why a statement ends.
pub(crate) enum Fail {
    Sql(SqlError),
    End(End),
}

impl<E: Into<SqlError>> From<E> for Fail {
    fn from(error: E) -> Self {
        Self::Sql(error.into())
    }
}

/// A client's bytes, both ways.
pub(crate) struct Talk {
    pub(crate) stream: Stream,
    pub(crate) frames: Frames,
    pub(crate) out: Out,
    /// How long the next message is waited for.
    patience: Option<Duration>,
}

impl Talk {
    /// Has the next message waited for so long; without an end, where nothing is said.
    pub(crate) fn wait_at_most(&mut self, patience: Option<Duration>) {
        if self.patience != patience {
            let socket = self.stream.socket();
            let _ = socket.set_timeouts(patience, Some(WRITE_TIMEOUT));
            self.patience = patience;
        }
    }

    /// Sends what was written.
    ///
    /// # Errors
    /// When the client has gone.
    pub(crate) fn flush(&mut self) -> Result<(), End> {
        if self.out.is_empty() {
            return Ok(());
        }
        let sent = self.stream.write_all(self.out.bytes());
        let sent = sent.and_then(|()| self.stream.flush());
        self.out.clear();
        sent.map_err(|_| End::Closed)
    }

    /// Sends what was written if it is much.
    ///
    /// # Errors
    /// As `flush`.
    pub(crate) fn flush_full(&mut self) -> Result<(), End> {
        match self.out.is_full() {
            true => self.flush(),
            false => Ok(()),
        }
    }

    /// The next message; waits for it when everything was sent.
    ///
    /// # Errors
    /// When the client has gone or broken the protocol.
    pub(crate) fn next(&mut self) -> Result<Front, End> {
        loop {
            if let Some(frame) = self
                .frames
                .take(Expected::Command)
                .map_err(End::Violation)?
            {
                return front::read(frame).map_err(End::Violation);
            }
            self.flush()?;
            self.frames.fill(&mut self.stream)?;
        }
    }

    /// Tells of an error or a notice.
    pub(crate) fn report(&mut self, severity: &'static str, error: &SqlError) {
        self.out.report(&Report {
            severity,
            sqlstate: &error.sqlstate,
            message: &error.message,
            hint: error.hint.as_deref(),
            context: error.context.as_deref(),
            subject: error.subject.as_deref(),
            position: error.position,
        });
    }
}

/// One client's session.
pub(crate) struct Session {
    server: Arc<Server>,
    talk: Talk,
    connection: Connection,
    seen: Arc<Seen>,
    number: u32,
    user: String,
    rights: Rights,
    database: String,
    block: Block,
    /// The open block has run nothing yet.
    is_fresh: bool,
    /// After an error, up to the next Sync.
    skipping: bool,
    /// Its client has said nothing for a while, and its thread has run no statement.
    is_quiet: bool,
    /// What the client said first, until it is answered.
    startup: Startup,
    secret: u32,
    settings: Arc<Mutex<Settings>>,
    statements: HashMap<String, Arc<Prepared>>,
    portals: HashMap<String, Portal>,
    cursors: HashMap<String, Cursor>,
    /// Texts that were prepared of late, with what is known of them.
    recent: HashMap<(String, Vec<u32>), Arc<Prepared>>,
    /// The state of definitions that these were described in.
    recent_definitions: u64,
    /// Bytes of texts that named statements keep.
    kept_bytes: usize,
    _leaving: Leaving,
}

/// A thread for a session.
pub(crate) fn thread() -> thread::Builder {
    let named = thread::Builder::new().name("session".into());
    named.stack_size(STACK)
}

/// A session from its first byte to its last. Its place at the door is given back when it has said a right password.
pub(crate) fn run(server: &Arc<Server>, socket: Socket, address: Option<IpAddr>, place: Place) {
    let mut talk = Talk {
        stream: Stream::Plain(socket),
        frames: Frames::default(),
        out: Out::default(),
        patience: None,
    };
    match login::login(server, &mut talk, address, &place) {
        Ok(Some(admitted)) => {
            drop(place);
            let (began, session) = (clock::now(), admitted.number);
            let tls = talk.stream.is_tls();
            server.metrics.session();
            server.log.event(Event::SessionBegan {
                session,
                address,
                tls,
            });
            let ended = Ended {
                server: Arc::clone(server),
                session,
                began,
            };
            let mut session = Session::new(server, talk, admitted);
            match session.begin() {
                Ok(()) => go_on(session, ended),
                Err(end) => say_goodbye(server, &mut session.talk, end),
            }
        }
        Ok(None) => {}
        Err(end) => {
            if let Some(sqlstate) = end.sqlstate() {
                server.metrics.error(sqlstate);
                server.log.event(Event::Refused { address, sqlstate });
            }
            say_goodbye(server, &mut talk, end);
        }
    }
}

/// Answers messages until the session ends; where its client is quiet, in a new thread.
fn go_on(mut session: Session, mut ended: Ended) {
    loop {
        if let Some(end) = session.serve() {
            let server = Arc::clone(&session.server);
            return say_goodbye(&server, &mut session.talk, end);
        }
        let resting = Arc::new(Mutex::new(Some((session, ended))));
        let awoken = Arc::clone(&resting);
        let other = thread().spawn(move || {
            let taken = awoken.lock().take();
            if let Some((session, ended)) = taken {
                go_on(session, ended);
            }
        });
        if other.is_ok() {
            return;
        }
        // Without another thread it stays in this one.
        let Some(back) = resting.lock().take() else {
            return;
        };
        (session, ended) = back;
    }
}

/// Tells the log of a session's end, also of one that a panic ends.
struct Ended {
    server: Arc<Server>,
    session: u32,
    began: Instant,
}

impl Drop for Ended {
    fn drop(&mut self) {
        self.server.log.event(Event::SessionEnded {
            session: self.session,
            lasted: self.began.elapsed(),
        });
    }
}

/// Tells the client why its session ends, if it is still there.
fn say_goodbye(server: &Server, talk: &mut Talk, end: End) {
    let fatal = match end {
        End::Closed if server.stopping.load(Ordering::Acquire) => SqlError::new(
            "57P01",
            "terminating connection due to administrator command",
        ),
        End::Closed => return,
        End::Violation(violation) => SqlError::new(violation.sqlstate, violation.message),
        End::Fatal(sqlstate, message) => SqlError::new(sqlstate, message),
    };
    talk.report("FATAL", &fatal);
    let _ = talk.flush();
}

impl Session {
    /// Answers messages until the session ends; `None`: its client is quiet.
    fn serve(&mut self) -> Option<End> {
        loop {
            let front = match self.next() {
                Ok(Some(front)) => front,
                Ok(None) => return None,
                Err(end) => return Some(end),
            };
            let done = match front {
                Front::Sync => {
                    self.skipping = false;
                    self.sync()
                }
                Front::Terminate => Err(End::Closed),
                _ if self.skipping => Ok(()),
                Front::Query(sql) => self.query(&sql),
                // What is left of a COPY that failed.
                Front::CopyData(_) | Front::CopyDone | Front::CopyFail => Ok(()),
                Front::Flush => self.talk.flush(),
                other => match self.extended(other) {
                    Ok(()) => Ok(()),
                    Err(Fail::End(end)) => Err(end),
                    Err(Fail::Sql(error)) => {
                        self.skipping = true;
                        self.failed(&error);
                        Ok(())
                    }
                },
            };
            if let Err(end) = done {
                return Some(end);
            }
        }
    }

    /// The next message; `None` once the client has become quiet. A session that idles in a transaction waits no longer than it may.
    fn next(&mut self) -> Result<Option<Front>, End> {
        let in_block = self.block.is_open().then(|| {
            let settings = self.settings.lock();
            settings.milliseconds("idle_in_transaction_session_timeout")
        });
        let in_block = in_block.filter(|most| *most > 0).map(Duration::from_millis);
        let may_end = in_block.is_some();
        self.talk
            .wait_at_most(in_block.or_else(|| (!self.is_quiet).then_some(QUIET)));
        let next = self.talk.next();
        self.is_quiet = false;
        match next {
            Ok(front) => Ok(Some(front)),
            Err(End::Fatal("57P05", _)) if may_end => Err(End::Fatal(
                "25P03",
                "terminating connection due to idle-in-transaction timeout".into(),
            )),
            Err(End::Fatal("57P05", _)) => {
                self.is_quiet = true;
                Ok(None)
            }
            Err(end) => Err(end),
        }
    }

    /// Tells of an error, which fails the transaction.
    fn failed(&mut self, error: &SqlError) {
        // Also for what the engine never ran, a name that is not there: others need not wait for the client to roll back.
        let aborted = self.connection.abort().map_err(SqlError::from);
        let error = aborted.as_ref().err().unwrap_or(error);
        self.server.metrics.error(&error.sqlstate);
        self.server.log.event(Event::Failed {
            session: self.number,
            sqlstate: &error.sqlstate,
        });
        self.talk.report("ERROR", error);
        self.fail_block();
    }

    /// Tells what statements had to say beside their results.
    fn notices(&mut self) {
        for notice in self.connection.take_notices() {
            self.talk.report("NOTICE", &SqlError::new("00000", notice));
        }
    }

    /// Tells clients of settings that have changed.
    fn tell(&mut self, changed: impl IntoIterator<Item = (&'static str, String)>) {
        for (name, value) in changed {
            self.talk.out.parameter_status(name, &value);
        }
    }
}

/// Says that a session is over. The last of its fields: what it had of its database was let go before.
struct Leaving {
    server: Arc<Server>,
    number: u32,
    database: String,
}

impl Drop for Leaving {
    fn drop(&mut self) {
        self.server.registry.leave(self.number);
        self.server.instance.disconnected(&self.database);
    }
}
