//! Harnesses around the database that nothing depends on.
//!
//! The house rules (`tests/house_rules.rs`) live here: a crate of its own, so that they judge the others from outside.
