//! What is changed in the tokens of a text before it is parsed: phrases that sqlparser's DuckDB dialect lacks in the midst
//! of statements that it knows.

use sqlparser::tokenizer::{Token, TokenWithSpan, Whitespace};

/// The table function that gives the rows of a DESCRIBE, SHOW or SUMMARIZE.
pub const ROWS_OF: &str = "$rows_of";

/// `E'...'`, whose escapes the tokenizer has read, as a plain string.
pub(super) fn plain_strings(tokens: &mut [TokenWithSpan]) {
    for token in tokens.iter_mut().map(|t| &mut t.token) {
        if let Token::EscapedStringLiteral(text) = token {
            *token = Token::SingleQuotedString(std::mem::take(text));
        }
    }
}

/// `'a'` and `'b'` on the next line are `'ab'`.
pub(super) fn joined_strings(tokens: &mut Vec<TokenWithSpan>) {
    let mut joined: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    // Where the last text stands, if only spaces follow it, and whether a line ends behind it.
    let mut last = None;
    for next in std::mem::take(tokens) {
        match (&next.token, last) {
            (Token::Whitespace(space), Some((at, ends))) => {
                let ends = ends || !matches!(space, Whitespace::Space | Whitespace::Tab);
                last = Some((at, ends));
            }
            (Token::SingleQuotedString(more), Some((at, true))) => {
                joined.truncate(at + 1);
                if let Some(Token::SingleQuotedString(text)) =
                    joined.last_mut().map(|t| &mut t.token)
                {
                    text.push_str(more);
                }
                last = Some((at, false));
                continue;
            }
            (Token::SingleQuotedString(_), _) => last = Some((joined.len(), false)),
            _ => last = None,
        }
        joined.push(next);
    }
    *tokens = joined;
}

/// Numbers without the underscores between their digits.
pub(super) fn plain_numbers(tokens: &mut [TokenWithSpan]) {
    for token in tokens.iter_mut().map(|t| &mut t.token) {
        if let Token::Number(text, _) = token {
            text.retain(|c| c != '_');
        }
    }
}

/// Takes `BY NAME` out of `INSERT INTO t BY NAME ...`; true when it was there.
pub(super) fn take_by_name(tokens: &mut Vec<TokenWithSpan>) -> bool {
    let words: Vec<(usize, String)> = tokens
        .iter()
        .enumerate()
        .filter(|(_, t)| !matches!(t.token, Token::Whitespace(_)))
        .take(12)
        .map(|(i, t)| (i, t.token.to_string().to_uppercase()))
        .collect();
    if words.first().is_none_or(|(_, word)| word != "INSERT") {
        return false;
    }
    let found = words
        .windows(2)
        .find(|pair| pair[0].1 == "BY" && pair[1].1 == "NAME");
    let (Some(pair), source) = (
        found,
        words
            .iter()
            .find(|(_, w)| matches!(w.as_str(), "SELECT" | "VALUES" | "FROM" | "WITH" | "(")),
    ) else {
        return false;
    };
    if source.is_some_and(|(at, _)| *at < pair[0].0) {
        return false;
    }
    tokens.drain(pair[0].0..=pair[1].0);
    true
}

/// Puts the table function `$rows_of('...')` where a query says `FROM (DESCRIBE ...)`, and likewise for SHOW and SUMMARIZE.
pub(super) fn statements_in_from(tokens: &mut Vec<TokenWithSpan>) {
    let mut at = 0;
    while at < tokens.len() {
        let next =
            (at + 1..tokens.len()).find(|i| !matches!(tokens[*i].token, Token::Whitespace(_)));
        let is_word = |i: usize| {
            matches!(&tokens[i].token, Token::Word(w) if w.quote_style.is_none()
                && matches!(w.value.to_uppercase().as_str(), "DESCRIBE" | "SHOW" | "SUMMARIZE"))
        };
        let (Token::LParen, Some(start)) = (&tokens[at].token, next.filter(|i| is_word(*i))) else {
            at += 1;
            continue;
        };
        let mut depth = 1;
        let mut end = start;
        while end < tokens.len() {
            match tokens[end].token {
                Token::LParen => depth += 1,
                Token::RParen => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                break;
            }
            end += 1;
        }
        if end == tokens.len() {
            return;
        }
        let text: String = tokens[start..end]
            .iter()
            .map(|t| match &t.token {
                Token::SingleQuotedString(text) => format!("'{}'", text.replace('\'', "''")),
                other => other.to_string(),
            })
            .collect();
        let span = tokens[at].span;
        let call = [
            Token::make_word(ROWS_OF, None),
            Token::LParen,
            Token::SingleQuotedString(text),
            Token::RParen,
        ];
        tokens.splice(at..=end, call.map(|token| TokenWithSpan { token, span }));
        at += 4;
    }
}
