//! `TokenList`: the tokens of a text without the spaces between them, for what is brought to other words before it is parsed.
//!
//! What must hold: a pass reads the tokens as they are, and all that it changes is changed at once, so that the work is linear in the
//! number of tokens.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};
use std::collections::BTreeMap;

/// Tokens by their number, and what a pass makes of them.
pub(crate) struct TokenList<'a> {
    tokens: &'a [TokenWithSpan],
    /// Where those stand that are no space.
    places: Vec<usize>,
    changes: Changes,
}

/// What a pass makes of tokens, by their places in the text.
#[derive(Default)]
pub(crate) struct Changes {
    before: BTreeMap<usize, Vec<Token>>,
    instead: BTreeMap<usize, Vec<Token>>,
}

impl<'a> TokenList<'a> {
    pub(crate) fn of(tokens: &'a [TokenWithSpan]) -> Self {
        let all = tokens.iter().enumerate();
        let all = all.filter(|(_, token)| !matches!(token.token, Token::Whitespace(_)));
        Self {
            tokens,
            places: all.map(|(at, _)| at).collect(),
            changes: Changes::default(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    pub(crate) fn token(&self, n: usize) -> Option<&'a TokenWithSpan> {
        self.places.get(n).map(|at| &self.tokens[*at])
    }

    /// The token so many before another.
    pub(crate) fn before(&self, n: usize, back: usize) -> Option<&'a TokenWithSpan> {
        n.checked_sub(back).and_then(|n| self.token(n))
    }

    /// Whether a token is a keyword, not in quotes.
    pub(crate) fn is(&self, n: usize, wanted: Keyword) -> bool {
        self.token(n).is_some_and(|token| keyword(token) == wanted)
    }

    /// Whether a token is that sign.
    pub(crate) fn has(&self, n: usize, sign: &Token) -> bool {
        self.token(n).is_some_and(|token| token.token == *sign)
    }

    /// The place of a token in the text; behind the last one that of the end.
    pub(crate) fn place(&self, n: usize) -> usize {
        self.places.get(n).copied().unwrap_or(self.tokens.len())
    }

    /// Puts tokens before one, behind those that were put there before; behind the last one at the end.
    pub(crate) fn put(&mut self, n: usize, new: impl IntoIterator<Item = Token>) {
        let at = self.place(n);
        self.changes.before.entry(at).or_default().extend(new);
    }

    /// Puts tokens in the place of one.
    pub(crate) fn replace(&mut self, n: usize, new: impl IntoIterator<Item = Token>) {
        let at = self.place(n);
        self.changes.instead.insert(at, new.into_iter().collect());
    }

    pub(crate) fn changes(self) -> Changes {
        self.changes
    }
}

impl Changes {
    /// Makes all of them.
    pub(crate) fn make(self, tokens: &mut Vec<TokenWithSpan>) {
        let Self {
            mut before,
            mut instead,
        } = self;
        if before.is_empty() && instead.is_empty() {
            return;
        }
        let end = tokens.len();
        let mut all = Vec::with_capacity(end + 16);
        let mut last = None;
        for (at, token) in std::mem::take(tokens).into_iter().enumerate() {
            let span = token.span;
            last = Some(span);
            let put = |token| TokenWithSpan { token, span };
            all.extend(before.remove(&at).unwrap_or_default().into_iter().map(put));
            match instead.remove(&at) {
                Some(new) => all.extend(new.into_iter().map(put)),
                None => all.push(token),
            }
        }
        if let (Some(span), Some(new)) = (last, before.remove(&end)) {
            all.extend(new.into_iter().map(|token| TokenWithSpan { token, span }));
        }
        *tokens = all;
    }
}

/// The keyword that a token is; none in quotes.
pub(crate) fn keyword(token: &TokenWithSpan) -> Keyword {
    match &token.token {
        Token::Word(word) if word.quote_style.is_none() => word.keyword,
        _ => Keyword::NoKeyword,
    }
}

/// Whether a token is a word, in any case and not in quotes.
pub(crate) fn is_word(token: &TokenWithSpan, wanted: &str) -> bool {
    matches!(&token.token, Token::Word(word) if word.quote_style.is_none() && word.value.eq_ignore_ascii_case(wanted))
}

/// A word as a token.
pub(crate) fn word(text: &str) -> Token {
    Token::make_word(text, None)
}

/// A name in quotes as a token.
pub(crate) fn named(text: &str) -> Token {
    Token::make_word(text, Some('"'))
}
