//! See `hushdb_storage::decoders::key_ring`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| hushdb_storage::decoders::key_ring(bytes));
