//! `Verifier`: what is kept of a password, in PostgreSQL's text form, `SCRAM-SHA-256$4096:salt$StoredKey:ServerKey` (RFC 5803).
//!
//! What must hold: the password is not kept, and cannot be had from what is but by guessing.

use base64::prelude::{BASE64_STANDARD, Engine};
use hushdb::crypto::CryptoProvider;
use hushdb::keys::SecretKey;
use std::fmt;
use std::num::NonZeroU32;
use zeroize::Zeroizing;

/// Rounds of a new verifier; PostgreSQL's, so that clients are as fast.
const ITERATIONS: u32 = 4096;
/// Rounds of a verifier that somebody else made.
const MOST_ITERATIONS: u32 = 10_000_000;
const SALT_BYTES: usize = 16;
const SCHEME: &str = "SCRAM-SHA-256$";

/// What a password is held against.
pub(crate) struct Verifier {
    pub(crate) iterations: u32,
    pub(crate) salt: Vec<u8>,
    pub(crate) stored_key: SecretKey,
    pub(crate) server_key: SecretKey,
}

impl Verifier {
    /// Of a password in the clear, with a salt of its own. `None` when the system has no random bytes.
    pub(crate) fn of_password(crypto: &CryptoProvider, password: &str) -> Option<Self> {
        let mut salt = [0; SALT_BYTES];
        crypto.random(&mut salt).ok()?;
        Some(Self::with_salt(crypto, password, &salt, ITERATIONS))
    }

    pub(crate) fn with_salt(
        crypto: &CryptoProvider,
        password: &str,
        salt: &[u8],
        iterations: u32,
    ) -> Self {
        let password = prepared(password);
        let rounds = NonZeroU32::new(iterations).unwrap_or(NonZeroU32::MIN);
        let salted = crypto.pbkdf2_hmac_sha256(password.as_bytes(), salt, rounds);
        let client_key = Zeroizing::new(crypto.hmac_sha256(&salted, &[b"Client Key"]));
        let server_key = crypto.hmac_sha256(&salted, &[b"Server Key"]);
        Self {
            iterations,
            salt: salt.to_vec(),
            stored_key: SecretKey::from_bytes(crypto.sha256(&[client_key.as_slice()])),
            server_key: SecretKey::from_bytes(server_key),
        }
    }

    /// Of a user that is not there: always the same salt for a name, and keys that no password fits.
    pub(crate) fn mock(crypto: &CryptoProvider, secret: &SecretKey, user: &str) -> Option<Self> {
        let salt = crypto.hmac_sha256(secret, &[b"salt", user.as_bytes()]);
        Some(Self {
            iterations: ITERATIONS,
            salt: salt[..SALT_BYTES].to_vec(),
            stored_key: crypto.random_key().ok()?,
            server_key: crypto.random_key().ok()?,
        })
    }

    /// Reads the text form; `None` for what is none.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (head, keys) = text.strip_prefix(SCHEME)?.split_once('$')?;
        let (iterations, salt) = head.split_once(':')?;
        let (stored, server) = keys.split_once(':')?;
        let iterations = iterations.parse().ok()?;
        if iterations == 0 || iterations > MOST_ITERATIONS {
            return None;
        }
        let key = |text: &str| SecretKey::from_slice(&BASE64_STANDARD.decode(text).ok()?);
        let salt = BASE64_STANDARD.decode(salt).ok()?;
        (!salt.is_empty() && salt.len() <= 64).then_some(())?;
        Some(Self {
            iterations,
            salt,
            stored_key: key(stored)?,
            server_key: key(server)?,
        })
    }

    /// The text form.
    pub(crate) fn to_text(&self) -> String {
        let encoded = |bytes: &[u8]| BASE64_STANDARD.encode(bytes);
        format!(
            "{SCHEME}{}:{}${}:{}",
            self.iterations,
            encoded(&self.salt),
            encoded(self.stored_key.expose()),
            encoded(self.server_key.expose())
        )
    }
}

impl fmt::Debug for Verifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Verifier([secret])")
    }
}

/// A password as SASLprep has it (RFC 4013); as it is where that fails, as in PostgreSQL.
fn prepared(password: &str) -> Zeroizing<String> {
    let prepared = stringprep::saslprep(password);
    Zeroizing::new(prepared.map_or_else(|_| password.to_owned(), |text| text.into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_form_comes_back() {
        let crypto = CryptoProvider::aws_lc();
        let verifier = Verifier::of_password(&crypto, "pencil").unwrap();
        let again = Verifier::parse(&verifier.to_text()).unwrap();
        assert_eq!(again.to_text(), verifier.to_text());
        assert!(!format!("{verifier:?}").contains(&verifier.to_text()[14..20]));
    }

    #[test]
    fn what_is_no_verifier_is_not_read() {
        for text in [
            "",
            "pencil",
            "md5aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
            "SCRAM-SHA-256$4096:c2FsdA==$AAAA:AAAA",
            "SCRAM-SHA-256$0:c2FsdA==$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
            "SCRAM-SHA-256$9999999999:c2FsdA==$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
        ] {
            assert!(Verifier::parse(text).is_none(), "{text}");
        }
    }
}
