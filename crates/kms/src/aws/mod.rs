//! AWS KMS: a data key that it makes, and opens again for this database.
//!
//! `aws-kms://arn:aws:kms:REGION:ACCOUNT:key/ID`, or `.../alias/NAME` with the region of `AWS_REGION`. `GenerateDataKey` and `Decrypt` of its JSON
//! protocol, with the database as encryption context, and always with the key that the URL names. `AWS_ENDPOINT_URL_KMS` names
//! another endpoint.

mod credentials;
mod sigv4;

use std::fmt;

use hushdb_crypto::SecretBytes;
use hushdb_keys::{KeyContext, KeyError, KeyMaterial, KeyProvider, ProviderKind};

use crate::failures::PlaceName;
use crate::http::{Http, Origin, Reply};
use crate::key_url::KeyUrl;
use crate::patience::{Patience, Trouble};
use crate::secret_json::Answer;
use crate::{Environment, PlaceError, base64_text, blob};
use credentials::Credentials;
use sigv4::Signed;

const SCHEME: &str = "aws-kms";
const FORM: &str =
    "aws-kms://arn:aws:kms:REGION:ACCOUNT:key/ID, or aws-kms://alias/NAME with AWS_REGION set";
const CONTENT_TYPE: &str = "application/x-amz-json-1.1";

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
        let instead = "AWS_ACCESS_KEY_ID or a profile has the credentials";
        let key = format!("{}{}", url.host(instead)?, url.path);
        let is_plain = |c: char| c.is_ascii_alphanumeric() || ":/_-".contains(c);
        if key.len() > 512 || !key.chars().all(is_plain) {
            return Err(malformed);
        }
        let parts: Vec<&str> = key.split(':').collect();
        let (partition, region) = match parts.as_slice() {
            ["arn", partition, "kms", region, _, id]
                if id.starts_with("key/") || id.starts_with("alias/") =>
            {
                (*partition, (*region).to_owned())
            }
            [id] if id.starts_with("alias/") => {
                let region = environment.text("AWS_REGION");
                let region = region.or_else(|| environment.text("AWS_DEFAULT_REGION"));
                let region = region.ok_or(PlaceError::Variable {
                    variable: "AWS_REGION",
                    expected: "not set: set it to the key's region, or give the key's ARN",
                })?;
                ("aws", region)
            }
            _ => return Err(malformed),
        };
        let is_word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if region.is_empty() || !region.chars().all(is_word) {
            return Err(malformed);
        }
        let suffix = if partition == "aws-cn" { ".cn" } else { "" };
        let endpoint = environment.text("AWS_ENDPOINT_URL_KMS");
        let endpoint =
            endpoint.unwrap_or_else(|| format!("https://kms.{region}.amazonaws.com{suffix}"));
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
        let credentials = credentials::credentials(&self.environment)
            .map_err(|why| self.name.does_not_accept(why))?;
        let http = Http::new(&self.origin, None, &self.name)?.with_content_type(CONTENT_TYPE);
        let target = format!("TrentService.{operation}");
        let reply = waiting.call(|| {
            let headers = self.headers(&credentials, &target, body.as_bytes());
            let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value)).collect();
            let reply = http.call(&waiting, "/", &headers, Some(body.as_bytes()))?;
            self.judged(reply)
        })?;
        Answer::parse(&reply.body).ok_or_else(|| self.unlike())
    }

    fn headers(
        &self,
        credentials: &Credentials,
        target: &str,
        body: &[u8],
    ) -> Vec<(&'static str, SecretBytes)> {
        let time = chrono::Utc::now().format("%Y%m%dT%H%M%SZ").to_string();
        let host = self.origin.host_header();
        let mut signed = vec![
            ("content-type", CONTENT_TYPE.as_bytes()),
            ("x-amz-target", target.as_bytes()),
        ];
        if let Some(session) = &credentials.session {
            signed.push(("x-amz-security-token", session.expose()));
        }
        let authorization = Signed {
            host: &host,
            region: &self.region,
            service: "kms",
            time: &time,
            headers: &signed,
            method: "POST",
            body,
        };
        let mut headers = vec![
            ("authorization", authorization.authorization(credentials)),
            ("host", SecretBytes::from(host.as_str())),
            ("x-amz-date", SecretBytes::from(time.as_str())),
            ("x-amz-target", SecretBytes::from(target)),
        ];
        let session = credentials.session.as_ref().map(SecretBytes::duplicate);
        headers.extend(session.map(|session| ("x-amz-security-token", session)));
        headers
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
        let is_code = |c: char| c.is_ascii_alphanumeric() || "_.:-".contains(c);
        let is_code = !code.is_empty() && code.len() <= 64 && code.chars().all(is_code);
        let shown = if is_code { code } else { "no code" };
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
