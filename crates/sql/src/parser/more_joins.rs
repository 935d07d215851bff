//! ASOF and POSITIONAL JOIN are brought to joins that the parser knows, with a call in their condition that says what they are:
//! `a ASOF JOIN b ON c` is `a JOIN b ON "$asof"() AND c`, `ASOF JOIN b USING (x)` is `JOIN b USING ("$asof", x)`, and
//! `a POSITIONAL JOIN b` is `a FULL JOIN b ON "$positional"()`.
//!
//! What must hold: the work is linear in the number of tokens.

use super::super::token_list::{TokenList, is_word, keyword, named, word};
use crate::marks::{ASOF, POSITIONAL};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

/// What a level of brackets waits for.
#[derive(Clone, Copy, Default)]
struct Level {
    /// The condition of an ASOF JOIN.
    asof: bool,
    /// The end of the table of a POSITIONAL JOIN.
    positional: bool,
}

/// Brings all of them to joins with conditions.
pub(super) fn as_joins(tokens: &mut Vec<TokenWithSpan>) {
    let is_one = |token: &TokenWithSpan| is_word(token, "asof") || is_word(token, "positional");
    if !tokens.iter().any(is_one) {
        return;
    }
    let mut list = TokenList::of(tokens);
    let mut levels = vec![Level::default()];
    let mut n = 0;
    while let Some(this) = list.token(n) {
        let is_within = levels.len() > 1;
        let Some(level) = levels.last_mut() else {
            break;
        };
        if level.positional && ends_table(this) {
            level.positional = false;
            list.put(n, condition(POSITIONAL));
        }
        match &this.token {
            Token::LParen | Token::LBracket | Token::LBrace => levels.push(Level::default()),
            Token::RParen | Token::RBracket | Token::RBrace if is_within => {
                levels.pop();
            }
            _ if is_word(this, "asof") && is_join(&list, n + 1) => {
                level.asof = true;
                list.replace(n, []);
            }
            _ if is_word(this, "positional") && list.is(n + 1, Keyword::JOIN) => {
                list.replace(n, [word("FULL")]);
                level.positional = true;
                // The next word is JOIN, which ends no table of its own.
                n += 1;
            }
            _ if level.asof && matches!(keyword(this), Keyword::ON | Keyword::USING) => {
                level.asof = false;
                let using = keyword(this) == Keyword::USING;
                list.put(n + 1 + usize::from(using), mark(using));
            }
            _ => {}
        }
        n += 1;
    }
    if levels.iter().any(|level| level.positional) {
        list.put(n, condition(POSITIONAL));
    }
    list.changes().make(tokens);
}

/// ` ON "name"() `
fn condition(name: &str) -> [Token; 4] {
    [word("ON"), named(name), Token::LParen, Token::RParen]
}

/// What says in a condition, or in the names of USING, that a join is an ASOF JOIN.
fn mark(using: bool) -> Vec<Token> {
    match using {
        true => vec![named(ASOF), Token::Comma],
        false => vec![named(ASOF), Token::LParen, Token::RParen, word("AND")],
    }
}

/// Whether a JOIN comes next, of whatever kind.
fn is_join(list: &TokenList<'_>, mut n: usize) -> bool {
    use Keyword as K;
    let kinds = [
        K::LEFT,
        K::RIGHT,
        K::FULL,
        K::OUTER,
        K::INNER,
        K::SEMI,
        K::ANTI,
    ];
    while list
        .token(n)
        .is_some_and(|token| kinds.contains(&keyword(token)))
    {
        n += 1;
    }
    list.is(n, K::JOIN)
}

/// Whether a token is behind a table and its alias.
fn ends_table(token: &TokenWithSpan) -> bool {
    use Keyword as K;
    const ENDS: [Keyword; 29] = [
        K::WHERE,
        K::GROUP,
        K::HAVING,
        K::WINDOW,
        K::QUALIFY,
        K::ORDER,
        K::LIMIT,
        K::OFFSET,
        K::FETCH,
        K::UNION,
        K::EXCEPT,
        K::INTERSECT,
        K::JOIN,
        K::INNER,
        K::LEFT,
        K::RIGHT,
        K::FULL,
        K::CROSS,
        K::NATURAL,
        K::SEMI,
        K::ANTI,
        K::SELECT,
        K::ON,
        K::USING,
        K::SET,
        K::RETURNING,
        K::WHEN,
        K::FOR,
        K::ASOF,
    ];
    match &token.token {
        Token::Comma | Token::RParen | Token::SemiColon => true,
        Token::Word(_) => ENDS.contains(&keyword(token)) || is_word(token, "positional"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use crate::{Statement, sql_text};

    #[test]
    fn each_form_becomes_a_join_that_the_parser_knows() {
        for (sql, query) in [
            (
                "SELECT * FROM a ASOF JOIN b ON a.x >= b.x AND a.y = b.y",
                "SELECT * FROM a JOIN b ON \"$asof\"() AND a.x >= b.x AND a.y = b.y",
            ),
            (
                "SELECT * FROM a ASOF LEFT JOIN (b JOIN c USING (z)) USING (y, x)",
                "SELECT * FROM a LEFT JOIN (b JOIN c USING(z)) USING(\"$asof\", y, x)",
            ),
            (
                "SELECT * FROM a POSITIONAL JOIN b AS c WHERE x",
                "SELECT * FROM a FULL JOIN b AS c ON \"$positional\"() WHERE x",
            ),
            (
                "SELECT * FROM (a POSITIONAL JOIN b), c POSITIONAL JOIN d POSITIONAL JOIN e",
                "SELECT * FROM (a FULL JOIN b ON \"$positional\"()), c FULL JOIN d ON \"$positional\"() FULL JOIN e ON \"$positional\"()",
            ),
            (
                "SELECT asof FROM positional, t AS positional",
                "SELECT asof FROM positional, t AS positional",
            ),
        ] {
            for text in [sql, query] {
                let Ok(Statement::Sql(read)) = parse(text) else {
                    panic!("{text} is not read")
                };
                assert_eq!(sql_text(read.as_ref()), query, "{text}");
            }
        }
    }
}
