//! Generated columns without a type, which the parser would take the word behind their name for, and options of IDENTITY in any order.
//!
//! What must hold: only what follows the name of a column in CREATE TABLE, or `AS IDENTITY`, is looked at.

use super::super::token_list::{TokenList, is_word, named};
use crate::marks::OF_EXPRESSION;
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

/// Brings the options of `AS IDENTITY (...)`, which come in any order, into the parser's, and leaves out `SEQUENCE NAME s`, which pg_dump
/// writes: the sequence is called as PostgreSQL calls it.
pub(super) fn with_ordered_options(tokens: &mut Vec<TokenWithSpan>) {
    let mut list = TokenList::of(tokens);
    if !list.is(0, Keyword::ALTER) && !list.is(0, Keyword::CREATE) {
        return;
    }
    for n in 0..list.len() {
        let is_identity = list
            .token(n)
            .is_some_and(|token| is_word(token, "identity"));
        let is_of_column = list.before(n, 1).is_some_and(|token| is_word(token, "as"));
        if is_identity && is_of_column && list.has(n + 1, &Token::LParen) {
            order_options(&mut list, n + 2);
        }
    }
    list.changes().make(tokens);
}

/// Orders the options of a sequence that begin at a token and go up to a closing bracket.
fn order_options(list: &mut TokenList<'_>, from: usize) {
    let mut options: Vec<(usize, Vec<Token>)> = vec![];
    let mut end = from;
    while let Some(token) = list.token(end) {
        match &token.token {
            Token::RParen => break,
            Token::LParen | Token::SemiColon => return,
            _ => {}
        }
        match (place_of_option(list, end), options.last_mut()) {
            (Some(place), _) => options.push((place, vec![token.token.clone()])),
            (None, Some((_, option))) => option.push(token.token.clone()),
            (None, None) => return,
        }
        end += 1;
    }
    options.retain(|(place, _)| *place < NAME);
    options.sort_by_key(|(place, _)| *place);
    (from..end).for_each(|n| list.replace(n, []));
    if from < end {
        list.replace(from, options.into_iter().flat_map(|(_, option)| option));
    }
}

/// Behind all places of options that the parser knows.
const NAME: usize = 6;

/// Where the parser expects the option that begins at a token, if one does.
fn place_of_option(list: &TokenList<'_>, n: usize) -> Option<usize> {
    const ORDER: [&str; NAME + 1] = [
        "increment",
        "minvalue",
        "maxvalue",
        "start",
        "cache",
        "cycle",
        "sequence",
    ];
    let place = |n| {
        let token = list.token(n)?;
        ORDER.iter().position(|first| is_word(token, first))
    };
    let is_no = |token: Option<&TokenWithSpan>| token.is_some_and(|token| is_word(token, "no"));
    match is_no(list.token(n)) {
        true => place(n + 1),
        // What `NO` begins goes on here.
        false if is_no(list.before(n, 1)) => None,
        false => place(n),
    }
}

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
