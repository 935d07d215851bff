//! The workload: SQL in which words in `@` stand for markers.

use std::collections::BTreeMap;
use std::path::Path;

use crate::markers::{Dice, Markers};

const SQL: &str = include_str!("workload.sql");

/// SQL with its markers in it.
pub(crate) struct Workload {
    pub(crate) sql: String,
    /// What stands where a word was, by the word.
    words: BTreeMap<String, String>,
    pub(crate) markers: Markers,
}

impl Workload {
    /// Draws the markers. `place` is the directory of the databases, in which `input` is not searched.
    pub(crate) fn new(seed: u64, place: &Path) -> Self {
        let mut workload = Self {
            sql: String::new(),
            words: BTreeMap::new(),
            markers: Markers::default(),
        };
        let input = place.join("input").display().to_string();
        workload.words.insert("input".into(), input);
        let directory = format!("{}/", place.display());
        workload.words.insert("path".into(), directory);
        workload.sql = workload.filled(SQL, &mut Dice(seed));
        workload
    }

    /// A text with markers where its words were: the same word, the same marker.
    pub(crate) fn filled(&mut self, text: &str, dice: &mut Dice) -> String {
        let mut filled = String::new();
        for (at, part) in text.split('@').enumerate() {
            match at % 2 {
                0 => filled.push_str(part),
                _ => filled.push_str(&self.word(part, dice)),
            }
        }
        filled
    }

    fn word(&mut self, word: &str, dice: &mut Dice) -> String {
        if let Some(there) = self.words.get(word) {
            return there.clone();
        }
        let (kind, _) = word.split_once(' ').expect("a kind and what it is");
        let drawn = match kind {
            "name" | "text" => {
                let text = dice.text();
                self.markers.text(word, &text);
                text
            }
            "int" => {
                let number = (dice.next() >> 1 | 1 << 60) as i64;
                self.markers.number(word, number);
                number.to_string()
            }
            "double" => {
                let number = (dice.next() >> 12) as f64 * 1.000_000_1e-3;
                self.markers.number(word, number.to_bits() as i64);
                format!("{number}::DOUBLE")
            }
            "uuid" => {
                let bytes = dice.bytes::<16>();
                self.markers.bytes(word, &bytes);
                let hex = hex::encode(bytes);
                let parts = [
                    &hex[..8],
                    &hex[8..12],
                    &hex[12..16],
                    &hex[16..20],
                    &hex[20..],
                ];
                let text = parts.join("-");
                self.markers.text(word, &text);
                text
            }
            "blob" => {
                let bytes = dice.bytes::<64>();
                self.markers.bytes(word, &bytes);
                hex::encode(bytes)
            }
            _ => panic!("no such kind of marker: {kind}"),
        };
        self.words.insert(word.to_owned(), drawn.clone());
        drawn
    }

    /// The names that it gives to things.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        let names = self
            .words
            .iter()
            .filter(|(word, _)| word.starts_with("name "));
        names.map(|(word, _)| word.as_str())
    }
}
