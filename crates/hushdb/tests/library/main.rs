//! What a program sees of the library: one suite, as each is linked with the whole engine.

mod commands;
mod describe;
mod file_sources;
mod key_services;
mod maintenance;
mod many_files;
mod names;
mod prepared;
mod refusals;
mod runtimes;
mod sqlstates;
mod tpch;
mod transactions;
mod values_beyond_types;
