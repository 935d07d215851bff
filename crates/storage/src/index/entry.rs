//! `Entry`: the key and row id of one row in memory, as an index has it beside its tree.
//!
//! What must hold: entries compare as their bytes do. Most are short, and a state that differs from another in one entry copies those that stand
//! beside it: a copy of a short one is its bytes, without a word to anybody else who has it.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::sync::Arc;

/// So many bytes fit beside their number in the place of a pointer and a length.
const SHORT: usize = 22;

/// A key and a row id as bytes.
#[derive(Clone, Debug)]
pub(super) enum Entry {
    /// How many of the bytes count.
    Short(u8, [u8; SHORT]),
    Long(Arc<[u8]>),
}

impl Entry {
    /// Its bytes.
    pub(super) fn bytes(&self) -> &[u8] {
        match self {
            Self::Short(len, bytes) => bytes.get(..usize::from(*len)).unwrap_or_default(),
            Self::Long(bytes) => bytes,
        }
    }
}

impl From<&[u8]> for Entry {
    fn from(from: &[u8]) -> Self {
        let mut bytes = [0; SHORT];
        match (u8::try_from(from.len()), bytes.get_mut(..from.len())) {
            (Ok(len), Some(to)) => {
                to.copy_from_slice(from);
                Self::Short(len, bytes)
            }
            _ => Self::Long(from.into()),
        }
    }
}

impl Borrow<[u8]> for Entry {
    fn borrow(&self) -> &[u8] {
        self.bytes()
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.bytes() == other.bytes()
    }
}

impl Eq for Entry {}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> Ordering {
        self.bytes().cmp(other.bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_of_any_length_compare_as_their_bytes_do() {
        assert_eq!(size_of::<Entry>(), 24);
        let long = [7; 300];
        let mut all: Vec<&[u8]> = (0..=30)
            .chain([255, 256, 300])
            .map(|len| &long[..len])
            .collect();
        all.push(&[8]);
        all.push(&[0; 22]);
        let entries: Vec<Entry> = all.iter().map(|bytes| Entry::from(*bytes)).collect();
        for (a, of_a) in entries.iter().zip(&all) {
            assert_eq!(a.bytes(), *of_a);
            for (b, of_b) in entries.iter().zip(&all) {
                assert_eq!(a.cmp(b), of_a.cmp(of_b));
                assert_eq!(a == b, of_a == of_b);
            }
        }
    }
}
