//! Ciphers, key derivation, key wrapping, hashing and randomness for HushDB.
//!
//! Nothing here is a cipher of our own: a [`CryptoProvider`] is a plain struct of parts taken from well-kept
//! libraries, passed explicitly and never a global. Two exist, `aws-lc-rs` (the default: hardware AES) and `rustcrypto`
//! (pure Rust, portable). They give the same bytes, so either opens what the other sealed.
//!
//! What must hold:
//! - A GCM nonce is made here for every seal; no caller can choose one.
//! - Key bytes live in [`SecretKey`] or [`SecretBytes`], in pages of their own ([`key_memory`]), are wiped on drop and never
//!   printed. Only expanded AES keys lie where their library puts them.
//! - Tags, MACs and commitments are compared in constant time.
//! - No input or output: no file, no socket, no environment variable, no clock.
//!
//! Begin with [`CryptoProvider`] in `provider.rs`; `parts.rs` says what a library gives it, `aws_lc.rs` and `portable.rs` are the two.
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod arena;
mod argon2id;
mod aws_lc;
mod constant_time;
mod ctr_key;
mod dead_stack;
mod error;
mod expanded_keys;
mod gcm_key;
mod kdf_label;
mod parts;
mod portable;
mod provider;
mod secret;
mod self_test;

#[cfg(test)]
mod known_answers;

pub use arena::{KeyMemory, key_memory};
pub use argon2id::Argon2Params;
pub use constant_time::constant_time_eq;
pub use ctr_key::CtrKey;
pub use error::{OpenError, RandomError, SealError, SelfTestError, StretchError, UnwrapError};
pub use gcm_key::GcmKey;
pub use hushdb_pages::set_core_dumps;
pub use kdf_label::KdfLabel;
pub use provider::CryptoProvider;
pub use secret::{SecretBytes, SecretKey};
