//! What the caller knows of the state that a file must have: an anchor, a root digest, or a file that keeps the anchor from one
//! opening to the next.
//!
//! Holds: an anchor file is replaced as a whole, or stays as it was. Since an anchor is the least that must be there, one that
//! was not replaced, after a crash, still holds.

use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use hushdb::files::storage::OutputFile;
use hushdb::{Anchor, Freshness, root_digest_from_hex};

use crate::failure::{Failure, say};

/// More than any anchor has.
const MOST_BYTES: u64 = 4096;

/// What a file is held against.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct FreshnessOptions {
    /// Refuse the file unless it has all that was committed when this line was printed (hush inspect --anchor)
    #[arg(long, value_name = "LINE", value_parser = anchor)]
    min_anchor: Option<Anchor>,
    /// Refuse the file unless it has this root digest, and no log
    #[arg(long, value_name = "DIGEST", value_parser = digest)]
    expected_root: Option<[u8; 32]>,
    /// Keep the anchor in this file: it is checked at opening and, by who may write, written anew at closing
    #[arg(long, value_name = "PATH", conflicts_with = "min_anchor")]
    anchor_file: Option<PathBuf>,
}

fn anchor(text: &str) -> Result<Anchor, String> {
    text.parse().map_err(|error| format!("{error}"))
}

fn digest(text: &str) -> Result<[u8; 32], String> {
    root_digest_from_hex(text).map_err(|error| error.to_string())
}

impl FreshnessOptions {
    /// Whether anything was named.
    pub(crate) fn is_given(&self) -> bool {
        self.min_anchor.is_some() || self.expected_root.is_some() || self.anchor_file.is_some()
    }

    /// Whether an anchor is to be written at closing.
    pub(crate) fn keeps(&self) -> bool {
        self.anchor_file.is_some()
    }

    /// What a file must have that is opened by who may write it, or may not.
    ///
    /// # Errors
    /// An anchor file that cannot be read, that holds no anchor, or that is missing where none will be written.
    pub(crate) fn freshness(&self, writes: bool) -> Result<Freshness, Failure> {
        let kept = match &self.anchor_file {
            Some(path) => read(path, writes)?,
            None => None,
        };
        Ok(Freshness {
            expected_root: self.expected_root,
            min_anchor: kept.or(self.min_anchor),
        })
    }

    /// Puts an anchor into the anchor file, if there is to be one.
    ///
    /// # Errors
    /// Of the operating system: the file is as it was.
    pub(crate) fn keep(&self, anchor: &Anchor) -> Result<(), Failure> {
        match &self.anchor_file {
            Some(path) => replace(path, anchor),
            None => Ok(()),
        }
    }
}

fn read(path: &Path, writes: bool) -> Result<Option<Anchor>, Failure> {
    let mut text = String::new();
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound && writes => {
            say(&format!(
                "Notice: {}: there is no anchor yet, so none was checked; it is written at closing",
                path.display()
            ));
            return Ok(None);
        }
        Err(error) => return Err(Failure::file(path, error)),
    };
    let read = file.take(MOST_BYTES).read_to_string(&mut text);
    let _ = read.map_err(|error| Failure::file(path, error))?;
    let anchor = text.parse().map_err(|error| {
        Failure::Message(format!(
            "{}: this is no anchor file: {error}",
            path.display()
        ))
    })?;
    Ok(Some(anchor))
}

fn replace(path: &Path, anchor: &Anchor) -> Result<(), Failure> {
    let failed = |error| Failure::output(path, error);
    let mut file = OutputFile::create(path).map_err(failed)?;
    writeln!(file, "{anchor}").map_err(|error| Failure::file(path, error))?;
    file.commit().map_err(failed)
}
