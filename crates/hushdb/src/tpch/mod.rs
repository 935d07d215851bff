//! The TPC-H benchmark's queries and official answers; `CALL dbgen(sf = 1)` makes its data.

mod answers;
mod queries;

pub use answers::{Mismatch, answer, check_answer};

/// How many queries there are.
pub const QUERIES: u32 = 22;

/// The text of query `number`, from 1 to 22.
pub fn query(number: u32) -> Option<&'static str> {
    let index = usize::try_from(number).ok()?.checked_sub(1)?;
    queries::QUERIES.get(index).copied()
}
