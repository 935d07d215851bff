//! What a process says of its databases, key slots, locks and settings, as tables: `databases()`, `key_slots()`, `locks()`,
//! `duckdb_settings()` and `duckdb_variables()`.
//!
//! What must hold: nothing here tells a key, or how to get one.

use super::arrays::{items, numbers, text_lists, texts};
use crate::exec::Columns;
use crate::exec::settings::settings as all_settings;
use crate::maintenance::KeySlot;
use crate::session::Session;
use datafusion::arrow::array::{ArrayRef, BooleanArray, Int64Array, StringArray, UInt64Array};
use datafusion::execution::memory_pool::MemoryPool;
use hushdb_keys::{SlotKdf, Suite};
use hushdb_query::functions::value_text;
use hushdb_query::plan::{DatabaseSnapshot, Planner};
use hushdb_storage::{LockView, StoreInfo};
use std::sync::Arc;

/// Name, state and facts of an attached database.
type Row<'a> = (&'a String, &'a DatabaseSnapshot, StoreInfo);

/// What the tables here are called.
pub(in crate::exec) const NAMES: [&str; 15] = [
    "duckdb_connection_count",
    "duckdb_memory",
    "duckdb_temporary_files",
    "duckdb_types",
    "duckdb_variables",
    "pragma_version",
    "databases",
    "data_keys",
    "key_slots",
    "keys",
    "locks",
    "pg_get_keywords",
    "rekey_progress",
    "settings",
    "duckdb_settings",
];

/// What one of [`NAMES`] stands for: settings, locks, key slots, or databases.
pub(in crate::exec) fn named(name: &str, session: &Session, planner: &Planner<'_>) -> Columns {
    match name {
        "settings" | "duckdb_settings" => settings(session),
        "duckdb_memory" => memory(session),
        "duckdb_variables" => variables(session),
        "duckdb_connection_count" => {
            // The instance has one itself.
            let count = Arc::strong_count(&session.instance.sessions).saturating_sub(1) as u64;
            vec![("count", Arc::new(UInt64Array::from(vec![count])))]
        }
        "duckdb_temporary_files" => temporary_files(session),
        "pragma_version" => version(),
        "duckdb_types" => super::type_table::types(planner),
        "locks" => locks(planner),
        "data_keys" | "keys" => crate::exec::databases::data_key_age::data_keys(planner),
        "key_slots" => key_slots(planner),
        "pg_get_keywords" => {
            let words = hushdb_sql::keywords().map(Some);
            vec![("word", Arc::new(words.collect::<StringArray>()))]
        }
        "rekey_progress" => crate::exec::databases::rekey::progress(planner),
        _ => databases(planner),
    }
}

/// One row an attached database, with what `duckdb_databases()` has no columns for.
fn databases(planner: &Planner<'_>) -> Columns {
    let databases = planner.snapshot.attached();
    let rows: Vec<Row<'_>> = databases
        .map(|(name, database)| (name, database, database.store.info()))
        .collect();
    let texts = |of: &dyn Fn(&Row<'_>) -> Option<String>| {
        let texts: ArrayRef = Arc::new(rows.iter().map(of).collect::<StringArray>());
        texts
    };
    let flags = |of: &dyn Fn(&StoreInfo) -> bool| {
        let flags: ArrayRef = Arc::new(
            rows.iter()
                .map(|(.., info)| Some(of(info)))
                .collect::<BooleanArray>(),
        );
        flags
    };
    let generations = rows.iter();
    let generations = generations.map(|(.., info)| i64::try_from(info.generation.number()).ok());
    vec![
        ("name", texts(&|(name, ..)| Some((*name).clone()))),
        (
            "path",
            texts(&|(_, database, _)| database.place.as_deref().map(str::to_owned)),
        ),
        ("read_only", flags(&|info| info.read_only)),
        ("encrypted", flags(&|info| info.suite != Suite::Plain)),
        (
            "cipher",
            texts(&|(.., info)| cipher(info.suite).map(str::to_string)),
        ),
        // In suite 2, too, every block is pinned by what its parent says of it.
        ("authenticated", flags(&|info| info.suite != Suite::Plain)),
        ("kdf", texts(&|(_, database, _)| kdf(database))),
        ("generation", Arc::new(generations.collect::<Int64Array>())),
    ]
}

/// What opened blocks take, and what operators have reserved and written to temporary files.
fn memory(session: &Session) -> Columns {
    let shared = &session.instance;
    let number = |n: u64| i64::try_from(n).ok();
    let blocks = number(shared.pool.stats().held_bytes as u64);
    let operators = number(shared.memory.reserved() as u64);
    let spilled = number(shared.spill.stats().bytes);
    let tags = ["BASE_TABLE", "OPERATORS"].map(Some);
    vec![
        ("tag", Arc::new(StringArray::from(tags.to_vec()))),
        (
            "memory_usage_bytes",
            Arc::new(Int64Array::from(vec![blocks, operators])),
        ),
        (
            "temporary_storage_bytes",
            Arc::new(Int64Array::from(vec![Some(0), spilled])),
        ),
    ]
}

/// The directory with what is in its files without names, if there are any.
fn temporary_files(session: &Session) -> Columns {
    let spill = &session.instance.spill;
    let stats = spill.stats();
    let rows: &[u64] = match stats.files {
        0 => &[],
        _ => &[stats.bytes],
    };
    let path = || spill.directory().to_string_lossy().into_owned();
    vec![
        ("path", texts(rows, |_| Some(path()))),
        ("size", numbers(rows, |bytes| i64::try_from(*bytes).ok())),
    ]
}

/// What SET VARIABLE has set, by name.
fn variables(session: &Session) -> Columns {
    let variables = Arc::clone(&session.variables.lock());
    let names = variables.keys().map(Some);
    let values = variables.values().map(|value| match value.is_null() {
        true => None,
        false => value
            .to_array()
            .ok()
            .and_then(|array| value_text(array.as_ref(), 0).ok().flatten()),
    });
    let types = variables
        .values()
        .map(|value| Some(hushdb_sql::type_names::type_name(&value.data_type())));
    vec![
        ("name", Arc::new(names.collect::<StringArray>())),
        ("value", Arc::new(values.collect::<StringArray>())),
        ("type", Arc::new(types.collect::<StringArray>())),
    ]
}

/// What PRAGMA version says, under DuckDB's names.
fn version() -> Columns {
    let one = |text: &str| -> ArrayRef { Arc::new(StringArray::from(vec![text])) };
    vec![
        (
            "library_version",
            one(concat!("v", env!("CARGO_PKG_VERSION"))),
        ),
        ("source_id", one("")),
        ("codename", one("HushDB")),
    ]
}

pub(super) fn cipher(suite: Suite) -> Option<&'static str> {
    match suite {
        Suite::Plain => None,
        Suite::Gcm => Some("GCM"),
        Suite::Ctr => Some("CTR"),
    }
}

/// How the passphrases of a file's key slots are stretched, each way once; `none` for raw keys.
fn kdf(database: &DatabaseSnapshot) -> Option<String> {
    let mut names: Vec<&str> = vec![];
    for slot in database.store.blocks().header().slots() {
        let name = match slot.kdf {
            SlotKdf::None => "none",
            SlotKdf::Argon2id(_) => "argon2id",
            SlotKdf::Pbkdf2 { .. } => "pbkdf2",
        };
        if !names.contains(&name) {
            names.push(name);
        }
    }
    (!names.is_empty()).then(|| names.join(", "))
}

/// One row a lock that a transaction holds or waits for.
fn locks(planner: &Planner<'_>) -> Columns {
    let mut rows: Vec<(&String, Option<String>, LockView)> = vec![];
    for (name, database) in planner.snapshot.attached() {
        for lock in database.store.locks() {
            let mut tables = database.version.tables();
            let table = tables.find(|table| Some(table.id) == lock.table_id);
            rows.push((name, table.map(|table| table.name.clone()), lock));
        }
    }
    let waits = |(.., lock): &(_, _, LockView)| lock.waits.clone();
    let others = rows.iter().map(|row| {
        let (_, others) = waits(row)?;
        let others: Vec<String> = others.iter().map(u64::to_string).collect();
        Some(others.join(", "))
    });
    let waited = rows.iter().map(|row| {
        let (since, _) = waits(row)?;
        i64::try_from(since.elapsed().as_millis()).ok()
    });
    let owners = rows.iter().map(|(.., lock)| i64::try_from(lock.owner).ok());
    let granted = rows.iter().map(|(.., lock)| Some(lock.waits.is_none()));
    let kinds = rows.iter().map(|(.., lock)| Some(lock.kind));
    let modes = rows.iter().map(|(.., lock)| Some(lock.mode));
    vec![
        (
            "database_name",
            Arc::new(
                rows.iter()
                    .map(|(name, ..)| Some(*name))
                    .collect::<StringArray>(),
            ) as ArrayRef,
        ),
        (
            "table_name",
            Arc::new(
                rows.iter()
                    .map(|(_, table, _)| table.as_ref())
                    .collect::<StringArray>(),
            ),
        ),
        ("kind", Arc::new(kinds.collect::<StringArray>())),
        ("mode", Arc::new(modes.collect::<StringArray>())),
        ("owner", Arc::new(owners.collect::<Int64Array>())),
        ("granted", Arc::new(granted.collect::<BooleanArray>())),
        ("waits_for", Arc::new(others.collect::<StringArray>())),
        ("waited_ms", Arc::new(waited.collect::<Int64Array>())),
    ]
}

/// One row a key slot of an attached database: what its header says to anybody.
fn key_slots(planner: &Planner<'_>) -> Columns {
    let mut slots: Vec<(&String, KeySlot)> = vec![];
    for (name, database) in planner.snapshot.attached() {
        let header = database.store.blocks().header();
        slots.extend(header.slots().into_iter().map(|slot| (name, slot.into())));
    }
    let texts = |of: &dyn Fn(&KeySlot) -> &String| -> ArrayRef {
        let texts = slots.iter().map(|(_, slot)| Some(of(slot)));
        Arc::new(texts.collect::<StringArray>())
    };
    let names = slots.iter().map(|(name, _)| Some(name));
    let key_files = slots.iter().map(|(_, slot)| Some(slot.has_key_file));
    let numbers = slots
        .iter()
        .map(|(_, slot)| i64::try_from(slot.number).ok());
    vec![
        ("database_name", Arc::new(names.collect::<StringArray>())),
        ("slot", Arc::new(numbers.collect::<Int64Array>())),
        ("key", texts(&|slot| &slot.key)),
        ("provider", texts(&|slot| &slot.provider)),
        ("key_file", Arc::new(key_files.collect::<BooleanArray>())),
        ("label", texts(&|slot| &slot.label)),
    ]
}

/// One row a setting.
fn settings(session: &Session) -> Columns {
    let all = all_settings();
    let texts = |values: Vec<Option<String>>| -> ArrayRef { Arc::new(StringArray::from(values)) };
    let scope = |is_local| if is_local { "LOCAL" } else { "GLOBAL" };
    vec![
        (
            "name",
            texts(all.clone().map(|s| Some(s.name.into())).collect()),
        ),
        (
            "value",
            texts(all.clone().map(|s| Some(s.value(session))).collect()),
        ),
        (
            "description",
            texts(all.clone().map(|s| Some(s.description.into())).collect()),
        ),
        (
            "input_type",
            texts(all.clone().map(|s| Some(s.input_type.into())).collect()),
        ),
        (
            "scope",
            texts(
                all.clone()
                    .map(|s| Some(scope(s.is_local).into()))
                    .collect(),
            ),
        ),
        (
            "aliases",
            text_lists(&all.collect::<Vec<_>>(), |s| {
                Some(items(s.aliases.iter().map(|name| (*name).to_owned())))
            }),
        ),
    ]
}
