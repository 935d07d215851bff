//! Vault and OpenBao: Transit, which wraps and keeps its key, and KV version 2, which hands a key out.
//!
//! `vault://[host[:port]]/MOUNT/NAME` and `vault://.../MOUNT/PATH?engine=kv&field=FIELD`. Server and credentials come from the
//! environment, as for Vault's own program; a URL that names another host is refused, else whoever writes SQL could have the
//! token sent to a host of theirs.

mod login;
mod service;
mod statuses;

use std::fmt;
use std::path::PathBuf;

use hushdb_crypto::CryptoProvider;
use hushdb_keys::{KeyContext, KeyError, KeyMaterial, KeyProvider, ProviderKind};

use crate::failures::PlaceName;
use crate::http::{Origin, host_and_port};
use crate::key_url::KeyUrl;
use crate::patience::Patience;
use crate::{Environment, PlaceError, base64_text, blob, secret_json};
use service::Service;

const SCHEME: &str = "vault";
const FORM: &str =
    "vault://[host[:port]]/MOUNT/NAME, or vault://[host[:port]]/MOUNT/PATH?engine=kv&field=NAME";

/// A key at Vault or OpenBao.
#[derive(Clone)]
pub(crate) struct Vault {
    origin: Origin,
    authorities: Option<PathBuf>,
    namespace: Option<String>,
    environment: Environment,
    patience: Patience,
    mount: String,
    key: Key,
    name: PlaceName,
}

#[derive(Clone)]
enum Key {
    Transit { name: String },
    Kv { path: String, field: String },
}

impl Vault {
    /// The place that a URL and the environment name.
    pub(crate) fn new(mut url: KeyUrl, environment: &Environment) -> Result<Self, PlaceError> {
        let malformed = PlaceError::Malformed {
            scheme: SCHEME,
            form: FORM,
        };
        let authority =
            url.host("VAULT_TOKEN, VAULT_TOKEN_FILE or an AppRole have the credentials")?;
        let origin = environment.text("VAULT_ADDR").ok_or(PlaceError::Variable {
            variable: "VAULT_ADDR",
            expected: "not set: set it to the server's address, such as https://vault.example:8200",
        })?;
        let origin = Origin::parse(&origin, "VAULT_ADDR")?;
        if !authority.is_empty() {
            let (host, port) = host_and_port(authority).ok_or(malformed.clone())?;
            if host != origin.host || port.is_some_and(|port| port != origin.port) {
                return Err(PlaceError::OtherHost);
            }
        }
        let is_kv = match url.take("engine")?.as_deref() {
            None | Some("transit") => false,
            Some("kv") => true,
            Some(_) => {
                return Err(PlaceError::InvalidParameter {
                    parameter: "engine",
                    expected: "transit or kv",
                });
            }
        };
        let path = std::mem::take(&mut url.path);
        let segments: Vec<&str> = path.split('/').skip(1).collect();
        if segments.len() < 2 || !segments.iter().all(|segment| is_plain_segment(segment)) {
            return Err(malformed);
        }
        let (mount, key) = if is_kv {
            let path = segments[1..].join("/");
            let field = url.take("field")?.unwrap_or_else(|| "key".to_owned());
            (segments[0].to_owned(), Key::Kv { path, field })
        } else {
            let (last, mount) = (
                segments[segments.len() - 1],
                &segments[..segments.len() - 1],
            );
            let name = last.to_owned();
            (mount.join("/"), Key::Transit { name })
        };
        let patience = Patience::of(&mut url)?;
        url.finish(SCHEME)?;
        Ok(Self {
            name: PlaceName(format!("vault at {origin}")),
            origin,
            authorities: environment.text("VAULT_CACERT").map(PathBuf::from),
            namespace: environment.text("VAULT_NAMESPACE"),
            environment: environment.clone(),
            patience,
            mount,
            key,
        })
    }

    /// Has a new root wrapped, and sees that it can be had back and is bound to the database.
    fn establish_transit(
        &self,
        context: &KeyContext,
        name: &str,
    ) -> Result<(KeyMaterial, Vec<u8>), KeyError> {
        let service = Service::begin(self)?;
        let root = CryptoProvider::aws_lc()
            .random_key()
            .map_err(|_| self.name.is_unavailable("there are no random bytes"))?;
        let plaintext = base64_text::of_key(&root);
        let bound = bound_to(context);
        let body = secret_json::object(&[("plaintext", &plaintext), ("associated_data", &bound)]);
        let path = format!("{}/encrypt/{name}", self.mount);
        let mut answer = service.post(&path, &body)?;
        let ciphertext = answer.text("/data/ciphertext");
        let ciphertext = ciphertext.filter(|text| is_ciphertext(text));
        let ciphertext = ciphertext.ok_or_else(|| service.unlike())?;
        if self.decrypt(&service, name, &ciphertext, &bound)? != root {
            return Err(self
                .name
                .refuses("it gives another key back than it was given: choose another key there"));
        }
        // Vault before associated data, and keys of a type without it, take no notice.
        let other = base64_text::of(b"hushdb:no database");
        match self.decrypt(&service, name, &ciphertext, &other) {
            Err(KeyError::Refused { .. }) => {}
            Err(error) => return Err(error),
            Ok(_) => {
                return Err(self.name.refuses(
                    "its key does not bind what it wraps to a database: use a key of type aes256-gcm96, and Vault 1.9 or later",
                ));
            }
        }
        let version = ciphertext.split(':').nth(1).unwrap_or_default();
        let text = format!("{}/{name} {version}", self.mount);
        let blob = blob::written(&text, ciphertext.as_bytes());
        Ok((KeyMaterial::Raw(root), blob))
    }

    fn decrypt(
        &self,
        service: &Service<'_>,
        name: &str,
        ciphertext: &str,
        bound: &str,
    ) -> Result<hushdb_crypto::SecretKey, KeyError> {
        let body = secret_json::object(&[("ciphertext", ciphertext), ("associated_data", bound)]);
        let mut answer = service.post(&format!("{}/decrypt/{name}", self.mount), &body)?;
        let plaintext = answer.text("/data/plaintext");
        let key = plaintext.and_then(|text| base64_text::key(&text));
        key.ok_or_else(|| service.unlike())
    }

    /// Reads a key that lies at the service, of one version or the newest; the version beside it.
    fn read(
        &self,
        path: &str,
        field: &str,
        version: Option<u32>,
    ) -> Result<(KeyMaterial, u32), KeyError> {
        let service = Service::begin(self)?;
        let query = version.map(|version| format!("?version={version}"));
        let query = query.unwrap_or_default();
        let mut answer = service.get(&format!("{}/data/{path}{query}", self.mount))?;
        let found = answer.number("/data/metadata/version");
        let found = found.and_then(|found| u32::try_from(found).ok());
        let found = found.filter(|found| version.is_none_or(|version| version == *found));
        let found = found.ok_or_else(|| service.unlike())?;
        let escaped = field.replace('~', "~0").replace('/', "~1");
        let text = answer.text(&format!("/data/data/{escaped}"));
        let text = text.ok_or_else(|| {
            self.name
                .refuses("the secret has no text of that field: name it with ?field=")
        })?;
        match KeyMaterial::parse(&text) {
            Ok(key @ KeyMaterial::Raw(_)) => Ok((key, found)),
            _ => Err(self.name.refuses(
                "the secret's field is no raw key: write base64: and 32 random bytes there",
            )),
        }
    }

    fn not_of_this_place(&self) -> KeyError {
        self.name
            .refuses("the slot's blob is not of this kind of place: another URL, or an edited file")
    }
}

impl KeyProvider for Vault {
    fn kind(&self) -> ProviderKind {
        ProviderKind::VAULT
    }

    fn establish(&self, context: &KeyContext) -> Result<(KeyMaterial, Vec<u8>), KeyError> {
        match &self.key {
            Key::Transit { name } => self.establish_transit(context, name),
            Key::Kv { path, field } => {
                let (key, version) = self.read(path, field, None)?;
                let text = format!("{}/{path} v{version}", self.mount);
                Ok((key, blob::written(&text, version.to_string().as_bytes())))
            }
        }
    }

    fn recover(&self, context: &KeyContext, blob: &[u8]) -> Result<KeyMaterial, KeyError> {
        let kept = blob::service_bytes(blob).and_then(|kept| std::str::from_utf8(kept).ok());
        let kept = kept.ok_or_else(|| self.not_of_this_place())?;
        match &self.key {
            Key::Transit { name } => {
                if !is_ciphertext(kept) {
                    return Err(self.not_of_this_place());
                }
                let service = Service::begin(self)?;
                self.decrypt(&service, name, kept, &bound_to(context))
                    .map(KeyMaterial::Raw)
            }
            Key::Kv { path, field } => {
                let version = version(kept).ok_or_else(|| self.not_of_this_place())?;
                Ok(self.read(path, field, Some(version))?.0)
            }
        }
    }

    fn keeps_blob(&self) -> bool {
        true
    }
}

impl fmt::Debug for Vault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Vault")
            .field("origin", &self.origin)
            .field("environment", &self.environment)
            .finish_non_exhaustive()
    }
}

/// What a key is bound to, as `associated_data`.
fn bound_to(context: &KeyContext) -> String {
    base64_text::of(blob::bound_text(context).as_bytes())
}

/// A segment of a path that can stand in a URL as it is, and leads nowhere else.
fn is_plain_segment(segment: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._~".contains(c);
    !segment.is_empty() && ![".", ".."].contains(&segment) && segment.chars().all(is_plain)
}

/// `vault:v<version>:<base64>`: nothing else of a file is sent.
fn is_ciphertext(text: &str) -> bool {
    let rest = text.strip_prefix("vault:v");
    let parts = rest.and_then(|rest| rest.split_once(':'));
    let is_base64 = |c: char| c.is_ascii_alphanumeric() || "+/=".contains(c);
    parts.is_some_and(|(number, sealed)| {
        version(number).is_some() && !sealed.is_empty() && sealed.chars().all(is_base64)
    })
}

/// A version's number, as it is written and no other way.
fn version(text: &str) -> Option<u32> {
    let number: u32 = text.parse().ok()?;
    (number > 0 && number.to_string() == text).then_some(number)
}
