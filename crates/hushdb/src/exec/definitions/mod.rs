//! Definitions: tables, columns, views, schemas, indexes, keys, sequences, macros and types, made, changed, dropped and written as SQL.

pub(super) mod alter;
pub(super) mod as_sql;
pub(super) mod change_type;
pub(super) mod comments;
pub(super) mod ddl;
pub(super) mod defaults;
pub(super) mod entries;
pub(super) mod foreign_keys;
pub(super) mod indexes;
pub(super) mod sequences;
mod struct_fields;
pub(super) mod user_macros;
pub(super) mod user_types;
