//! COPY's text format: a line a row, its values between tabs, with `\` before what would be mistaken.

use super::copy_options::CopyOptions;

/// The values of a line without its end; `None` for NULL.
///
/// # Errors
/// Text that is not UTF-8.
pub(crate) fn values(line: &[u8], options: &CopyOptions) -> Result<Vec<Option<String>>, NotText> {
    fields(line, options.delimiter)
        .map(|field| match field == options.null.as_bytes() {
            true => Ok(None),
            false => plain(field).map(Some),
        })
        .collect()
}

/// A value that is no UTF-8 text, or has a zero byte in it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NotText;

/// Cuts a line at its delimiters, but for those behind a `\`.
fn fields(line: &[u8], delimiter: u8) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(line);
    std::iter::from_fn(move || {
        let line = rest?;
        let mut at = 0;
        loop {
            match line.get(at) {
                None => {
                    rest = None;
                    return Some(line);
                }
                Some(b'\\') => at += 2,
                Some(byte) if *byte == delimiter => {
                    rest = line.get(at + 1..);
                    return line.get(..at);
                }
                Some(_) => at += 1,
            }
        }
    })
}

/// A value without its escapes.
fn plain(field: &[u8]) -> Result<String, NotText> {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((first, behind)) = rest.split_first() {
        rest = behind;
        if *first != b'\\' {
            bytes.push(*first);
            continue;
        }
        let Some((escaped, behind)) = rest.split_first() else {
            bytes.push(b'\\');
            break;
        };
        rest = behind;
        bytes.push(match escaped {
            b'b' => 8,
            b'f' => 12,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'v' => 11,
            b'0'..=b'7' => number(*escaped - b'0', &mut rest, 8, 2),
            b'x' if rest.first().is_some_and(u8::is_ascii_hexdigit) => number(0, &mut rest, 16, 2),
            other => *other,
        });
    }
    match String::from_utf8(bytes) {
        Ok(text) if !text.contains('\0') => Ok(text),
        _ => Err(NotText),
    }
}

/// A byte by its digits, at most so many more of them.
fn number(first: u8, rest: &mut &[u8], base: u32, most: usize) -> u8 {
    let mut value = u32::from(first);
    for _ in 0..most {
        let digit = rest
            .first()
            .and_then(|byte| char::from(*byte).to_digit(base));
        let (Some(digit), Some(behind)) = (digit, rest.get(1..)) else {
            break;
        };
        (value, *rest) = (value * base + digit, behind);
    }
    (value & 255) as u8
}

/// A row as a line.
pub(crate) fn write(values: &[Option<String>], options: &CopyOptions, line: &mut Vec<u8>) {
    for (at, value) in values.iter().enumerate() {
        if at > 0 {
            line.push(options.delimiter);
        }
        match value {
            None => line.extend(options.null.as_bytes()),
            Some(text) => {
                for byte in text.bytes() {
                    match byte {
                        b'\\' => line.extend(b"\\\\"),
                        b'\n' => line.extend(b"\\n"),
                        b'\r' => line.extend(b"\\r"),
                        b'\t' => line.extend(b"\\t"),
                        8 => line.extend(b"\\b"),
                        12 => line.extend(b"\\f"),
                        11 => line.extend(b"\\v"),
                        _ if byte == options.delimiter => line.extend([b'\\', byte]),
                        _ => line.push(byte),
                    }
                }
            }
        }
    }
    line.push(b'\n');
}

/// Lines of what comes in pieces, which need not be lines.
#[derive(Default)]
pub(crate) struct Lines {
    bytes: Vec<u8>,
    /// How far was looked for an end.
    seen: usize,
    /// Of CSV: whether what was looked at ends within quotes.
    quoted: bool,
}

impl Lines {
    pub(crate) fn push(&mut self, data: &[u8]) {
        self.bytes.extend(data);
    }

    /// Bytes that wait for the end of their line.
    pub(crate) fn waiting(&self) -> usize {
        self.bytes.len()
    }

    /// Gives every whole line; and what is left, at the end.
    pub(crate) fn each<E>(
        &mut self,
        quote: Option<u8>,
        at_end: bool,
        mut line: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut start = 0;
        while let Some(byte) = self.bytes.get(self.seen) {
            if quote == Some(*byte) {
                // A quote that is doubled ends them and begins them again.
                self.quoted = !self.quoted;
            } else if *byte == b'\n' && !self.quoted {
                line(without_return(
                    self.bytes.get(start..self.seen).unwrap_or_default(),
                ))?;
                start = self.seen + 1;
            }
            self.seen += 1;
        }
        let rest = self.bytes.get(start..).unwrap_or_default();
        if at_end && !rest.is_empty() {
            line(without_return(rest))?;
            start = self.bytes.len();
        }
        self.bytes.drain(..start);
        self.seen -= start;
        Ok(())
    }
}

fn without_return(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::{Words, tokens};

    fn options(text: &str) -> CopyOptions {
        CopyOptions::read(&mut Words::new(&tokens(text).unwrap()), true).unwrap()
    }

    #[test]
    fn values_come_back() {
        let options = options("");
        let row = vec![
            Some("a\tb\\c\n\u{8}".into()),
            None,
            Some(String::new()),
            Some("\\N".into()),
        ];
        let mut line = vec![];
        write(&row, &options, &mut line);
        let line = line.strip_suffix(b"\n").unwrap();
        assert!(!line.contains(&b'\n'));
        assert_eq!(values(line, &options), Ok(row));
    }

    #[test]
    fn escapes_are_read_as_postgresql_reads_them() {
        let options = options("");
        let texts = |line: &[u8]| values(line, &options).unwrap();
        assert_eq!(texts(b"\\101\\x42\\q\\"), [Some("ABq\\".into())]);
        assert_eq!(texts(b""), [Some(String::new())]);
        assert!(values(b"\\xff", &options).is_err() && values(b"a\0b", &options).is_err());
    }

    #[test]
    fn lines_come_in_pieces() {
        let mut lines = Lines::default();
        let mut seen: Vec<Vec<u8>> = vec![];
        for piece in [&b"a,\"x\ny"[..], b"\"\r\nb", b"\n", b"c"] {
            lines.push(piece);
            let _ = lines.each(Some(b'"'), false, |line| {
                seen.push(line.to_vec());
                Ok::<(), ()>(())
            });
        }
        assert_eq!(seen, [b"a,\"x\ny\"".to_vec(), b"b".to_vec()]);
        assert_eq!(lines.waiting(), 1);
        let _ = lines.each(Some(b'"'), true, |line| {
            seen.push(line.to_vec());
            Ok::<(), ()>(())
        });
        assert_eq!(seen.last(), Some(&b"c".to_vec()));
    }
}
