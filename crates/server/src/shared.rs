//! `Server`: what all sessions share.

use crate::auth::throttle::Throttle;
use crate::instance::Instance;
use crate::monitor::log::Log;
use crate::monitor::metrics::Metrics;
use crate::registry::Registry;
use hushdb::crypto::CryptoProvider;
use hushdb::keys::SecretKey;
use parking_lot::Mutex;
use rustls::ServerConfig;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::Instant;

/// What all sessions share.
pub(crate) struct Server {
    pub(crate) instance: Instance,
    pub(crate) crypto: CryptoProvider,
    pub(crate) tls: Arc<ServerConfig>,
    /// SHA-256 of the certificate, which clients bind their password to.
    pub(crate) certificate: [u8; 32],
    pub(crate) mock: SecretKey,
    pub(crate) throttle: Throttle,
    pub(crate) registry: Registry,
    pub(crate) max_connections: usize,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) log: Log,
    pub(crate) began: Instant,
    /// Set once nobody is let in any more.
    pub(crate) stopping: AtomicBool,
    /// Held while a role is changed, so that changes do not undo one another.
    pub(crate) roles: Mutex<()>,
    /// Counts changes of roles: sessions look up what theirs may do when it has moved.
    pub(crate) roles_version: AtomicU64,
}
