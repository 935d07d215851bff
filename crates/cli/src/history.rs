//! The statement history: where it is kept and what never gets in.
//!
//! What must hold: the file is readable by its owner alone (mode 0600, also when an older file was wider), and a
//! statement that carries a key, a password or a secret is kept neither in the file nor for the up arrow. In doubt a
//! statement is left out: retyping it costs less than a key in a file. Once an encrypted database is attached,
//! statements are kept for the up arrow alone, since their text has names and values of it.
#![expect(clippy::disallowed_methods, reason = "it keeps the history's file")]

use std::env;
use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::PathBuf;

/// `hush/history` in the XDG state directory; `None` when there is no home directory either.
pub(crate) fn path() -> Option<PathBuf> {
    let absolute = |name| {
        env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    let state =
        absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local/state")))?;
    Some(state.join("hush/history"))
}

/// Makes the directory and the file as they must be.
///
/// # Errors
/// The file system's.
pub(crate) fn prepare(path: &PathBuf) -> io::Result<()> {
    if let Some(directory) = path.parent() {
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(directory)?;
    }
    let file = OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o600)
        .open(path)?;
    file.set_permissions(fs::Permissions::from_mode(0o600))
}

/// Whether `statement` may be remembered.
pub(crate) fn keeps(statement: &str) -> bool {
    let trimmed = statement.trim();
    let opens_with_key = trimmed.starts_with('.') && trimmed.to_ascii_uppercase().contains("--KEY");
    !(trimmed.is_empty() || opens_with_key || hushdb::may_hold_secret(statement))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_with_keys_are_not_kept() {
        for statement in [
            "ATTACH 'a.hush' AS a (ENCRYPTION_KEY 'correct horse');",
            "attach 'a.hush' as a (encryption_key 'x')",
            "EXECUTE open('correct horse')",
            ".open --key-command 'cat k' a.hush",
            "  ",
        ] {
            assert!(!keeps(statement), "{statement}");
        }
    }

    #[test]
    fn ordinary_statements_are_kept() {
        for statement in ["SELECT * FROM orders WHERE o_orderkey = '5';", ".tables"] {
            assert!(keeps(statement), "{statement}");
        }
    }

    #[test]
    fn the_file_is_for_its_owner_alone() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("state/hush/history");
        prepare(&path).expect("made");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("widened");
        prepare(&path).expect("narrowed");
        assert_eq!(
            fs::metadata(&path).expect("there").permissions().mode() & 0o777,
            0o600
        );
        let parent = path.parent().expect("a parent");
        assert_eq!(
            fs::metadata(parent).expect("there").permissions().mode() & 0o777,
            0o700
        );
    }
}
