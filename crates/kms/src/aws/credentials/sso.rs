//! SSO (IAM Identity Center): credentials of a role for who has logged in by `aws sso login`, whose token is in the
//! file of `~/.aws/sso/cache` that names the same start URL.
//!
//! What must hold: the token goes to the portal of the profile's region and nowhere else; one that has ended is not sent. It is not renewed here.

use chrono::{DateTime, Utc};
use hushdb_crypto::SecretBytes;
use hushdb_keys::KeyError;

use super::profiles::{Profiles, Section};
use super::sts::encode;
use super::{Chain, Credentials, read_all};
use crate::aws::{domain_of, is_region};
use crate::failures::PlaceName;
use crate::http::{Http, Origin};
use crate::patience::Trouble;
use crate::secret_json::Answer;

const VARIABLE: &str = "AWS_ENDPOINT_URL_SSO";
const NAMES: [&str; 3] = [
    "/roleCredentials/accessKeyId",
    "/roleCredentials/secretAccessKey",
    "/roleCredentials/sessionToken",
];
const LOG_IN: &str = "nobody is logged in, or the login has ended: \"aws sso login\" with this profile, and try again";

/// Those of the profile's role.
pub(super) fn credentials(
    chain: &Chain<'_>,
    profiles: &Profiles,
    profile: &Section,
) -> Result<Credentials, KeyError> {
    let lacks = |what: &str| chain.refused(format!("the profile has no {what}: set it for SSO"));
    let session = match profile.text("sso_session") {
        Some(name) => profiles.sso_session(&name).ok_or_else(|| {
            chain.refused("there is no sso-session of the name in the profile: check the file")
        })?,
        None => profile,
    };
    let start_url = session.text("sso_start_url");
    let start_url = start_url.ok_or_else(|| lacks("sso_start_url"))?;
    let region = session.text("sso_region").filter(|it| is_region(it));
    let region = region.ok_or_else(|| lacks("sso_region, or none of a region's form"))?;
    let account = profile.text("sso_account_id");
    let account = account.ok_or_else(|| lacks("sso_account_id"))?;
    let role = profile.text("sso_role_name");
    let role = role.ok_or_else(|| lacks("sso_role_name"))?;
    let token = token(chain, &start_url)?;
    let mut path = b"/federation/credentials?account_id=".to_vec();
    encode(account.as_bytes(), &mut path);
    path.extend(b"&role_name=");
    encode(role.as_bytes(), &mut path);
    ask(chain, &region, &String::from_utf8_lossy(&path), &token)
}

/// The token of the last login at this URL.
fn token(chain: &Chain<'_>, start_url: &str) -> Result<SecretBytes, KeyError> {
    let cache = chain.of_home("sso/cache");
    let files = cache.iter().flat_map(|cache| read_all(cache));
    let logins = files.filter_map(|text| {
        let mut answer = Answer::parse(&text)?;
        let is_of_url = answer.text("/startUrl")?.as_str() == start_url;
        let ends = answer.text("/expiresAt")?;
        // As the command wrote it once.
        let ends = DateTime::parse_from_rfc3339(&ends.replace("UTC", "Z")).ok()?;
        let token = answer.text("/accessToken").filter(|it| !it.is_empty())?;
        is_of_url.then(|| (ends, SecretBytes::from(token.as_str())))
    });
    let last = logins.max_by_key(|(ends, _)| *ends);
    match last.filter(|(ends, _)| *ends > Utc::now()) {
        Some((_, token)) => Ok(token),
        None => Err(chain.refused(LOG_IN)),
    }
}

fn ask(
    chain: &Chain<'_>,
    region: &str,
    path: &str,
    token: &SecretBytes,
) -> Result<Credentials, KeyError> {
    let endpoint = chain.environment.text(VARIABLE);
    let endpoint =
        endpoint.unwrap_or_else(|| format!("https://portal.sso.{region}.{}", domain_of(region)));
    let origin =
        Origin::parse(&endpoint, VARIABLE).map_err(|error| chain.refused(error.to_string()))?;
    let name = PlaceName(format!("AWS SSO at {origin}"));
    let http = Http::new(&origin, None, &name)?;
    let headers = [("x-amz-sso_bearer_token", token)];
    let reply = chain.waiting.call(|| {
        let reply = http.call(chain.waiting, path, &headers, None)?;
        let status = reply.status;
        let (error, again) = match status {
            200 => return Ok(reply),
            401 => (name.does_not_accept(format!("status 401: {LOG_IN}")), false),
            400 | 403 | 404 => (
                name.does_not_accept(format!(
                    "status {status}: check sso_account_id and sso_role_name, and that the role is given to who has logged in"
                )),
                false,
            ),
            _ => (
                name.is_unavailable(format!("status {status}: try again later")),
                status == 429 || status >= 500,
            ),
        };
        Err(Trouble { error, again })
    })?;
    let answer = Answer::parse(&reply.body);
    let found = answer.and_then(|mut answer| Credentials::of_json(&mut answer, NAMES));
    found.filter(|it| it.session.is_some()).ok_or_else(|| {
        name.is_unavailable("its answer is not one of AWS SSO: check AWS_ENDPOINT_URL_SSO")
    })
}
