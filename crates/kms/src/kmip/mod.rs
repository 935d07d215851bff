//! KMIP servers over TLS with certificates on both sides: a key that encrypts there, or one that is handed out.
//!
//! `kmip://host[:5696]/UID?cert=...&key=...&ca=...` or `kmip://host/?name=NAME&...`. Without more, the server seals 32 random bytes by
//! AES-GCM with the context as additional data (KMIP 1.4 on); with `op=get` the key itself comes (1.2 on). Servers of 2.0 alone are spoken to
//! as they want. A key that is not
//! active is refused, also where the server would hand it out, unless `state=any`.
//!
//! What must hold: a blob's id is asked for only if the URL gives it, itself or by its name. A server that fails without a word on the key is
//! unavailable, since a database that is open is not ended for that.

mod connection;
mod operations;
mod ttlv;

use std::cell::Cell;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use hushdb_crypto::{CryptoProvider, SecretKey};
use hushdb_keys::{KeyContext, KeyError, KeyMaterial, KeyProvider, ProviderKind};
use rustls::ClientConfig;

use crate::PlaceError;
use crate::blob::{self, bound_text};
use crate::failures::PlaceName;
use crate::http::host_and_port;
use crate::key_url::{KeyUrl, decoded};
use crate::patience::{Patience, Trouble, Waiting};
use connection::{Connection, Files};
use operations::{
    AUTHENTICATION_NOT_SUCCESSFUL, Answered, NOT_UNDERSTOOD, Operation, Payload, TAG_LEN, Version,
    WORDS_ON_THE_KEY,
};

const SCHEME: &str = "kmip";
const FORM: &str = "kmip://HOST[:PORT]/UID?cert=PATH&key=PATH&ca=PATH, or /?name=NAME&cert=...";
const PORT: u16 = 5696;
const ACTIVE: u32 = 2;
const NONCE_LEN: usize = 12;
const MAX_ID_LEN: usize = 128;
/// What a key is tried with that no database is to open.
const NO_DATABASE: &str = "hushdb:no database";

/// A key at a KMIP server.
pub(crate) struct Kmip {
    host: String,
    port: u16,
    key: Named,
    hands_out: bool,
    any_state: bool,
    files: Files,
    patience: Patience,
    name: PlaceName,
}

enum Named {
    Id(String),
    Name(String),
}

/// What a slot keeps: the key's id and, of one that encrypts, what it gave.
struct Kept<'a> {
    id: &'a str,
    nonce: &'a [u8],
    sealed: &'a [u8],
    tag: &'a [u8],
}

impl Kmip {
    /// The key that a URL names.
    pub(crate) fn new(mut url: KeyUrl) -> Result<Self, PlaceError> {
        let malformed = PlaceError::Malformed {
            scheme: SCHEME,
            form: FORM,
        };
        let authority = url.host("a client's certificate is given by ?cert= and ?key=")?;
        let (host, port) = host_and_port(authority).ok_or(malformed.clone())?;
        let id = decoded(url.path.trim_start_matches('/'))?;
        let key = match (id.is_empty(), url.take("name")?) {
            (false, None) if id.len() <= MAX_ID_LEN => Named::Id(id),
            (true, Some(name)) if !name.is_empty() => Named::Name(name),
            _ => return Err(malformed),
        };
        let mut path = |parameter| {
            let path = url.take(parameter)?.map(PathBuf::from);
            let path = path.filter(|path| path.is_absolute());
            path.ok_or(PlaceError::InvalidParameter {
                parameter,
                expected: "the absolute path of a PEM file",
            })
        };
        let files = Files {
            certificate: path("cert")?,
            key: path("key")?,
            authority: path("ca")?,
        };
        let hands_out = one_of(&mut url, "op", ["encrypt", "get"], "encrypt or get")?;
        let any_state = one_of(&mut url, "state", ["active", "any"], "active or any")?;
        let patience = Patience::of(&mut url)?;
        url.finish(SCHEME)?;
        let port = port.unwrap_or(PORT);
        Ok(Self {
            name: PlaceName(format!("kmip at {host}:{port}")),
            host,
            port,
            key,
            hands_out,
            any_state,
            files,
            patience,
        })
    }

    fn begin(&self) -> Result<Asking<'_>, KeyError> {
        Ok(Asking {
            kmip: self,
            version: Cell::new(Version::One),
            waiting: self.patience.begin(),
            config: self.files.config(&self.name)?,
        })
    }

    fn wrapped(
        &self,
        asking: &Asking<'_>,
        id: &str,
        bound: &str,
    ) -> Result<(SecretKey, Vec<u8>), KeyError> {
        let (root, kept) = self.sealed(asking, id, bound)?;
        let opens = |bound| match Kept::parse(&kept) {
            Some(kept) => self.unwrapped(asking, &kept, bound),
            None => Err(self.seals_otherwise()),
        };
        if opens(bound)? != root {
            return Err(self.seals_otherwise());
        }
        match opens(NO_DATABASE) {
            Err(KeyError::Refused { .. }) => Ok((root, kept)),
            Err(error) => Err(error),
            Ok(_) => Err(self.seals_otherwise()),
        }
    }

    /// Has the server seal a new root. Gives what it made of it, as a slot keeps it.
    fn sealed(
        &self,
        asking: &Asking<'_>,
        id: &str,
        bound: &str,
    ) -> Result<(SecretKey, Vec<u8>), KeyError> {
        let no_random = || self.name.is_unavailable("there are no random bytes");
        let crypto = CryptoProvider::aws_lc();
        let root = crypto.random_key().map_err(|_| no_random())?;
        let mut iv = [0; NONCE_LEN];
        crypto.random(&mut iv).map_err(|_| no_random())?;
        let answer = asking.ask(&Operation::Encrypt {
            id,
            data: root.expose(),
            iv: &iv,
            bound: bound.as_bytes(),
        })?;
        let nonce = answer.iv().unwrap_or(&iv);
        let sealed = answer.data().filter(|data| data.len() == 32);
        let tag = answer.tag().filter(|tag| tag.len() == TAG_LEN);
        let (sealed, tag) = sealed.zip(tag).ok_or_else(|| self.seals_otherwise())?;
        let kept = Kept {
            id,
            nonce,
            sealed,
            tag,
        };
        Ok((root, kept.written()))
    }

    fn seals_otherwise(&self) -> KeyError {
        self.name.refuses(
            "it does not seal by AES-GCM with additional data: use a server of KMIP 1.4, or ?op=get",
        )
    }

    fn unwrapped(
        &self,
        asking: &Asking<'_>,
        kept: &Kept<'_>,
        bound: &str,
    ) -> Result<SecretKey, KeyError> {
        let answered = self.asked_to_open(asking, kept, bound)?;
        let has_failed = matches!(answered, Answered::Failed(_));
        match asking.key(answered) {
            // To some servers a wrong tag is a failure like any other: it is the slot's if the key does its work otherwise.
            Err(KeyError::Unavailable { .. }) if has_failed && self.works(asking, kept.id) => {
                Err(self.name.refuses(
                    "it fails at what the slot has alone, which is another key's or database's, or edited",
                ))
            }
            key => key,
        }
    }

    fn asked_to_open(
        &self,
        asking: &Asking<'_>,
        kept: &Kept<'_>,
        bound: &str,
    ) -> Result<Answered, KeyError> {
        asking.answered(&Operation::Decrypt {
            id: kept.id,
            data: kept.sealed,
            iv: kept.nonce,
            tag: kept.tag,
            bound: bound.as_bytes(),
        })
    }

    /// Whether the key seals and opens something now.
    fn works(&self, asking: &Asking<'_>, id: &str) -> bool {
        let Ok((root, kept)) = self.sealed(asking, id, NO_DATABASE) else {
            return false;
        };
        let opened = Kept::parse(&kept).map(|kept| {
            let answered = self.asked_to_open(asking, &kept, NO_DATABASE);
            answered.and_then(|answered| asking.key(answered))
        });
        opened == Some(Ok(root))
    }

    fn handed_out(&self, asking: &Asking<'_>, id: &str) -> Result<SecretKey, KeyError> {
        let answer = asking.ask(&Operation::Get { id })?;
        let key = answer.key().and_then(SecretKey::from_slice);
        key.ok_or_else(|| {
            self.name
                .refuses("that is no key of 32 bytes: use an AES-256 key")
        })
    }
}

impl KeyProvider for Kmip {
    fn kind(&self) -> ProviderKind {
        ProviderKind::KMIP
    }

    fn establish(&self, context: &KeyContext) -> Result<(KeyMaterial, Vec<u8>), KeyError> {
        let asking = self.begin()?;
        let ids = asking.ids()?;
        let [id] = ids.as_slice() else {
            return Err(self.name.refuses(match ids.is_empty() {
                true => "there is no key of this name",
                false => "several keys have this name: name one by its id",
            }));
        };
        if id.is_empty() || id.len() > MAX_ID_LEN {
            return Err(asking.unlike());
        }
        asking.is_usable(id)?;
        let (root, kept) = match self.hands_out {
            true => (self.handed_out(&asking, id)?, Kept::of(id).written()),
            false => self.wrapped(&asking, id, &bound_text(context))?,
        };
        Ok((KeyMaterial::Raw(root), blob::written(id, &kept)))
    }

    fn recover(&self, context: &KeyContext, blob: &[u8]) -> Result<KeyMaterial, KeyError> {
        let kept = blob::service_bytes(blob).and_then(Kept::parse);
        let kept = kept.filter(|kept| kept.sealed.is_empty() == self.hands_out);
        let kept = kept.ok_or_else(|| {
            self.name.refuses(
                "the slot's blob is not of this kind of key: another URL, or an edited file",
            )
        })?;
        let asking = self.begin()?;
        if !asking.ids()?.iter().any(|id| id == kept.id) {
            return Err(self.name.refuses(
                "the slot is of another key than the URL names: check it, or an edited file",
            ));
        }
        asking.is_usable(kept.id)?;
        let root = match self.hands_out {
            true => self.handed_out(&asking, kept.id)?,
            false => self.unwrapped(&asking, &kept, &bound_text(context))?,
        };
        Ok(KeyMaterial::Raw(root))
    }

    fn keeps_blob(&self) -> bool {
        true
    }
}

impl fmt::Debug for Kmip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kmip")
            .field("host", &self.host)
            .field("port", &self.port)
            .finish_non_exhaustive()
    }
}

impl<'a> Kept<'a> {
    fn of(id: &'a str) -> Self {
        Self {
            id,
            nonce: &[],
            sealed: &[],
            tag: &[],
        }
    }

    /// `n u8 | id | m u8 | nonce | 32 bytes | tag`; of a key that is handed out `n u8 | id | 0`.
    fn written(&self) -> Vec<u8> {
        let mut bytes = vec![self.id.len() as u8];
        bytes.extend(self.id.as_bytes());
        bytes.push(self.nonce.len() as u8);
        for part in [self.nonce, self.sealed, self.tag] {
            bytes.extend(part);
        }
        bytes
    }

    /// The bytes are anyone's.
    fn parse(bytes: &'a [u8]) -> Option<Self> {
        let (len, rest) = bytes.split_first()?;
        let (id, rest) = rest.split_at_checked(usize::from(*len))?;
        let id = std::str::from_utf8(id).ok()?;
        let is_fit = !id.is_empty() && id.len() <= MAX_ID_LEN && !id.chars().any(char::is_control);
        let (len, rest) = rest.split_first().filter(|_| is_fit)?;
        let (nonce, rest) = rest.split_at_checked(usize::from(*len))?;
        if nonce.is_empty() && rest.is_empty() {
            return Some(Self::of(id));
        }
        let (sealed, tag) = rest.split_at_checked(32)?;
        let is_fit = (1..=16).contains(&nonce.len()) && tag.len() == TAG_LEN;
        is_fit.then_some(Self {
            id,
            nonce,
            sealed,
            tag,
        })
    }
}

/// One key's requests.
struct Asking<'a> {
    kmip: &'a Kmip,
    version: Cell<Version>,
    waiting: Waiting,
    config: Arc<ClientConfig>,
}

impl Asking<'_> {
    /// The ids that the URL gives.
    fn ids(&self) -> Result<Vec<String>, KeyError> {
        match &self.kmip.key {
            Named::Id(id) => Ok(vec![id.clone()]),
            Named::Name(name) => Ok(self.ask(&Operation::Locate { name })?.ids()),
        }
    }

    /// Refuses a key that was revoked: some servers hand it out all the same.
    fn is_usable(&self, id: &str) -> Result<(), KeyError> {
        if self.kmip.any_state {
            return Ok(());
        }
        let state = self.ask(&Operation::State { id })?.state();
        match state.ok_or_else(|| self.unlike())? {
            ACTIVE => Ok(()),
            state => Err(self.kmip.name.refuses(format!(
                "the key is not active there (state {state}): activate it, or restore it"
            ))),
        }
    }

    fn ask(&self, operation: &Operation<'_>) -> Result<Payload, KeyError> {
        self.payload(self.answered(operation)?)
    }

    fn payload(&self, answered: Answered) -> Result<Payload, KeyError> {
        match answered {
            Answered::Done(payload) => Ok(payload),
            Answered::Failed(reason) => Err(self.failed(reason)),
            Answered::Unlike => Err(self.unlike()),
        }
    }

    /// What was opened.
    fn key(&self, answered: Answered) -> Result<SecretKey, KeyError> {
        let payload = self.payload(answered)?;
        let key = payload.data().and_then(SecretKey::from_slice);
        key.ok_or_else(|| self.unlike())
    }

    /// What it says, in version 2.0 where it does not understand those before.
    fn answered(&self, operation: &Operation<'_>) -> Result<Answered, KeyError> {
        let answered = self.said(operation)?;
        let is_understood =
            !matches!(answered, Answered::Failed(Some(reason)) if NOT_UNDERSTOOD.contains(&reason));
        if is_understood || self.version.replace(Version::Two) == Version::Two {
            return Ok(answered);
        }
        self.said(operation)
    }

    fn said(&self, operation: &Operation<'_>) -> Result<Answered, KeyError> {
        let kmip = self.kmip;
        let request = operation.request(self.version.get());
        self.waiting.call(|| {
            let (host, port) = (&kmip.host, kmip.port);
            let mut connection =
                Connection::open(&self.config, host, port, &self.waiting, &kmip.name)?;
            let answer = connection.call(&request)?;
            match operation.answer(&answer) {
                Answered::Unlike => Err(Trouble {
                    error: self.unlike(),
                    again: false,
                }),
                answered => Ok(answered),
            }
        })
    }

    /// What a server's reason says of the key: nothing, unless it is one of those that do.
    fn failed(&self, reason: Option<u32>) -> KeyError {
        let name = &self.kmip.name;
        let number = reason.unwrap_or_default();
        match reason {
            Some(AUTHENTICATION_NOT_SUCCESSFUL) => name.does_not_accept(format!(
                "reason {number}: its server does not know this client's certificate"
            )),
            Some(reason) if WORDS_ON_THE_KEY.contains(&reason) => name.refuses(format!(
                "reason {number}: the key is gone, not allowed, or the slot is another key's or database's"
            )),
            _ => name.is_unavailable(format!(
                "reason {number}: it failed, or does not do what is asked, which says nothing of the key"
            )),
        }
    }

    fn unlike(&self) -> KeyError {
        self.kmip
            .name
            .is_unavailable("its answer is not one of KMIP: check host and port")
    }
}

/// A parameter of two words, the first of which is the default; whether it is the second.
fn one_of(
    url: &mut KeyUrl,
    parameter: &'static str,
    words: [&str; 2],
    expected: &'static str,
) -> Result<bool, PlaceError> {
    match url.take(parameter)?.as_deref() {
        None => Ok(false),
        Some(word) if word == words[0] => Ok(false),
        Some(word) if word == words[1] => Ok(true),
        Some(_) => Err(PlaceError::InvalidParameter {
            parameter,
            expected,
        }),
    }
}

/// Reads whatever a server or a file says, for fuzz targets.
pub(crate) fn read_any(bytes: &[u8]) {
    operations::read_any(bytes);
    let _ = Kept::parse(bytes);
}
