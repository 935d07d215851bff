//! The control socket in the instance's directory, by which commands on the host ask a server that runs: `hush backup` so far.
//!
//! What must hold: who may not enter the directory reaches nothing here; a request is one line of a bounded length; no answer has a
//! key or a value in it, and nothing that is asked for writes anything plain.
#![expect(
    clippy::disallowed_methods,
    reason = "it makes the socket's name in the server's directory"
)]

use crate::failure::{FailureKind, Result, ServeError};
use crate::instance::backup::{BackedUp, Backup};
use crate::shared::Server;
use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

const NAME: &str = "control.sock";
/// The longest request, and the longest answer.
const MOST_BYTES: u64 = 8192;
/// How long who asks may take to say what for.
const PATIENCE: Duration = Duration::from_secs(10);

/// Listens in the instance's directory; gives the socket, which is to be removed at the end.
///
/// # Errors
/// What the system gives, so for a path that is too long for a socket.
pub(crate) fn listen(server: &Arc<Server>, directory: &Path) -> io::Result<PathBuf> {
    let path = directory.join(NAME);
    // The instance is locked: one that is there was left behind.
    let _ = fs::remove_file(&path);
    let listener = UnixListener::bind(&path)?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600))?;
    let server = Arc::clone(server);
    thread::spawn(move || {
        loop {
            match listener.accept() {
                // One after the other.
                Ok((stream, _)) => answer(&server, stream),
                Err(_) => thread::sleep(Duration::from_millis(50)),
            }
        }
    });
    Ok(path)
}

fn answer(server: &Server, mut stream: UnixStream) {
    let _ = stream.set_read_timeout(Some(PATIENCE));
    let _ = stream.set_write_timeout(Some(PATIENCE));
    let mut line = String::new();
    let read = BufReader::new((&stream).take(MOST_BYTES)).read_line(&mut line);
    let Some(backup) = read.ok().and_then(|_| request(&line)) else {
        return;
    };
    let said = match server.instance.back_up(&backup) {
        Ok(BackedUp { databases, rows }) => format!("ok {databases} {rows}\n"),
        Err(error) => {
            let line = error.to_string().replace('\n', " ");
            format!("error {} {line}\n", error.exit_code())
        }
    };
    let _ = stream.write_all(said.as_bytes());
}

/// `backup all PATH` or `backup instance PATH`.
fn request(line: &str) -> Option<Backup> {
    let rest = line.strip_suffix('\n')?.strip_prefix("backup ")?;
    let (what, path) = rest.split_once(' ')?;
    let to = PathBuf::from(path);
    let instance_alone = match what {
        "all" => false,
        "instance" => true,
        _ => return None,
    };
    to.is_absolute().then_some(Backup { to, instance_alone })
}

/// Has the server that runs on an instance make a backup; `None` where none runs.
///
/// # Errors
/// What the server says, a path that is not absolute or has an end of line in it, and a server that goes away meanwhile.
pub fn backup_by_server(directory: &Path, backup: &Backup) -> Result<Option<BackedUp>> {
    let lost = |_: io::Error| {
        ServeError::other("the server went away before it had said that the backup is whole")
    };
    let mut stream = match UnixStream::connect(directory.join(NAME)) {
        Ok(stream) => stream,
        Err(error) if is_nobody(&error) => return Ok(None),
        Err(error) => {
            let text = format!("the server's control socket cannot be reached: {error}");
            return Err(ServeError::other(text));
        }
    };
    let what = if backup.instance_alone {
        "instance"
    } else {
        "all"
    };
    let path = backup.to.to_str().filter(|path| !path.contains('\n'));
    let path = path.filter(|_| backup.to.is_absolute());
    let Some(path) = path else {
        let text = "the backup's directory needs an absolute path of UTF-8 text in one line";
        return Err(ServeError::new(FailureKind::Usage, text));
    };
    let line = format!("backup {what} {path}\n");
    stream.write_all(line.as_bytes()).map_err(lost)?;
    let mut said = String::new();
    let read = BufReader::new(stream.take(MOST_BYTES)).read_line(&mut said);
    read.map_err(lost)?;
    said_of(&said).map(Some)
}

fn is_nobody(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused | io::ErrorKind::InvalidInput
    )
}

/// Reads what the server answers.
fn said_of(line: &str) -> Result<BackedUp> {
    let mut words = line.trim_end().splitn(3, ' ');
    match (words.next(), words.next(), words.next()) {
        (Some("ok"), Some(databases), Some(rows)) => {
            let number = |text: &str| text.parse().unwrap_or_default();
            Ok(BackedUp {
                databases: number(databases),
                rows: number(rows),
            })
        }
        (Some("error"), Some(code), Some(message)) => {
            let kind = match code {
                "2" => FailureKind::Usage,
                "5" => FailureKind::Damaged,
                "6" => FailureKind::Busy,
                _ => FailureKind::Other,
            };
            Err(ServeError::new(kind, message))
        }
        _ => Err(ServeError::other(
            "the server went away before it had said that the backup is whole",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_read_or_ignored() {
        let backup = request("backup all /a b/c\n").unwrap();
        assert_eq!(backup.to, Path::new("/a b/c"));
        assert!(!backup.instance_alone);
        assert!(request("backup instance /x\n").unwrap().instance_alone);
        for line in [
            "",
            "\n",
            "backup",
            "backup all\n",
            "backup all x\n",
            "backup all /x",
            "backup some /x\n",
        ] {
            assert!(request(line).is_none(), "{line}");
        }
    }

    #[test]
    fn answers_are_counts_or_errors() {
        let done = said_of("ok 2 17\n").unwrap();
        assert_eq!((done.databases, done.rows), (2, 17));
        let busy = said_of("error 6 another one\n").unwrap_err();
        assert_eq!(
            (busy.exit_code(), busy.to_string().as_str()),
            (6, "another one")
        );
        assert!(said_of("").is_err());
        assert!(said_of("ok 2").is_err());
    }
}
