//! KMIP servers that are none, blobs that nobody made, URLs that name nothing.

use std::io::{Read, Write};

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use std::net::TcpListener;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use super::*;

/// A TLS server that says this to whatever it is asked, then nothing.
fn says(answer: Vec<u8>, certificate: &str) -> u16 {
    serves(certificate, move |_, stream| {
        let _ = stream.write_all(&answer);
    })
}

/// A TLS server that is asked once on each connection.
fn serves(certificate: &str, serve: impl Fn(&[u8], &mut dyn Write) + Send + Sync + 'static) -> u16 {
    let file = format!("{TESTDATA}/{certificate}.pem");
    let chain = vec![CertificateDer::from_pem_file(&file).unwrap()];
    let key = PrivateKeyDer::from_pem_file(&file).unwrap();
    let crypto = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ServerConfig::builder_with_provider(crypto)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .unwrap();
    let (config, serve) = (Arc::new(config), Arc::new(serve));
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let connection = ServerConnection::new(config.clone()).unwrap();
            let mut stream = StreamOwned::new(connection, stream);
            let serve = serve.clone();
            std::thread::spawn(move || {
                let mut asked = [0; 4096];
                let len = stream.read(&mut asked).unwrap_or(0);
                serve(&asked[..len], &mut stream);
                let _ = stream.flush();
                std::thread::sleep(Duration::from_secs(30));
            });
        }
    });
    port
}

fn ask(port: u16) -> Result<KeyMaterial, KeyError> {
    ask_for(port, "7?")
}

fn ask_for(port: u16, key: &str) -> Result<KeyMaterial, KeyError> {
    let certificates = certificates().replace("timeout=5", "timeout=1");
    let url = format!("kmip://127.0.0.1:{port}/{key}{certificates}");
    let started = Instant::now();
    let asked = provider(&url).unwrap().establish(&context(1));
    assert!(started.elapsed() < Duration::from_secs(10));
    asked.map(|(key, _)| key)
}

#[test]
fn answers_that_are_none_are_unavailable() {
    let message = |len: u32, body: &[u8]| {
        let mut bytes = b"\x42\x00\x7b\x01".to_vec();
        bytes.extend(len.to_be_bytes());
        bytes.extend(body);
        bytes
    };
    for answer in [
        Vec::new(),
        b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec(),
        message(1 << 31, &[]),
        message(u32::MAX, &[]),
        message(1 << 20, &[]),
        message(8, &[0; 8]),
        message(8, b"\x42\x00\x0f\x01\x7f\xff\xff\xff"),
        message(0, &[]),
        message(16, b"\x42"),
    ] {
        let asked = ask(says(answer.clone(), "server"));
        assert!(is_unavailable(&asked), "{answer:?}: {asked:?}");
        // At once, and without room for it.
        let is_long = answer.len() >= 8 && answer[4..8] > [0, 1, 0, 0][..];
        let said = asked.unwrap_err().to_string();
        assert_eq!(said.contains("more than 65536 bytes"), is_long, "{said}");
    }
}

/// An item of TTLV; values are of one word.
fn item(tag: u8, kind: u8, value: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0x42, 0, tag, kind];
    bytes.extend((value.len() as u32).to_be_bytes());
    bytes.extend(value);
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    bytes
}

/// An operation that did not succeed.
fn failure(status: u32, reason: Option<u32>) -> Vec<u8> {
    let mut parts = item(0x5C, 5, &0x0Bu32.to_be_bytes());
    parts.extend(item(0x7F, 5, &status.to_be_bytes()));
    parts.extend(reason.map_or_else(Vec::new, |reason| item(0x7E, 5, &reason.to_be_bytes())));
    item(0x7B, 1, &item(0x0F, 1, &parts))
}

#[test]
fn an_answer_that_drips_ends_in_time() {
    let port = serves("server", |_, stream| {
        let mut send = |bytes: &[u8]| stream.write_all(bytes).and_then(|()| stream.flush());
        let _ = send(b"\x42\x00\x7b\x01\x00\x00\x80\x00");
        for _ in 0..300 {
            if send(&[0]).is_err() {
                return;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    });
    let asked = ask(port);
    assert!(is_unavailable(&asked), "{asked:?}");
    assert!(asked.unwrap_err().to_string().contains("in time"));
}

/// An operation that succeeded.
fn success(operation: u32, payload: &[u8]) -> Vec<u8> {
    let mut parts = item(0x5C, 5, &operation.to_be_bytes());
    parts.extend(item(0x7F, 5, &0_u32.to_be_bytes()));
    parts.extend(item(0x7C, 1, payload));
    item(0x7B, 1, &item(0x0F, 1, &parts))
}

/// The value of the first item of this tag and type.
fn value(message: &[u8], tag: u8, kind: u8) -> Vec<u8> {
    let head = [0x42, 0, tag, kind];
    let at = message.windows(4).position(|window| window == head);
    let (_, rest) = message.split_at(at.unwrap() + 4);
    let (len, rest) = rest.split_first_chunk::<4>().unwrap();
    rest[..u32::from_be_bytes(*len) as usize].to_vec()
}

/// A server whose keys are no keys: it has what it is given, and seals nothing.
#[derive(Clone, Copy)]
struct Pretender {
    binds: bool,
    gives_another: bool,
    opens: bool,
    id_len: usize,
}

impl Pretender {
    fn start(self) -> u16 {
        let kept = Mutex::new(Vec::new());
        serves("server", move |asked, stream| {
            let answer = self.answer(asked, &mut kept.lock().unwrap());
            let _ = stream.write_all(&answer);
        })
    }

    fn answer(self, asked: &[u8], kept: &mut Vec<u8>) -> Vec<u8> {
        let bytes = |tag: u8, value: &[u8]| item(tag, 8, value);
        match value(asked, 0x5C, 5)[3] {
            0x08 => success(0x08, &item(0x94, 7, &vec![b'x'; self.id_len])),
            0x0A => {
                let key = [0x43, 0x45, 0x40, 0x8F];
                let key = key.into_iter().fold(Vec::new(), |inner, tag| match tag {
                    0x43 => bytes(tag, &[7; 32]),
                    _ => item(tag, 1, &inner),
                });
                success(0x0A, &key)
            }
            0x0B => {
                let active = item(0x0B, 5, &2_u32.to_be_bytes());
                let state = [item(0x0A, 7, b"State"), active].concat();
                success(0x0B, &item(0x08, 1, &state))
            }
            0x1F => {
                *kept = value(asked, 0xC2, 8);
                let sealed = [bytes(0xC2, &[7; 32]), bytes(0xFF, &[7; 16])];
                success(0x1F, &sealed.concat())
            }
            _ if !self.opens => failure(1, Some(0x100)),
            _ if self.binds && value(asked, 0xFE, 8).ends_with(b"no database") => {
                failure(1, Some(0x0A))
            }
            _ => {
                let mut root = kept.clone();
                root[0] ^= u8::from(self.gives_another);
                success(0x20, &bytes(0xC2, &root))
            }
        }
    }
}

#[test]
fn a_server_that_only_pretends_gets_no_slot() {
    let good = Pretender {
        binds: true,
        gives_another: false,
        opens: true,
        id_len: 3,
    };
    assert!(ask(good.start()).is_ok());
    assert!(ask_for(good.start(), "?name=hr&op=get&").is_ok());
    let binds = false;
    let unbound = ask(Pretender { binds, ..good }.start());
    assert!(is_refused(&unbound), "{unbound:?}");
    let gives_another = true;
    let another = Pretender {
        gives_another,
        ..good
    };
    let another = ask(another.start());
    assert!(is_refused(&another), "{another:?}");
    // Ids that no slot would give back.
    for id_len in [0, 129, 200, 300] {
        let port = Pretender { id_len, ..good }.start();
        let asked = ask_for(port, "?name=hr&op=get&");
        assert!(is_unavailable(&asked), "{id_len}: {asked:?}");
    }
}

/// Whoever is in stays in: silence is borne, a refusal ends a database.
#[test]
fn a_server_that_fails_is_unavailable_and_one_that_speaks_of_the_key_refuses() {
    // General Failure, of the server itself, at its limit, not understood, no such operation.
    for reason in [0x100, 0x2A, 0x3A, 0x44, 0x04, 0x05, 0x3F, 0x7FFF_FFFF] {
        let asked = ask(says(failure(1, Some(reason)), "server"));
        assert!(is_unavailable(&asked), "{reason:x}: {asked:?}");
        let said = asked.unwrap_err().to_string();
        assert!(said.contains(&format!("reason {reason}")), "{said}");
    }
    for odd in [failure(1, None), failure(2, None), failure(3, Some(1))] {
        let asked = ask(says(odd, "server"));
        assert!(is_unavailable(&asked), "{asked:?}");
    }
    // Not found, cryptographic failure, denied, destroyed, of another state.
    for reason in [0x01, 0x0A, 0x0C, 0x36, 0x43] {
        let asked = ask(says(failure(1, Some(reason)), "server"));
        assert!(is_refused(&asked), "{reason:x}: {asked:?}");
    }
    let asked = ask(says(failure(1, Some(3)), "server"));
    assert!(
        matches!(asked, Err(KeyError::CredentialsRefused { .. })),
        "{asked:?}"
    );
}

/// What a slot has is refused only where the same key opens what it has just sealed.
#[test]
fn a_server_that_opens_nothing_says_nothing_of_the_key() {
    let server = Pretender {
        binds: false,
        gives_another: false,
        opens: false,
        id_len: 3,
    };
    let url = format!("kmip://127.0.0.1:{}/7?{}", server.start(), certificates());
    let blob = [&b"\x01\x00\x017\x0c"[..], &[7; 60]].concat();
    let asked = provider(&url).unwrap().recover(&context(1), &blob);
    assert!(is_unavailable(&asked), "{asked:?}");
}

#[test]
fn a_server_of_another_host_is_refused() {
    let asked = ask(says(Vec::new(), "elsewhere"));
    assert!(is_unavailable(&asked), "{asked:?}");
    let error = asked.unwrap_err().to_string();
    assert!(error.contains("another host's"), "{error}");
}

#[test]
fn blobs_that_nobody_made_are_sent_nowhere() {
    // Nobody listens: whoever asks is told that it is unavailable.
    let place = provider(&format!("kmip://127.0.0.1:1/7?{}", certificates())).unwrap();
    let with = |bytes: &[u8]| [b"\x01\x00", bytes].concat();
    let full = |id: &[u8], rest: usize| {
        let mut bytes = vec![id.len() as u8];
        bytes.extend(id);
        bytes.push(12);
        bytes.extend(vec![7; 12 + rest]);
        with(&bytes)
    };
    for blob in [
        Vec::new(),
        with(b"\x00"),
        with(b"\xff7"),
        with(b"\x017"),
        with(b"\x017\x00"),
        with(b"\x017\xff"),
        full(b"8", 48),
        full(b"7", 47),
        full(b"7", 49),
        full(b"\xff", 48),
        full(b"7\n", 48),
    ] {
        let asked = place.recover(&context(1), &blob);
        assert!(is_refused(&asked), "{blob:?}: {asked:?}");
    }
    let asked = place.recover(&context(1), &full(b"7", 48));
    assert!(is_unavailable(&asked), "{asked:?}");
}

#[test]
fn urls_of_kmip_are_refused_by_name() {
    let files = certificates();
    for (url, expected) in [
        (
            "kmip://h/".to_owned() + "?" + &files,
            "kmip URLs have the form",
        ),
        (format!("kmip:///7?{files}"), "kmip URLs have the form"),
        (
            format!("kmip://h/7?name=x&{files}"),
            "kmip URLs have the form",
        ),
        (
            format!("kmip://me:sesame@h/7?{files}"),
            "no user and password",
        ),
        (format!("kmip://h/7?op=wrap&{files}"), "encrypt or get"),
        (format!("kmip://h/7?state=old&{files}"), "active or any"),
        (
            format!("kmip://h/7?password=sesame&{files}"),
            "no parameter password",
        ),
        (
            "kmip://h/7".to_owned(),
            "parameter cert is the absolute path",
        ),
        (
            "kmip://h/7?cert=a.pem".to_owned(),
            "parameter cert is the absolute path",
        ),
    ] {
        let error = provider(&url).map(drop).unwrap_err();
        assert!(error.to_string().contains(expected), "{url}: {error}");
        assert!(!error.to_string().contains("sesame"), "{error}");
    }
}
