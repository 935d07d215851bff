//! The corpus of the fuzz target for SQL (`fuzz/corpus/sql`), run through the front that the target calls: as it is, cut, and with
//! bytes changed.

use std::fs;
use std::path::Path;

use hushdb_sql::decoders;

/// Bytes that mean something to who splits and parses.
const TELLING: &[u8] = b"('\"$;-/*\0\xff,.)[{:";
/// Edits of each seed.
const EDITS: usize = 100;

#[test]
fn no_seed_makes_the_sql_front_panic() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/sql");
    let mut count = 0;
    for seed in fs::read_dir(corpus).expect("there is a corpus") {
        let path = seed.expect("the corpus is readable").path();
        let bytes = fs::read(&path).expect("the corpus is readable");
        decoders::sql(&bytes);
        for part in 1..16 {
            decoders::sql(&bytes[..bytes.len() * part / 16]);
        }
        // The long ones nest deeply, and are all alike.
        for edit in 0..EDITS.min(bytes.len()).min(100_000 / bytes.len().max(1)) {
            let mut edited = bytes.clone();
            let at = edit * bytes.len() / EDITS;
            edited[at] = TELLING[edit % TELLING.len()];
            decoders::sql(&edited);
        }
        count += 1;
    }
    assert!(count > 2, "{count} seeds");
}
