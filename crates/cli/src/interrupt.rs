//! Signals. Ctrl-C cancels the running statement; with none running it ends the program. A write past a file-size limit is
//! an error of the statement, not the end of the program.
//!
//! At the shell's prompt the terminal is in raw mode and Ctrl-C is a key press of the line editor, so no signal comes
//! from there.

use std::process;
use std::sync::{Arc, Mutex, PoisonError};

use hushdb::InterruptHandle;
use signal_hook::consts::SIGXFSZ;

use crate::failure::{Failure, say};

/// What the next Ctrl-C cancels. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct Interrupts {
    running: Arc<Mutex<Running>>,
}

#[derive(Default)]
struct Running {
    statement: Option<InterruptHandle>,
    cancelled: bool,
    shell: bool,
}

/// The exit code of a program that SIGINT ended.
const INTERRUPTED: i32 = 130;

impl Interrupts {
    /// Installs the handler. In a `shell`, Ctrl-C without a running statement does nothing.
    ///
    /// # Errors
    /// The system's.
    pub(crate) fn install(shell: bool) -> Result<Self, Failure> {
        let interrupts = Self::default();
        interrupts.lock().shell = shell;
        let shared = interrupts.clone();
        ctrlc::set_handler(move || shared.fire())
            .map_err(|error| Failure::Message(format!("cannot listen for Ctrl-C: {error}")))?;
        Ok(interrupts)
    }

    /// From now until the guard is dropped, Ctrl-C cancels `statement`.
    pub(crate) fn watch(&self, statement: InterruptHandle) -> Watch<'_> {
        let mut running = self.lock();
        running.statement = Some(statement);
        running.cancelled = false;
        Watch { interrupts: self }
    }

    fn fire(&self) {
        let mut running = self.lock();
        match &running.statement {
            Some(statement) if !running.cancelled || running.shell => {
                statement.interrupt();
                running.cancelled = true;
            }
            // The second Ctrl-C on a script does not wait for the statement to notice the first.
            Some(_) => process::exit(INTERRUPTED),
            None if !running.shell => process::exit(INTERRUPTED),
            None => say(""),
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Running> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Has writes past a file-size limit (`ulimit -f`) fail like others; the signal's default is to end the process.
pub(crate) fn outlive_file_size_limits() {
    // Without a handler the program ends at such a write, as others do: nothing committed is lost then either.
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::default());
}

/// Ends the watch when it goes.
pub(crate) struct Watch<'a> {
    interrupts: &'a Interrupts,
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        self.interrupts.lock().statement = None;
    }
}
