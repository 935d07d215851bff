//! Files of text in another encoding than UTF-8, which they are brought to while they are read.
//!
//! What must hold: what is no text in the encoding is an error; nothing is replaced.

use std::io::{Error, ErrorKind, Read, Result};

/// Bytes that are read at a time.
const STEP: usize = 1 << 16;

/// How a file's text is written.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) enum Encoding {
    /// What everything here is.
    #[default]
    Utf8,
    /// ISO 8859-1: a byte is a character.
    Latin1,
    /// Two or four bytes a character, the lower byte of two first unless the file's mark says otherwise.
    Utf16,
}

impl Encoding {
    /// The encoding of a name, as DuckDB has it.
    pub(crate) fn named(name: &str) -> Option<Self> {
        match name.to_ascii_lowercase().as_str() {
            "utf-8" | "utf8" => Some(Self::Utf8),
            "latin-1" => Some(Self::Latin1),
            "utf-16" => Some(Self::Utf16),
            _ => None,
        }
    }
}

/// A file's text as UTF-8.
pub(crate) struct Decoded<R> {
    inner: R,
    encoding: Encoding,
    /// Bytes of the file that are not yet a character.
    rest: Vec<u8>,
    /// The mark said that the higher byte of two comes first.
    is_swapped: bool,
    is_begun: bool,
    text: Vec<u8>,
    /// So much of it was read.
    read: usize,
}

impl<R: Read> Decoded<R> {
    pub(crate) fn new(inner: R, encoding: Encoding) -> Self {
        Self {
            inner,
            encoding,
            rest: vec![],
            is_swapped: false,
            is_begun: false,
            text: vec![],
            read: 0,
        }
    }

    /// Brings more of the file to UTF-8; nothing at its end.
    fn more(&mut self) -> Result<()> {
        self.text.clear();
        self.read = 0;
        while self.text.is_empty() {
            let step = self.inner.by_ref().take(STEP as u64);
            let is_end = { step }.read_to_end(&mut self.rest)? == 0;
            match self.encoding {
                Encoding::Utf8 => self.text.append(&mut self.rest),
                Encoding::Latin1 => {
                    let text: String = self.rest.drain(..).map(char::from).collect();
                    self.text = text.into_bytes();
                }
                Encoding::Utf16 => self.pairs(is_end)?,
            }
            if is_end {
                break;
            }
        }
        Ok(())
    }

    fn pairs(&mut self, is_end: bool) -> Result<()> {
        let wrong = || Error::new(ErrorKind::InvalidData, "the file is not UTF-16");
        if !self.is_begun && self.rest.len() > 1 {
            self.is_swapped = self.rest.starts_with(&[0xFE, 0xFF]);
            self.is_begun = true;
        }
        let (pairs, odd) = self.rest.as_chunks::<2>();
        let units = pairs.iter().map(|pair| match self.is_swapped {
            true => u16::from_be_bytes(*pair),
            false => u16::from_le_bytes(*pair),
        });
        let mut units: Vec<u16> = units.collect();
        let mut kept = odd.to_vec();
        // Its second half may come with the next step.
        let half = units.pop_if(|unit| (0xD800..0xDC00).contains(unit));
        if let Some(half) = half {
            let half = match self.is_swapped {
                true => half.to_be_bytes(),
                false => half.to_le_bytes(),
            };
            kept.splice(..0, half);
        }
        if is_end && !kept.is_empty() {
            return Err(wrong());
        }
        self.rest = kept;
        let text = String::from_utf16(&units).map_err(|_| wrong())?;
        self.text = text.into_bytes();
        Ok(())
    }
}

impl<R: Read> Read for Decoded<R> {
    fn read(&mut self, into: &mut [u8]) -> Result<usize> {
        if self.read == self.text.len() {
            self.more()?;
        }
        let mut rest = self.text.get(self.read..).unwrap_or_default();
        let read = rest.read(into)?;
        self.read += read;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives a byte at a time.
    struct Slowly<'a>(&'a [u8]);

    impl Read for Slowly<'_> {
        fn read(&mut self, into: &mut [u8]) -> Result<usize> {
            let most = into.len().min(1);
            self.0.read(into.get_mut(..most).unwrap_or_default())
        }
    }

    fn decoded(bytes: &[u8], encoding: Encoding) -> Result<String> {
        let mut texts = [String::new(), String::new()];
        Decoded::new(bytes, encoding).read_to_string(&mut texts[0])?;
        Decoded::new(Slowly(bytes), encoding).read_to_string(&mut texts[1])?;
        assert_eq!(texts[0], texts[1]);
        Ok(texts[0].clone())
    }

    #[test]
    fn texts_become_utf_8() {
        let text = "a,é\n😀".repeat(30_000);
        let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(decoded(&little, Encoding::Utf16).unwrap(), text);
        let marked = format!("\u{feff}{text}");
        let big: Vec<u8> = marked.encode_utf16().flat_map(u16::to_be_bytes).collect();
        assert_eq!(decoded(&big, Encoding::Utf16).unwrap(), marked);
        assert_eq!(decoded(b"a\xe9\xff", Encoding::Latin1).unwrap(), "aéÿ");
        assert_eq!(decoded("é".as_bytes(), Encoding::Utf8).unwrap(), "é");
        for encoding in [Encoding::Utf8, Encoding::Latin1, Encoding::Utf16] {
            assert_eq!(decoded(b"", encoding).unwrap(), "");
        }
    }

    #[test]
    fn what_is_no_text_is_refused() {
        for bytes in [&b"a"[..], b"a\0b", b"\0\xd8", b"\0\xdc", b"\0\xd8a\0"] {
            assert!(decoded(bytes, Encoding::Utf16).is_err(), "{bytes:?}");
        }
    }
}
