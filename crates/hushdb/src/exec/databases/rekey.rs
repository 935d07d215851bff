//! `ALTER DATABASE name ROTATE DATA KEY`, `REKEY (...)`, `SET ENCRYPTION_CIPHER` and `SET ENCRYPTION ON`, and `rekey_progress()`.
//!
//! What must hold: it stands alone, outside of transactions, holds no old state while it runs, and goes on with what an earlier one left unfinished. Where it is
//! interrupted or fails, the database is as usable as before, and the next one goes on.

use std::sync::Arc;
use std::time::{Duration, Instant};

use datafusion::arrow::array::{ArrayRef, StringArray, UInt32Array, UInt64Array};
use datafusion::arrow::datatypes::{Field, Schema};
use datafusion::arrow::record_batch::RecordBatch;
use hushdb_keys::{KeyProvider, SlotOptions, SlotPlan};
use hushdb_query::plan::Planner;
use hushdb_sql::{AttachOption, Error, RekeySlot, Result};
use hushdb_storage::{RekeyProgress, RekeyState, Store, check_interrupt, clock};

use super::attach::unknown_cipher;
use super::slot_options::{read_first_options, read_options};
use super::stands_alone::stands_alone;
use crate::exec::Columns;
use crate::instance::takes_no_key;
use crate::key_watch::KeyWatch;
use crate::location::Location;
use crate::maintenance::KeySlot;
use crate::options::Cipher;
use crate::result::QueryResult;
use crate::session::Session;

/// How long it waits for older snapshots and transactions.
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(20);

/// What SUSPEND does and what not.
const PAUSED: &str = "sealing anew pauses until SET ENCRYPTION RESUME, or until the database is closed; opened again, nothing goes on with it before \
    ROTATE DATA KEY, RESUME or hush rekey --data is given";

/// What encrypting a file in its place does not reach.
const WAS_PLAIN: &str = "Copies of the file from before are plain, and so may be what the file system or the disk kept of its blocks and logs";

/// What becomes of a key slot.
enum Planned {
    Keep(usize, Arc<dyn KeyProvider>),
    Add(Arc<dyn KeyProvider>, SlotOptions),
    Drop(usize),
}

impl Planned {
    fn plan(&self) -> SlotPlan<'_> {
        match self {
            Self::Keep(slot, key) => SlotPlan::Keep {
                slot: *slot,
                key: &**key,
            },
            Self::Add(key, options) => SlotPlan::Add {
                key: &**key,
                options: options.clone(),
            },
            Self::Drop(slot) => SlotPlan::Drop { slot: *slot },
        }
    }

    /// Where the key is from now on.
    fn place(&self) -> Option<Arc<dyn KeyProvider>> {
        match self {
            Self::Keep(_, key) | Self::Add(key, _) => Some(Arc::clone(key)),
            Self::Drop(_) => None,
        }
    }
}

/// Seals a database anew under another data key. One row says how far it came.
pub(in crate::exec) fn rotate_data_key(session: &Session, name: &str) -> Result<QueryResult> {
    let store = store_of(session, name, "ROTATE DATA KEY")?;
    store.rotate_data_key()?;
    seal_anew(&store)?;
    row_of(name, &store)
}

/// Seals a database anew under another data key, with another cipher. One row says how far it came.
pub(in crate::exec) fn change_cipher(
    session: &Session,
    name: &str,
    cipher: &str,
) -> Result<QueryResult> {
    const WHAT: &str = "SET ENCRYPTION_CIPHER";
    let cipher = Cipher::by_name(cipher).ok_or_else(unknown_cipher)?;
    let store = store_of(session, name, WHAT)?;
    if is_under_way(&store) && !seal_anew(&store)? {
        return Err(unfinished(WHAT));
    }
    if store.info().suite == cipher.suite() {
        session.notice(format!(
            "{name}: it is sealed with {} already",
            cipher.suite()
        ));
        return row_of(name, &store);
    }
    if !store.change_cipher(cipher.suite())? {
        return Err(unfinished(WHAT));
    }
    seal_anew(&store)?;
    row_of(name, &store)
}

/// Seals a plain database in its place, under the key that the statement gives. One row says how far it came.
pub(in crate::exec) fn encrypt(
    session: &Session,
    name: &str,
    options: &[AttachOption],
) -> Result<QueryResult> {
    let database = session.instance.database(name)?;
    let refused = |why: &str| Error::invalid(format!("Cannot SET ENCRYPTION ON: {why}"));
    if database.location == Location::Memory {
        return Err(takes_no_key());
    }
    if database.read_only {
        return Err(refused("the database is attached in read-only mode"));
    }
    let store = Arc::clone(&database.store);
    if store.info().suite.is_encrypted() {
        return Err(refused(match is_under_way(&store) {
            true => "that was begun before: SET ENCRYPTION RESUME goes on with it",
            false => "the database is encrypted; ADD SLOT gives it another key",
        }));
    }
    let (key, label, cipher) = read_first_options(session, options)?;
    let slot = SlotOptions {
        label: label.unwrap_or_default(),
        ..SlotOptions::default()
    };
    let provider = key.provider_of_new_key();
    let first = (store.blocks()).prepare_encryption(cipher.suite(), &*provider, &slot)?;
    let commitment = first.header.commitment().unwrap_or_default();
    let commitment: String = commitment.iter().map(|b| format!("{b:02x}")).collect();
    store.encrypt(first)?;
    *database.watch.lock() = KeyWatch::of(Some(key.provider()));
    drop(database);
    session.notice(format!(
        "{name}: it opens with this key alone from now on, whose commitment is {commitment}. {WAS_PLAIN}"
    ));
    seal_anew(&store)?;
    row_of(name, &store)
}

/// What SET ENCRYPTION OFF gets.
pub(in crate::exec) fn does_not_become_plain() -> Error {
    Error::invalid(
        "Cannot SET ENCRYPTION OFF: a database does not become plain in its place, so that nobody can have a file say that it is about to. \
         ATTACH a new file without a key, and COPY FROM DATABASE into it",
    )
}

/// Seals a database anew under another master key, which is in the slots that the statement says. One row says how far it came.
pub(in crate::exec) fn rekey(
    session: &Session,
    name: &str,
    slots: &[RekeySlot],
) -> Result<QueryResult> {
    let store = store_of(session, name, "REKEY")?;
    let planned = planned(session, slots)?;
    let plan: Vec<SlotPlan<'_>> = planned.iter().map(Planned::plan).collect();
    let (commitment, followed) = new_master(&store, &plan)?;
    let place = planned.get(followed).and_then(Planned::place);
    *session.instance.database(name)?.watch.lock() = KeyWatch::of(place);
    let commitment: String = commitment.iter().map(|b| format!("{b:02x}")).collect();
    session.notice(format!(
        "{name}: the master key is another one, whose commitment is {commitment}"
    ));
    for slot in planned {
        if let Planned::Keep(slot, _) = slot {
            session.notice(format!(
                "{name}: key slot {slot} was kept: its key still opens older copies of the file, so whoever has one and the old master key can \
                 put that in the place of this file; EXPECTED_KEY refuses it"
            ));
        }
    }
    seal_anew(&store)?;
    row_of(name, &store)
}

/// Gives a database another master key, which is in the slots of a plan; what is there is still to be sealed anew. Gives its commitment, and the
/// step of the plan whose place is asked for the key again from now on.
fn new_master(store: &Store, plan: &[SlotPlan<'_>]) -> Result<([u8; 32], usize)> {
    if is_under_way(store) && !seal_anew(store)? {
        return Err(unfinished("REKEY"));
    }
    let new = store.blocks().prepare_new_master(plan)?;
    let (commitment, followed) = (*new.commitment(), new.followed());
    match store.rekey(new)? {
        true => Ok((commitment, followed)),
        false => Err(unfinished("REKEY")),
    }
}

/// The key slots of a database.
pub(crate) fn slots(session: &Session, name: &str) -> Result<Vec<KeySlot>> {
    let store = store_of(session, name, "list key slots")?;
    let slots = store.blocks().header().slots();
    Ok(slots.into_iter().map(KeySlot::from).collect())
}

/// What a program asks for instead of a statement: another master key, or without a plan another data key.
pub(crate) fn begin(session: &Session, name: &str, plan: Option<&[SlotPlan<'_>]>) -> Result<()> {
    stands_alone(session)?;
    let store = store_of(session, name, "REKEY")?;
    match plan {
        Some(plan) => {
            let opened = store.blocks().header().opened_slot();
            let (_, followed) = new_master(&store, plan)?;
            let keeps = |step: &SlotPlan<'_>| matches!(step, SlotPlan::Keep { slot, .. } if Some(*slot) == opened);
            if !plan.get(followed).is_some_and(keeps) {
                *session.instance.database(name)?.watch.lock() = None;
            }
            Ok(())
        }
        None => Ok(store.rotate_data_key().map(drop)?),
    }
}

/// Goes on with that until nothing is under an older data key. `false`: older transactions or results keep it from ending.
pub(crate) fn go_on(session: &Session, name: &str) -> Result<bool> {
    stands_alone(session)?;
    seal_anew(&*store_of(session, name, "REKEY")?)
}

/// Has what is under way pause, also in another session; or goes on with it.
pub(in crate::exec) fn pause(session: &Session, name: &str, pause: bool) -> Result<QueryResult> {
    let store = store_of(session, name, "SET ENCRYPTION")?;
    store.pause_rekey(pause);
    match pause {
        true => session.notice(format!("{name}: {PAUSED}")),
        false => drop(seal_anew(&store)?),
    }
    row_of(name, &store)
}

/// What becomes of each slot, with the places of keys.
fn planned(session: &Session, slots: &[RekeySlot]) -> Result<Vec<Planned>> {
    let planned = slots.iter().map(|slot| {
        Ok(match slot {
            RekeySlot::Keep { slot, options } => {
                let (key, _) = read_options(session, options, false)?;
                Planned::Keep(*slot, key.provider())
            }
            RekeySlot::Add(options) => {
                let (key, label) = read_options(session, options, true)?;
                let options = SlotOptions {
                    label: label.unwrap_or_default(),
                    ..SlotOptions::default()
                };
                Planned::Add(key.provider_of_new_key(), options)
            }
            RekeySlot::Drop(slot) => Planned::Drop(*slot),
        })
    });
    planned.collect()
}

/// A database whose keys can be changed.
pub(in crate::exec) fn store_of(session: &Session, name: &str, what: &str) -> Result<Arc<Store>> {
    let database = session.instance.database(name)?;
    if database.read_only {
        return Err(Error::invalid(format!(
            "Cannot {what}: the database is attached in read-only mode"
        )));
    }
    match database.store.info().suite.is_encrypted() {
        true => Ok(Arc::clone(&database.store)),
        false => Err(Error::invalid(format!(
            "Cannot {what}: the database is not encrypted"
        ))),
    }
}

fn is_under_way(store: &Store) -> bool {
    let progress = store.rekey_progress();
    progress.is_some_and(|now| now.state != RekeyState::Done)
}

fn unfinished(what: &str) -> Error {
    Error::invalid(format!(
        "Cannot {what}: the data key is being changed, and a pause, older transactions or results keep that from ending: end them and try again"
    ))
}

/// Goes on until nothing is under an older data key. `false`: it is to pause, or waits for older snapshots and transactions.
fn seal_anew(store: &Store) -> Result<bool> {
    let mut waits: Option<Instant> = None;
    loop {
        match store.rekey_step()? {
            RekeyState::Done => return Ok(true),
            RekeyState::Running => waits = None,
            RekeyState::Paused => return Ok(false),
            RekeyState::Draining => {
                if waits.get_or_insert_with(clock::now).elapsed() > PATIENCE {
                    return Ok(false);
                }
                check_interrupt()?;
                std::thread::sleep(PAUSE);
            }
        }
    }
}

fn row_of(name: &str, store: &Store) -> Result<QueryResult> {
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
pub(in crate::exec) fn progress(planner: &Planner<'_>) -> Columns {
    let databases = planner.snapshot.attached();
    let rows: Vec<(&str, RekeyProgress)> = databases
        .filter_map(|(name, database)| Some((name.as_str(), database.store.rekey_progress()?)))
        .collect();
    table_of(&rows)
}

/// What it does, or waits for, in a word or two.
fn state_of(row: &RekeyProgress) -> &'static str {
    match row.state {
        RekeyState::Done => "done",
        _ if row.lacks_room => "waiting for room",
        _ if row.suspended.is_some() => "suspended",
        RekeyState::Paused => "paused",
        _ if row.scrubbing.is_some() => "scrubbing",
        RekeyState::Running => "running",
        RekeyState::Draining => "draining",
    }
}

fn table_of(rows: &[(&str, RekeyProgress)]) -> Columns {
    let texts = |of: &dyn Fn(&(&str, RekeyProgress)) -> Option<String>| -> ArrayRef {
        Arc::new(rows.iter().map(of).collect::<StringArray>())
    };
    let keys = |of: &dyn Fn(&[u32]) -> Option<u32>| -> ArrayRef {
        let ids = rows.iter().map(|(_, row)| of(&row.key_ids));
        Arc::new(ids.collect::<UInt32Array>())
    };
    let numbers = |of: &dyn Fn(&RekeyProgress) -> Option<u64>| -> ArrayRef {
        let numbers = rows.iter().map(|(_, row)| of(row));
        Arc::new(numbers.collect::<UInt64Array>())
    };
    vec![
        (
            "database_name",
            texts(&|(name, _)| Some((*name).to_owned())),
        ),
        ("state", texts(&|(_, row)| Some(state_of(row).to_owned()))),
        (
            "old_key_id",
            keys(&|ids| ids.first().copied().filter(|_| ids.len() > 1)),
        ),
        ("new_key_id", keys(&|ids| ids.last().copied())),
        ("steps", numbers(&|row| Some(row.steps))),
        ("steps_in_all", numbers(&|row| Some(row.in_all?.steps))),
        ("blocks", numbers(&|row| Some(row.blocks))),
        ("blocks_in_all", numbers(&|row| Some(row.in_all?.blocks))),
        ("bytes", numbers(&|row| Some(row.bytes))),
        ("bytes_in_all", numbers(&|row| Some(row.in_all?.bytes))),
        (
            "overwritten_bytes",
            numbers(&|row| Some(row.scrubbing?.done)),
        ),
        (
            "overwritten_bytes_in_all",
            numbers(&|row| Some(row.scrubbing?.all)),
        ),
        ("reason", texts(&|(_, row)| row.suspended.clone())),
    ]
}
