//! Services that are none, far away, or say what nobody asked: an error each, within the time, that repeats nothing.

use std::time::{Duration, Instant};

use super::*;
use crate::vault_stub::{Mood, VaultStub};

const BLOB: &[u8] = b"\x01\x00sealed";

#[track_caller]
fn is_unavailable(asked: Result<KeyMaterial, KeyError>) -> String {
    assert!(
        matches!(asked, Err(KeyError::Unavailable { .. })),
        "{asked:?}"
    );
    let said = format!("{asked:?} {}", asked.as_ref().unwrap_err());
    assert!(!said.contains("sesame"), "{said}");
    said
}

#[test]
fn a_redirect_is_not_followed() {
    let (stub, thief) = (VaultStub::start(), VaultStub::start());
    for status in [301, 302, 303, 307, 308] {
        stub.state().mood = Mood::Redirects(status, format!("{}/", thief.url()));
        is_unavailable(place_at(&stub.url(), URL).recover(&context(1), BLOB));
    }
    assert_eq!(thief.take_requests(), [""; 0]);
}

#[test]
fn a_body_of_a_gibibyte_and_a_slow_server_end_in_time() {
    let stub = VaultStub::start();
    let place = place_at(&stub.url(), &URL.replace("timeout=2", "timeout=1"));
    for (mood, says) in [
        (Mood::Endless, "more than 65536 bytes"),
        (Mood::Slow(Duration::from_secs(20)), "in time"),
        (Mood::HangsUp, ""),
    ] {
        stub.state().mood = mood;
        let started = Instant::now();
        let said = is_unavailable(place.recover(&context(1), BLOB));
        assert!(said.contains(says), "{said}");
        assert!(started.elapsed() < Duration::from_secs(15));
    }
}

#[test]
fn a_server_with_a_certificate_that_nobody_vouches_for_is_told_nothing() {
    for name in ["server", "elsewhere"] {
        let stub = tls_stub::start(name);
        let endpoint = format!("https://{}", stub.address);
        let said = is_unavailable(place_at(&endpoint, URL).recover(&context(1), BLOB));
        assert!(said.contains("certificate"), "{said}");
        assert_eq!(stub.take_requests(), [""; 0]);
    }
}

#[test]
fn a_key_that_does_not_come_back_gets_no_slot() {
    let gives = |opened: &'static str| {
        let (port, _) = answers(200, move |asked| {
            let is_made = asked.contains("GenerateDataKey");
            let key = if is_made { KEY } else { opened };
            format!("{{\"Plaintext\":\"{key}\",\"CiphertextBlob\":\"c2VhbGVk\"}}")
        });
        place(port, URL).establish(&context(1)).map(|(key, _)| key)
    };
    assert!(gives(KEY).is_ok());
    is_unavailable(gives("QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUE="));
}

#[test]
fn no_debug_has_a_secret() {
    let environment = Environment::of(CREDENTIALS);
    let places = Places::new(environment.clone());
    let place = places.provider(URL).unwrap();
    let asked = place.recover(&context(1), b"\x07");
    let said = format!("{environment:?} {places:?} {asked:?}");
    assert!(!said.contains("sesame"), "{said}");
}
