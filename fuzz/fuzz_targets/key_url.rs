//! See `hushdb_kms::decoders::key_url`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| hushdb_kms::decoders::key_url(bytes));
