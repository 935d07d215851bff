//! Vault's places against a stub that answers as Vault does: what opens, what is refused, and what each refusal is.

#[path = "../tls_stub/mod.rs"]
mod tls_stub;
#[path = "../vault_stub/mod.rs"]
mod vault_stub;

mod hostile;
mod real;
mod tls;

use std::sync::Arc;

use hushdb_keys::{DatabaseId, KeyContext, KeyError, KeyMaterial, KeyProvider, ProviderKind};
use hushdb_kms::{Environment, PlaceError, Places};
use vault_stub::{Mood, TOKEN, VaultStub};

const TRANSIT: &str = "vault:///transit/hr?timeout=2";

fn context(id: u8) -> KeyContext {
    KeyContext {
        database_id: DatabaseId::from_bytes([id; 16]),
    }
}

fn places(stub: &VaultStub, token: &str) -> Places {
    let address = stub.url();
    let variables = [("VAULT_ADDR", address.as_str()), ("VAULT_TOKEN", token)];
    Places::new(Environment::of(variables))
}

fn place(stub: &VaultStub, url: &str) -> Arc<dyn KeyProvider> {
    places(stub, TOKEN).provider(url).unwrap()
}

fn is_refused(asked: &Result<KeyMaterial, KeyError>) -> bool {
    matches!(asked, Err(KeyError::Refused { .. }))
}

fn is_not_accepted(asked: &Result<KeyMaterial, KeyError>) -> bool {
    matches!(asked, Err(KeyError::CredentialsRefused { .. }))
}

fn is_unavailable(asked: &Result<KeyMaterial, KeyError>) -> bool {
    matches!(asked, Err(KeyError::Unavailable { .. }))
}

#[test]
fn transit_wraps_and_unwraps() {
    let stub = VaultStub::start();
    let place = place(&stub, TRANSIT);
    assert_eq!(place.kind(), ProviderKind::VAULT);
    assert!(place.keeps_blob());
    let (key, blob) = place.establish(&context(1)).unwrap();
    assert!(matches!(key, KeyMaterial::Raw(_)));
    assert!(blob.len() < 100, "{}", blob.len());
    assert!(blob.starts_with(b"\x01\x0dtransit/hr v1vault:v1:"));
    stub.take_requests();
    assert_eq!(place.recover(&context(1), &blob), Ok(key));
    assert_eq!(stub.take_requests(), ["POST /v1/transit/decrypt/hr"]);
    let (other, _) = place.establish(&context(1)).unwrap();
    assert_ne!(Ok(other), place.recover(&context(1), &blob));
}

#[test]
fn a_wrong_database_or_key_is_refused() {
    let stub = VaultStub::start();
    let own = place(&stub, TRANSIT);
    let (_, blob) = own.establish(&context(1)).unwrap();
    assert!(is_refused(&own.recover(&context(2), &blob)));
    let hr = stub.state().keys["hr"].clone();
    stub.state().keys.insert("ops".into(), hr);
    let other = place(&stub, "vault:///transit/ops");
    assert!(is_refused(&other.recover(&context(1), &blob)));
    let missing = place(&stub, "vault:///transit/none");
    assert!(is_refused(&missing.recover(&context(1), &blob)));
    let mount = place(&stub, "vault:///elsewhere/hr");
    assert!(is_refused(&mount.recover(&context(1), &blob)));
}

#[test]
fn a_rotated_key_opens_until_its_version_is_below_the_least() {
    let stub = VaultStub::start();
    let place = place(&stub, TRANSIT);
    let (key, blob) = place.establish(&context(1)).unwrap();
    stub.state().keys.get_mut("hr").unwrap().latest = 2;
    assert_eq!(place.recover(&context(1), &blob), Ok(key));
    let (_, newer) = place.establish(&context(1)).unwrap();
    stub.state().keys.get_mut("hr").unwrap().oldest = 2;
    assert!(is_refused(&place.recover(&context(1), &blob)));
    assert!(place.recover(&context(1), &newer).is_ok());
    stub.state().keys.clear();
    assert!(is_refused(&place.recover(&context(1), &newer)));
}

#[test]
fn a_key_that_binds_nothing_gets_no_slot() {
    let stub = VaultStub::start();
    stub.state().keys.get_mut("hr").unwrap().binds = false;
    let refused = place(&stub, TRANSIT).establish(&context(1)).unwrap_err();
    assert!(refused.to_string().contains("aes256-gcm96"), "{refused}");
}

#[test]
fn a_secret_of_kv_hands_its_key_out_by_version() {
    let stub = VaultStub::start();
    let place_of = |url: &str| place(&stub, url);
    let own = place_of("vault:///secret/app/db?engine=kv&field=key");
    let (key, blob) = own.establish(&context(1)).unwrap();
    let second =
        serde_json::json!({ "key": format!("hex:{}", "cd".repeat(32)), "word": "hunter2" });
    stub.state()
        .secrets
        .get_mut("app/db")
        .unwrap()
        .push(Some(second));
    stub.take_requests();
    assert_eq!(own.recover(&context(1), &blob), Ok(key));
    assert_eq!(
        stub.take_requests(),
        ["GET /v1/secret/data/app/db?version=1"]
    );
    let (_, newer) = own.establish(&context(1)).unwrap();
    stub.state().secrets.get_mut("app/db").unwrap()[0] = None;
    assert!(is_refused(&own.recover(&context(1), &blob)));
    assert!(own.recover(&context(1), &newer).is_ok());
    for url in [
        "vault:///secret/app/db?engine=kv&field=none",
        "vault:///secret/app/db?engine=kv&field=word",
        "vault:///secret/none?engine=kv",
    ] {
        let refused = place_of(url).establish(&context(1)).unwrap_err();
        assert!(matches!(refused, KeyError::Refused { .. }), "{refused}");
        assert!(!refused.to_string().contains("hunter2"));
    }
}

#[test]
fn a_denied_key_and_an_ended_token_are_told_apart() {
    let stub = VaultStub::start();
    let place = place(&stub, TRANSIT);
    let (_, blob) = place.establish(&context(1)).unwrap();
    stub.state().tokens.insert(TOKEN.into(), false);
    assert!(is_refused(&place.recover(&context(1), &blob)));
    stub.state().tokens.clear();
    stub.take_requests();
    assert!(is_not_accepted(&place.recover(&context(1), &blob)));
    assert_eq!(
        stub.take_requests().len(),
        2,
        "no wrong token is tried twice"
    );
}

#[test]
fn tokens_come_from_files_and_app_roles() {
    let stub = VaultStub::start();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("secret");
    let (address, file) = (stub.url(), path.to_string_lossy().into_owned());
    let open = |variables: &[(&str, &str)]| {
        let all = variables.iter().copied().chain([("VAULT_ADDR", &*address)]);
        let place = Places::new(Environment::of(all)).provider(TRANSIT).unwrap();
        place.establish(&context(1)).map(|(key, _)| key)
    };
    let by_file = [("VAULT_TOKEN_FILE", &*file)];
    assert!(is_not_accepted(&open(&by_file)), "there is no file");
    std::fs::write(&path, format!("{TOKEN}\n")).unwrap();
    assert!(open(&by_file).is_ok());
    std::fs::write(&path, "hvs.Other").unwrap();
    let refused = open(&by_file);
    assert!(is_not_accepted(&refused), "the file is read anew");
    std::fs::write(&path, " \n").unwrap();
    assert!(is_not_accepted(&open(&by_file)));
    let long = format!("{TOKEN}{}", " ".repeat(20_000));
    std::fs::write(&path, long).unwrap();
    assert!(is_not_accepted(&open(&by_file)), "more than a token");
    std::fs::write(&path, "two\nlines").unwrap();
    assert!(is_not_accepted(&open(&by_file)));
    let role = [
        ("VAULT_ROLE_ID", "app\"x"),
        ("VAULT_SECRET_ID_FILE", &*file),
    ];
    std::fs::write(&path, "sesame-id\n").unwrap();
    let refused = open(&role);
    assert!(is_not_accepted(&refused));
    assert!(!format!("{refused:?}").contains("sesame"));
    stub.state().role = Some(("app\"x".into(), "sesame-id".into()));
    assert!(open(&role).is_ok());
    assert!(is_not_accepted(&open(&[])));
    stub.state().namespace = Some("team/a".into());
    assert!(open(&role).is_err());
    assert!(open(&[role[0], role[1], ("VAULT_NAMESPACE", "team/a")]).is_ok());
}

#[test]
fn urls_are_refused_by_name() {
    let stub = VaultStub::start();
    let places = places(&stub, TOKEN);
    let own = stub.address;
    for (url, expected) in [
        ("vault:///transit", "vault URLs have the form"),
        ("vault:///transit/../sys", "vault URLs have the form"),
        ("vault:///transit/a%2fb", "vault URLs have the form"),
        ("vault:///transit//hr", "vault URLs have the form"),
        ("vault:///transit/hr?key=x", "no parameter key"),
        ("vault:///transit/hr?field=x", "no parameter field"),
        ("vault:///transit/hr?engine=pki", "transit or kv"),
        ("vault:///transit/hr?timeout=0", "seconds from 1 to 600"),
        ("vault://me:sesame@h/transit/hr", "no user and password"),
        ("vault://attacker.example/transit/hr", "another host"),
        ("vault://127.0.0.1:1/transit/hr", "another host"),
        ("vaults://h/transit/hr", "of the scheme vaults"),
        ("https://h/transit/hr", "of the scheme https"),
        ("exec:bin/x", "exec URLs have the form"),
        ("hex:00112233", "no URL of a place"),
    ] {
        let error = places.provider(url).map(drop).unwrap_err();
        assert!(error.to_string().contains(expected), "{url}: {error}");
        assert!(!error.to_string().contains("sesame"), "{error}");
    }
    for url in [
        format!("vault://{own}/transit/hr"),
        "VAULT://127.0.0.1/a/b/hr".into(),
    ] {
        assert!(places.provider(&url).is_ok(), "{url}");
    }
    let none = Places::new(Environment::of::<&str, &str>([]));
    let error = none.provider(TRANSIT).map(drop).unwrap_err();
    assert!(matches!(
        error,
        PlaceError::Variable {
            variable: "VAULT_ADDR",
            ..
        }
    ));
    let far = Places::new(Environment::of([("VAULT_ADDR", "http://10.1.2.3:8200")]));
    assert_eq!(far.provider(TRANSIT).map(drop), Err(PlaceError::PlainHttp));
}

#[test]
fn a_service_that_stumbles_is_asked_again() {
    let stub = VaultStub::start();
    let place = place(&stub, "vault:///transit/hr");
    let (key, blob) = place.establish(&context(1)).unwrap();
    stub.state().mood = Mood::Stumbles(2);
    stub.take_requests();
    assert_eq!(place.recover(&context(1), &blob), Ok(key));
    assert_eq!(stub.take_requests().len(), 3);
    stub.state().mood = Mood::Sealed;
    assert!(is_unavailable(&place.recover(&context(1), &blob)));
    assert_eq!(stub.take_requests().len(), 3);
}
