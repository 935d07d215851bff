//! The log from outside: what is replayed, what ends it quietly, and what is refused, one named test for each case.

mod harm;
mod image;
mod refusals;
mod writing;
