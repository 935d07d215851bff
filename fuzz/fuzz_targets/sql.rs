//! See `hushdb::decoders::sql`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| hushdb::decoders::sql(bytes));
