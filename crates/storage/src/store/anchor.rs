//! `Anchor`: one line that says how far a database had come. Kept elsewhere, it shows a file that was rolled back and a
//! log whose tail was cut (FORMAT.md, "Anchors").

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, Result};
use crate::numbers::{Generation, Lsn};

const PREFIX: &str = "hush2";
/// Of releases that kept no history.
const WITHOUT_RUN: &str = "hush1";

/// A state of a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Anchor {
    /// The database.
    pub database_id: [u8; 16],
    /// Generation of the superblock.
    pub generation: Generation,
    /// Digest of the superblock.
    pub root_digest: [u8; 32],
    /// The run that wrote it, by which a later superblock tells whether it goes on from it. Zeros: of a release that kept no
    /// history.
    pub run: [u8; 16],
    /// Sequence of the log that was open, or closed last.
    pub log_sequence: u64,
    /// Where the log ended; [`Lsn::NONE`] when none was open.
    pub log_end: Lsn,
    /// Tag of the log's last record, or of its header; zeros when none was open.
    pub log_tag: [u8; 16],
}

impl Anchor {
    /// Whether it says which run it was taken in.
    pub fn has_run(&self) -> bool {
        self.run != [0; 16]
    }
}

impl fmt::Display for Anchor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hex = |bytes: &[u8]| bytes.iter().map(|b| format!("{b:02x}")).collect::<String>();
        let (prefix, run) = match self.has_run() {
            true => (PREFIX, format!(":{}", hex(&self.run))),
            false => (WITHOUT_RUN, String::new()),
        };
        write!(
            f,
            "{prefix}:{}:{}:{}{run}:{}:{}:{}",
            hex(&self.database_id),
            self.generation,
            hex(&self.root_digest),
            self.log_sequence,
            self.log_end,
            hex(&self.log_tag)
        )
    }
}

impl FromStr for Anchor {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let malformed = || {
            Error::InvalidInput(
                "an anchor reads hush2:<database id>:<generation>:<root digest>:<run>:<log sequence>:<log end>:<log tag>"
                    .into(),
            )
        };
        let number = |text: &str| text.parse().map_err(|_| malformed());
        let parts: Vec<&str> = text.trim().split(':').collect();
        let (id, generation, digest, run, log) = match parts.as_slice() {
            [PREFIX, id, generation, digest, run, log @ ..] => {
                let run = bytes(run).filter(|run| *run != [0; 16]);
                (id, generation, digest, run.ok_or_else(malformed)?, log)
            }
            [WITHOUT_RUN, id, generation, digest, log @ ..] => {
                (id, generation, digest, [0; 16], log)
            }
            _ => return Err(malformed()),
        };
        let [sequence, end, tag] = log else {
            return Err(malformed());
        };
        Ok(Self {
            database_id: bytes(id).ok_or_else(malformed)?,
            generation: Generation::new(number(generation)?),
            root_digest: bytes(digest).ok_or_else(malformed)?,
            run,
            log_sequence: number(sequence)?,
            log_end: Lsn::new(number(end)?),
            log_tag: bytes(tag).ok_or_else(malformed)?,
        })
    }
}

/// What an opening insists on, beyond what the file can prove about itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct Freshness {
    /// Exactly this superblock, without a log beside it: one content.
    pub expected_root: Option<[u8; 32]>,
    /// This state or a later one.
    pub min_anchor: Option<Anchor>,
    /// This key: the commitment to the master key. Compared before a key slot is tried, or a service asked.
    pub expected_key: Option<[u8; 32]>,
}

impl Freshness {
    /// Whether anything is insisted on.
    pub fn is_given(&self) -> bool {
        self.expected_root.is_some() || self.min_anchor.is_some() || self.expected_key.is_some()
    }

    /// Compares the commitment that a header names with the key that is insisted on.
    pub(super) fn check_key(&self, commitment: Option<[u8; 32]>) -> Result<()> {
        match self.expected_key {
            Some(_) if self.expected_key != commitment => Err(Error::NotExpectedKey),
            _ => Ok(()),
        }
    }

    /// Holds a superblock against what is insisted on.
    pub(super) fn check_root(
        &self,
        database_id: &[u8; 16],
        generation: Generation,
        root_digest: &[u8; 32],
        has_log: bool,
    ) -> Result<()> {
        match self.expected_root {
            Some(expected) if expected != *root_digest => return Err(Error::NotExpectedRoot),
            Some(_) if has_log => return Err(Error::ExpectedRootHasLog),
            _ => {}
        }
        let Some(anchor) = &self.min_anchor else {
            return Ok(());
        };
        if anchor.database_id != *database_id {
            return Err(Error::AnchorOfOther);
        }
        if generation < anchor.generation {
            return Err(Error::RolledBack {
                expected: anchor.generation,
                found: generation,
            });
        }
        if generation == anchor.generation && anchor.root_digest != *root_digest {
            return Err(Error::NotExpectedRoot);
        }
        Ok(())
    }

    /// The place and tag that a log of this sequence, if it is open, must reach. Not a question of the generation: slot
    /// changes move the root and leave the log open.
    pub(crate) fn log_must_reach(&self, sequence: u64) -> Option<(Lsn, [u8; 16])> {
        let anchor = self
            .min_anchor
            .filter(|a| a.log_sequence == sequence && a.log_end > Lsn::NONE)?;
        Some((anchor.log_end, anchor.log_tag))
    }

    /// Holds a log that is open in this process against what is insisted on: it is the anchor's, if it has its sequence, and has
    /// only grown since.
    pub(crate) fn check_open_log(&self, sequence: u64, end: Lsn) -> Result<()> {
        match self.log_must_reach(sequence) {
            Some((expected, _)) if end < expected => Err(Error::LogCut { expected }),
            _ => self.check_last_log(sequence),
        }
    }

    /// Holds the last log that there is, or was, against what is insisted on.
    pub(crate) fn check_last_log(&self, sequence: u64) -> Result<()> {
        match self.min_anchor {
            Some(anchor) if anchor.log_end > Lsn::NONE && anchor.log_sequence > sequence => {
                Err(Error::LogCut {
                    expected: anchor.log_end,
                })
            }
            _ => Ok(()),
        }
    }
}

/// The digest of a superblock from its 64 hexadecimal digits.
///
/// # Errors
/// InvalidInput for any other text.
pub fn root_digest_from_hex(text: &str) -> Result<[u8; 32]> {
    bytes(text.trim())
        .ok_or_else(|| Error::InvalidInput("a root digest has 64 hexadecimal digits".into()))
}

/// Reads the 64 hexadecimal digits of a commitment to a master key.
///
/// # Errors
/// `InvalidInput`.
pub fn key_commitment_from_hex(text: &str) -> Result<[u8; 32]> {
    bytes(text.trim()).ok_or_else(|| {
        Error::InvalidInput(
            "a key's commitment has 64 hexadecimal digits: hush inspect prints it".into(),
        )
    })
}

fn bytes<const N: usize>(hex: &str) -> Option<[u8; N]> {
    let digits = hex.as_bytes();
    if digits.len() != 2 * N {
        return None;
    }
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(digits.as_chunks::<2>().0) {
        let digit = |c: u8| char::from(c).to_digit(16);
        *byte = u8::try_from(digit(pair[0])? * 16 + digit(pair[1])?).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn anchor() -> Anchor {
        Anchor {
            database_id: [1; 16],
            generation: Generation::new(7),
            root_digest: [0xab; 32],
            run: [0xcd; 16],
            log_sequence: 3,
            log_end: Lsn::new(4096),
            log_tag: [9; 16],
        }
    }

    #[test]
    fn an_anchor_is_one_line_that_reads_back() {
        let line = anchor().to_string();
        assert!(line.starts_with("hush2:01010101") && !line.contains('\n'));
        assert_eq!(line.parse::<Anchor>().unwrap(), anchor());
        let old = Anchor {
            run: [0; 16],
            ..anchor()
        };
        let line_of_old = old.to_string();
        assert!(line_of_old.starts_with("hush1:01010101") && line_of_old.len() < line.len());
        assert_eq!(line_of_old.parse::<Anchor>().unwrap(), old);
        assert_eq!(format!(" {line}\n").parse::<Anchor>().unwrap(), anchor());
    }

    #[test]
    fn anything_else_is_refused() {
        let line = anchor().to_string();
        for wrong in [
            "",
            "hush1",
            &line[..line.len() - 1],
            &line.replace("hush2", "hush1"),
            &line.replace("hush2", "hush3"),
            &line.replace("cd", "00"),
            &format!("{line}:1"),
        ] {
            assert!(wrong.parse::<Anchor>().is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parser_panic(text in ".{0,200}") {
            let _ = text.parse::<Anchor>();
        }
    }
}
