//! ALTER DATABASE: the keys that open an attached database, and its data key.
//!
//! What must hold: a slot is changed at once and for all, so not within a transaction, which could not take it back; no error
//! repeats a key, nor where it comes from.

use super::slot_options::read_options;
use super::stands_alone::stands_alone;
use super::{data_key_age, rekey};
use crate::maintenance::{add_slot, change_slot, remove_slot, verify_slot_of};
use crate::result::QueryResult;
use crate::session::Session;
use hushdb_query::plan::known_as;
use hushdb_sql::{DatabaseChange, Result};

/// What is said when a key was taken away.
const STILL_OPENS: &str = "copies of the file made before still open with the old key";

pub(in crate::exec) fn alter_database(
    session: &Session,
    name: &str,
    if_exists: bool,
    change: DatabaseChange,
) -> Result<QueryResult> {
    stands_alone(session)?;
    let known = known_as(&*session.instance.attached.read(), name).map(|(known, _)| known.clone());
    let Some(name) = known else {
        return match if_exists {
            true => Ok(QueryResult::done()),
            false => session.instance.database(name).map(|_| QueryResult::done()),
        };
    };
    let database = session.instance.database(&name)?;
    let store = &database.store;
    let said = match change {
        DatabaseChange::RotateDataKey => return rekey::rotate_data_key(session, &name),
        DatabaseChange::SetCipher(cipher) => {
            return rekey::change_cipher(session, &name, &cipher);
        }
        DatabaseChange::SetRekeyAfter(age) => {
            return data_key_age::set(session, &name, &age);
        }
        DatabaseChange::Encrypt(options) => return rekey::encrypt(session, &name, &options),
        DatabaseChange::Decrypt => return Err(rekey::does_not_become_plain()),
        DatabaseChange::PauseRekey(pause) => return rekey::pause(session, &name, pause),
        DatabaseChange::Rekey(slots) => return rekey::rekey(session, &name, &slots),
        DatabaseChange::AddSlot(options) => {
            let (key, label) = read_options(session, &options, true)?;
            let key = key.provider_of_new_key();
            let added = add_slot(store, &*key, &label.unwrap_or_default())?;
            format!("key slot {} was added", added.slot)
        }
        DatabaseChange::ChangeSlot { slot, options } => {
            let (key, _) = read_options(session, &options, false)?;
            change_slot(store, Some(slot), &*key.provider_of_new_key())?;
            database.follow_key(slot, key.provider());
            format!("key slot {slot} was changed: {STILL_OPENS}")
        }
        DatabaseChange::VerifySlot { slot, options } => {
            let (key, _) = read_options(session, &options, false)?;
            verify_slot_of(store, slot, &*key.provider())?;
            format!("the key opens key slot {slot}")
        }
        DatabaseChange::DropSlot(slot) => {
            remove_slot(store, slot)?;
            format!("key slot {slot} was dropped: {STILL_OPENS}")
        }
    };
    session.notice(format!("{name}: {said}"));
    Ok(QueryResult::done())
}
