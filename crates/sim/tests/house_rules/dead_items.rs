//! No `pub` item is there that nobody else names: it is private, or it is gone.

use std::collections::{BTreeMap, BTreeSet};

use crate::sources::{none, read, rust_files, shown};

/// Items that no other file names still, a line each: the file and the name. Take lines off, never add one.
const UNNAMED: &str = include_str!("dead_items.txt");

#[test]
fn public_items_are_named_elsewhere() {
    let sources: Vec<(String, String)> = rust_files()
        .iter()
        .map(|file| (shown(file), read(file)))
        .collect();
    let mut files_with = BTreeMap::<&str, usize>::new();
    for (_, source) in &sources {
        let named: BTreeSet<&str> = source.lines().flat_map(words).collect();
        for word in named {
            *files_with.entry(word).or_default() += 1;
        }
    }
    let mut listed: BTreeSet<String> = UNNAMED.lines().map(str::to_owned).collect();
    let mut faults = Vec::new();
    for (path, source) in &sources {
        if !path.contains("/src/") {
            continue;
        }
        let product = source.split("#[cfg(test)]\nmod ").next();
        for name in product.unwrap_or_default().lines().filter_map(public_item) {
            let item = format!("{path} {name}");
            if files_with.get(name).copied().unwrap_or_default() < 2 && !listed.remove(&item) {
                faults.push(format!("{item} is public, and no other file names it"));
            }
        }
    }
    let gone = listed.into_iter();
    faults.extend(gone.map(|item| format!("{item} is named or gone: take it off the list")));
    none(faults);
}

#[test]
fn the_judge_of_items_reads_their_heads() {
    let items = [
        ("pub fn one() {", Some("one")),
        ("    pub const fn two(", Some("two")),
        ("pub struct Three<T>(T);", Some("Three")),
        ("    pub const FOUR: u8 = 4;", Some("FOUR")),
        ("pub(crate) fn five() {}", None),
        ("pub mod six;", None),
        ("    pub seven: u8,", None),
    ];
    for (line, name) in items {
        assert_eq!(public_item(line), name, "{line}");
    }
    assert_eq!(words("a.b(C); // d").collect::<Vec<_>>(), ["a", "b", "C"]);
}

/// What the item is called that a line declares for other crates.
fn public_item(line: &str) -> Option<&str> {
    let mut words = line.trim_start().strip_prefix("pub ")?.split(' ');
    let mut kind = words.next()?;
    let mut name = words.next()?;
    while ["async", "unsafe"].contains(&kind) || (kind == "const" && name == "fn") {
        (kind, name) = (name, words.next()?);
    }
    let kinds = ["fn", "struct", "enum", "trait", "type", "const", "static"];
    let end = name.find(|c: char| !c.is_alphanumeric() && c != '_');
    kinds
        .contains(&kind)
        .then(|| &name[..end.unwrap_or(name.len())])
}

/// The names in a line, but for those in a comment.
fn words(line: &str) -> impl Iterator<Item = &str> {
    let code = line.split("//").next().unwrap_or_default();
    let names = code.split(|c: char| !c.is_alphanumeric() && c != '_');
    names.filter(|name| !name.is_empty())
}
