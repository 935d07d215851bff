//! The programs of `contrib/`, run as `exec:` runs them: a TPM 2.0 that is simulated by swtpm, and systemd-creds.

mod key_servers;

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use hushdb_keys::{DatabaseId, KeyContext, KeyError, KeyMaterial, KeyProvider};
use hushdb_kms::{Environment, Places};

const CONTRIB: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../contrib");

fn context(id: u8) -> KeyContext {
    KeyContext {
        database_id: DatabaseId::from_bytes([id; 16]),
    }
}

fn place(url: &str) -> Arc<dyn KeyProvider> {
    Places::new(Environment::of::<&str, &str>([]))
        .provider(url)
        .unwrap()
}

fn is_refused(asked: &Result<KeyMaterial, KeyError>) -> bool {
    matches!(asked, Err(KeyError::Refused { .. }))
}

/// A key that comes back, to its database alone, and not edited.
fn holds(place: &dyn KeyProvider) -> Vec<u8> {
    let (key, blob) = place.establish(&context(1)).unwrap();
    assert_eq!(place.recover(&context(1), &blob), Ok(key));
    assert!(is_refused(&place.recover(&context(2), &blob)));
    let mut edited = blob.clone();
    *edited.last_mut().unwrap() ^= 1;
    assert!(is_refused(&place.recover(&context(1), &edited)));
    assert!(is_refused(&place.recover(&context(1), b"\x01\x00absurd")));
    blob
}

/// A TPM.
struct Tpm(Child);

impl Tpm {
    fn start(directory: &Path) -> Self {
        let (place, socket) = (directory.display(), directory.join("s"));
        let child = Command::new("swtpm")
            .args(["socket", "--tpm2", "--flags", "not-need-init,startup-clear"])
            .args(["--tpmstate", &format!("dir={place}")])
            .args(["--server", &format!("type=unixio,path={place}/s")])
            .args(["--ctrl", &format!("type=unixio,path={place}/s.ctrl")])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let started = Instant::now();
        while !socket.exists() {
            assert!(started.elapsed() < Duration::from_secs(30), "it listens");
            std::thread::sleep(Duration::from_millis(20));
        }
        Self(child)
    }
}

impl Drop for Tpm {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_tpm_keeps_a_key_while_its_registers_are_the_same() {
    if key_servers::missing(&["swtpm", "tpm2_unseal"]) {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let tpm = Tpm::start(directory.path());
    let socket = format!("TPM2TOOLS_TCTI=swtpm:path={}/s", directory.path().display());
    let url = format!("exec:/usr/bin/env?arg={socket}&arg={CONTRIB}/hush-key-tpm2");
    let unbound = place(&url);
    let of_tpm = holds(&*unbound);
    let bound = place(&format!("{url}&arg=sha256:7"));
    let blob = holds(&*bound);
    let mut extend = Command::new("/usr/bin/env");
    extend.args([&*socket, "tpm2_pcrextend", &format!("7:sha256={:064}", 1)]);
    key_servers::run(&mut extend);
    assert!(
        is_refused(&bound.recover(&context(1), &blob)),
        "the register has changed"
    );
    // Its owner clears it: what it has sealed opens nowhere any more.
    let mut clear = Command::new("/usr/bin/env");
    key_servers::run(clear.args([&*socket, "tpm2_clear"]));
    assert!(is_refused(&unbound.recover(&context(1), &of_tpm)));
    holds(&*unbound);
    drop(tpm);
    let gone = unbound.recover(&context(1), &of_tpm);
    assert!(
        matches!(gone, Err(KeyError::Unavailable { .. })),
        "{gone:?}"
    );
}

#[test]
fn systemd_creds_keeps_a_key() {
    if key_servers::missing(&["systemd-creds"]) {
        return;
    }
    let host = place(&format!("exec:{CONTRIB}/hush-key-systemd?arg=host"));
    if let Err(KeyError::Unavailable { .. }) = host.establish(&context(1)) {
        // Its secret is root's.
        key_servers::skip("systemd-creds cannot read the machine's secret: run as root");
        return;
    }
    holds(&*host);
}
