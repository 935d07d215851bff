//! Where one statement ends and the next begins: semicolons outside of quotes, dollar quotes and comments.

/// Statements of a text, and what follows the last semicolon.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StatementSplit<'a> {
    /// Complete statements, without their semicolons; none is empty.
    pub statements: Vec<&'a str>,
    /// The rest, trimmed: an unfinished statement, or empty.
    pub rest: &'a str,
    /// Whether the rest stops inside a quote or comment, so that a semicolon alone would not end it.
    pub open_quote: bool,
}

/// Splits SQL text into statements. A shell runs `statements` and keeps reading while `rest` is not empty.
pub fn split_statements(sql: &str) -> StatementSplit<'_> {
    let bytes = sql.as_bytes();
    let mut split = StatementSplit::default();
    let (mut start, mut i) = (0, 0);
    while i < bytes.len() {
        let next = match bytes[i] {
            b'\'' if is_escaped(bytes, i) => skip_escaped(bytes, i),
            b'\'' | b'"' => skip_quoted(bytes, i),
            b'-' if bytes[i + 1..].first() == Some(&b'-') => Some(skip_line(bytes, i)),
            b'/' if bytes[i + 1..].first() == Some(&b'*') => skip_comment(bytes, i),
            b'$' => skip_dollar(bytes, i),
            b';' => {
                if !is_blank(&sql[start..i]) {
                    split.statements.push(sql[start..i].trim());
                }
                start = i + 1;
                Some(i + 1)
            }
            _ => Some(i + 1),
        };
        match next {
            Some(next) => i = next,
            None => {
                split.open_quote = true;
                break;
            }
        }
    }
    if split.open_quote || !is_blank(&sql[start..]) {
        split.rest = sql[start..].trim();
    }
    split
}

/// Past a quoted run that starts at `i`; a doubled quote stays inside.
pub(super) fn skip_quoted(bytes: &[u8], i: usize) -> Option<usize> {
    let quote = bytes[i];
    let mut j = i + 1;
    while j < bytes.len() {
        if bytes[j] == quote {
            if bytes.get(j + 1) == Some(&quote) {
                j += 2;
                continue;
            }
            return Some(j + 1);
        }
        j += 1;
    }
    None
}

/// True at the quote of `E'...'`.
pub(super) fn is_escaped(bytes: &[u8], i: usize) -> bool {
    let word = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'$') || !b.is_ascii();
    match bytes[..i].split_last() {
        Some((b'e' | b'E', before)) => !before.last().is_some_and(word),
        _ => false,
    }
}

/// Past `'...'` in which a backslash takes its meaning from the character behind it.
pub(super) fn skip_escaped(bytes: &[u8], i: usize) -> Option<usize> {
    let mut j = i + 1;
    while j < bytes.len() {
        match (bytes[j], bytes.get(j + 1)) {
            (b'\\', _) | (b'\'', Some(b'\'')) => j += 2,
            (b'\'', _) => return Some(j + 1),
            _ => j += 1,
        }
    }
    None
}

pub(super) fn skip_line(bytes: &[u8], i: usize) -> usize {
    bytes[i..]
        .iter()
        .position(|b| *b == b'\n')
        .map_or(bytes.len(), |n| i + n + 1)
}

/// Past a block comment; as in PostgreSQL they nest.
pub(super) fn skip_comment(bytes: &[u8], i: usize) -> Option<usize> {
    let (mut depth, mut j) = (1, i + 2);
    while j < bytes.len() {
        match (bytes[j], bytes.get(j + 1)) {
            (b'*', Some(b'/')) => {
                depth -= 1;
                j += 2;
                if depth == 0 {
                    return Some(j);
                }
            }
            (b'/', Some(b'*')) => {
                depth += 1;
                j += 2;
            }
            _ => j += 1,
        }
    }
    None
}

/// Past `$tag$...$tag$`; a lone dollar, as in the parameter `$1`, is one character.
pub(super) fn skip_dollar(bytes: &[u8], i: usize) -> Option<usize> {
    let inside_word = i > 0 && (bytes[i - 1].is_ascii_alphanumeric() || bytes[i - 1] == b'_');
    let tag_end = bytes[i + 1..]
        .iter()
        .position(|b| !(b.is_ascii_alphanumeric() || *b == b'_'));
    let Some(n) = tag_end else { return Some(i + 1) };
    let end = i + 1 + n;
    let is_tag = bytes[end] == b'$' && !bytes[i + 1].is_ascii_digit();
    if inside_word || !is_tag {
        return Some(i + 1);
    }
    let tag = &bytes[i..=end];
    let body = end + 1;
    bytes[body..]
        .windows(tag.len())
        .position(|w| w == tag)
        .map(|at| body + at + tag.len())
}

/// Whether a text holds only white space, as `trim` sees it, and comments.
fn is_blank(sql: &str) -> bool {
    let mut rest = sql.trim_start();
    while !rest.is_empty() {
        let comment = match rest.as_bytes() {
            [b'-', b'-', ..] => Some(skip_line(rest.as_bytes(), 0)),
            [b'/', b'*', ..] => skip_comment(rest.as_bytes(), 0),
            _ => None,
        };
        match comment {
            Some(end) => rest = rest[end..].trim_start(),
            None => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_outside_of_quotes() {
        let split = split_statements(
            "select ';', \"a;b\"; -- x;\n select $$;$$; /* ; /* ; */ */ select $1",
        );
        assert_eq!(
            split.statements,
            ["select ';', \"a;b\"", "-- x;\n select $$;$$"]
        );
        assert_eq!(split.rest, "/* ; /* ; */ */ select $1");
        assert!(!split.open_quote);
    }

    #[test]
    fn a_backslash_escapes_in_e_strings_alone() {
        let split = split_statements(r"select E'\';', e'\\'; select 'e\'; select name'x\'");
        assert_eq!(split.statements, [r"select E'\';', e'\\'", r"select 'e\'"]);
        assert!(!split.open_quote);
    }

    #[test]
    fn says_when_a_quote_is_open() {
        assert!(split_statements("select 'it''s; ").open_quote);
        assert!(split_statements("select /* ;").open_quote);
        assert!(split_statements("select $a$ ; $b$").open_quote);
        assert!(!split_statements("select 1").open_quote);
    }

    #[test]
    fn blanks_and_comments_are_no_statements() {
        assert_eq!(
            split_statements(" ;; -- nothing\n; /* */ "),
            StatementSplit::default()
        );
        assert_eq!(
            split_statements("\u{b}; \u{a0}--\n;\u{2003}"),
            StatementSplit::default()
        );
        assert_eq!(split_statements("$").rest, "$");
    }

    proptest::proptest! {
        #[test]
        fn never_panics(text in ".{0,80}") {
            let split = split_statements(&text);
            proptest::prop_assert!(split.statements.iter().all(|s| !s.is_empty()));
        }
    }
}
