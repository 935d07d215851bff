//! A `match` that names column types names all of them, so that the compiler asks for a new one wherever it matters.

use crate::sources::{none, read, rust_files, shown};

/// Crates whose sources are judged: what is shipped and knows column types.
const JUDGED: [&str; 6] = [
    "crates/encoding/src/",
    "crates/hushdb/src/",
    "crates/query/src/",
    "crates/server/src/",
    "crates/sql/src/",
    "crates/storage/src/",
];

/// Whose last arm stands for types that a test does not make.
const EXCEPT: &str = "crates/encoding/src/codec/random_values.rs";

#[test]
fn matches_on_column_types_name_them_all() {
    let mut faults = Vec::new();
    for file in rust_files() {
        let path = shown(&file);
        if !JUDGED.iter().any(|judged| path.starts_with(judged)) || path == EXCEPT {
            continue;
        }
        let source = read(&file);
        let product = source
            .split("#[cfg(test)]\nmod ")
            .next()
            .unwrap_or_default();
        for line in open_matches(product) {
            faults.push(format!("{path}:{line} names some column types and a rest"));
        }
    }
    none(faults);
}

#[test]
fn the_judge_of_matches_sees_what_they_leave_open() {
    let source = |last: &str| {
        format!(
            "    match ty {{\n        ColumnType::Date => {{\n            1\n        }}\n        {last}\n    }}\n"
        )
    };
    for open in ["_ => 2,", "other => 2,", "ty if ty.is_nested() => 2,"] {
        assert_eq!(open_matches(&source(open)), [1], "{open}");
    }
    assert!(open_matches(&source("ColumnType::Time => 2,")).is_empty());
    assert!(
        open_matches(
            "    match n {\n        1 => ColumnType::Date,\n        _ => ColumnType::Time,\n    }\n"
        )
        .is_empty()
    );
}

/// Lines of a formatted source in which a `match` begins whose arms name column types and end with one that takes the rest.
fn open_matches(source: &str) -> Vec<usize> {
    let lines: Vec<&str> = source.lines().collect();
    let indent = |line: &str| line.len() - line.trim_start().len();
    let mut found = Vec::new();
    for (at, head) in lines.iter().enumerate() {
        if !head.contains("match ") || !head.ends_with('{') {
            continue;
        }
        let body = lines[at + 1..].iter();
        let body = body.take_while(|line| line.is_empty() || indent(line) > indent(head));
        let arms = body.filter(|line| indent(line) == indent(head) + 4);
        let patterns = arms.map(|arm| arm.split("=>").next().unwrap_or_default().trim());
        let patterns: Vec<&str> = patterns.collect();
        let names_some = patterns
            .iter()
            .any(|pattern| pattern.contains("ColumnType::"));
        let is_name = |pattern: &&str| {
            let first = pattern.split(' ').next().unwrap_or_default();
            first == "_" || (!first.is_empty() && first.chars().all(|c| c.is_ascii_lowercase()))
        };
        if names_some && patterns.iter().any(is_name) {
            found.push(at + 1);
        }
    }
    found
}
