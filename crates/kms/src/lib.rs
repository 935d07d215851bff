//! Places for keys: services, devices and programs that open key slots. `docs/KEYS.md` is their page for an administrator.
//!
//! Each is a [`KeyProvider`](hushdb_keys::KeyProvider): it wraps 32 random bytes, the root of a slot, and what it gives for them is the
//! slot's blob. It is asked when a file is opened and when a slot changes, never by a query or a commit.
//!
//! What must hold:
//! - The caller names the place by a URL; a file's blob chooses a version or a nonce there, never a host, path, key or program.
//! - No secret stands in a URL, an error, Debug or a log; an error says the place, its status and what to do, never a body.
//! - *Refused*, *credentials refused* and *unavailable* are told apart, since only the last is worth another try.
//! - Every call ends: times, tries and sizes are bounded. No redirect is followed, and `http:` leads to this machine alone, and to the addresses of the link
//!   at which AWS tells containers and machines their credentials.
//! - All network code of HushDB is here.
//!
//! Begin with `places.rs`, which knows every place by its URL's scheme, then `vault/`, a place with all that the others have too.
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod aws;
mod base64_text;
mod blob;
pub mod decoders;
mod environment;
mod exec;
mod failures;
mod http;
mod key_url;
mod kmip;
mod patience;
mod pkcs11;
mod place_error;
mod places;
mod secret_json;
mod vault;
mod wiped_transport;

pub use environment::Environment;
pub use place_error::PlaceError;
pub use places::Places;
