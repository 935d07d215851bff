//! `WITH a AS (query) MERGE INTO t USING a ...` as `MERGE INTO t USING (WITH a AS (query) SELECT * FROM a) AS a ...`: only what MERGE reads its
//! rows from names queries of WITH.
//!
//! What must hold: the work is linear in the number of tokens; a WITH before anything else stays as it is.

use sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer, Whitespace};

use crate::dialect::HushDialect;

/// Puts WITH where MERGE begins to read, also behind EXPLAIN.
pub(super) fn with_inside(tokens: &mut Vec<TokenWithSpan>) {
    let before = tokens.iter().enumerate().take_while(|(at, token)| {
        matches!(token.token, Token::Whitespace(_))
            || is(tokens, *at, "EXPLAIN")
            || is(tokens, *at, "ANALYZE")
    });
    let mut rest = tokens.split_off(before.count());
    put_inside(&mut rest);
    tokens.append(&mut rest);
}

fn put_inside(tokens: &mut Vec<TokenWithSpan>) {
    let is_blank = |token: &TokenWithSpan| matches!(token.token, Token::Whitespace(_));
    let solid: Vec<usize> = (0..tokens.len())
        .filter(|at| !is_blank(&tokens[*at]))
        .collect();
    let Some((merge, source)) = places(tokens, &solid) else {
        return;
    };
    let source = &solid[source..];
    let Some(first) = source.first().copied() else {
        return;
    };
    let with: Vec<TokenWithSpan> = tokens[..merge].to_vec();
    let mut made: Vec<TokenWithSpan> = tokens[merge..first].to_vec();
    let rest = match tokens[first].token {
        Token::LParen => {
            made.push(tokens[first].clone());
            made.extend(with);
            first + 1
        }
        _ => {
            let parts = name_parts(tokens, source);
            let end = source.get(parts).copied().unwrap_or(tokens.len());
            made.extend(words("("));
            made.extend(with);
            made.extend(words("SELECT * FROM "));
            made.extend_from_slice(&tokens[first..end]);
            made.extend(words(")"));
            let named = source
                .get(parts)
                .is_some_and(|at| !is(tokens, *at, "ON") && !is(tokens, *at, "USING"));
            if !named && let Some(last) = source.get(parts - 1) {
                made.extend(words(" AS "));
                made.push(tokens[*last].clone());
                made.extend(words(" "));
            }
            end
        }
    };
    made.extend_from_slice(&tokens[rest..]);
    *tokens = made;
}

/// Where MERGE stands behind a WITH, and where among the solid tokens its source begins.
fn places(tokens: &[TokenWithSpan], solid: &[usize]) -> Option<(usize, usize)> {
    if !is(tokens, *solid.first()?, "WITH") {
        return None;
    }
    let (mut depth, mut merge) = (0_usize, None);
    for (n, at) in solid.iter().enumerate() {
        match &tokens[*at].token {
            Token::LParen => depth += 1,
            Token::RParen => depth = depth.saturating_sub(1),
            Token::Word(_) if depth > 0 => {}
            Token::Word(_) if merge.is_none() => {
                let begins = |word| is(tokens, *at, word);
                if ["SELECT", "FROM", "INSERT", "UPDATE", "DELETE", "VALUES"].map(begins)
                    != [false; 6]
                {
                    return None;
                }
                let is_into = solid
                    .get(n + 1)
                    .is_some_and(|next| is(tokens, *next, "INTO"));
                if begins("MERGE") && is_into {
                    merge = Some(*at);
                }
            }
            Token::Word(_) if is(tokens, *at, "USING") => return Some((merge?, n + 1)),
            _ => {}
        }
    }
    None
}

fn is(tokens: &[TokenWithSpan], at: usize, word: &str) -> bool {
    match tokens.get(at).map(|token| &token.token) {
        Some(Token::Word(found)) => {
            found.quote_style.is_none() && found.value.eq_ignore_ascii_case(word)
        }
        _ => false,
    }
}

/// How many tokens a name with points has.
fn name_parts(tokens: &[TokenWithSpan], source: &[usize]) -> usize {
    let mut parts = 1;
    while let (Some(point), Some(_)) = (source.get(parts), source.get(parts + 1))
        && matches!(tokens[*point].token, Token::Period)
    {
        parts += 2;
    }
    parts
}

/// Tokens of a text of ours.
fn words(text: &str) -> Vec<TokenWithSpan> {
    let dialect = HushDialect::default();
    let mut tokens = Tokenizer::new(&dialect, text)
        .tokenize_with_location()
        .unwrap_or_default();
    tokens.push(TokenWithSpan::wrap(Token::Whitespace(Whitespace::Space)));
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn with_goes_to_what_is_read() {
        for (text, wanted) in [
            (
                "WITH a AS (SELECT 1 x) MERGE INTO t USING a ON t.x = a.x",
                "MERGE INTO t USING ( WITH a AS (SELECT 1 x) SELECT * FROM  a )  AS a  ON t.x = a.x",
            ),
            (
                "WITH a(x) AS (SELECT 1) MERGE INTO t USING (FROM a) b USING (x)",
                "MERGE INTO t USING (WITH a(x) AS (SELECT 1) FROM a) b USING (x)",
            ),
            (
                "WITH merge AS (SELECT 1 x) SELECT * FROM merge JOIN t USING (x)",
                "WITH merge AS (SELECT 1 x) SELECT * FROM merge JOIN t USING (x)",
            ),
            (
                "MERGE INTO t USING a ON true",
                "MERGE INTO t USING a ON true",
            ),
        ] {
            let mut tokens = Tokenizer::new(&HushDialect::default(), text)
                .tokenize_with_location()
                .unwrap();
            with_inside(&mut tokens);
            let made: String = tokens.iter().map(|token| token.token.to_string()).collect();
            let plain = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert_eq!(plain(&made), plain(wanted));
        }
    }
}
