//! TTLV, the encoding of KMIP: tag, type, length, value. KMIP Specification 1.4, section 9.1.
//!
//! | bytes | field |
//! | --- | --- |
//! | 3 | tag |
//! | 1 | type: 1 structure, 2 integer, 3 long integer, 5 enumeration, 6 boolean, 7 text, 8 bytes, 9 date and time, 10 interval |
//! | 4 | length of the value, big-endian |
//! | n | the value, with zeros behind it to a multiple of 8 bytes |
//!
//! What must hold: reading bytes of anyone never panics, goes a few levels deep, and allocates no more than it was given. What was
//! read may be a key, and is wiped when it is dropped.

use zeroize::{Zeroize, Zeroizing};

/// Structures within structures.
const MAX_DEPTH: u8 = 16;

const STRUCTURE: u8 = 1;
const INTEGER: u8 = 2;
const ENUMERATION: u8 = 5;
const TEXT: u8 = 7;
const BYTES: u8 = 8;

/// One item, of the types that answers are looked at for; others are kept out.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Value {
    Structure(Vec<Item>),
    Integer(i32),
    Enumeration(u32),
    Text(String),
    Bytes(Vec<u8>),
    Other,
}

/// A value under its tag.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Item {
    tag: u32,
    value: Value,
}

impl Item {
    /// Reads one item with nothing behind it.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let mut rest = bytes;
        let item = Self::read(&mut rest, MAX_DEPTH)?;
        rest.is_empty().then_some(item)
    }

    fn read(rest: &mut &[u8], depth: u8) -> Option<Self> {
        let (head, behind) = rest.split_first_chunk::<8>()?;
        let [a, b, c, kind, len @ ..] = *head;
        let tag = u32::from_be_bytes([0, a, b, c]);
        let len = usize::try_from(u32::from_be_bytes(len)).ok()?;
        let padded = len.checked_next_multiple_of(8)?;
        let (value, behind) = behind.split_at_checked(padded)?;
        let (value, padding) = value.split_at_checked(len)?;
        if padding.iter().any(|byte| *byte != 0) {
            return None;
        }
        *rest = behind;
        let value = match kind {
            STRUCTURE => {
                let depth = depth.checked_sub(1)?;
                let (mut items, mut inner) = (Vec::new(), value);
                while !inner.is_empty() {
                    items.push(Self::read(&mut inner, depth)?);
                }
                Value::Structure(items)
            }
            INTEGER => Value::Integer(i32::from_be_bytes(value.try_into().ok()?)),
            ENUMERATION => Value::Enumeration(u32::from_be_bytes(value.try_into().ok()?)),
            TEXT => Value::Text(std::str::from_utf8(value).ok()?.to_owned()),
            BYTES => Value::Bytes(value.to_vec()),
            3 | 4 | 6 | 9 | 10 => Value::Other,
            _ => return None,
        };
        Some(Self { tag, value })
    }

    /// Whether it is a structure of this tag.
    pub(super) fn is(&self, tag: u32) -> bool {
        self.tag == tag && matches!(self.value, Value::Structure(_))
    }

    /// The items of a structure that have this tag.
    pub(super) fn all(&self, tag: u32) -> impl Iterator<Item = &Value> {
        let items = match &self.value {
            Value::Structure(items) => items.as_slice(),
            _ => &[],
        };
        items
            .iter()
            .filter(move |item| item.tag == tag)
            .map(|item| &item.value)
    }

    /// The item at the end of a path of tags, the first of each.
    pub(super) fn at(&self, path: &[u32]) -> Option<&Item> {
        let mut item = self;
        for tag in path {
            let Value::Structure(items) = &item.value else {
                return None;
            };
            item = items.iter().find(|item| item.tag == *tag)?;
        }
        Some(item)
    }

    /// The enumeration at the end of a path.
    pub(super) fn enumeration(&self, path: &[u32]) -> Option<u32> {
        match self.at(path)?.value {
            Value::Enumeration(number) => Some(number),
            _ => None,
        }
    }

    /// The bytes at the end of a path.
    pub(super) fn bytes(&self, path: &[u32]) -> Option<&[u8]> {
        match &self.at(path)?.value {
            Value::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// The text at the end of a path.
    pub(super) fn text(&self, path: &[u32]) -> Option<&str> {
        match &self.at(path)?.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }
}

impl Drop for Item {
    fn drop(&mut self) {
        match &mut self.value {
            Value::Text(text) => text.zeroize(),
            Value::Bytes(bytes) => bytes.zeroize(),
            _ => {}
        }
    }
}

/// What is being written: never moved, so that no part of a key stays behind.
pub(super) struct Writer(Zeroizing<Vec<u8>>);

impl Writer {
    /// Room for a request: they are short.
    pub(super) fn new() -> Self {
        Self(Zeroizing::new(Vec::with_capacity(16 << 10)))
    }

    /// A structure and what is in it.
    pub(super) fn structure(&mut self, tag: u32, inner: impl FnOnce(&mut Self)) -> &mut Self {
        self.head(tag, STRUCTURE, 0);
        let at = self.0.len();
        inner(self);
        let len = (self.0.len() - at) as u32;
        self.0[at - 4..at].copy_from_slice(&len.to_be_bytes());
        self
    }

    pub(super) fn integer(&mut self, tag: u32, number: i32) -> &mut Self {
        self.value(tag, INTEGER, &number.to_be_bytes())
    }

    pub(super) fn enumeration(&mut self, tag: u32, number: u32) -> &mut Self {
        self.value(tag, ENUMERATION, &number.to_be_bytes())
    }

    pub(super) fn text(&mut self, tag: u32, text: &str) -> &mut Self {
        self.value(tag, TEXT, text.as_bytes())
    }

    pub(super) fn bytes(&mut self, tag: u32, bytes: &[u8]) -> &mut Self {
        self.value(tag, BYTES, bytes)
    }

    /// What was written.
    pub(super) fn finish(self) -> Zeroizing<Vec<u8>> {
        self.0
    }

    fn head(&mut self, tag: u32, kind: u8, len: usize) {
        self.0.extend(&tag.to_be_bytes()[1..]);
        self.0.push(kind);
        self.0.extend((len as u32).to_be_bytes());
    }

    fn value(&mut self, tag: u32, kind: u8, value: &[u8]) -> &mut Self {
        self.head(tag, kind, value.len());
        self.0.extend(value);
        let padded = self.0.len().next_multiple_of(8);
        self.0.resize(padded, 0);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sample() -> Zeroizing<Vec<u8>> {
        let mut writer = Writer::new();
        writer.structure(0x42_0020, |inner| {
            inner.enumeration(0x42_0004, 254).integer(0x42_0005, 255);
        });
        writer.finish()
    }

    #[test]
    fn the_specifications_example_is_written_and_read() {
        // KMIP Specification 1.4, section 9.1.2: a structure with an enumeration and an integer.
        let expected =
            "42002001000000204200040500000004000000FE000000004200050200000004000000FF00000000";
        let bytes = sample();
        let shown: String = bytes.iter().map(|byte| format!("{byte:02X}")).collect();
        assert_eq!(shown, expected);
        let item = Item::parse(&bytes).unwrap();
        assert_eq!(item.enumeration(&[0x42_0004]), Some(254));
        assert_eq!(item.at(&[0x42_0005]).unwrap().value, Value::Integer(255));
        assert!(item.is(0x42_0020) && !item.is(0x42_0004));
    }

    #[test]
    fn hostile_lengths_depths_and_paddings_are_refused() {
        let long = |len: u32| {
            let mut bytes = b"\x42\x00\x20\x01".to_vec();
            bytes.extend(len.to_be_bytes());
            bytes.extend([0; 64]);
            bytes
        };
        for len in [1 << 31, u32::MAX, u32::MAX - 7, 65, 7] {
            assert_eq!(Item::parse(&long(len)), None, "{len}");
        }
        let mut deep = Vec::new();
        for level in (0..2000_u32).rev() {
            deep.extend(b"\x42\x00\x20\x01");
            deep.extend((level * 8).to_be_bytes());
        }
        assert_eq!(Item::parse(&deep), None);
        let mut padded = sample().to_vec();
        *padded.last_mut().unwrap() = 1;
        assert_eq!(Item::parse(&padded), None);
        assert_eq!(Item::parse(&sample()[..39]), None);
        assert_eq!(Item::parse(&[&sample()[..], &[0; 8]].concat()), None);
        assert_eq!(Item::parse(b"\x42\x00\x20\x0b\x00\x00\x00\x00"), None);
        assert_eq!(
            Item::parse(b"\x42\x00\x20\x02\x00\x00\x00\x08\x00\x00\x00\x00\x00\x00\x00\x00"),
            None
        );
    }

    proptest! {
        #[test]
        fn nothing_makes_it_panic(
            at in 0..40_usize,
            byte in any::<u8>(),
            noise in prop::collection::vec(any::<u8>(), 0..200),
        ) {
            let mut bytes = sample().to_vec();
            bytes[at] = byte;
            let _ = Item::parse(&bytes);
            let _ = Item::parse(&noise);
        }
    }
}
