//! What the statuses of Vault's answers say about the server, before anybody looks at the key.

use hushdb_crypto::SecretBytes;
use hushdb_keys::KeyError;

use super::Vault;
use crate::http::Reply;
use crate::patience::Trouble;

/// The namespace as a header's value.
pub(super) fn namespace(vault: &Vault) -> Option<SecretBytes> {
    vault.namespace.as_deref().map(SecretBytes::from)
}

/// Something answered that is not Vault, or not whole.
pub(super) fn unlike(vault: &Vault) -> KeyError {
    vault
        .name
        .is_unavailable("its answer is not one of Vault's: check the address")
}

/// Passes on what says something of the key or of who asks.
pub(super) fn available(vault: &Vault, reply: Reply) -> Result<Reply, Trouble> {
    let (why, again) = match reply.status {
        200 | 204 => return Ok(reply),
        300..=399 => (
            "is a redirect, which is not followed: name the active server in VAULT_ADDR",
            false,
        ),
        429 => (
            "says that there are too many requests: try again later",
            true,
        ),
        503 => ("says that it is sealed or in maintenance", true),
        // Standbys that are not yet up to date, or do not answer themselves.
        412 | 472 | 473 | 500..=599 => ("says that it cannot answer now", true),
        400..=499 => return Ok(reply),
        _ => ("is not one of Vault's: check the address", false),
    };
    let why = format!("status {} {why}", reply.status);
    Err(Trouble {
        error: vault.name.is_unavailable(why),
        again,
    })
}
