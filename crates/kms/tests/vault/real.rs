//! A Vault 1.14 that was built from its library (`tests/key_servers/vault/build`), where `HUSHDB_TEST_VAULT` names it: the stub beside answers as
//! this one does.
#![allow(clippy::print_stderr)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use super::*;
use crate::tls_stub::testdata;

/// A running Vault with Transit, KV v2 and AppRole, the Transit keys `hr` and `ops`, and a policy `hr` for the first.
struct Vault {
    child: Child,
    address: String,
    root: String,
}

/// The program, unless nobody has built it.
fn program() -> Option<PathBuf> {
    let program = std::env::var_os("HUSHDB_TEST_VAULT").map(PathBuf::from);
    if program.is_none() {
        eprintln!(
            "skipped: HUSHDB_TEST_VAULT names no Vault; tests/key_servers/vault/build makes one"
        );
    }
    program
}

impl Vault {
    fn start(program: &Path, certificate: &[&str]) -> Self {
        let mut command = Command::new(program);
        command.arg("127.0.0.1:0").args(certificate);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        let mut said = BufReader::new(child.stdout.take().unwrap());
        said.read_line(&mut line).unwrap();
        let said: Value = serde_json::from_str(&line).unwrap();
        let text = |name: &str| said[name].as_str().unwrap().to_owned();
        Self {
            child,
            address: text("address"),
            root: text("token"),
        }
    }

    fn with_keys(program: &Path) -> Self {
        let this = Self::start(program, &[]);
        this.told("sys/mounts/transit", json!({ "type": "transit" }));
        let kv = json!({ "type": "kv", "options": { "version": "2" } });
        this.told("sys/mounts/secret", kv);
        this.told("sys/auth/approle", json!({ "type": "approle" }));
        this.told("transit/keys/hr", json!({}));
        this.told("transit/keys/ops", json!({}));
        let rules = "path \"transit/encrypt/hr\" { capabilities = [\"update\"] }\n\
                     path \"transit/decrypt/hr\" { capabilities = [\"update\"] }";
        this.told("sys/policies/acl/hr", json!({ "policy": rules }));
        this
    }

    /// What it answers to the owner of its root token.
    fn asked(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let body = body.to_string();
        let mut stream = TcpStream::connect(&self.address).unwrap();
        // Of HTTP/1.0, so that the answer is not in pieces.
        let request = format!(
            "{method} /v1/{path} HTTP/1.0\r\nx-vault-token: {}\r\ncontent-length: {}\r\n\r\n{body}",
            self.root,
            body.len()
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, serde_json::from_str(body).unwrap_or_default())
    }

    /// The same of what must be done; a mount may take a moment.
    #[track_caller]
    fn told(&self, path: &str, body: Value) -> Value {
        for _ in 0..200 {
            let (status, answer) = self.asked("POST", path, &body);
            if status < 300 {
                return answer;
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        panic!("{path}: {:?}", self.asked("POST", path, &body));
    }

    fn token(&self, policies: &[&str], ttl: &str) -> String {
        let asked = json!({ "policies": policies, "ttl": ttl });
        let made = self.told("auth/token/create", asked);
        made["auth"]["client_token"].as_str().unwrap().to_owned()
    }

    fn place(&self, url: &str, token: &str) -> Arc<dyn KeyProvider> {
        let address = format!("http://{}", self.address);
        let variables = [("VAULT_ADDR", &*address), ("VAULT_TOKEN", token)];
        Places::new(Environment::of(variables))
            .provider(url)
            .unwrap()
    }
}

impl Drop for Vault {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn transit_of_a_vault_binds_rotates_and_forgets() {
    let Some(program) = program() else { return };
    let mut vault = Vault::with_keys(&program);
    let root = vault.root.clone();
    let hr = vault.place(TRANSIT, &root);
    let (key, blob) = hr.establish(&context(1)).unwrap();
    assert_eq!(hr.recover(&context(1), &blob).as_ref(), Ok(&key));
    assert!(is_refused(&hr.recover(&context(2), &blob)));
    for other in ["ops", "none"] {
        let other = vault.place(&format!("vault:///transit/{other}?timeout=2"), &root);
        assert!(is_refused(&other.recover(&context(1), &blob)));
    }
    let mut edited = blob.clone();
    let at = edited.len() - 8;
    edited[at] = if edited[at] == b'A' { b'B' } else { b'A' };
    assert!(is_refused(&hr.recover(&context(1), &edited)));

    vault.told("transit/keys/hr/rotate", json!({}));
    assert_eq!(hr.recover(&context(1), &blob), Ok(key));
    let (newer, rewrapped) = hr.establish(&context(1)).unwrap();
    assert!(rewrapped.starts_with(b"\x01\x0dtransit/hr v2vault:v2:"));
    let least = json!({ "min_decryption_version": 2, "deletion_allowed": true });
    vault.told("transit/keys/hr/config", least);
    assert!(is_refused(&hr.recover(&context(1), &blob)));
    assert_eq!(hr.recover(&context(1), &rewrapped), Ok(newer));
    vault.asked("DELETE", "transit/keys/hr", &json!({}));
    assert!(is_refused(&hr.recover(&context(1), &rewrapped)));

    vault.told("sys/seal", json!({}));
    assert!(is_unavailable(&hr.recover(&context(1), &rewrapped)));
    vault.child.kill().unwrap();
    vault.child.wait().unwrap();
    assert!(is_unavailable(&hr.recover(&context(1), &rewrapped)));
}

#[test]
fn tokens_of_a_vault_that_may_not_and_that_ended_are_told_apart() {
    let Some(program) = program() else { return };
    let vault = Vault::with_keys(&program);
    let own = vault.token(&["hr"], "1h");
    let place = vault.place(TRANSIT, &own);
    let (key, blob) = place.establish(&context(1)).unwrap();
    assert_eq!(place.recover(&context(1), &blob).as_ref(), Ok(&key));
    let denied = vault.place(TRANSIT, &vault.token(&["default"], "1h"));
    assert!(is_refused(&denied.recover(&context(1), &blob)));
    let mistyped = vault.place("vault:///transit/hrr?timeout=2", &own);
    assert!(mistyped.establish(&context(1)).is_err(), "it makes no key");
    let short = vault.place(TRANSIT, &vault.token(&["hr"], "1s"));
    std::thread::sleep(std::time::Duration::from_secs(2));
    assert!(is_not_accepted(&short.recover(&context(1), &blob)));
    vault.told("auth/token/revoke", json!({ "token": own }));
    let asked = place.recover(&context(1), &blob);
    assert!(is_not_accepted(&asked), "{asked:?}");
    assert!(!format!("{asked:?}").contains(&*own));

    let role = json!({ "token_policies": ["hr"] });
    vault.told("auth/approle/role/hush", role);
    let (_, id) = vault.asked("GET", "auth/approle/role/hush/role-id", &json!({}));
    let secret = vault.told("auth/approle/role/hush/secret-id", json!({}));
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("secret");
    std::fs::write(&file, secret["data"]["secret_id"].as_str().unwrap()).unwrap();
    let by_role = [
        ("VAULT_ADDR", format!("http://{}", vault.address)),
        (
            "VAULT_ROLE_ID",
            id["data"]["role_id"].as_str().unwrap().to_owned(),
        ),
        ("VAULT_SECRET_ID_FILE", file.display().to_string()),
    ];
    let by_role = Places::new(Environment::of(by_role))
        .provider(TRANSIT)
        .unwrap();
    assert_eq!(by_role.recover(&context(1), &blob), Ok(key));
}

#[test]
fn a_vault_hands_out_the_version_that_the_slot_names() {
    let Some(program) = program() else { return };
    let vault = Vault::with_keys(&program);
    let secret = |digits: &str| json!({ "data": { "key": format!("hex:{}", digits.repeat(32)) } });
    vault.told("secret/data/app/db", secret("ab"));
    let place = vault.place("vault:///secret/app/db?engine=kv&timeout=2", &vault.root);
    let (key, blob) = place.establish(&context(1)).unwrap();
    vault.told("secret/data/app/db", secret("cd"));
    assert_eq!(place.recover(&context(1), &blob), Ok(key));
    let (newer, second) = place.establish(&context(1)).unwrap();
    assert_eq!(place.recover(&context(1), &second).as_ref(), Ok(&newer));
    vault.told("secret/destroy/app/db", json!({ "versions": [1] }));
    assert!(is_refused(&place.recover(&context(1), &blob)));
    assert_eq!(place.recover(&context(1), &second), Ok(newer));
}

#[test]
fn a_vault_is_known_by_its_authority_alone() {
    let Some(program) = program() else { return };
    let own = testdata("server");
    let vault = Vault::start(&program, &[&own, &own]);
    let asked = |authority: &str| {
        let variables = [
            ("VAULT_ADDR", format!("https://{}", vault.address)),
            ("VAULT_TOKEN", vault.root.clone()),
            ("VAULT_CACERT", testdata(authority)),
        ];
        let place = Places::new(Environment::of(variables)).provider(TRANSIT);
        place.unwrap().establish(&context(1)).map(|(key, _)| key)
    };
    assert!(is_refused(&asked("authority")), "it has no such key");
    assert!(is_unavailable(&asked("client")));
}
