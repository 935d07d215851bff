//! What who runs a server looks at: events in its log, metrics, and what systemd is told.
//!
//! What must hold: nothing here has a text of a statement, a value, or a name of a database or role, so that who may read it learns
//! of no tenant more than how busy the whole is.

pub(crate) mod log;
pub(crate) mod metrics;
pub(crate) mod notify;
