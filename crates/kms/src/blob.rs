//! What a place keeps in a key slot. FORMAT.md, "Blobs of places for keys".
//!
//! | offset | bytes | field |
//! | --- | --- | --- |
//! | 0 | 1 | version = 1 |
//! | 1 | 1 | length n of the text for people, 0..=96 |
//! | 2 | n | text for people: the key's name and version; never acted upon |
//! | 2 + n | rest | what the place gave, and gets back |

use hushdb_keys::{KeyContext, MAX_LABEL_LEN};

const VERSION: u8 = 1;

/// Most bytes that a place may want to keep: all slots of a header share 1,756.
pub(crate) const MAX_SERVICE_BYTES: usize = 1024;

/// Puts a blob together. What is too long of the text, or may steer a terminal, is left out.
pub(crate) fn written(text: &str, service_bytes: &[u8]) -> Vec<u8> {
    let plain = text.chars().filter(|c| c.is_ascii_graphic() || *c == ' ');
    let text: String = plain.take(MAX_LABEL_LEN).collect();
    let mut blob = vec![VERSION, text.len() as u8];
    blob.extend(text.as_bytes());
    blob.extend(service_bytes);
    blob
}

/// What the place gave; `None` for what no place of this release writes. The bytes are anyone's.
pub(crate) fn service_bytes(blob: &[u8]) -> Option<&[u8]> {
    let [VERSION, text_len, rest @ ..] = blob else {
        return None;
    };
    let text_len = usize::from(*text_len);
    let (text, bytes) = rest.split_at_checked(text_len)?;
    let text = std::str::from_utf8(text).ok()?;
    let is_fit = text_len <= MAX_LABEL_LEN && !text.chars().any(char::is_control);
    (is_fit && !bytes.is_empty() && bytes.len() <= MAX_SERVICE_BYTES).then_some(bytes)
}

/// What every place that can is to bind a key to. FORMAT.md, the same section.
pub(crate) fn bound_text(context: &KeyContext) -> String {
    format!("hushdb:database={},hushdb:key=0", context.database_id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_blob_comes_back_and_nothing_else_does() {
        let blob = written("transit/hr v1\u{1b}[31m\u{202e}", b"vault:v1:abcd");
        assert_eq!(&blob[..2], [1, 17]);
        assert_eq!(service_bytes(&blob), Some(b"vault:v1:abcd".as_slice()));
        let longest = written(&"x".repeat(500), b"y");
        assert_eq!(service_bytes(&longest), Some(b"y".as_slice()));
        for bad in [
            &b""[..],
            &[1],
            &[1, 0],
            &[2, 0, 7],
            &[1, 3, b'a', b'b', b'c'],
            &[1, 200, b'a'],
            &[1, 1, 0x1b, b'x'],
            &[1, 1, 0xff, b'x'],
            &[1, 0].iter().chain(&[7; 1025]).copied().collect::<Vec<_>>(),
            &[1, 97]
                .iter()
                .chain(&[b'a'; 99])
                .copied()
                .collect::<Vec<_>>(),
        ] {
            assert_eq!(service_bytes(bad), None, "{bad:?}");
        }
    }
}
