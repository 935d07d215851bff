//! `pg_advisory_lock` and its kin: locks of numbers that clients have agreed on, as PostgreSQL has them.

use super::known::Known;
use super::rows::{Cell, row};
use super::world::{World, database_oid};
use crate::transaction::{AdvisoryLock, Until, takes_no_locks};
use hushdb_query::heed;
use hushdb_sql::{Error, Result, sqlstate};
use hushdb_storage::{AdvisoryKey, LockView};

/// The functions, by name.
pub(super) const LOCKS: &[Known] = &[
    Known("pg_advisory_lock", 1, 2, "text", false, |w, args| {
        wait(w, args, false, Until::LetGo)
    }),
    Known("pg_advisory_lock_shared", 1, 2, "text", false, |w, args| {
        wait(w, args, true, Until::LetGo)
    }),
    Known("pg_advisory_xact_lock", 1, 2, "text", false, |w, args| {
        wait(w, args, false, Until::TransactionEnds)
    }),
    Known(
        "pg_advisory_xact_lock_shared",
        1,
        2,
        "text",
        false,
        |w, args| wait(w, args, true, Until::TransactionEnds),
    ),
    Known("pg_try_advisory_lock", 1, 2, "bool", false, |w, args| {
        attempt(w, args, false, Until::LetGo)
    }),
    Known(
        "pg_try_advisory_lock_shared",
        1,
        2,
        "bool",
        false,
        |w, args| attempt(w, args, true, Until::LetGo),
    ),
    Known(
        "pg_try_advisory_xact_lock",
        1,
        2,
        "bool",
        false,
        |w, args| attempt(w, args, false, Until::TransactionEnds),
    ),
    Known(
        "pg_try_advisory_xact_lock_shared",
        1,
        2,
        "bool",
        false,
        |w, args| attempt(w, args, true, Until::TransactionEnds),
    ),
    Known("pg_advisory_unlock", 1, 2, "bool", false, |w, args| {
        let_go(w, args, false)
    }),
    Known(
        "pg_advisory_unlock_shared",
        1,
        2,
        "bool",
        false,
        |w, args| let_go(w, args, true),
    ),
    Known("pg_advisory_unlock_all", 0, 0, "text", false, |w, _| {
        w.locks.held.let_go_of_all();
        Ok("".into())
    }),
];

/// What the arguments lock.
fn lock(args: &[Cell], shared: bool) -> Result<AdvisoryLock> {
    let numbers = args.iter().map(|arg| match arg {
        Cell::Int(number) => Some(*number),
        Cell::Text(text) => text.trim().parse().ok(),
        _ => None,
    });
    let numbers: Option<Vec<i64>> = numbers.collect();
    let key = numbers.and_then(|numbers| match numbers.as_slice() {
        [one] => Some(AdvisoryKey::One(*one)),
        [first, second] => Some(AdvisoryKey::Two(
            i32::try_from(*first).ok()?,
            i32::try_from(*second).ok()?,
        )),
        _ => None,
    });
    let unknown = || {
        Error::binder("an advisory lock is named by one BIGINT, or by two INTEGERs")
            .with_sqlstate(sqlstate::UNDEFINED_FUNCTION)
    };
    Ok(AdvisoryLock {
        key: key.ok_or_else(unknown)?,
        shared,
    })
}

fn take(world: &World, args: &[Cell], shared: bool, until: Until, may_wait: bool) -> Result<bool> {
    let waits = world.locks.waits.as_deref();
    let waits = waits.ok_or_else(|| takes_no_locks("an advisory lock"))?;
    let lock = lock(args, shared)?;
    let session = world.host.session();
    let take = || waits.take_advisory(&world.store, session, lock, until, may_wait);
    match may_wait {
        true => heed::aside(take),
        false => take(),
    }
}

fn wait(world: &World, args: &[Cell], shared: bool, until: Until) -> Result<Cell> {
    take(world, args, shared, until, true).map(|_| "".into())
}

fn attempt(world: &World, args: &[Cell], shared: bool, until: Until) -> Result<Cell> {
    take(world, args, shared, until, false).map(Cell::from)
}

fn let_go(world: &World, args: &[Cell], shared: bool) -> Result<Cell> {
    let lock = lock(args, shared)?;
    Ok(world.locks.held.let_go(&world.store, lock).into())
}

/// Rows of `pg_locks`: of the database's locks those that are advisory. What else is locked is told by `locks()`.
pub(super) fn rows(world: &World) -> Vec<Vec<Cell>> {
    let locks = world.store.locks();
    locks
        .iter()
        .filter_map(|lock| Some(row_of(world, lock, lock.advisory?)))
        .collect()
}

/// One number is shown as its upper and its lower half, as PostgreSQL shows it.
fn row_of(world: &World, lock: &LockView, key: AdvisoryKey) -> Vec<Cell> {
    let half = |number: i64| number & i64::from(u32::MAX);
    let (class, object, numbers) = match key {
        AdvisoryKey::One(number) => (half(number >> 32), half(number), 1_i64),
        AdvisoryKey::Two(first, second) => (half(first.into()), half(second.into()), 2),
    };
    let mode = match lock.mode {
        "share" => "ShareLock",
        _ => "ExclusiveLock",
    };
    let session = lock.session.map(i64::from);
    let mut cells = row!["advisory", database_oid(&world.database)];
    cells.extend(vec![Cell::Null; 5]);
    cells.extend(row![class, object, numbers, Cell::Null, session, mode]);
    cells.extend(row![lock.waits.is_none(), false, Cell::Null]);
    cells
}
