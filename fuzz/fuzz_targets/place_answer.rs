//! See `hushdb_kms::decoders::place_answer`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| hushdb_kms::decoders::place_answer(bytes));
