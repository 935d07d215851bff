//! `SELECT a: 42`: names of a select list that stand before their values.

use super::super::operators::NAMED;
use super::super::token_list::{TokenList, keyword};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

/// What a select list does not go on behind.
const ENDS_OF_LISTS: [Keyword; 8] = [
    Keyword::FROM,
    Keyword::WHERE,
    Keyword::GROUP,
    Keyword::HAVING,
    Keyword::WINDOW,
    Keyword::QUALIFY,
    Keyword::ORDER,
    Keyword::LIMIT,
];

/// `SELECT a: 42`: a name and its colon become a mark, before which the dialect finds the expression.
pub(super) fn names_before_colons(tokens: &mut Vec<TokenWithSpan>) {
    let mut list = TokenList::of(tokens);
    // Of each bracket: whether it is a round one, and whether a select list goes on in it.
    let mut levels = vec![(true, false)];
    // The bracket of DISTINCT ON, behind which a select list begins.
    let mut of_distinct = None;
    let mut n = 0;
    while let Some(token) = list.token(n) {
        let mut is_behind_distinct = false;
        match &token.token {
            Token::LParen => {
                if n > 1 && list.is(n - 1, Keyword::ON) && list.is(n - 2, Keyword::DISTINCT) {
                    of_distinct = Some(levels.len());
                }
                levels.push((true, false));
            }
            Token::LBracket | Token::LBrace => levels.push((false, false)),
            Token::RParen | Token::RBracket | Token::RBrace if levels.len() > 1 => {
                levels.pop();
                is_behind_distinct = of_distinct
                    .take_if(|level| *level == levels.len())
                    .is_some();
            }
            _ => {
                let begins = keyword(token) == Keyword::SELECT;
                let ends = ENDS_OF_LISTS.contains(&keyword(token));
                if let Some(level) = levels.last_mut().filter(|_| begins || ends) {
                    level.1 = begins;
                }
            }
        }
        let begins = token.token == Token::Comma
            || is_behind_distinct
            || matches!(keyword(token), Keyword::SELECT | Keyword::DISTINCT);
        if begins
            && levels.last() == Some(&(true, true))
            && list.has(n + 2, &Token::Colon)
            && let Some(Token::Word(name)) = list.token(n + 1).map(|name| &name.token)
        {
            let quote = if name.quote_style.is_some() { '"' } else { ' ' };
            let mark = Token::Placeholder(format!("{NAMED}{quote}{}", name.value));
            list.replace(n + 1, [mark]);
            list.replace(n + 2, []);
            n += 2;
        }
        n += 1;
    }
    list.changes().make(tokens);
}
