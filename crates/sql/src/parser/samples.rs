//! `USING SAMPLE ...` and `TABLESAMPLE ...` in all their forms, brought to one that the parser knows: the first is a window without a
//! use, the second `TABLESAMPLE method (number unit) REPEATABLE (seed)`.

use super::super::token_list::{TokenList, is_word, keyword, named, word};
use crate::marks::SAMPLE;
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

/// What a sample is: how many, of what, by which method, from which seed.
struct Sample {
    number: Token,
    percent: bool,
    method: &'static str,
    seed: Option<Token>,
    /// The first token behind it.
    end: usize,
}

/// The methods, as DuckDB and the parser call them.
const METHODS: [(&str, &str); 4] = [
    ("reservoir", "ROW"),
    ("row", "ROW"),
    ("bernoulli", "BERNOULLI"),
    ("system", "SYSTEM"),
];

fn method(list: &TokenList<'_>, n: usize) -> Option<&'static str> {
    let token = list.token(n)?;
    let known = METHODS.iter().find(|(name, _)| is_word(token, name));
    known.map(|(_, method)| *method)
}

/// A number, its unit, and the first token behind them.
fn size(list: &TokenList<'_>, n: usize) -> Option<(Token, bool, usize)> {
    let number = list.token(n)?.token.clone();
    if !matches!(number, Token::Number(..) | Token::Placeholder(_)) {
        return None;
    }
    let unit = list.token(n + 1);
    let is_percent = |token: &TokenWithSpan| token.token == Token::Mod || is_word(token, "percent");
    Some(match unit {
        Some(unit) if is_percent(unit) => (number, true, n + 2),
        Some(unit) if keyword(unit) == Keyword::ROWS => (number, false, n + 2),
        _ => (number, false, n + 1),
    })
}

fn read(list: &TokenList<'_>, begin: usize) -> Option<Sample> {
    let named_first = method(list, begin);
    let at = begin + usize::from(named_first.is_some());
    let in_brackets = list.has(at, &Token::LParen);
    if named_first.is_some() && !in_brackets {
        return None;
    }
    let (number, percent, mut end) = size(list, at + usize::from(in_brackets))?;
    let mut chosen = named_first;
    let mut seed = None;
    if in_brackets {
        list.has(end, &Token::RParen).then_some(())?;
        end += 1;
    } else if list.has(end, &Token::LParen)
        && let Some(behind) = method(list, end + 1)
    {
        chosen = Some(behind);
        end += 2;
        if list.has(end, &Token::Comma) {
            seed = list.token(end + 1).map(|seed| seed.token.clone());
            end += 2;
        }
        list.has(end, &Token::RParen).then_some(())?;
        end += 1;
    }
    if list
        .token(end)
        .is_some_and(|token| is_word(token, "repeatable"))
        && list.has(end + 1, &Token::LParen)
        && list.has(end + 3, &Token::RParen)
    {
        seed = list.token(end + 2).map(|seed| seed.token.clone());
        end += 4;
    }
    let usual = if percent { "SYSTEM" } else { "ROW" };
    Some(Sample {
        number,
        percent,
        method: chosen.unwrap_or(usual),
        seed,
        end,
    })
}

/// Brings all samples to the form that the parser knows; what cannot be read stays, for its error.
pub(super) fn plain_samples(tokens: &mut Vec<TokenWithSpan>) {
    let mut list = TokenList::of(tokens);
    // Of each bracket: whether its SELECT has windows with names.
    let mut levels = vec![false];
    let mut n = 0;
    while let Some(token) = list.token(n) {
        match &token.token {
            Token::LParen => levels.push(false),
            Token::RParen if levels.len() > 1 => {
                levels.pop();
            }
            _ => {}
        }
        if matches!(keyword(token), Keyword::SELECT | Keyword::WINDOW)
            && let Some(level) = levels.last_mut()
        {
            *level = keyword(token) == Keyword::WINDOW;
        }
        let of_query = list.is(n, Keyword::USING)
            && list
                .token(n + 1)
                .is_some_and(|next| is_word(next, "sample"));
        let of_table = is_word(token, "tablesample");
        let begin = n + 1 + usize::from(of_query);
        if (of_query || of_table)
            && let Some(sample) = read(&list, begin)
        {
            (n..sample.end).for_each(|at| list.replace(at, []));
            let has_windows = levels.last().copied().unwrap_or_default();
            let new = match of_query {
                true => as_window(&sample, has_windows),
                false => as_table_sample(&sample),
            };
            list.replace(n, new);
            n = sample.end;
            continue;
        }
        n += 1;
    }
    list.changes().make(tokens);
}

fn text(text: &str) -> Token {
    Token::SingleQuotedString(text.into())
}

/// `WINDOW "$sample" AS (PARTITION BY 'number|unit|method|seed')`.
fn as_window(sample: &Sample, has_windows: bool) -> Vec<Token> {
    let begin = if has_windows {
        Token::Comma
    } else {
        word("WINDOW")
    };
    let said = [
        sample.number.to_string(),
        if sample.percent { "PERCENT" } else { "ROWS" }.to_owned(),
        sample.method.to_owned(),
        sample.seed.as_ref().map_or("NULL".into(), Token::to_string),
    ];
    vec![
        begin,
        named(SAMPLE),
        word("AS"),
        Token::LParen,
        word("PARTITION"),
        word("BY"),
        text(&said.join("|")),
        Token::RParen,
    ]
}

fn as_table_sample(sample: &Sample) -> Vec<Token> {
    let unit = if sample.percent { "PERCENT" } else { "ROWS" };
    let mut all = vec![
        word("TABLESAMPLE"),
        word(sample.method),
        Token::LParen,
        sample.number.clone(),
        word(unit),
        Token::RParen,
    ];
    if let Some(seed) = &sample.seed {
        all.extend([
            word("REPEATABLE"),
            Token::LParen,
            seed.clone(),
            Token::RParen,
        ]);
    }
    all
}
