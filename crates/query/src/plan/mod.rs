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

pub(crate) use estimate::share_of_rows;
pub(crate) use given_files::reading;
pub(crate) use in_order::InOrderExec;
pub(crate) use nested_types::common as common_type;
pub(crate) use order::{NullOrder, OrderDefaults};
pub(crate) use planner::{DML_EXCLUDED, DML_TARGET, DmlTarget, Planner};
pub(crate) use session::session_state;
pub(crate) use snapshot::{DatabaseSnapshot, Relation, Snapshot, TableName};
pub(crate) use surroundings::Surroundings;
pub(crate) use watched::watched;
