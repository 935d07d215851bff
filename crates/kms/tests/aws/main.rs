//! AWS KMS against moto 5, and against a stub that answers with AWS's error bodies, some of which moto never gives.

#[path = "../key_servers/mod.rs"]
mod key_servers;
#[path = "../tls_stub/mod.rs"]
mod tls_stub;
#[path = "../vault_stub/mod.rs"]
mod vault_stub;

mod chain;
mod hostile;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

use hushdb_keys::{DatabaseId, KeyContext, KeyError, KeyMaterial, KeyProvider, ProviderKind};
use hushdb_kms::{Environment, PlaceError, Places};
use key_servers::moto::{self, Moto};

fn context(id: u8) -> KeyContext {
    KeyContext {
        database_id: DatabaseId::from_bytes([id; 16]),
    }
}

const CREDENTIALS: [(&str, &str); 3] = [
    ("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE"),
    ("AWS_SECRET_ACCESS_KEY", "sesame-secret"),
    ("AWS_SESSION_TOKEN", "sesame-session"),
];

fn place(port: u16, url: &str) -> Arc<dyn KeyProvider> {
    place_at(&format!("http://127.0.0.1:{port}"), url)
}

fn place_at(endpoint: &str, url: &str) -> Arc<dyn KeyProvider> {
    let others = [
        ("AWS_ENDPOINT_URL_KMS", endpoint),
        ("AWS_REGION", "eu-west-1"),
    ];
    let environment = Environment::of(CREDENTIALS.into_iter().chain(others));
    Places::new(environment).provider(url).unwrap()
}

fn is_refused(asked: &Result<KeyMaterial, KeyError>) -> bool {
    matches!(asked, Err(KeyError::Refused { .. }))
}

#[test]
fn a_key_of_moto_wraps_and_unwraps() {
    if moto::missing() {
        return;
    }
    let moto = Moto::start();
    let (hr, ops) = (moto.key("hr"), moto.key("ops"));
    let by_arn = place(moto.port, &format!("aws-kms://{hr}"));
    assert_eq!(by_arn.kind(), ProviderKind::AWS_KMS);
    let (key, blob) = by_arn.establish(&context(1)).unwrap();
    assert!(blob.len() < 256, "{}", blob.len());
    assert_eq!(by_arn.recover(&context(1), &blob).as_ref(), Ok(&key));
    let by_alias = place(moto.port, "aws-kms://alias/hr");
    assert_eq!(by_alias.recover(&context(1), &blob).as_ref(), Ok(&key));
    moto.rotate(&hr);
    assert_eq!(by_arn.recover(&context(1), &blob), Ok(key), "rotated");
    let (newer, rewrapped) = by_arn.establish(&context(1)).unwrap();
    assert_eq!(by_arn.recover(&context(1), &rewrapped), Ok(newer));
    assert!(
        is_refused(&by_arn.recover(&context(2), &blob)),
        "another database"
    );
    let other = place(moto.port, &format!("aws-kms://{ops}"));
    assert!(
        is_refused(&other.recover(&context(1), &blob)),
        "another key"
    );
    assert!(is_refused(
        &place(moto.port, "aws-kms://alias/none").recover(&context(1), &blob)
    ));
    let mut edited = blob.clone();
    *edited.last_mut().unwrap() ^= 1;
    assert!(is_refused(&by_arn.recover(&context(1), &edited)));
    drop(moto);
    let down = by_arn.recover(&context(1), &blob);
    assert!(
        matches!(down, Err(KeyError::Unavailable { .. })),
        "{down:?}"
    );
}

type Heard = Arc<Mutex<Vec<String>>>;

/// Answers every request so; what it heard.
fn says(status: u16, body: String) -> (u16, Heard) {
    answers(status, move |_| body.clone())
}

/// The same by what it is asked.
fn answers(status: u16, answer: impl Fn(&str) -> String + Send + 'static) -> (u16, Heard) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let heard = Heard::default();
    let hears = heard.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut reader = BufReader::new(stream);
            let (mut head, mut len) = (String::new(), 0);
            loop {
                let mut line = String::new();
                if reader.read_line(&mut line).unwrap_or(0) <= 2 {
                    break;
                }
                let lower = line.to_ascii_lowercase();
                if let Some(said) = lower.strip_prefix("content-length:") {
                    len = said.trim().parse().unwrap();
                }
                head += &line;
            }
            let mut asked = vec![0; len];
            let _ = reader.read_exact(&mut asked);
            head += &String::from_utf8_lossy(&asked);
            let body = answer(&head);
            hears.lock().unwrap().push(head);
            let len = body.len();
            let head = format!(
                "HTTP/1.1 {status} As Told\r\nconnection: close\r\ncontent-length: {len}\r\n\r\n"
            );
            let _ = reader.get_mut().write_all((head + &body).as_bytes());
        }
    });
    (port, heard)
}

const KEY: &str = "WlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlo=";
const URL: &str = "aws-kms://arn:aws:kms:eu-west-1:111122223333:key/ab-cd?timeout=2";

#[test]
fn errors_are_told_apart_by_their_codes() {
    let ask = |status: u16, code: &str| {
        let body = format!("{{\"__type\":\"{code}\",\"message\":\"sesame\"}}");
        let (port, heard) = says(status, body);
        let asked = place(port, URL).recover(&context(1), b"\x01\x00sealed");
        assert!(!format!("{asked:?}").contains("sesame"), "{asked:?}");
        let times = heard.lock().unwrap().len();
        (asked, times)
    };
    for code in [
        "DisabledException",
        "KMSInvalidStateException",
        "NotFoundException",
        "AccessDeniedException",
        "com.amazonaws.kms#InvalidCiphertextException",
        "IncorrectKeyException",
    ] {
        let (asked, times) = ask(400, code);
        assert!(is_refused(&asked) && times == 1, "{code}: {asked:?}");
    }
    for code in [
        "ExpiredTokenException",
        "UnrecognizedClientException",
        "InvalidSignatureException",
    ] {
        let (asked, times) = ask(400, code);
        let is = matches!(asked, Err(KeyError::CredentialsRefused { .. }));
        assert!(is && times == 1, "{code}: {asked:?}");
    }
    for (status, code, tries) in [
        (500, "KMSInternalException", 3),
        (400, "ThrottlingException", 3),
        (503, "", 3),
        (418, "sesame sesame", 1),
        (400, "<script>", 1),
    ] {
        let (asked, times) = ask(status, code);
        let is = matches!(asked, Err(KeyError::Unavailable { .. }));
        assert!(is && times == tries, "{code}: {times} {asked:?}");
    }
    for body in ["", "null", "{}", "{\"Plaintext\":\"c2VzYW1l\"}", "[[["] {
        let (port, _) = says(200, body.to_owned());
        let asked = place(port, URL).recover(&context(1), b"\x01\x00sealed");
        assert!(
            matches!(asked, Err(KeyError::Unavailable { .. })),
            "{body}: {asked:?}"
        );
    }
}

#[test]
fn a_request_names_key_and_database_and_is_signed() {
    let (port, heard) = says(200, format!("{{\"Plaintext\":\"{KEY}\"}}"));
    place(port, URL)
        .recover(&context(0xab), b"\x01\x00sealed")
        .unwrap();
    let asked = heard.lock().unwrap()[0].clone();
    let id = "ab".repeat(16);
    let body = format!(
        "{{\"KeyId\":\"arn:aws:kms:eu-west-1:111122223333:key/ab-cd\",\"EncryptionContext\":{{\"hushdb:database\":\"{id}\",\
         \"hushdb:key\":\"0\"}},\"CiphertextBlob\":\"c2VhbGVk\"}}"
    );
    assert!(asked.ends_with(&body), "{asked}");
    let lower = asked.to_ascii_lowercase();
    assert_eq!(lower.matches("\nhost: ").count(), 1, "{asked}");
    for said in [
        "post / http/1.1",
        "x-amz-target: trentservice.decrypt",
        "content-type: application/x-amz-json-1.1",
        "x-amz-security-token: sesame-session",
        "/eu-west-1/kms/aws4_request, signedheaders=content-type;host;x-amz-date;x-amz-security-token;x-amz-target, signature=",
    ] {
        assert!(lower.contains(said), "{said}: {asked}");
    }
    assert!(!asked.contains("sesame-secret"));
}

#[test]
fn urls_and_credentials_are_refused_by_name() {
    let environment = |variables: &[(&'static str, &'static str)]| {
        Places::new(Environment::of(variables.iter().copied()))
    };
    for (url, expected) in [
        ("aws-kms://key/x", "aws-kms URLs have the form"),
        (
            "aws-kms://arn:aws:s3:eu-west-1:1:key/x",
            "aws-kms URLs have the form",
        ),
        (
            "aws-kms://arn:aws:kms:evil.example/:1:key/x",
            "aws-kms URLs have the form",
        ),
        (
            "aws-kms://arn:aws:kms:eu-west-1:1:key/x%22",
            "aws-kms URLs have the form",
        ),
        (
            "aws-kms://arn:aws:kms::1:key/x",
            "aws-kms URLs have the form",
        ),
        (
            "aws-kms://arn:aws:kms:EU-WEST-1:1:key/x",
            "aws-kms URLs have the form",
        ),
        ("aws-kms://alias/hr", "AWS_REGION is not set"),
        ("aws-kms://me:sesame@alias/hr", "no user and password"),
        (
            "aws-kms://arn:aws:kms:eu-west-1:1:key/x?secret=sesame",
            "no parameter secret",
        ),
    ] {
        let error = environment(&[]).provider(url).map(drop).unwrap_err();
        assert!(error.to_string().contains(expected), "{url}: {error}");
        assert!(!error.to_string().contains("sesame"), "{error}");
    }
    let far = environment(&[("AWS_ENDPOINT_URL_KMS", "http://10.0.0.1")]);
    assert_eq!(far.provider(URL).map(drop), Err(PlaceError::PlainHttp));
    let nobody = environment(&[
        ("AWS_SHARED_CREDENTIALS_FILE", "/no/such/file"),
        ("AWS_EC2_METADATA_DISABLED", "true"),
    ]);
    let asked = nobody
        .provider(URL)
        .unwrap()
        .recover(&context(1), b"\x01\x00sealed");
    assert!(
        matches!(asked, Err(KeyError::CredentialsRefused { .. })),
        "{asked:?}"
    );
}
