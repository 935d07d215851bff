//! Phrases of PostgreSQL that are brought, before they are parsed, to others that mean the same, or marked for the dialect: literals of bits,
//! BETWEEN SYMMETRIC, TRIM without what is cut off, roots, and `#`.

use super::super::operators::{CUBE_ROOT, SQUARE_ROOT, SYMMETRIC_MARK};
use super::super::token_list::{TokenList, is_word, named, word};
use crate::marks::ROWS_FROM;
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

/// Brings all of them to what the parser knows.
pub(super) fn postgres_phrases(tokens: &mut Vec<TokenWithSpan>) {
    similar_parts(tokens);
    let mut list = TokenList::of(tokens);
    let mark = |mark: &str| [Token::Placeholder(mark.to_owned())];
    let said = |list: &TokenList<'_>, n: usize, wanted: &str| {
        list.token(n).is_some_and(|token| is_word(token, wanted))
    };
    for n in 0..list.len() {
        match list.token(n).map(|token| &token.token) {
            Some(Token::PGSquareRoot) => list.replace(n, mark(SQUARE_ROOT)),
            Some(Token::PGCubeRoot) => list.replace(n, mark(CUBE_ROOT)),
            Some(Token::Sharp) => list.replace(n, [Token::CustomBinaryOperator("#".to_owned())]),
            Some(Token::SingleQuotedString(bits)) if is_of_bits(&list, n, bits) => {
                let text = Token::SingleQuotedString(bits.clone());
                list.replace(n - 1, [word("CAST"), Token::LParen, text]);
                list.replace(n, bits_end());
            }
            Some(Token::HexStringLiteral(digits)) => {
                if let Some(bits) = bits_of(digits) {
                    let text = Token::SingleQuotedString(bits);
                    let begin = [word("CAST"), Token::LParen, text];
                    list.replace(n, begin.into_iter().chain(bits_end()));
                }
            }
            Some(Token::Word(_)) if list.is(n, Keyword::ANY) || list.is(n, Keyword::SOME) => {
                let is_pattern = n > 0
                    && (list.is(n - 1, Keyword::LIKE) || list.is(n - 1, Keyword::ILIKE))
                    && list.has(n + 1, &Token::LParen);
                if is_pattern {
                    list.replace(n, [named("any")]);
                }
            }
            Some(Token::Word(_)) if said(&list, n, "rows") => {
                let is_call = list.is(n + 1, Keyword::FROM) && list.has(n + 2, &Token::LParen);
                let is_relation = n > 0
                    && (list.is(n - 1, Keyword::FROM)
                        || list.is(n - 1, Keyword::JOIN)
                        || list.is(n - 1, Keyword::LATERAL)
                        || list.has(n - 1, &Token::Comma));
                if is_call && is_relation {
                    list.replace(n, [named(ROWS_FROM)]);
                    list.replace(n + 1, []);
                }
            }
            Some(Token::Word(_)) if list.is(n, Keyword::BETWEEN) => {
                if said(&list, n + 1, "symmetric") {
                    list.replace(n + 1, mark(SYMMETRIC_MARK));
                } else if said(&list, n + 1, "asymmetric") {
                    list.replace(n + 1, []);
                }
            }
            Some(Token::Word(_)) if said(&list, n, "trim") && list.has(n + 1, &Token::LParen) => {
                let is_side = ["leading", "trailing", "both"]
                    .iter()
                    .any(|side| said(&list, n + 2, side));
                if list.is(n + 2, Keyword::FROM) {
                    list.replace(n + 2, []);
                } else if is_side && list.is(n + 3, Keyword::FROM) {
                    list.put(n + 3, [Token::SingleQuotedString(" ".to_owned())]);
                }
            }
            _ => {}
        }
    }
    list.changes().make(tokens);
}

/// What stands behind bits that are written out.
fn bits_end() -> [Token; 4] {
    [word("AS"), word("BIT"), word("VARYING"), Token::RParen]
}

/// The bits of hexadecimal digits, of which there is one at least.
fn bits_of(digits: &str) -> Option<String> {
    let bits = digits.chars().map(|digit| {
        let digit = digit.to_digit(16)?;
        Some(format!("{digit:04b}"))
    });
    bits.collect::<Option<String>>()
        .filter(|bits| !bits.is_empty())
}

/// `substring(x SIMILAR p ESCAPE e)` is one with FROM and FOR.
fn similar_parts(tokens: &mut Vec<TokenWithSpan>) {
    let mut list = TokenList::of(tokens);
    // Of each bracket: whether it is that of a substring, and whether SIMILAR came in it.
    let mut levels: Vec<(bool, bool)> = vec![];
    for n in 0..list.len() {
        let said =
            |n: usize, wanted: &str| list.token(n).is_some_and(|token| is_word(token, wanted));
        match list.token(n).map(|token| &token.token) {
            Some(Token::LParen) => levels.push((n > 0 && said(n - 1, "substring"), false)),
            Some(Token::RParen) => {
                levels.pop();
            }
            Some(Token::Word(_)) => {
                let Some((true, is_similar)) = levels.last_mut() else {
                    continue;
                };
                if said(n, "similar") && !said(n + 1, "to") {
                    *is_similar = true;
                    list.replace(n, [word("FROM")]);
                } else if *is_similar && said(n, "escape") {
                    list.replace(n, [word("FOR")]);
                }
            }
            _ => {}
        }
    }
    list.changes().make(tokens);
}

/// Whether a text is one of bits: `B'101'`, without a space.
fn is_of_bits(list: &TokenList<'_>, n: usize, text: &str) -> bool {
    let is_marked = list.before(n, 1).is_some_and(|mark| is_word(mark, "b"));
    is_marked
        && list.place(n - 1) + 1 == list.place(n)
        && text.bytes().all(|bit| matches!(bit, b'0' | b'1'))
}
