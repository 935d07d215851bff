//! Who asks Vault: a token of a variable or file, or of an AppRole, which logs in for it.
//!
//! What must hold: files are read anew each time, since agents renew them; no error repeats what was in one.
#![expect(clippy::disallowed_methods, reason = "it reads the file of a token")]

use hushdb_crypto::SecretBytes;
use hushdb_keys::KeyError;
use zeroize::Zeroizing;

use super::{Vault, statuses};
use crate::http::Http;
use crate::patience::Waiting;
use crate::secret_json;

/// Most bytes of a token's file.
const MAX_TOKEN_LEN: u64 = 16 << 10;

/// The token to ask with.
pub(super) fn token(
    vault: &Vault,
    http: &Http,
    waiting: &Waiting,
) -> Result<SecretBytes, KeyError> {
    let environment = &vault.environment;
    if let Some(token) = environment.secret("VAULT_TOKEN") {
        return Ok(token);
    }
    if let Some(path) = environment.text("VAULT_TOKEN_FILE") {
        return file(vault, &path);
    }
    let role = environment.secret("VAULT_ROLE_ID");
    let secret = environment.text("VAULT_SECRET_ID_FILE");
    match (role, secret) {
        (Some(role), Some(path)) => {
            let secret = file(vault, &path)?;
            app_role(vault, http, waiting, &role, &secret)
        }
        _ => Err(vault.name.does_not_accept(
            "there is no token: set VAULT_TOKEN or VAULT_TOKEN_FILE, or VAULT_ROLE_ID and VAULT_SECRET_ID_FILE",
        )),
    }
}

fn file(vault: &Vault, path: &str) -> Result<SecretBytes, KeyError> {
    use std::io::Read;
    let unreadable = |why: String| vault.name.does_not_accept(why);
    // It never grows, which would leave a part of it behind.
    let mut text = Zeroizing::new(Vec::with_capacity(MAX_TOKEN_LEN as usize + 1));
    let read = std::fs::File::open(path)
        .and_then(|file| file.take(MAX_TOKEN_LEN + 1).read_to_end(&mut text));
    let len = read.map_err(|error| {
        unreadable(format!(
            "{path} cannot be read ({}): check it",
            error.kind()
        ))
    })?;
    let token = text.trim_ascii();
    if token.is_empty() || len as u64 > MAX_TOKEN_LEN {
        return Err(unreadable(format!("{path} has no token: check it")));
    }
    Ok(std::str::from_utf8(token)
        .map_err(|_| unreadable(format!("{path} has no token: check it")))?
        .into())
}

fn app_role(
    vault: &Vault,
    http: &Http,
    waiting: &Waiting,
    role: &SecretBytes,
    secret: &SecretBytes,
) -> Result<SecretBytes, KeyError> {
    let text = |bytes: &'_ SecretBytes| {
        std::str::from_utf8(bytes.expose())
            .map(|text| Zeroizing::new(text.to_owned()))
            .map_err(|_| {
                vault
                    .name
                    .does_not_accept("its AppRole is not text: check it")
            })
    };
    let (role, secret) = (text(role)?, text(secret)?);
    let body = secret_json::object(&[("role_id", &role), ("secret_id", &secret)]);
    let namespace = statuses::namespace(vault);
    let headers: Vec<_> = namespace
        .iter()
        .map(|it| ("x-vault-namespace", it))
        .collect();
    let reply = waiting.call(|| {
        let reply = http.call(waiting, "/v1/auth/approle/login", &headers, Some(&body))?;
        statuses::available(vault, reply)
    })?;
    if reply.status != 200 {
        return Err(vault.name.does_not_accept(format!(
            "its AppRole does not log in (status {}): check VAULT_ROLE_ID and the secret id, which may have ended",
            reply.status
        )));
    }
    let answer = secret_json::Answer::parse(&reply.body);
    let token = answer.and_then(|mut answer| answer.text("/auth/client_token"));
    let token = token.ok_or_else(|| statuses::unlike(vault))?;
    Ok(SecretBytes::from(token.as_str()))
}
