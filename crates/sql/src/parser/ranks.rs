//! `rank(ORDER BY x) OVER (...)`: the parser takes an order behind arguments alone. A NULL is put before it, which
//! `window_order.rs` takes out.

use crate::token_list::{TokenList, word};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

/// Functions that count rows, which may have an order of their own.
pub(crate) const RANKS: [&str; 4] = ["row_number", "rank", "percent_rank", "cume_dist"];

/// Puts it in.
pub(super) fn with_arguments(tokens: &mut Vec<TokenWithSpan>) {
    let mut list = TokenList::of(tokens);
    for n in 2..list.len() {
        let is_order = list.is(n, Keyword::ORDER) && list.is(n + 1, Keyword::BY);
        if is_order && list.has(n - 1, &Token::LParen) && is_rank(list.token(n - 2)) {
            list.put(n, [word("NULL")]);
        }
    }
    list.changes().make(tokens);
}

fn is_rank(token: Option<&TokenWithSpan>) -> bool {
    match token.map(|token| &token.token) {
        Some(Token::Word(word)) => RANKS
            .iter()
            .any(|rank| word.value.eq_ignore_ascii_case(rank)),
        _ => false,
    }
}
