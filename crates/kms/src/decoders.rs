//! What reads bytes of files, services and programs, for fuzz targets and tests: each must end without a panic.

use crate::secret_json::Answer;
use crate::{Environment, Places, aws, blob, exec, kmip};

/// What a place answers, or a slot keeps of it: a program's line, a service's JSON, XML or TTLV, a blob; and AWS's files of profiles.
pub fn place_answer(bytes: &[u8]) {
    let _ = (exec::answer(bytes, true), exec::answer(bytes, false));
    let _ = blob::service_bytes(bytes);
    kmip::read_any(bytes);
    aws::read_any(bytes);
    if let Some(mut answer) = Answer::parse(bytes) {
        let _ = answer.number("/data/metadata/version");
        let _ = answer.text("/data/plaintext");
    }
}

/// A URL of a place.
pub fn key_url(bytes: &[u8]) {
    if let Ok(url) = std::str::from_utf8(bytes) {
        let address = [("VAULT_ADDR", "https://vault.example:8200")];
        let _ = Places::new(Environment::of(address)).provider(url);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    const ANSWERS: [&[u8]; 6] = [
        br#"{"key":"WlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlo=","blob":"c2VhbGVk"}"#,
        br#"{"data":{"plaintext":"WlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlo="}}"#,
        br#"{"data":{"data":{"key":"x"},"metadata":{"version":7}}}"#,
        b"\x01\x0dtransit/hr v1vault:v1:AAAA",
        b"<R><AccessKeyId>A</AccessKeyId><SecretAccessKey>B</SecretAccessKey><SessionToken>C</SessionToken></R>",
        b"[profile a]\nrole_arn = x # y\n  nested = z\n[sso-session \"b\"]\n",
    ];
    const URLS: [&str; 7] = [
        "vault:///transit/hr?timeout=5",
        "vault://vault.example:8200/secret/a/b?engine=kv&field=%41",
        "exec:/usr/bin/keeper?arg=a&arg=b",
        "vault://[::1]:1/a/b",
        "kmip://h:5696/7?cert=/a&key=/b&ca=/c&op=get",
        "aws-kms://arn:aws:kms:us-east-1:111122223333:key/a-b",
        "pkcs11:token=a;object=b;id=%01?module-path=/m&pin-source=file:/p",
    ];

    proptest! {
        #[test]
        fn edited_answers_and_urls_end(
            which in 0..7_usize,
            at in any::<prop::sample::Index>(),
            removed in 0..7_usize,
            inserted in prop::collection::vec(any::<u8>(), 0..4),
        ) {
            for (bytes, decode) in [
                (ANSWERS[which % 6], super::place_answer as fn(&[u8])),
                (URLS[which].as_bytes(), super::key_url),
            ] {
                let mut bytes = bytes.to_vec();
                let at = at.index(bytes.len());
                let end = bytes.len().min(at + removed);
                bytes.splice(at..end, inserted.clone());
                decode(&bytes);
            }
        }
    }
}
