//! Queries over a snapshot: names to plans, plans to rows, within one memory limit.
//!
//! What must hold: what a query gives does not depend on the number of threads, on indexes, or on what was spilled; operators hold
//! what they count, and count what they hold; a statement that is cancelled ends between any two steps.
//!
//! Begin with [`plan::Planner`], which makes plans, and [`engine::Engine`], which has the threads that run them.
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod common_types;
pub mod engine;
pub mod functions;
pub mod heed;
mod keyed_recursion;
pub mod memory;
pub mod plan;
mod plan_node;
pub mod scan;
