//! A whole database from one place to another: COPY FROM DATABASE, EXPORT and IMPORT.

pub(super) mod copy_database;
pub(super) mod export;
pub(super) mod import;
