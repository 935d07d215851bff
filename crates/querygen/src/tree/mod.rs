//! Queries as trees. Expressions hold queries, and queries expressions: one type in two files, which print as SQL.

mod expression;
mod query;

pub use expression::{Expression, SortKey};
pub use query::{Body, Group, Item, Naming, Query, Select, Source, Star};
