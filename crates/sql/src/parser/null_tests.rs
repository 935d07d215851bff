//! `x ISNULL`, which the parser would take for an alias, as `x IS NULL`.
//!
//! What must hold: the work is linear in the number of tokens; `isnull(x)`, and a name in quotes, stay.

use super::super::token_list::{TokenList, is_word, keyword, word};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

/// Writes the test out.
pub(super) fn plain_null_tests(tokens: &mut Vec<TokenWithSpan>) {
    let mut list = TokenList::of(tokens);
    for n in 1..list.len() {
        let is_test = list.token(n).is_some_and(|token| is_word(token, "isnull"));
        let is_call = [Token::LParen, Token::Period]
            .iter()
            .any(|t| list.has(n + 1, t));
        if is_test && !is_call && list.before(n, 1).is_some_and(ends_a_value) {
            list.replace(n, [word("IS"), word("NULL")]);
        }
    }
    list.changes().make(tokens);
}

/// Whether a value may end with a token.
fn ends_a_value(token: &TokenWithSpan) -> bool {
    use Keyword as K;
    match &token.token {
        Token::Word(_) => !matches!(
            keyword(token),
            K::SELECT
                | K::DISTINCT
                | K::ALL
                | K::WHERE
                | K::HAVING
                | K::QUALIFY
                | K::ON
                | K::BY
                | K::AND
                | K::OR
                | K::NOT
                | K::AS
                | K::CASE
                | K::WHEN
                | K::THEN
                | K::ELSE
                | K::RETURNING
                | K::FROM
                | K::JOIN
                | K::TABLE
                | K::COLUMN
                | K::IS
                | K::LIKE
        ),
        Token::Number(..) | Token::SingleQuotedString(_) | Token::Placeholder(_) => true,
        Token::RParen | Token::RBracket | Token::RBrace => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse_one;

    #[test]
    fn null_tests_are_written_out() {
        for (given, expected) in [
            (
                "SELECT a ISNULL, (b) isnull FROM t",
                "SELECT a IS NULL, (b) IS NULL FROM t",
            ),
            (
                "SELECT a FROM t WHERE NOT a.b ISNULL",
                "SELECT a FROM t WHERE NOT a.b IS NULL",
            ),
            (
                "SELECT isnull(a), a \"isnull\" FROM t",
                "SELECT isnull(a), a AS \"isnull\" FROM t",
            ),
        ] {
            assert_eq!(parse_one(given).unwrap().to_string(), expected);
        }
    }
}
