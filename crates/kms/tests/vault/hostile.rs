//! Answers, blobs and silences that nobody promised: an error each, within the time, that repeats nothing.

use std::process::Command;
use std::time::{Duration, Instant};

use super::*;

/// Texts that must not be repeated.
const MARKER: &str = "sesame-marker";
const KV: &str = "vault:///secret/app/db?engine=kv&timeout=2";

#[test]
fn answers_that_are_none_are_unavailable_and_repeated_nowhere() {
    let stub = VaultStub::start();
    let place = place(&stub, TRANSIT);
    let (_, blob) = place.establish(&context(1)).unwrap();
    for says in [
        "sesame-marker",
        "",
        "<html>sesame-marker</html>",
        "{\"data\":{}}",
        "{\"data\":{\"plaintext\":7}}",
        "{\"data\":{\"plaintext\":\"sesame-marker\"}}",
        "{\"data\":{\"plaintext\":\"AAAA\"}}",
        "{\"data\":{\"plaintext\":\"************************************************\"}}",
        "[[[[[[[[",
        "null",
    ] {
        stub.state().mood = Mood::Says(says);
        let asked = place.recover(&context(1), &blob);
        assert!(is_unavailable(&asked), "{says}: {asked:?}");
        assert!(!format!("{asked:?}").contains(MARKER));
        assert!(place.establish(&context(1)).is_err());
    }
}

/// Of who stands before it, and may not have heard of it: silence is borne, a refusal ends a database.
#[test]
fn statuses_with_bodies_that_are_not_of_vault_are_no_word_on_the_key() {
    let stub = VaultStub::start();
    let place = place(&stub, TRANSIT);
    let (_, blob) = place.establish(&context(1)).unwrap();
    for status in [400, 403, 404, 405, 413] {
        for says in ["<html>sesame-marker</html>", "", "{\"error\":\"no route\"}"] {
            stub.state().mood = Mood::SaysAs(status, says);
            let asked = place.recover(&context(1), &blob);
            assert!(is_unavailable(&asked), "{status} {says}: {asked:?}");
            assert!(!format!("{asked:?}").contains(MARKER));
        }
    }
    stub.state().mood = Mood::SaysAs(404, "{\"errors\":[]}");
    let asked = place.recover(&context(1), &blob);
    assert!(matches!(asked, Err(KeyError::Refused { .. })), "{asked:?}");
}

#[test]
fn a_redirect_is_not_followed() {
    let (stub, thief) = (VaultStub::start(), VaultStub::start());
    let (transit, kv) = (place(&stub, TRANSIT), place(&stub, KV));
    let (_, of_transit) = transit.establish(&context(1)).unwrap();
    let (_, of_kv) = kv.establish(&context(1)).unwrap();
    // After some of them a POST goes on as a GET, with the token.
    for status in [301, 302, 303, 307, 308] {
        for (place, blob, path) in [
            (&transit, &of_transit, "transit/decrypt/hr"),
            (&kv, &of_kv, "secret/data/app/db?version=1"),
        ] {
            let to = format!("{}/v1/{path}", thief.url());
            stub.state().mood = Mood::Redirects(status, to);
            let asked = place.recover(&context(1), blob);
            assert!(is_unavailable(&asked), "{status}: {asked:?}");
        }
    }
    assert_eq!(thief.take_requests(), [""; 0]);
}

/// A proxy would be told the token. The process is another one, since the environment is what is tried.
#[test]
fn no_proxy_of_the_environment_is_asked() {
    const ASKS: &str = "HUSHDB_TEST_ASKS_PAST_A_PROXY";
    if let Ok(address) = std::env::var(ASKS) {
        let variables = [("VAULT_ADDR", &*address), ("VAULT_TOKEN", TOKEN)];
        let places = Places::new(Environment::of(variables));
        let place = places.provider(TRANSIT).unwrap();
        place.establish(&context(1)).unwrap();
        return;
    }
    let (stub, proxy) = (VaultStub::start(), VaultStub::start());
    let mut again = Command::new(std::env::current_exe().unwrap());
    again.args(["--exact", "hostile::no_proxy_of_the_environment_is_asked"]);
    again.env(ASKS, stub.url());
    for name in ["all_proxy", "https_proxy", "http_proxy"] {
        again.env(name, proxy.url());
        again.env(name.to_ascii_uppercase(), proxy.url());
    }
    let ran = again.env_remove("no_proxy").env_remove("NO_PROXY").output();
    let ran = ran.unwrap();
    assert_eq!(proxy.take_requests(), [""; 0]);
    assert!(ran.status.success(), "{ran:?}");
    assert_eq!(stub.take_requests().len(), 3, "it was asked itself");
}

#[test]
fn what_a_vault_makes_otherwise_than_it_should_gets_no_slot() {
    let stub = VaultStub::start();
    let transit = place(&stub, TRANSIT);
    stub.state().gives_back = Some("WlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlo=");
    let refused = transit.establish(&context(1)).unwrap_err();
    assert!(
        refused.to_string().contains("another key back"),
        "{refused}"
    );
    stub.state().gives_back = None;
    // What no slot would ever send back.
    stub.state().writes = "sesame:v";
    let asked = transit.establish(&context(1)).map(|(key, _)| key);
    assert!(is_unavailable(&asked), "{asked:?}");
    assert!(!format!("{asked:?}").contains("sesame"));
}

#[test]
fn a_version_that_was_not_asked_for_is_not_taken() {
    let stub = VaultStub::start();
    let kv = place(&stub, KV);
    let (key, blob) = kv.establish(&context(1)).unwrap();
    stub.state().mood = Mood::Says(
        r#"{"data":{"data":{"key":"base64:WlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlo="},"metadata":{"version":2}}}"#,
    );
    let asked = kv.recover(&context(1), &blob);
    assert!(is_unavailable(&asked), "{asked:?}");
    stub.state().mood = Mood::Well;
    assert_eq!(kv.recover(&context(1), &blob), Ok(key));
}

#[test]
fn a_body_of_a_gibibyte_and_a_slow_server_end_in_time() {
    let stub = VaultStub::start();
    let place = place(&stub, "vault:///transit/hr?timeout=1");
    let (_, blob) = place.establish(&context(1)).unwrap();
    for (mood, says) in [
        // Before the time is over, however fast it comes.
        (Mood::Endless, "more than 65536 bytes"),
        (Mood::Slow(Duration::from_secs(20)), "in time"),
        (Mood::HangsUp, ""),
    ] {
        stub.state().mood = mood;
        let started = Instant::now();
        let asked = place.recover(&context(1), &blob);
        assert!(is_unavailable(&asked), "{asked:?}");
        let said = asked.unwrap_err().to_string();
        assert!(said.contains(says), "{said}");
        assert!(started.elapsed() < Duration::from_secs(15));
    }
}

#[test]
fn nobody_there_is_unavailable() {
    let stub = VaultStub::start();
    let place = place(&stub, TRANSIT);
    let (_, blob) = place.establish(&context(1)).unwrap();
    stub.stop();
    let asked = place.recover(&context(1), &blob);
    assert!(is_unavailable(&asked), "{asked:?}");
}

#[test]
fn no_blob_of_a_file_is_sent_but_a_ciphertext() {
    let stub = VaultStub::start();
    let (transit, kv) = (
        place(&stub, TRANSIT),
        place(&stub, "vault:///secret/app/db?engine=kv"),
    );
    let (_, of_transit) = transit.establish(&context(1)).unwrap();
    let (_, of_kv) = kv.establish(&context(1)).unwrap();
    stub.take_requests();
    let with = |bytes: &[u8]| [b"\x01\x00", bytes].concat();
    let absurd = [
        b"".to_vec(),
        vec![0; 1756],
        vec![1, 96],
        with(b""),
        with(b"vault:v0:AAAA"),
        with(b"vault:v01:AAAA"),
        with(b"vault:v+1:AAAA"),
        with(b"vault:v99999999999:AAAA"),
        with(b"vault:v1:"),
        with(b"vault:v1:AA\",\"x\":\"AA"),
        with(b"vault:v1:../../sys/seal"),
        with(&[b"vault:v1:".as_slice(), &[b'A'; 1100]].concat()),
        with(&[0xff, 0xfe]),
        of_kv.clone(),
    ];
    for blob in absurd {
        assert!(is_refused(&transit.recover(&context(1), &blob)), "{blob:?}");
    }
    for blob in [
        of_transit.clone(),
        with(b"1&version=2"),
        with(b"-1"),
        with(b"0"),
        with(b"4294967296"),
        with(b"../x"),
    ] {
        assert!(is_refused(&kv.recover(&context(1), &blob)), "{blob:?}");
    }
    assert_eq!(stub.take_requests(), [""; 0]);
}

#[test]
fn no_error_and_no_debug_has_the_token() {
    let stub = VaultStub::start();
    let environment = Environment::of([("VAULT_ADDR", stub.url()), ("VAULT_TOKEN", TOKEN.into())]);
    let places = Places::new(environment.clone());
    let place = places.provider(TRANSIT).unwrap();
    let (key, blob) = place.establish(&context(1)).unwrap();
    let mut said = format!("{environment:?} {places:?} {key:?}");
    for mood in [
        Mood::Sealed,
        Mood::Says(TOKEN),
        Mood::HangsUp,
        Mood::Redirects(307, format!("http://127.0.0.1:1/{TOKEN}")),
    ] {
        stub.state().mood = mood;
        said += &format!("{:?}", place.recover(&context(1), &blob));
    }
    stub.state().mood = Mood::Well;
    stub.state().tokens.clear();
    let asked = place.recover(&context(1), &blob).unwrap_err();
    said += &format!("{asked} {asked:?}");
    assert!(!said.contains("Sesame"), "{said}");
}
