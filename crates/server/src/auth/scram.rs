//! `Exchange`: the server's side of SCRAM-SHA-256 and SCRAM-SHA-256-PLUS (RFC 5802, RFC 7677), a pure state machine.
//!
//! What must hold: proofs are compared in constant time; a user that is not there is told apart by nothing; a client that says that
//! the server has no channel binding is refused where it has one, since somebody between them may have taken the offer away.

use super::verifier::Verifier;
use crate::violation::Violation;
use base64::prelude::{BASE64_STANDARD, Engine};
use hushdb::crypto::CryptoProvider;
use hushdb::keys::SecretKey;

/// Without channel binding.
pub(crate) const SCRAM: &str = "SCRAM-SHA-256";
/// With the server's certificate as channel binding (`tls-server-end-point`, RFC 5929).
pub(crate) const SCRAM_PLUS: &str = "SCRAM-SHA-256-PLUS";
/// Printable letters of a client's nonce.
const MOST_NONCE: usize = 256;

/// One exchange, after its first message.
pub(crate) struct Exchange {
    crypto: CryptoProvider,
    verifier: Verifier,
    /// What the client must repeat, before base64.
    binding: Vec<u8>,
    nonce: String,
    client_first: String,
    server_first: String,
}

/// How the last message ends.
pub(crate) enum Outcome {
    /// The password was right; this is what proves to the client that the server knows it too.
    Proven(String),
    /// It was not, or there is no such user.
    Wrong,
}

const MALFORMED: Violation = Violation::new("malformed SCRAM message");

impl Exchange {
    /// Reads the client's first message. `certificate` is its SHA-256 where TLS is spoken.
    ///
    /// # Errors
    /// A message that is not well formed, and a binding that was not agreed on.
    pub(crate) fn begin(
        crypto: CryptoProvider,
        verifier: Verifier,
        mechanism: &str,
        certificate: Option<[u8; 32]>,
        message: &[u8],
    ) -> Result<Self, Violation> {
        let message = std::str::from_utf8(message).map_err(|_| MALFORMED)?;
        let (flag, rest) = message.split_once(',').ok_or(MALFORMED)?;
        let (authorization, bare) = rest.split_once(',').ok_or(MALFORMED)?;
        if !authorization.is_empty() {
            return Err(Violation {
                sqlstate: "0A000",
                message: "client uses authorization identity, but it is not supported",
            });
        }
        let mut binding = format!("{flag},,").into_bytes();
        match (mechanism, flag, certificate) {
            (SCRAM_PLUS, "p=tls-server-end-point", Some(certificate)) => {
                binding.extend(certificate)
            }
            (SCRAM, "n", _) | (SCRAM, "y", None) => {}
            (SCRAM, "y", Some(_)) => {
                return Err(Violation {
                    sqlstate: "28000",
                    message: "SCRAM channel binding negotiation error: the client supports channel binding and thinks that the \
                              server does not, but it does",
                });
            }
            _ => return Err(Violation::new("unexpected SCRAM channel binding")),
        }
        let client_nonce = first_nonce(bare)?;
        let mut random = [0; 18];
        crypto.random(&mut random).map_err(|_| NO_RANDOM)?;
        let nonce = format!("{client_nonce}{}", BASE64_STANDARD.encode(random));
        let salt = BASE64_STANDARD.encode(&verifier.salt);
        let server_first = format!("r={nonce},s={salt},i={}", verifier.iterations);
        Ok(Self {
            crypto,
            verifier,
            binding,
            nonce,
            client_first: bare.to_owned(),
            server_first,
        })
    }

    /// What the client is asked.
    pub(crate) fn server_first(&self) -> &str {
        &self.server_first
    }

    /// Reads the client's last message.
    ///
    /// # Errors
    /// A message that is not well formed, or belongs to another exchange.
    pub(crate) fn finish(self, message: &[u8]) -> Result<Outcome, Violation> {
        let message = std::str::from_utf8(message).map_err(|_| MALFORMED)?;
        let (without_proof, proof) = message.rsplit_once(",p=").ok_or(MALFORMED)?;
        let mut fields = without_proof.split(',');
        let binding = fields.next().and_then(|field| field.strip_prefix("c="));
        let nonce = fields.next().and_then(|field| field.strip_prefix("r="));
        let (Some(binding), Some(nonce)) = (binding, nonce) else {
            return Err(MALFORMED);
        };
        if fields.any(|field| field.starts_with("m=")) {
            return Err(Violation::new("unsupported SCRAM extension"));
        }
        let binding = BASE64_STANDARD.decode(binding).map_err(|_| MALFORMED)?;
        if binding != self.binding {
            return Err(Violation {
                sqlstate: "28000",
                message: "SCRAM channel binding check failed",
            });
        }
        if nonce != self.nonce {
            return Err(Violation::new("SCRAM nonce is not that of this exchange"));
        }
        let proof = BASE64_STANDARD.decode(proof).map_err(|_| MALFORMED)?;
        let proof: [u8; 32] = proof.try_into().map_err(|_| MALFORMED)?;
        let signed = format!(
            "{},{},{without_proof}",
            self.client_first, self.server_first
        );
        let signature = |key| self.crypto.hmac_sha256(key, &[signed.as_bytes()]);
        let mut client_key = signature(&self.verifier.stored_key);
        client_key.iter_mut().zip(proof).for_each(|(a, b)| *a ^= b);
        let stored = SecretKey::from_bytes(self.crypto.sha256(&[&client_key]));
        if stored != self.verifier.stored_key {
            return Ok(Outcome::Wrong);
        }
        let proof = BASE64_STANDARD.encode(signature(&self.verifier.server_key));
        Ok(Outcome::Proven(format!("v={proof}")))
    }
}

const NO_RANDOM: Violation = Violation {
    sqlstate: "58000",
    message: "the system has no random bytes",
};

/// The nonce of a first message without its binding: `n=,r=...`. The name in it is not looked at, as in PostgreSQL.
fn first_nonce(bare: &str) -> Result<&str, Violation> {
    let mut fields = bare.split(',');
    let name = fields.next().ok_or(MALFORMED)?;
    if !name.starts_with("n=") {
        return Err(MALFORMED);
    }
    let nonce = fields.next().and_then(|field| field.strip_prefix("r="));
    let nonce = nonce.ok_or(MALFORMED)?;
    let is_printable = nonce.bytes().all(|byte| (0x21..=0x7e).contains(&byte));
    match is_printable && !nonce.is_empty() && nonce.len() <= MOST_NONCE {
        true => Ok(nonce),
        false => Err(MALFORMED),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The client's side, as RFC 5802 has it.
    fn client(password: &str, exchange: &Exchange, first: &str, binding: &[u8]) -> String {
        let crypto = CryptoProvider::portable();
        let server_first = exchange.server_first().to_owned();
        let field = |name: &str| {
            let mut fields = server_first.split(',');
            fields
                .find_map(|f| f.strip_prefix(name))
                .unwrap()
                .to_owned()
        };
        let salt = BASE64_STANDARD.decode(field("s=")).unwrap();
        let rounds = std::num::NonZeroU32::new(field("i=").parse().unwrap()).unwrap();
        let salted = crypto.pbkdf2_hmac_sha256(password.as_bytes(), &salt, rounds);
        let key = crypto.hmac_sha256(&salted, &[b"Client Key"]);
        let stored = SecretKey::from_bytes(crypto.sha256(&[&key]));
        let bare = first.splitn(3, ',').nth(2).unwrap();
        let last = format!("c={},r={}", BASE64_STANDARD.encode(binding), field("r="));
        let signed = format!("{bare},{server_first},{last}");
        let mut proof = crypto.hmac_sha256(&stored, &[signed.as_bytes()]);
        proof.iter_mut().zip(key).for_each(|(a, b)| *a ^= b);
        format!("{last},p={}", BASE64_STANDARD.encode(proof))
    }

    fn verifier() -> Verifier {
        Verifier::with_salt(
            &CryptoProvider::aws_lc(),
            "pencil",
            b"salt of 16 bytes",
            4096,
        )
    }

    fn begin(
        mechanism: &str,
        certificate: Option<[u8; 32]>,
        first: &str,
    ) -> Result<Exchange, Violation> {
        Exchange::begin(
            CryptoProvider::aws_lc(),
            verifier(),
            mechanism,
            certificate,
            first.as_bytes(),
        )
    }

    #[test]
    fn the_password_is_proven_to_both() {
        let first = "n,,n=,r=abc";
        for (password, right) in [("pencil", true), ("pencils", false)] {
            let exchange = begin(SCRAM, None, first).unwrap();
            let last = client(password, &exchange, first, b"n,,");
            let outcome = exchange.finish(last.as_bytes()).unwrap();
            assert_eq!(matches!(outcome, Outcome::Proven(_)), right, "{password}");
        }
    }

    #[test]
    fn the_certificate_is_bound() {
        let first = "p=tls-server-end-point,,n=,r=abc";
        let bound = [b"p=tls-server-end-point,,".as_slice(), &[7; 32]].concat();
        let exchange = begin(SCRAM_PLUS, Some([7; 32]), first).unwrap();
        let last = client("pencil", &exchange, first, &bound);
        assert!(matches!(
            exchange.finish(last.as_bytes()),
            Ok(Outcome::Proven(_))
        ));
        // Somebody in between shows another certificate.
        let exchange = begin(SCRAM_PLUS, Some([8; 32]), first).unwrap();
        let last = client("pencil", &exchange, first, &bound);
        assert_eq!(
            exchange.finish(last.as_bytes()).err().unwrap().sqlstate,
            "28000"
        );
    }

    #[test]
    fn an_offer_that_was_taken_away_is_noticed() {
        assert_eq!(
            begin(SCRAM, Some([7; 32]), "y,,n=,r=abc")
                .err()
                .unwrap()
                .sqlstate,
            "28000"
        );
        assert!(begin(SCRAM, None, "y,,n=,r=abc").is_ok());
        assert!(begin(SCRAM_PLUS, None, "p=tls-server-end-point,,n=,r=a").is_err());
        assert!(begin(SCRAM, Some([7; 32]), "p=tls-server-end-point,,n=,r=a").is_err());
    }

    #[test]
    fn hostile_messages_are_violations() {
        for first in [
            "",
            "n",
            "n,",
            "n,,",
            "n,,n=",
            "n,,n=,r=",
            "n,a=x,n=,r=abc",
            "n,,m=x,n=,r=abc",
            "n,,n=,r=a b",
        ] {
            assert!(begin(SCRAM, None, first).is_err(), "{first}");
        }
        let long = format!("n,,n=,r={}", "x".repeat(300));
        assert!(begin(SCRAM, None, &long).is_err());
        for last in [
            "",
            "c=biws",
            "c=biws,r=abc,p=",
            "c=biws,r=other,p=AAAA",
            "c=!,r=abc,p=AAAA",
            "r=abc,c=biws,p=AAAA",
        ] {
            let exchange = begin(SCRAM, None, "n,,n=,r=abc").unwrap();
            assert!(exchange.finish(last.as_bytes()).is_err(), "{last}");
        }
        let exchange = begin(SCRAM, None, "n,,n=,r=abc").unwrap();
        assert!(exchange.finish(b"\xff").is_err());
    }
}
