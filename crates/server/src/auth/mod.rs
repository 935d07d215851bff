//! Who may come in: passwords by SCRAM-SHA-256, TLS, and patience with wrong passwords.

pub(crate) mod scram;
pub(crate) mod throttle;
pub(crate) mod tls;
pub(crate) mod verifier;
