//! See `hushdb_storage::decoders::index_node`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| hushdb_storage::decoders::index_node(bytes));
