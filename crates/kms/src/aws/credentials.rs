//! Who asks AWS: keys of variables, or of a profile in the credentials' file. Roles of machines, SSO and assumed roles are not known here.
//!
//! What must hold: the file is read anew each time, since others renew it, and nothing of it is repeated.
#![expect(
    clippy::disallowed_methods,
    reason = "it reads the file of credentials"
)]

use hushdb_crypto::SecretBytes;
use zeroize::Zeroizing;

use crate::Environment;

/// Most bytes of a credentials' file.
const MAX_FILE_LEN: u64 = 64 << 10;

/// An access key.
pub(super) struct Credentials {
    pub(super) id: SecretBytes,
    pub(super) secret: SecretBytes,
    pub(super) session: Option<SecretBytes>,
}

/// Those of the variables, else of the profile; otherwise what to do.
pub(super) fn credentials(environment: &Environment) -> Result<Credentials, String> {
    let id = environment.secret("AWS_ACCESS_KEY_ID");
    let secret = environment.secret("AWS_SECRET_ACCESS_KEY");
    if let (Some(id), Some(secret)) = (id, secret) {
        let session = environment.secret("AWS_SESSION_TOKEN");
        return Ok(Credentials {
            id,
            secret,
            session,
        });
    }
    let none = "there are no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or name a profile with keys by AWS_PROFILE";
    let path = environment.text("AWS_SHARED_CREDENTIALS_FILE");
    let of_home = || Some(format!("{}/.aws/credentials", environment.text("HOME")?));
    let path = path.or_else(of_home).ok_or(none)?;
    let profile = environment.text("AWS_PROFILE");
    let profile = profile.as_deref().unwrap_or("default");
    let text = read(&path).ok_or_else(|| format!("{none}; {path} cannot be read"))?;
    let text = std::str::from_utf8(&text).map_err(|_| format!("{path} is not text"))?;
    of_profile(text, profile)
        .ok_or_else(|| format!("{path} has no access key for the profile: check AWS_PROFILE"))
}

fn read(path: &str) -> Option<Zeroizing<Vec<u8>>> {
    use std::io::Read;
    let mut text = Zeroizing::new(Vec::with_capacity(MAX_FILE_LEN as usize + 1));
    let file = std::fs::File::open(path).ok()?;
    let len = file.take(MAX_FILE_LEN + 1).read_to_end(&mut text).ok()?;
    (len as u64 <= MAX_FILE_LEN).then_some(text)
}

fn of_profile(text: &str, profile: &str) -> Option<Credentials> {
    let mut is_profile = false;
    let (mut id, mut secret, mut session) = (None, None, None);
    for line in text.lines().map(str::trim) {
        if let Some(section) = line.strip_prefix('[').and_then(|it| it.strip_suffix(']')) {
            is_profile = section.trim() == profile;
            continue;
        }
        let Some((name, value)) = line.split_once('=').filter(|_| is_profile) else {
            continue;
        };
        let value = || Some(SecretBytes::from(value.trim()));
        match name.trim() {
            "aws_access_key_id" => id = value(),
            "aws_secret_access_key" => secret = value(),
            "aws_session_token" => session = value(),
            _ => {}
        }
    }
    Some(Credentials {
        id: id?,
        secret: secret?,
        session,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_is_found_among_others() {
        let text = "# mine\n[default]\naws_access_key_id=A\naws_secret_access_key = B\n\n[ other ]\n\
                    aws_access_key_id = C\naws_secret_access_key=D=\naws_session_token=E\nregion=x\n[half]\naws_access_key_id=F\n";
        let found = |profile| {
            let found = of_profile(text, profile)?;
            let text = |it: &SecretBytes| String::from_utf8_lossy(it.expose()).into_owned();
            Some((
                text(&found.id),
                text(&found.secret),
                found.session.as_ref().map(text),
            ))
        };
        assert_eq!(found("default"), Some(("A".into(), "B".into(), None)));
        let other = ("C".to_owned(), "D=".to_owned(), Some("E".to_owned()));
        assert_eq!(found("other"), Some(other));
        assert_eq!(found("half"), None);
        assert_eq!(found("none"), None);
    }
}
