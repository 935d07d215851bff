//! `Places`: from a URL and an environment to the provider that asks there.

use std::sync::Arc;

use hushdb_keys::KeyProvider;

use crate::aws::AwsKms;
use crate::exec::Exec;
use crate::key_url::KeyUrl;
use crate::kmip::Kmip;
use crate::pkcs11::Pkcs11;
use crate::vault::Vault;
use crate::{Environment, PlaceError};

/// The places that a program lets its users name.
#[derive(Clone, Debug)]
pub struct Places {
    environment: Environment,
    runs_code: bool,
}

impl Places {
    /// All of them, with the addresses and credentials of this environment.
    pub fn new(environment: Environment) -> Self {
        Self {
            environment,
            runs_code: true,
        }
    }

    /// Without those that run a program or load a module that the URL names: for URLs of people who may not run programs here.
    #[must_use]
    pub fn without_code(mut self) -> Self {
        self.runs_code = false;
        self
    }

    /// The place that a URL names. Nothing is asked yet.
    ///
    /// # Errors
    /// What is no URL of a place, or lacks what the place needs. No error repeats more of the URL than a name.
    pub fn provider(&self, url: &str) -> Result<Arc<dyn KeyProvider>, PlaceError> {
        let url = KeyUrl::parse(url)?;
        match url.scheme.as_str() {
            "vault" => Ok(Arc::new(Vault::new(url, &self.environment)?)),
            "aws-kms" => Ok(Arc::new(AwsKms::new(url, &self.environment)?)),
            "kmip" => Ok(Arc::new(Kmip::new(url)?)),
            "exec" if !self.runs_code => Err(PlaceError::RunsCode { scheme: "exec" }),
            "pkcs11" if !self.runs_code => Err(PlaceError::RunsCode { scheme: "pkcs11" }),
            "pkcs11" => Ok(Arc::new(Pkcs11::new(url)?)),
            "exec" => Ok(Arc::new(Exec::new(url)?)),
            // A passphrase may have a colon in it: what is repeated has the look of a URL.
            _ if url.authority.is_some() => Err(PlaceError::UnknownScheme { scheme: url.scheme }),
            _ => Err(PlaceError::NotAUrl),
        }
    }
}
