//! A bound of the values in a segment.
//!
//! What must hold: bounds of text are UTF-8; a cut lower bound is not above, a cut upper bound not below, any value.

use hushdb_encoding::wire::{Reader, WireError, Writer};

/// Bounds of text and bytes are cut to this many bytes.
pub(crate) const MAX_BOUND_BYTES: usize = 64;

/// Smallest or largest value of a segment.
#[derive(Clone, Debug, PartialEq)]
pub enum StatValue {
    /// BOOLEAN.
    Bool(bool),
    /// Signed integers, DATE (days), TIME (microseconds), TIMESTAMP (ticks), decimals of up to 18 digits (unscaled).
    Int(i64),
    /// Unsigned integers.
    UInt(u64),
    /// FLOAT and DOUBLE, ordered by IEEE 754 totalOrder; never NaN.
    Float(f64),
    /// Decimals of more than 18 digits (unscaled).
    Int128(i128),
    /// VARCHAR (UTF-8), BLOB, UUID (16 bytes, as in Arrow).
    Bytes(Vec<u8>),
}

impl StatValue {
    /// Tag 0 stands for "none".
    pub(crate) fn write(value: Option<&Self>, out: &mut Writer) {
        match value {
            None => out.u8(0),
            Some(Self::Bool(value)) => {
                out.u8(1);
                out.u8(u8::from(*value));
            }
            Some(Self::Int(value)) => {
                out.u8(2);
                out.raw(&value.to_le_bytes());
            }
            Some(Self::UInt(value)) => {
                out.u8(3);
                out.u64(*value);
            }
            Some(Self::Float(value)) => {
                out.u8(4);
                out.u64(value.to_bits());
            }
            Some(Self::Int128(value)) => {
                out.u8(5);
                out.raw(&value.to_le_bytes());
            }
            Some(Self::Bytes(value)) => {
                out.u8(6);
                out.bytes(value);
            }
        }
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Option<Self>, WireError> {
        Ok(Some(match reader.u8()? {
            0 => return Ok(None),
            1 => Self::Bool(reader.flag()?),
            2 => Self::Int(i64::from_le_bytes(reader.array()?)),
            3 => Self::UInt(reader.u64()?),
            4 => Self::Float(f64::from_bits(reader.u64()?)),
            5 => Self::Int128(i128::from_le_bytes(reader.array()?)),
            6 => {
                let bytes = reader.bytes()?;
                if bytes.len() > MAX_BOUND_BYTES {
                    return Err(WireError);
                }
                Self::Bytes(bytes.to_vec())
            }
            _ => return Err(WireError),
        }))
    }

    /// A lower bound of at most [`MAX_BOUND_BYTES`] for `value`, and whether it is `value` itself.
    pub(crate) fn lower_bound(value: &[u8], text: bool) -> (Self, bool) {
        let cut = cut_length(value, text);
        let bytes = value.get(..cut).unwrap_or_default().to_vec();
        (Self::Bytes(bytes), cut == value.len())
    }

    /// An upper bound of at most [`MAX_BOUND_BYTES`] for `value`, and whether it is `value` itself. None if every
    /// short enough text or byte string is below `value`.
    pub(crate) fn upper_bound(value: &[u8], text: bool) -> (Option<Self>, bool) {
        let cut = cut_length(value, text);
        let head = value.get(..cut).unwrap_or_default();
        if cut == value.len() {
            return (Some(Self::Bytes(head.to_vec())), true);
        }
        let above = if text {
            next_text(head)
        } else {
            next_bytes(head)
        };
        (above.map(Self::Bytes), false)
    }
}

/// Where to cut `value`: at a character boundary if it is text.
fn cut_length(value: &[u8], text: bool) -> usize {
    if value.len() <= MAX_BOUND_BYTES {
        return value.len();
    }
    let continues = |at: usize| value.get(at).is_some_and(|byte| byte & 0xC0 == 0x80);
    let mut cut = MAX_BOUND_BYTES;
    while text && cut > 0 && continues(cut) {
        cut -= 1;
    }
    cut
}

/// The shortest byte string that is above everything that begins with `head`.
fn next_bytes(head: &[u8]) -> Option<Vec<u8>> {
    let keep = head.iter().rposition(|byte| *byte != u8::MAX)?;
    let mut next = head.get(..=keep)?.to_vec();
    let last = next.last_mut()?;
    *last = last.checked_add(1)?;
    Some(next)
}

/// As [`next_bytes`], but UTF-8: the last character that has a successor is replaced by it. Characters are ordered as
/// their UTF-8 bytes are. The successor may be a byte longer than the character; the head is shortened to make room.
fn next_text(head: &[u8]) -> Option<Vec<u8>> {
    let mut chars: Vec<char> = std::str::from_utf8(head).ok()?.chars().collect();
    while let Some(last) = chars.pop() {
        let next = match u32::from(last) {
            0xD7FF => Some('\u{E000}'),
            code => char::from_u32(code + 1),
        };
        if let Some(next) = next {
            chars.push(next);
            let text: String = chars.iter().collect();
            if text.len() <= MAX_BOUND_BYTES {
                return Some(text.into_bytes());
            }
            chars.pop();
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn bytes(value: StatValue) -> Vec<u8> {
        match value {
            StatValue::Bytes(bytes) => bytes,
            other => panic!("{other:?}"),
        }
    }

    proptest! {
        #[test]
        fn cut_bounds_of_text_enclose_it(value in "\\PC{0,100}") {
            let (low, _) = StatValue::lower_bound(value.as_bytes(), true);
            let low = String::from_utf8(bytes(low)).unwrap();
            prop_assert!(low.len() <= MAX_BOUND_BYTES && *low <= *value);
            if let (Some(high), exact) = StatValue::upper_bound(value.as_bytes(), true) {
                let high = String::from_utf8(bytes(high)).unwrap();
                prop_assert!(high.len() <= MAX_BOUND_BYTES && *high >= *value);
                prop_assert_eq!(exact, high == value);
            }
        }

        #[test]
        fn cut_bounds_of_bytes_enclose_them(value in prop::collection::vec(200u8.., 0..100)) {
            let (low, _) = StatValue::lower_bound(&value, false);
            prop_assert!(bytes(low) <= value);
            if let (Some(high), _) = StatValue::upper_bound(&value, false) {
                prop_assert!(bytes(high) >= value);
            }
        }
    }

    #[test]
    fn there_is_no_bound_above_the_largest_strings() {
        assert_eq!(StatValue::upper_bound(&[0xff; 65], false), (None, false));
        let text = "\u{10FFFF}".repeat(17);
        assert_eq!(StatValue::upper_bound(text.as_bytes(), true), (None, false));
        assert!(StatValue::upper_bound(&[0xff; 64], false).1);
    }

    #[test]
    fn the_successor_of_text_skips_surrogates_and_may_be_shorter() {
        let text = format!("a{}x", "\u{D7FF}".repeat(21));
        let (bound, exact) = StatValue::upper_bound(text.as_bytes(), true);
        let expected = format!("a{}\u{E000}", "\u{D7FF}".repeat(20));
        assert_eq!(
            (bytes(bound.unwrap()), exact),
            (expected.into_bytes(), false)
        );
        // The successor of DEL takes two bytes, which do not fit behind 63 others.
        let text = format!("b{}{}", "\u{7F}".repeat(63), "x");
        let bound = bytes(StatValue::upper_bound(text.as_bytes(), true).0.unwrap());
        assert_eq!(
            bound,
            format!("b{}\u{80}", "\u{7F}".repeat(61)).into_bytes()
        );
    }
}
