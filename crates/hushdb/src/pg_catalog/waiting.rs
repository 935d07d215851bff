//! `pg_sleep(seconds)` and `sleep_ms(milliseconds)`.

use super::rows::Cell;
use super::world::World;
use hushdb_query::heed;
use hushdb_sql::{Error, Result};
use hushdb_storage::clock;
use std::time::Duration;

pub(super) fn seconds(_: &World, args: &[Cell]) -> Result<Cell> {
    let seconds = match args.first() {
        Some(Cell::Int(seconds)) => *seconds as f64,
        Some(Cell::Text(text)) => text.parse().unwrap_or_default(),
        _ => 0.0,
    };
    let time = Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(Duration::MAX);
    heed::aside(|| wait(time))?;
    Ok("".into())
}

pub(super) fn milliseconds(_: &World, args: &[Cell]) -> Result<Cell> {
    let milliseconds = match args.first() {
        Some(Cell::Int(milliseconds)) => u64::try_from(*milliseconds).unwrap_or_default(),
        _ => return Err(Error::binder("sleep_ms takes a number of milliseconds")),
    };
    heed::aside(|| wait(Duration::from_millis(milliseconds)))?;
    Ok(Cell::Null)
}

/// Waits, and looks now and then whether it shall stop.
fn wait(wait: Duration) -> Result<()> {
    let begun = clock::now();
    while let Some(left) = wait.checked_sub(begun.elapsed()) {
        heed::check().map_err(Error::from)?;
        std::thread::sleep(left.min(Duration::from_millis(10)));
        if left.is_zero() {
            break;
        }
    }
    Ok(())
}
