//! `coverage`: how many of DuckDB's functions HushDB knows, and how many of their documented examples have DuckDB's answer.
//!
//! A name is known if some call of it, with one of the numbers of arguments that it takes, or of its examples, is not refused for its
//! name.

use super::run_statement::{Outcome, outcome};
use super::theirs::{Callable, Theirs};
use super::{empty, shown_outcome};
use crate::failure::Result;
use crate::rival::Rival;
use hushdb::Connection;
use hushdb_querygen::Answer;
use std::collections::BTreeMap;
use std::io::{Write, stdout};
use std::path::Path;

/// What is given for each argument.
const ARGUMENTS: [&str; 4] = ["'a'", "1", "[1]", "DATE '2020-01-01'"];
/// Arguments that are tried at most.
const MOST_ARGUMENTS: usize = 6;

/// Examples are expressions of columns that nobody names: tables in which some of these are.
const TABLES: [&str; 6] = [
    "",
    " FROM (VALUES (1, 2, 'a'), (2, 3, 'b'), (3, 5, 'c')) v(x, y, z)",
    " FROM (VALUES (1, 2), (2, 3), (3, 5)) v(arg, val)",
    " FROM (VALUES (1, 2), (2, 3), (3, 5)) v(a, b)",
    " FROM (VALUES (true, 2), (false, 3)) v(a, b)",
    " FROM (VALUES ('1010'::BIT, 2)) v(a, b)",
];

/// Prints both counts, and what is missing.
pub(crate) fn coverage(directory: &Path) -> Result<()> {
    let mut theirs = Theirs::start(Rival::duckdb_answers(directory)?)?;
    let callables = theirs.callables()?;
    known(&callables)?;
    examples(&mut theirs, &callables)
}

#[derive(Default)]
struct Names<'a> {
    known: usize,
    missing: Vec<&'a str>,
}

fn known(callables: &[Callable]) -> Result<()> {
    let ours = empty()?;
    let mut kinds: BTreeMap<&str, Names<'_>> = BTreeMap::new();
    for callable in callables {
        let names = kinds.entry(&callable.kind).or_default();
        match is_known(&ours, callable) {
            true => names.known += 1,
            false => names.missing.push(&callable.name),
        }
    }
    for (kind, names) in kinds {
        let all = names.known + names.missing.len();
        let percent = 100.0 * names.known as f64 / all as f64;
        writeln!(
            stdout(),
            "{kind}: {} of {all} known, {percent:.0} %; missing: {}",
            names.known,
            names.missing.join(" ")
        )?;
    }
    Ok(())
}

fn is_known(ours: &Connection, callable: &Callable) -> bool {
    let counts = callable.counts.iter().copied().chain(0..4);
    let calls = counts
        .filter(|count| *count <= MOST_ARGUMENTS)
        .flat_map(|count| {
            ARGUMENTS.map(|argument| {
                let arguments = vec![argument; count].join(", ");
                match callable.kind.starts_with("table") {
                    true => format!("SELECT * FROM {}({arguments})", callable.name),
                    false => format!("SELECT {}({arguments})", callable.name),
                }
            })
        });
    let in_window = format!("SELECT {}(1) OVER ()", callable.name);
    let is_found = |sql: &str| match outcome(|| ours.execute(sql)) {
        Outcome::Rows(_) | Outcome::Panic(_) => true,
        Outcome::Error(_, text) => {
            let text = text.to_lowercase();
            ![
                "does not exist",
                "syntax error",
                "not found",
                "invalid function",
            ]
            .iter()
            .any(|refusal| text.contains(refusal))
        }
    };
    let documented = callable
        .examples
        .iter()
        .map(|text| format!("SELECT {text}"));
    calls
        .chain([in_window])
        .chain(documented)
        .any(|sql| is_found(&sql))
}

fn examples(theirs: &mut Theirs, callables: &[Callable]) -> Result<()> {
    let ours = empty()?;
    let (mut all, mut same, mut not_run) = (0, 0, 0);
    let documented = callables
        .iter()
        .filter(|callable| matches!(callable.kind.as_str(), "scalar" | "aggregate"));
    let texts = documented.flat_map(|callable| &callable.examples);
    for text in texts.filter(|text| !text.trim().is_empty()) {
        all += 1;
        let Some((sql, right)) = answered(theirs, text.trim().trim_end_matches(';'))? else {
            not_run += 1;
            continue;
        };
        let ours = outcome(|| ours.execute(&sql));
        match &ours {
            Outcome::Rows(answer) if answer.rows == right.rows => same += 1,
            other => writeln!(
                stdout(),
                "{sql}\n  hushdb: {}\n  duckdb: {:?}",
                shown_outcome(other),
                right.rows
            )?,
        }
    }
    writeln!(
        stdout(),
        "{all} examples: {same} equal, {} not, {not_run} that DuckDB itself refuses",
        all - same - not_run
    )?;
    Ok(())
}

/// The statement in which DuckDB runs an example, and its answer.
fn answered(theirs: &mut Theirs, example: &str) -> Result<Option<(String, Answer)>> {
    for table in TABLES {
        let sql = format!("SELECT {example}{table}");
        if let Ok(answer) = theirs.run(&sql)? {
            return Ok(Some((sql, answer)));
        }
    }
    Ok(None)
}
