//! `Http`: requests to a service over HTTP/1.1 and TLS, and the answer's bytes, within bounds.
//!
//! What must hold: certificates are verified against the given authority, or the system's; no redirect is followed, no proxy of the
//! environment is used; an answer has at most [`MAX_BODY_BYTES`]; an error says what failed and nothing that was sent or came. The values of
//! headers, and the buffers that requests and answers went through, are wiped when they are let go, but for those within the TLS library.
#![expect(clippy::disallowed_methods, reason = "it reads certificates")]

use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use hushdb_crypto::SecretBytes;
use ureq::http::{HeaderValue, Request};
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::unversioned::resolver::DefaultResolver;
use zeroize::Zeroizing;

use crate::PlaceError;
use crate::failures::PlaceName;
use crate::patience::{Trouble, Waiting};
use crate::wiped_transport::wiping;

/// Most bytes of an answer's body.
pub(crate) const MAX_BODY_BYTES: usize = 64 << 10;

/// Where a container is told its credentials by plain HTTP: addresses of the link, which no router passes on.
pub(crate) const OF_CONTAINERS: &[&str] = &["169.254.170.2", "169.254.170.23", "[fd00:ec2::23]"];
/// The same of a machine of EC2.
pub(crate) const OF_INSTANCES: &[&str] = &["169.254.169.254", "[fd00:ec2::254]"];

/// Scheme, host and port of a service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    pub(crate) is_tls: bool,
    /// In small letters; of IPv6 in brackets.
    pub(crate) host: String,
    pub(crate) port: u16,
}

impl Origin {
    /// Reads `https://host[:port][/]`, and `http:` of this machine.
    pub(crate) fn parse(url: &str, variable: &'static str) -> Result<Self, PlaceError> {
        Self::parse_beside(url, variable, &[])
    }

    /// The same, where `http:` also leads to these hosts: [`OF_CONTAINERS`] or [`OF_INSTANCES`].
    pub(crate) fn parse_beside(
        url: &str,
        variable: &'static str,
        link: &[&str],
    ) -> Result<Self, PlaceError> {
        let malformed = PlaceError::Variable {
            variable,
            expected: "https:// and a host, perhaps with a port and nothing behind it",
        };
        let (scheme, rest) = url.split_once("://").ok_or(malformed.clone())?;
        let is_tls = match scheme.to_ascii_lowercase().as_str() {
            "https" => true,
            "http" => false,
            _ => return Err(malformed),
        };
        let authority = rest.strip_suffix('/').unwrap_or(rest);
        let (host, port) = host_and_port(authority).ok_or(malformed)?;
        if !is_tls && !is_this_machine(&host) && !link.contains(&host.as_str()) {
            return Err(PlaceError::PlainHttp);
        }
        Ok(Self {
            is_tls,
            host,
            port: port.unwrap_or(if is_tls { 443 } else { 80 }),
        })
    }

    /// As [`Origin::parse_beside`] for an address with a path and a query, which come as the second.
    pub(crate) fn with_path(
        url: &str,
        variable: &'static str,
        link: &[&str],
    ) -> Result<(Self, String), PlaceError> {
        let host = url.find("://").map_or(0, |at| at + 3);
        let path = url[host..].find('/').map_or(url.len(), |at| host + at);
        let (origin, path) = url.split_at(path);
        let is_plain = |c: char| c.is_ascii_graphic() && !"<>\"\\^`{|}#".contains(c);
        if path.len() > 4096 || !path.chars().all(is_plain) {
            return Err(PlaceError::Variable {
                variable,
                expected: "https:// and a host, perhaps with a port, a path and a query",
            });
        }
        let path = if path.is_empty() { "/" } else { path };
        Ok((Self::parse_beside(origin, variable, link)?, path.to_owned()))
    }

    /// The value of the header `host`: without a port that goes without saying.
    pub(crate) fn host_header(&self) -> String {
        let usual = if self.is_tls { 443 } else { 80 };
        match self.port == usual {
            true => self.host.clone(),
            false => self.to_string(),
        }
    }

    fn url(&self, path: &str) -> String {
        let scheme = if self.is_tls { "https" } else { "http" };
        format!("{scheme}://{}:{}{path}", self.host, self.port)
    }
}

impl std::fmt::Display for Origin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

/// Takes `host[:port]` apart.
pub(crate) fn host_and_port(authority: &str) -> Option<(String, Option<u16>)> {
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => {
            let (address, port) = rest.split_once(']')?;
            let address: std::net::Ipv6Addr = address.parse().ok()?;
            (format!("[{address}]"), port.strip_prefix(':'))
        }
        None => match authority.split_once(':') {
            Some((host, port)) => (host.to_ascii_lowercase(), Some(port)),
            None => (authority.to_ascii_lowercase(), None),
        },
    };
    let is_name = |c: char| c.is_ascii_alphanumeric() || ".-_".contains(c);
    let is_host = host.starts_with('[') || (!host.is_empty() && host.chars().all(is_name));
    let port = match port {
        Some(port) => Some(port.parse().ok().filter(|port| *port != 0)?),
        None => None,
    };
    is_host.then_some((host, port))
}

fn is_this_machine(host: &str) -> bool {
    let address = host.trim_matches(['[', ']']).parse::<std::net::IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

/// A service that answers HTTP.
pub(crate) struct Http {
    agent: ureq::Agent,
    origin: Origin,
    content_type: &'static str,
    name: PlaceName,
}

/// A header whose value may be a secret.
pub(crate) type Header<'a> = (&'static str, &'a SecretBytes);

/// A header's value, which is wiped with the last request that has it.
struct Value(SecretBytes);

impl AsRef<[u8]> for Value {
    fn as_ref(&self) -> &[u8] {
        self.0.expose()
    }
}

/// What a service answered.
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) body: Zeroizing<Vec<u8>>,
}

impl Http {
    /// A service; of TLS, with the certificates in this file of PEM as its authorities, or the system's.
    pub(crate) fn new(
        origin: &Origin,
        authorities: Option<&Path>,
        name: &PlaceName,
    ) -> Result<Self, hushdb_keys::KeyError> {
        let roots = match (origin.is_tls, authorities) {
            (false, _) => Vec::new(),
            (true, Some(path)) => from_file(path, name)?,
            (true, None) => of_the_system(name)?,
        };
        let crypto = rustls::crypto::aws_lc_rs::default_provider();
        let tls = TlsConfig::builder()
            .unversioned_rustls_crypto_provider(Arc::new(crypto))
            .root_certs(RootCerts::new_with_certs(&roots))
            .build();
        let config = ureq::Agent::config_builder()
            .tls_config(tls)
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .proxy(None)
            .max_response_header_size(16 << 10)
            .input_buffer_size(MAX_BODY_BYTES)
            .output_buffer_size(16 << 10)
            .user_agent("hushdb")
            .build();
        Ok(Self {
            agent: ureq::Agent::with_parts(config, wiping(), DefaultResolver::default()),
            origin: origin.clone(),
            content_type: "application/json",
            name: name.clone(),
        })
    }

    /// Bodies are called something else than JSON.
    #[must_use]
    pub(crate) fn with_content_type(mut self, content_type: &'static str) -> Self {
        self.content_type = content_type;
        self
    }

    /// Asks once. A body makes it a POST.
    pub(crate) fn call(
        &self,
        waiting: &Waiting,
        path: &str,
        headers: &[Header<'_>],
        body: Option<&[u8]>,
    ) -> Result<Reply, Trouble> {
        let method = if body.is_some() { "POST" } else { "GET" };
        self.send(waiting, method, path, headers, body)
    }

    /// Asks once, by a PUT of nothing.
    pub(crate) fn put(
        &self,
        waiting: &Waiting,
        path: &str,
        headers: &[Header<'_>],
    ) -> Result<Reply, Trouble> {
        self.send(waiting, "PUT", path, headers, Some(b""))
    }

    fn send(
        &self,
        waiting: &Waiting,
        method: &str,
        path: &str,
        headers: &[Header<'_>],
        body: Option<&[u8]>,
    ) -> Result<Reply, Trouble> {
        let bad = |why: &str| Trouble {
            error: self.name.does_not_accept(why),
            again: false,
        };
        let mut request = Request::builder()
            .method(method)
            .uri(self.origin.url(path))
            .header("content-type", self.content_type);
        for (name, value) in headers {
            let owned = Bytes::from_owner(Value(value.duplicate()));
            let mut value = HeaderValue::from_maybe_shared(owned)
                .map_err(|_| bad(&format!("{name} is not one line of text: check it")))?;
            value.set_sensitive(true);
            request = request.header(*name, value);
        }
        let failed = |error: ureq::Error| self.trouble(&error);
        let replied = match body {
            Some(body) => {
                let request = request.body(body).map_err(|error| failed(error.into()))?;
                let request = self.agent.configure_request(request);
                let request = request.timeout_connect(Some(waiting.connect()));
                let request = request.timeout_global(Some(waiting.request()));
                self.agent.run(request.build())
            }
            None => {
                let request = request.body(()).map_err(|error| failed(error.into()))?;
                let request = self.agent.configure_request(request);
                let request = request.timeout_connect(Some(waiting.connect()));
                let request = request.timeout_global(Some(waiting.request()));
                self.agent.run(request.build())
            }
        };
        let mut reply = replied.map_err(failed)?;
        let body = self.body(reply.body_mut().as_reader())?;
        Ok(Reply {
            status: reply.status().as_u16(),
            body,
        })
    }

    fn body(&self, reader: impl Read) -> Result<Zeroizing<Vec<u8>>, Trouble> {
        // It never grows, which would leave a part of it behind.
        let mut body = Zeroizing::new(Vec::with_capacity(MAX_BODY_BYTES + 1));
        let read = reader
            .take(MAX_BODY_BYTES as u64 + 1)
            .read_to_end(&mut body);
        match read {
            Ok(len) if len <= MAX_BODY_BYTES => Ok(body),
            Ok(_) => Err(Trouble {
                error: self.name.is_unavailable(format!(
                    "its answer has more than {MAX_BODY_BYTES} bytes: check that it is the service"
                )),
                again: false,
            }),
            Err(error) => Err(self.trouble(&ureq::Error::Io(error))),
        }
    }

    fn trouble(&self, error: &ureq::Error) -> Trouble {
        let (why, again) = told(error);
        Trouble {
            error: self.name.is_unavailable(why),
            again,
        }
    }
}

/// What failed, in our words, and whether it may pass.
fn told(error: &ureq::Error) -> (String, bool) {
    match error {
        ureq::Error::Io(error) => of_io(error),
        ureq::Error::Timeout(_) => ("it did not answer in time".to_owned(), true),
        ureq::Error::HostNotFound => ("there is no host of this name: check it".to_owned(), true),
        ureq::Error::ConnectionFailed => ("no connection was made".to_owned(), true),
        ureq::Error::Rustls(error) => (of_tls(error), false),
        ureq::Error::Tls(_) | ureq::Error::Pem(_) => ("TLS failed".to_owned(), false),
        _ => (
            "it does not speak HTTP: check host and port".to_owned(),
            false,
        ),
    }
}

fn of_io(error: &io::Error) -> (String, bool) {
    let inner = error.get_ref();
    if let Some(tls) = inner.and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        return (of_tls(tls), false);
    }
    if let Some(inner) = inner.and_then(|inner| inner.downcast_ref::<ureq::Error>()) {
        return told(inner);
    }
    let why = match error.kind() {
        io::ErrorKind::ConnectionRefused => "nobody listens there: is it running?".to_owned(),
        io::ErrorKind::TimedOut => "it did not answer in time".to_owned(),
        kind => format!("the connection failed ({kind})"),
    };
    (why, true)
}

/// What is wrong with a server's TLS, in our words.
pub(crate) fn of_tls(error: &rustls::Error) -> String {
    use rustls::CertificateError as C;
    match error {
        rustls::Error::InvalidCertificate(
            C::NotValidForName | C::NotValidForNameContext { .. },
        ) => "its certificate is another host's: check the address".to_owned(),
        rustls::Error::InvalidCertificate(C::Expired | C::ExpiredContext { .. }) => {
            "its certificate has expired: renew it".to_owned()
        }
        rustls::Error::InvalidCertificate(C::UnknownIssuer) => {
            "its certificate is from an authority that is not trusted here: name the authority's file".to_owned()
        }
        rustls::Error::InvalidCertificate(_) => "its certificate is refused: check it".to_owned(),
        rustls::Error::AlertReceived(_) => {
            "it ended the TLS handshake: check the client's certificate".to_owned()
        }
        _ => "it does not speak TLS as it should: check host and port".to_owned(),
    }
}

fn from_file(
    path: &Path,
    name: &PlaceName,
) -> Result<Vec<Certificate<'static>>, hushdb_keys::KeyError> {
    let pem = std::fs::read(path).map_err(|error| {
        let shown = path.display();
        name.is_unavailable(format!(
            "the authorities' file {shown} cannot be read ({}): check it",
            error.kind()
        ))
    })?;
    let items = parse_pem(&pem).filter_map(|item| match item {
        Ok(PemItem::Certificate(certificate)) => Some(certificate),
        _ => None,
    });
    let all: Vec<_> = items.collect();
    match all.is_empty() {
        true => Err(name.is_unavailable(format!(
            "the authorities' file {} has no certificate in PEM: check it",
            path.display()
        ))),
        false => Ok(all),
    }
}

fn of_the_system(name: &PlaceName) -> Result<Vec<Certificate<'static>>, hushdb_keys::KeyError> {
    let found = rustls_native_certs::load_native_certs().certs;
    match found.is_empty() {
        true => Err(name.is_unavailable(
            "this system has no certificates of authorities: install ca-certificates, or name the authority's file",
        )),
        false => Ok(found
            .iter()
            .map(|certificate| Certificate::from_der(certificate).to_owned())
            .collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_http_leads_to_the_services_of_the_link_and_no_further() {
        let by =
            |url: &str, link| Origin::with_path(url, "AWS_CONTAINER_CREDENTIALS_FULL_URI", link);
        for (host, link) in [
            ("169.254.170.2", OF_CONTAINERS),
            ("169.254.170.23", OF_CONTAINERS),
            ("[fd00:ec2::23]", OF_CONTAINERS),
            ("[FD00:EC2:0::23]", OF_CONTAINERS),
            ("169.254.169.254", OF_INSTANCES),
            ("[fd00:ec2::254]", OF_INSTANCES),
            ("127.0.0.1:8080", OF_CONTAINERS),
        ] {
            let (origin, path) = by(&format!("http://{host}/v1/x?y=z"), link).unwrap();
            assert_eq!((origin.is_tls, &*path), (false, "/v1/x?y=z"), "{host}");
            assert_eq!(by(&format!("http://{host}"), link).unwrap().1, "/");
        }
        let nobody: &[&str] = &[];
        for (host, link) in [
            ("169.254.169.254", OF_CONTAINERS),
            ("[fd00:ec2::254]", OF_CONTAINERS),
            ("169.254.170.2", OF_INSTANCES),
            ("[fd00:ec2::23]", OF_INSTANCES),
            ("169.254.170.2", nobody),
            ("169.254.170.3", OF_CONTAINERS),
            ("169.254.170.02", OF_CONTAINERS),
            ("169.254.170.2.example", OF_CONTAINERS),
            ("2852039170", OF_CONTAINERS),
            ("[::ffff:169.254.170.2]", OF_CONTAINERS),
            ("[fe80::1]", OF_CONTAINERS),
            ("10.0.0.1", OF_CONTAINERS),
            ("0.0.0.0", OF_INSTANCES),
        ] {
            let refused = by(&format!("http://{host}/x"), link);
            assert_eq!(refused, Err(PlaceError::PlainHttp), "{host}");
        }
        for bad in [
            "http://169.254.170.2@thief.example/x",
            "http://thief.example#169.254.170.2/x",
            "http://169.254.170.2/x y",
            "http://169.254.170.2/x#y",
            "169.254.170.2/x",
        ] {
            let refused = by(bad, OF_CONTAINERS);
            assert!(matches!(refused, Err(PlaceError::Variable { .. })), "{bad}");
        }
        assert!(by("https://anyone.example/x", OF_CONTAINERS).is_ok());
    }

    #[test]
    fn addresses_are_read_and_plain_http_stays_here() {
        let parse = |url| Origin::parse(url, "VAULT_ADDR");
        let origin = parse("https://Vault.example:8200/").unwrap();
        assert_eq!(origin.to_string(), "vault.example:8200");
        assert_eq!(origin.url("/v1/x"), "https://vault.example:8200/v1/x");
        assert_eq!(parse("https://[::1]").unwrap().to_string(), "[::1]:443");
        for local in [
            "http://127.0.0.1:1",
            "http://localhost",
            "http://[::1]:8200",
            "http://127.8.9.1:1",
        ] {
            assert!(parse(local).is_ok(), "{local}");
        }
        for far in [
            "http://10.0.0.1:8200",
            "http://localhost.example",
            "http://vault.example",
            "http://0.0.0.0:80",
        ] {
            assert_eq!(parse(far), Err(PlaceError::PlainHttp), "{far}");
        }
        for bad in [
            "vault.example:8200",
            "ftp://x",
            "https://",
            "https://a:b@c",
            "https://h/path",
            "https://h:0",
            "https://h:70000",
            "https://h?x",
            "https://[::zz]",
            "https://h:1:2",
        ] {
            assert!(
                matches!(parse(bad), Err(PlaceError::Variable { .. })),
                "{bad}"
            );
        }
    }
}
