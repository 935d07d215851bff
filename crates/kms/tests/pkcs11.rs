//! A key in a token of SoftHSM 2: found, used, refused, and its PIN.
//!
//! The module reads its configuration from the environment, which a process cannot change for itself: the test runs itself again.

mod key_servers;

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use cryptoki::context::{CInitializeArgs, CInitializeFlags, Pkcs11 as Module};
use hushdb_keys::{DatabaseId, KeyContext, KeyError, KeyMaterial, KeyProvider, ProviderKind};
use hushdb_kms::{Environment, PlaceError, Places};
use key_servers::softhsm::{self, MODULE};

const DIRECTORY: &str = "HUSHDB_TEST_TOKENS";

fn context(id: u8) -> KeyContext {
    KeyContext {
        database_id: DatabaseId::from_bytes([id; 16]),
    }
}

fn provider(url: &str) -> Result<Arc<dyn KeyProvider>, PlaceError> {
    Places::new(Environment::of::<&str, &str>([])).provider(url)
}

fn place(directory: &Path, attributes: &str) -> Arc<dyn KeyProvider> {
    let pin = directory.join("pin");
    let pin = pin.display();
    provider(&format!(
        "pkcs11:{attributes}?module-path={MODULE}&pin-source=file:{pin}"
    ))
    .unwrap()
}

fn tool(arguments: &[&str]) {
    key_servers::run(&mut softhsm::tool("1234", arguments));
}

/// Does this with the directory of a token, in a process that the test of this name is run in again.
fn with_token(test: &str, work: impl Fn(&Path)) {
    if let Some(directory) = std::env::var_os(DIRECTORY) {
        return work(Path::new(&directory));
    }
    if softhsm::missing() || softhsm::compiler_missing() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let configuration = softhsm::token(directory.path(), "1234");
    let mut again = Command::new(std::env::current_exe().unwrap());
    again.args(["--exact", test]);
    again
        .env("SOFTHSM2_CONF", &configuration)
        .env(DIRECTORY, directory.path());
    key_servers::run(&mut again);
}

#[test]
fn a_token_wraps_and_unwraps() {
    with_token("a_token_wraps_and_unwraps", |directory| {
        it_wraps_and_unwraps(directory);
        a_token_that_was_away_is_seen_again(directory);
        keys_are_found_and_missed(directory);
        a_wrong_pin_is_tried_once(directory);
    });
}

fn it_wraps_and_unwraps(directory: &Path) {
    std::fs::write(directory.join("pin"), "1234\n").unwrap();
    tool(&[
        "--keygen",
        "--key-type",
        "AES:32",
        "--label",
        "hr",
        "--id",
        "0a",
    ]);
    let hr = place(directory, "token=hush;object=hr");
    assert_eq!(hr.kind(), ProviderKind::PKCS11);
    let (key, blob) = hr.establish(&context(1)).unwrap();
    assert_eq!(blob.len(), 2 + "hush/hr".len() + 60);
    assert_eq!(hr.recover(&context(1), &blob), Ok(key));
    let refused = hr.recover(&context(2), &blob);
    assert!(
        matches!(refused, Err(KeyError::Refused { .. })),
        "{refused:?}"
    );
    for at in 0..blob.len() {
        let mut edited = blob.clone();
        edited[at] ^= 1;
        let asked = hr.recover(&context(1), &edited);
        // The text for people is only that.
        let is_text = (2..9).contains(&at);
        assert_eq!(asked.is_ok(), is_text, "byte {at}: {asked:?}");
    }
    for absurd in [&b""[..], b"\x01\x00", &[1, 0, 7], &[7; 1000]] {
        assert!(hr.recover(&context(1), absurd).is_err());
    }
}

fn a_token_that_was_away_is_seen_again(directory: &Path) {
    let hr = place(directory, "token=hush;object=hr");
    let (key, blob) = hr.establish(&context(1)).unwrap();
    let (tokens, aside) = (directory.join("tokens"), directory.join("aside"));
    for _ in 0..3 {
        std::fs::rename(&tokens, &aside).unwrap();
        let asked = hr.recover(&context(1), &blob);
        assert!(
            matches!(asked, Err(KeyError::Unavailable { .. })),
            "{asked:?}"
        );
        std::fs::rename(&aside, &tokens).unwrap();
        assert_eq!(hr.recover(&context(1), &blob).as_ref(), Ok(&key));
    }
}

fn keys_are_found_and_missed(directory: &Path) {
    let refused = |attributes: &str| {
        let asked = place(directory, attributes)
            .establish(&context(1))
            .map(drop);
        assert!(
            matches!(asked, Err(KeyError::Refused { .. })),
            "{attributes}: {asked:?}"
        );
    };
    refused("token=hush;object=none");
    tool(&[
        "--keygen",
        "--key-type",
        "AES:32",
        "--label",
        "hr",
        "--id",
        "0b",
    ]);
    refused("token=hush;object=hr");
    let by_id = place(directory, "token=hush;object=hr;id=%0a;type=secret-key");
    let (key, blob) = by_id.establish(&context(1)).unwrap();
    let other = place(directory, "token=hush;id=%0b");
    let asked = other.recover(&context(1), &blob);
    assert!(matches!(asked, Err(KeyError::Refused { .. })), "{asked:?}");
    assert_eq!(by_id.recover(&context(1), &blob), Ok(key));
    tool(&["--delete-object", "--type", "secrkey", "--id", "0a"]);
    let asked = by_id.recover(&context(1), &blob);
    assert!(matches!(asked, Err(KeyError::Refused { .. })), "{asked:?}");
    let absent = place(directory, "token=absent;object=hr").recover(&context(1), &blob);
    assert!(
        matches!(absent, Err(KeyError::Unavailable { .. })),
        "{absent:?}"
    );
    for module in ["/no/such/module.so", "/etc/hostname"] {
        let url = format!("pkcs11:token=hush;object=hr?module-path={module}&pin-source=file:/none");
        let asked = provider(&url).unwrap().recover(&context(1), &blob);
        assert!(
            matches!(asked, Err(KeyError::Unavailable { .. })),
            "{asked:?}"
        );
    }
}

fn a_wrong_pin_is_tried_once(directory: &Path) {
    let own = place(directory, "token=hush;object=hr");
    let (key, blob) = own.establish(&context(1)).unwrap();
    let ask = |pin: &str| {
        std::fs::write(directory.join("pin"), pin).unwrap();
        let asked = own.recover(&context(1), &blob);
        assert!(!format!("{asked:?}").contains("sesame"), "{asked:?}");
        asked
    };
    let long = format!("1234{}", " ".repeat(2000));
    for pin in ["sesame", "", "sesame\u{0}", "12345", &long] {
        let asked = ask(pin);
        assert!(
            matches!(asked, Err(KeyError::CredentialsRefused { .. })),
            "{pin}: {asked:?}"
        );
    }
    assert_eq!(
        ask("1234"),
        Ok::<KeyMaterial, KeyError>(key),
        "no try was lost"
    );
    std::fs::remove_file(directory.join("pin")).unwrap();
    let asked = own.recover(&context(1), &blob);
    assert!(
        matches!(asked, Err(KeyError::CredentialsRefused { .. })),
        "{asked:?}"
    );
}

/// The key `odd` of the token by a module of its own.
fn odd_place(directory: &Path) -> Arc<dyn KeyProvider> {
    std::fs::write(directory.join("pin"), "1234").unwrap();
    tool(&["--keygen", "--key-type", "AES:32", "--label", "odd"]);
    let module = softhsm::odd_module(directory);
    let (module, directory) = (module.display(), directory.display());
    let url = format!(
        "pkcs11:token=hush;object=odd?module-path={module}&pin-source=file:{directory}/pin"
    );
    provider(&url).unwrap()
}

fn set_mood(directory: &Path, mood: &str) {
    std::fs::write(directory.join("mood"), mood).unwrap();
}

#[test]
fn a_last_try_is_not_taken_and_a_failed_login_not_repeated() {
    let name = "a_last_try_is_not_taken_and_a_failed_login_not_repeated";
    with_token(name, |directory| {
        let place = odd_place(directory);
        let (key, blob) = place.establish(&context(1)).unwrap();
        let logins = || std::fs::metadata(directory.join("logins")).unwrap().len();
        let before = logins();
        for mood in ["final try", "locked"] {
            set_mood(directory, mood);
            let asked = place.recover(&context(1), &blob);
            assert!(
                matches!(asked, Err(KeyError::CredentialsRefused { .. })),
                "{asked:?}"
            );
        }
        assert_eq!(logins(), before);
        set_mood(directory, "login fails");
        let asked = place.recover(&context(1), &blob);
        assert!(
            matches!(asked, Err(KeyError::Unavailable { .. })),
            "{asked:?}"
        );
        assert_eq!(logins(), before + 1);
        set_mood(directory, "");
        assert_eq!(place.recover(&context(1), &blob), Ok(key));
    });
}

#[test]
fn a_token_that_only_pretends_gets_no_slot() {
    with_token("a_token_that_only_pretends_gets_no_slot", |directory| {
        let place = odd_place(directory);
        let (key, blob) = place.establish(&context(1)).unwrap();
        for mood in ["binds nothing", "opens another"] {
            set_mood(directory, mood);
            let asked = place.establish(&context(1)).map(drop);
            assert!(
                matches!(asked, Err(KeyError::Refused { .. })),
                "{mood}: {asked:?}"
            );
        }
        // It is gone amid the work, which is no word on the key.
        set_mood(directory, "removed");
        let asked = place.recover(&context(1), &blob);
        assert!(
            matches!(asked, Err(KeyError::Unavailable { .. })),
            "{asked:?}"
        );
        set_mood(directory, "");
        assert_eq!(place.recover(&context(1), &blob), Ok(key));
    });
}

#[test]
fn a_module_that_others_have_begun_with_is_not_ended() {
    let name = "a_module_that_others_have_begun_with_is_not_ended";
    with_token(name, |directory| {
        let place = odd_place(directory);
        let theirs = Module::new(directory.join("odd_token.so")).unwrap();
        let begins = CInitializeArgs::new(CInitializeFlags::OS_LOCKING_OK);
        theirs.initialize(begins).unwrap();
        let slot = theirs.get_slots_with_token().unwrap()[0];
        let session = theirs.open_ro_session(slot).unwrap();
        let (key, blob) = place.establish(&context(1)).unwrap();
        set_mood(directory, "removed");
        let asked = place.recover(&context(1), &blob);
        assert!(
            matches!(asked, Err(KeyError::Unavailable { .. })),
            "{asked:?}"
        );
        assert!(session.get_session_info().is_ok(), "it goes on");
        set_mood(directory, "");
        assert_eq!(place.recover(&context(1), &blob), Ok(key));
    });
}

#[test]
fn blobs_that_no_token_made_are_given_to_none() {
    // There is no module: whoever wants one is told that it cannot be had.
    let url = "pkcs11:token=t;object=o?module-path=/no/such/module.so&pin-source=file:/none";
    let place = provider(url).unwrap();
    let with = |len: usize| [&[1, 0][..], &vec![7; len]].concat();
    for blob in [
        Vec::new(),
        vec![7; 62],
        with(0),
        with(12),
        with(59),
        with(61),
        with(1024),
    ] {
        let asked = place.recover(&context(1), &blob);
        assert!(
            matches!(asked, Err(KeyError::Refused { .. })),
            "{blob:?}: {asked:?}"
        );
    }
    let asked = place.recover(&context(1), &with(60));
    assert!(
        matches!(asked, Err(KeyError::Unavailable { .. })),
        "{asked:?}"
    );
}

#[test]
fn urls_of_tokens_are_refused_by_name() {
    for (url, expected) in [
        ("pkcs11:token=t;object=o", "pkcs11 URLs have the form"),
        (
            "pkcs11:object=o?module-path=/m",
            "pkcs11 URLs have the form",
        ),
        ("pkcs11:token=t?module-path=/m", "pkcs11 URLs have the form"),
        (
            "pkcs11:token=t;token=u;object=o?module-path=/m",
            "pkcs11 URLs have the form",
        ),
        ("pkcs11://t/o?module-path=/m", "pkcs11 URLs have the form"),
        (
            "pkcs11:token=t;object=o?module-path=m.so",
            "pkcs11 URLs have the form",
        ),
        (
            "pkcs11:token=t;object=o;slot-id=1?module-path=/m",
            "no parameter slot-id",
        ),
        (
            "pkcs11:token=t;object=o?module-path=/m&pin-value=sesame",
            "no user and password",
        ),
        (
            "pkcs11:token=t;object=o?module-path=/m&pin-source=|sesame",
            "no URL of a place",
        ),
        (
            "pkcs11:token=t;object=o?module-path=/m&pin-source=sesame",
            "an absolute path",
        ),
        (
            "pkcs11:token=t;object=o?module-path=/m&pin=1",
            "no parameter pin",
        ),
    ] {
        let error = provider(url).map(drop).unwrap_err();
        assert!(error.to_string().contains(expected), "{url}: {error}");
        assert!(!error.to_string().contains("sesame"), "{error}");
    }
    let typed = provider("pkcs11:token=t;object=o?module-path=/m").unwrap();
    let read = provider("pkcs11:token=t;object=o?module-path=/m&pin-source=file:/pin").unwrap();
    assert!(typed.asks_a_person() && !read.asks_a_person());
    let places = Places::new(Environment::of::<&str, &str>([])).without_code();
    let refused = places
        .provider("pkcs11:token=t;object=o?module-path=/m")
        .map(drop);
    assert_eq!(refused, Err(PlaceError::RunsCode { scheme: "pkcs11" }));
}
