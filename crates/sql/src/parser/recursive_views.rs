//! `CREATE RECURSIVE VIEW v (a, b) AS query`, which is the view of `WITH RECURSIVE v (a, b) AS (query) SELECT a, b FROM v`.
//!
//! What must hold: the work is linear in the number of tokens.

use super::super::token_list::{TokenList, word};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

/// Brings such a view to what it stands for; without a list of columns it stays what the parser refuses.
pub(super) fn as_views(tokens: &mut Vec<TokenWithSpan>) {
    let mut list = TokenList::of(tokens);
    let Some(recursive) = recursive_word(&list) else {
        return;
    };
    let Some(open) = (recursive + 2..list.len()).find(|n| list.has(*n, &Token::LParen)) else {
        return;
    };
    let Some(close) = (open..list.len()).find(|n| list.has(*n, &Token::RParen)) else {
        return;
    };
    // A name, perhaps behind others and dots.
    let is_name = |n: usize| (n - recursive).is_multiple_of(2) != list.has(n, &Token::Period);
    if !list.is(close + 1, Keyword::AS) || !(recursive + 2..open).all(is_name) {
        return;
    }
    let texts = |from: usize, to: usize| -> Vec<Token> {
        let tokens = (from..to).filter_map(|n| list.token(n));
        tokens.map(|token| token.token.clone()).collect()
    };
    let name = texts(open - 1, open);
    let columns = texts(open + 1, close);
    let listed = texts(open, close + 1);
    let mut end = list.len();
    while list.has(end - 1, &Token::SemiColon) {
        end -= 1;
    }
    let begins = [word("WITH"), word("RECURSIVE")].into_iter();
    let begins = begins.chain(name.clone()).chain(listed);
    let begins: Vec<Token> = begins.chain([word("AS"), Token::LParen]).collect();
    let ends = [Token::RParen, word("SELECT")].into_iter().chain(columns);
    let ends: Vec<Token> = ends.chain([word("FROM")]).chain(name).collect();
    list.replace(recursive, []);
    list.put(close + 2, begins);
    list.put(end, ends);
    list.changes().make(tokens);
}

/// Where `RECURSIVE` stands in `CREATE [OR REPLACE] [TEMP] RECURSIVE VIEW`.
fn recursive_word(list: &TokenList<'_>) -> Option<usize> {
    let mut n = 1;
    if list.is(n, Keyword::OR) && list.is(n + 1, Keyword::REPLACE) {
        n += 2;
    }
    if list.is(n, Keyword::TEMP) || list.is(n, Keyword::TEMPORARY) {
        n += 1;
    }
    let is_one = list.is(0, Keyword::CREATE)
        && list.is(n, Keyword::RECURSIVE)
        && list.is(n + 1, Keyword::VIEW);
    is_one.then_some(n)
}

#[cfg(test)]
mod tests {
    use super::super::parse_one;

    #[test]
    fn a_view_is_that_of_its_recursive_query() {
        let text = "CREATE OR REPLACE RECURSIVE VIEW s.v (a, b) AS SELECT 1, 2 UNION ALL SELECT a + 1, b FROM v WHERE a < 3;";
        let view = "CREATE OR REPLACE VIEW s.v (a, b) AS WITH RECURSIVE v (a, b) AS (SELECT 1, 2 UNION ALL SELECT a + 1, b FROM v WHERE a < 3) SELECT a, b FROM v";
        assert_eq!(parse_one(text).unwrap().to_string(), view);
        for text in [
            "CREATE RECURSIVE VIEW v AS SELECT 1",
            "CREATE RECURSIVE VIEW v (a",
            "CREATE RECURSIVE VIEW IF NOT EXISTS v (a) AS SELECT 1",
            "CREATE RECURSIVE VIEW",
        ] {
            assert!(parse_one(text).is_err(), "{text}");
        }
    }
}
