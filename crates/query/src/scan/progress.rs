//! How far the scans of a running statement have come, and whether someone asked it to stop.

use hushdb_sql::Result;
use hushdb_storage::Interrupt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use tokio::sync::Notify;

/// One a statement; shared by its scans, its result and the handles that watch or cancel it.
#[derive(Debug, Default)]
pub struct ScanProgress {
    rows_planned: AtomicU64,
    /// Everything was announced: scans that begin add nothing.
    planned_all: AtomicBool,
    rows_done: AtomicU64,
    interrupt: Arc<Interrupt>,
    wake: Notify,
}

impl ScanProgress {
    /// Asks the statement to stop.
    pub fn interrupt(&self) {
        self.interrupt.ask();
        self.wake.notify_waiters();
    }

    /// # Errors
    /// `Interrupted` once someone asked the statement to stop.
    pub fn check(&self) -> Result<()> {
        Ok(self.interrupt.check()?)
    }

    /// What asks the statement to stop.
    pub fn heeds(&self) -> &Arc<Interrupt> {
        &self.interrupt
    }

    /// Returns when someone asks the statement to stop.
    pub async fn interrupted(&self) {
        loop {
            let woken = self.wake.notified();
            if self.interrupt.is_asked() {
                return;
            }
            woken.await;
        }
    }

    /// Announces work, in rows.
    pub fn plan(&self, rows: u64) {
        if !self.planned_all.load(Ordering::Relaxed) {
            self.rows_planned.fetch_add(rows, Ordering::Relaxed);
        }
    }

    /// Announces all work of a statement that scans one table after the other.
    pub fn plan_all(&self, rows: u64) {
        self.planned_all.store(true, Ordering::Relaxed);
        self.rows_planned.store(rows, Ordering::Relaxed);
    }

    /// Counts rows that were read.
    pub fn done(&self, rows: u64) {
        self.rows_done.fetch_add(rows, Ordering::Relaxed);
    }

    /// Share of the announced rows that were read, 0 to 1.
    pub fn fraction(&self) -> Option<f64> {
        let planned = self.rows_planned.load(Ordering::Relaxed);
        (planned > 0)
            .then(|| (self.rows_done.load(Ordering::Relaxed) as f64 / planned as f64).min(1.0))
    }
}
