//! `Metrics`: counts of what the server does, in the text format of Prometheus (exposition format 0.0.4).
//!
//! What must hold: labels are SQLSTATEs and words of ours alone; never a name or a value of a client's, so that there are few, and they
//! tell tenants nothing of one another.

use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Counts since the start.
#[derive(Default)]
pub(crate) struct Metrics {
    sessions: AtomicU64,
    wrong_passwords: AtomicU64,
    hung_up: AtomicU64,
    cancels: AtomicU64,
    statements: AtomicU64,
    statement_micros: AtomicU64,
    /// Statements that took no longer than each of `BOUNDS`.
    within: [AtomicU64; BOUNDS.len()],
    /// Errors of statements and refusals of clients, by SQLSTATE.
    errors: Mutex<BTreeMap<[u8; 5], u64>>,
}

/// Bounds of the histogram of statements, in microseconds, and as they are written.
const BOUNDS: [(u64, &str); 7] = [
    (100, "0.0001"),
    (1_000, "0.001"),
    (10_000, "0.01"),
    (100_000, "0.1"),
    (1_000_000, "1"),
    (10_000_000, "10"),
    (100_000_000, "100"),
];

/// What is counted when it is asked for.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Now {
    pub(crate) active: usize,
    pub(crate) idle: usize,
    pub(crate) most_sessions: usize,
    pub(crate) databases: usize,
    pub(crate) seconds_up: u64,
}

fn add(count: &AtomicU64, more: u64) {
    count.fetch_add(more, Ordering::Relaxed);
}

impl Metrics {
    pub(crate) fn session(&self) {
        add(&self.sessions, 1);
    }

    pub(crate) fn wrong_password(&self) {
        add(&self.wrong_passwords, 1);
    }

    pub(crate) fn hung_up(&self) {
        add(&self.hung_up, 1);
    }

    pub(crate) fn cancel(&self) {
        add(&self.cancels, 1);
    }

    pub(crate) fn statement(&self, took: Duration) {
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        add(&self.statements, 1);
        add(&self.statement_micros, micros);
        if let Some(at) = BOUNDS.iter().position(|(bound, _)| micros <= *bound)
            && let Some(count) = self.within.get(at)
        {
            add(count, 1);
        }
    }

    pub(crate) fn error(&self, sqlstate: &str) {
        let is_one = |bytes: &[u8; 5]| bytes.iter().all(u8::is_ascii_alphanumeric);
        if let Some(sqlstate) = sqlstate.as_bytes().try_into().ok().filter(is_one) {
            *self.errors.lock().entry(sqlstate).or_default() += 1;
        }
    }

    /// All of it.
    pub(crate) fn text(&self, now: Now) -> String {
        let mut text = String::new();
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let mut one = |name: &str, kind: &str, help: &str, value: u64| {
            let _ = write!(
                text,
                "# HELP hush_{name} {help}\n# TYPE hush_{name} {kind}\nhush_{name} {value}\n"
            );
        };
        let sessions = of(&self.sessions);
        one(
            "sessions_total",
            "counter",
            "Sessions that have begun.",
            sessions,
        );
        let wrong = of(&self.wrong_passwords);
        one(
            "wrong_passwords_total",
            "counter",
            "Passwords that were wrong.",
            wrong,
        );
        let help = "Clients hung up before they had authenticated, to make room for others.";
        one("hung_up_total", "counter", help, of(&self.hung_up));
        let help = "Requests to cancel a statement, right ones and wrong ones.";
        one("cancel_requests_total", "counter", help, of(&self.cancels));
        let help = "Sessions that there may be at a time, beside three of superusers.";
        one("sessions_limit", "gauge", help, now.most_sessions as u64);
        one(
            "databases",
            "gauge",
            "Databases of the instance.",
            now.databases as u64,
        );
        one(
            "uptime_seconds",
            "gauge",
            "Seconds since the start.",
            now.seconds_up,
        );
        let _ = write!(
            text,
            "# HELP hush_sessions Sessions by what they do.\n# TYPE hush_sessions gauge\n\
             hush_sessions{{state=\"active\"}} {}\nhush_sessions{{state=\"idle\"}} {}\n",
            now.active, now.idle
        );
        self.statements_text(&mut text);
        text.push_str("# HELP hush_errors_total Errors of statements and refusals of clients.\n# TYPE hush_errors_total counter\n");
        for (sqlstate, count) in self.errors.lock().iter() {
            let sqlstate = String::from_utf8_lossy(sqlstate);
            let _ = writeln!(text, "hush_errors_total{{sqlstate=\"{sqlstate}\"}} {count}");
        }
        text
    }

    fn statements_text(&self, text: &mut String) {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let name = "hush_statement_seconds";
        let _ = write!(
            text,
            "# HELP {name} Time that statements took.\n# TYPE {name} histogram\n"
        );
        let mut within = 0;
        for ((_, bound), count) in BOUNDS.iter().zip(&self.within) {
            within += of(count);
            let _ = writeln!(text, "{name}_bucket{{le=\"{bound}\"}} {within}");
        }
        let count = of(&self.statements).max(within);
        let sum = of(&self.statement_micros) as f64 / 1e6;
        let _ = write!(
            text,
            "{name}_bucket{{le=\"+Inf\"}} {count}\n{name}_sum {sum}\n{name}_count {count}\n"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_written_as_prometheus_reads_them() {
        let metrics = Metrics::default();
        metrics.session();
        metrics.statement(Duration::from_micros(50));
        metrics.statement(Duration::from_millis(5));
        metrics.statement(Duration::from_secs(1000));
        metrics.error("23505");
        metrics.error("23505");
        // Not a SQLSTATE: nothing that somebody chose becomes a label.
        metrics.error("\"} x");
        let text = metrics.text(Now {
            active: 1,
            ..Now::default()
        });
        for line in [
            "hush_sessions_total 1",
            "hush_sessions{state=\"active\"} 1",
            "hush_statement_seconds_bucket{le=\"0.0001\"} 1",
            "hush_statement_seconds_bucket{le=\"0.01\"} 2",
            "hush_statement_seconds_bucket{le=\"100\"} 2",
            "hush_statement_seconds_bucket{le=\"+Inf\"} 3",
            "hush_statement_seconds_count 3",
            "hush_errors_total{sqlstate=\"23505\"} 2",
        ] {
            assert!(text.lines().any(|is| is == line), "{line} in {text}");
        }
        assert_eq!(text.matches("hush_errors_total{").count(), 1);
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let (name, value) = line.rsplit_once(' ').unwrap();
            assert!(
                name.starts_with("hush_") && value.parse::<f64>().is_ok(),
                "{line}"
            );
        }
    }
}
