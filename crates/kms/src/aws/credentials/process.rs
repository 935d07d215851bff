//! `credential_process` of a profile: a program that writes credentials. AWS, "Sourcing credentials with an external process".
//!
//! What must hold: it is run without a shell; its output is at most 64 KiB, and shown nowhere, nor what it says on standard error; it ends within
//! the time or is killed.

use std::process::{Command, Stdio};

use hushdb_keys::KeyError;

use super::{Chain, Credentials};
use crate::exec::{MAX_ANSWER_BYTES, collected, ended};
use crate::failures::PlaceName;
use crate::secret_json::Answer;

const NAMES: [&str; 3] = ["/AccessKeyId", "/SecretAccessKey", "/SessionToken"];

/// What the program of this line writes.
pub(super) fn credentials(chain: &Chain<'_>, line: &str) -> Result<Credentials, KeyError> {
    let words = shlex::split(line).unwrap_or_default();
    let Some((program, arguments)) = words.split_first() else {
        return Err(chain.refused(
            "credential_process is no program and its arguments, or has a quote that does not end: correct the profile",
        ));
    };
    let name = PlaceName("the program of credential_process".to_owned());
    let failed = |why: String| name.is_unavailable(why);
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| failed(format!("it could not be started ({})", error.kind())))?;
    let answer = child.stdout.take();
    let answer = answer.map(|out| collected(out, MAX_ANSWER_BYTES + 1));
    let answer = answer.and_then(|answer| answer.recv_timeout(chain.waiting.left()).ok());
    let (Some(status), Some(answer)) = (ended(&mut child, chain.waiting), answer) else {
        return Err(failed(
            "it did not end in time: run it by hand to see why".to_owned(),
        ));
    };
    if !status.success() {
        return Err(name.does_not_accept(format!(
            "it gives no credentials ({status}): run it by hand to see why"
        )));
    }
    let found = Answer::parse(&answer).filter(|_| answer.len() <= MAX_ANSWER_BYTES);
    let found = found.filter(|answer| answer.number("/Version") == Some(1));
    found
        .and_then(|mut answer| Credentials::of_json(&mut answer, NAMES))
        .ok_or_else(|| {
            name.does_not_accept(
                "what it writes is not JSON with Version 1, AccessKeyId and SecretAccessKey: run it by hand to see",
            )
        })
}
