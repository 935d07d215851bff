//! From parsed SQL to a DataFusion plan: name resolution, DuckDB's operator semantics, and the session they live in.

mod casts;
mod comparison_keys;
mod estimate;
mod flat_plans;
mod flat_unions;
mod given_files;
mod growth;
mod in_order;
mod join_order;
mod lateral_unnest;
mod nested_types;
mod numbers;
mod operators;
mod order;
mod planner;
mod rewrite_expressions;
mod session;
mod set_operations;
mod snapshot;
mod subquery_values;
mod surroundings;
mod temporal;
mod type_names;
mod using_joins;
mod values;
mod watched;

pub use estimate::share_of_rows;
pub use given_files::reading;
pub use in_order::InOrderExec;
pub use nested_types::common as common_type;
pub use order::{NullOrder, OrderDefaults};
pub use planner::{DML_EXCLUDED, DML_TARGET, DmlTarget, Planner};
pub use session::session_state;
pub use snapshot::{DatabaseSnapshot, Relation, Snapshot, TableName};
pub use surroundings::Surroundings;
pub use watched::watched;
