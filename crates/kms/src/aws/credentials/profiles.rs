//! `Profiles`: sections of AWS's files `config` and `credentials`. AWS, "Configuration and credential file settings".
//!
//! What must hold: values are wiped when they are dropped; lines that are nested below another are none of ours.

use std::collections::BTreeMap;

use hushdb_crypto::SecretBytes;

use super::Credentials;

/// Profiles and sessions of SSO, by the heads that they have in the file `config`.
#[derive(Default)]
pub(super) struct Profiles(BTreeMap<String, Section>);

/// Names in small letters, and values.
#[derive(Default)]
pub(super) struct Section(BTreeMap<String, SecretBytes>);

impl Profiles {
    /// Reads one of the files. What is read later takes the place of what was there.
    pub(super) fn read(&mut self, text: &str, is_config: bool) {
        let mut head = None;
        for line in text.lines() {
            let is_nested = line.starts_with([' ', '\t']);
            let line = line.trim();
            if line.starts_with(['#', ';']) {
                continue;
            }
            if let Some(rest) = line.strip_prefix('[') {
                let name = rest.split_once(']').map(|(name, _)| name.trim());
                head = name.and_then(|name| head_of(name, is_config));
                if let Some(head) = &head {
                    self.0.entry(head.clone()).or_default();
                }
                continue;
            }
            let section = head.as_ref().filter(|_| !is_nested);
            let section = section.and_then(|head| self.0.get_mut(head));
            if let (Some(section), Some((name, value))) = (section, line.split_once('=')) {
                let name = name.trim().to_ascii_lowercase();
                section.0.insert(name, SecretBytes::from(plain(value)));
            }
        }
    }

    /// A profile by its name.
    pub(super) fn profile(&self, name: &str) -> Option<&Section> {
        self.0.get(&format!("profile {name}"))
    }

    /// A session of SSO by its name.
    pub(super) fn sso_session(&self, name: &str) -> Option<&Section> {
        self.0.get(&format!("sso-session {name}"))
    }
}

impl Section {
    /// Whether it says so.
    pub(super) fn has(&self, name: &str) -> bool {
        self.0.get(name).is_some_and(|it| !it.expose().is_empty())
    }

    /// What is no secret.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        let value = self.0.get(name)?.expose();
        let text = String::from_utf8_lossy(value).into_owned();
        (!text.is_empty()).then_some(text)
    }

    /// An access key that stands in it.
    pub(super) fn keys(&self) -> Option<Credentials> {
        let value = |name: &str| {
            let value = self.0.get(name).filter(|it| !it.expose().is_empty());
            value.map(SecretBytes::duplicate)
        };
        Some(Credentials {
            id: value("aws_access_key_id")?,
            secret: value("aws_secret_access_key")?,
            session: value("aws_session_token"),
        })
    }

    /// Whether it says anything of credentials.
    pub(super) fn has_credentials(&self) -> bool {
        let names = [
            "aws_access_key_id",
            "aws_secret_access_key",
            "role_arn",
            "sso_session",
            "sso_account_id",
            "credential_process",
            "login_session",
        ];
        names.into_iter().any(|name| self.has(name))
    }
}

/// `default`, `profile x` and `sso-session x` of `config`, `x` of `credentials`.
fn head_of(name: &str, is_config: bool) -> Option<String> {
    let named = |kind: &str, name: &str| {
        let name = name.trim();
        let bare = name.strip_prefix('"').and_then(|it| it.strip_suffix('"'));
        Some(format!("{kind} {}", bare.unwrap_or(name)))
    };
    match name.split_once([' ', '\t']) {
        _ if !is_config || name == "default" => named("profile", name),
        Some((kind @ ("profile" | "sso-session"), name)) => named(kind, name),
        _ => None,
    }
}

/// A value without a comment behind it.
fn plain(value: &str) -> &str {
    let comments = [" #", " ;", "\t#", "\t;"];
    let end = comments.iter().filter_map(|it| value.find(it)).min();
    value[..end.unwrap_or(value.len())].trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(profiles: &Profiles, name: &str) -> Option<(String, String, Option<String>)> {
        let found = profiles.profile(name)?.keys()?;
        let text = |it: &SecretBytes| String::from_utf8_lossy(it.expose()).into_owned();
        Some((
            text(&found.id),
            text(&found.secret),
            found.session.as_ref().map(text),
        ))
    }

    #[test]
    fn a_profile_is_found_among_others() {
        let mut profiles = Profiles::default();
        profiles.read(
            "# mine\n[default]\naws_access_key_id=A\naws_secret_access_key = B ; not =B\n\n[ other ]\n\
             aws_access_key_id = C\nAWS_SECRET_ACCESS_KEY=D=\naws_session_token=E\nregion=x\n[half]\naws_access_key_id=F\n",
            false,
        );
        let of = |name| keys(&profiles, name);
        assert_eq!(of("default"), Some(("A".into(), "B".into(), None)));
        let other = ("C".to_owned(), "D=".to_owned(), Some("E".to_owned()));
        assert_eq!(of("other"), Some(other));
        assert_eq!(of("half"), None);
        assert_eq!(of("none"), None);
    }

    #[test]
    fn heads_of_both_files_meet_and_the_later_has_the_last_word() {
        let mut profiles = Profiles::default();
        profiles.read(
            "[profile a]\naws_access_key_id=1\naws_secret_access_key=2\ns3 =\n  role_arn = nested\n[b]\nrole_arn=x\n\
             [profile \"c d\"]\nrole_arn=y\n[sso-session a]\nsso_region=z\n[services s]\nrole_arn=w\n[profile e\nrole_arn=v\n",
            true,
        );
        profiles.read("[a]\naws_secret_access_key=3\n", false);
        let keys = keys(&profiles, "a");
        assert_eq!(keys, Some(("1".into(), "3".into(), None)));
        assert!(!profiles.profile("a").unwrap().has("role_arn"));
        assert!(profiles.profile("b").is_none() && profiles.profile("e").is_none());
        assert!(profiles.profile("c d").unwrap().has_credentials());
        let session = profiles.sso_session("a").unwrap();
        assert_eq!(session.text("sso_region").as_deref(), Some("z"));
        assert!(!session.has_credentials());
    }
}
