//! `* RENAME (t.a AS b)`: a column with its table, which sqlparser does not read there, as one name.
//!
//! What must hold: the work is linear in the number of tokens; `RENAME a.b TO c` of ALTER TABLE stays.

use super::super::token_list::{TokenList, is_word};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

/// Between the name of a table and that of its column.
const BETWEEN: char = '\0';

/// The table that a column behind RENAME is of, if it says so, and the column.
#[must_use]
pub fn renamed_column(name: &str) -> (Option<&str>, &str) {
    match name.split_once(BETWEEN) {
        Some((table, column)) => (Some(table), column),
        None => (None, name),
    }
}

/// Makes one name of each table and its column.
pub(super) fn as_names(tokens: &mut Vec<TokenWithSpan>) {
    let mut list = TokenList::of(tokens);
    for n in 0..list.len() {
        if !list.token(n).is_some_and(|token| is_word(token, "rename")) {
            continue;
        }
        let is_list = list.has(n + 1, &Token::LParen);
        let mut at = if is_list { n + 2 } else { n + 1 };
        while let Some(end) = one(&mut list, at) {
            if !is_list || !list.has(end, &Token::Comma) {
                break;
            }
            at = end + 1;
        }
    }
    list.changes().make(tokens);
}

/// Reads `a AS b` or `t.a AS b`, and says what is behind it.
fn one(list: &mut TokenList<'_>, at: usize) -> Option<usize> {
    let name = |n: usize| match &list.token(n)?.token {
        Token::Word(word) => Some(word.value.clone()),
        _ => None,
    };
    let first = name(at)?;
    if list.is(at + 1, Keyword::AS) {
        return Some(at + 3);
    }
    let column = name(at + 2)?;
    if !list.has(at + 1, &Token::Period) || !list.is(at + 3, Keyword::AS) {
        return None;
    }
    let both = Token::Word(Word {
        value: format!("{first}{BETWEEN}{column}"),
        quote_style: Some('"'),
        keyword: Keyword::NoKeyword,
    });
    list.replace(at, [both]);
    list.replace(at + 1, []);
    list.replace(at + 2, []);
    Some(at + 5)
}

#[cfg(test)]
mod tests {
    use super::renamed_column;

    #[test]
    fn a_name_has_a_table_or_none() {
        assert_eq!(renamed_column("t\0a"), (Some("t"), "a"));
        assert_eq!(renamed_column("a"), (None, "a"));
    }
}
