//! `Pkcs11`: an AES key of a token or HSM, which wraps and never leaves it.
//!
//! `pkcs11:token=T;object=O?module-path=/path/to/module.so&pin-source=file:/path` (RFC 7512). Attributes token, serial, object, id and
//! type; without `pin-source` the PIN is asked for on the terminal. The token seals 32 bytes by AES-GCM, PKCS #11 version 2.40 mechanism
//! `CKM_AES_GCM`; the slot keeps the nonce of 12 bytes, the ciphertext and the tag.
//!
//! What must hold: a PIN is tried once, and never where it is the last try of a token; it stands in no URL. One key is used at
//! a time in a process, since a token's login is the process's. A token that was away is seen again without a restart.
#![expect(clippy::disallowed_methods, reason = "it reads the file of a PIN")]

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use cryptoki::context::{CInitializeArgs, CInitializeFlags, Pkcs11 as Module};
use cryptoki::error::{Error, RvError};
use cryptoki::mechanism::Mechanism;
use cryptoki::mechanism::aead::GcmParams;
use cryptoki::object::{Attribute, ObjectClass, ObjectHandle};
use cryptoki::session::{Session, UserType};
use cryptoki::slot::{Slot, TokenInfo};
use cryptoki::types::AuthPin;
use hushdb_crypto::{CryptoProvider, SecretKey};
use hushdb_keys::providers::PromptKey;
use hushdb_keys::{KeyContext, KeyError, KeyMaterial, KeyProvider, ProviderKind};
use zeroize::Zeroizing;

use crate::PlaceError;
use crate::blob::{self, bound_text};
use crate::failures::PlaceName;
use crate::key_url::{KeyUrl, decoded, decoded_bytes, shown_name};

const SCHEME: &str = "pkcs11";
const FORM: &str =
    "pkcs11:token=LABEL;object=LABEL?module-path=/absolute/path.so&pin-source=file:/path";
const NONCE_LEN: usize = 12;
const TAG_BITS: u64 = 128;
/// Nonce, 32 bytes and the tag.
const SEALED_LEN: usize = NONCE_LEN + 32 + 16;
/// Most bytes of a PIN's file.
const MAX_PIN_LEN: u64 = 1024;

/// Modules that this process has begun with.
static MODULES: Mutex<Modules> = Mutex::new(BTreeMap::new());

type Modules = BTreeMap<PathBuf, Begun>;

/// A module, and whether it was begun here: one that somebody else in the process began with is not ended, who would lose sessions.
struct Begun {
    module: Module,
    is_own: bool,
}

/// A key of a token.
pub(crate) struct Pkcs11 {
    module: PathBuf,
    token: Option<String>,
    serial: Option<String>,
    object: Option<String>,
    id: Option<Vec<u8>>,
    pin_file: Option<PathBuf>,
    name: PlaceName,
}

impl Pkcs11 {
    /// The key that a URL names.
    pub(crate) fn new(mut url: KeyUrl) -> Result<Self, PlaceError> {
        let malformed = PlaceError::Malformed {
            scheme: SCHEME,
            form: FORM,
        };
        if url.authority.is_some() {
            return Err(malformed);
        }
        // Decoded already where it stands between separators: an id may be any bytes, which are not text.
        let (mut token, mut serial, mut object, mut id) = (None, None, None, None);
        for pair in url.path.split(';').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').ok_or(malformed.clone())?;
            let place = match name {
                "token" => &mut token,
                "serial" => &mut serial,
                "object" => &mut object,
                "id" => {
                    id = Some(decoded_bytes(value)?);
                    continue;
                }
                "type" if value == "secret-key" => continue,
                name => {
                    return Err(PlaceError::UnknownParameter {
                        scheme: SCHEME,
                        parameter: shown_name(name.to_owned()),
                    });
                }
            };
            if place.replace(decoded(value)?).is_some() {
                return Err(malformed);
            }
        }
        if url.take("pin-value")?.is_some() {
            return Err(PlaceError::CredentialsInUrl {
                instead: "pin-source=file:/path has the PIN, or leave it out to be asked",
            });
        }
        let module = url.take("module-path")?.map(PathBuf::from);
        let module = module.filter(|module| module.is_absolute());
        let pin = url.take("pin-source")?;
        let pin_file = pin.map(|source| pin_file(&source)).transpose()?;
        url.finish(SCHEME)?;
        let module = module.ok_or(malformed.clone())?;
        if (object.is_none() && id.is_none()) || (token.is_none() && serial.is_none()) {
            return Err(malformed);
        }
        let shown = token.as_deref().or(serial.as_deref()).unwrap_or_default();
        Ok(Self {
            name: PlaceName(format!("the token {shown}")),
            module,
            token,
            serial,
            object,
            id,
            pin_file,
        })
    }

    /// Logs in at the token, finds the key and uses it.
    fn with_key<T>(
        &self,
        context: &KeyContext,
        work: impl Fn(&Session, ObjectHandle) -> Result<T, KeyError>,
    ) -> Result<T, KeyError> {
        // Held to the end: who logs out logs all sessions of the process out.
        let mut modules = MODULES.lock().unwrap_or_else(PoisonError::into_inner);
        let had_begun = modules.contains_key(&self.module);
        let mut may_try_again = had_begun;
        let done = self.once(&mut modules, context, &work, &mut may_try_again);
        match done {
            // Some modules do not see that a token is there again before they are begun with anew.
            Err(KeyError::Unavailable { .. }) if may_try_again && self.ends(&mut modules) => {
                self.once(&mut modules, context, &work, &mut may_try_again)
            }
            done => done,
        }
    }

    /// Ends the module, if it was begun here. No session of it is open.
    fn ends(&self, modules: &mut Modules) -> bool {
        let own = modules.get(&self.module).is_some_and(|begun| begun.is_own);
        let begun = own.then(|| modules.remove(&self.module)).flatten();
        // One that does not end is begun with as it is.
        begun.is_some_and(|begun| begun.module.finalize().is_ok())
    }

    /// As [`Pkcs11::with_key`]; `may_try_again` becomes false where a login failed: a PIN is tried once.
    fn once<T>(
        &self,
        modules: &mut Modules,
        context: &KeyContext,
        work: impl Fn(&Session, ObjectHandle) -> Result<T, KeyError>,
        may_try_again: &mut bool,
    ) -> Result<T, KeyError> {
        let module = self.module(modules)?;
        let (slot, info) = self.slot(module)?;
        let session = module
            .open_ro_session(slot)
            .map_err(|error| self.at(&error, "no session is opened"))?;
        if info.login_required() {
            let before = std::mem::replace(may_try_again, false);
            self.log_in(context, &session, &info)?;
            *may_try_again = before;
        }
        let done = self.key(&session).and_then(|key| work(&session, key));
        // Closing the session does it too; a token that is not there any more needs none.
        let _ = session.logout();
        done
    }

    fn module<'m>(&self, modules: &'m mut Modules) -> Result<&'m Module, KeyError> {
        if !modules.contains_key(&self.module) {
            let module = Module::new(&self.module).map_err(|_| {
                self.name
                    .is_unavailable("its module cannot be loaded: check module-path")
            })?;
            let begun = module.initialize(CInitializeArgs::new(CInitializeFlags::OS_LOCKING_OK));
            let is_own = match begun {
                Ok(()) => true,
                Err(Error::Pkcs11(RvError::CryptokiAlreadyInitialized, _)) => false,
                Err(error) => return Err(self.at(&error, "its module does not begin")),
            };
            modules.insert(self.module.clone(), Begun { module, is_own });
        }
        let begun = modules.get(&self.module).map(|begun| &begun.module);
        begun.ok_or_else(|| {
            self.name
                .is_unavailable("its module is not there any more: try again")
        })
    }

    fn slot(&self, module: &Module) -> Result<(Slot, TokenInfo), KeyError> {
        let failed = |error: Error| self.at(&error, "tokens cannot be listed");
        for slot in module.get_slots_with_token().map_err(failed)? {
            // One that was taken out in the meantime is not the one.
            let Ok(info) = module.get_token_info(slot) else {
                continue;
            };
            let fits = |wanted: &Option<String>, found: &str| {
                wanted
                    .as_ref()
                    .is_none_or(|wanted| wanted == found.trim_end())
            };
            if fits(&self.token, info.label()) && fits(&self.serial, info.serial_number()) {
                return Ok((slot, info));
            }
        }
        Err(self
            .name
            .is_unavailable("there is no such token: plug it in, or check its label"))
    }

    fn log_in(
        &self,
        context: &KeyContext,
        session: &Session,
        info: &TokenInfo,
    ) -> Result<(), KeyError> {
        if info.user_pin_locked() || info.user_pin_final_try() {
            return Err(self.name.does_not_accept(
                "its PIN is locked, or has one try left, which is not taken: log in by the token's own tool",
            ));
        }
        let pin = self.pin(context)?;
        session
            .login(UserType::User, Some(&pin))
            .map_err(|error| self.at(&error, "nobody is logged in"))
    }

    fn pin(&self, context: &KeyContext) -> Result<AuthPin, KeyError> {
        use std::io::Read;
        let Some(path) = &self.pin_file else {
            let asked = PromptKey::new("PIN: ").recover(context, &[])?;
            let KeyMaterial::Passphrase(pin) = asked else {
                return Err(self.name.does_not_accept("that is no PIN: type it again"));
            };
            return self.pin_of(pin.expose());
        };
        let mut text = Zeroizing::new(Vec::with_capacity(MAX_PIN_LEN as usize + 1));
        let read = std::fs::File::open(path)
            .and_then(|file| file.take(MAX_PIN_LEN + 1).read_to_end(&mut text));
        let shown = path.display();
        match read {
            Ok(len) if len as u64 <= MAX_PIN_LEN => self.pin_of(text.trim_ascii_end()),
            Ok(_) => Err(self.name.does_not_accept(format!(
                "the PIN's file {shown} holds more than a PIN: check it"
            ))),
            Err(error) => Err(self.name.does_not_accept(format!(
                "the PIN's file {shown} cannot be read ({}): check it",
                error.kind()
            ))),
        }
    }

    fn pin_of(&self, text: &[u8]) -> Result<AuthPin, KeyError> {
        match std::str::from_utf8(text) {
            Ok(pin) if !pin.is_empty() => Ok(AuthPin::new(pin.into())),
            _ => Err(self
                .name
                .does_not_accept("the PIN is empty or no text: check it")),
        }
    }

    fn key(&self, session: &Session) -> Result<ObjectHandle, KeyError> {
        let mut wanted = vec![Attribute::Class(ObjectClass::SECRET_KEY)];
        let label = self.object.as_ref();
        wanted.extend(label.map(|label| Attribute::Label(label.clone().into_bytes())));
        wanted.extend(self.id.clone().map(Attribute::Id));
        let found = session
            .find_objects(&wanted)
            .map_err(|error| self.at(&error, "its keys cannot be listed"))?;
        match found.as_slice() {
            [key] => Ok(*key),
            [] => Err(self
                .name
                .refuses("there is no such secret key on it: check object and id")),
            _ => Err(self
                .name
                .refuses("several keys fit: name one by its id as well")),
        }
    }

    fn open(
        &self,
        session: &Session,
        key: ObjectHandle,
        sealed: &[u8],
        bound: &str,
    ) -> Result<SecretKey, KeyError> {
        let refused = || {
            self.name.refuses(
                "it does not open what the slot has: another key of this name, or the slot of another database",
            )
        };
        let (nonce, sealed) = sealed.split_at_checked(NONCE_LEN).ok_or_else(refused)?;
        let mut nonce = nonce.to_vec();
        let parameters = GcmParams::new(&mut nonce, bound.as_bytes(), TAG_BITS.into());
        let parameters = parameters.map_err(|_| refused())?;
        match session.decrypt(&Mechanism::AesGcm(parameters), key, sealed) {
            Ok(root) => {
                let root = Zeroizing::new(root);
                SecretKey::from_slice(&root).ok_or_else(refused)
            }
            // Wrong associated data is a general error to some tokens.
            Err(error) if is_gone(&error) => Err(self.at(&error, "it cannot decrypt")),
            Err(_) => Err(refused()),
        }
    }

    /// Whether what is sealed for one database opens for another, too.
    fn opens_unbound(
        &self,
        session: &Session,
        key: ObjectHandle,
        sealed: &[u8],
    ) -> Result<bool, KeyError> {
        match self.open(session, key, sealed, "hushdb:no database") {
            Err(KeyError::Refused { .. }) => Ok(false),
            opened => opened.map(|_| true),
        }
    }

    fn seal(
        &self,
        session: &Session,
        key: ObjectHandle,
        root: &SecretKey,
        bound: &str,
    ) -> Result<Vec<u8>, KeyError> {
        let no_random = || self.name.is_unavailable("there are no random bytes");
        let mut nonce = vec![0; NONCE_LEN];
        CryptoProvider::aws_lc()
            .random(&mut nonce)
            .map_err(|_| no_random())?;
        let parameters = GcmParams::new(&mut nonce, bound.as_bytes(), TAG_BITS.into());
        let parameters = parameters.map_err(|_| no_random())?;
        let sealed = session
            .encrypt(&Mechanism::AesGcm(parameters), key, root.expose())
            .map_err(|error| match is_gone(&error) {
                true => self.at(&error, "it cannot encrypt"),
                false => self
                    .name
                    .refuses("the key does not encrypt by AES-GCM: use an AES key that may"),
            })?;
        // Some tokens take a nonce of their own, and write it there.
        Ok([nonce, sealed].concat())
    }

    fn at(&self, error: &Error, what: &str) -> KeyError {
        use RvError as R;
        let code = match error {
            Error::Pkcs11(code, _) => format!("{code:?}"),
            _ => "not as PKCS #11 says".to_owned(),
        };
        let why = format!("{what} ({code})");
        match error {
            Error::Pkcs11(
                R::PinIncorrect
                | R::PinInvalid
                | R::PinLenRange
                | R::PinExpired
                | R::PinLocked
                | R::UserPinNotInitialized,
                _,
            ) => self
                .name
                .does_not_accept(format!("{why}: check the PIN, a few wrong ones lock it")),
            _ => self.name.is_unavailable(why),
        }
    }
}

impl KeyProvider for Pkcs11 {
    fn kind(&self) -> ProviderKind {
        ProviderKind::PKCS11
    }

    fn establish(&self, context: &KeyContext) -> Result<(KeyMaterial, Vec<u8>), KeyError> {
        let root = CryptoProvider::aws_lc()
            .random_key()
            .map_err(|_| self.name.is_unavailable("there are no random bytes"))?;
        let bound = bound_text(context);
        let sealed = self.with_key(context, |session, key| {
            let sealed = self.seal(session, key, &root, &bound)?;
            let is_fit = sealed.len() == SEALED_LEN
                && self.open(session, key, &sealed, &bound)? == root
                && !self.opens_unbound(session, key, &sealed)?;
            match is_fit {
                true => Ok(sealed),
                false => Err(self
                    .name
                    .refuses("its AES-GCM does not bind what it seals: use another token")),
            }
        })?;
        let object = self.object.as_deref().unwrap_or("by id");
        let token = self.token.as_deref().unwrap_or("by serial");
        let blob = blob::written(&format!("{token}/{object}"), &sealed);
        Ok((KeyMaterial::Raw(root), blob))
    }

    fn recover(&self, context: &KeyContext, blob: &[u8]) -> Result<KeyMaterial, KeyError> {
        let sealed = blob::service_bytes(blob).filter(|sealed| sealed.len() == SEALED_LEN);
        let sealed = sealed.ok_or_else(|| {
            self.name
                .refuses("the slot's blob is not of a token: another URL, or an edited file")
        })?;
        self.with_key(context, |session, key| {
            self.open(session, key, sealed, &bound_text(context))
        })
        .map(KeyMaterial::Raw)
    }

    fn keeps_blob(&self) -> bool {
        true
    }

    fn asks_a_person(&self) -> bool {
        self.pin_file.is_none()
    }
}

impl fmt::Debug for Pkcs11 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pkcs11")
            .field("module", &self.module)
            .finish_non_exhaustive()
    }
}

/// Whether the token went away, which says nothing about the key.
fn is_gone(error: &Error) -> bool {
    use RvError as R;
    let Error::Pkcs11(code, _) = error else {
        return false;
    };
    matches!(
        code,
        R::DeviceRemoved
            | R::DeviceError
            | R::DeviceMemory
            | R::HostMemory
            | R::TokenNotPresent
            | R::SessionHandleInvalid
            | R::SessionClosed
            | R::CryptokiNotInitialized
    )
}

/// `file:/path`; commands of RFC 7512 are not run.
fn pin_file(source: &str) -> Result<PathBuf, PlaceError> {
    let path = source.strip_prefix("file:").map(Path::new);
    let path = path.filter(|path| path.is_absolute());
    path.map(Path::to_owned)
        .ok_or(PlaceError::InvalidParameter {
            parameter: "pin-source",
            expected: "file: and an absolute path",
        })
}
