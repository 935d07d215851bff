//! `Known`: a line of a table of functions.

use super::rows::Cell;
use super::world::World;
use hushdb_sql::Result;

/// What a function does with the arguments of one row.
pub(super) type Run = fn(&World, &[Cell]) -> Result<Cell>;

/// Name, the fewest and the most arguments, what it gives (`rows.rs`), whether it is asked where an argument is NULL, and what it does.
pub(super) struct Known(
    pub(super) &'static str,
    pub(super) usize,
    pub(super) usize,
    pub(super) &'static str,
    pub(super) bool,
    pub(super) Run,
);
