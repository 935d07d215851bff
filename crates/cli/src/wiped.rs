//! Statements on their way to the library: they may have keys in them, so their buffers are wiped.

use std::io::{self, Read};

use zeroize::Zeroizing;

/// As much as the standard input's own buffer has, or more: reads then go past that buffer, which nobody could wipe.
const BUFFER_BYTES: usize = 16 << 10;

/// A text that grows without leaving a copy of itself behind, and is wiped when it is dropped.
#[derive(Debug, Default)]
pub(crate) struct WipedText(Zeroizing<Vec<u8>>);

impl WipedText {
    /// Appends.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        let needed = self.0.len() + bytes.len();
        if needed > self.0.capacity() {
            let mut larger = Zeroizing::new(Vec::with_capacity(needed.next_power_of_two()));
            larger.extend_from_slice(&self.0);
            self.0 = larger;
        }
        self.0.extend_from_slice(bytes);
    }

    /// Takes the first `bytes` away.
    pub(crate) fn cut_front(&mut self, bytes: usize) {
        let mut rest = Zeroizing::new(Vec::with_capacity(self.0.len() - bytes));
        rest.extend_from_slice(&self.0[bytes..]);
        self.0 = rest;
    }

    /// The text; an error if it is none.
    pub(crate) fn as_str(&self) -> io::Result<&str> {
        std::str::from_utf8(&self.0)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
    }
}

/// Lines of a file or pipe.
pub(crate) struct Lines<R> {
    source: R,
    buffer: Zeroizing<Vec<u8>>,
    unread: std::ops::Range<usize>,
}

impl<R: Read> Lines<R> {
    pub(crate) fn of(source: R) -> Self {
        Self {
            source,
            buffer: Zeroizing::new(vec![0; BUFFER_BYTES]),
            unread: 0..0,
        }
    }

    /// The next line with its line break; `None` at the end.
    ///
    /// # Errors
    /// The source's.
    pub(crate) fn next(&mut self) -> io::Result<Option<WipedText>> {
        let mut line = WipedText::default();
        loop {
            if self.unread.is_empty() {
                let read = match self.source.read(&mut self.buffer) {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    read => read?,
                };
                if read == 0 {
                    return Ok((!line.0.is_empty()).then_some(line));
                }
                self.unread = 0..read;
            }
            let bytes = &mut self.buffer[self.unread.clone()];
            let end = bytes.iter().position(|byte| *byte == b'\n');
            let taken = &mut bytes[..end.map_or(self.unread.len(), |at| at + 1)];
            line.push(taken);
            self.unread.start += taken.len();
            taken.fill(0);
            if end.is_some() {
                return Ok(Some(line));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_cut_and_wiped_from_the_buffer() {
        let long = "x".repeat(3 * BUFFER_BYTES);
        let text = format!("a\n\n{long}\nb");
        let mut lines = Lines::of(text.as_bytes());
        let mut found = Vec::new();
        while let Some(line) = lines.next().expect("a text in memory is read") {
            found.push(line.as_str().expect("UTF-8").to_owned());
        }
        assert_eq!(found, ["a\n", "\n", &format!("{long}\n"), "b"]);
        assert!(lines.buffer.iter().all(|byte| *byte == 0));
    }

    #[test]
    fn a_text_grows_and_shrinks() {
        let mut text = WipedText::default();
        for _ in 0..1000 {
            text.push(b"abc");
        }
        text.cut_front(2998);
        assert_eq!(text.as_str().expect("UTF-8"), "bc");
        text.push(&[0xff]);
        assert!(text.as_str().is_err());
    }
}
