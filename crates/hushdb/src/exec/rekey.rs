//! `ALTER DATABASE name ROTATE DATA KEY`, and `rekey_progress()`.
//!
//! Holds: it stands alone, outside of transactions, holds no old state while it runs, and goes on with what an earlier one left unfinished. Where it is
//! interrupted or fails, the database is as usable as before, and the next one goes on.

use std::sync::Arc;
use std::time::{Duration, Instant};

use datafusion::arrow::array::{ArrayRef, StringArray, UInt32Array, UInt64Array};
use datafusion::arrow::datatypes::{Field, Schema};
use datafusion::arrow::record_batch::RecordBatch;
use hushdb_query::plan::Planner;
use hushdb_sql::{Error, Result};
use hushdb_storage::{RekeyProgress, RekeyState, check_interrupt, clock};

use super::key_tables::Columns;
use crate::result::QueryResult;
use crate::session::Session;

/// How long it waits for older snapshots and transactions.
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(20);

/// Seals a database anew under another data key. One row says how far it came.
pub(super) fn rotate_data_key(session: &Session, name: &str) -> Result<QueryResult> {
    let database = session.instance.database(name)?;
    if database.read_only {
        return Err(Error::invalid(
            "Cannot ROTATE DATA KEY: the database is attached in read-only mode",
        ));
    }
    let store = &database.store;
    if !store.info().suite.is_encrypted() {
        return Err(Error::invalid(
            "Cannot ROTATE DATA KEY: the database is not encrypted",
        ));
    }
    store.rotate_data_key()?;
    let mut waits: Option<Instant> = None;
    loop {
        match store.rekey_step()? {
            RekeyState::Done => break,
            RekeyState::Running => waits = None,
            RekeyState::Draining => {
                if waits.get_or_insert_with(clock::now).elapsed() > PATIENCE {
                    break;
                }
                check_interrupt()?;
                std::thread::sleep(PAUSE);
            }
        }
    }
    let rows = store.rekey_progress();
    let rows: Vec<(&str, RekeyProgress)> = rows.map(|row| (name, row)).into_iter().collect();
    let columns = table_of(&rows);
    let fields = columns.iter();
    let fields: Vec<Field> = fields
        .map(|(name, values)| Field::new(*name, values.data_type().clone(), true))
        .collect();
    let schema = Arc::new(Schema::new(fields));
    let values = columns.into_iter().map(|(_, values)| values).collect();
    let batch = RecordBatch::try_new(Arc::clone(&schema), values)?;
    Ok(QueryResult::rows(schema, vec![batch]))
}

/// One row a database of which blocks are sealed anew, or were since it was attached.
pub(super) fn progress(planner: &Planner<'_>) -> Columns {
    let databases = planner.snapshot.databases.iter();
    let rows: Vec<(&str, RekeyProgress)> = databases
        .filter_map(|(name, database)| Some((name.as_str(), database.store.rekey_progress()?)))
        .collect();
    table_of(&rows)
}

fn table_of(rows: &[(&str, RekeyProgress)]) -> Columns {
    let texts = |of: &dyn Fn(&(&str, RekeyProgress)) -> Option<String>| -> ArrayRef {
        Arc::new(rows.iter().map(of).collect::<StringArray>())
    };
    let keys = |of: &dyn Fn(&[u32]) -> Option<u32>| -> ArrayRef {
        let ids = rows.iter().map(|(_, row)| of(&row.key_ids));
        Arc::new(ids.collect::<UInt32Array>())
    };
    let numbers = |of: &dyn Fn(&RekeyProgress) -> u64| -> ArrayRef {
        Arc::new(
            rows.iter()
                .map(|(_, row)| Some(of(row)))
                .collect::<UInt64Array>(),
        )
    };
    let state = |row: &RekeyProgress| match (row.state, &row.suspended) {
        (RekeyState::Done, _) => "done",
        (_, Some(_)) => "suspended",
        (RekeyState::Running, None) => "running",
        (RekeyState::Draining, None) => "draining",
    };
    vec![
        (
            "database_name",
            texts(&|(name, _)| Some((*name).to_owned())),
        ),
        ("state", texts(&|(_, row)| Some(state(row).to_owned()))),
        (
            "old_key_id",
            keys(&|ids| ids.first().copied().filter(|_| ids.len() > 1)),
        ),
        ("new_key_id", keys(&|ids| ids.last().copied())),
        ("blocks", numbers(&|row| row.blocks)),
        ("bytes", numbers(&|row| row.bytes)),
        ("reason", texts(&|(_, row)| row.suspended.clone())),
    ]
}
