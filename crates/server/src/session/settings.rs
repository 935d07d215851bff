//! `Settings`: what SET, SHOW and the startup packet say, with PostgreSQL's names.
//!
//! What must hold: a value that would mean something else than it says is refused, not kept.

use crate::sql_error::SqlError;
use hushdb::{HostSetting, TimeZone};
use std::collections::{BTreeMap, BTreeSet};

/// A setting: its name as clients see it, what it is at the start, and whether its change is told them.
struct Known {
    name: &'static str,
    default: &'static str,
    reported: bool,
    rule: Rule,
}

/// Which values a setting takes.
enum Rule {
    /// Any, since it says nothing to the server.
    Any,
    /// These alone, in any case of letters; the first is what is kept.
    Only(&'static [&'static str]),
    /// One of these, in any case of letters, as it is said here.
    OneOf(&'static [&'static str]),
    /// A time, in milliseconds where no unit is said.
    Milliseconds,
    /// A number.
    Number,
    /// A time zone that the engine knows, as it calls it.
    TimeZone,
    /// It cannot be set.
    Fixed,
}

const fn known(name: &'static str, default: &'static str, reported: bool, rule: Rule) -> Known {
    Known {
        name,
        default,
        reported,
        rule,
    }
}

/// The version that clients ask for what they may send.
pub(crate) const SERVER_VERSION: &str = concat!("15.0 (HushDB ", env!("CARGO_PKG_VERSION"), ")");

const UTF8: &[&str] = &["UTF8", "utf-8", "unicode"];
/// What PostgreSQL takes for UTC beside its names.
const UTC: &[&str] = &["z", "0", "+00", "utc0"];
const ISO: &[&str] = &[
    "ISO, MDY", "iso", "iso, dmy", "iso, ymd", "mdy", "dmy", "ymd",
];
const ON: &[&str] = &["on", "true", "yes", "1"];
const OFF: &[&str] = &["off", "false", "no", "0"];
const ISOLATION: &[&str] = &["read committed", "repeatable read"];
const DIALECTS: &[&str] = &["postgres", "duckdb"];

const KNOWN: [Known; 39] = [
    known("application_name", "", true, Rule::Any),
    known("bytea_output", "hex", false, Rule::Only(&["hex"])),
    known("check_function_bodies", "on", false, Rule::Any),
    known("client_encoding", "UTF8", true, Rule::Only(UTF8)),
    known("client_min_messages", "notice", false, Rule::Any),
    known("DateStyle", "ISO, MDY", true, Rule::Only(ISO)),
    known(
        "default_table_access_method",
        "heap",
        false,
        Rule::Only(&["heap"]),
    ),
    known(
        "default_tablespace",
        "",
        false,
        Rule::Only(&["", "pg_default"]),
    ),
    known(
        "default_text_search_config",
        "pg_catalog.simple",
        false,
        Rule::Any,
    ),
    known(
        "default_transaction_isolation",
        "read committed",
        false,
        Rule::OneOf(ISOLATION),
    ),
    known(
        "default_transaction_read_only",
        "off",
        true,
        Rule::Only(OFF),
    ),
    known("escape_string_warning", "on", false, Rule::Any),
    known("extra_float_digits", "1", false, Rule::Number),
    known("geqo", "on", false, Rule::Any),
    known(
        "idle_in_transaction_session_timeout",
        "0",
        false,
        Rule::Milliseconds,
    ),
    known("in_hot_standby", "off", true, Rule::Fixed),
    known("integer_datetimes", "on", true, Rule::Fixed),
    known("IntervalStyle", "postgres", true, Rule::Only(&["postgres"])),
    known("is_superuser", "off", true, Rule::Fixed),
    known("jit", "off", false, Rule::Any),
    known("lc_messages", "C", false, Rule::Any),
    known("lock_timeout", "0", false, Rule::Milliseconds),
    known("max_index_keys", "32", false, Rule::Fixed),
    known("max_identifier_length", "63", false, Rule::Fixed),
    known("row_security", "on", false, Rule::Any),
    known("search_path", "\"$user\", public", false, Rule::Any),
    known("server_encoding", "UTF8", true, Rule::Fixed),
    known("server_version", SERVER_VERSION, true, Rule::Fixed),
    known("server_version_num", "150000", false, Rule::Fixed),
    known("session_authorization", "", true, Rule::Fixed),
    known("sql_dialect", "postgres", false, Rule::OneOf(DIALECTS)),
    known("standard_conforming_strings", "on", true, Rule::Only(ON)),
    known("statement_timeout", "0", false, Rule::Milliseconds),
    known("synchronous_commit", "on", false, Rule::Only(ON)),
    known("synchronize_seqscans", "on", false, Rule::Any),
    known("TimeZone", "UTC", true, Rule::TimeZone),
    known(
        "transaction_isolation",
        "read committed",
        false,
        Rule::OneOf(ISOLATION),
    ),
    known("transform_null_equals", "off", false, Rule::Only(OFF)),
    known("xmloption", "content", false, Rule::Any),
];

/// The settings of a session that are not as they are at the start.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    changed: BTreeMap<String, String>,
    /// What RESET goes back to, as the startup packet says it.
    at_start: BTreeMap<String, String>,
    /// What stands behind a SET LOCAL, until the transaction ends.
    behind_local: BTreeMap<String, Option<String>>,
    /// What a ROLLBACK goes back to: the beginning of the transaction that is open, then its savepoints.
    points: Vec<Point>,
    /// The level of the transaction that is open; `None` where none is.
    pub(crate) of_block: Option<String>,
}

/// The settings at the beginning of a transaction or at a savepoint.
#[derive(Clone, Debug)]
struct Point {
    /// Of the savepoint.
    name: Option<String>,
    changed: BTreeMap<String, String>,
    behind_local: BTreeMap<String, Option<String>>,
}

fn find(name: &str) -> Option<&'static Known> {
    KNOWN
        .iter()
        .find(|known| known.name.eq_ignore_ascii_case(name))
}

/// Whether there is such a setting.
pub(crate) fn is_known(name: &str) -> bool {
    find(name).is_some()
}

pub(crate) fn unknown(name: &str) -> SqlError {
    SqlError::new(
        "42704",
        format!("unrecognized configuration parameter \"{name}\""),
    )
}

impl Settings {
    /// A value; names with a dot may have any.
    pub(crate) fn get(&self, name: &str) -> Option<String> {
        self.value(&name.to_lowercase()).map(str::to_owned)
    }

    /// The same of a name in small letters: some are asked for with every message.
    pub(crate) fn value(&self, key: &str) -> Option<&str> {
        if key == "transaction_isolation" {
            let own = || self.value("default_transaction_isolation");
            return self.of_block.as_deref().or_else(own);
        }
        let set = self.changed.get(key).or_else(|| self.at_start.get(key));
        set.map(String::as_str)
            .or_else(|| find(key).map(|known| known.default))
    }

    /// A value as SHOW has it: times with their unit.
    pub(crate) fn shown(&self, name: &str) -> Option<String> {
        let value = self.get(name)?;
        let is_time = find(name).is_some_and(|known| matches!(known.rule, Rule::Milliseconds));
        match value.parse::<u64>() {
            Ok(time) if is_time && time > 0 => Some(with_unit(time)),
            _ => Some(value),
        }
    }

    /// The time zone in which instants are shown.
    pub(crate) fn time_zone(&self) -> TimeZone {
        let name = self.value("timezone").unwrap_or_default();
        TimeZone::named(name).map_or(TimeZone::UTC, |(zone, _)| zone)
    }

    /// Milliseconds of a timeout, whose name is in small letters; 0 for none.
    pub(crate) fn milliseconds(&self, key: &str) -> u64 {
        self.value(key).and_then(milliseconds).unwrap_or(0)
    }

    /// The value as it is kept.
    ///
    /// # Errors
    /// 42704 for a setting that is not there, 22023 for a value that it does not take, 55P02 for one that cannot be set.
    fn checked(name: &str, value: &str) -> Result<String, SqlError> {
        let Some(known) = find(name) else {
            return match name.contains('.') {
                true => Ok(value.to_owned()),
                false => Err(unknown(name)),
            };
        };
        let wrong = || {
            SqlError::new(
                "22023",
                format!("invalid value for parameter \"{}\"", known.name),
            )
        };
        match &known.rule {
            Rule::Any => Ok(value.to_owned()),
            Rule::Only(values) => {
                let value = value.trim().trim_matches('\'');
                let fits = values.iter().any(|known| known.eq_ignore_ascii_case(value));
                let kept = values.first().copied().unwrap_or(value);
                match fits {
                    true => Ok(kept.to_owned()),
                    false => Err(SqlError::new(
                        "0A000",
                        format!(
                            "the parameter \"{}\" takes {} alone",
                            known.name,
                            values.first().unwrap_or(&"")
                        ),
                    )),
                }
            }
            Rule::OneOf(values) => {
                let value = value.trim().trim_matches('\'');
                let mut known = values.iter();
                let known = known.find(|known| known.eq_ignore_ascii_case(value));
                known.map(|known| (*known).to_owned()).ok_or_else(wrong)
            }
            Rule::Milliseconds => milliseconds(value)
                .map(|ms| ms.to_string())
                .ok_or_else(wrong),
            Rule::Number => value
                .trim()
                .parse::<i32>()
                .map(|n| n.to_string())
                .map_err(|_| wrong()),
            Rule::TimeZone => {
                let value = value.trim().trim_matches('\'');
                let is_utc = UTC.iter().any(|utc| utc.eq_ignore_ascii_case(value));
                let found = TimeZone::named(if is_utc { "UTC" } else { value });
                let name = found.map(|(_, name)| name.to_owned());
                name.ok_or_else(wrong)
            }
            Rule::Fixed => Err(SqlError::new(
                "55P02",
                format!("parameter \"{}\" cannot be changed", known.name),
            )),
        }
    }

    /// Sets a value, to the end of the transaction if it is local. Gives name and value if clients are told.
    ///
    /// # Errors
    /// As `checked`.
    pub(crate) fn set(
        &mut self,
        name: &str,
        value: Option<&str>,
        local: bool,
    ) -> Result<Option<(&'static str, String)>, SqlError> {
        let key = name.to_lowercase();
        if !local {
            self.behind_local.remove(&key);
        } else {
            let before = self.changed.get(&key).cloned();
            self.behind_local.entry(key.clone()).or_insert(before);
        }
        match value {
            Some(value) => {
                let value = Self::checked(name, value)?;
                self.changed.insert(key, value);
            }
            None if find(name).is_none() && !name.contains('.') => return Err(unknown(name)),
            None => drop(self.changed.remove(&key)),
        }
        Ok(self.reported(name))
    }

    /// `set_config` within a query: of settings that say nothing to the server, and of those of the user's own, with a dot.
    ///
    /// # Errors
    /// As `checked`, and 0A000 for others.
    pub(crate) fn set_in_query(
        &mut self,
        name: &str,
        value: &str,
        local: bool,
    ) -> Result<String, SqlError> {
        let is_plain = match find(name) {
            None => name.contains('.'),
            Some(known) => {
                matches!(known.rule, Rule::Any) && !known.reported && name != "search_path"
            }
        };
        if !is_plain && find(name).is_some() {
            let missing = SqlError::missing(&format!("set_config of {name} within a query"));
            return Err(missing.with_hint("write SET, or SELECT set_config(...) by itself"));
        }
        self.set(name, Some(value), local)?;
        Ok(self.get(name).unwrap_or_default())
    }

    fn reported(&self, name: &str) -> Option<(&'static str, String)> {
        let known = find(name).filter(|known| known.reported)?;
        Some((known.name, self.get(name)?))
    }

    /// Sets what the server knows of the session.
    pub(crate) fn fix(&mut self, name: &str, value: &str) {
        self.at_start.insert(name.to_lowercase(), value.to_owned());
    }

    /// Sets what the startup packet says.
    ///
    /// # Errors
    /// As `checked`.
    pub(crate) fn set_at_start(&mut self, name: &str, value: &str) -> Result<(), SqlError> {
        let value = Self::checked(name, value)?;
        self.at_start.insert(name.to_lowercase(), value);
        Ok(())
    }

    /// Goes back to the start. Gives what clients are told.
    pub(crate) fn reset_all(&mut self) -> Vec<(&'static str, String)> {
        let names: Vec<String> = std::mem::take(&mut self.changed).into_keys().collect();
        names
            .iter()
            .filter_map(|name| self.reported(name))
            .collect()
    }

    /// A transaction begins, unless one is open: a ROLLBACK goes back to here.
    pub(crate) fn begin(&mut self) {
        if self.points.is_empty() {
            self.points.push(self.point(None));
        }
    }

    fn point(&self, name: Option<&str>) -> Point {
        Point {
            name: name.map(str::to_owned),
            changed: self.changed.clone(),
            behind_local: self.behind_local.clone(),
        }
    }

    /// A savepoint, to which a ROLLBACK TO goes back.
    pub(crate) fn savepoint(&mut self, name: &str) {
        self.points.push(self.point(Some(name)));
    }

    fn place_of(&self, name: &str) -> Option<usize> {
        let mut points = self.points.iter();
        points.rposition(|point| point.name.as_deref() == Some(name))
    }

    /// A savepoint and those behind it are no more; what was set since stays.
    pub(crate) fn release(&mut self, name: &str) {
        if let Some(at) = self.place_of(name) {
            self.points.truncate(at);
        }
    }

    /// What was set since a savepoint is undone, which stays. Gives the names of settings that have changed by that.
    pub(crate) fn back_to(&mut self, name: &str) -> Vec<String> {
        let Some(at) = self.place_of(name) else {
            return vec![];
        };
        self.points.truncate(at + 1);
        let Some(point) = self.points.last().cloned() else {
            return vec![];
        };
        self.behind_local = point.behind_local;
        let old = std::mem::replace(&mut self.changed, point.changed);
        self.other_than(&old)
    }

    /// A transaction has ended: what was local is as it was, and where it is not `kept`, all else that was set in it. Gives the names of
    /// settings that have changed by that.
    pub(crate) fn end_transaction(&mut self, kept: bool) -> Vec<String> {
        let begun = std::mem::take(&mut self.points).into_iter().next();
        let mut local = std::mem::take(&mut self.behind_local);
        if local.is_empty() && (kept || begun.is_none()) {
            return vec![];
        }
        let old = self.changed.clone();
        if let (false, Some(begun)) = (kept, begun) {
            self.changed = begun.changed;
            local = begun.behind_local;
        }
        for (name, before) in local {
            match before {
                Some(value) => drop(self.changed.insert(name, value)),
                None => drop(self.changed.remove(&name)),
            }
        }
        self.other_than(&old)
    }

    fn other_than(&self, old: &BTreeMap<String, String>) -> Vec<String> {
        let names: BTreeSet<&String> = old.keys().chain(self.changed.keys()).collect();
        let changed = names
            .into_iter()
            .filter(|name| old.get(*name) != self.changed.get(*name));
        changed.cloned().collect()
    }

    /// What clients are told of settings.
    pub(crate) fn told(&self, names: &[String]) -> Vec<(&'static str, String)> {
        let told = names.iter().filter_map(|name| self.reported(name));
        told.collect()
    }

    /// All that there are.
    pub(crate) fn all(&self) -> Vec<HostSetting> {
        let of_start = |known: &Known| {
            let set = self.at_start.get(&known.name.to_lowercase()).cloned();
            set.unwrap_or_else(|| known.default.to_owned())
        };
        KNOWN
            .iter()
            .map(|known| HostSetting {
                name: known.name.to_owned(),
                value: self.get(known.name).unwrap_or_default(),
                reset_value: of_start(known),
            })
            .collect()
    }

    /// All that clients are told at the start.
    pub(crate) fn all_reported(&self) -> Vec<(&'static str, String)> {
        KNOWN
            .iter()
            .filter_map(|known| self.reported(known.name))
            .collect()
    }
}

/// `5000`, `5s`, `500 ms`, `1min`.
fn milliseconds(text: &str) -> Option<u64> {
    let text = text.trim();
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at_checked(end)?;
    let factor = match unit.trim() {
        "" | "ms" => 1,
        "s" => 1_000,
        "min" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return None,
    };
    number
        .parse::<u64>()
        .ok()?
        .checked_mul(factor)
        .filter(|ms| *ms <= i32::MAX as u64)
}

/// The largest unit that a time in milliseconds is a whole number of.
fn with_unit(time: u64) -> String {
    let units = [
        (86_400_000, "d"),
        (3_600_000, "h"),
        (60_000, "min"),
        (1_000, "s"),
    ];
    let unit = units
        .iter()
        .find(|(factor, _)| time.is_multiple_of(*factor));
    let (factor, unit) = unit.copied().unwrap_or((1, "ms"));
    format!("{}{unit}", time / factor)
}

/// The settings in the startup option `options`: `-c name=value`, `--name=value`.
pub(crate) fn of_options(text: &str) -> Option<Vec<(String, String)>> {
    let mut words = vec![];
    let mut word = String::new();
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => word.push(letters.next()?),
            ' ' => words.push(std::mem::take(&mut word)),
            other => word.push(other),
        }
    }
    words.push(word);
    let mut words = words.into_iter().filter(|word| !word.is_empty());
    let mut settings = vec![];
    while let Some(word) = words.next() {
        let setting = match word.as_str() {
            "-c" => words.next()?,
            _ => word
                .strip_prefix("--")
                .or_else(|| word.strip_prefix("-c"))?
                .to_owned(),
        };
        let (name, value) = setting.split_once('=')?;
        settings.push((name.replace('-', "_"), value.to_owned()));
    }
    Some(settings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_kept_or_refused() {
        let mut settings = Settings::default();
        assert_eq!(
            settings
                .set("client_encoding", Some("'utf-8'"), false)
                .unwrap(),
            Some(("client_encoding", "UTF8".into()))
        );
        assert_eq!(
            settings
                .set("client_encoding", Some("LATIN1"), false)
                .unwrap_err()
                .sqlstate,
            "0A000"
        );
        for (zone, kept) in [
            ("europe/berlin", "Europe/Berlin"),
            ("z", "UTC"),
            ("'GMT'", "GMT"),
        ] {
            let told = settings.set("timezone", Some(zone), false).unwrap();
            assert_eq!(told, Some(("TimeZone", kept.into())));
        }
        let wrong = settings.set("timezone", Some("+02"), false).unwrap_err();
        assert_eq!(wrong.sqlstate, "22023");
        assert_eq!(
            settings
                .set("nonsense", Some("1"), false)
                .unwrap_err()
                .sqlstate,
            "42704"
        );
        assert_eq!(
            settings
                .set("server_version", Some("1"), false)
                .unwrap_err()
                .sqlstate,
            "55P02"
        );
        assert!(settings.set("my.own", Some("1"), false).is_ok());
        assert_eq!(settings.set_in_query("jit", "off", false).unwrap(), "off");
        assert_eq!(settings.set_in_query("my.own", "2", true).unwrap(), "2");
        for (name, sqlstate) in [
            ("timezone", "0A000"),
            ("search_path", "0A000"),
            ("x", "42704"),
        ] {
            let refused = settings.set_in_query(name, "UTC", false).unwrap_err();
            assert_eq!(refused.sqlstate, sqlstate, "{name}");
        }
        settings
            .set(
                "default_transaction_isolation",
                Some("repeatable read"),
                false,
            )
            .unwrap();
        let shown = settings.get("transaction_isolation");
        assert_eq!(shown.as_deref(), Some("repeatable read"));
        settings.set("statement_timeout", Some("2s"), true).unwrap();
        assert_eq!(settings.milliseconds("statement_timeout"), 2_000);
        settings.end_transaction(true);
        assert_eq!(settings.milliseconds("statement_timeout"), 0);
        assert!(settings.set("statement_timeout", Some("x"), false).is_err());
    }

    #[test]
    fn what_is_set_in_a_transaction_ends_as_it_does() {
        let mut settings = Settings::default();
        let set = |settings: &mut Settings, to: &str, local| {
            settings.set("statement_timeout", Some(to), local).unwrap();
        };
        let shown = |settings: &Settings| settings.shown("statement_timeout").unwrap();
        settings.begin();
        set(&mut settings, "5s", false);
        assert_eq!(settings.end_transaction(false), ["statement_timeout"]);
        assert_eq!(shown(&settings), "0");
        settings.begin();
        set(&mut settings, "9000", true);
        set(&mut settings, "90s", false);
        assert!(settings.end_transaction(true).is_empty());
        assert_eq!(shown(&settings), "90s");
        settings.begin();
        set(&mut settings, "3s", false);
        settings.savepoint("a");
        set(&mut settings, "1ms", true);
        settings.savepoint("b");
        settings.release("b");
        assert_eq!(settings.back_to("a"), ["statement_timeout"]);
        assert_eq!(shown(&settings), "3s");
        set(&mut settings, "120000", true);
        assert_eq!(shown(&settings), "2min");
        settings.end_transaction(true);
        assert_eq!(shown(&settings), "3s");
    }

    #[test]
    fn options_of_the_startup_packet_are_read() {
        let read = of_options("-c statement_timeout=5000 --search-path=a\\ b").unwrap();
        assert_eq!(read[0], ("statement_timeout".into(), "5000".into()));
        assert_eq!(read[1], ("search_path".into(), "a b".into()));
        assert_eq!(of_options("-x"), None);
    }
}
