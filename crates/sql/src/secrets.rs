//! Texts that may hold a key: what must not be repeated in an error, nor remembered by a shell.
//!
//! What must hold: in doubt a text is one of them.

/// Whether an SQL text may hold a key, a password or another secret, well-formed or not. A shell keeps no such statement
/// in its history; errors repeat nothing of it.
pub fn may_hold_secret(sql: &str) -> bool {
    const TELLING: [&str; 10] = [
        "ENCRYPTION_KEY",
        "PASSWORD",
        "PASSPHRASE",
        "PASSWD",
        "SECRET",
        "CREDENTIAL",
        "TOKEN",
        // Key text.
        "HEX:",
        "BASE64:",
        "PASS:",
    ];
    // What EXECUTE binds may be a key, which the prepared statement knows.
    let executes = first_word(sql).eq_ignore_ascii_case("EXECUTE");
    let binds_text = executes && sql.contains(['\'', '$']);
    TELLING.iter().any(|word| find(sql, word).is_some()) || binds_text || names_a_key_option(sql)
}

/// Where a word is, in any case of letters, without a copy of the text.
fn find(text: &str, word: &str) -> Option<usize> {
    let mut windows = text.as_bytes().windows(word.len());
    windows.position(|window| window.eq_ignore_ascii_case(word.as_bytes()))
}

/// Whether errors about a text repeat nothing of it: ATTACH takes a key, and a slip of the pen may hide that it does.
pub(super) fn is_quiet(sql: &str) -> bool {
    let words = sql.split(|c: char| !c.is_alphanumeric() && c != '_');
    words
        .into_iter()
        .any(|word| word.eq_ignore_ascii_case("ATTACH"))
        || may_hold_secret(sql)
}

/// The first word behind blanks and comments.
fn first_word(sql: &str) -> &str {
    let mut rest = sql.trim_start();
    loop {
        let after = match rest.get(..2) {
            Some("--") => rest.split_once('\n').map(|(_, after)| after),
            Some("/*") => rest.split_once("*/").map(|(_, after)| after),
            _ => break,
        };
        rest = after.unwrap_or_default().trim_start();
    }
    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_');
    &rest[..end.unwrap_or(rest.len())]
}

/// A word `KEY` or `..._KEY` that is given a text: `key 'x'`, `master_key = 'x'`, `"key" := $$x$$`.
fn names_a_key_option(sql: &str) -> bool {
    let mut rest = sql;
    while let Some(at) = find(rest, "KEY") {
        let before = rest[..at].chars().next_back();
        let after = &rest[at + 3..];
        let begins_a_word =
            before.is_none_or(|character| character == '_' || !character.is_alphanumeric());
        let value = after.trim_start_matches(|character: char| {
            character.is_whitespace() || "\":=>({".contains(character)
        });
        let ends_a_word =
            !after.starts_with(|character: char| character.is_alphanumeric() || character == '_');
        if begins_a_word && ends_a_word && value.starts_with(['\'', '$']) {
            return true;
        }
        rest = after;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_with_keys_are_known() {
        for text in [
            "ATTACH 'a.hush' AS a (ENCRYPTION_KEY 'correct horse');",
            "attach 'a.hush' as a (encryption_key 'x')",
            "ATTACH 'a' (KEY 'x')",
            "SET master_key = 'x'",
            "CALL f(key := 'x')",
            "CALL f(\"key\" => $$x$$)",
            "CREATE SECRET s (TYPE s3)",
            "ALTER USER a PASSWORD 'x'",
            "SELECT 'hex:00ff'",
            "COPY t TO 'f' (ENCRYPTION_CONFIG {footer_key: 'x'})",
            "/* open */ EXECUTE open('correct horse')",
        ] {
            assert!(may_hold_secret(text), "{text}");
        }
    }

    #[test]
    fn ordinary_texts_are_not() {
        for text in [
            "SELECT * FROM orders WHERE o_orderkey = 5;",
            "SELECT * FROM orders WHERE o_orderkey = '5';",
            "CREATE TABLE t (a INTEGER PRIMARY KEY, b VARCHAR DEFAULT 'x')",
            "SELECT monkey FROM zoo WHERE keyboard = 'k'",
            "EXECUTE find(5)",
            "ATTACH 'plain.db' AS p",
        ] {
            assert!(!may_hold_secret(text), "{text}");
        }
        assert!(is_quiet(
            "-- open it\n attach 'plain.db' (ENCRYPTON_KYE 'x')"
        ));
        assert!(is_quiet("EXPLAIN ATTACH 'f' AS x ENCRYPTON_KYE \"x\""));
        assert!(!is_quiet("/*") && !is_quiet("DETACH x"));
    }
}
