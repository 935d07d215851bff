//! Window functions within the memory limit.
//!
//! ```text
//! frames that end at a row    input -> BoundedWindowAggExec             rows that wait for their frame's end are counted
//! frames of whole partitions  input -> partitions -> WindowAggExec      a few whole partitions at a time
//! one large partition         input -> spill file, accumulators         where every row of it gets the same values
//! ```
//!
//! What must hold: what a window function keeps is reserved before it is kept; the answer and its order are the planned
//! operator's. A partition that outgrows memory is refused where its rows get different values by a frame that ends with it.

mod exec;
mod one_value;
mod partitions;
mod streaming;

pub(crate) use exec::AccountedWindows;
