//! A connection to a KMIP server: TLS with a certificate on both sides, one request and one answer at a time.
//!
//! What must hold: each read and write ends in time, however slowly the bytes come; an answer has at most [`MAX_ANSWER_BYTES`].

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::path::Path;
use std::sync::Arc;

use hushdb_keys::KeyError;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use zeroize::Zeroizing;

use crate::failures::PlaceName;
use crate::http::of_tls;
use crate::patience::{Trouble, Waiting};

/// Most bytes of an answer.
const MAX_ANSWER_BYTES: usize = 64 << 10;

/// Where the certificates are: PEM files.
#[derive(Clone)]
pub(super) struct Files {
    pub(super) certificate: std::path::PathBuf,
    pub(super) key: std::path::PathBuf,
    pub(super) authority: std::path::PathBuf,
}

impl Files {
    /// What TLS needs of them, read anew for each key.
    pub(super) fn config(&self, name: &PlaceName) -> Result<Arc<ClientConfig>, KeyError> {
        let unreadable = |path: &Path, what: &str| {
            let path = path.display();
            name.does_not_accept(format!(
                "{path} cannot be read, or has no {what} in PEM: check it"
            ))
        };
        let certificates = |path: &Path| -> Result<Vec<CertificateDer<'static>>, KeyError> {
            let all = CertificateDer::pem_file_iter(path).and_then(Iterator::collect);
            let all: Vec<_> = all.map_err(|_| unreadable(path, "certificate"))?;
            match all.is_empty() {
                true => Err(unreadable(path, "certificate")),
                false => Ok(all),
            }
        };
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(certificates(&self.authority)?);
        let key = PrivateKeyDer::from_pem_file(&self.key);
        let key = key.map_err(|_| unreadable(&self.key, "private key"))?;
        let chain = certificates(&self.certificate)?;
        let crypto = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = ClientConfig::builder_with_provider(crypto)
            .with_safe_default_protocol_versions()
            .map_err(|_| name.is_unavailable("TLS cannot be had"))?
            .with_root_certificates(roots)
            .with_client_auth_cert(chain, key)
            .map_err(|_| {
                name.does_not_accept("certificate and key do not fit: check ?cert= and ?key=")
            })?;
        Ok(Arc::new(config))
    }
}

/// An open connection.
pub(super) struct Connection<'a> {
    stream: StreamOwned<ClientConnection, Timed<'a>>,
    name: &'a PlaceName,
}

impl<'a> Connection<'a> {
    /// Connects, and shakes hands.
    pub(super) fn open(
        config: &Arc<ClientConfig>,
        host: &str,
        port: u16,
        waiting: &'a Waiting,
        name: &'a PlaceName,
    ) -> Result<Self, Trouble> {
        let bare = host.trim_matches(['[', ']']);
        let failed = |error: &io::Error| trouble(name, error);
        let server = ServerName::try_from(bare.to_owned())
            .map_err(|_| failed(&io::Error::from(io::ErrorKind::InvalidInput)))?;
        let addresses = (bare, port).to_socket_addrs().map_err(|_| Trouble {
            error: name.is_unavailable("there is no host of this name: check it"),
            again: true,
        })?;
        let mut refused = io::Error::from(io::ErrorKind::AddrNotAvailable);
        let mut connected = None;
        for address in addresses {
            match TcpStream::connect_timeout(&address, waiting.connect()) {
                Ok(stream) => {
                    connected = Some(stream);
                    break;
                }
                Err(error) => refused = error,
            }
        }
        let stream = connected.ok_or_else(|| failed(&refused))?;
        let connection =
            ClientConnection::new(Arc::clone(config), server).map_err(|error| Trouble {
                error: name.is_unavailable(of_tls(&error)),
                again: false,
            })?;
        let stream = StreamOwned::new(connection, Timed { stream, waiting });
        Ok(Self { stream, name })
    }

    /// Sends a request and reads its answer.
    pub(super) fn call(&mut self, request: &[u8]) -> Result<Zeroizing<Vec<u8>>, Trouble> {
        let done = self.stream.write_all(request).and_then(|()| {
            self.stream.flush()?;
            let mut head = [0; 8];
            self.stream.read_exact(&mut head)?;
            Ok(head)
        });
        let head = done.map_err(|error| trouble(self.name, &error))?;
        let len = u32::from_be_bytes([head[4], head[5], head[6], head[7]]);
        let len = usize::try_from(len).unwrap_or(usize::MAX);
        if len > MAX_ANSWER_BYTES {
            return Err(Trouble {
                error: self.name.is_unavailable(format!(
                    "its answer has more than {MAX_ANSWER_BYTES} bytes: check that it is a KMIP server"
                )),
                again: false,
            });
        }
        let mut answer = Zeroizing::new(vec![0; 8 + len]);
        answer[..8].copy_from_slice(&head);
        let read = self.stream.read_exact(&mut answer[8..]);
        read.map_err(|error| trouble(self.name, &error))?;
        Ok(answer)
    }
}

fn trouble(name: &PlaceName, error: &io::Error) -> Trouble {
    let tls = error
        .get_ref()
        .and_then(|it| it.downcast_ref::<rustls::Error>());
    let (why, again) = match (tls, error.kind()) {
        (Some(tls), _) => (of_tls(tls), false),
        (None, io::ErrorKind::ConnectionRefused) => {
            ("nobody listens there: is it running?".to_owned(), true)
        }
        (None, io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock) => {
            ("it did not answer in time".to_owned(), true)
        }
        (None, kind) => (format!("the connection failed ({kind})"), true),
    };
    Trouble {
        error: name.is_unavailable(why),
        again,
    }
}

/// A socket each of whose reads and writes ends when the time is over.
struct Timed<'a> {
    stream: TcpStream,
    waiting: &'a Waiting,
}

impl Read for Timed<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream
            .set_read_timeout(Some(self.waiting.in_time()?))?;
        self.stream.read(buffer)
    }
}

impl Write for Timed<'_> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        self.stream
            .set_write_timeout(Some(self.waiting.in_time()?))?;
        self.stream.write(buffer)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}
