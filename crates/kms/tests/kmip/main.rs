//! KMIP against PyKMIP 0.11: a key that encrypts and one that is handed out, by id and by name; revoked, destroyed, of others.

#[path = "../key_servers/mod.rs"]
mod key_servers;

mod hostile;

use std::net::{TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use hushdb_keys::{DatabaseId, KeyContext, KeyError, KeyMaterial, KeyProvider, ProviderKind};
use hushdb_kms::{Environment, PlaceError, Places};
use tempfile::TempDir;

const TESTDATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata");

fn context(id: u8) -> KeyContext {
    KeyContext {
        database_id: DatabaseId::from_bytes([id; 16]),
    }
}

fn provider(url: &str) -> Result<Arc<dyn KeyProvider>, PlaceError> {
    Places::new(Environment::of::<&str, &str>([])).provider(url)
}

/// `?cert=...` and so on, with the certificates of the tests.
fn certificates() -> String {
    format!(
        "cert={TESTDATA}/client.pem&key={TESTDATA}/client.pem&ca={TESTDATA}/authority.pem&timeout=5"
    )
}

fn is_refused(asked: &Result<KeyMaterial, KeyError>) -> bool {
    matches!(asked, Err(KeyError::Refused { .. }))
}

fn is_unavailable(asked: &Result<KeyMaterial, KeyError>) -> bool {
    matches!(asked, Err(KeyError::Unavailable { .. }))
}

/// A running PyKMIP.
struct Server {
    child: Child,
    port: u16,
    _directory: TempDir,
}

impl Server {
    fn start() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        drop(listener);
        let place = directory.path().display();
        let configuration = directory.path().join("server.conf");
        let text = format!(
            "[server]\nhostname=127.0.0.1\nport={port}\ncertificate_path={TESTDATA}/server.pem\n\
             key_path={TESTDATA}/server.pem\nca_path={TESTDATA}/authority.pem\nauth_suite=TLS1.2\n\
             policy_path={place}\nenable_tls_client_auth=True\ndatabase_path={place}/keys.db\n"
        );
        std::fs::write(&configuration, text).unwrap();
        let child = Command::new(key_servers::of_python("pykmip-server"))
            .arg("-f")
            .arg(&configuration)
            .arg("-l")
            .arg(directory.path().join("server.log"))
            .process_group(0)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let started = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(started.elapsed() < Duration::from_secs(60), "it listens");
            std::thread::sleep(Duration::from_millis(50));
        }
        Self {
            child,
            port,
            _directory: directory,
        }
    }

    fn keeper(&self, verb: &str, what: &str) -> String {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kmip/keeper.py");
        let mut command = Command::new(key_servers::of_python("python"));
        command
            .arg("-W")
            .arg("ignore")
            .arg(script)
            .arg(self.port.to_string());
        let said = key_servers::run(command.args([TESTDATA, verb, what]));
        said.trim().to_owned()
    }

    fn place(&self, key: &str) -> Arc<dyn KeyProvider> {
        let sign = if key.contains('?') { '&' } else { '?' };
        let url = format!(
            "kmip://127.0.0.1:{}/{key}{sign}{}",
            self.port,
            certificates()
        );
        provider(&url).unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // With the processes that it has made, which outlive it.
        let group = format!("-{}", self.child.id());
        let _ = Command::new("kill").args(["-KILL", "--", &group]).status();
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn missing() -> bool {
    key_servers::missing(&[&key_servers::of_python("pykmip-server")])
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
    let by_id = server.place(&hr);
    assert_eq!(by_id.kind(), ProviderKind::KMIP);
    let (key, blob) = by_id.establish(&context(1)).unwrap();
    assert!(blob.len() < 128, "{}", blob.len());
    assert_eq!(by_id.recover(&context(1), &blob).as_ref(), Ok(&key));
    let by_name = server.place("?name=hr");
    assert_eq!(by_name.recover(&context(1), &blob), Ok(key));
    assert!(
        is_refused(&by_id.recover(&context(2), &blob)),
        "another database"
    );
    let other = server.place(&ops);
    assert!(
        is_refused(&other.recover(&context(1), &blob)),
        "an id that the URL does not name"
    );
    assert!(is_refused(
        &server.place("?name=ops").recover(&context(1), &blob)
    ));
    assert!(is_refused(
        &server
            .place("?name=none")
            .establish(&context(1))
            .map(|it| it.0)
    ));
    assert!(is_refused(
        &server.place("4711").establish(&context(1)).map(|it| it.0)
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
    let place = server.place("?name=handed&op=get");
    let (key, blob) = place.establish(&context(1)).unwrap();
    assert_eq!(place.recover(&context(1), &blob).as_ref(), Ok(&key));
    let encrypts = server.place(&id);
    assert!(
        is_refused(&encrypts.recover(&context(1), &blob)),
        "another kind of blob"
    );
    server.keeper("revoke", &id);
    assert!(is_refused(&place.recover(&context(1), &blob)));
    let any = server.place("?name=handed&op=get&state=any");
    assert_eq!(any.recover(&context(1), &blob), Ok(key));
}

#[test]
fn a_server_that_is_killed_is_unavailable() {
    if missing() {
        return;
    }
    let server = Server::start();
    let id = server.keeper("create", "hr");
    let place = server.place(&id);
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
