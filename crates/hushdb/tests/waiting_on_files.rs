//! The suite `waiting` with databases that are files, whose logs are long soon.

#[path = "waiting/main.rs"]
mod waiting;
