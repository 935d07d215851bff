//! TLS: the certificate that an instance makes for itself, and the server's side by rustls over aws-lc-rs.

use rcgen::{CertificateParams, DnType, KeyPair};
use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use std::sync::Arc;
use zeroize::Zeroizing;

/// A certificate and the key that it is for.
pub(crate) struct Identity {
    /// X.509, DER.
    pub(crate) certificate: Vec<u8>,
    /// PKCS #8, DER.
    pub(crate) private_key: Zeroizing<Vec<u8>>,
}

/// What went wrong with TLS, in words.
pub(crate) type TlsError = String;

impl Identity {
    /// A self-signed certificate over ECDSA P-256 with SHA-256, without an end.
    ///
    /// # Errors
    /// When the library cannot make a key.
    pub(crate) fn self_signed(instance: &str) -> Result<Self, TlsError> {
        let failed = |error: rcgen::Error| format!("the TLS certificate cannot be made: {error}");
        let key = KeyPair::generate().map_err(failed)?;
        let names = vec!["localhost".to_owned()];
        let mut params = CertificateParams::new(names).map_err(failed)?;
        let name = format!("HushDB {instance}");
        params.distinguished_name.push(DnType::CommonName, name);
        let certificate = params.self_signed(&key).map_err(failed)?;
        Ok(Self {
            certificate: certificate.der().to_vec(),
            private_key: Zeroizing::new(key.serialize_der()),
        })
    }

    /// The certificate as PEM.
    pub(crate) fn certificate_pem(&self) -> String {
        use base64::prelude::{BASE64_STANDARD, Engine};
        let encoded = BASE64_STANDARD.encode(&self.certificate);
        let lines = encoded.as_bytes().chunks(64);
        let lines = lines.map(|line| String::from_utf8_lossy(line).into_owned() + "\n");
        let lines: String = lines.collect();
        format!("-----BEGIN CERTIFICATE-----\n{lines}-----END CERTIFICATE-----\n")
    }

    /// Reads a certificate of PEM.
    ///
    /// # Errors
    /// When there is none in it.
    pub(crate) fn certificate_of_pem(pem: &[u8]) -> Result<Vec<u8>, TlsError> {
        let read = CertificateDer::from_pem_slice(pem);
        Ok(read
            .map_err(|_| "tls.crt holds no certificate".to_owned())?
            .to_vec())
    }

    /// What a server speaks TLS with: 1.2 and 1.3, and ALPN `postgresql` for clients that begin with TLS at once.
    ///
    /// # Errors
    /// When certificate and key are not one pair.
    pub(crate) fn server_config(&self) -> Result<Arc<ServerConfig>, TlsError> {
        let failed = |error: rustls::Error| format!("TLS cannot be set up: {error}");
        let key = PrivatePkcs8KeyDer::from(self.private_key.to_vec());
        let certificate = CertificateDer::from(self.certificate.clone());
        let provider = Arc::new(aws_lc_rs::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(failed)?
            .with_no_client_auth()
            .with_single_cert(vec![certificate], PrivateKeyDer::from(key));
        let mut config = config.map_err(failed)?;
        config.alpn_protocols = vec![b"postgresql".to_vec()];
        Ok(Arc::new(config))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_identity_serves() {
        let identity = Identity::self_signed("test").unwrap();
        assert!(identity.server_config().is_ok());
        let pem = identity.certificate_pem();
        assert_eq!(
            Identity::certificate_of_pem(pem.as_bytes()).unwrap(),
            identity.certificate
        );
        let other = Identity::self_signed("test").unwrap();
        let mixed = Identity {
            certificate: other.certificate,
            ..identity
        };
        assert!(mixed.server_config().is_err());
    }
}
