//! Queries and changes as trees. Expressions hold queries, and queries expressions: types in three files, which print as SQL.

mod change;
mod expression;
mod query;

pub use change::{
    Action, Assignment, Change, Clause, ClauseAction, Conflict, Insert, Partner, Rows, Script,
    Statement,
};
pub use expression::{Expression, SortKey};
pub use query::{Body, Group, Item, Naming, Query, Select, Source, Star};
