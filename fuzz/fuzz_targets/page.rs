//! See `hushdb_storage::decoders::page`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| hushdb_storage::decoders::page(bytes));
