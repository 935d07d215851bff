//! JSON in texts: what is in a value (`read.rs`, and as rows `rows.rs`), values made of others (`make.rs`), values of types made
//! of JSON (`transform.rs`), and JSON with values that are texts (`texts.rs`).
//!
//! What must hold: a text that is JSON is known by its field's metadata, so that it is put into other JSON as it is, and shown as
//! JSON by `typeof`. What a column stores is a text.

mod contains;
mod edit;
mod jsonb;
mod jsonb_text;
mod make;
mod path;
mod read;
mod rows;
mod texts;
mod transform;
mod value;

pub use self::jsonb::{JSONB_CONCAT, JSONB_CONTAINS, JSONB_DELETE, jsonb_texts};
pub(super) use self::make::as_json;
pub use self::texts::{JsonPlaces, Kept, MomentPlaces, Places, with_json_texts};
pub(super) use self::transform::{json_as, json_texts};
pub use self::transform::{json_cast, json_records};
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::logical_expr::ScalarUDF;
use std::sync::Arc;

/// Functions whose texts are JSON.
const GIVE_JSON: [&str; 12] = [
    "to_json_as_postgres",
    "json_object_as_postgres",
    "json_array_as_postgres",
    "json_extract",
    "json",
    "to_json",
    "json_object",
    "json_array",
    "json_merge_patch",
    "json_structure",
    hushdb_sql::AS_JSON,
    hushdb_sql::TRY_AS_JSON,
];

/// Whether the texts of a function are JSON.
pub(super) fn gives_json(function: &str) -> bool {
    GIVE_JSON.contains(&function) || jsonb::GIVE_JSON.contains(&function)
}

pub(super) fn all(memory: &Arc<dyn MemoryPool>) -> Vec<Arc<ScalarUDF>> {
    let mut functions = read::all(memory);
    functions.extend(make::all(memory));
    functions.extend(transform::all(memory));
    functions.extend(rows::all(memory));
    functions.extend(jsonb::all(memory));
    functions
}
