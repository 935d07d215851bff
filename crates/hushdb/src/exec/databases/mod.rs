//! Databases as a whole: attached and detached, their key slots and data keys, and VACUUM.

pub(super) mod attach;
pub(super) mod data_key_age;
pub(super) mod rekey;
pub(super) mod slot_options;
pub(super) mod slots;
pub(super) mod stands_alone;
pub(super) mod vacuum;
