//! Who asks AWS: the chain of places that its SDKs look for credentials in, and in their order. Variables; the profile of the two files, with a
//! role, a web identity, SSO, a program or keys; a web identity of variables; a container's service; the machine's.
//!
//! What must hold: nothing is kept from one key to the next, so what ends is asked for anew and nothing is left when a database is closed; files
//! are read anew each time, since others renew them; nothing of a credential is repeated. What a profile asks for that is not known here is
//! refused by its name.
#![expect(
    clippy::disallowed_methods,
    reason = "it reads the files of profiles and tokens"
)]

mod metadata;
mod process;
mod profiles;
mod sso;
pub(super) mod sts;

use std::path::Path;

use hushdb_crypto::SecretBytes;
use hushdb_keys::KeyError;
use zeroize::Zeroizing;

use super::access_key::Credentials;
use crate::Environment;
use crate::failures::PlaceName;
use crate::patience::Waiting;
use profiles::{Profiles, Section};

/// Most bytes of a file of profiles or of a token.
const MAX_FILE_LEN: u64 = 64 << 10;
/// Most files of logins that are looked at.
const MAX_FILES: usize = 64;
/// Most profiles that take their credentials from one another.
const MAX_PROFILES: usize = 16;

const NONE: &str = "there are no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, name a profile by AWS_PROFILE, or run where a \
                    container's or a machine's role gives them";

/// One place of a chain, which may have none.
type Place<C> = fn(&C) -> Result<Option<Credentials>, KeyError>;

/// One look for credentials, on behalf of one key.
pub(super) struct Chain<'a> {
    pub(super) environment: &'a Environment,
    /// That of the key, where its roles are assumed.
    pub(super) region: &'a str,
    /// Who is told of what is missing.
    pub(super) name: &'a PlaceName,
    pub(super) waiting: &'a Waiting,
}

impl Chain<'_> {
    /// The first that there are; otherwise what to do.
    pub(super) fn credentials(&self) -> Result<Credentials, KeyError> {
        let places: [Place<Self>; 5] = [
            Self::of_variables,
            Self::of_the_profile,
            Self::of_web_identity,
            Self::of_a_container,
            Self::of_the_machine,
        ];
        for place in places {
            if let Some(found) = place(self)? {
                return Ok(found);
            }
        }
        Err(self.refused(NONE))
    }

    fn of_variables(&self) -> Result<Option<Credentials>, KeyError> {
        let id = self.environment.secret("AWS_ACCESS_KEY_ID");
        let secret = self.environment.secret("AWS_SECRET_ACCESS_KEY");
        match (id, secret) {
            (Some(id), Some(secret)) => Ok(Some(Credentials {
                id,
                secret,
                session: self.environment.secret("AWS_SESSION_TOKEN"),
            })),
            (None, None) => Ok(None),
            _ => Err(self.refused(
                "of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY one is set alone: set both, or neither",
            )),
        }
    }

    /// What `AWS_PROFILE` names must be there; `default` need not be, nor have credentials.
    fn of_the_profile(&self) -> Result<Option<Credentials>, KeyError> {
        let named = self.environment.text("AWS_PROFILE");
        let profiles = self.profiles()?;
        let name = named.as_deref().unwrap_or("default");
        match (profiles.profile(name), &named) {
            (Some(section), _) if section.has_credentials() => self
                .of_profile(&profiles, name, &mut Vec::new())
                .map(Some),
            (_, None) => Ok(None),
            (Some(_), Some(_)) => Err(self.refused(
                "the profile of AWS_PROFILE says nothing of credentials: give it keys, a role, SSO or a program",
            )),
            (None, Some(_)) => {
                Err(self.refused("there is no profile of the name in AWS_PROFILE: check it"))
            }
        }
    }

    /// Credentials of a profile, as `seen` ask for it.
    fn of_profile(
        &self,
        profiles: &Profiles,
        name: &str,
        seen: &mut Vec<String>,
    ) -> Result<Credentials, KeyError> {
        let profile = profiles.profile(name);
        let profile = profile.ok_or_else(|| {
            self.refused("source_profile names a profile that there is not: check it")
        })?;
        // Keys of a role's source come before what else it says: a profile may be its own source.
        if let Some(keys) = profile.keys().filter(|_| !seen.is_empty()) {
            return Ok(keys);
        }
        if seen.len() >= MAX_PROFILES || seen.iter().any(|it| it == name) {
            return Err(self.refused(
                "profiles take their credentials from one another in a circle: check source_profile",
            ));
        }
        seen.push(name.to_owned());
        if profile.has("role_arn") {
            return self.of_role(profiles, profile, seen);
        }
        if profile.has("sso_session") || profile.has("sso_account_id") {
            return sso::credentials(self, profiles, profile);
        }
        if let Some(line) = profile.text("credential_process") {
            return process::credentials(self, &line);
        }
        profile.keys().ok_or_else(|| match profile.has("login_session") {
            true => self.refused(
                "the profile has login_session, which is not known here: \"aws configure export-credentials --format env\" gives variables for it",
            ),
            false => self.refused("a profile says nothing of credentials: give it keys, a role, SSO or a program"),
        })
    }

    fn of_role(
        &self,
        profiles: &Profiles,
        profile: &Section,
        seen: &mut Vec<String>,
    ) -> Result<Credentials, KeyError> {
        let role = sts::Role::of_profile(self, profile)?;
        if let Some(path) = profile.text("web_identity_token_file") {
            return sts::assume_with_web_identity(self, &role, &self.token(&path)?);
        }
        if profile.has("mfa_serial") {
            return Err(self.refused(
                "the profile has mfa_serial, and nobody is asked for a code here: \"aws configure export-credentials --format env\" gives variables for it",
            ));
        }
        let base = match (
            profile.text("source_profile"),
            profile.text("credential_source"),
        ) {
            (Some(source), None) => self.of_profile(profiles, &source, seen)?,
            (None, Some(source)) => self.of_source(&source)?,
            _ => {
                return Err(self.refused(
                    "a profile with role_arn has source_profile, credential_source or web_identity_token_file, and one of them alone",
                ));
            }
        };
        sts::assume(self, &role, &base)
    }

    fn of_source(&self, source: &str) -> Result<Credentials, KeyError> {
        let found = match source {
            "Environment" => self.of_variables()?,
            "EcsContainer" => self.of_a_container()?,
            "Ec2InstanceMetadata" => self.of_the_machine()?,
            _ => {
                return Err(self.refused(
                    "credential_source is none of Environment, EcsContainer and Ec2InstanceMetadata: correct the profile",
                ));
            }
        };
        found.ok_or_else(|| {
            self.refused("credential_source names a place that has no credentials here")
        })
    }

    fn of_web_identity(&self) -> Result<Option<Credentials>, KeyError> {
        let Some(path) = self.environment.text("AWS_WEB_IDENTITY_TOKEN_FILE") else {
            return Ok(None);
        };
        let role = sts::Role::of_variables(self)?;
        sts::assume_with_web_identity(self, &role, &self.token(&path)?).map(Some)
    }

    fn of_a_container(&self) -> Result<Option<Credentials>, KeyError> {
        metadata::of_a_container(self)
    }

    fn of_the_machine(&self) -> Result<Option<Credentials>, KeyError> {
        metadata::of_the_machine(self)
    }

    /// Who asks is not known, and why.
    fn refused(&self, why: impl Into<String>) -> KeyError {
        self.name.does_not_accept(why)
    }

    /// The two files; one that a variable names must be there.
    fn profiles(&self) -> Result<Profiles, KeyError> {
        let mut profiles = Profiles::default();
        for (variable, of_home, is_config) in [
            ("AWS_CONFIG_FILE", "config", true),
            ("AWS_SHARED_CREDENTIALS_FILE", "credentials", false),
        ] {
            let named = self.environment.text(variable);
            let path = named.clone().or_else(|| self.of_home(of_home));
            let Some(path) = path else { continue };
            let text = match (read(&path), named) {
                (Some(text), _) => text,
                (None, None) => continue,
                (None, Some(_)) => {
                    return Err(self.refused(format!(
                        "the file of {variable} cannot be read, or has more than {MAX_FILE_LEN} bytes: check it"
                    )));
                }
            };
            let text = std::str::from_utf8(&text)
                .map_err(|_| self.refused(format!("the file of {variable} is not text")))?;
            profiles.read(text, is_config);
        }
        Ok(profiles)
    }

    /// A file in `~/.aws`.
    fn of_home(&self, name: &str) -> Option<String> {
        Some(format!("{}/.aws/{name}", self.environment.text("HOME")?))
    }

    /// A token that somebody renews in a file.
    fn token(&self, path: &str) -> Result<SecretBytes, KeyError> {
        let text = read(path);
        let token = text.as_ref().map(|text| text.trim_ascii());
        let token = token.and_then(|token| std::str::from_utf8(token).ok());
        match token.filter(|token| !token.is_empty()) {
            Some(token) => Ok(token.into()),
            None => Err(self.refused("the file of a token has none, or cannot be read: check it")),
        }
    }
}

/// Reads a text as either of the two files.
pub(super) fn read_profiles(text: &str) {
    for is_config in [true, false] {
        Profiles::default().read(text, is_config);
    }
}

/// A file of at most [`MAX_FILE_LEN`].
fn read(path: impl AsRef<Path>) -> Option<Zeroizing<Vec<u8>>> {
    use std::io::Read;
    // It never grows, which would leave a part of it behind.
    let mut text = Zeroizing::new(Vec::with_capacity(MAX_FILE_LEN as usize + 1));
    let file = std::fs::File::open(path).ok()?;
    let len = file.take(MAX_FILE_LEN + 1).read_to_end(&mut text).ok()?;
    (len as u64 <= MAX_FILE_LEN).then_some(text)
}

/// The files of a directory whose names end with `.json`, of which it looks at [`MAX_FILES`].
fn read_all(directory: &str) -> impl Iterator<Item = Zeroizing<Vec<u8>>> + use<> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    let paths = paths.filter(|path| path.extension().is_some_and(|it| it == "json"));
    paths.take(MAX_FILES).filter_map(read)
}
