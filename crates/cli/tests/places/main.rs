//! The built program with its keys at real services, while these are slow, go away, and take keys back. Servers that are not installed are told, and skipped.

mod between;
#[path = "../../../../tests/database_keys.rs"]
mod database_keys;
#[path = "../../../kms/tests/key_servers/mod.rs"]
mod key_servers;
mod memory;
#[path = "../../../../tests/memory_scan.rs"]
mod memory_scan;
#[path = "../cli/place.rs"]
#[allow(dead_code, reason = "another suite has more to do there")]
mod place;
mod running;
mod shell;
#[path = "../../../kms/tests/vault_stub/mod.rs"]
mod vault_stub;
