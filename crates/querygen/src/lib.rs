//! Random schemas, rows, queries and statements that change rows from a seed: trees that print as SQL, and that shrink.
//!
//! What must hold: the same seed gives the same statements on every machine; what is made has one answer whatever the
//! order of evaluation, as a multiset of rows, or in order where the whole row is sorted by. Nothing here knows an engine.
//!
//! Begin with `world.rs`, the tables that queries are about, then `tree/`, what a query is, and `generate/`, which makes one.

mod answer;
mod column_type;
#[path = "../../sim/src/dice.rs"]
pub mod dice;
mod edit;
mod generate;
mod literals;
mod shrink;
mod shrink_changes;
mod tree;
mod world;

pub use answer::Answer;
pub use column_type::ColumnType;
pub use dice::Dice;
pub use edit::{Node, edit};
pub use generate::{Generator, ruled_world, world};
pub use literals::{Domain, Value};
pub use shrink::{Case, Tree, shrink};
pub use tree::{
    Action, Assignment, Body, Change, Clause, ClauseAction, Conflict, Expression, Group, Insert,
    Item, Naming, Partner, Query, Rows, Script, Select, SortKey, Source, Star, Statement,
};
pub use world::{Column, Rule, Table, View, World};
