//! See `hushdb_storage::decoders::free_list`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| hushdb_storage::decoders::free_list(bytes));
