//! `ALTER TABLE t ADD COLUMN s.b INTEGER`, and DROP and RENAME of a field: the parser knows columns alone, so the path becomes one name.
//!
//! What must hold: the work is linear in the number of tokens; no column has such a name, which begins with `$`.

use super::super::token_list::{TokenList, named};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

/// How such a name begins, and what stands between its parts.
const BEGIN: &str = "$field";
const BETWEEN: char = '\u{1f}';

/// The parts of a path, of which the first is a column, if a name stands for one.
pub fn field_path(name: &str) -> Option<Vec<String>> {
    let parts = name.strip_prefix(BEGIN)?.strip_prefix(BETWEEN)?;
    Some(parts.split(BETWEEN).map(str::to_owned).collect())
}

/// Makes names of paths.
pub(super) fn as_names(tokens: &mut Vec<TokenWithSpan>) {
    let mut list = TokenList::of(tokens);
    if !list.is(0, Keyword::ALTER) || !list.is(1, Keyword::TABLE) {
        return;
    }
    for n in 2..list.len() {
        let changes = [Keyword::ADD, Keyword::DROP, Keyword::RENAME];
        if !changes.iter().any(|change| list.is(n, *change)) {
            continue;
        }
        let mut first = n + 1;
        for word in [Keyword::COLUMN, Keyword::IF, Keyword::NOT, Keyword::EXISTS] {
            first += usize::from(list.is(first, word));
        }
        let parts = path(&list, first);
        if parts.len() > 1 {
            let end = first + 2 * parts.len() - 1;
            let parts = parts.into_iter().map(|part| format!("{BETWEEN}{part}"));
            let name = parts.collect::<String>();
            list.replace(first, [named(&format!("{BEGIN}{name}"))]);
            (first + 1..end).for_each(|n| list.replace(n, []));
        }
    }
    list.changes().make(tokens);
}

/// Words with points between them.
fn path(list: &TokenList<'_>, first: usize) -> Vec<String> {
    let mut parts = vec![];
    for n in (first..).step_by(2) {
        match list.token(n).map(|token| &token.token) {
            Some(Token::Word(word)) if !word.value.contains(BETWEEN) => {
                parts.push(word.value.clone());
            }
            _ => return vec![],
        }
        if !list.has(n + 1, &Token::Period) {
            break;
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parser::parse_one;

    #[test]
    fn a_path_becomes_a_name() {
        let name = "$field\u{1f}s\u{1f}b";
        for (given, expected) in [
            (
                "ALTER TABLE t ADD COLUMN IF NOT EXISTS s.b INT",
                format!("ALTER TABLE t ADD COLUMN IF NOT EXISTS \"{name}\" INT"),
            ),
            (
                "ALTER TABLE u.t DROP s.\"b\"",
                format!("ALTER TABLE u.t DROP \"{name}\""),
            ),
            (
                "ALTER TABLE t RENAME COLUMN s . b TO c",
                format!("ALTER TABLE t RENAME COLUMN \"{name}\" TO c"),
            ),
            (
                "ALTER TABLE t ADD COLUMN c INT",
                "ALTER TABLE t ADD COLUMN c INT".to_owned(),
            ),
        ] {
            assert_eq!(parse_one(given).unwrap().to_string(), expected);
        }
        assert_eq!(field_path(name), Some(vec!["s".into(), "b".into()]));
        assert_eq!(field_path("s"), None);
    }
}
