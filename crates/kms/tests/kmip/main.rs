//! KMIP against PyKMIP 0.11: a key that encrypts and one that is handed out, by id and by name; revoked, destroyed, of others.

#[path = "../key_servers/mod.rs"]
mod key_servers;

mod hostile;

use std::sync::Arc;

use hushdb_keys::{DatabaseId, KeyContext, KeyError, KeyMaterial, KeyProvider, ProviderKind};
use hushdb_kms::{Environment, PlaceError, Places};
use key_servers::pykmip::{Server, TESTDATA, certificates, missing};

fn context(id: u8) -> KeyContext {
    KeyContext {
        database_id: DatabaseId::from_bytes([id; 16]),
    }
}

fn provider(url: &str) -> Result<Arc<dyn KeyProvider>, PlaceError> {
    Places::new(Environment::of::<&str, &str>([])).provider(url)
}

fn is_refused(asked: &Result<KeyMaterial, KeyError>) -> bool {
    matches!(asked, Err(KeyError::Refused { .. }))
}

fn is_unavailable(asked: &Result<KeyMaterial, KeyError>) -> bool {
    matches!(asked, Err(KeyError::Unavailable { .. }))
}

fn place_of(server: &Server, key: &str) -> Arc<dyn KeyProvider> {
    provider(&server.url(server.port, key)).unwrap()
}

#[test]
fn a_key_encrypts_until_it_is_revoked_or_destroyed() {
    if missing() {
        return;
    }
    let server = Server::start();
    let (hr, ops) = (
        server.keeper("create", "hr"),
        server.keeper("create", "ops"),
    );
    let by_id = place_of(&server, &hr);
    assert_eq!(by_id.kind(), ProviderKind::KMIP);
    let (key, blob) = by_id.establish(&context(1)).unwrap();
    assert!(blob.len() < 128, "{}", blob.len());
    assert_eq!(by_id.recover(&context(1), &blob).as_ref(), Ok(&key));
    let by_name = place_of(&server, "?name=hr");
    assert_eq!(by_name.recover(&context(1), &blob), Ok(key));
    assert!(
        is_refused(&by_id.recover(&context(2), &blob)),
        "another database"
    );
    let other = place_of(&server, &ops);
    assert!(
        is_refused(&other.recover(&context(1), &blob)),
        "an id that the URL does not name"
    );
    assert!(is_refused(
        &place_of(&server, "?name=ops").recover(&context(1), &blob)
    ));
    assert!(is_refused(
        &place_of(&server, "?name=none")
            .establish(&context(1))
            .map(|it| it.0)
    ));
    assert!(is_refused(
        &place_of(&server, "4711")
            .establish(&context(1))
            .map(|it| it.0)
    ));
    // One byte of what the server gave.
    let mut edited = blob.clone();
    *edited.last_mut().unwrap() ^= 1;
    assert!(is_refused(&by_id.recover(&context(1), &edited)));
    server.keeper("revoke", &hr);
    assert!(is_refused(&by_id.recover(&context(1), &blob)), "revoked");
    server.keeper("destroy", &hr);
    assert!(is_refused(&by_id.recover(&context(1), &blob)), "destroyed");
}

#[test]
fn a_key_is_handed_out_while_it_is_active() {
    if missing() {
        return;
    }
    let server = Server::start();
    let id = server.keeper("create", "handed");
    let place = place_of(&server, "?name=handed&op=get");
    let (key, blob) = place.establish(&context(1)).unwrap();
    assert_eq!(place.recover(&context(1), &blob).as_ref(), Ok(&key));
    let encrypts = place_of(&server, &id);
    assert!(
        is_refused(&encrypts.recover(&context(1), &blob)),
        "another kind of blob"
    );
    server.keeper("revoke", &id);
    assert!(is_refused(&place.recover(&context(1), &blob)));
    let any = place_of(&server, "?name=handed&op=get&state=any");
    assert_eq!(any.recover(&context(1), &blob), Ok(key));
}

#[test]
fn a_server_of_version_2_alone_is_spoken_to_as_it_wants() {
    if missing() {
        return;
    }
    let server = Server::of_two();
    let id = server.keeper("create", "hr");
    for key in [id.as_str(), "?name=hr", "?name=hr&op=get"] {
        let place = place_of(&server, key);
        let (key, blob) = place.establish(&context(1)).unwrap();
        assert_eq!(place.recover(&context(1), &blob).as_ref(), Ok(&key));
        if blob.len() > 64 {
            assert!(is_refused(&place.recover(&context(2), &blob)));
        }
    }
    let by_name = place_of(&server, "?name=hr");
    let (_, blob) = by_name.establish(&context(1)).unwrap();
    server.keeper("revoke", &id);
    assert!(is_refused(&by_name.recover(&context(1), &blob)));
}

/// A KMIP server rotates by another key, which may have the name.
#[test]
fn a_key_whose_name_another_takes_opens_until_it_is_revoked() {
    if missing() {
        return;
    }
    let server = Server::start();
    let old = server.keeper("create", "hr");
    let place = place_of(&server, "?name=hr");
    let (key, blob) = place.establish(&context(1)).unwrap();
    let new = server.keeper("create", "hr");
    assert_eq!(place.recover(&context(1), &blob).as_ref(), Ok(&key));
    let ambiguous = place.establish(&context(1)).map(|(key, _)| key);
    assert!(is_refused(&ambiguous), "{ambiguous:?}");
    let by_id = place_of(&server, &new);
    let (newer, rewrapped) = by_id.establish(&context(1)).unwrap();
    assert_eq!(place.recover(&context(1), &rewrapped).as_ref(), Ok(&newer));
    server.keeper("revoke", &old);
    assert!(is_refused(&place.recover(&context(1), &blob)));
    assert_eq!(place.recover(&context(1), &rewrapped), Ok(newer));
}

#[test]
fn a_server_that_is_killed_is_unavailable() {
    if missing() {
        return;
    }
    let server = Server::start();
    let id = server.keeper("create", "hr");
    let place = place_of(&server, &id);
    let (_, blob) = place.establish(&context(1)).unwrap();
    drop(server);
    let asked = place.recover(&context(1), &blob);
    assert!(is_unavailable(&asked), "{asked:?}");
}

#[test]
fn certificates_are_checked_on_both_sides() {
    if missing() {
        return;
    }
    let server = Server::start();
    let url = |host: &str, own: &str, ca: &str| {
        format!(
            "kmip://{host}:{}/1?cert={TESTDATA}/{own}.pem&key={TESTDATA}/{own}.pem&ca={TESTDATA}/{ca}.pem&timeout=5",
            server.port
        )
    };
    let establish = |url: String| {
        provider(&url)
            .unwrap()
            .establish(&context(1))
            .map(|it| it.0)
    };
    let stranger = establish(url("127.0.0.1", "client", "client"));
    assert!(is_unavailable(&stranger), "{stranger:?}");
    assert!(
        stranger
            .unwrap_err()
            .to_string()
            .contains("not trusted here")
    );
    let unreadable = establish(url("127.0.0.1", "none", "authority"));
    assert!(
        matches!(unreadable, Err(KeyError::CredentialsRefused { .. })),
        "{unreadable:?}"
    );
    let no_key = establish(url("127.0.0.1", "authority", "authority"));
    assert!(
        matches!(no_key, Err(KeyError::CredentialsRefused { .. })),
        "{no_key:?}"
    );
    let known = establish(url("localhost", "client", "authority"));
    assert!(
        is_refused(&known),
        "it is asked, and has no such key: {known:?}"
    );
}
