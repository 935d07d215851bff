//! Modules of a crate import one another one way.
//!
//! What must hold: the modules at the top of a crate make no circle, nor do those of the folders below, but for some that are named
//! here, each of which is one module to all others.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Folders below `crates`, within those that are a module to all others, whose files name each other still: one thing in several files. Take
/// a folder off when its circles are opened, never add one.
const ONE_THING: [&str; 14] = [
    "encoding/src/codec",
    "query/src/functions",
    "query/src/memory/spilling_join",
    "query/src/memory/windows",
    "query/src/plan",
    "query/src/scan",
    "querygen/src/tree",
    "server/src/session",
    "server/src/wire",
    "sim/src/disk",
    "sql/src/read_or_refuse",
    "storage/src/catalog",
    "storage/src/locks",
    "storage/src/store",
];

type Arrows = BTreeMap<String, BTreeSet<String>>;

#[test]
fn modules_import_one_way() {
    let mut faults = Vec::new();
    for folder in folders() {
        let arrows = arrows(&folder);
        let is_in_a_circle = |module: &&String| reaches_itself(&arrows, module);
        let in_a_circle: Vec<&String> = arrows.keys().filter(is_in_a_circle).collect();
        match ONE_THING.contains(&folder.as_str()) {
            true if in_a_circle.is_empty() => {
                faults.push(format!("{folder} has no circle: take it off the list"));
            }
            true => {}
            false => faults.extend(
                in_a_circle
                    .iter()
                    .map(|module| format!("{folder}: {module} imports what imports it")),
            ),
        }
    }
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}

#[test]
fn the_judge_sees_what_a_source_imports() {
    let source = "//! See crate::z.\nuse crate::a::A;\nuse crate::{b::{self, B}, c};\nfn f() { super::d::f(); super::super::e() }\n\
                  #[cfg(test)]\nmod tests { use crate::y; }";
    let imported = imports(source, &["x", "own"]);
    let shown: Vec<String> = imported.iter().map(|path| path.join("::")).collect();
    assert_eq!(shown, ["a::A", "b::self", "b::B", "c", "x::d::f", "e"]);
    let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let arrows = Arrows::from([
        ("a".into(), set(&["b"])),
        ("b".into(), set(&["c"])),
        ("c".into(), set(&["b"])),
    ]);
    assert!(reaches_itself(&arrows, "b") && !reaches_itself(&arrows, "a"));
}

/// Every folder of sources, from `crates` on.
fn folders() -> Vec<String> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut sources = Vec::new();
    for entry in fs::read_dir(&crates).expect("the repository is readable") {
        let source = entry
            .expect("the repository is readable")
            .path()
            .join("src");
        collect(&source, &mut sources);
    }
    let names = sources.iter().filter_map(|path| {
        let folder = path.parent()?.strip_prefix(&crates).ok()?;
        Some(folder.to_str()?.to_owned())
    });
    let folders: BTreeSet<String> = names.collect();
    assert!(folders.len() > 40, "{} folders", folders.len());
    folders.into_iter().collect()
}

/// What each module of a folder imports of the others.
fn arrows(folder: &str) -> Arrows {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let (name, within) = folder.split_once("/src").expect("sources lie in src");
    let root = crates.join(name).join("src");
    let within: Vec<&str> = within
        .split_terminator('/')
        .filter(|part| !part.is_empty())
        .collect();
    let mut sources = Vec::new();
    collect(&crates.join(folder), &mut sources);
    let mut found = Vec::new();
    for path in &sources {
        let module = module_path(path.strip_prefix(&root).expect("a source of the crate"));
        let parts: Vec<&str> = module.iter().map(String::as_str).collect();
        if let Some(of) = parts.get(within.len()) {
            let source = fs::read_to_string(path).expect("a source is readable");
            let imports = imports(&source, &parts);
            let owned = imports.into_iter().map(|path| path.join("::"));
            found.push(((*of).to_owned(), owned.collect::<Vec<_>>()));
        }
    }
    let modules: BTreeSet<String> = found.iter().map(|(module, _)| module.clone()).collect();
    let mut arrows = Arrows::new();
    for (module, imports) in found {
        let names = imports.iter().filter_map(|path| {
            let path: Vec<&str> = path.split("::").collect();
            let name = path.strip_prefix(within.as_slice())?.first()?;
            (modules.contains(*name) && *name != module).then(|| (*name).to_owned())
        });
        let others: Vec<String> = names.collect();
        arrows.entry(module).or_default().extend(others);
    }
    arrows
}

/// The module that a source is, from the root of its crate; that of a root itself is empty.
fn module_path(source: &Path) -> Vec<String> {
    let parts = source.iter().filter_map(|part| part.to_str());
    let mut parts: Vec<String> = parts
        .map(|part| part.trim_end_matches(".rs").to_owned())
        .collect();
    if parts
        .last()
        .is_some_and(|last| ["lib", "main", "mod"].contains(&last.as_str()))
    {
        parts.pop();
    }
    parts
}

fn collect(folder: &Path, sources: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("the repository is readable") {
        let path = entry.expect("the repository is readable").path();
        if path.is_dir() {
            collect(&path, sources);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            sources.push(path);
        }
    }
}

/// Paths from the root of the crate that a source names, without comments and unit tests, which stand at its end.
fn imports<'a>(source: &'a str, own: &[&'a str]) -> Vec<Vec<&'a str>> {
    let source = source
        .split("#[cfg(test)]\nmod ")
        .next()
        .unwrap_or_default();
    let lines = source
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"));
    let words: Vec<&str> = lines.flat_map(words).collect();
    let mut found = Vec::new();
    let mut at = 0;
    while at < words.len() {
        let mut base = match words[at] {
            "crate" => vec![],
            "super" => own[..own.len().saturating_sub(1)].to_vec(),
            _ => {
                at += 1;
                continue;
            }
        };
        at += 1;
        while words.get(at) == Some(&"::") && words.get(at + 1) == Some(&"super") {
            base.pop();
            at += 2;
        }
        if words.get(at) == Some(&"::") {
            at = read_path(&words, at + 1, base, &mut found);
        }
    }
    found
}

/// Reads `a::b` or `a::{b, c::d}` from a place on, and says where it ends.
fn read_path<'a>(
    words: &[&'a str],
    mut at: usize,
    mut path: Vec<&'a str>,
    found: &mut Vec<Vec<&'a str>>,
) -> usize {
    loop {
        match words.get(at) {
            Some(&"{") => {
                at += 1;
                while words.get(at).is_some_and(|word| *word != "}") {
                    at = match words[at] {
                        "," => at + 1,
                        _ => read_path(words, at, path.clone(), found),
                    };
                }
                return at + 1;
            }
            Some(name) if name.starts_with(|c: char| c.is_alphabetic() || c == '_') => {
                path.push(name);
                at += 1;
            }
            _ => return at + 1,
        }
        if words.get(at) != Some(&"::") {
            found.push(path);
            // `as` gives another name within the file alone.
            return if words.get(at) == Some(&"as") {
                at + 2
            } else {
                at
            };
        }
        at += 1;
    }
}

/// Names, `::` and single signs.
fn words(line: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = line.trim_start();
    while let Some(first) = rest.chars().next() {
        let is_name = |c: char| c.is_alphanumeric() || c == '_';
        let length = match first {
            c if is_name(c) => rest.find(|c| !is_name(c)).unwrap_or(rest.len()),
            ':' if rest.starts_with("::") => 2,
            c => c.len_utf8(),
        };
        words.push(&rest[..length]);
        rest = rest[length..].trim_start();
    }
    words
}

fn reaches_itself(arrows: &Arrows, module: &str) -> bool {
    let mut seen = BTreeSet::new();
    let mut left = vec![module];
    while let Some(at) = left.pop() {
        for next in arrows.get(at).into_iter().flatten() {
            if next == module {
                return true;
            }
            if seen.insert(next) {
                left.push(next);
            }
        }
    }
    false
}
