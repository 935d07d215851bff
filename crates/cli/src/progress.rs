//! The progress bar of a long statement, on standard error.
//!
//! It appears after two seconds and only on a terminal, and it is gone from the screen before the first row is printed.

use std::io::{self, IsTerminal};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::cpu_time;
use hushdb::ProgressHandle;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// How long a statement runs before its bar appears.
const PATIENCE: Duration = Duration::from_secs(2);
const REDRAW: Duration = Duration::from_millis(100);
const STEPS: u64 = 1000;

/// A bar that follows one statement until it is stopped or dropped.
pub(crate) struct StatementProgress {
    stop: Option<(Sender<()>, JoinHandle<()>)>,
}

impl StatementProgress {
    /// Follows `progress` from now on; does nothing without, and when standard error is no terminal.
    pub(crate) fn follow(progress: Option<ProgressHandle>) -> Self {
        let Some(progress) = progress.filter(|_| io::stderr().is_terminal()) else {
            return Self { stop: None };
        };
        let (stop, stopped) = mpsc::channel();
        let thread = thread::spawn(move || {
            let started = cpu_time::now();
            if stopped.recv_timeout(PATIENCE) != Err(RecvTimeoutError::Timeout) {
                return;
            }
            let bar = bar("{bar:40} {percent:>3} % {msg}");
            while stopped.recv_timeout(REDRAW) == Err(RecvTimeoutError::Timeout) {
                let share = progress.progress().unwrap_or(0.0).clamp(0.0, 1.0);
                bar.set_position(position(share));
                bar.set_message(format!("{:.0} s", started.elapsed().as_secs_f64()));
            }
            bar.finish_and_clear();
        });
        Self {
            stop: Some((stop, thread)),
        }
    }

    /// Takes the bar off the screen.
    pub(crate) fn stop(&mut self) {
        if let Some((stop, thread)) = self.stop.take() {
            drop(stop);
            let _ = thread.join();
        }
    }
}

impl Drop for StatementProgress {
    fn drop(&mut self) {
        self.stop();
    }
}

/// A bar of [`STEPS`] steps, hidden when standard error is no terminal.
pub(crate) fn bar(template: &str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(STEPS), ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style.progress_chars("██░"));
    }
    bar
}

/// The step of a share from 0 to 1.
pub(crate) fn position(share: f64) -> u64 {
    // The share is clamped, so the product is between 0 and STEPS.
    (share.clamp(0.0, 1.0) * STEPS as f64) as u64
}
