//! The table of attacks names tests that are there.
//!
//! What must hold: each line of a table in `docs/ATTACKS.md` names a test, a script or a hostile file, and all that it names exists.

use std::path::Path;

use crate::sources::{none, read, workspace};

#[test]
fn each_attack_names_a_test_that_is_there() {
    let page = read(&workspace().join("docs/ATTACKS.md"));
    let rows: Vec<&str> = page
        .lines()
        .filter(|line| line.starts_with("| ") && !line.starts_with("| ---"))
        .filter(|line| {
            !["| attack |", "| statement |"]
                .iter()
                .any(|head| line.starts_with(head))
        })
        .collect();
    assert!(rows.len() > 70, "the page has {} lines", rows.len());
    let faults = rows.iter().flat_map(|row| {
        let held = row.trim_end_matches(" |").rsplit_once(" | ");
        let held = held.map_or("", |(_, held)| held);
        missing(held)
            .into_iter()
            .map(move |what| format!("{row}: {what}"))
    });
    none(faults.collect());
}

#[test]
fn the_judge_of_attacks_sees_what_is_not_there() {
    assert_eq!(missing("nothing is named").len(), 1);
    assert_eq!(missing("`sim/tests/house_rules/attacks.rs`").len(), 1);
    let own = "`sim/tests/house_rules/attacks.rs` `each_attack_names_a_test_that_is_there`";
    assert!(missing(own).is_empty());
    assert_eq!(missing(&format!("{own}, `no_such_test`")).len(), 1);
    assert_eq!(missing("`no/such/file.rs` `x`").len(), 2);
    assert_eq!(missing("`no/such.slt`, `no-such-case`").len(), 2);
}

/// What is named and is not there, and what is not named that must be.
fn missing(held: &str) -> Vec<String> {
    let manifest = read(&workspace().join("tests/testkit/MANIFEST.txt"));
    let names: Vec<&str> = held.split('`').skip(1).step_by(2).collect();
    let mut faults = Vec::new();
    if names.is_empty() {
        faults.push("no test is named".to_owned());
    }
    // The source that was named last, and whether a test of it was.
    let mut source: Option<(&str, String)> = None;
    for (at, name) in names.iter().enumerate() {
        let found = if name.ends_with(".rs") {
            let text = source_of(&workspace().join("crates").join(name));
            let is_there = text.is_some();
            let next = names.get(at + 1);
            if next.is_none_or(|next| next.contains(['.', '-'])) {
                faults.push(format!("{name} is named without a test"));
            }
            source = Some((name, text.unwrap_or_default()));
            is_there
        } else if name.ends_with(".slt") {
            workspace().join("tests/slt").join(name).is_file()
        } else if name.contains('-') {
            manifest.contains(name)
        } else {
            source
                .as_ref()
                .is_some_and(|(_, text)| text.contains(&format!("fn {name}(")))
        };
        if !found {
            faults.push(format!("{name} is not there"));
        }
    }
    faults
}

fn source_of(path: &Path) -> Option<String> {
    path.is_file().then(|| read(path))
}
