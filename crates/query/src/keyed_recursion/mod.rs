//! `WITH RECURSIVE t ... USING KEY (a)`: of each key the last row that a turn gave.
//!
//! ```text
//! static part -> rows of the turn -> recursive part, which reads them as `t`, and the last rows of all keys as `recurring.t`
//!                      ^                     |
//!                      +---------------------+   until a turn has no rows
//! ```
//!
//! What must hold: the rows of all keys and of a turn are counted; while a turn runs, neither of them changes.

mod exec;
mod keyed_rows;
mod turns;

pub(crate) use exec::KeyedRecursions;
pub(crate) use turns::{TurnTable, recursion_name};
