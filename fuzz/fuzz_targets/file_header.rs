//! See `hushdb_storage::decoders::file_header`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| hushdb_storage::decoders::file_header(bytes));
