//! Signature Version 4 of AWS, for requests with a body to `/`. AWS, "Create a signed AWS API request".

use hmac::{Hmac, KeyInit, Mac};
use hushdb_crypto::SecretBytes;
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use super::access_key::Credentials;
use crate::http::Origin;

const ALGORITHM: &str = "AWS4-HMAC-SHA256";

/// A POST to `/` of a service.
pub(super) struct Post<'a> {
    pub(super) origin: &'a Origin,
    pub(super) region: &'a str,
    pub(super) service: &'a str,
    /// What the body is called; who sends it says so in the request.
    pub(super) content_type: &'a str,
    /// `x-amz-target`, of services that have it.
    pub(super) target: Option<&'a str>,
    pub(super) body: &'a [u8],
}

impl Post<'_> {
    /// All headers but `content-type`, with the signature of now.
    pub(super) fn headers(&self, credentials: &Credentials) -> Vec<(&'static str, SecretBytes)> {
        let time = chrono::Utc::now().format("%Y%m%dT%H%M%SZ").to_string();
        let host = self.origin.host_header();
        let session = credentials.session.as_ref();
        let target = self
            .target
            .map(|target| ("x-amz-target", target.as_bytes()));
        let mut signed = vec![("content-type", self.content_type.as_bytes())];
        signed.extend(target);
        signed.extend(session.map(|session| ("x-amz-security-token", session.expose())));
        let authorization = Signed {
            host: &host,
            region: self.region,
            service: self.service,
            time: &time,
            headers: &signed,
            method: "POST",
            body: self.body,
        };
        let mut headers = vec![
            ("authorization", authorization.authorization(credentials)),
            ("host", SecretBytes::from(host.as_str())),
            ("x-amz-date", SecretBytes::from(time.as_str())),
        ];
        let target = self.target.map(SecretBytes::from);
        headers.extend(target.map(|target| ("x-amz-target", target)));
        let session = session.map(SecretBytes::duplicate);
        headers.extend(session.map(|session| ("x-amz-security-token", session)));
        headers
    }
}

/// What a signature is about.
struct Signed<'a> {
    host: &'a str,
    region: &'a str,
    service: &'a str,
    /// `YYYYMMDDTHHMMSSZ`.
    time: &'a str,
    /// Names in small letters, in the order of the alphabet; `host` and `x-amz-date` are added.
    headers: &'a [(&'a str, &'a [u8])],
    method: &'a str,
    body: &'a [u8],
}

impl Signed<'_> {
    /// The value of the header `authorization`.
    fn authorization(&self, credentials: &Credentials) -> SecretBytes {
        let mut headers = vec![
            ("host", self.host.as_bytes()),
            ("x-amz-date", self.time.as_bytes()),
        ];
        headers.extend(self.headers);
        headers.sort_unstable();
        let names: Vec<&str> = headers.iter().map(|(name, _)| *name).collect();
        let names = names.join(";");
        let mut canonical = Zeroizing::new(Vec::with_capacity(8 << 10));
        canonical.extend(format!("{}\n/\n\n", self.method).as_bytes());
        for (name, value) in headers {
            canonical.extend(name.as_bytes());
            canonical.push(b':');
            canonical.extend(value);
            canonical.push(b'\n');
        }
        canonical.extend(format!("\n{names}\n{}", hex(&Sha256::digest(self.body))).as_bytes());
        let day = self.time.get(..8).unwrap_or_default();
        let scope = format!("{day}/{}/{}/aws4_request", self.region, self.service);
        let digest = hex(&Sha256::digest(&*canonical));
        let text = format!("{ALGORITHM}\n{}\n{scope}\n{digest}", self.time);
        let mut key = Zeroizing::new(b"AWS4".to_vec());
        key.reserve_exact(credentials.secret.expose().len());
        key.extend(credentials.secret.expose());
        let mut key = keyed(&key, day);
        for part in [self.region, self.service, "aws4_request", text.as_str()] {
            key = keyed(&key[..], part);
        }
        let id = String::from_utf8_lossy(credentials.id.expose());
        let signature = hex(&key[..]);
        SecretBytes::from(format!(
            "{ALGORITHM} Credential={id}/{scope}, SignedHeaders={names}, Signature={signature}"
        ))
    }
}

fn keyed(key: &[u8], text: &str) -> Zeroizing<[u8; 32]> {
    // HMAC takes keys of any length.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key) else {
        return Zeroizing::new([0; 32]);
    };
    mac.update(text.as_bytes());
    Zeroizing::new(mac.finalize().into_bytes().into())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_request_has_the_published_signature() {
        // "get-vanilla" of the test suite that AWS publishes for Signature Version 4.
        let credentials = Credentials {
            id: "AKIDEXAMPLE".into(),
            secret: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY".into(),
            session: None,
        };
        let signed = Signed {
            host: "example.amazonaws.com",
            region: "us-east-1",
            service: "service",
            time: "20150830T123600Z",
            headers: &[],
            method: "GET",
            body: b"",
        };
        let expected = "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, \
                        SignedHeaders=host;x-amz-date, \
                        Signature=5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31";
        let found = signed.authorization(&credentials);
        assert_eq!(String::from_utf8_lossy(found.expose()), expected);
    }
}
