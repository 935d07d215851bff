//! COPY's CSV format, as PostgreSQL has it: NULL is what stands without quotes as the null string does.

use super::copy_options::CopyOptions;
use super::copy_text::NotText;

/// The values of a line without its end.
///
/// # Errors
/// Text that is not UTF-8, and quotes without an end.
pub(crate) fn values(line: &[u8], options: &CopyOptions) -> Result<Vec<Option<String>>, NotText> {
    let mut values = vec![];
    let mut rest = line;
    loop {
        let (mut bytes, mut was_quoted, mut within) = (vec![], false, false);
        let more = loop {
            let Some((byte, behind)) = rest.split_first() else {
                break false;
            };
            rest = behind;
            if within {
                let next = rest.first();
                if *byte == options.escape
                    && next.is_some_and(|n| *n == options.quote || *n == options.escape)
                {
                    bytes.extend(next);
                    rest = rest.get(1..).unwrap_or_default();
                } else if *byte == options.quote {
                    within = false;
                } else {
                    bytes.push(*byte);
                }
            } else if *byte == options.quote {
                (within, was_quoted) = (true, true);
            } else if *byte == options.delimiter {
                break true;
            } else {
                bytes.push(*byte);
            }
        };
        if within {
            return Err(NotText);
        }
        values.push(match !was_quoted && bytes == options.null.as_bytes() {
            true => None,
            false => match String::from_utf8(bytes) {
                Ok(text) if !text.contains('\0') => Some(text),
                _ => return Err(NotText),
            },
        });
        if !more {
            return Ok(values);
        }
    }
}

/// A row as a line.
pub(crate) fn write(values: &[Option<String>], options: &CopyOptions, line: &mut Vec<u8>) {
    for (at, value) in values.iter().enumerate() {
        if at > 0 {
            line.push(options.delimiter);
        }
        let Some(text) = value else {
            line.extend(options.null.as_bytes());
            continue;
        };
        let special = |byte: u8| {
            byte == options.delimiter || byte == options.quote || byte == b'\n' || byte == b'\r'
        };
        let quoted = *text == options.null
            || text.bytes().any(special)
            || (values.len() == 1 && text == "\\.");
        if !quoted {
            line.extend(text.as_bytes());
            continue;
        }
        line.push(options.quote);
        for byte in text.bytes() {
            if byte == options.quote || byte == options.escape {
                line.push(options.escape);
            }
            line.push(byte);
        }
        line.push(options.quote);
    }
    line.push(b'\n');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::{Words, tokens};

    #[test]
    fn values_come_back() {
        let words = tokens("(format csv, header true)").unwrap();
        let options = CopyOptions::read(&mut Words::new(&words), true).unwrap();
        assert!(options.header);
        let row = vec![
            Some("a,\"b\"\n".into()),
            None,
            Some(String::new()),
            Some("x".into()),
        ];
        let mut line = vec![];
        write(&row, &options, &mut line);
        assert_eq!(line, b"\"a,\"\"b\"\"\n\",,\"\",x\n");
        assert_eq!(values(line.strip_suffix(b"\n").unwrap(), &options), Ok(row));
        assert!(values(b"\"a", &options).is_err());
    }
}
