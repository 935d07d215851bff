//! See `hushdb_storage::decoders::row_group_extras`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| hushdb_storage::decoders::row_group_extras(bytes));
