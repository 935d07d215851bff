//! What is left in the memory of the built program once a database is detached whose key a place gave: for each kind of place, nothing of
//! what the place gave, of what asked for it, and of the keys below it.
//!
//! What the libraries for TLS and PKCS #11 keep of an answer in buffers of their own is not reached (THREAT_MODEL.md, "In memory"): for
//! these, what the place gave is not looked for, but all that was made of it is.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hushdb::crypto::CryptoProvider;
use hushdb::keys::{DatabaseId, KeyContext, KeyMaterial, SecretKey};
use hushdb_kms::{Environment, Places};

use crate::database_keys::Keys;
use crate::key_servers::moto::{self, Moto};
use crate::key_servers::pykmip::{self, Server};
use crate::key_servers::{run, softhsm};
use crate::memory_scan::{Needle, scan};
use crate::place::{Place, Run};
use crate::shell::{Shell, Variables};
use crate::vault_stub::{TOKEN, VaultStub};

/// Offset of the blobs of key slots in a header (FORMAT.md, "File header").
const BLOBS: usize = 2304;
/// Offset of the length of the first slot's.
const SLOT_BLOB_LEN: usize = 256 + 88;

/// So many random bytes: a constant would lie in some program's text.
fn random(bytes: usize) -> Vec<u8> {
    let mut random = vec![0; bytes];
    CryptoProvider::portable().random(&mut random).unwrap();
    random
}

fn digits(bytes: usize) -> String {
    random(bytes).iter().map(|b| format!("{b:02x}")).collect()
}

fn needle(name: &str, bytes: impl Into<Vec<u8>>) -> Needle {
    let name = name.to_owned();
    Needle {
        name,
        bytes: bytes.into(),
    }
}

/// A key as bytes, and as the text that it comes in.
fn key_needles(name: &str, key: &[u8]) -> Vec<Needle> {
    let hex: String = key.iter().map(|b| format!("{b:02x}")).collect();
    vec![
        needle(name, key),
        needle(&format!("{name} in base64"), BASE64.encode(key)),
        needle(&format!("{name} in hex"), hex),
    ]
}

/// What opens the first slot, from the header's page.
type Root<'a> = &'a dyn Fn(&[u8; 4096]) -> SecretKey;

/// How a database is opened, and what must not stay of that.
struct Opened<'a> {
    /// Options of the program, and the same of ATTACH.
    arguments: &'a [&'a str],
    attach: &'a str,
    variables: Variables<'a>,
    /// Of what asks for the key.
    given: Vec<Needle>,
}

impl Opened<'_> {
    /// Makes a database, attaches it in a shell, works with it and detaches it; nothing of its keys may be left. `root` is what opens the first
    /// slot, where the test can know that, from the header's page.
    fn leaves_nothing(mut self, place: &Place, root: Option<Root<'_>>) {
        let hush = |arguments: &[&str]| {
            let mut command = place.command(arguments);
            command.envs(self.variables.iter().map(|(name, value)| (name, value)));
            Run(command.output().expect("the program runs")).ok()
        };
        hush(
            &[
                self.arguments,
                &["e.hush", "CREATE TABLE t AS SELECT 42 AS a"],
            ]
            .concat(),
        );
        // A second slot, by whose key the test computes those below.
        let raw = random(32);
        let text: String = raw.iter().map(|b| format!("{b:02x}")).collect();
        place.write("second", &format!("hex:{text}"));
        let add = ["keys", "add", "--new-key-file", "second"];
        hush(&[&add, self.arguments, &["e.hush"]].concat());
        let path = place.path("e.hush");
        let keys = Keys::of(&path, 1, |_| SecretKey::from_slice(&raw).unwrap());
        if let Some(root) = root {
            let page = std::fs::read(&path).unwrap();
            let page = page.first_chunk::<4096>().unwrap();
            let of_slot = Keys::of(&path, 0, |_| {
                let root = root(page);
                self.given.extend(key_needles("root", root.expose()));
                root
            });
            self.given.extend(of_slot.passing);
        }

        let mut shell = Shell::start(place, self.variables, &[]);
        // Else only root may read the memory.
        shell.run("SET disable_core_dumps = false;");
        let attach = format!("ATTACH 'e.hush' AS v ({});", self.attach);
        shell.run(&attach);
        shell.run("CREATE TABLE v.s AS SELECT i, 'text ' || i AS s FROM range(100000) r(i);");
        shell.run("CHECKPOINT v; INSERT INTO v.t VALUES (43);");
        let found = |needles: &[Needle]| scan(shell.id(), needles).unwrap();
        let attached = found(&keys.lasting);
        for needle in &keys.lasting {
            let is_there = attached.iter().any(|found| found.name == needle.name);
            assert!(is_there, "{} is needed while it is attached", needle.name);
        }
        let derived = keys.derived(&path);
        self.given.extend(keys.lasting.into_iter().chain(derived));
        let needles = self.given;
        shell.run("DETACH v;");
        let left = scan(shell.id(), &needles).unwrap();
        assert!(left.is_empty(), "after DETACH: {left:#?}");
    }
}

/// What a place gives for the first slot of a header.
fn recovered(variables: Variables<'_>, url: &str, page: &[u8; 4096]) -> SecretKey {
    let len = u16::from_le_bytes(*page[SLOT_BLOB_LEN..].first_chunk().unwrap());
    let blob = &page[BLOBS..][..usize::from(len)];
    let variables = variables
        .iter()
        .map(|(name, value)| (*name, value.as_str()));
    let places = Places::new(Environment::of(variables));
    let context = KeyContext {
        database_id: DatabaseId::from_bytes(*page[16..].first_chunk().unwrap()),
    };
    let given = places.provider(url).unwrap().recover(&context, blob);
    match given.unwrap() {
        KeyMaterial::Raw(root) => root,
        KeyMaterial::Passphrase(_) => panic!("places give raw keys"),
    }
}

#[test]
fn a_passphrase_in_a_file_leaves_nothing() {
    let place = Place::new();
    let passphrase = format!("a passphrase: {}", digits(8));
    place.write("key", &passphrase);
    let opened = Opened {
        arguments: &["--key-file", "key"],
        attach: "ENCRYPTION_KEY_FILE 'key'",
        variables: &[],
        given: vec![needle("passphrase", passphrase.as_bytes())],
    };
    opened.leaves_nothing(&place, None);
}

#[test]
fn a_key_file_beside_a_passphrase_leaves_nothing() {
    let place = Place::new();
    let (passphrase, factor) = (format!("a passphrase: {}", digits(8)), digits(32));
    place.write("key", &passphrase);
    place.write("factor", &factor);
    let opened = Opened {
        arguments: &["--key-file", "key", "--with-key-file", "factor"],
        attach: "ENCRYPTION_KEY_FILE 'key', KEY_FILE 'factor'",
        variables: &[],
        given: vec![
            needle("passphrase", passphrase.as_bytes()),
            needle("key file", factor.as_bytes()),
        ],
    };
    opened.leaves_nothing(&place, None);
}

#[test]
fn a_program_leaves_nothing() {
    let place = Place::new();
    let key = random(32);
    let text = BASE64.encode(&key);
    let script = format!(
        "#!/bin/sh\nread line\ncase \"$1\" in\nwrap) echo '{{\"key\":\"{text}\",\"blob\":\"AAECAwQ=\"}}' ;;\n\
         *) echo '{{\"key\":\"{text}\"}}' ;;\nesac\n"
    );
    let program = place.write("keeper", &script);
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o700)).unwrap();
    let url = format!("exec:{}", program.display());
    let opened = Opened {
        arguments: &["--key-url", &url],
        attach: &format!("ENCRYPTION_KEY_URL '{url}'"),
        variables: &[],
        given: Vec::new(),
    };
    opened.leaves_nothing(&place, Some(&|_| SecretKey::from_slice(&key).unwrap()));
}

#[test]
fn a_vault_leaves_nothing() {
    let vault = VaultStub::start();
    let place = Place::new();
    let file = place.write("token", TOKEN).display().to_string();
    let variables = [("VAULT_ADDR", vault.url()), ("VAULT_TOKEN_FILE", file)];
    let url = "vault:///transit/hr";
    let opened = Opened {
        arguments: &["--key-url", url],
        attach: "ENCRYPTION_KEY_URL 'vault:///transit/hr'",
        variables: &variables,
        given: vec![needle("token", TOKEN)],
    };
    opened.leaves_nothing(&place, Some(&|page| recovered(&variables, url, page)));
}

#[test]
fn aws_leaves_nothing() {
    if moto::missing() {
        return;
    }
    let moto = Moto::start();
    let place = Place::new();
    let secret = digits(20);
    let file =
        format!("[default]\naws_access_key_id = AKIDEXAMPLE\naws_secret_access_key = {secret}\n");
    let file = place.write("credentials", &file).display().to_string();
    let variables = [
        ("AWS_SHARED_CREDENTIALS_FILE", file),
        ("AWS_REGION", "eu-west-1".to_owned()),
        (
            "AWS_ENDPOINT_URL_KMS",
            format!("http://127.0.0.1:{}", moto.port),
        ),
    ];
    let url = format!("aws-kms://{}", moto.key("hr"));
    let opened = Opened {
        arguments: &["--key-url", &url],
        attach: &format!("ENCRYPTION_KEY_URL '{url}'"),
        variables: &variables,
        given: vec![needle("secret access key", secret)],
    };
    opened.leaves_nothing(&place, Some(&|page| recovered(&variables, &url, page)));
}

#[test]
fn a_kmip_server_leaves_no_key_of_the_database() {
    if pykmip::missing() {
        return;
    }
    let server = Server::start();
    let place = Place::new();
    let url = server.url(server.port, &server.keeper("create", "hr"));
    let opened = Opened {
        arguments: &["--key-url", &url],
        attach: &format!("ENCRYPTION_KEY_URL '{url}'"),
        variables: &[],
        given: Vec::new(),
    };
    opened.leaves_nothing(&place, None);
}

#[test]
fn a_token_of_pkcs11_leaves_no_key_of_the_database() {
    if softhsm::missing() {
        return;
    }
    let place = Place::new();
    let pin = digits(8);
    let pin_file = place.write("pin", &pin);
    let configuration = softhsm::token(&place.path(""), &pin);
    let variables = [("SOFTHSM2_CONF", configuration.display().to_string())];
    let keygen = ["--keygen", "--key-type", "AES:32", "--label", "hr"];
    let mut tool = softhsm::tool(&pin, &keygen);
    run(tool.env("SOFTHSM2_CONF", Path::new(&configuration)));
    let url = format!(
        "pkcs11:token=hush;object=hr?module-path={}&pin-source=file:{}",
        softhsm::MODULE,
        pin_file.display()
    );
    let opened = Opened {
        arguments: &["--key-url", &url],
        attach: &format!("ENCRYPTION_KEY_URL '{url}'"),
        variables: &variables,
        given: Vec::new(),
    };
    opened.leaves_nothing(&place, None);
}
