//! What is left of a token and a key in the memory of a process that asked a Vault over plain HTTP: nothing. Within TLS the library has buffers of its
//! own, which are not reached.
//!
//! The process is another one, which keeps its memory as it is until it was looked at.

#[path = "../../../tests/memory_scan.rs"]
mod memory_scan;
mod vault_stub;

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};

use hushdb_keys::{DatabaseId, KeyContext};
use hushdb_kms::{Environment, Places};
use memory_scan::{Found, Needle, scan};
use serde_json::json;
use vault_stub::{TOKEN, VaultStub};

const ASKS: &str = "HUSHDB_TEST_ASKS_VAULT";

fn needle(name: &str, secret: &str) -> Needle {
    Needle {
        name: name.to_owned(),
        bytes: secret.into(),
    }
}

/// A process that has asked, and waits.
fn asker(vault: &VaultStub, token_file: &str, plants: bool) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "asks", "--ignored", "--nocapture"])
        .env(ASKS, vault.url())
        .env("VAULT_TOKEN_FILE", token_file)
        .env("HUSHDB_TEST_PLANTS", if plants { "1" } else { "" });
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while !line.contains("it has asked") {
        line.clear();
        assert!(output.read_line(&mut line).unwrap() > 0, "it ended");
    }
    child
}

#[test]
fn neither_token_nor_key_is_left_when_a_vault_was_asked() {
    let directory = tempfile::tempdir().unwrap();
    let token = directory.path().join("token");
    std::fs::write(&token, TOKEN).unwrap();
    let token = token.display().to_string();
    let vault = VaultStub::start();
    // A secret of KV may have more in it than the key that is taken out.
    let words = ["quince", "medlar", "damson"];
    let [a, b, c] = [20, 60, 200].map(|times| words.map(|word| word.repeat(times)).concat());
    let secret = json!({ "key": format!("hex:{}", "9d".repeat(32)), "a": a, "b": b, "c": c });
    vault
        .state()
        .secrets
        .insert("app/db".into(), vec![Some(secret)]);
    for plants in [false, true] {
        let mut child = asker(&vault, &token, plants);
        let mut needles = vec![needle("token", TOKEN)];
        let roots = vault.state().wrapped();
        needles.extend(roots.iter().map(|root| needle("key", root)));
        needles.push(needle("key of KV", &"9d".repeat(24)));
        needles.extend(words.map(|word| needle(word, &word.repeat(8))));
        assert!(needles.len() > 1);
        let mut found: Vec<Found> = scan(child.id(), &needles).unwrap();
        // The program itself has the token of the tests in its text.
        found.retain(|found| found.flags.iter().any(|flag| flag == "wr"));
        let _ = child.kill();
        let _ = child.wait();
        match plants {
            // What the process keeps, the search finds.
            true => assert!(found.iter().any(|found| found.name == "token")),
            false => assert!(found.is_empty(), "{found:#?}"),
        }
    }
}

#[test]
#[ignore = "started by the other test, in a process of its own"]
fn asks() {
    let Ok(url) = std::env::var(ASKS) else {
        return;
    };
    let file = std::env::var("VAULT_TOKEN_FILE").unwrap();
    let variables = [("VAULT_ADDR", &*url), ("VAULT_TOKEN_FILE", &*file)];
    let places = Places::new(Environment::of(variables));
    let provider = places.provider("vault:///transit/hr").unwrap();
    let context = KeyContext {
        database_id: DatabaseId::from_bytes([1; 16]),
    };
    let (_, blob) = provider.establish(&context).unwrap();
    for _ in 0..3 {
        drop(provider.recover(&context, &blob).unwrap());
    }
    let kv = places.provider("vault:///secret/app/db?engine=kv").unwrap();
    let (_, blob) = kv.establish(&context).unwrap();
    drop(kv.recover(&context, &blob).unwrap());
    let plants = std::env::var("HUSHDB_TEST_PLANTS").unwrap() == "1";
    let planted = plants.then(|| std::fs::read(&file).unwrap());
    let mut output = std::io::stdout().lock();
    writeln!(output, "it has asked").unwrap();
    output.flush().unwrap();
    let _ = std::io::stdin().lock().read(&mut [0; 1]);
    drop(planted);
}
