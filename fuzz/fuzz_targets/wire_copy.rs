//! See `hushdb_server::decoders::copy`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| hushdb_server::decoders::copy(bytes));
