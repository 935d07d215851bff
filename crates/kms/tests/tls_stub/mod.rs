//! The stub of Vault behind TLS, with a certificate of the tests.

use std::io;
use std::net::TcpStream;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::vault_stub::VaultStub;

/// A stub with the certificate of `testdata/NAME.pem`.
pub(crate) fn start(name: &str) -> VaultStub {
    let file = testdata(name);
    let chain = vec![CertificateDer::from_pem_file(&file).unwrap()];
    let key = PrivateKeyDer::from_pem_file(&file).unwrap();
    let crypto = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ServerConfig::builder_with_provider(crypto)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .unwrap();
    let config = Arc::new(config);
    VaultStub::start_with(move |stream: TcpStream| {
        let connection = ServerConnection::new(config.clone()).map_err(io::Error::other)?;
        Ok(Box::new(StreamOwned::new(connection, stream)))
    })
}

/// Path of a file of PEM.
pub(crate) fn testdata(name: &str) -> String {
    format!("{}/testdata/{name}.pem", env!("CARGO_MANIFEST_DIR"))
}
