//! One key's requests to Vault, and what their statuses say about the key.

use hushdb_crypto::SecretBytes;
use hushdb_keys::KeyError;

use super::statuses::{available, namespace, unlike};
use super::{Vault, login};
use crate::http::{Header, Http, Reply};
use crate::patience::Waiting;
use crate::secret_json::Answer;

/// A connection with a token, for one key.
pub(super) struct Service<'a> {
    vault: &'a Vault,
    http: Http,
    waiting: Waiting,
    token: SecretBytes,
    namespace: Option<SecretBytes>,
}

impl<'a> Service<'a> {
    /// Gets a token, which may take a request.
    pub(super) fn begin(vault: &'a Vault) -> Result<Self, KeyError> {
        let waiting = vault.patience.begin();
        let http = Http::new(&vault.origin, vault.authorities.as_deref(), &vault.name)?;
        Ok(Self {
            token: login::token(vault, &http, &waiting)?,
            namespace: namespace(vault),
            http,
            waiting,
            vault,
        })
    }

    /// Reads at a path below `v1`.
    pub(super) fn get(&self, path: &str) -> Result<Answer, KeyError> {
        self.answer(self.reply(path, None)?)
    }

    /// Posts to a path below `v1`.
    pub(super) fn post(&self, path: &str, body: &[u8]) -> Result<Answer, KeyError> {
        self.answer(self.reply(path, Some(body))?)
    }

    /// Something answered that is not Vault, or not whole.
    pub(super) fn unlike(&self) -> KeyError {
        unlike(self.vault)
    }

    fn reply(&self, path: &str, body: Option<&[u8]>) -> Result<Reply, KeyError> {
        let mut headers: Vec<Header<'_>> = vec![("x-vault-token", &self.token)];
        headers.extend(self.namespace.iter().map(|it| ("x-vault-namespace", it)));
        let path = format!("/v1/{path}");
        self.waiting.call(|| {
            let reply = self.http.call(&self.waiting, &path, &headers, body)?;
            available(self.vault, reply)
        })
    }

    fn answer(&self, reply: Reply) -> Result<Answer, KeyError> {
        let name = &self.vault.name;
        match reply.status {
            200 => Answer::parse(&reply.body).ok_or_else(|| self.unlike()),
            // Who stands before it may say anything: no database is ended for that.
            _ if !is_of_vault(&reply.body) => Err(self.unlike()),
            // It says this to a token that has ended, and to one that may not use the key.
            403 if self.is_known()? => Err(name.refuses(
                "status 403: its policies do not allow this token to use the key",
            )),
            403 => Err(name.does_not_accept(
                "status 403: the token is not known, or has ended: renew it",
            )),
            404 => Err(name.refuses(
                "status 404: there is no such key there, or its version was deleted: check the URL and the namespace",
            )),
            status => Err(name.refuses(format!(
                "status {status}: the key is gone or too old there, or the slot is another key's or database's"
            ))),
        }
    }

    /// Whether the token itself is good.
    fn is_known(&self) -> Result<bool, KeyError> {
        Ok(self.reply("auth/token/lookup-self", None)?.status == 200)
    }
}

/// Whether an answer that is none has the form of Vault's: its errors, or what it still knows of a version that was deleted.
fn is_of_vault(body: &[u8]) -> bool {
    Answer::parse(body).is_some_and(|answer| answer.has("/errors") || answer.has("/data"))
}
