//! The files that a pattern of a user's stands for: `*`, `?` and `[..]` within a name, `**` for any number of directories.
//!
//! What must hold: only what a pattern asks for is listed. Links to directories are followed where a part of the pattern matches them,
//! and never below `**`, where they could lead in a circle.

use crate::error::Result;
use crate::interrupt::check_interrupt;
use glob::Pattern;
use std::fs;
use std::io::{Error, ErrorKind};
use std::path::Path;

/// Any number of directories.
const ANY_DEPTH: &str = "**";

/// The files that a pattern matches, sorted as DuckDB sorts them: directory by directory, those further down behind the others. A path
/// without a wildcard stands for itself, if something is there; so does one of a file that matches nothing else.
///
/// # Errors
/// `Io` for a directory that cannot be listed and for a second `**`, and `Interrupted`.
pub fn matching_files(pattern: &str) -> Result<Vec<String>> {
    if !has_wildcard(pattern) {
        let is_there = !pattern.is_empty() && fs::metadata(pattern).is_ok();
        return Ok(is_there.then(|| pattern.to_owned()).into_iter().collect());
    }
    let files = matches(pattern)?;
    // A name may have such characters in it.
    match files.is_empty() && is_file(pattern) {
        true => Ok(vec![pattern.to_owned()]),
        false => Ok(files),
    }
}

/// The files that a pattern with wildcards matches.
fn matches(pattern: &str) -> Result<Vec<String>> {
    let (root, rest) = match pattern.strip_prefix('/') {
        Some(rest) => ("/", rest),
        None => ("", pattern),
    };
    let parts: Vec<&str> = rest.split('/').filter(|part| !part.is_empty()).collect();
    let (last, above) = parts.split_last().unwrap_or((&"", &[]));
    if parts.iter().filter(|part| **part == ANY_DEPTH).count() > 1 {
        let text = "Cannot use multiple '**' in one path";
        return Err(Error::new(ErrorKind::InvalidInput, text).into());
    }
    let mut places = vec![root.to_owned()];
    for part in above {
        places = directories(&places, part)?;
    }
    let mut files = vec![];
    if *last == ANY_DEPTH {
        for place in below(places)? {
            files.extend(names_in(&place, None, Sort::Files)?);
        }
        return Ok(files);
    }
    for place in &places {
        match has_wildcard(last) {
            true => files.extend(names_in(place, Some(last), Sort::FilesAndLinks)?),
            false => files.extend(Some(joined(place, last)).filter(|path| is_file(path))),
        }
    }
    if !has_wildcard(last) {
        files.sort();
    }
    Ok(files)
}

/// Whether a path is a pattern.
fn has_wildcard(path: &str) -> bool {
    path.contains(['*', '?', '['])
}

fn is_file(path: &str) -> bool {
    fs::metadata(path).is_ok_and(|found| found.is_file())
}

/// The directories within some that a part of a pattern matches.
fn directories(places: &[String], part: &str) -> Result<Vec<String>> {
    if part == ANY_DEPTH {
        return below(places.to_vec());
    }
    let mut found = vec![];
    for place in places {
        match has_wildcard(part) {
            true => found.extend(names_in(place, Some(part), Sort::Directories)?),
            false => found.push(joined(place, part)),
        }
    }
    Ok(found)
}

/// Some directories and all below them, level by level.
fn below(places: Vec<String>) -> Result<Vec<String>> {
    let mut all = places;
    let mut next = 0;
    while let Some(place) = all.get(next) {
        let within = names_in(place, None, Sort::OwnDirectories)?;
        all.extend(within);
        next += 1;
    }
    Ok(all)
}

/// What of a directory is looked for.
#[derive(Clone, Copy, PartialEq)]
enum Sort {
    Files,
    FilesAndLinks,
    Directories,
    /// Those that are no links.
    OwnDirectories,
}

/// What is in a directory and has a name that matches, sorted; nothing if there is no such directory.
fn names_in(place: &str, part: Option<&str>, sort: Sort) -> Result<Vec<String>> {
    check_interrupt()?;
    // More than one star within a name is one.
    let part = part.map(|part| part.replace(ANY_DEPTH, "*"));
    let Ok(pattern) = part.as_deref().map(Pattern::new).transpose() else {
        return Ok(vec![]);
    };
    let shown = if place.is_empty() { "." } else { place };
    let entries = match fs::read_dir(shown) {
        Ok(entries) => entries,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(vec![]);
        }
        Err(error) => return Err(error.into()),
    };
    let mut names = vec![];
    for entry in entries {
        let entry = entry?;
        // A path that is no text cannot be named by a statement.
        let Ok(name) = entry.file_name().into_string() else {
            continue;
        };
        if pattern
            .as_ref()
            .is_some_and(|pattern| !pattern.matches(&name))
        {
            continue;
        }
        let own = entry.file_type()?;
        let behind = || fs::metadata(Path::new(shown).join(&name)).ok();
        let matches = match sort {
            Sort::Files => own.is_file(),
            Sort::OwnDirectories => own.is_dir(),
            Sort::FilesAndLinks => {
                own.is_file() || own.is_symlink() && behind().is_some_and(|found| found.is_file())
            }
            Sort::Directories => {
                own.is_dir() || own.is_symlink() && behind().is_some_and(|found| found.is_dir())
            }
        };
        if matches {
            names.push(name);
        }
    }
    names.sort();
    Ok(names.iter().map(|name| joined(shown, name)).collect())
}

fn joined(place: &str, name: &str) -> String {
    match place {
        "" => name.to_owned(),
        place if place.ends_with('/') => format!("{place}{name}"),
        place => format!("{place}/{name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn patterns_match_as_in_duckdb() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().to_str().unwrap();
        for file in [
            "a.csv",
            "b.csv",
            "Z.csv",
            "x1.csv",
            "x[.csv",
            ".h.csv",
            "a/q.csv",
            "b/c.csv",
            "b-c/x.csv",
            "b/a/q.csv",
            "b/.d/q.csv",
        ] {
            let path = directory.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        symlink(root, directory.path().join("b/round")).unwrap();
        symlink("nowhere", directory.path().join("broken.csv")).unwrap();
        symlink("a.csv", directory.path().join("link.csv")).unwrap();
        let found = |pattern: &str| {
            let files = matching_files(&format!("{root}/{pattern}")).unwrap();
            let files = files
                .iter()
                .map(|file| file.strip_prefix(root).unwrap().to_owned());
            files.collect::<Vec<_>>().join(" ")
        };
        for (pattern, expected) in [
            ("?.csv", "/Z.csv /a.csv /b.csv"),
            ("[ab].csv", "/a.csv /b.csv"),
            ("[!ab].csv", "/Z.csv"),
            ("[a-b].csv", "/a.csv /b.csv"),
            ("l*", "/link.csv"),
            ("bro*", ""),
            ("a**", "/a.csv"),
            ("*/*.csv", "/a/q.csv /b/c.csv /b-c/x.csv"),
            ("*/q.csv", "/a/q.csv"),
            ("b/**", "/b/c.csv /b/.d/q.csv /b/a/q.csv"),
            ("b/**/*.csv", "/b/c.csv /b/.d/q.csv /b/a/q.csv"),
            ("**/q.csv", "/a/q.csv /b/.d/q.csv /b/a/q.csv"),
            ("b/r*/a/*", "/b/round/a/q.csv"),
            ("x[1].csv", "/x1.csv"),
            ("x[", ""),
            ("x[.csv", "/x[.csv"),
            ("a.csv", "/a.csv"),
            ("nothing", ""),
            ("nothing/*", ""),
            ("a.csv/*", ""),
            ("b//../?.csv", "/b/../Z.csv /b/../a.csv /b/../b.csv"),
        ] {
            assert_eq!(found(pattern), expected, "{pattern}");
        }
        assert!(matching_files(&format!("{root}/**/**/a.csv")).is_err());
        assert!(matching_files("").unwrap().is_empty());
    }
}
