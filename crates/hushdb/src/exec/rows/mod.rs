//! Rows: written, changed, deleted, locked and found by their key; what VALUES spells out and RETURNING gives.

pub(super) mod append;
pub(super) mod beside;
pub(super) mod computed;
pub(super) mod conditions;
mod declared;
pub(super) mod dml;
pub(super) mod for_update;
pub(super) mod literal;
pub(super) mod literal_rows;
pub(super) mod load;
pub(super) mod lock_table;
pub(super) mod locked_queries;
pub(super) mod merge;
pub(super) mod point;
pub(super) mod returning;
pub(super) mod row_ids;
pub(super) mod tpch_load;
pub(super) mod upsert;
pub(super) mod with_changes;
