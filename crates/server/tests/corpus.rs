//! The corpora of the fuzz targets for the server (`fuzz/corpus/wire_*`), run through what the targets call: as they are, cut, with
//! bytes changed, and changed at random for as many seconds as HUSHDB_FUZZ_SECONDS says. None may panic.

use hushdb_server::decoders;
use hushdb_sim::Dice;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

type Decoder = fn(&[u8]);

const ALL: [(&str, Decoder); 4] = [
    ("wire_frames", decoders::frames),
    ("wire_copy", decoders::copy),
    ("wire_values", decoders::values),
    ("wire_scram", decoders::scram),
];
/// Bytes that mean something to who reads a length, a line or a value.
const TELLING: &[u8] = b"\0\x01\x7f\x80\xff\n\\\"{},=-";

/// Lengths and counts that readers of them may stumble over.
const NUMBERS: [u32; 8] = [
    0,
    1,
    4,
    0x7fff,
    0xffff,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
];
/// The longest that a seed grows.
const MOST_BYTES: usize = 4096;

fn seeds(target: &str) -> Vec<Vec<u8>> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    let mut paths: Vec<_> = fs::read_dir(corpus.join(target))
        .expect("there is a corpus")
        .map(|seed| seed.expect("the corpus is readable").path())
        .collect();
    paths.sort();
    let bytes = |path| fs::read(path).expect("the corpus is readable");
    paths.iter().map(bytes).collect()
}

/// Changes bytes at random, in one way.
fn change(bytes: &mut Vec<u8>, others: &[Vec<u8>], dice: &mut Dice) {
    let at = dice.index(bytes.len().max(1)).min(bytes.len());
    let end = (at + dice.index(16) + 1).min(bytes.len());
    match dice.below(7) {
        0 => bytes.truncate(at),
        1 => drop(bytes.drain(at..end)),
        2 => bytes.insert(at, *dice.pick(TELLING)),
        3 => bytes.insert(at, dice.throw() as u8),
        4 => {
            let copied = bytes[at..end].to_vec();
            bytes.splice(at..at, copied);
        }
        5 => {
            let number = dice.pick(&NUMBERS).to_be_bytes();
            bytes.splice(at..(at + 4).min(bytes.len()), number);
        }
        _ => {
            let other = &others[dice.index(others.len())];
            let from = dice.index(other.len().max(1)).min(other.len());
            bytes.splice(at.., other[from..].iter().copied());
        }
    }
    bytes.truncate(MOST_BYTES);
}

/// Says which throw it was that made a decoder panic.
struct Throw(&'static str, u64);

impl Drop for Throw {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let _ = writeln!(std::io::stderr(), "{} panicked at throw {}", self.0, self.1);
        }
    }
}

#[test]
fn no_seed_that_is_changed_at_random_makes_the_server_panic() {
    let seconds = std::env::var("HUSHDB_FUZZ_SECONDS").ok();
    let seconds = seconds.and_then(|text| text.parse().ok()).unwrap_or(1);
    for (target, decoder) in ALL {
        let (seeds, began) = (seeds(target), Instant::now());
        let mut throw = Throw(target, 0);
        while began.elapsed() < Duration::from_secs(seconds) {
            throw.1 += 1;
            let mut dice = Dice::new(throw.1);
            let mut bytes = seeds[dice.index(seeds.len())].clone();
            for _ in 0..=dice.index(6) {
                change(&mut bytes, &seeds, &mut dice);
            }
            decoder(&bytes);
        }
        let _ = writeln!(std::io::stderr(), "{target}: {} inputs", throw.1);
    }
}

#[test]
fn no_seed_makes_the_server_panic() {
    for (target, decoder) in ALL {
        let mut count = 0;
        for bytes in seeds(target) {
            for end in 0..=bytes.len() {
                decoder(&bytes[..end]);
            }
            for at in 0..bytes.len().min(64) {
                for byte in TELLING {
                    let mut edited = bytes.clone();
                    edited[at] = *byte;
                    decoder(&edited);
                }
            }
            count += 1;
        }
        assert!(count > 9, "{target} has {count} seeds");
    }
}
