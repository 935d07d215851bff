//! See `hushdb_storage::decoders::block_ref`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| hushdb_storage::decoders::block_ref(bytes));
