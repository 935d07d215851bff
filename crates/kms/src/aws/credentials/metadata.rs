//! What gives credentials to who runs in a container or on a machine of EC2: services of the link, and of this machine.
//!
//! AWS SDKs, "Container credential provider" and "IMDS credential provider", version 2 alone: a token first, which no page of a browser and no
//! proxy asks for.
//!
//! What must hold: plain HTTP leads to the addresses of `http.rs` and to this machine, and no further; where there is no such service, that is
//! known within [`PATIENCE`].

use std::time::Duration;

use hushdb_crypto::SecretBytes;
use hushdb_keys::KeyError;

use super::sts::encode;
use super::{Chain, Credentials};
use crate::failures::PlaceName;
use crate::http::{Header, Http, OF_CONTAINERS, OF_INSTANCES, Origin, Reply};
use crate::patience::{Trouble, Waiting};
use crate::secret_json::Answer;

/// How long a service may take that is never far.
const PATIENCE: Duration = Duration::from_secs(2);
const NAMES: [&str; 3] = ["/AccessKeyId", "/SecretAccessKey", "/Token"];
const RELATIVE: &str = "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI";
const FULL: &str = "AWS_CONTAINER_CREDENTIALS_FULL_URI";
const ENDPOINT: &str = "AWS_EC2_METADATA_SERVICE_ENDPOINT";
const ROLES: &str = "/latest/meta-data/iam/security-credentials/";

/// Those of the container's role; `None` where no variable names a service.
pub(super) fn of_a_container(chain: &Chain<'_>) -> Result<Option<Credentials>, KeyError> {
    let environment = chain.environment;
    let (url, variable) = match (environment.text(RELATIVE), environment.text(FULL)) {
        (Some(path), _) if path.starts_with('/') => {
            (format!("http://{}{path}", OF_CONTAINERS[0]), RELATIVE)
        }
        (Some(_), _) => {
            return Err(chain.refused(format!("{RELATIVE} does not begin with a slash: check it")));
        }
        (None, Some(url)) => (url, FULL),
        (None, None) => return Ok(None),
    };
    let (origin, path) = Origin::with_path(&url, variable, OF_CONTAINERS)
        .map_err(|error| chain.refused(format!("of {variable}: {error}")))?;
    let name = PlaceName(format!("the container's credentials at {origin}"));
    let token = match environment.text("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE") {
        Some(path) => Some(chain.token(&path)?),
        None => environment.secret("AWS_CONTAINER_AUTHORIZATION_TOKEN"),
    };
    let headers: Vec<Header<'_>> = token.iter().map(|it| ("authorization", it)).collect();
    let asked = Metadata {
        http: Http::new(&origin, None, &name)?,
        waiting: chain.waiting.at_most(PATIENCE),
        name,
    };
    let reply = asked.get(&path, &headers)?;
    match reply.status {
        200 => asked.credentials(&reply).map(Some),
        status => Err(asked.name.does_not_accept(format!(
            "status {status}: check the role of the container, and the token of its variables"
        ))),
    }
}

/// Those of the machine's role; `None` where there is no such service, or where it is switched off.
pub(super) fn of_the_machine(chain: &Chain<'_>) -> Result<Option<Credentials>, KeyError> {
    let environment = chain.environment;
    let is = |variable: &str, value: &str| {
        let said = environment.text(variable);
        said.is_some_and(|it| it.eq_ignore_ascii_case(value))
    };
    if is("AWS_EC2_METADATA_DISABLED", "true") {
        return Ok(None);
    }
    let usual = OF_INSTANCES[usize::from(is("AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE", "IPv6"))];
    let endpoint = environment.text(ENDPOINT);
    let is_named = endpoint.is_some();
    let endpoint = endpoint.unwrap_or_else(|| format!("http://{usual}"));
    let origin = Origin::parse_beside(&endpoint, ENDPOINT, OF_INSTANCES)
        .map_err(|error| chain.refused(format!("of {ENDPOINT}: {error}")))?;
    let name = PlaceName(format!("the machine's metadata at {origin}"));
    let asked = Metadata {
        http: Http::new(&origin, None, &name)?,
        waiting: chain.waiting.at_most(PATIENCE),
        name,
    };
    let token = match asked.token() {
        Ok(token) => token,
        // Most machines have no such service, and do not say so.
        Err(KeyError::Unavailable { .. }) if !is_named => return Ok(None),
        Err(error) => return Err(error),
    };
    let headers = [("x-aws-ec2-metadata-token", &token)];
    let roles = asked.get(ROLES, &headers)?;
    let role = std::str::from_utf8(&roles.body).ok();
    let role = role.and_then(|text| text.lines().next()).map(str::trim);
    let role = match (roles.status, role) {
        (200, Some(role)) if !role.is_empty() && role.len() <= 128 => role,
        (200, _) => return Err(asked.unlike()),
        (404, _) => return Ok(None),
        (status, _) => return Err(asked.refuses(status)),
    };
    let mut path = ROLES.as_bytes().to_vec();
    encode(role.as_bytes(), &mut path);
    let path = String::from_utf8_lossy(&path);
    let reply = asked.get(&path, &headers)?;
    match reply.status {
        200 => asked.credentials(&reply).map(Some),
        status => Err(asked.refuses(status)),
    }
}

/// A service of the link that is being asked.
struct Metadata {
    http: Http,
    waiting: Waiting,
    name: PlaceName,
}

impl Metadata {
    fn token(&self) -> Result<SecretBytes, KeyError> {
        let seconds = SecretBytes::from("60");
        let headers = [("x-aws-ec2-metadata-token-ttl-seconds", &seconds)];
        let call = || {
            let reply = self
                .http
                .put(&self.waiting, "/latest/api/token", &headers)?;
            self.in_order(reply)
        };
        let reply = self.waiting.call(call)?;
        let token = std::str::from_utf8(&reply.body).ok().map(str::trim);
        let token = token.filter(|it| !it.is_empty() && it.bytes().all(|c| c.is_ascii_graphic()));
        match (reply.status, token) {
            (200, Some(token)) => Ok(token.into()),
            (200, None) => Err(self.unlike()),
            (status, _) => Err(self.refuses(status)),
        }
    }

    fn get(&self, path: &str, headers: &[Header<'_>]) -> Result<Reply, KeyError> {
        let call = || self.in_order(self.http.call(&self.waiting, path, headers, None)?);
        self.waiting.call(call)
    }

    /// Another try may help where it has too much to do.
    fn in_order(&self, reply: Reply) -> Result<Reply, Trouble> {
        match reply.status {
            429 | 500.. => Err(Trouble {
                error: self
                    .name
                    .is_unavailable(format!("status {}: try again later", reply.status)),
                again: true,
            }),
            _ => Ok(reply),
        }
    }

    fn credentials(&self, reply: &Reply) -> Result<Credentials, KeyError> {
        let answer = Answer::parse(&reply.body);
        let found = answer.and_then(|mut answer| Credentials::of_json(&mut answer, NAMES));
        found
            .filter(|it| it.session.is_some())
            .ok_or_else(|| self.unlike())
    }

    fn refuses(&self, status: u16) -> KeyError {
        self.name.does_not_accept(format!(
            "status {status}: check the machine's role, and that its metadata may be asked for (version 2)"
        ))
    }

    fn unlike(&self) -> KeyError {
        self.name
            .is_unavailable("its answer has no credentials: check the role, and the address")
    }
}
