//! `FROM t WHERE x` is `FROM t SELECT * WHERE x`: of queries that begin with their FROM, the parser knows those that end there or
//! go on with SELECT, ORDER BY or LIMIT.
//!
//! What must hold: a FROM of another clause (of SELECT, DELETE, `extract(year FROM x)`, IS DISTINCT FROM) stays as it is; the work is
//! linear in the number of tokens.

use super::super::token_list::{TokenList, keyword, word};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

/// What is known within one pair of parentheses, or outside of all.
struct Level {
    /// The word that it begins with.
    first: Option<Keyword>,
    /// Whether a query may begin here.
    begins: bool,
    /// Whether there was a word that a FROM behind it belongs to.
    has_owner: bool,
    /// Within the FROM of a query that began with it.
    in_from: bool,
}

impl Level {
    const NEW: Self = Self {
        first: None,
        begins: true,
        has_owner: false,
        in_from: false,
    };

    /// Whether a FROM behind this word begins a query.
    fn begins_query(&self, before: Keyword) -> bool {
        let behind_others = matches!(
            self.first,
            Some(Keyword::WITH | Keyword::INSERT | Keyword::EXPLAIN)
        );
        self.begins
            || matches!(before, Keyword::AS | Keyword::EXPLAIN | Keyword::ANALYZE)
            || behind_others && !self.has_owner && before != Keyword::DISTINCT
    }
}

/// Says `SELECT *` where it is left out before a clause.
pub(super) fn with_their_stars(tokens: &mut Vec<TokenWithSpan>) {
    let mut list = TokenList::of(tokens);
    let mut levels = vec![Level::NEW];
    let mut n = 0;
    let mut before = Keyword::NoKeyword;
    while let Some(token) = list.token(n) {
        let word_here = keyword(token);
        let depth = levels.len();
        let Some(level) = levels.last_mut() else {
            return;
        };
        match &token.token {
            Token::LParen => {
                level.begins = false;
                levels.push(Level::NEW);
            }
            Token::RParen if depth > 1 => {
                levels.pop();
            }
            Token::SemiColon => *level = Level::NEW,
            _ => {
                if level.in_from && ends_from(word_here, before) {
                    list.put(n, [word("SELECT"), Token::Mul]);
                }
                step(level, word_here, before);
            }
        }
        before = word_here;
        n += 1;
    }
    list.changes().make(tokens);
}

/// Whether a word is a clause of its own behind a FROM.
fn ends_from(this: Keyword, before: Keyword) -> bool {
    match this {
        Keyword::WHERE | Keyword::HAVING | Keyword::QUALIFY | Keyword::WINDOW => true,
        Keyword::GROUP => before != Keyword::WITHIN,
        _ => false,
    }
}

fn step(level: &mut Level, this: Keyword, before: Keyword) {
    level.first.get_or_insert(this);
    match this {
        Keyword::UNION | Keyword::EXCEPT | Keyword::INTERSECT => {
            (level.begins, level.in_from) = (true, false);
        }
        // Behind a UNION and its like.
        Keyword::ALL | Keyword::DISTINCT | Keyword::BY | Keyword::NAME if level.begins => {}
        Keyword::FROM => {
            level.in_from = level.begins_query(before);
            level.begins = false;
        }
        _ => {
            level.has_owner |= matches!(
                this,
                Keyword::SELECT
                    | Keyword::DELETE
                    | Keyword::UPDATE
                    | Keyword::MERGE
                    | Keyword::COPY
            );
            level.in_from &= this != Keyword::SELECT && !ends_from(this, before);
            level.begins = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use crate::{Statement, sql_text};

    fn text(sql: &str) -> String {
        match parse(sql) {
            Ok(Statement::Sql(read)) => sql_text(read.as_ref()),
            _ => panic!("{sql} is not read"),
        }
    }

    #[test]
    fn a_query_that_begins_with_its_from_has_clauses() {
        for (sql, query) in [
            ("FROM t WHERE a = 1", "FROM t SELECT * WHERE a = 1"),
            (
                "WITH u AS (FROM t WHERE a) FROM u JOIN v ON u.a = v.a WHERE v.b GROUP BY ALL",
                "WITH u AS (FROM t SELECT * WHERE a) FROM u JOIN v ON u.a = v.a SELECT * WHERE v.b GROUP BY ALL",
            ),
            (
                "FROM t WHERE a UNION ALL FROM (FROM u WHERE b) QUALIFY c",
                "FROM t SELECT * WHERE a UNION ALL FROM (FROM u SELECT * WHERE b) SELECT * QUALIFY c",
            ),
            (
                "INSERT INTO t FROM u WHERE a",
                "INSERT INTO t FROM u SELECT * WHERE a",
            ),
            (
                "CREATE TABLE t AS FROM u WHERE a",
                "CREATE TABLE t AS FROM u SELECT * WHERE a",
            ),
            (
                "SELECT EXISTS (FROM t WHERE a) FROM b WHERE c",
                "SELECT EXISTS (FROM t SELECT * WHERE a) FROM b WHERE c",
            ),
        ] {
            assert_eq!(text(sql), text(query), "{sql}");
        }
    }

    #[test]
    fn another_from_stays_as_it_is() {
        for sql in [
            "DELETE FROM t WHERE a = 1",
            "WITH u AS (SELECT 1 AS a) SELECT * EXCLUDE (a) FROM u WHERE a = 1",
            "WITH u AS (SELECT 1 AS a) SELECT a IS DISTINCT FROM 2 FROM u WHERE a = 1",
            "SELECT EXTRACT(YEAR FROM a) FROM t WHERE b GROUP BY c",
            "FROM t SELECT a WHERE b",
            "UPDATE t SET a = 1 FROM u WHERE t.b = u.b",
            "SELECT a FROM t UNION SELECT b FROM u WHERE c",
        ] {
            assert!(!text(sql).contains("SELECT * WHERE"), "{sql}");
        }
    }
}
