//! Names: kept as they are written, looked up in any case of letters, as in DuckDB.
//!
//! The planner compares names exactly. So it gets all of them in lower case, from tables ([`planned_names`]) as from statements
//! (`folding.rs`), and what they look like is put back on the columns that come out.
//!
//! What must hold: a name is written to a catalog as its owner wrote it, and never as the planner knows it.

use crate::error::{Error, Result};
use crate::reading::parse_object_name;
use hushdb_storage::{Column, same_name};
use sqlparser::ast::{ObjectName, ObjectNamePart};
use std::collections::{HashMap, HashSet};

/// A name as the planner knows it.
pub fn folded(name: &str) -> String {
    name.to_ascii_lowercase()
}

/// What goes by a name: that of exactly this name, else the only one that differs from it in case alone. Files from before may
/// have several.
pub fn find_named<'a, T, I>(items: I, name: &str, name_of: impl Fn(&T) -> &str) -> Option<&'a T>
where
    I: IntoIterator<Item = &'a T>,
    I::IntoIter: Clone,
{
    let mut items = items.into_iter();
    let at = position_of(items.clone().map(&name_of), name)?;
    items.nth(at)
}

/// The place of a name among others, likewise.
pub fn position_of<'a>(names: impl Iterator<Item = &'a str> + Clone, name: &str) -> Option<usize> {
    let exact = names.clone().position(|known| known == name);
    exact.or_else(|| {
        let mut alike = names
            .enumerate()
            .filter(|(_, known)| same_name(known, name));
        let (at, _) = alike.next()?;
        alike.next().is_none().then_some(at)
    })
}

/// Names of a table's columns as the planner knows them: two that differ in case alone stay as they are.
pub fn planned_names(columns: &[Column]) -> Vec<String> {
    let alike = alike(columns.iter().map(|column| column.name.as_str()));
    let names = columns.iter().map(|column| &column.name);
    names
        .map(|name| match alike.contains(name.as_str()) {
            true => name.clone(),
            false => folded(name),
        })
        .collect()
}

/// Names of which another differs in case alone.
pub fn alike<'a>(names: impl Iterator<Item = &'a str> + Clone) -> HashSet<&'a str> {
    // Names in lower case are distinct already.
    let has_upper = |name: &str| name.chars().any(|c| c.is_ascii_uppercase());
    if !names.clone().any(has_upper) {
        return HashSet::new();
    }
    let mut seen: HashMap<String, &str> = HashMap::new();
    let mut alike = HashSet::new();
    for name in names {
        if let Some(other) = seen.insert(folded(name), name) {
            alike.extend([other, name]);
        }
    }
    alike
}

/// The parts of a SQL name, as they are written.
pub fn name_parts(name: &ObjectName) -> Result<Vec<String>> {
    name.0
        .iter()
        .map(|part| match part {
            ObjectNamePart::Identifier(ident) => Ok(ident.value.clone()),
            ObjectNamePart::Function(_) => {
                Err(Error::binder(format!("{name} is not a name of a table")))
            }
        })
        .collect()
}

/// In bytes. Reading takes some hundred times as much, and nobody means a name that is longer.
const LONGEST_NAME: usize = 64 << 10;

/// The parts of a name that is written in a string: `database.schema`, with quotes where they are needed.
pub fn name_in_text(text: &str) -> Result<Vec<String>> {
    let name = (text.len() <= LONGEST_NAME).then(|| parse_object_name(text));
    match name {
        Some(Ok(name)) => name_parts(&name),
        _ => Err(Error::invalid(
            "a name reads like 'schema' or 'database.schema'",
        )),
    }
}

/// Whether a text may call `current_query()`.
pub fn names_current_query(text: &str) -> bool {
    let name = b"current_query";
    let mut parts = text.as_bytes().windows(name.len());
    parts.any(|part| part.eq_ignore_ascii_case(name))
}

/// Whether the last part of a name is this one, in any case.
pub fn same_parts(name: &ObjectName, last: &str) -> bool {
    let found = name.0.last().and_then(|part| part.as_ident());
    found.is_some_and(|part| same_name(&part.value, last))
}

/// A name as SQL text, which means this name and no other that differs from it in case alone.
pub fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A name as SQL text, quoted where it has to be.
pub fn quote(name: &str) -> String {
    let plain = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    match plain {
        true => name.to_string(),
        false => quoted(name),
    }
}

/// Words that the parser knows, in lower case.
pub fn keywords() -> impl Iterator<Item = String> {
    sqlparser::keywords::ALL_KEYWORDS
        .iter()
        .map(|word| word.to_lowercase())
}
