//! moto, started for one test.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

/// A running moto.
pub(crate) struct Moto {
    child: Child,
    pub(crate) port: u16,
}

impl Moto {
    pub(crate) fn start() -> Self {
        let (child, port) = super::listening(|port| {
            let mut moto = Command::new(super::of_python("moto_server"));
            moto.args(["-H", "127.0.0.1", "-p", &port.to_string()]);
            moto.stdout(Stdio::null()).stderr(Stdio::null());
            moto
        });
        Self { child, port }
    }

    /// Makes a key with an alias; gives its ARN.
    pub(crate) fn key(&self, alias: &str) -> String {
        self.keeper("create", alias)
    }

    /// Has the key with this ARN seal by another version of itself from now on.
    pub(crate) fn rotate(&self, arn: &str) {
        self.keeper("rotate", arn);
    }

    fn keeper(&self, verb: &str, what: &str) -> String {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../kms/tests/aws/keeper.py");
        let mut command = Command::new(super::of_python("python"));
        let said = super::run(command.args([script, &self.port.to_string(), verb, what]));
        said.trim().to_owned()
    }
}

impl Moto {
    /// Has no key any more, as if all had been deleted.
    pub(crate) fn forget(&self) {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        let asked = "POST /moto-api/reset HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
        stream.write_all(asked.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.contains(" 200 "), "{answer}");
    }
}

impl Drop for Moto {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Whether it is not there.
pub(crate) fn missing() -> bool {
    super::missing(&[&super::of_python("moto_server")])
}
