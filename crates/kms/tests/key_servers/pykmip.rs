//! PyKMIP, started for one test.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

/// Certificates of the tests of this crate, for whichever crate asks.
pub(crate) const TESTDATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../kms/testdata");

/// A running PyKMIP.
pub(crate) struct Server {
    child: Child,
    pub(crate) port: u16,
    /// What its keeper is told of the versions that it speaks.
    versions: &'static str,
    _directory: TempDir,
}

impl Server {
    pub(crate) fn start() -> Self {
        Self::started("all", || Command::new(super::of_python("pykmip-server")))
    }

    /// One that speaks KMIP 2.0 and nothing before.
    #[allow(dead_code, reason = "one suite asks for it")]
    pub(crate) fn of_two() -> Self {
        Self::started("two", || {
            let mut python = Command::new(super::of_python("python"));
            let script = Path::new(TESTDATA).join("../tests/kmip/only_two.py");
            python.args(["-W", "ignore"]).arg(script);
            python
        })
    }

    fn started(versions: &'static str, program: impl Fn() -> Command) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path().display();
        let configuration = directory.path().join("server.conf");
        let (child, port) = super::listening(|port| {
            let text = format!(
                "[server]\nhostname=127.0.0.1\nport={port}\ncertificate_path={TESTDATA}/server.pem\n\
                 key_path={TESTDATA}/server.pem\nca_path={TESTDATA}/authority.pem\nauth_suite=TLS1.2\n\
                 policy_path={place}\nenable_tls_client_auth=True\ndatabase_path={place}/keys.db\n"
            );
            std::fs::write(&configuration, text).unwrap();
            let mut server = program();
            server.arg("-f").arg(&configuration);
            server.arg("-l").arg(directory.path().join("server.log"));
            server.process_group(0);
            server.stdout(Stdio::null()).stderr(Stdio::null());
            server
        });
        Self {
            child,
            port,
            versions,
            _directory: directory,
        }
    }

    pub(crate) fn keeper(&self, verb: &str, what: &str) -> String {
        let script = Path::new(TESTDATA).join("../tests/kmip/keeper.py");
        let mut command = Command::new(super::of_python("python"));
        command
            .arg("-W")
            .arg("ignore")
            .arg(script)
            .arg(self.port.to_string());
        let said = super::run(command.args([TESTDATA, verb, what, self.versions]));
        said.trim().to_owned()
    }

    /// The URL of a key, or of what a query finds, by this server or who stands before it.
    pub(crate) fn url(&self, port: u16, key: &str) -> String {
        let sign = if key.contains('?') { '&' } else { '?' };
        format!("kmip://127.0.0.1:{port}/{key}{sign}{}", certificates())
    }
}

/// Whether it is not there.
pub(crate) fn missing() -> bool {
    super::missing(&[&super::of_python("pykmip-server")])
}

/// `cert=...` and so on, with the certificates of the tests.
pub(crate) fn certificates() -> String {
    format!(
        "cert={TESTDATA}/client.pem&key={TESTDATA}/client.pem&ca={TESTDATA}/authority.pem&timeout=5"
    )
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
