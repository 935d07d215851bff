//! Joins whose build side may outgrow memory.
//!
//! ```text
//! as planned   left ->gate-> HashJoinExec <-gate<- right        what the build side takes is kept at the gate until it fits
//! it does not  left rows, right rows -> 16 pairs of spill files by a hash of the key -> a join for each pair
//! ```
//!
//! What must hold: the answer is the planned join's, in another order where none was promised; nothing of the right side was
//! read when the build side turns out too large. A pair that is too large itself is divided again.

mod divided;
mod exec;
mod gate;
mod nested_loop;
mod promised_order;
mod scatter;
mod spilled;

pub use exec::SpillingJoins;
