//! `BitString`: one bit or more, in bytes that are in the order of the values.
//!
//! What must hold: bytes compare as DuckDB compares. The first byte says how many of the highest bits of the second, 0 to 7, are filled up with
//! ones; behind these stand the bits, the first one the highest.
//! Refuses: bytes without a bit, and such that are filled up otherwise.

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_schema::DataType;

/// What BIT is to Arrow, which has none: bytes of any number, by offsets of a width that nothing else has here.
pub const BIT: DataType = DataType::LargeBinary;

const BITS: usize = 8;

/// A value of BIT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BitString<'a> {
    filled: u8,
    bytes: &'a [u8],
}

impl<'a> BitString<'a> {
    /// The value that bytes stand for.
    pub fn of_bytes(bytes: &'a [u8]) -> Option<Self> {
        let (filled, bytes) = bytes.split_first()?;
        let filling = filling(*filled)?;
        (bytes.first()? & filling == filling).then_some(Self {
            filled: *filled,
            bytes,
        })
    }

    /// How many bits there are.
    pub fn count(self) -> usize {
        self.bytes.len() * BITS - usize::from(self.filled)
    }

    /// Whether the bit at a place is set, from 0; none is behind the last.
    pub fn bit(self, place: usize) -> bool {
        let at = usize::from(self.filled) + place;
        let byte = self.bytes.get(at / BITS);
        byte.is_some_and(|byte| byte & mask(at) != 0)
    }

    /// The bits, in order.
    pub fn bits(self) -> impl Iterator<Item = bool> + 'a {
        (0..self.count()).map(move |place| self.bit(place))
    }

    /// The bits as bytes, with zeros before them.
    pub fn number(self) -> impl Iterator<Item = u8> + 'a {
        let filling = filling(self.filled).unwrap_or_default();
        let first = self.bytes.first().map(|first| first & !filling);
        first
            .into_iter()
            .chain(self.bytes.get(1..).unwrap_or_default().iter().copied())
    }

    /// How many bytes these are.
    pub fn width(self) -> usize {
        self.bytes.len()
    }
}

/// The bytes of a value of so many bits; `None` of none.
pub fn bit_string(count: usize, bits: impl IntoIterator<Item = bool>) -> Option<Vec<u8>> {
    let width = count.div_ceil(BITS);
    let filled = width * BITS - count;
    let mut bytes = vec![0; width + 1];
    let (first, rest) = bytes.split_first_mut()?;
    *first = u8::try_from(filled).ok()?;
    *rest.first_mut()? = filling(*first)?;
    for (at, is_set) in (filled..width * BITS).zip(bits) {
        if is_set && let Some(byte) = rest.get_mut(at / BITS) {
            *byte |= mask(at);
        }
    }
    Some(bytes)
}

/// Whether all values of an array of BIT stand for one, as those that a program made may not.
pub(crate) fn are_bits(array: &dyn Array) -> bool {
    let mut values = array.as_binary::<i64>().iter().flatten();
    values.all(|bytes| BitString::of_bytes(bytes).is_some())
}

/// The bit at a place, in its byte.
fn mask(at: usize) -> u8 {
    0x80 >> (at % BITS)
}

/// The bits of the first byte that are filled up.
fn filling(filled: u8) -> Option<u8> {
    (filled < 8).then(|| !(0xff >> filled))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(text: &str) -> Vec<u8> {
        bit_string(text.len(), text.chars().map(|bit| bit == '1')).unwrap()
    }

    #[test]
    fn bits_come_back() {
        for text in ["0", "1", "101", "11111111", "000000001", "0101010101010101"] {
            let bytes = made(text);
            let value = BitString::of_bytes(&bytes).unwrap();
            let bits: String = value
                .bits()
                .map(|bit| if bit { '1' } else { '0' })
                .collect();
            assert_eq!((bits.as_str(), value.count()), (text, text.len()));
        }
        assert_eq!(bit_string(0, []), None);
    }

    #[test]
    fn bytes_are_those_of_duckdb() {
        assert_eq!(made("101"), [5, 0xfd]);
        assert_eq!(made("00000001"), [0, 1]);
        assert_eq!(made("100000001"), [7, 0xff, 1]);
        let bytes = made("100000001");
        let value = BitString::of_bytes(&bytes).unwrap();
        assert_eq!(value.number().collect::<Vec<_>>(), [1, 1]);
        assert_eq!(value.width(), 2);
    }

    #[test]
    fn what_is_no_value_is_refused() {
        let wrong: [&[u8]; 6] = [&[], &[0], &[8, 0xff], &[5, 0x05], &[1, 0x7f, 0xff], &[7]];
        for bytes in wrong {
            assert_eq!(BitString::of_bytes(bytes), None);
        }
    }
}
