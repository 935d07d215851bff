//! A key that its place gives no more, while `hush` has the database open: revoked in a Vault, destroyed in a token.

use std::process::{Command, Stdio};

use crate::key_places::{URL, hush};
use crate::key_servers;
use crate::place::Place;
use crate::vault_stub::{TOKEN, VaultStub};

/// The module of SoftHSM 2.
const MODULE: &str = "/usr/lib/softhsm/libsofthsm2.so";

/// A shell that has a database open, and what it is told and says, line by line.
struct Shell {
    child: std::process::Child,
    input: std::process::ChildStdin,
    output: std::io::BufReader<std::process::ChildStdout>,
}

impl Shell {
    fn of(command: &mut Command) -> Self {
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let child = command.stderr(Stdio::piped()).spawn();
        let mut child = child.expect("the program runs");
        Self {
            input: child.stdin.take().expect("its input"),
            output: std::io::BufReader::new(child.stdout.take().expect("its output")),
            child,
        }
    }

    fn tell(&mut self, sql: &str) {
        use std::io::Write;
        writeln!(self.input, "{sql}").expect("sent");
    }

    /// The next two lines.
    fn two_lines(&mut self) -> [String; 2] {
        use std::io::BufRead;
        [(); 2].map(|()| {
            let mut line = String::new();
            self.output.read_line(&mut line).expect("an answer");
            line.trim_end().to_owned()
        })
    }

    /// Whether it ended well, and its errors.
    fn end(mut self) -> (bool, String) {
        use std::io::Read;
        drop(self.input);
        let mut said = String::new();
        let mut errors = self.child.stderr.take().expect("its errors");
        errors.read_to_string(&mut said).expect("said");
        (self.child.wait().expect("it ends").success(), said)
    }
}

#[test]
fn a_key_that_is_revoked_at_the_service_ends_the_open_database() {
    let (place, vault) = (Place::new(), VaultStub::start());
    let make = "CREATE TABLE t AS SELECT 42 AS a";
    hush(&place, &vault, &["--key-url", URL, "e.hush", make]).ok();
    let mut command = place.command(&["--csv", "--key-url", URL, "e.hush"]);
    command
        .env("VAULT_ADDR", vault.url())
        .env("VAULT_TOKEN", TOKEN);
    let mut shell = Shell::of(&mut command);
    shell.tell("SET key_recheck_grace = '1s'; SET key_recheck = '50ms'; FROM t;");
    assert_eq!(shell.two_lines(), ["a", "42"]);
    let is_asked = |times| {
        for _ in 0..times {
            vault.take_requests();
            let mut looks = 0;
            while vault.state().requests.is_empty() {
                looks += 1;
                assert!(looks < 1000, "nobody asks");
                std::thread::sleep(std::time::Duration::from_millis(20));
            }
        }
    };
    is_asked(1);
    // A token that has ended says nothing of the key, for however long.
    vault.state().tokens.clear();
    is_asked(3);
    std::thread::sleep(std::time::Duration::from_millis(1500));
    shell.tell("INSERT INTO t VALUES (43); SELECT count(*) AS n FROM t;");
    assert_eq!(shell.two_lines(), ["n", "2"]);
    vault.state().tokens.insert(TOKEN.into(), true);
    is_asked(3);
    // The version that the slot has is not decrypted any more.
    let forbidden = |oldest| {
        if let Some(key) = vault.state().keys.get_mut("hr") {
            (key.latest, key.oldest) = (2, oldest);
        }
    };
    forbidden(2);
    std::thread::sleep(std::time::Duration::from_secs(4));
    shell.tell("SELECT count(*) AS m FROM t;");
    let (well, said) = shell.end();
    assert!(!well && said.contains("Key Refused"), "{said}");
    assert!(!said.contains("Sesame"), "{said}");
    // Nothing that was committed is lost.
    forbidden(1);
    let count = "SELECT count(*) AS n FROM t";
    let run = hush(
        &place,
        &vault,
        &["--csv", "--key-url", URL, "e.hush", count],
    );
    assert_eq!(run.ok(), "n\n2\n");
}

#[test]
fn a_key_that_is_destroyed_in_a_token_ends_the_open_database() {
    if key_servers::missing(&[MODULE, "softhsm2-util", "pkcs11-tool"]) {
        return;
    }
    let place = Place::new();
    std::fs::create_dir(place.path("tokens")).expect("made");
    let tokens = place.path("tokens").display().to_string();
    let configuration = place.write(
        "softhsm2.conf",
        &format!("directories.tokendir = {tokens}\n"),
    );
    place.write("pin", "1234\n");
    let begin = "--init-token --free --label hush --so-pin 5678 --pin 1234";
    let tool = |program: &str, arguments: &str| {
        let mut command = Command::new(program);
        command.args(arguments.split(' '));
        key_servers::run(command.env("SOFTHSM2_CONF", &configuration));
    };
    let token = format!("--module {MODULE} --token-label hush --login --pin 1234");
    tool("softhsm2-util", begin);
    tool(
        "pkcs11-tool",
        &format!("{token} --keygen --key-type AES:32 --label hr --id 0a"),
    );
    let pin = place.path("pin").display().to_string();
    let url = format!("pkcs11:token=hush;object=hr?module-path={MODULE}&pin-source=file:{pin}");
    let mut command = place.command(&["--csv", "--key-url", &url, "e.hush"]);
    let mut shell = Shell::of(command.env("SOFTHSM2_CONF", &configuration));
    shell.tell("SET key_recheck_grace = '1s'; SET key_recheck = '100ms';");
    shell.tell("CREATE TABLE t AS SELECT 42 AS a; FROM t;");
    assert_eq!(shell.two_lines(), ["a", "42"]);
    std::thread::sleep(std::time::Duration::from_millis(1500));
    shell.tell("FROM t;");
    assert_eq!(shell.two_lines(), ["a", "42"]);
    tool(
        "pkcs11-tool",
        &format!("{token} --delete-object --type secrkey --label hr"),
    );
    std::thread::sleep(std::time::Duration::from_secs(4));
    shell.tell("FROM t;");
    let (well, said) = shell.end();
    assert!(!well && said.contains("Key Refused"), "{said}");
    assert!(!said.contains("1234"), "{said}");
}
