//! AWS STS: the credentials of a role, for who has others or a token of an identity provider. `AssumeRole` and `AssumeRoleWithWebIdentity` of the
//! query protocol, version 2011-06-15.
//!
//! What must hold: what is sent and what comes is in memory that is wiped; of an error its code is repeated, where it looks like one.

use hushdb_crypto::SecretBytes;
use hushdb_keys::KeyError;
use zeroize::Zeroizing;

use super::profiles::Section;
use super::{Chain, Credentials};
use crate::aws::{domain_of, shown_code, sigv4};
use crate::failures::PlaceName;
use crate::http::{Http, Origin, Reply};
use crate::patience::Trouble;

const CONTENT_TYPE: &str = "application/x-www-form-urlencoded";
const VARIABLE: &str = "AWS_ENDPOINT_URL_STS";
/// What roles are assumed as, where nothing else is said.
const SESSION: &str = "hushdb";

/// A role that is to be assumed.
pub(super) struct Role {
    arn: String,
    session: String,
    external_id: Option<String>,
    seconds: Option<String>,
}

impl Role {
    /// That of a profile.
    pub(super) fn of_profile(chain: &Chain<'_>, profile: &Section) -> Result<Self, KeyError> {
        let seconds = profile.text("duration_seconds");
        let is_number = |it: &String| it.parse().is_ok_and(|it: u32| (900..=43_200).contains(&it));
        if seconds.as_ref().is_some_and(|it| !is_number(it)) {
            return Err(
                chain.refused("duration_seconds of a profile is a number from 900 to 43200")
            );
        }
        Ok(Self {
            arn: profile.text("role_arn").unwrap_or_default(),
            session: profile
                .text("role_session_name")
                .unwrap_or_else(|| SESSION.to_owned()),
            external_id: profile.text("external_id"),
            seconds,
        })
    }

    /// That of the variables.
    pub(super) fn of_variables(chain: &Chain<'_>) -> Result<Self, KeyError> {
        let arn = chain.environment.text("AWS_ROLE_ARN");
        let session = chain.environment.text("AWS_ROLE_SESSION_NAME");
        Ok(Self {
            arn: arn.ok_or_else(|| {
                chain.refused(
                    "AWS_WEB_IDENTITY_TOKEN_FILE is set and AWS_ROLE_ARN is not: set it, too",
                )
            })?,
            session: session.unwrap_or_else(|| SESSION.to_owned()),
            external_id: None,
            seconds: None,
        })
    }

    fn fields<'a>(&'a self, action: &'a str) -> Vec<(&'static str, &'a [u8])> {
        let mut fields = vec![
            ("Action", action.as_bytes()),
            ("Version", b"2011-06-15".as_slice()),
            ("RoleArn", self.arn.as_bytes()),
            ("RoleSessionName", self.session.as_bytes()),
        ];
        let external = self.external_id.as_ref();
        fields.extend(external.map(|it| ("ExternalId", it.as_bytes())));
        let seconds = self.seconds.as_ref();
        fields.extend(seconds.map(|it| ("DurationSeconds", it.as_bytes())));
        fields
    }
}

/// The role's credentials, for who has these.
pub(super) fn assume(
    chain: &Chain<'_>,
    role: &Role,
    base: &Credentials,
) -> Result<Credentials, KeyError> {
    ask(chain, &form(&role.fields("AssumeRole")), Some(base))
}

/// The role's credentials, for who has this token.
pub(super) fn assume_with_web_identity(
    chain: &Chain<'_>,
    role: &Role,
    token: &SecretBytes,
) -> Result<Credentials, KeyError> {
    let mut fields = role.fields("AssumeRoleWithWebIdentity");
    fields.push(("WebIdentityToken", token.expose()));
    ask(chain, &form(&fields), None)
}

fn ask(
    chain: &Chain<'_>,
    body: &[u8],
    base: Option<&Credentials>,
) -> Result<Credentials, KeyError> {
    let region = chain.region;
    let endpoint = chain.environment.text(VARIABLE);
    let endpoint =
        endpoint.unwrap_or_else(|| format!("https://sts.{region}.{}", domain_of(region)));
    let origin =
        Origin::parse(&endpoint, VARIABLE).map_err(|error| chain.refused(error.to_string()))?;
    let name = PlaceName(format!("AWS STS at {origin}"));
    let http = Http::new(&origin, None, &name)?.with_content_type(CONTENT_TYPE);
    let reply = chain.waiting.call(|| {
        let post = sigv4::Post {
            origin: &origin,
            region,
            service: "sts",
            content_type: CONTENT_TYPE,
            target: None,
            body,
        };
        let headers = base.map(|base| post.headers(base)).unwrap_or_default();
        let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value)).collect();
        judged(http.call(chain.waiting, "/", &headers, Some(body))?, &name)
    })?;
    of_answer(&reply.body).ok_or_else(|| {
        name.is_unavailable("its answer is not one of AWS STS: check AWS_ENDPOINT_URL_STS")
    })
}

fn judged(reply: Reply, name: &PlaceName) -> Result<Reply, Trouble> {
    if reply.status == 200 {
        return Ok(reply);
    }
    let code = std::str::from_utf8(&reply.body).ok();
    let code = code
        .and_then(|xml| element(xml, "Code"))
        .unwrap_or_default();
    let shown = shown_code(code);
    let said = format!("status {}, {shown}", reply.status);
    let is_busy = reply.status == 429 || reply.status >= 500 || code.starts_with("Throttling");
    let is_busy = is_busy || code == "IDPCommunicationError";
    Err(match is_busy || shown != code {
        true => Trouble {
            error: name.is_unavailable(format!("{said}: try again later")),
            again: is_busy,
        },
        false => Trouble {
            error: name.does_not_accept(format!(
                "{said}: check that the role may be assumed, and that the credentials or the token for it have not ended"
            )),
            again: false,
        },
    })
}

/// The credentials in an answer.
pub(in crate::aws) fn of_answer(body: &[u8]) -> Option<Credentials> {
    let xml = std::str::from_utf8(body).ok()?;
    let secret = |name| Some(SecretBytes::from(element(xml, name)?));
    Some(Credentials {
        id: secret("AccessKeyId")?,
        secret: secret("SecretAccessKey")?,
        session: Some(secret("SessionToken")?),
    })
}

/// The text of the first element of a name: of characters that XML writes as they are, and no other.
fn element<'a>(xml: &'a str, name: &str) -> Option<&'a str> {
    let begin = format!("<{name}>");
    let text = &xml[xml.find(&begin)? + begin.len()..];
    let (text, rest) = text.split_once("</")?;
    let text = text.trim();
    let is_plain = !text.is_empty()
        && text
            .chars()
            .all(|c| c.is_ascii_graphic() && c != '<' && c != '&');
    (is_plain && rest.strip_prefix(name)?.starts_with('>')).then_some(text)
}

/// Fields of a form (`application/x-www-form-urlencoded`), in memory that is wiped.
fn form(fields: &[(&str, &[u8])]) -> Zeroizing<Vec<u8>> {
    // Every byte takes three at most, so nothing moves while it is written.
    let most = fields
        .iter()
        .map(|(name, value)| name.len() + 3 * value.len() + 2);
    let mut form = Zeroizing::new(Vec::with_capacity(most.sum()));
    for (at, (name, value)) in fields.iter().enumerate() {
        if at > 0 {
            form.push(b'&');
        }
        form.extend(name.as_bytes());
        form.push(b'=');
        encode(value, &mut form);
    }
    form
}

/// Percent-encodes what is not unreserved (RFC 3986, section 2.3).
pub(super) fn encode(value: &[u8], into: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    for byte in value {
        match byte {
            b'-' | b'.' | b'_' | b'~' => into.push(*byte),
            byte if byte.is_ascii_alphanumeric() => into.push(*byte),
            byte => into.extend([
                b'%',
                DIGITS[usize::from(byte >> 4)],
                DIGITS[usize::from(byte & 15)],
            ]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_encoded_and_elements_found() {
        let text = form(&[("A", b"x y/+=~".as_slice()), ("B", b"\xc3\xa9&")]);
        assert_eq!(&text[..], b"A=x%20y%2F%2B%3D~&B=%C3%A9%26");
        let xml = "<E><Code>Throttling</Code><AccessKeyId>\n A \n</AccessKeyId><X></X><Y>a&amp;b</Y><Z>a<b/></Z></E>";
        assert_eq!(element(xml, "Code"), Some("Throttling"));
        assert_eq!(element(xml, "AccessKeyId"), Some("A"));
        for name in ["X", "Y", "Z", "W", "E"] {
            assert_eq!(element(xml, name), None, "{name}");
        }
        let xml = "<R><AccessKeyId>A</AccessKeyId><SecretAccessKey>B</SecretAccessKey><SessionToken>C</SessionToken>";
        assert!(of_answer(xml.as_bytes()).is_some_and(|it| it.session.is_some()));
        for cut in 0..xml.len() {
            assert!(of_answer(&xml.as_bytes()[..cut]).is_none(), "{cut}");
        }
    }
}
