//! AWS KMS: a data key that it makes, and opens again for this database.
//!
//! `aws-kms://arn:aws:kms:REGION:ACCOUNT:key/ID`, or `.../alias/NAME` with the region of `AWS_REGION`. `GenerateDataKey` and `Decrypt` of its JSON
//! protocol, with the database as encryption context, and always with the key that the URL names. `AWS_ENDPOINT_URL_KMS` names
//! another endpoint. `credentials.rs` knows who asks.

mod access_key;
mod credentials;
mod sigv4;

use std::fmt;

use hushdb_keys::{KeyContext, KeyError, KeyMaterial, KeyProvider, ProviderKind};

use crate::failures::PlaceName;
use crate::http::{Http, Origin, Reply};
use crate::key_url::KeyUrl;
use crate::patience::{Patience, Trouble};
use crate::secret_json::Answer;
use crate::{Environment, PlaceError, base64_text, blob};
use credentials::Chain;

const SCHEME: &str = "aws-kms";
const FORM: &str =
    "aws-kms://arn:aws:kms:REGION:ACCOUNT:key/ID, or aws-kms://alias/NAME with AWS_REGION set";
const CONTENT_TYPE: &str = "application/x-amz-json-1.1";

/// Reads what services of AWS answer, for [`crate::decoders`].
pub(crate) fn read_any(bytes: &[u8]) {
    let _ = credentials::sts::of_answer(bytes);
    if let Ok(text) = std::str::from_utf8(bytes) {
        credentials::read_profiles(text);
    }
}

/// A key at AWS KMS.
pub(crate) struct AwsKms {
    key: String,
    region: String,
    origin: Origin,
    environment: Environment,
    patience: Patience,
    name: PlaceName,
}

impl AwsKms {
    /// The key that a URL and the environment name.
    pub(crate) fn new(mut url: KeyUrl, environment: &Environment) -> Result<Self, PlaceError> {
        let malformed = PlaceError::Malformed {
            scheme: SCHEME,
            form: FORM,
        };
        let instead = "variables, a profile or a role have the credentials";
        let key = format!("{}{}", url.host(instead)?, url.path);
        let is_plain = |c: char| c.is_ascii_alphanumeric() || ":/_-".contains(c);
        if key.len() > 512 || !key.chars().all(is_plain) {
            return Err(malformed);
        }
        let parts: Vec<&str> = key.split(':').collect();
        let region = match parts.as_slice() {
            ["arn", _, "kms", region, _, id]
                if id.starts_with("key/") || id.starts_with("alias/") =>
            {
                (*region).to_owned()
            }
            [id] if id.starts_with("alias/") => {
                let region = environment.text("AWS_REGION");
                let region = region.or_else(|| environment.text("AWS_DEFAULT_REGION"));
                region.ok_or(PlaceError::Variable {
                    variable: "AWS_REGION",
                    expected: "not set: set it to the key's region, or give the key's ARN",
                })?
            }
            _ => return Err(malformed),
        };
        if !is_region(&region) {
            return Err(malformed);
        }
        let endpoint = environment.text("AWS_ENDPOINT_URL_KMS");
        let endpoint =
            endpoint.unwrap_or_else(|| format!("https://kms.{region}.{}", domain_of(&region)));
        let origin = Origin::parse(&endpoint, "AWS_ENDPOINT_URL_KMS")?;
        let patience = Patience::of(&mut url)?;
        url.finish(SCHEME)?;
        Ok(Self {
            name: PlaceName(format!("aws-kms at {origin}")),
            key,
            region,
            origin,
            environment: environment.clone(),
            patience,
        })
    }

    /// The members that every request has.
    fn common(&self, context: &KeyContext) -> String {
        let (key, database) = (&self.key, context.database_id);
        // A key's name has no character that JSON escapes.
        format!(
            "\"KeyId\":\"{key}\",\"EncryptionContext\":{{\"hushdb:database\":\"{database}\",\"hushdb:key\":\"0\"}}"
        )
    }

    fn ask(&self, operation: &str, body: &str) -> Result<Answer, KeyError> {
        let waiting = self.patience.begin();
        let chain = Chain {
            environment: &self.environment,
            region: &self.region,
            name: &self.name,
            waiting: &waiting,
        };
        let credentials = chain.credentials()?;
        let http = Http::new(&self.origin, None, &self.name)?.with_content_type(CONTENT_TYPE);
        let target = format!("TrentService.{operation}");
        let post = sigv4::Post {
            origin: &self.origin,
            region: &self.region,
            service: "kms",
            content_type: CONTENT_TYPE,
            target: Some(&target),
            body: body.as_bytes(),
        };
        let reply = waiting.call(|| {
            let headers = post.headers(&credentials);
            let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value)).collect();
            let reply = http.call(&waiting, "/", &headers, Some(body.as_bytes()))?;
            self.judged(reply)
        })?;
        Answer::parse(&reply.body).ok_or_else(|| self.unlike())
    }

    /// What a status and the error's code say about the key.
    fn judged(&self, reply: Reply) -> Result<Reply, Trouble> {
        if reply.status == 200 {
            return Ok(reply);
        }
        let code = Answer::parse(&reply.body).and_then(|mut it| it.text("/__type"));
        let code = code
            .as_deref()
            .map_or("", |code| code.rsplit('#').next().unwrap_or(code));
        let shown = shown_code(code);
        let (status, name) = (reply.status, &self.name);
        let said = format!("status {status}, {shown}");
        let (error, again) = match code {
            "UnrecognizedClientException"
            | "InvalidClientTokenId"
            | "ExpiredTokenException"
            | "InvalidSignatureException"
            | "SignatureDoesNotMatch"
            | "IncompleteSignature"
            | "MissingAuthenticationTokenException"
            | "MissingAuthenticationToken"
            | "AuthFailure"
            | "InvalidAccessKeyId" => (
                name.does_not_accept(format!(
                    "{said}: renew the credentials, or correct the clock"
                )),
                false,
            ),
            "AccessDeniedException" => (
                name.refuses(format!(
                    "{said}: its policies do not allow these credentials to use the key"
                )),
                false,
            ),
            "DisabledException" | "KMSInvalidStateException" | "NotFoundException" => (
                name.refuses(format!(
                    "{said}: the key is disabled, deleted or about to be"
                )),
                false,
            ),
            "InvalidCiphertextException"
            | "IncorrectKeyException"
            | "InvalidKeyUsageException"
            | "ValidationException" => (
                name.refuses(format!("{said}: the slot is another key's or database's")),
                false,
            ),
            _ => (
                name.is_unavailable(format!("{said}: try again later")),
                status == 429 || status >= 500 || code.starts_with("Throttling"),
            ),
        };
        Err(Trouble { error, again })
    }

    fn unlike(&self) -> KeyError {
        self.name
            .is_unavailable("its answer is not one of AWS KMS: check AWS_ENDPOINT_URL_KMS")
    }

    fn key_of(&self, answer: &mut Answer) -> Result<KeyMaterial, KeyError> {
        let key = answer.text("/Plaintext");
        let key = key.and_then(|text| base64_text::key(&text));
        key.map(KeyMaterial::Raw).ok_or_else(|| self.unlike())
    }
}

impl KeyProvider for AwsKms {
    fn kind(&self) -> ProviderKind {
        ProviderKind::AWS_KMS
    }

    fn establish(&self, context: &KeyContext) -> Result<(KeyMaterial, Vec<u8>), KeyError> {
        let body = format!("{{{},\"NumberOfBytes\":32}}", self.common(context));
        let mut answer = self.ask("GenerateDataKey", &body)?;
        let key = self.key_of(&mut answer)?;
        let sealed = answer.text("/CiphertextBlob");
        let sealed = sealed.and_then(|text| base64_text::bytes(&text));
        let sealed = sealed.filter(|it| !it.is_empty() && it.len() <= blob::MAX_SERVICE_BYTES);
        let sealed = sealed.ok_or_else(|| self.unlike())?;
        let shown = self.key.rsplit(':').next().unwrap_or_default();
        let blob = blob::written(shown, &sealed);
        // Who may not decrypt learns it now.
        match self.recover(context, &blob)? == key {
            true => Ok((key, blob)),
            false => Err(self.unlike()),
        }
    }

    fn recover(&self, context: &KeyContext, blob: &[u8]) -> Result<KeyMaterial, KeyError> {
        let sealed = blob::service_bytes(blob).ok_or_else(|| {
            self.name.refuses(
                "the slot's blob is not of this kind of place: another URL, or an edited file",
            )
        })?;
        let sealed = base64_text::of(sealed);
        let body = format!(
            "{{{},\"CiphertextBlob\":\"{sealed}\"}}",
            self.common(context)
        );
        self.key_of(&mut self.ask("Decrypt", &body)?)
    }

    fn keeps_blob(&self) -> bool {
        true
    }
}

impl fmt::Debug for AwsKms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AwsKms")
            .field("key", &self.key)
            .field("environment", &self.environment)
            .finish_non_exhaustive()
    }
}

/// Whether a text has the form of a region's name, so that it is one part of a host's name.
fn is_region(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    !text.is_empty() && text.len() <= 64 && text.chars().all(is_plain)
}

/// Where the services of a region are.
fn domain_of(region: &str) -> &'static str {
    match region.starts_with("cn-") {
        true => "amazonaws.com.cn",
        false => "amazonaws.com",
    }
}

/// A service's code of an error, if it looks like one.
fn shown_code(code: &str) -> &str {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_.:-".contains(c);
    match !code.is_empty() && code.len() <= 64 && code.chars().all(is_plain) {
        true => code,
        false => "no code",
    }
}
