//! Tables through the public face of the crate: one binary, one module a subject.

mod anchors;
mod checkpointer;
mod checkpoints;
mod commits;
mod damage;
mod data_key_age;
mod dead_rows;
mod definitions;
mod early_release;
mod encrypting;
mod failures;
mod fixture;
mod histories;
mod indexes;
mod logged;
mod markers;
mod places;
mod rekey;
mod rekey_hostile;
mod rekey_master;
mod round_trip;
mod salvage;
mod sequences;
mod snapshots;
mod unsynced;
mod vacuum;
