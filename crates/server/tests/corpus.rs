//! The corpora of the fuzz targets for the server (`fuzz/corpus/wire_*`), run through what the targets call: as they are, cut, and with
//! bytes changed. None may panic.

use hushdb_server::decoders;
use std::fs;
use std::path::Path;

type Decoder = fn(&[u8]);

const ALL: [(&str, Decoder); 4] = [
    ("wire_frames", decoders::frames),
    ("wire_copy", decoders::copy),
    ("wire_values", decoders::values),
    ("wire_scram", decoders::scram),
];
/// Bytes that mean something to who reads a length, a line or a value.
const TELLING: &[u8] = b"\0\x01\x7f\x80\xff\n\\\"{},=-";

#[test]
fn no_seed_makes_the_server_panic() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    for (target, decoder) in ALL {
        let seeds = fs::read_dir(corpus.join(target)).expect("there is a corpus");
        let mut count = 0;
        for seed in seeds {
            let path = seed.expect("the corpus is readable").path();
            let bytes = fs::read(path).expect("the corpus is readable");
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
