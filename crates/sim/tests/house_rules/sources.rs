//! The repository's files, as the rules look at them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Fails with all faults that were found.
pub(crate) fn none(faults: Vec<String>) {
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}

/// The root of the repository.
pub(crate) fn workspace() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// The repository's text files that are tracked: sources, manifests, scripts and documents. Without git, all there are.
pub(crate) fn files() -> Vec<PathBuf> {
    let mut files = tracked().unwrap_or_else(|| below(workspace()));
    let data = |path: &Path| {
        // Wherever the repository lies.
        path.strip_prefix(workspace())
            .unwrap_or(path)
            .iter()
            .any(|part| part == "answers" || part == "corpus")
    };
    files.retain(|path| !data(path) && fs::read_to_string(path).is_ok());
    files.sort();
    assert!(files.len() > 20, "the repository is found");
    files
}

fn tracked() -> Option<Vec<PathBuf>> {
    let output = Command::new("git")
        .args(["ls-files", "-z"])
        .current_dir(workspace())
        .output()
        .ok()?;
    let paths = String::from_utf8(output.stdout).ok()?;
    let paths = paths.split_terminator('\0');
    output
        .status
        .success()
        .then(|| paths.map(|path| workspace().join(path)).collect())
}

fn below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).expect("the repository is readable") {
        let path = entry.expect("the repository is readable").path();
        if path.ends_with(".git") || path.ends_with("target") {
            continue;
        }
        if path.is_dir() {
            files.extend(below(&path));
        } else {
            files.push(path);
        }
    }
    files
}

/// Those in Rust.
pub(crate) fn rust_files() -> Vec<PathBuf> {
    files()
        .into_iter()
        .filter(|file| extension(file) == "rs")
        .collect()
}

/// Every line of Rust with its file and number.
pub(crate) fn rust_lines() -> Vec<(PathBuf, usize, String)> {
    let numbered = |file: PathBuf| -> Vec<(PathBuf, usize, String)> {
        (1..)
            .zip(read(&file).lines())
            .map(|(number, line)| (file.clone(), number, line.to_owned()))
            .collect()
    };
    rust_files().into_iter().flat_map(numbered).collect()
}

/// The text of a file.
pub(crate) fn read(file: &Path) -> String {
    fs::read_to_string(file).expect("a text file is readable")
}

/// What its name ends with.
pub(crate) fn extension(file: &Path) -> &str {
    file.extension()
        .and_then(|extension| extension.to_str())
        .unwrap_or_default()
}

/// Its path from the root of the repository.
pub(crate) fn shown(file: &Path) -> String {
    file.strip_prefix(workspace())
        .unwrap_or(file)
        .display()
        .to_string()
}

/// The functions of a formatted source that have more than a line, with the lines from their head to their end.
pub(crate) fn functions(source: &str) -> Vec<(&str, usize)> {
    let lines: Vec<&str> = source.lines().collect();
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let (indent, head) = line.split_at(line.len() - line.trim_start().len());
        let Some(name) = function_name(head) else {
            continue;
        };
        // A declaration, or a body in the line of the head, has no end of its own.
        if head.ends_with([';', '}']) {
            continue;
        }
        let ends = |line: &str| {
            let rest = line.strip_prefix(indent)?;
            (rest == "}" || (rest.starts_with(')') && rest.ends_with(';'))).then_some(rest == "}")
        };
        let mut below = lines[at..].iter().enumerate();
        let end = below.find_map(|(length, line)| Some((length, ends(line)?)));
        if let Some((length, true)) = end {
            found.push((name, length + 1));
        }
    }
    found
}

/// What the function is called whose head a line begins.
fn function_name(head: &str) -> Option<&str> {
    let (before, rest) = head.split_once("fn ")?;
    let plain = before
        .split(' ')
        .all(|word| matches!(word, "" | "const" | "async" | "unsafe") || word.starts_with("pub"));
    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_')?;
    (plain && end > 0).then(|| &rest[..end])
}

/// The first item of a `lib.rs` that is neither an attribute nor a `mod` or `use` declaration; a module written in place
/// may hold more of the same.
pub(crate) fn first_logic(source: &str) -> Option<String> {
    let code: Vec<&str> = source
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .collect();
    let code = code.join("\n");
    let mut rest = code.trim_start();
    let mut modules = 0;
    while !rest.is_empty() {
        let item = rest
            .trim_start_matches("pub(crate) ")
            .trim_start_matches("pub ");
        let end = if rest.starts_with('#') {
            let mut depth = 0;
            let close = rest.find(|c| {
                depth += i32::from(c == '[') - i32::from(c == ']');
                c == ']' && depth == 0
            });
            close.map(|at| at + 1)
        } else if rest.starts_with('}') && modules > 0 {
            modules -= 1;
            Some(1)
        } else if item.starts_with("mod ") {
            let end = rest.find([';', '{']).map(|at| at + 1);
            modules += usize::from(end.is_some_and(|end| rest[..end].ends_with('{')));
            end
        } else if item.starts_with("use ") {
            rest.find(';').map(|at| at + 1)
        } else {
            None
        };
        let Some(end) = end else {
            return rest.lines().next().map(str::to_owned);
        };
        rest = rest[end..].trim_start();
    }
    None
}
