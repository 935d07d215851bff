//! Harnesses around the database that nothing depends on which is shipped.
//!
//! ```text
//! campaign   many worlds, each from a seed
//! world      one database through crashes and faults, held against a model
//! changes    random changes, made to the database and to the model
//! histories  clients that wait for each other, one running at a time, held against what each level promises
//! disk       the simulated disk behind `StorageFile`
//! mutants    checks of the other crates, each to be taken out once
//! ```
//!
//! What must hold: everything follows from a seed, but for the salts and nonces that the cipher library makes, which
//! decide nothing. The house rules (`tests/house_rules/`) live here too: a crate of its own judges the others from
//! outside.
//!
//! Begin with `world.rs`; `src/bin` and `tests/` have what runs it. `docs/TESTING.md` says how many seeds were tried.

mod campaign;
mod changes;
mod dice;
mod disk;
mod histories;
mod model;
mod mutants;
mod old_key;
mod world;

pub use campaign::{CRASHES_PER_WORLD, Campaign, CampaignReport, Failure};
pub use dice::Dice;
pub use disk::{
    Breakage, BrokenFile, DiskOptions, DiskStats, Fault, FaultKind, SimDisk, SimFile, SimFiles,
};
pub use histories::{
    History, HistoryReport,
    anomalies::{Done, End, anomaly},
};
pub use model::{COLUMN_TYPES, Model, SchemaModel, TableModel, Value};
pub use mutants::{MUTANTS, Mutant, Tests};
pub use old_key::OldKey;
pub use world::{World, WorldReport};
