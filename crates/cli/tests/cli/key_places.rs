//! `hush` with its key at a key service, as its users have it: by URL on the command line, in ATTACH, in a variable.

use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use crate::place::{Place, Run};
use crate::vault_stub::{Mood, TOKEN, VaultStub};

pub(crate) const URL: &str = "vault:///transit/hr?timeout=2";

/// The program, told of a Vault.
pub(crate) fn hush(place: &Place, vault: &VaultStub, arguments: &[&str]) -> Run {
    let mut command = place.command(arguments);
    command
        .env("VAULT_ADDR", vault.url())
        .env("VAULT_TOKEN", TOKEN)
        .env_remove("VAULT_CACERT")
        .env_remove("VAULT_NAMESPACE");
    Run(command
        .stdin(Stdio::null())
        .output()
        .expect("the program runs"))
}

#[test]
fn a_file_is_made_opened_and_attached_by_url() {
    let (place, vault) = (Place::new(), VaultStub::start());
    let run = |arguments: &[&str]| hush(&place, &vault, arguments);
    run(&[
        "--key-url",
        URL,
        "e.hush",
        "CREATE TABLE t AS SELECT 42 AS a",
    ])
    .ok();
    vault.take_requests();
    assert_eq!(
        run(&["--csv", "--key-url", URL, "e.hush", "FROM t"]).ok(),
        "a\n42\n"
    );
    assert_eq!(vault.take_requests(), ["POST /v1/transit/decrypt/hr"]);
    let attach = format!("ATTACH 'e.hush' AS e (ENCRYPTION_KEY_URL '{URL}'); FROM e.t");
    assert_eq!(run(&["--csv", ":memory:", &attach]).ok(), "a\n42\n");
    let opened = run(&[
        "--csv",
        "-c",
        &format!(".open e.hush --key-url {URL}\nFROM t"),
    ]);
    assert_eq!(opened.ok(), "a\n42\n");
    let list = run(&["keys", "list", "e.hush"]).ok();
    assert!(list.contains("given by vault (transit/hr v1)"), "{list}");
    let inspected = run(&["inspect", "--key-url", URL, "e.hush"]).ok();
    assert!(inspected.contains("generation"), "{inspected}");
    // Another database's slot.
    run(&[
        "--key-url",
        URL,
        "f.hush",
        "CREATE TABLE t AS SELECT 1 AS a",
    ])
    .ok();
    let checked = run(&["check", "--key-url", URL, "f.hush"]).ok();
    assert!(checked.contains("no damage"), "{checked}");
}

#[test]
fn the_variable_names_the_place_when_nothing_else_does() {
    let (place, vault) = (Place::new(), VaultStub::start());
    hush(
        &place,
        &vault,
        &[
            "--key-url",
            URL,
            "e.hush",
            "CREATE TABLE t AS SELECT 42 AS a",
        ],
    )
    .ok();
    let with_variable = |arguments: &[&str], url: &str| {
        let mut command = place.command(arguments);
        command
            .env("VAULT_ADDR", vault.url())
            .env("VAULT_TOKEN", TOKEN);
        command.env("HUSHDB_KEY_URL", url).stdin(Stdio::null());
        Run(command.output().expect("the program runs"))
    };
    assert_eq!(
        with_variable(&["--csv", "e.hush", "FROM t"], URL).ok(),
        "a\n42\n"
    );
    with_variable(&["check", "e.hush"], URL).ok();
    let other = with_variable(&["--key-env", "KEY_A", "e.hush", "FROM t"], URL).refused();
    assert!(other.contains("Wrong Key"), "{other}");
    // A new file without a key stays plain.
    with_variable(&["p.hush", "CREATE TABLE t AS SELECT 1 AS a"], URL).ok();
    assert!(
        place
            .hush(&["keys", "list", "p.hush"])
            .refused()
            .contains("Not Encrypted")
    );
    let bad = with_variable(&["e.hush", "FROM t"], "vault://me:sesame@h/transit/hr").refused();
    assert!(!bad.contains("sesame"), "{bad}");
}

#[test]
fn a_slot_of_a_service_is_added_changed_verified_and_removed() {
    let (place, vault) = (Place::new(), VaultStub::start());
    let run = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        hush(&place, &vault, &words)
    };
    place
        .hush(&[
            "--key-env",
            "KEY_A",
            "e.hush",
            "CREATE TABLE t AS SELECT 42 AS a",
        ])
        .ok();
    run(&format!(
        "keys add e.hush --key-env KEY_A --new-key-url {URL} --label vault"
    ))
    .ok();
    let verified = run(&format!("keys verify e.hush --key-url {URL} --slot 1")).ok();
    assert!(
        verified.starts_with("Key slot 1 opens by vault;"),
        "{verified}"
    );
    let wrong = run(&format!("keys verify e.hush --key-url {URL} --slot 0")).refused();
    assert!(wrong.contains("Wrong Key"), "{wrong}");
    let none = run(&format!("keys verify e.hush --key-url {URL} --slot 3")).refused();
    assert!(none.contains("there is no key slot 3"), "{none}");
    run("keys verify e.hush --key-env KEY_A --slot 0").ok();
    run(&format!(
        "keys change e.hush --key-url {URL} --new-key-url {URL} --slot 1"
    ))
    .ok();
    run(&format!("keys remove e.hush --key-url {URL} --slot 0")).ok();
    run(&format!("--key-url {URL} e.hush .tables")).ok();
    run("--key-env KEY_A e.hush .tables").refused();
}

#[test]
fn refused_unavailable_and_wrong_are_told_apart_without_secrets() {
    let (place, vault) = (Place::new(), VaultStub::start());
    let run = |arguments: &[&str]| hush(&place, &vault, arguments);
    run(&[
        "--key-url",
        URL,
        "e.hush",
        "CREATE TABLE t AS SELECT 42 AS a",
    ])
    .ok();
    let open = |url: &str| {
        let said = run(&["--key-url", url, "e.hush", "FROM t"]).refused();
        let sql = format!("ATTACH 'e.hush' AS e (ENCRYPTION_KEY_URL '{url}')");
        let said = said + &run(&[":memory:", &sql]).refused();
        assert!(!said.contains("Sesame"), "{said}");
        said
    };
    let other = open("vault:///transit/ops");
    assert!(
        other.contains("Key Refused") && other.contains("status 400"),
        "{other}"
    );
    vault.state().tokens.insert(TOKEN.into(), false);
    assert!(open(URL).contains("policies do not allow"));
    vault.state().tokens.clear();
    let ended = open(URL);
    assert!(
        ended.contains("Key Refused") && ended.contains("does not accept"),
        "{ended}"
    );
    vault.state().tokens.insert(TOKEN.into(), true);
    vault.state().mood = Mood::Sealed;
    let sealed = open(URL);
    assert!(
        sealed.contains("Key Unavailable") && sealed.contains("status 503"),
        "{sealed}"
    );
    vault.stop();
    let down = open(URL);
    assert!(
        down.contains("Key Unavailable") && down.contains("nobody listens"),
        "{down}"
    );
    let elsewhere = open("vault://other.example/transit/hr");
    assert!(
        elsewhere.contains("another host than VAULT_ADDR"),
        "{elsewhere}"
    );
}

#[test]
fn a_service_that_goes_down_disturbs_nobody_who_is_in() {
    let (place, vault) = (Place::new(), VaultStub::start());
    hush(
        &place,
        &vault,
        &[
            "--key-url",
            URL,
            "e.hush",
            "CREATE TABLE t AS SELECT 42 AS a",
        ],
    )
    .ok();
    let mut command = place.command(&["--csv", "--key-url", URL, "e.hush"]);
    command
        .env("VAULT_ADDR", vault.url())
        .env("VAULT_TOKEN", TOKEN);
    let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let mut child = child.expect("the program runs");
    let mut input = child.stdin.take().expect("its input");
    let mut output = std::io::BufReader::new(child.stdout.take().expect("its output"));
    let mut line = || {
        let mut line = String::new();
        std::io::BufRead::read_line(&mut output, &mut line).expect("an answer");
        line
    };
    use std::io::Write;
    writeln!(input, "FROM t;").expect("sent");
    assert_eq!((line(), line()), ("a\n".into(), "42\n".into()));
    vault.stop();
    writeln!(
        input,
        "INSERT INTO t VALUES (43); CHECKPOINT; SELECT count(*) AS n FROM t;"
    )
    .expect("sent");
    assert_eq!((line(), line()), ("n\n".into(), "2\n".into()));
    drop(input);
    assert!(child.wait().expect("it ends").success());
}

#[test]
fn a_program_keeps_a_key() {
    let place = Place::new();
    let key = "WlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlo=";
    let keeper = place.write(
        "keeper",
        &format!("#!/bin/sh\necho may-be-shown >&2\ncase $1 in wrap) echo '{{\"key\":\"{key}\",\"blob\":\"c2VhbGVk\"}}';; *) echo '{{\"key\":\"{key}\"}}';; esac\n"),
    );
    std::fs::set_permissions(&keeper, PermissionsExt::from_mode(0o700)).expect("changed");
    let url = format!("exec:{}", keeper.display());
    place
        .hush(&[
            "--key-url",
            &url,
            "e.hush",
            "CREATE TABLE t AS SELECT 42 AS a",
        ])
        .ok();
    let opened = place.hush(&["--csv", "--key-url", &url, "e.hush", "FROM t"]);
    assert_eq!(opened.ok(), "a\n42\n");
    assert!(opened.err().contains("may-be-shown"), "{}", opened.err());
}

#[test]
fn a_recovery_key_is_printed_once_and_opens() {
    let place = Place::new();
    place
        .hush(&[
            "--key-env",
            "KEY_A",
            "e.hush",
            "CREATE TABLE t AS SELECT 42 AS a",
        ])
        .ok();
    let added = place
        .hush(&[
            "keys",
            "add",
            "--key-env",
            "KEY_A",
            "--recovery",
            "--label",
            "safe",
            "e.hush",
        ])
        .ok();
    let printed = added.lines().find(|line| line.starts_with("    "));
    let printed = printed.expect("a recovery key").trim();
    assert_eq!(printed.len(), 9 * 8 - 1, "{added}");
    let open = |typed: &str| {
        place.write("typed", &format!("recovery:{typed}\n"));
        place.hush(&["--csv", "--key-file", "typed", "e.hush", "FROM t"])
    };
    assert_eq!(open(printed).ok(), "a\n42\n");
    assert_eq!(
        open(&printed.to_lowercase().replace('-', " ")).ok(),
        "a\n42\n"
    );
    let mut mistyped = printed.to_owned();
    let wrong = if mistyped.starts_with('7') { "8" } else { "7" };
    mistyped.replace_range(..1, wrong);
    let refused = open(&mistyped).refused();
    assert!(
        refused.contains("Malformed Key") && refused.contains("group 1 "),
        "{refused}"
    );
    let list = place.hush(&["keys", "list", "e.hush"]).ok();
    assert!(list.contains("given by recovery, \"safe\""), "{list}");
    let both = [
        "keys",
        "add",
        "--recovery",
        "--new-key-env",
        "KEY_B",
        "e.hush",
    ];
    assert!(!place.hush(&both).0.status.success());
}

#[test]
fn an_expected_key_is_compared_before_any_place_is_asked() {
    let (place, vault) = (Place::new(), VaultStub::start());
    let run = |arguments: &[&str]| hush(&place, &vault, arguments);
    for file in ["e.hush", "f.hush"] {
        run(&["--key-url", URL, file, "CREATE TABLE t AS SELECT 42 AS a"]).ok();
    }
    let commitment = |file: &str| {
        let inspected = run(&["inspect", file]).ok();
        let line = inspected
            .lines()
            .find_map(|line| line.strip_prefix("key commitment"));
        line.expect("a commitment").trim().to_owned()
    };
    let (own, other) = (commitment("e.hush"), commitment("f.hush"));
    assert_ne!(own, other);
    run(&["--key-url", URL, "--expected-key", &own, "e.hush", "FROM t"]).ok();
    let attach = |key: &str| {
        let sql =
            format!("ATTACH 'e.hush' AS e (ENCRYPTION_KEY_URL '{URL}', EXPECTED_KEY '{key}')");
        run(&[":memory:", &sql])
    };
    attach(&own).ok();
    vault.take_requests();
    let refused = run(&[
        "--key-url",
        URL,
        "--expected-key",
        &other,
        "e.hush",
        "FROM t",
    ])
    .refused();
    assert!(
        refused.contains("Tampered") && refused.contains("not the expected key"),
        "{refused}"
    );
    assert!(attach(&other).refused().contains("not the expected key"));
    assert_eq!(vault.take_requests(), [""; 0], "nobody was asked");
    assert!(attach("sesame").refused().contains("64 hexadecimal digits"));
    // A plain file in its place, or none.
    place
        .hush(&["p.hush", "CREATE TABLE t AS SELECT 42 AS a"])
        .ok();
    let plain = run(&["--key-url", URL, "--expected-key", &own, "p.hush", "FROM t"]).refused();
    assert!(plain.contains("not the expected key"), "{plain}");
    run(&[
        "--key-url",
        URL,
        "--expected-key",
        &own,
        "new.hush",
        "SELECT 1",
    ])
    .refused();
    assert!(!place.path("new.hush").exists());
}
