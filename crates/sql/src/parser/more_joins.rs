//! ASOF and POSITIONAL JOIN are brought to joins that the parser knows, with a call in their condition that says what they are:
//! `a ASOF JOIN b ON c` is `a JOIN b ON "$asof"() AND c`, `ASOF JOIN b USING (x)` is `JOIN b USING ("$asof", x)`, and
//! `a POSITIONAL JOIN b` is `a FULL JOIN b ON "$positional"()`.
//!
//! What must hold: the work is linear in the number of tokens.

use super::phrases::{insert, is_word, keyword, places, remove, word};
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
    let places = places(tokens);
    let token = |n: usize| places.get(n).map(|at| &tokens[*at]);
    let (mut levels, mut gone, mut new, mut full) =
        (vec![Level::default()], vec![], vec![], vec![]);
    for (n, at) in places.iter().enumerate() {
        let this = &tokens[*at];
        let is_within = levels.len() > 1;
        let Some(level) = levels.last_mut() else {
            break;
        };
        if level.positional && ends_table(this) {
            level.positional = false;
            new.extend(condition(POSITIONAL).map(|token| (*at, token)));
        }
        match &this.token {
            Token::LParen | Token::LBracket | Token::LBrace => levels.push(Level::default()),
            Token::RParen | Token::RBracket | Token::RBrace if is_within => {
                levels.pop();
            }
            _ if is_word(this, "asof") && is_join(&token, n + 1) => {
                level.asof = true;
                gone.push(*at);
            }
            _ if is_word(this, "positional")
                && token(n + 1).is_some_and(|next| keyword(next) == Keyword::JOIN) =>
            {
                // The next word is JOIN, which ends no table of its own.
                full.push(*at);
            }
            _ if keyword(this) == Keyword::JOIN
                && full.last() == n.checked_sub(1).map(|n| &places[n]) =>
            {
                level.positional = true;
            }
            _ if level.asof && matches!(keyword(this), Keyword::ON | Keyword::USING) => {
                level.asof = false;
                let bracket = usize::from(keyword(this) == Keyword::USING);
                let at = places.get(n + 1 + bracket).copied().unwrap_or(tokens.len());
                new.extend(mark(bracket == 1).into_iter().map(|token| (at, token)));
            }
            _ => {}
        }
    }
    if levels.iter().any(|level| level.positional) {
        new.extend(condition(POSITIONAL).map(|token| (tokens.len(), token)));
    }
    for at in full {
        tokens[at].token = word("FULL");
    }
    new.extend(gone.iter().map(|at| (*at, Token::EOF)));
    new.sort_by_key(|(at, _)| *at);
    new.retain(|(_, token)| *token != Token::EOF);
    let moved: Vec<usize> = gone
        .iter()
        .map(|at| at + new.partition_point(|(place, _)| place <= at))
        .collect();
    insert(tokens, new);
    remove(tokens, &moved);
}

fn named(text: &str) -> Token {
    Token::make_word(text, Some('"'))
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
fn is_join<'a>(token: &impl Fn(usize) -> Option<&'a TokenWithSpan>, mut n: usize) -> bool {
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
    while token(n).is_some_and(|token| kinds.contains(&keyword(token))) {
        n += 1;
    }
    token(n).is_some_and(|token| keyword(token) == K::JOIN)
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
