//! See `hushdb_storage::decoders::table_record`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| hushdb_storage::decoders::table_record(bytes));
