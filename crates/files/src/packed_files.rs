//! Files of text that a statement reads: as they are, or unpacked from gzip or Zstandard while they are read.
//!
//! What must hold: unpacking takes the memory of a window (128 MiB at most, the library's limit for Zstandard), whatever the file says.

use super::encodings::{Decoded, Encoding};
use super::option_values::text;
use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use hushdb_sql::{Error, OptionValue, Result};
use hushdb_storage::OutputFile;
use hushdb_storage::open_input;
use std::io::{self, BufWriter, Read, Write};

/// How a file is packed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) enum Packing {
    #[default]
    Plain,
    Gzip,
    Zstd,
}

impl Packing {
    /// The packing that a file's name tells, and the name without it.
    pub(crate) fn of_name(path: &str) -> (Self, &str) {
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
    pub(crate) fn named(name: &str, value: &OptionValue) -> Result<Option<Self>> {
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
    pub(crate) fn open(self, path: &str) -> io::Result<Unpacked> {
        let file = open_input(path)?;
        Ok(Unpacked(match self {
            Self::Plain => Box::new(file),
            Self::Gzip => Box::new(MultiGzDecoder::new(file)),
            Self::Zstd => Box::new(zstd::Decoder::new(file)?),
        }))
    }
}

impl Packing {
    /// Begins to pack a file.
    pub(crate) fn begin(self, file: BufWriter<OutputFile>) -> io::Result<Packed> {
        Ok(match self {
            Self::Plain => Packed::Plain(file),
            Self::Gzip => Packed::Gzip(GzEncoder::new(file, Compression::default())),
            Self::Zstd => Packed::Zstd(zstd::Encoder::new(file, 0)?),
        })
    }

    /// What names of files end with.
    pub(crate) fn ending(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Gzip => ".gz",
            Self::Zstd => ".zst",
        }
    }
}

/// A file that is packed as it is written.
pub(crate) enum Packed {
    Plain(BufWriter<OutputFile>),
    Gzip(GzEncoder<BufWriter<OutputFile>>),
    Zstd(zstd::Encoder<'static, BufWriter<OutputFile>>),
}

impl Packed {
    /// Ends what is packed, and gives the file back.
    pub(crate) fn finish(self) -> io::Result<BufWriter<OutputFile>> {
        match self {
            Self::Plain(file) => Ok(file),
            Self::Gzip(packed) => packed.finish(),
            Self::Zstd(packed) => packed.finish(),
        }
    }

    /// Bytes that the file has so far: of what is packed, what was let go of.
    pub(crate) fn written(&self) -> u64 {
        let file = match self {
            Self::Plain(file) => file,
            Self::Gzip(packed) => packed.get_ref(),
            Self::Zstd(packed) => packed.get_ref(),
        };
        file.get_ref().written() + file.buffer().len() as u64
    }
}

impl Write for Packed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(file) => file.write(bytes),
            Self::Gzip(packed) => packed.write(bytes),
            Self::Zstd(packed) => packed.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(file) => file.flush(),
            Self::Gzip(packed) => packed.flush(),
            Self::Zstd(packed) => packed.flush(),
        }
    }
}

/// The text of a file.
pub(crate) struct Unpacked(Box<dyn Read + Send>);

impl Unpacked {
    /// The text in UTF-8 of a file that is written in an encoding.
    pub(crate) fn decoded(self, encoding: Encoding) -> Self {
        match encoding {
            Encoding::Utf8 => self,
            Encoding::Latin1 | Encoding::Utf16 => Self(Box::new(Decoded::new(self.0, encoding))),
        }
    }

    /// The text as it comes out of another reader.
    pub(crate) fn through(
        self,
        reader: impl FnOnce(Box<dyn Read + Send>) -> Box<dyn Read + Send>,
    ) -> Self {
        Self(reader(self.0))
    }
}

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
