//! What the caller knows of the state that a file must have: an anchor, a root digest, or a file that keeps the anchor from one
//! opening to the next.

use std::path::PathBuf;

use clap::Args;
use hushdb::{Anchor, AnchorFile, Freshness, key_commitment_from_hex, root_digest_from_hex};

use crate::failure::{Failure, say};

/// What a file is held against.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct FreshnessOptions {
    /// Refuse the file unless it has all that was committed when this line was printed (hush inspect --anchor)
    #[arg(long, value_name = "LINE", value_parser = anchor)]
    min_anchor: Option<Anchor>,
    /// Refuse the file unless it has this root digest, and no log
    #[arg(long, value_name = "DIGEST", value_parser = digest)]
    expected_root: Option<[u8; 32]>,
    /// Refuse the file unless it has this key, before any is asked for (hush inspect prints its commitment)
    #[arg(long, value_name = "COMMITMENT", value_parser = commitment)]
    expected_key: Option<[u8; 32]>,
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

fn commitment(text: &str) -> Result<[u8; 32], String> {
    key_commitment_from_hex(text).map_err(|error| error.to_string())
}

impl FreshnessOptions {
    /// Whether anything was named.
    pub(crate) fn is_given(&self) -> bool {
        self.given().is_given() || self.anchor_file.is_some()
    }

    /// What was said of the file itself.
    pub(crate) fn given(&self) -> Freshness {
        Freshness {
            expected_root: self.expected_root,
            min_anchor: self.min_anchor,
            expected_key: self.expected_key,
        }
    }

    /// Where the anchor is kept.
    pub(crate) fn anchor_file(&self) -> Option<AnchorFile> {
        self.anchor_file.clone().map(AnchorFile::new)
    }

    /// What a file must have that is opened by who may write it, or may not.
    ///
    /// # Errors
    /// An anchor file that cannot be read, that holds no anchor, or that is missing where none will be written.
    pub(crate) fn freshness(&self, writes: bool) -> Result<Freshness, Failure> {
        let mut freshness = self.given();
        if let Some(file) = self.anchor_file() {
            freshness.min_anchor = file.read(writes)?;
            if freshness.min_anchor.is_none() {
                say(&format!("Notice: {}", file.nothing_yet()));
            }
        }
        Ok(freshness)
    }

    /// Puts an anchor into the anchor file, if there is to be one.
    ///
    /// # Errors
    /// Of the operating system: the file is as it was.
    pub(crate) fn keep(&self, anchor: &Anchor) -> Result<(), Failure> {
        match self.anchor_file() {
            Some(file) => Ok(file.write(anchor)?),
            None => Ok(()),
        }
    }
}
