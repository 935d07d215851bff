//! Hostile files: each is a sound database with one named edit, made anew on each run, and opened as a reader would. What
//! must come of it is in `tests/testkit/MANIFEST.txt`: the case, the kind of error (or `Notice`, `Sound`), what is said.
//!
//! Nothing here panics, hangs, writes to a file that it refuses or only reads, or takes more memory than the file's size
//! and a constant.

mod blocks;
mod cases;
mod changes;
mod fields;
mod forge;
mod headers;
mod log_forge;
mod logs;
mod metadata;
mod outcome;
mod panicking;
mod samples;
mod seeds;
mod segments;
mod superblocks;

/// What `panicking` makes segments of.
mod arrays {
    pub(crate) use arrow_array::{ArrayRef, StringViewArray};
}

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use peak_alloc::PeakAlloc;

use cases::Cases;
use samples::Samples;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// What opening and reading take beside what the file's size explains: codec, keys, buffers.
const CONSTANT_BYTES: usize = 4 << 20;

fn manifest() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/testkit/MANIFEST.txt")
}

fn cases_of(samples: &Samples) -> Cases {
    let mut cases = Cases::default();
    headers::add(&mut cases, samples);
    superblocks::add(&mut cases, samples);
    blocks::add(&mut cases, samples);
    metadata::add(&mut cases, samples);
    segments::add(&mut cases, samples);
    logs::add(&mut cases, samples);
    changes::add(&mut cases, samples);
    cases
}

#[test]
fn each_hostile_file_gives_its_error_and_no_more() {
    let text = fs::read_to_string(manifest()).expect("the manifest is there");
    let mut expected = BTreeMap::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (name, outcome) = line.split_once('\t').expect("case and outcome");
        let twice = expected.insert(name, outcome).is_some();
        assert!(!twice, "{name} stands twice");
    }
    // To keep the files: HUSHDB_TESTKIT=directory.
    let kept = std::env::var_os("HUSHDB_TESTKIT").map(PathBuf::from);
    let temporary = tempfile::tempdir().expect("a directory");
    let directory = kept.as_deref().unwrap_or(temporary.path());
    fs::create_dir_all(directory).expect("a directory");

    let samples = Samples::new();
    let cases = cases_of(&samples);
    // To write what the cases edit, as seeds for fuzzing: HUSHDB_CORPUS=directory.
    let corpus = std::env::var_os("HUSHDB_CORPUS").map(PathBuf::from);
    seeds::write(&samples, &cases, corpus.as_deref());

    // The only test here: others would take memory meanwhile.
    let (before, _) = panicking::heard();
    let mut wrong = Vec::new();
    for case in cases.0 {
        let name = case.name.as_str();
        let outcome = outcome::of(&case, directory);
        let found = format!("{}\t{}", outcome.kind, without_places(&outcome.message));
        if expected.remove(name) != Some(found.as_str()) {
            wrong.push(format!("{name}\t{found}"));
        }
        let size = case.file.len() + case.log.as_ref().map_or(0, Vec::len);
        if outcome.peak_bytes > size + CONSTANT_BYTES {
            let peak = outcome.peak_bytes;
            wrong.push(format!("{name}: took {peak} bytes for {size}"));
        }
        let faults = outcome.faults.iter();
        wrong.extend(faults.map(|fault| format!("{name}: {fault}")));
    }
    match panicking::heard() {
        (answered, 0) if answered > before => {}
        (answered, seen) => wrong.push(format!(
            "{} panics had an answer, and {seen} had none",
            answered - before
        )),
    }
    let missing = expected.keys();
    wrong.extend(missing.map(|name| format!("{name}: there is no such case")));
    let count = wrong.len();
    assert!(wrong.is_empty(), "{count} wrong:\n{}", wrong.join("\n"));
}

/// Where a block or record lies, and how long a file is, may change with how the samples are stored: a `*` stands for it.
fn without_places(message: &str) -> String {
    let mut words: Vec<&str> = message.split(' ').collect();
    let is_number = |word: &str| word.starts_with(|c: char| c.is_ascii_digit());
    for at in 0..words.len() {
        let behind = |word: &str| at > 0 && words[at - 1] == word;
        let before = |word: &str| words.get(at + 1).is_some_and(|next| next.starts_with(word));
        let place = behind("sector") || behind("LSN") || behind("of") || before("bytes");
        if is_number(words[at]) && place {
            words[at] = match words[at].strip_suffix(':') {
                Some(_) => "*:",
                None => "*",
            };
        }
    }
    words.join(" ")
}
