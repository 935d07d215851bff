//! `Exec`: a program that wraps and unwraps, for places that HushDB does not speak to itself.
//!
//! `exec:/path/to/program?arg=a&arg=b&timeout=SECONDS` is run without a shell as `program a b wrap` or `... unwrap`. It reads one line,
//! `{"v":1,"database":"<hex>","key":0,"blob":"<base64, unwrap only>"}`, and writes one,
//! `{"key":"<base64 of 32 bytes>","blob":"<base64, wrap only>"}`. It exits with 0 when done, 1 when the key is refused, 2 when it is not
//! available. What it says on standard error is shown.
//!
//! What must hold: the program is the caller's choice and has an absolute path; its output is at most 64 KiB, of exactly those
//! fields, and shown nowhere; it ends within the time or is killed.

use std::fmt;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Duration;

use hushdb_keys::{KeyContext, KeyError, KeyMaterial, KeyProvider, ProviderKind};
use zeroize::Zeroizing;

use crate::failures::PlaceName;
use crate::key_url::{KeyUrl, decoded};
use crate::patience::{Patience, Waiting};
use crate::secret_json::Answer;
use crate::{PlaceError, base64_text, blob};

const SCHEME: &str = "exec";
const DEFAULT_SECONDS: u64 = 60;
/// Most bytes of an answer.
pub(crate) const MAX_ANSWER_BYTES: usize = 64 << 10;
/// Most bytes of standard error that are shown.
const MAX_SHOWN_BYTES: usize = 8 << 10;

/// A program.
pub(crate) struct Exec {
    program: PathBuf,
    arguments: Vec<String>,
    patience: Patience,
    name: PlaceName,
}

impl Exec {
    /// The program that a URL names.
    pub(crate) fn new(mut url: KeyUrl) -> Result<Self, PlaceError> {
        let program = decoded(&url.path)?;
        if !program.starts_with('/') || url.authority.is_some() {
            return Err(PlaceError::Malformed {
                scheme: SCHEME,
                form: "exec:/absolute/path[?arg=...&arg=...&timeout=SECONDS]",
            });
        }
        let arguments = url.take_all("arg");
        let patience = Patience::of_with_default(&mut url, DEFAULT_SECONDS)?;
        url.finish(SCHEME)?;
        Ok(Self {
            name: PlaceName(format!("the program {program}")),
            program: program.into(),
            arguments,
            patience,
        })
    }

    fn ask(&self, verb: &str, question: &str) -> Result<Zeroizing<Vec<u8>>, KeyError> {
        let waiting = self.patience.begin();
        let failed = |why: String| self.name.is_unavailable(why);
        let mut child = Command::new(&self.program)
            .args(&self.arguments)
            .arg(verb)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| failed(format!("it could not be started ({})", error.kind())))?;
        let answer = child
            .stdout
            .take()
            .map(|out| collected(out, MAX_ANSWER_BYTES + 1));
        let shown = child
            .stderr
            .take()
            .map(|err| collected(err, MAX_SHOWN_BYTES));
        if let Some(mut input) = child.stdin.take() {
            // A program that does not read what it is asked answers without it, or not.
            let _ = writeln!(input, "{question}");
        }
        let answer = answer.and_then(|answer| answer.recv_timeout(waiting.left()).ok());
        let status = ended(&mut child, &waiting);
        if let Some(shown) = shown {
            // A grandchild may hold the pipe open; what is there by then is all that is shown.
            let left = waiting.left().min(Duration::from_millis(500));
            show(&shown.recv_timeout(left).unwrap_or_default());
        }
        let (Some(status), Some(answer)) = (status, answer) else {
            return Err(failed(
                "it did not end in time: run it by hand to see why".to_owned(),
            ));
        };
        match status.code() {
            Some(0) => Ok(answer),
            Some(1) => Err(self.name.refuses("exit code 1: it may have said why")),
            Some(2) => Err(failed("exit code 2: it may have said why".to_owned())),
            _ => Err(failed(format!(
                "it failed ({status}): run it by hand to see why"
            ))),
        }
    }

    fn unlike(&self) -> KeyError {
        self.name.refuses(
            "its answer is not one line of JSON with a key of 32 bytes and, to wrap, a blob",
        )
    }

    fn question(context: &KeyContext, blob: Option<&[u8]>) -> String {
        let database = context.database_id;
        let blob = blob.map(|blob| format!(",\"blob\":\"{}\"", base64_text::of(blob)));
        let blob = blob.unwrap_or_default();
        format!("{{\"v\":1,\"database\":\"{database}\",\"key\":0{blob}}}")
    }
}

impl KeyProvider for Exec {
    fn kind(&self) -> ProviderKind {
        ProviderKind::EXEC
    }

    fn establish(&self, context: &KeyContext) -> Result<(KeyMaterial, Vec<u8>), KeyError> {
        let line = self.ask("wrap", &Self::question(context, None))?;
        let (key, wrapped) = answer(&line, true).ok_or_else(|| self.unlike())?;
        let program = self.program.file_name().unwrap_or_default();
        let blob = blob::written(&program.to_string_lossy(), &wrapped);
        Ok((key, blob))
    }

    fn recover(&self, context: &KeyContext, blob: &[u8]) -> Result<KeyMaterial, KeyError> {
        let kept = blob::service_bytes(blob).ok_or_else(|| {
            self.name
                .refuses("the slot's blob is not of a program: another URL, or an edited file")
        })?;
        let line = self.ask("unwrap", &Self::question(context, Some(kept)))?;
        let (key, _) = answer(&line, false).ok_or_else(|| self.unlike())?;
        Ok(key)
    }

    fn keeps_blob(&self) -> bool {
        true
    }
}

/// Without the arguments: people write secrets there.
impl fmt::Debug for Exec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Exec")
            .field("program", &self.program)
            .finish_non_exhaustive()
    }
}

/// Key and blob of an answer, of which it has all that it must and nothing else.
pub(crate) fn answer(line: &[u8], wraps: bool) -> Option<(KeyMaterial, Vec<u8>)> {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    if line.len() > MAX_ANSWER_BYTES || line.contains(&b'\n') {
        return None;
    }
    let mut answer = Answer::parse(line)?;
    let fields: &[&str] = if wraps { &["key", "blob"] } else { &["key"] };
    if !answer.has_only(fields) {
        return None;
    }
    let key = base64_text::key(&answer.text("/key")?)?;
    let blob = match wraps {
        true => base64_text::bytes(&answer.text("/blob")?)?,
        false => Vec::new(),
    };
    let fits = blob.len() <= blob::MAX_SERVICE_BYTES && wraps != blob.is_empty();
    fits.then_some((KeyMaterial::Raw(key), blob))
}

/// Reads a pipe on a thread of its own, so that who waits for it can stop waiting.
pub(crate) fn collected(
    pipe: impl Read + Send + 'static,
    limit: usize,
) -> Receiver<Zeroizing<Vec<u8>>> {
    let (done, collected) = sync_channel(1);
    std::thread::spawn(move || {
        let mut bytes = Zeroizing::new(Vec::with_capacity(limit));
        let _ = pipe.take(limit as u64).read_to_end(&mut bytes);
        // Who has stopped waiting does not want it.
        let _ = done.send(bytes);
    });
    collected
}

/// Waits for the end; who is late is killed.
pub(crate) fn ended(child: &mut Child, waiting: &Waiting) -> Option<ExitStatus> {
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status),
            Ok(None) if waiting.left() > Duration::from_millis(1) => {
                std::thread::sleep(Duration::from_millis(2));
            }
            _ => {
                let _ = child.kill();
                let _ = child.wait();
                return None;
            }
        }
    }
}

/// What the program said, for the person at the terminal.
fn show(said: &[u8]) {
    let text = String::from_utf8_lossy(said);
    let plain: String = text
        .chars()
        .filter(|c| *c == '\n' || !c.is_control())
        .collect();
    if !plain.trim().is_empty() {
        let _ = writeln!(std::io::stderr().lock(), "{}", plain.trim_end());
    }
}
