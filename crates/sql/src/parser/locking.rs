//! Locking clauses as PostgreSQL's users write them: before LIMIT and OFFSET, and in their four strengths.
//!
//! ```text
//! FOR UPDATE SKIP LOCKED LIMIT 1  -> LIMIT 1 FOR UPDATE SKIP LOCKED
//! FOR NO KEY UPDATE               -> FOR UPDATE
//! FOR KEY SHARE                   -> FOR SHARE
//! ```
//!
//! What must hold: a clause locks no less than what was asked for.

use super::super::token_list::{TokenList, is_word, keyword};
use sqlparser::keywords::Keyword as K;
use sqlparser::tokenizer::{Token, TokenWithSpan};

/// Brings locking clauses to the words and the place in which the parser knows them.
pub(super) fn plain_locks(tokens: &mut Vec<TokenWithSpan>) {
    let any = |words: &[K]| tokens.iter().any(|token| words.contains(&keyword(token)));
    if !any(&[K::FOR]) || !any(&[K::UPDATE, K::SHARE]) {
        return;
    }
    let mut list = TokenList::of(tokens);
    let mut n = 0;
    while n < list.len() {
        match clause(&list, n) {
            Some(found) => n = place(&mut list, n, found),
            None => n += 1,
        }
    }
    list.changes().make(tokens);
}

/// A locking clause: the words between FOR and its strength, and where it ends.
struct Clause {
    strength: usize,
    end: usize,
}

fn clause(list: &TokenList<'_>, n: usize) -> Option<Clause> {
    let said = |n: usize, wanted: &str| list.token(n).is_some_and(|token| is_word(token, wanted));
    if !list.is(n, K::FOR) {
        return None;
    }
    let strength = match () {
        () if list.is(n + 1, K::UPDATE) || list.is(n + 1, K::SHARE) => n + 1,
        () if said(n + 1, "key") && list.is(n + 2, K::SHARE) => n + 2,
        () if said(n + 1, "no") && said(n + 2, "key") && list.is(n + 3, K::UPDATE) => n + 3,
        () => return None,
    };
    let mut end = strength + 1;
    if list.is(end, K::OF) {
        end += 2;
        while list.has(end, &Token::Period) {
            end += 2;
        }
    }
    if said(end, "nowait") {
        end += 1;
    } else if said(end, "skip") && said(end + 1, "locked") {
        end += 2;
    }
    Some(Clause { strength, end })
}

/// Puts a clause behind what limits the query; gives the token after both.
fn place(list: &mut TokenList<'_>, n: usize, clause: Clause) -> usize {
    (n + 1..clause.strength).for_each(|n| list.replace(n, []));
    let limits = [K::LIMIT, K::OFFSET, K::FETCH];
    if !limits.iter().any(|word| list.is(clause.end, *word)) {
        return clause.end;
    }
    let mut depth = 0_usize;
    let mut end = clause.end;
    while let Some(token) = list.token(end) {
        match &token.token {
            Token::LParen => depth += 1,
            Token::RParen | Token::SemiColon if depth == 0 => break,
            Token::RParen => depth -= 1,
            _ => {}
        }
        end += 1;
    }
    let words = (n..n + 1).chain(clause.strength..clause.end);
    let words: Vec<Token> = words
        .filter_map(|n| list.token(n).map(|token| token.token.clone()))
        .collect();
    list.put(end, words);
    list.replace(n, []);
    (clause.strength..clause.end).for_each(|n| list.replace(n, []));
    end
}

#[cfg(test)]
mod tests {
    #[test]
    fn clauses_are_read_where_postgresql_takes_them() {
        for (sql, same) in [
            (
                "SELECT a FROM t ORDER BY a FOR UPDATE SKIP LOCKED LIMIT 1 OFFSET 2",
                "SELECT a FROM t ORDER BY a LIMIT 1 OFFSET 2 FOR UPDATE SKIP LOCKED",
            ),
            (
                "SELECT a FROM t FOR NO KEY UPDATE OF t NOWAIT",
                "SELECT a FROM t FOR UPDATE OF t NOWAIT",
            ),
            ("SELECT a FROM t FOR KEY SHARE", "SELECT a FROM t FOR SHARE"),
            (
                "DELETE FROM t WHERE a IN (SELECT a FROM t FOR UPDATE LIMIT (1 + 1))",
                "DELETE FROM t WHERE a IN (SELECT a FROM t LIMIT (1 + 1) FOR UPDATE)",
            ),
        ] {
            let text = |sql: &str| match crate::parse(sql).unwrap() {
                crate::Statement::Sql(statement) => statement.to_string(),
                _ => panic!("{sql}"),
            };
            assert_eq!(text(sql), text(same));
        }
        assert!(crate::parse("CREATE VIEW v AS SELECT a FROM t FOR UPDATE").is_err());
    }
}
