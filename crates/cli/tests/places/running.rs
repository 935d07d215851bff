//! A database that is open while its key's place is slow, goes away, and takes the key back.

use std::time::Duration;

use crate::between::{Between, Mood};
use crate::key_servers::moto::{self, Moto};
use crate::key_servers::pykmip::{self, Server};
use crate::key_servers::{run, softhsm};
use crate::place::{Place, Run};
use crate::shell::{Shell, Variables, soon};
use crate::vault_stub::{self, TOKEN, VaultStub};

const OFTEN: &str = "SET key_recheck_grace = '300ms'; SET key_recheck = '50ms';";

/// A new database whose key is often asked for again.
fn watched(place: &Place, variables: Variables<'_>, url: &str) -> Shell {
    let mut shell = Shell::start(place, variables, &["--key-url", url, "e.hush"]);
    shell.run(&format!("{OFTEN} CREATE TABLE t AS SELECT 42 AS a;"));
    shell
}

fn opened(place: &Place, variables: Variables<'_>, url: &str) -> Run {
    let mut command = place.command(&["--csv", "--key-url", url, "e.hush", "SELECT a FROM t"]);
    command.envs(variables.iter().map(|(name, value)| (name, value)));
    Run(command.output().expect("the program runs"))
}

/// Who is in goes on, however often a place that is slow or gone is asked.
fn bears_silence(shell: &mut Shell, between: &Between) {
    for mood in [Mood::Through, Mood::Hangs, Mood::Cut] {
        between.set(mood.clone());
        let before = between.seen();
        soon("nobody asks", || {
            shell.goes_on();
            between.seen() >= before + 2
        });
    }
    between.set(Mood::Through);
    let before = between.seen();
    soon("nobody asks", || between.seen() >= before + 2);
    shell.goes_on();
}

#[track_caller]
fn is_refused(said: &str) {
    assert!(said.contains("Key Refused"), "{said}");
}

#[test]
fn a_kmip_key_that_is_revoked_or_destroyed_ends_the_database_and_silence_does_not() {
    if pykmip::missing() {
        return;
    }
    let server = Server::start();
    for verbs in [&["revoke"][..], &["revoke", "destroy"]] {
        let key = server.keeper("create", verbs[verbs.len() - 1]);
        let between = Between::to(server.port);
        let url = server
            .url(between.port, &key)
            .replace("timeout=5", "timeout=1");
        let place = Place::new();
        let mut shell = watched(&place, &[], &url);
        bears_silence(&mut shell, &between);
        for verb in verbs {
            server.keeper(verb, &key);
        }
        let said = shell.ends_soon();
        is_refused(&said);
        is_refused(&opened(&place, &[], &url).refused());
    }
}

#[test]
fn a_kmip_server_that_is_killed_disturbs_nobody_who_is_in() {
    if pykmip::missing() {
        return;
    }
    let server = Server::start();
    let key = server.keeper("create", "hr");
    let between = Between::to(server.port);
    let url = server
        .url(between.port, &key)
        .replace("timeout=5", "timeout=1");
    let place = Place::new();
    let mut shell = watched(&place, &[], &url);
    drop(server);
    let before = between.seen();
    soon("nobody asks", || {
        shell.goes_on();
        between.seen() > before + 5
    });
    drop(shell);
    let said = opened(&place, &[], &url).refused();
    assert!(said.contains("Key Unavailable"), "{said}");
}

fn of_aws(port: u16) -> [(&'static str, String); 4] {
    [
        ("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE".to_owned()),
        ("AWS_SECRET_ACCESS_KEY", "sesame".to_owned()),
        ("AWS_REGION", "eu-west-1".to_owned()),
        ("AWS_ENDPOINT_URL_KMS", format!("http://127.0.0.1:{port}")),
    ]
}

#[test]
fn an_aws_key_that_is_disabled_or_deleted_ends_the_database_and_silence_does_not() {
    if moto::missing() {
        return;
    }
    let moto = Moto::start();
    // moto decrypts under disabled keys, and under those that are to be deleted: AWS's words for these are said in its place.
    for code in ["DisabledException", "KMSInvalidStateException", ""] {
        let url = format!("aws-kms://{}?timeout=1", moto.key(&format!("of{code}")));
        let between = Between::to(moto.port);
        let variables = of_aws(between.port);
        let place = Place::new();
        let mut shell = watched(&place, &variables, &url);
        bears_silence(&mut shell, &between);
        // Who asks is not known any more: that is no word on the key.
        for code in ["ExpiredTokenException", "ThrottlingException"] {
            between.set(Mood::Says(format!("{{\"__type\":\"{code}\"}}")));
            let before = between.seen();
            soon("nobody asks", || {
                shell.goes_on();
                between.seen() > before + 10
            });
        }
        match code {
            "" => {
                between.set(Mood::Through);
                moto.forget();
            }
            code => between.set(Mood::Says(format!("{{\"__type\":\"{code}\"}}"))),
        }
        let said = shell.ends_soon();
        is_refused(&said);
        is_refused(&opened(&place, &variables, &url).refused());
    }
}

#[test]
fn moto_that_is_killed_disturbs_nobody_who_is_in() {
    if moto::missing() {
        return;
    }
    let moto = Moto::start();
    let url = format!("aws-kms://{}?timeout=1", moto.key("hr"));
    let between = Between::to(moto.port);
    let variables = of_aws(between.port);
    let place = Place::new();
    let mut shell = watched(&place, &variables, &url);
    drop(moto);
    let before = between.seen();
    soon("nobody asks", || {
        shell.goes_on();
        between.seen() > before + 5
    });
    drop(shell);
    let said = opened(&place, &variables, &url).refused();
    assert!(said.contains("Key Unavailable"), "{said}");
}

#[test]
fn a_key_of_a_token_that_is_deleted_ends_the_database_and_a_changed_pin_does_not() {
    if softhsm::missing() {
        return;
    }
    let place = Place::new();
    let pin = place.write("pin", "1234");
    let configuration = softhsm::token(&place.path(""), "1234");
    let variables = [("SOFTHSM2_CONF", configuration.display().to_string())];
    let tool = |arguments: &[&str]| {
        let mut tool = softhsm::tool("1234", arguments);
        run(tool.env("SOFTHSM2_CONF", &configuration));
    };
    tool(&["--keygen", "--key-type", "AES:32", "--label", "hr"]);
    let url = format!(
        "pkcs11:token=hush;object=hr?module-path={}&pin-source=file:{}",
        softhsm::MODULE,
        pin.display()
    );
    let mut shell = watched(&place, &variables, &url);
    place.write("pin", "4321");
    for _ in 0..20 {
        shell.goes_on();
        std::thread::sleep(Duration::from_millis(50));
    }
    place.write("pin", "1234");
    shell.goes_on();
    // The token is taken out, and plugged in again.
    let (tokens, aside) = (place.path("tokens"), place.path("aside"));
    std::fs::rename(&tokens, &aside).unwrap();
    for _ in 0..20 {
        shell.goes_on();
        std::thread::sleep(Duration::from_millis(50));
    }
    std::fs::rename(&aside, &tokens).unwrap();
    shell.goes_on();
    tool(&["--delete-object", "--type", "secrkey", "--label", "hr"]);
    let said = shell.ends_soon();
    is_refused(&said);
    is_refused(&opened(&place, &variables, &url).refused());
}

#[test]
fn a_program_that_refuses_ends_the_database_and_one_that_hangs_or_is_gone_does_not() {
    let place = Place::new();
    let program = place.write("keeper", "");
    // The word of the day, or the key, which it keeps as it is.
    let body = format!(
        "#!/bin/sh\nread -r line; . {0}/word; echo '{{\"key\":\"{1}\"'\"$blob\"'}}'\n",
        place.path("").display(),
        "WlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlo=",
    );
    let is_run = |is_run: bool| {
        let mode = if is_run { 0o755 } else { 0o644 };
        let permissions = std::os::unix::fs::PermissionsExt::from_mode(mode);
        std::fs::set_permissions(&program, permissions).unwrap();
    };
    let word = |word: &str| {
        place.write(
            "word",
            &format!("blob=; [ $1 = wrap ] && blob=',\"blob\":\"AA==\"'; {word}"),
        );
    };
    place.write("keeper", &body);
    word("echo >> seen");
    is_run(true);
    let url = format!("exec:{}?timeout=1", program.display());
    let mut shell = watched(&place, &[], &url);
    let seen = || std::fs::read(place.path("seen")).map_or(0, |seen| seen.len());
    let asks = |shell: &mut Shell| {
        let before = seen();
        soon("nobody asks", || {
            shell.goes_on();
            seen() > before + 1
        });
    };
    asks(&mut shell);
    for silent in ["sleep 60", "exit 2", "kill -9 $$"] {
        word(&format!("echo >> seen; {silent}"));
        asks(&mut shell);
    }
    is_run(false);
    for _ in 0..20 {
        shell.goes_on();
        std::thread::sleep(Duration::from_millis(50));
    }
    is_run(true);
    word("exit 1");
    is_refused(&shell.ends_soon());
    is_refused(&opened(&place, &[], &url).refused());
}

#[test]
fn a_vault_key_whose_version_is_forbidden_or_that_is_denied_ends_the_database_and_silence_does_not()
{
    for forbid in [true, false] {
        let vault = VaultStub::start();
        let between = Between::to(vault.address.port());
        let variables = [
            ("VAULT_ADDR", format!("http://127.0.0.1:{}", between.port)),
            ("VAULT_TOKEN", TOKEN.to_owned()),
        ];
        let url = "vault:///transit/hr?timeout=1";
        let place = Place::new();
        let mut shell = watched(&place, &variables, url);
        bears_silence(&mut shell, &between);
        let asked_and_borne = |shell: &mut Shell| {
            let before = between.seen();
            soon("nobody asks", || {
                shell.goes_on();
                between.seen() > before + 5
            });
        };
        vault.state().mood = vault_stub::Mood::Sealed;
        asked_and_borne(&mut shell);
        vault.state().mood = vault_stub::Mood::Well;
        // A token that has ended says nothing of the key.
        vault.state().tokens.clear();
        asked_and_borne(&mut shell);
        vault.state().tokens.insert(TOKEN.into(), forbid);
        if forbid && let Some(key) = vault.state().keys.get_mut("hr") {
            (key.latest, key.oldest) = (2, 2);
        }
        let said = shell.ends_soon();
        is_refused(&said);
        is_refused(&opened(&place, &variables, url).refused());
    }
}
