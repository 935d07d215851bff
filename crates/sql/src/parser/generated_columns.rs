//! Generated columns without a type, which the parser would take the word behind their name for.
//!
//! What must hold: only what follows the name of a column in CREATE TABLE is looked at.

use super::token_list::{TokenList, named};
use crate::marks::OF_EXPRESSION;
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

/// Puts a type of ours behind such names: `a AS (b + 1)`, `a GENERATED ALWAYS AS (b + 1)`.
pub(super) fn with_types(tokens: &mut Vec<TokenWithSpan>) {
    let mut list = TokenList::of(tokens);
    if !list.is(0, Keyword::CREATE) || !(1..6).any(|n| list.is(n, Keyword::TABLE)) {
        return;
    }
    let mut depth = 0usize;
    for n in 1..list.len() {
        match list.token(n).map(|token| &token.token) {
            Some(Token::LParen) => depth += 1,
            Some(Token::RParen) => depth = depth.saturating_sub(1),
            Some(Token::Word(_)) if depth == 1 => {
                let begins = list.has(n - 1, &Token::LParen) || list.has(n - 1, &Token::Comma);
                let is_short = list.is(n + 1, Keyword::AS) && list.has(n + 2, &Token::LParen);
                let is_long = list.is(n + 1, Keyword::GENERATED)
                    && list.is(n + 2, Keyword::ALWAYS)
                    && list.is(n + 3, Keyword::AS)
                    && list.has(n + 4, &Token::LParen);
                if begins && (is_short || is_long) {
                    list.put(n + 1, [named(OF_EXPRESSION)]);
                }
            }
            _ => {}
        }
    }
    list.changes().make(tokens);
}
