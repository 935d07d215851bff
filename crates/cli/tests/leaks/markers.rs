//! What must be nowhere: 64-byte markers, numbers, keys and passphrases, in every form in which they might lie in a file.

use std::collections::BTreeSet;

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;

/// Texts are sought in pieces of this many bytes: who finds a quarter of a value has found a leak.
const PIECE: usize = 16;

/// SplitMix64: numbers that follow from the seed.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// 64 lower-case letters and digits, a letter first: a value, and a name that needs no quotes.
    pub(crate) fn text(&mut self) -> String {
        let alphabet = b"abcdefghijklmnopqrstuvwxyz0123456789";
        let mut draw = |from: u64| char::from(alphabet[(self.next() % from) as usize]);
        let first = draw(26);
        std::iter::once(first)
            .chain((1..64).map(|_| draw(36)))
            .collect()
    }

    pub(crate) fn bytes<const N: usize>(&mut self) -> [u8; N] {
        std::array::from_fn(|_| self.next() as u8)
    }
}

/// Needles, and what each is a piece of.
#[derive(Default)]
pub(crate) struct Markers {
    needles: Vec<Vec<u8>>,
    what: Vec<String>,
}

impl Markers {
    /// A text: as UTF-8 and UTF-16, in hex and base64, backwards.
    pub(crate) fn text(&mut self, what: &str, text: &str) {
        self.bytes(what, text.as_bytes());
        for piece in text.as_bytes().chunks_exact(PIECE) {
            let wide = piece.iter().flat_map(|byte| [*byte, 0]).collect();
            self.add(what, "UTF-16", wide);
        }
    }

    /// Bytes: as they are, in hex and base64, backwards.
    pub(crate) fn bytes(&mut self, what: &str, bytes: &[u8]) {
        for piece in bytes.chunks_exact(PIECE) {
            self.add(what, "as it is", piece.to_vec());
            self.add(what, "backwards", piece.iter().rev().copied().collect());
            self.add(what, "hex", hex::encode(piece).into_bytes());
            self.add(what, "upper hex", hex::encode_upper(piece).into_bytes());
        }
        // Base64 depends on where among three bytes it begins.
        for shift in 0..3 {
            let text = STANDARD_NO_PAD.encode(&bytes[shift..]);
            for piece in text.as_bytes().chunks_exact(PIECE) {
                self.add(what, "base64", piece.to_vec());
            }
        }
    }

    /// A number of 64 bits: in either order, as keys of an index have it, in decimal.
    pub(crate) fn number(&mut self, what: &str, number: i64) {
        self.add(what, "little endian", number.to_le_bytes().to_vec());
        self.add(what, "big endian", number.to_be_bytes().to_vec());
        let key = (number ^ i64::MIN).to_be_bytes();
        self.add(what, "as a key", key.to_vec());
        self.add(what, "decimal", number.to_string().into_bytes());
    }

    fn add(&mut self, what: &str, form: &str, needle: Vec<u8>) {
        self.needles.push(needle);
        self.what.push(format!("{what}, {form}"));
    }

    pub(crate) fn needles(&self) -> impl Iterator<Item = (&str, &[u8])> {
        let what = self.what.iter().map(String::as_str);
        what.zip(self.needles.iter().map(Vec::as_slice))
    }

    pub(crate) fn search(self) -> Search {
        Search {
            // A step for each byte, whatever it is: files of many megabytes are searched.
            automaton: AhoCorasick::builder()
                .kind(Some(AhoCorasickKind::DFA))
                .build(&self.needles)
                .expect("an automaton"),
            longest: self.needles.iter().map(Vec::len).max().unwrap_or(0),
            what: self.what,
        }
    }
}

/// Finds markers.
pub(crate) struct Search {
    automaton: AhoCorasick,
    what: Vec<String>,
    /// Bytes of the longest needle.
    pub(crate) longest: usize,
}

impl Search {
    /// What is there of the markers.
    pub(crate) fn find(&self, bytes: &[u8]) -> BTreeSet<&str> {
        let found = self.automaton.find_overlapping_iter(bytes);
        found
            .map(|found| self.what[found.pattern().as_usize()].as_str())
            .collect()
    }
}
