//! See `hushdb_storage::decoders::catalog_root`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| hushdb_storage::decoders::catalog_root(bytes));
