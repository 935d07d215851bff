//! `ALTER DATABASE name SET (rekey_after = '1 year')`, and `data_keys()`: how old data keys may become, and how old they are.
//!
//! What must hold: the age decides nothing but what is said; nothing here tells a key.

use std::sync::Arc;

use datafusion::arrow::array::{
    ArrayRef, BooleanArray, StringArray, TimestampSecondArray, UInt32Array, UInt64Array,
};
use hushdb_keys::DataKeyInfo;
use hushdb_query::plan::Planner;
use hushdb_sql::{Error, Result};
use hushdb_storage::{KeyUsage, Store};

use super::rekey::store_of;
use crate::exec::Columns;
use crate::result::QueryResult;
use crate::session::Session;

/// A hundred years: more is a mistake.
const MOST_DAYS: u32 = 36_500;

/// What is said of a setting of that name.
pub(in crate::exec) const OF_A_DATABASE: &str = "rekey_after belongs to a database, and stays with its file: ALTER DATABASE name SET (rekey_after = '1 year')";

/// Keeps the age in the file, and says so if the key has reached it.
pub(in crate::exec) fn set(session: &Session, name: &str, age: &str) -> Result<QueryResult> {
    let store = store_of(session, name, "SET rekey_after")?;
    let days = days(age)?;
    store.set_data_key_age_days(days)?;
    session.notice(match days {
        0 => format!("{name}: nothing is said of the age of its data key any more"),
        days => format!("{name}: its data key is due at an age of {days} days"),
    });
    for notice in store.key_notices() {
        session.notice(format!("{name}: {notice}"));
    }
    Ok(QueryResult::done())
}

/// Days, as `90 days`, `3 months` of 30 days or `1 year` of 365; 0 for never.
fn days(text: &str) -> Result<u32> {
    let text = text.trim().to_lowercase();
    let digits = text.find(|c: char| !c.is_ascii_digit());
    let (number, unit) = text.split_at(digits.unwrap_or(text.len()));
    let unit: Option<u32> = match unit.trim() {
        "" | "d" | "day" | "days" => Some(1),
        "week" | "weeks" => Some(7),
        "month" | "months" => Some(30),
        "year" | "years" => Some(365),
        _ => None,
    };
    let number: Option<u32> = number.parse().ok();
    let days = number.zip(unit).and_then(|(n, unit)| n.checked_mul(unit));
    days.filter(|days| *days <= MOST_DAYS).ok_or_else(|| {
        Error::invalid(format!(
            "rekey_after is a number of days up to {MOST_DAYS}, or one with a unit: days, weeks, months of 30 days or years of 365; 0: never"
        ))
    })
}

/// A data key of an attached database, and what is under it: `None` where a block does not open that says so.
struct KeyRow<'a> {
    name: &'a str,
    store: &'a Store,
    key: DataKeyInfo,
    used: Option<KeyUsage>,
}

impl KeyRow<'_> {
    fn is_newest(&self) -> bool {
        self.key.ended.is_none()
    }
}

fn rows_of<'a>(name: &'a str, store: &'a Store) -> Vec<KeyRow<'a>> {
    let keys = store.blocks().data_keys();
    let usage = match keys.is_empty() {
        true => None,
        false => store.key_usage().ok(),
    };
    let row = |key: DataKeyInfo| {
        let used = usage.as_ref();
        let used = used.map(|used| used.get(&key.id).copied().unwrap_or_default());
        KeyRow {
            name,
            store,
            key,
            used,
        }
    };
    keys.into_iter().map(row).collect()
}

/// One row a data key of an attached database.
pub(in crate::exec) fn data_keys(planner: &Planner<'_>) -> Columns {
    let databases = planner.snapshot.attached();
    let rows: Vec<KeyRow<'_>> = databases
        .flat_map(|(name, database)| rows_of(name, &database.store))
        .collect();
    let texts = |of: &dyn Fn(&KeyRow<'_>) -> String| -> ArrayRef {
        let texts = rows.iter().map(|row| Some(of(row)));
        Arc::new(texts.collect::<StringArray>())
    };
    let ids = |of: &dyn Fn(&KeyRow<'_>) -> Option<u32>| -> ArrayRef {
        Arc::new(rows.iter().map(of).collect::<UInt32Array>())
    };
    let numbers = |of: &dyn Fn(&KeyUsage) -> u64| -> ArrayRef {
        let numbers = rows.iter().map(|row| row.used.as_ref().map(of));
        Arc::new(numbers.collect::<UInt64Array>())
    };
    let times = |of: &dyn Fn(&DataKeyInfo) -> Option<i64>| -> ArrayRef {
        let seconds = rows.iter().map(|row| of(&row.key));
        Arc::new(seconds.collect::<TimestampSecondArray>())
    };
    let newest = |row: &KeyRow<'_>| row.is_newest().then(|| row.store.is_data_key_due());
    let due: ArrayRef = Arc::new(rows.iter().map(newest).collect::<BooleanArray>());
    let after = |row: &KeyRow<'_>| {
        let days = row.store.data_key_age_days();
        days.filter(|_| row.is_newest())
    };
    vec![
        ("database_name", texts(&|row| row.name.to_owned())),
        ("key_id", ids(&|row| Some(row.key.id))),
        ("cipher", texts(&|row| row.key.suite.to_string())),
        ("made", times(&|key| key.made)),
        ("retired", times(&|key| key.ended)),
        ("blocks", numbers(&|used| used.blocks)),
        ("bytes", numbers(&|used| used.bytes)),
        ("rekey_after_days", ids(&after)),
        ("is_due", due),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_whole_days() {
        for (text, wanted) in [
            ("0", 0),
            ("90", 90),
            ("90 days", 90),
            (" 2 Weeks ", 14),
            ("3 months", 90),
            ("1 year", 365),
            ("100years", 36_500),
        ] {
            assert_eq!(days(text).unwrap(), wanted, "{text}");
        }
        for text in [
            "",
            "days",
            "-1",
            "1.5 days",
            "12 hours",
            "1 year 2 days",
            "101 years",
            "99999999999999999999",
            "never",
        ] {
            assert!(days(text).is_err(), "{text}");
        }
    }
}
