//! Programs that wrap and unwrap: shell scripts that do it well, badly, late or not at all.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hushdb_keys::{DatabaseId, KeyContext, KeyError, KeyMaterial, KeyProvider, ProviderKind};
use hushdb_kms::{Environment, PlaceError, Places};

const CONTEXT: KeyContext = KeyContext {
    database_id: DatabaseId::from_bytes([0xab; 16]),
};
const KEY: &str = "WlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlo=";

fn places() -> Places {
    Places::new(Environment::of::<&str, &str>([]))
}

/// A script of this body, as a place.
fn script(directory: &Path, body: &str, query: &str) -> Arc<dyn KeyProvider> {
    let path = directory.join("keeper");
    std::fs::write(&path, format!("#!/bin/sh\n{body}\n")).unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o700)).unwrap();
    let url = format!("exec:{}{query}", path.display());
    places().provider(&url).unwrap()
}

/// Running a file that a fork of another test's thread still has open for writing is refused: one script at a time.
static ONE_AT_A_TIME: std::sync::Mutex<()> = std::sync::Mutex::new(());

fn alone() -> std::sync::MutexGuard<'static, ()> {
    ONE_AT_A_TIME
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

#[test]
fn a_program_wraps_and_unwraps() {
    let _alone = alone();
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("log");
    let body = format!(
        "read -r line; echo \"$*|$line\" >> '{}'\n\
         case $3 in wrap) echo '{{\"key\":\"{KEY}\",\"blob\":\"c2VhbGVk\"}}';; *) echo '{{\"key\":\"{KEY}\"}}';; esac",
        log.display()
    );
    let place = script(directory.path(), &body, "?arg=a%20b&arg=$HOME");
    assert_eq!(place.kind(), ProviderKind::EXEC);
    let (key, blob) = place.establish(&CONTEXT).unwrap();
    assert!(matches!(key, KeyMaterial::Raw(_)));
    assert_eq!(blob, b"\x01\x06keepersealed");
    assert_eq!(place.recover(&CONTEXT, &blob), Ok(key));
    let id = "ab".repeat(16);
    let asked = std::fs::read_to_string(log).unwrap();
    let expected = format!(
        "a b $HOME wrap|{{\"v\":1,\"database\":\"{id}\",\"key\":0}}\n\
         a b $HOME unwrap|{{\"v\":1,\"database\":\"{id}\",\"key\":0,\"blob\":\"c2VhbGVk\"}}\n"
    );
    assert_eq!(asked, expected);
}

#[test]
fn garbage_and_exit_codes_are_errors_without_the_output() {
    let _alone = alone();
    let directory = tempfile::tempdir().unwrap();
    let blob = b"\x01\x00sealed";
    let ask = |body: &str| {
        let place = script(directory.path(), body, "");
        let asked = place.recover(&CONTEXT, blob);
        assert!(!format!("{asked:?}").contains("sesame"), "{asked:?}");
        asked
    };
    for garbage in [
        "echo sesame".to_owned(),
        "true".into(),
        "printf ''".into(),
        format!("echo '{{\"key\":\"{KEY}\",\"blob\":\"c2VhbGVk\"}}'"),
        format!("echo '{{\"key\":\"{KEY}\",\"sesame\":1}}'"),
        format!("echo '{{\"key\":\"{KEY}\"}}'; echo"),
        format!("echo '{{\"key\":\"{KEY}\"}} {{}}'"),
        "echo '{\"key\":\"c2VzYW1l\"}'".into(),
        "echo '{\"key\":7}'".into(),
        "yes sesame".into(),
        "head -c 70000 /dev/zero".into(),
    ] {
        let asked = ask(&garbage);
        assert!(asked.is_err(), "{garbage}");
    }
    assert!(matches!(ask("exit 1"), Err(KeyError::Refused { .. })));
    for body in ["exit 2", "exit 3", "kill -9 $$", "exec </no/such/file"] {
        let asked = ask(body);
        assert!(
            matches!(asked, Err(KeyError::Unavailable { .. })),
            "{body}: {asked:?}"
        );
    }
    // It closes early, without having read what it was asked.
    assert!(ask(&format!("exec <&-; echo '{{\"key\":\"{KEY}\"}}'")).is_ok());
    let wraps = script(
        directory.path(),
        &format!("echo '{{\"key\":\"{KEY}\",\"blob\":\"\"}}'"),
        "",
    );
    assert!(wraps.establish(&CONTEXT).is_err(), "an empty blob");
}

#[test]
fn what_a_program_says_too_much_is_not_read_to_its_end() {
    let _alone = alone();
    let directory = tempfile::tempdir().unwrap();
    let whole = directory.path().join("whole");
    for to in ["", ">&2"] {
        // Who writes on where nobody reads any more is told.
        let body = format!(
            "trap '' PIPE; head -c 1000000 /dev/zero {to} && touch '{}'; exit 2",
            whole.display()
        );
        let asked = script(directory.path(), &body, "").recover(&CONTEXT, b"\x01\x00sealed");
        assert!(
            matches!(asked, Err(KeyError::Unavailable { .. })),
            "{asked:?}"
        );
        assert!(!whole.exists(), "{to}");
    }
}

#[test]
fn a_blob_that_no_slot_would_give_back_is_refused() {
    let _alone = alone();
    let directory = tempfile::tempdir().unwrap();
    let wrap = |groups: usize| {
        let blob = "AAAA".repeat(groups);
        let body = format!("echo '{{\"key\":\"{KEY}\",\"blob\":\"{blob}\"}}'");
        script(directory.path(), &body, "").establish(&CONTEXT)
    };
    assert_eq!(wrap(341).unwrap().1.len(), 2 + "keeper".len() + 1023);
    for groups in [0, 342, 10_000] {
        assert!(
            matches!(wrap(groups), Err(KeyError::Refused { .. })),
            "{groups}"
        );
    }
}

#[test]
fn a_program_that_hangs_is_ended() {
    let _alone = alone();
    let directory = tempfile::tempdir().unwrap();
    for body in ["sleep 600", "exec >&-; sleep 600", "sleep 600 & exit 0"] {
        let place = script(directory.path(), body, "?timeout=1");
        let started = Instant::now();
        let asked = place.recover(&CONTEXT, b"\x01\x00sealed");
        assert!(
            matches!(asked, Err(KeyError::Unavailable { .. })),
            "{body}: {asked:?}"
        );
        assert!(started.elapsed() < Duration::from_secs(10), "{body}");
    }
}

#[test]
fn what_is_no_program_is_refused() {
    let missing = places().provider("exec:/no/such/program").unwrap();
    let asked = missing.recover(&CONTEXT, b"\x01\x00sealed");
    assert!(
        matches!(asked, Err(KeyError::Unavailable { .. })),
        "{asked:?}"
    );
    let asked = missing.recover(&CONTEXT, b"\x02sealed");
    assert!(matches!(asked, Err(KeyError::Refused { .. })), "{asked:?}");
    for url in ["exec:program", "exec://host/program", "exec:"] {
        let refused = places().provider(url).map(drop);
        assert!(
            matches!(refused, Err(PlaceError::Malformed { .. })),
            "{url}"
        );
    }
    let refused = places().provider("exec:/p?env=x").map(drop);
    assert!(matches!(refused, Err(PlaceError::UnknownParameter { .. })));
    let refused = places().without_code().provider("exec:/p").map(drop);
    assert_eq!(refused, Err(PlaceError::RunsCode { scheme: "exec" }));
}
