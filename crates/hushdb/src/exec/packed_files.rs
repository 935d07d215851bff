//! Files of text that a statement reads: as they are, or unpacked from gzip or Zstandard while they are read.
//!
//! What must hold: unpacking takes the memory of a window (128 MiB at most, the library's limit for Zstandard), whatever the file says.

use super::option_values::text;
use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use hushdb_sql::{Error, ErrorKind, OptionValue, Result};
use hushdb_storage::open_input;
use std::io::{self, Read, Write};

/// How a file is packed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) enum Packing {
    #[default]
    Plain,
    Gzip,
    Zstd,
}

impl Packing {
    /// The packing that a file's name tells, and the name without it.
    pub(super) fn of_name(path: &str) -> (Self, &str) {
        for (ending, packing) in [(".gz", Self::Gzip), (".zst", Self::Zstd)] {
            let at = path.len().saturating_sub(ending.len());
            if let Some((name, end)) = path.split_at_checked(at)
                && end.eq_ignore_ascii_case(ending)
            {
                return (packing, name);
            }
        }
        (Self::Plain, path)
    }

    /// What the option `compression` says; `None` leaves it to the file's name.
    ///
    /// # Errors
    /// `NotSupported` for another packing.
    pub(super) fn named(name: &str, value: &OptionValue) -> Result<Option<Self>> {
        match text(name, value)?.to_ascii_lowercase().as_str() {
            "auto" | "auto_detect" | "infer" => Ok(None),
            "none" | "uncompressed" => Ok(Some(Self::Plain)),
            "gzip" => Ok(Some(Self::Gzip)),
            "zstd" => Ok(Some(Self::Zstd)),
            other => Err(Error::unsupported(format!(
                "the option {name} is none, gzip, zstd or auto, not {other}"
            ))),
        }
    }

    /// Opens a file that a user has named.
    ///
    /// # Errors
    /// What the operating system says; what is wrong with its packing is said while it is read.
    pub(super) fn open(self, path: &str) -> io::Result<Unpacked> {
        let file = open_input(path)?;
        Ok(Unpacked(match self {
            Self::Plain => Box::new(file),
            Self::Gzip => Box::new(MultiGzDecoder::new(file)),
            Self::Zstd => Box::new(zstd::Decoder::new(file)?),
        }))
    }
}

impl Packing {
    /// Packs what `write` writes.
    ///
    /// # Errors
    /// Those of `write`, and `Io`.
    pub(super) fn write(
        self,
        mut out: impl Write,
        write: impl FnOnce(&mut dyn Write) -> Result<u64>,
    ) -> Result<u64> {
        let failed = |error: io::Error| Error::new(ErrorKind::Io, error.to_string());
        match self {
            Self::Plain => write(&mut out),
            Self::Gzip => {
                let mut packed = GzEncoder::new(&mut out, Compression::default());
                let rows = write(&mut packed)?;
                packed.finish().map_err(failed)?;
                out.flush().map_err(failed)?;
                Ok(rows)
            }
            Self::Zstd => {
                let mut packed = zstd::Encoder::new(&mut out, 0).map_err(failed)?;
                let rows = write(&mut packed)?;
                packed.finish().map_err(failed)?;
                out.flush().map_err(failed)?;
                Ok(rows)
            }
        }
    }
}

/// The text of a file.
pub(super) struct Unpacked(Box<dyn Read + Send>);

impl Read for Unpacked {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_packings() {
        for (path, packing, name) in [
            ("a.csv", Packing::Plain, "a.csv"),
            ("a.csv.gz", Packing::Gzip, "a.csv"),
            ("A.JSON.ZST", Packing::Zstd, "A.JSON"),
            ("gz", Packing::Plain, "gz"),
            ("ä.gz", Packing::Gzip, "ä"),
            ("€€", Packing::Plain, "€€"),
            ("", Packing::Plain, ""),
        ] {
            assert_eq!(Packing::of_name(path), (packing, name), "{path}");
        }
    }

    #[test]
    fn files_are_unpacked_and_damage_is_found() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a");
        let path = path.to_str().unwrap();
        let text = "i\n1\n".repeat(1000);
        let mut member = GzEncoder::new(vec![], Compression::default());
        member.write_all(text.as_bytes()).unwrap();
        let member = member.finish().unwrap();
        let frame = zstd::encode_all(text.as_bytes(), 1).unwrap();
        let read = |packing: Packing, bytes: &[u8]| {
            std::fs::write(path, bytes).unwrap();
            let mut all = String::new();
            let mut file = packing.open(path)?;
            file.read_to_string(&mut all).map(|_| all)
        };
        for (packing, part) in [(Packing::Gzip, member), (Packing::Zstd, frame)] {
            let twice = [part.clone(), part.clone()].concat();
            assert_eq!(read(packing, &twice).unwrap(), text.repeat(2));
            assert!(
                read(packing, &part[..part.len() - 3]).is_err(),
                "{packing:?}"
            );
            assert!(read(packing, text.as_bytes()).is_err(), "{packing:?}");
        }
    }
}
