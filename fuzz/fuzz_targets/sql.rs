//! See `hushdb_sql::decoders::sql`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| hushdb_sql::decoders::sql(bytes));
