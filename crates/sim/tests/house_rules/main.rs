//! The rules of the house, run over the whole repository.
//!
//! What must hold: crates depend on each other along the arrows of `docs/ARCHITECTURE.md` and on the libraries that
//! are theirs; clocks and files by name are called in their rooms; files stay small, say at their head what they are, and
//! carry no marker of unfinished work; `lib.rs` has no logic; unsafe code is forbidden; nothing names the machine that it
//! was written on. The words that are looked for are put together here from parts, so that this file holds to its own rules.

mod attacks;
mod column_types;
mod dead_items;
mod number_types;
mod rooms;
mod sources;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use sources::{
    extension, files, first_logic, functions, none, read, rust_files, rust_lines, shown, workspace,
};

/// Lines that a Rust file may have.
const FILE_LINES: usize = 700;

/// Files that are longer, each with its ceiling: lower a ceiling when the file shrinks, never raise one.
const LONGER_FILES: [(&str, usize); 0] = [];

/// Lines that a function may have.
const FUNCTION_LINES: usize = 70;

/// Functions that are longer, a line each: file, name and ceiling. Lower a ceiling when one shrinks, never raise or add one.
const LONGER_FUNCTIONS: &str = include_str!("longer_functions.txt");

/// The crates of this workspace that each crate may name.
const EDGES: [(&str, &[&str]); 15] = [
    ("hushdb-querygen", &[]),
    ("hushdb-pages", &[]),
    ("hushdb-crypto", &["hushdb-pages"]),
    ("hushdb-keys", &["hushdb-crypto"]),
    ("hushdb-encoding", &[]),
    (
        "hushdb-storage",
        &["hushdb-crypto", "hushdb-keys", "hushdb-encoding"],
    ),
    (
        "hushdb-sql",
        &["hushdb-crypto", "hushdb-keys", "hushdb-storage"],
    ),
    (
        "hushdb-query",
        &["hushdb-pages", "hushdb-storage", "hushdb-sql"],
    ),
    (
        "hushdb-files",
        &["hushdb-storage", "hushdb-sql", "hushdb-query"],
    ),
    (
        "hushdb",
        &[
            "hushdb-pages",
            "hushdb-crypto",
            "hushdb-keys",
            "hushdb-storage",
            "hushdb-sql",
            "hushdb-query",
            "hushdb-files",
            "hushdb-querygen",
        ],
    ),
    // Places for keys that are asked over a network: whoever makes a program of the library chooses them.
    ("hushdb-kms", &["hushdb-crypto", "hushdb-keys"]),
    ("hushdb-server", &["hushdb", "hushdb-sim"]),
    ("hushdb-cli", &["hushdb", "hushdb-kms", "hushdb-server"]),
    (
        "hushdb-bench",
        &[
            "hushdb",
            "hushdb-storage",
            "hushdb-keys",
            "hushdb-kms",
            "hushdb-crypto",
            "hushdb-querygen",
        ],
    ),
    (
        "hushdb-sim",
        &["hushdb", "hushdb-storage", "hushdb-keys", "hushdb-crypto"],
    ),
];

/// Libraries (by the start of their name) that stay within the named crates.
const OWNED_LIBRARIES: [(&str, &[&str]); 34] = [
    // The simulated disk, for tests; nothing that is shipped has it.
    ("hushdb-sim", &[]),
    // It makes queries for tests; nothing that is shipped has it.
    ("hushdb-querygen", &["hushdb-bench"]),
    ("libc", &["hushdb-pages"]),
    ("memmap2", &["hushdb-pages"]),
    ("tikv", &["hushdb-pages"]),
    ("aws-lc", &["hushdb-crypto", "hushdb-bench"]),
    ("ring", &[]),
    ("openssl", &[]),
    ("aes", &["hushdb-crypto"]),
    ("ctr", &["hushdb-crypto"]),
    ("argon2", &["hushdb-crypto"]),
    ("getrandom", &["hushdb-crypto"]),
    ("vortex", &["hushdb-encoding"]),
    // Its errors and its parser are what the SQL front has of the engine.
    (
        "datafusion",
        &["hushdb", "hushdb-files", "hushdb-query", "hushdb-sql"],
    ),
    ("sqlparser", &["hushdb-sql"]),
    ("tpchgen", &["hushdb"]),
    ("rustyline", &["hushdb-cli"]),
    // Files of others.
    ("parquet", &["hushdb-files"]),
    ("object_store", &[]),
    ("flate2", &["hushdb-files"]),
    ("zstd", &["hushdb-files"]),
    // Patterns of file names, where directories are listed.
    ("glob", &["hushdb-storage"]),
    // The network is asked for keys in one crate, and listened to in another.
    ("ureq", &["hushdb-kms"]),
    ("rustls", &["hushdb-kms", "hushdb-server"]),
    ("cryptoki", &["hushdb-kms"]),
    ("tokio", &["hushdb", "hushdb-query"]),
    ("rcgen", &["hushdb-server"]),
    ("stringprep", &["hushdb-server"]),
    ("unicode-normalization", &["hushdb-query"]),
    // Finds bytes in the text of files.
    ("memchr", &["hushdb-files"]),
    // Functions of SQL alone; what is kept has its digests from the provider.
    ("md-5", &["hushdb-query"]),
    ("sha1", &["hushdb-query"]),
    ("libm", &["hushdb-query"]),
    // Names that may have been meant.
    ("strsim", &["hushdb-sql"]),
];

#[test]
fn crates_depend_along_the_arrows() {
    let members = workspace_packages();
    let names: Vec<&str> = members
        .iter()
        .map(|package| text(package, "name"))
        .collect();
    let mut faults = Vec::new();
    for package in &members {
        let name = text(package, "name");
        let Some((_, allowed)) = EDGES.iter().find(|(from, _)| *from == name) else {
            faults.push(format!("{name} is not in the plan of the house"));
            continue;
        };
        for dependency in dependencies(package) {
            if names.contains(&dependency) && dependency != name && !allowed.contains(&dependency) {
                faults.push(format!("{name} must not depend on {dependency}"));
            }
        }
    }
    none(faults);
}

#[test]
fn libraries_stay_with_their_owners() {
    let mut faults = Vec::new();
    for package in workspace_packages() {
        let name = text(&package, "name");
        for dependency in shipped_dependencies(&package) {
            for (library, owners) in OWNED_LIBRARIES {
                let named = dependency == library || dependency.starts_with(&format!("{library}-"));
                if named && !owners.contains(&name) {
                    faults.push(format!("{name} must not depend on {dependency}"));
                }
            }
        }
    }
    none(faults);
}

#[test]
fn unsafe_code_is_forbidden_everywhere_but_in_four_files() {
    // Its lints deny unsafe code too, but can be told otherwise.
    let crate_with_it = "crates/pages/Cargo.toml";
    let files_with_it = [
        "crates/pages/src/freed_memory.rs",
        "crates/pages/src/heap.rs",
        "crates/pages/src/heaps.rs",
        "crates/pages/src/wipe_on_fork.rs",
    ];
    let mut faults = Vec::new();
    let root = read(&workspace().join("Cargo.toml"));
    let lints = root
        .split("[workspace.lints.rust]")
        .nth(1)
        .unwrap_or_default();
    let lints = lints.split("\n[").next().unwrap_or_default();
    if !lints
        .lines()
        .any(|line| line.trim() == "unsafe_code = \"forbid\"")
    {
        faults.push("the workspace's lints do not forbid unsafe code".to_owned());
    }
    for file in files()
        .into_iter()
        .filter(|file| file.ends_with("Cargo.toml"))
    {
        let manifest = read(&file);
        let denies = manifest.contains("unsafe_code = \"deny\"");
        if shown(&file) == crate_with_it && denies {
            continue;
        }
        if manifest.contains("[package]") && !manifest.contains("[lints]\nworkspace = true") {
            faults.push(format!(
                "{} does not take the workspace's lints",
                shown(&file)
            ));
        }
    }
    let loosened = ["allow", "warn", "expect"].map(|level| format!("{level}(unsafe{}", "_code"));
    for file_with_it in files_with_it {
        let calls = rust_lines().into_iter().filter(|(file, _, content)| {
            shown(file) == file_with_it && content.contains(&["unsa", "fe {"].concat())
        });
        let calls = calls.count();
        if calls != 1 {
            faults.push(format!("{file_with_it} has {calls} unsafe blocks, not one"));
        }
    }
    for (file, line, content) in rust_lines() {
        if files_with_it.contains(&shown(&file).as_str()) {
            continue;
        }
        if loosened.iter().any(|attribute| content.contains(attribute)) {
            faults.push(format!(
                "{}:{line} loosens the lint on unsafe code",
                shown(&file)
            ));
        }
    }
    none(faults);
}

#[test]
fn files_stay_small() {
    let mut faults = Vec::new();
    let mut longer: Vec<&str> = LONGER_FILES.iter().map(|(path, _)| *path).collect();
    for file in rust_files() {
        let path = shown(&file);
        let lines = read(&file).lines().count();
        match LONGER_FILES.iter().find(|(longer, _)| *longer == path) {
            Some((_, ceiling)) => {
                longer.retain(|entry| *entry != path);
                if lines > *ceiling {
                    faults.push(format!(
                        "{path} has {lines} lines, its ceiling is {ceiling}"
                    ));
                } else if lines <= FILE_LINES {
                    faults.push(format!("{path} is short enough: take it off the list"));
                }
            }
            None if lines > FILE_LINES => {
                faults.push(format!("{path} has {lines} lines, over {FILE_LINES}"))
            }
            None => {}
        }
    }
    faults.extend(
        longer
            .into_iter()
            .map(|path| format!("{path} is listed as longer and does not exist")),
    );
    none(faults);
}

#[test]
fn functions_stay_short() {
    let listed: Vec<(&str, usize)> = LONGER_FUNCTIONS
        .lines()
        .filter_map(|line| line.rsplit_once(' '))
        .map(|(name, ceiling)| (name, ceiling.parse().expect("a ceiling is a number")))
        .collect();
    let mut unseen = listed.clone();
    let mut faults = Vec::new();
    for file in rust_files() {
        // Of those with one name, the longest.
        let source = read(&file);
        let mut longest = BTreeMap::<&str, usize>::new();
        for (name, lines) in functions(&source) {
            let length = longest.entry(name).or_default();
            *length = lines.max(*length);
        }
        for (name, lines) in longest {
            let name = format!("{} {name}", shown(&file));
            let entry = listed.iter().find(|(listed, _)| *listed == name);
            unseen.retain(|(listed, _)| *listed != name);
            match entry {
                None if lines > FUNCTION_LINES => {
                    faults.push(format!("{name} has {lines} lines, over {FUNCTION_LINES}"));
                }
                Some((_, ceiling)) if lines > *ceiling => {
                    faults.push(format!(
                        "{name} has {lines} lines, its ceiling is {ceiling}"
                    ));
                }
                Some((_, ceiling)) if lines < *ceiling => {
                    faults.push(format!(
                        "{name} has shrunk to {lines} lines: say so in the list, or take it off"
                    ));
                }
                _ => {}
            }
        }
    }
    faults.extend(
        unseen
            .into_iter()
            .map(|(name, _)| format!("{name} is listed and is not there")),
    );
    none(faults);
}

#[test]
fn the_judge_of_functions_counts_their_lines() {
    let source = "fn one() {}\n\npub(crate) const fn two(\n    a: u8,\n) -> u8 {\n    a\n}\ntrait T {\n    fn three();\n    fn four() {\n    }\n}\n";
    assert_eq!(functions(source), [("two", 5), ("four", 2)]);
}

#[test]
fn every_rust_file_opens_with_what_it_is() {
    let bare = rust_files()
        .into_iter()
        .filter(|file| !read(file).starts_with("//! "));
    none(
        bare.map(|file| format!("{} does not open with //!", shown(&file)))
            .collect(),
    );
}

#[test]
fn what_must_hold_has_one_heading() {
    let others =
        ["Holds", "Holds:", "Invariants:", "Guarantees:"].map(|word| format!("//! {word}"));
    let mut faults = Vec::new();
    for (file, line, content) in rust_lines() {
        let other = |head: &String| content == *head || content.starts_with(&format!("{head} "));
        if content.starts_with("//! ")
            && others.iter().any(other)
            && !content.starts_with("//! Holds the ")
        {
            faults.push(format!(
                "{}:{line} says it otherwise than `What must hold:`",
                shown(&file)
            ));
        }
    }
    none(faults);
}

#[test]
fn every_crate_opens_with_its_page() {
    let mut faults = Vec::new();
    for package in workspace_packages() {
        let folder = Path::new(text(&package, "manifest_path")).with_file_name("src");
        let source = ["lib.rs", "main.rs"].map(|file| folder.join(file));
        let source = source.into_iter().find(|file| file.exists()).unwrap();
        let content = read(&source);
        let page: Vec<&str> =
            (content.lines().take_while(|line| line.starts_with("//!"))).collect();
        for word in ["//! What must hold:", "//! Begin with "] {
            if !page.iter().any(|line| line.starts_with(word)) {
                faults.push(format!("{}: no line `{word}`", shown(&source)));
            }
        }
    }
    none(faults);
}

#[test]
fn no_unfinished_work_is_marked() {
    let words =
        [["TO", "DO"], ["FIX", "ME"], ["XX", "X"], ["HA", "CK"]].map(|parts| parts.concat());
    let macros =
        [["to", "do"], ["unimplem", "ented"], ["db", "g"]].map(|parts| parts.concat() + "!");
    let mut faults = Vec::new();
    for file in files() {
        if !["rs", "toml", "md", "py", "sh", "slt", ""].contains(&extension(&file)) {
            continue;
        }
        for (number, line) in (1..).zip(read(&file).lines()) {
            let marked = line
                .split(|c: char| !c.is_ascii_alphanumeric())
                .any(|word| words.iter().any(|w| w == word));
            let stub = extension(&file) == "rs" && macros.iter().any(|name| line.contains(name));
            if marked || stub {
                faults.push(format!("{}:{number} marks unfinished work", shown(&file)));
            }
        }
    }
    none(faults);
}

#[test]
fn modules_are_named_after_what_they_own() {
    let refused = [
        "util", "utils", "common", "helper", "helpers", "types", "core", "manager", "misc",
    ];
    let mut faults = Vec::new();
    for file in rust_files() {
        let path = file
            .strip_prefix(workspace())
            .unwrap_or(&file)
            .with_extension("");
        if path
            .iter()
            .any(|part| refused.iter().any(|name| part == *name))
        {
            faults.push(format!("{} is named after nothing", shown(&file)));
        }
    }
    for (file, line, content) in rust_lines() {
        let declared = content
            .trim_start()
            .trim_start_matches("pub ")
            .strip_prefix("mod ");
        let name = declared.and_then(|rest| rest.split([' ', ';', '{']).next());
        if name.is_some_and(|name| refused.contains(&name)) {
            faults.push(format!(
                "{}:{line} declares a module named after nothing",
                shown(&file)
            ));
        }
    }
    none(faults);
}

#[test]
fn lib_files_have_no_logic() {
    let mut faults = Vec::new();
    for file in rust_files()
        .into_iter()
        .filter(|file| file.ends_with("src/lib.rs"))
    {
        if let Some(item) = first_logic(&read(&file)) {
            faults.push(format!(
                "{} has more than modules and uses: {item}",
                shown(&file)
            ));
        }
    }
    none(faults);
}

#[test]
fn the_library_hands_out_no_lower_crate() {
    let face = read(&workspace().join("crates/hushdb/src/lib.rs"));
    let whole = |line: &&str| line.contains("pub use hushdb_") && !line.contains("::");
    let faults = face.lines().filter(whole);
    none(
        faults
            .map(|line| format!("lib.rs of hushdb: {}", line.trim()))
            .collect(),
    );
}

#[test]
fn the_judge_of_lib_files_tells_logic_from_modules() {
    let plain = "//! Doc; with { braces }.\n#![warn(missing_docs)]\n#[cfg(test)]\nmod a;\npub mod b;\n\n/// Why.\npub use a::{C, d::{E, F}};\npub mod g {\n    pub use h::I;\n}\n";
    assert_eq!(first_logic(plain), None);
    for logic in [
        "fn f() {}",
        "pub const N: u8 = 1;",
        "mod a { fn f() {} }",
        "#[derive(Debug)] struct S;",
        "macro_rules! m { () => {} }",
    ] {
        assert!(
            first_logic(&format!("{plain}{logic}\n")).is_some(),
            "{logic}"
        );
    }
}

#[test]
fn nothing_names_the_machine_it_was_written_on() {
    let folders =
        ["work", "farm", "root", "home", "tmp", "Users"].map(|folder| format!("/{folder}/"));
    let hosts = ["registry", "proxy", "index", "mirror"];
    let mut faults = Vec::new();
    for file in files()
        .into_iter()
        .filter(|file| !file.ends_with("Cargo.lock"))
    {
        for (number, line) in (1..).zip(read(&file).lines()) {
            let path = folders.iter().any(|folder| {
                line.match_indices(folder.as_str()).any(|(at, _)| {
                    let before = line[..at].chars().next_back();
                    let after = line[at + folder.len()..].chars().next();
                    before.is_none_or(|c| !c.is_alphanumeric() && !"._-})]*".contains(c))
                        && after.is_some_and(char::is_alphanumeric)
                })
            });
            let registry = line.split("://").skip(1).any(|rest| {
                let host = rest
                    .split(['/', ' ', '"', ')', '>'])
                    .next()
                    .unwrap_or_default();
                host.split('.').any(|label| hosts.contains(&label))
            });
            if path || registry {
                faults.push(format!(
                    "{}:{number} names a machine or a registry",
                    shown(&file)
                ));
            }
        }
    }
    none(faults);
}

/// The parser's walk is compiled anew for each type of visitor: `sql/src/walk.rs` has the two that there are.
#[test]
fn parsed_sql_is_walked_in_one_place() {
    let calls = ["Mut::visit(", "ast::visit_", "Visit::visit("];
    let own = [
        "crates/sql/src/walk.rs",
        "crates/sim/tests/house_rules/main.rs",
    ];
    let mut faults = Vec::new();
    for (file, line, content) in rust_lines() {
        let path = shown(&file);
        if !own.contains(&path.as_str()) && calls.iter().any(|call| content.contains(*call)) {
            faults.push(format!(
                "{path}:{line} walks over parsed SQL by itself: call hushdb_sql::walk"
            ));
        }
    }
    none(faults);
}

#[test]
fn one_module_seals_blocks_one_the_log_one_spill_files_and_few_open_files() {
    let sealing = "seal_in_place(";
    let opening = ["std::fs", "rustix::fs::open"];
    let mut faults = Vec::new();
    for file in rust_files() {
        let path = shown(&file);
        if !path.starts_with("crates/storage/src/") {
            continue;
        }
        let source = read(&file);
        let product = source.split("#[cfg(test)]").next().unwrap_or_default();
        let stem = file
            .file_stem()
            .and_then(|stem| stem.to_str())
            .unwrap_or_default();
        if !["sealed_file", "log_seal", "spill_file"].contains(&stem) && product.contains(sealing) {
            faults.push(format!(
                "{path} calls the cipher beside sealed_file, log_seal and spill_file"
            ));
        }
        // Spill files have no name and are nobody else's: no simulated disk needs to stand for them.
        if !path.starts_with("crates/storage/src/file/")
            && !path.starts_with("crates/storage/src/spill/")
            && opening.iter().any(|call| product.contains(call))
        {
            faults.push(format!(
                "{path} opens files beside the implementations of StorageFile"
            ));
        }
    }
    none(faults);
}

fn workspace_packages() -> Vec<Value> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let output = Command::new(cargo)
        .args([
            "metadata",
            "--no-deps",
            "--offline",
            "--format-version",
            "1",
        ])
        .current_dir(workspace())
        .output()
        .expect("cargo runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let metadata: Value =
        serde_json::from_slice(&output.stdout).expect("cargo metadata prints JSON");
    let packages = metadata["packages"].as_array().cloned().unwrap_or_default();
    assert!(
        packages.len() >= EDGES.len(),
        "cargo metadata lists the crates"
    );
    packages
}

fn text<'a>(value: &'a Value, member: &str) -> &'a str {
    value[member].as_str().unwrap_or_default()
}

/// Names of what a package depends on, of every kind: normal, build and dev.
fn dependencies(package: &Value) -> impl Iterator<Item = &str> {
    let all = package["dependencies"].as_array().into_iter().flatten();
    all.map(|dependency| text(dependency, "name"))
}

/// The same without what only tests use: there, another library may be the witness.
fn shipped_dependencies(package: &Value) -> impl Iterator<Item = &str> {
    let all = package["dependencies"].as_array().into_iter().flatten();
    all.filter(|dependency| dependency["kind"] != "dev")
        .map(|dependency| text(dependency, "name"))
}
