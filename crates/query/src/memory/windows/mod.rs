//! Window functions within the memory limit.
//!
//! ```text
//! small partitions            input -> a few whole partitions -> the planned operator
//! a large one, frames that    input -> `Running`                  rows that wait for their frame's end, and those that frames
//!   end near their row                                            to come look back at, are counted
//!   or with its peers        input -> `Running` -> `Peers`       which wait in a file
//! a large one, other frames   input -> spill file -> `Running` from its end on, and from its begin on
//! ```
//!
//! What must hold: what a window function keeps is reserved before it is kept; the answer and its order are the planned
//! operator's. A partition that outgrows memory is refused, by the name of the function, where that has to see it whole.

mod exec;
mod functions;
mod partitions;
mod peers;
mod running;
mod spilled_partition;

pub use exec::AccountedWindows;
