//! `ROLLUP ((SELECT ...), (a + b) * 2)`: the parser reads each bracket that begins an element as that of a list of expressions. Elements of
//! one expression that begin with a bracket get another one around them.

use crate::token_list::TokenList;
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

/// A bracket that is open.
struct Open {
    at: usize,
    /// Whether it is that of ROLLUP, CUBE or GROUPING SETS.
    has_elements: bool,
    /// Where its element begins that is read.
    element: usize,
    /// Where the bracket closes that begins this element.
    closed: Option<usize>,
}

/// Puts them in.
pub(super) fn in_brackets(tokens: &mut Vec<TokenWithSpan>) {
    let mut list = TokenList::of(tokens);
    let mut open: Vec<Open> = vec![];
    for n in 0..list.len() {
        let (opens, closes) = (list.has(n, &Token::LParen), list.has(n, &Token::RParen));
        if opens {
            open.push(Open {
                at: n,
                has_elements: begins_elements(&list, n),
                element: n + 1,
                closed: None,
            });
            continue;
        }
        if !closes && !list.has(n, &Token::Comma) {
            continue;
        }
        if let Some(of) = open.last_mut() {
            if of.has_elements && is_one_expression(&list, of, n) {
                list.put(of.element, [Token::LParen]);
                list.put(n, [Token::RParen]);
            }
            of.element = n + 1;
            of.closed = None;
        }
        if closes
            && let Some(inner) = open.pop()
            && let Some(outer) = open.last_mut()
            && outer.element == inner.at
        {
            outer.closed = Some(n);
        }
    }
    list.changes().make(tokens);
}

fn begins_elements(list: &TokenList, n: usize) -> bool {
    let is_before = |back: usize, wanted| n.checked_sub(back).is_some_and(|n| list.is(n, wanted));
    is_before(1, Keyword::ROLLUP)
        || is_before(1, Keyword::CUBE)
        || is_before(1, Keyword::SETS) && is_before(2, Keyword::GROUPING)
}

/// Whether the element that ends before `n` begins with a bracket and is no list in brackets.
fn is_one_expression(list: &TokenList, of: &Open, n: usize) -> bool {
    let is_query = [
        Keyword::SELECT,
        Keyword::WITH,
        Keyword::FROM,
        Keyword::VALUES,
    ];
    of.closed.is_some_and(|closed| {
        closed + 1 < n || is_query.iter().any(|word| list.is(of.element + 1, *word))
    })
}
