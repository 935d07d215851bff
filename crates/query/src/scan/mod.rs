//! Reading tables: how a stored table appears to DataFusion as a scan with exact statistics.
//!
//! What must hold: a scan reads one immutable catalog version; its partitions are contiguous ranges of row groups,
//! so reading them in order gives the rows in insertion order.

mod estimate;
mod group;
mod kept;
mod lookup;
mod progress;
mod prune;
mod source;
mod statistics;
mod table;

pub(crate) use estimate::{Estimate, estimate};
pub use kept::KeptBatches;
pub use progress::ScanProgress;
pub use statistics::scalar as bound_value;
pub use table::{ROW_ID, TableScan};
