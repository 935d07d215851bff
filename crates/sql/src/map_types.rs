//! `MAP(key, value)` as a type, which the parser knows as `MAP<key, value>` alone, and `ROW(name type, ...)`, which is a STRUCT.
//!
//! What must hold: `map(keys, values)` and `row(values)`, the functions, and tables of those names stay as they are; the work is linear in the number of
//! tokens.

use super::token_list::{TokenList, keyword, word};
use sqlparser::keywords::Keyword as K;
use sqlparser::tokenizer::{Token, TokenWithSpan};

/// What an open bracket is of.
#[derive(Clone, Copy, PartialEq)]
enum Bracket {
    Map,
    Cast,
    Struct,
    Other,
}

/// Brings all such types to the parser's form. `is_type`: the text is the name of a type.
pub(crate) fn plain_map_types(tokens: &mut Vec<TokenWithSpan>, is_type: bool) {
    let mut list = TokenList::of(tokens);
    let of_table = [K::CREATE, K::ALTER].iter().any(|word| list.is(0, *word));
    let mut open = Vec::new();
    for n in 0..list.len() {
        match list.token(n).map(|token| &token.token) {
            Some(Token::LParen) => {
                let bracket = match list.before(n, 1).map(keyword) {
                    Some(K::MAP) if is_of_type(&list, n - 1, &open, (is_type, of_table)) => {
                        list.replace(n, [Token::Lt]);
                        Bracket::Map
                    }
                    Some(K::CAST | K::TRY_CAST) => Bracket::Cast,
                    Some(K::STRUCT) => Bracket::Struct,
                    // A method of samples has that name, too.
                    Some(K::ROW) if list.before(n, 2).map(keyword) == Some(K::TABLESAMPLE) => {
                        Bracket::Other
                    }
                    Some(K::ROW) if is_of_type(&list, n - 1, &open, (is_type, of_table)) => {
                        list.replace(n - 1, [word("STRUCT")]);
                        Bracket::Struct
                    }
                    Some(K::UNION) if !list.is_query(n + 1) => Bracket::Struct,
                    _ => Bracket::Other,
                };
                open.push(bracket);
            }
            Some(Token::RParen) if open.pop() == Some(Bracket::Map) => {
                list.replace(n, [Token::Gt]);
            }
            _ => {}
        }
    }
    list.changes().make(tokens);
}

/// Whether a word stands where a type does.
fn is_of_type(
    list: &TokenList<'_>,
    n: usize,
    open: &[Bracket],
    (is_type, of_table): (bool, bool),
) -> bool {
    let Some(before) = list.before(n, 1) else {
        return is_type;
    };
    let within = open.last().copied().unwrap_or(Bracket::Other);
    match &before.token {
        Token::DoubleColon => true,
        Token::LParen | Token::Comma => within == Bracket::Map,
        Token::Word(_) => match keyword(before) {
            K::AS => within == Bracket::Cast || (of_table && list.is_before_of_type(n)),
            K::TYPE => of_table,
            word => within == Bracket::Struct || (of_table && !may_begin(word)),
        },
        _ => false,
    }
}

impl TokenList<'_> {
    /// Whether what stands here is a query, and not the first member of a UNION.
    fn is_query(&self, n: usize) -> bool {
        let begins = [K::SELECT, K::WITH, K::VALUES, K::FROM, K::TABLE];
        let is_bracket = self
            .token(n)
            .is_some_and(|token| token.token == Token::LParen);
        is_bracket || begins.iter().any(|word| self.is(n, *word))
    }

    /// Whether the `AS` before a token is that of `CREATE TYPE name AS`.
    fn is_before_of_type(&self, n: usize) -> bool {
        (1..n.min(8)).any(|at| self.is(at, K::TYPE))
    }
}

/// Whether an expression or the name of a table or function may stand behind a word: no column is called so.
fn may_begin(word: K) -> bool {
    matches!(
        word,
        K::SELECT
            | K::DISTINCT
            | K::ALL
            | K::ANY
            | K::SOME
            | K::WHERE
            | K::AND
            | K::OR
            | K::NOT
            | K::ON
            | K::BY
            | K::CASE
            | K::WHEN
            | K::THEN
            | K::ELSE
            | K::IN
            | K::LIKE
            | K::ILIKE
            | K::BETWEEN
            | K::HAVING
            | K::QUALIFY
            | K::VALUES
            | K::USING
            | K::SET
            | K::LIMIT
            | K::OFFSET
            | K::IS
            | K::FROM
            | K::JOIN
            | K::LATERAL
            | K::EXISTS
            | K::DEFAULT
            | K::CHECK
            | K::TABLE
            | K::VIEW
            | K::MACRO
            | K::FUNCTION
            | K::WITH
            | K::RECURSIVE
            | K::REFERENCES
            | K::ESCAPE
            | K::TO
            | K::UNION
            | K::EXCEPT
            | K::INTERSECT
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::HushDialect;
    use sqlparser::tokenizer::Tokenizer;

    fn plain(text: &str, is_type: bool) -> String {
        let dialect = HushDialect::default();
        let mut tokens = Tokenizer::new(&dialect, text)
            .tokenize_with_location()
            .unwrap();
        plain_map_types(&mut tokens, is_type);
        tokens
            .iter()
            .map(|token| token.token.to_string())
            .collect::<String>()
    }

    #[test]
    fn types_get_angle_brackets() {
        for (text, expected) in [
            ("SELECT x::MAP(INT, INT)[]", "SELECT x::MAP<INT, INT>[]"),
            (
                "SELECT CAST(f(x) AS map(INT, map(INT, STRUCT(a INT, m MAP(INT, DECIMAL(5,2))))))",
                "SELECT CAST(f(x) AS map<INT, map<INT, STRUCT(a INT, m MAP<INT, DECIMAL(5,2)>)>>)",
            ),
            (
                "CREATE TABLE map (map MAP(INT, INT) DEFAULT map([1], [2]), key MAP(MAP(INT, INT), INT))",
                "CREATE TABLE map (map MAP<INT, INT> DEFAULT map([1], [2]), key MAP<MAP<INT, INT>, INT>)",
            ),
            (
                "ALTER TABLE t ALTER c TYPE MAP(INT, INT)",
                "ALTER TABLE t ALTER c TYPE MAP<INT, INT>",
            ),
            (
                "CREATE TYPE m AS MAP(INT, INT)",
                "CREATE TYPE m AS MAP<INT, INT>",
            ),
        ] {
            assert_eq!(plain(text, false), expected);
        }
        assert_eq!(
            plain("SELECT x::UNION(a INT, m MAP(INT, INT))", false),
            "SELECT x::UNION(a INT, m MAP<INT, INT>)"
        );
        assert_eq!(plain("MAP(INT, INT[])", true), "MAP<INT, INT[]>");
        for (text, expected) in [
            (
                "SELECT row(1, 2)::ROW(a INT, b row(c INT)), row(a, b) FROM row(1)",
                "SELECT row(1, 2)::STRUCT(a INT, b STRUCT(c INT)), row(a, b) FROM row(1)",
            ),
            (
                "CREATE TABLE row(row ROW(a INT) DEFAULT row(1))",
                "CREATE TABLE row(row STRUCT(a INT) DEFAULT row(1))",
            ),
            (
                "CREATE VIEW v AS SELECT a FROM t TABLESAMPLE ROW(12 ROWS)",
                "CREATE VIEW v AS SELECT a FROM t TABLESAMPLE ROW(12 ROWS)",
            ),
        ] {
            assert_eq!(plain(text, false), expected);
        }
    }

    #[test]
    fn functions_and_tables_stay() {
        for text in [
            "SELECT map([1], [2]), MAP(a, b), map {1: 2} FROM map (1) AS map(a, b)",
            "CREATE TABLE map(a INT)",
            "CREATE TABLE t AS SELECT map(a, b) FROM u WHERE map(a, b) = map(b, a)",
            "CREATE MACRO map(a, b) AS map(a, b)",
            "INSERT INTO map(a) SELECT map(a, b)",
            "SELECT list_transform(l, x -> map([x], [x]))",
            "SELECT a UNION (SELECT b, map(a, b)) UNION ((SELECT x map) UNION (FROM map(a)))",
            "WITH map(a) AS (SELECT 1) FROM map",
            "map(a, b)",
        ] {
            assert_eq!(plain(text, false), text);
        }
    }
}
