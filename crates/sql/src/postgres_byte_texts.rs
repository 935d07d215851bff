//! Texts that stand for bytes, as PostgreSQL writes them (PostgreSQL's documentation, "Binary Data Types").
//!
//! What must hold: what is no such text gives nothing.

/// The bytes that a text of PostgreSQL means: `\x00ff`, or letters with `\\` and `\ooo`.
pub fn postgres_bytes(text: &str) -> Option<Vec<u8>> {
    match text.strip_prefix("\\x") {
        Some(digits) => hexadecimal(digits),
        None => escaped(text.as_bytes()),
    }
}

/// Two digits a byte; blanks may stand between bytes.
fn hexadecimal(digits: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(digits.len() / 2);
    let mut letters = digits.chars();
    while let Some(letter) = letters.next() {
        if !letter.is_ascii_whitespace() {
            let (high, low) = (letter.to_digit(16)?, letters.next()?.to_digit(16)?);
            bytes.push(u8::try_from(high << 4 | low).ok()?);
        }
    }
    Some(bytes)
}

fn escaped(mut rest: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = vec![];
    loop {
        rest = match rest {
            [] => return Some(bytes),
            [b'\\', b'\\', rest @ ..] => {
                bytes.push(b'\\');
                rest
            }
            [
                b'\\',
                a @ b'0'..=b'3',
                b @ b'0'..=b'7',
                c @ b'0'..=b'7',
                rest @ ..,
            ] => {
                bytes.push(((a & 3) << 6) | ((b & 7) << 3) | (c & 7));
                rest
            }
            [b'\\', ..] => return None,
            [byte, rest @ ..] => {
                bytes.push(*byte);
                rest
            }
        };
    }
}

/// The text of a BLOB in DuckDB's writing.
pub(crate) fn blob_text(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("\\x{byte:02X}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_read_as_postgresql_writes_them() {
        for (text, bytes) in [
            ("\\x00ff", &[0, 255][..]),
            ("\\x", &[]),
            ("\\xAb 0c", &[0xab, 12]),
            ("", &[]),
            ("ab", b"ab"),
            ("a\\\\\\001", b"a\\\x01"),
            ("\\377", &[255]),
        ] {
            assert_eq!(postgres_bytes(text).as_deref(), Some(bytes), "{text}");
        }
        for bad in [
            "\\x0",
            "\\xg0",
            "\\x0 0",
            "\\400",
            "\\",
            "\\a",
            "\\x\u{e9}0",
        ] {
            assert_eq!(postgres_bytes(bad), None, "{bad}");
        }
    }
}
