//! `hush serve`: a server that PostgreSQL's clients speak to, every database a file of its own under a key of its own.
//!
//! What must hold:
//! - No file, command or place of keys that a client names is touched, not for a superuser either.
//! - No database is made without a key, and no statement can ask for one.
//! - A session sees its database and no other.
//! - No byte of a client panics; what it may make the server keep is bounded.
//! - No password, key, value or text of a statement stands in an error of the server's or in its log.
//!
//! Begin with `server.rs`, which starts it, then `session/`, what becomes of a client's messages, and `instance/`, what lies in
//! the directory.
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod adopt;
mod auth;
mod clock;
mod control;
#[doc(hidden)]
pub mod decoders;
mod door;
mod failure;
mod http;
mod instance;
mod monitor;
mod places;
mod registry;
mod server;
mod session;
mod shared;
mod sql_error;
mod stream;
mod violation;
mod wire;
mod words;

pub use adopt::{AdoptOptions, Adopted, adopt, is_dump};
pub use control::backup_by_server;
pub use failure::{FailureKind, ServeError};
pub use instance::backup::{BackedUp, Backup, backup};
pub use instance::init::{InitOptions, init};
pub use instance::rotate::rotate;
pub use server::{ServeOptions, serve};
