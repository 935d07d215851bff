//! The corpora of the fuzz targets (`fuzz/corpus`), run through the decoders that the targets call: as they are, cut, and
//! with bytes changed. None may panic; what fuzzing found once stays found.

use std::fs;
use std::path::Path;

use hushdb_storage::decoders;

/// Edits of each seed, beside it and its beginnings.
const EDITS: u64 = 60;

#[test]
fn no_seed_makes_a_decoder_panic() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    for (target, decoder) in decoders::ALL {
        let folder = corpus.join(target);
        let seeds = fs::read_dir(&folder).unwrap_or_else(|_| panic!("{target} has a corpus"));
        let mut count = 0;
        for seed in seeds {
            let path = seed.expect("the corpus is readable").path();
            let bytes = fs::read(&path).expect("the corpus is readable");
            decoder(&bytes);
            for part in 1..8 {
                decoder(&bytes[..bytes.len() * part / 8]);
            }
            for edit in 0..EDITS.min(bytes.len() as u64 * 8) {
                decoder(&edited(&bytes, edit));
            }
            count += 1;
        }
        assert!(count > 2, "{target} has {count} seeds");
    }
}

/// One to four bytes changed; the same each time.
fn edited(bytes: &[u8], edit: u64) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let mut state = edit.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ bytes.len() as u64;
    for _ in 0..=edit % 4 {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let at = (state >> 33) as usize % bytes.len();
        bytes[at] = match edit % 3 {
            0 => 0xff,
            1 => bytes[at] ^ (1 << (state >> 60 & 7)),
            _ => (state >> 24) as u8,
        };
    }
    bytes
}
