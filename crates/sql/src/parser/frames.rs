//! `EXCLUDE` at the end of a frame, which the parser does not know, as a mark in PARTITION BY, where the planner finds it again. Ends of
//! frames that begin with a text and go on, `'1 day'::INTERVAL PRECEDING`, of which it reads the text alone, within brackets.
//!
//! What must hold: the work is linear in the number of tokens, and the `EXCLUDE` of a `*` stays.

use super::super::token_list::{TokenList, is_word, keyword, named, word};
use crate::marks::EXCLUDE;
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

/// What a frame begins with.
const FRAMES: [Keyword; 3] = [Keyword::ROWS, Keyword::RANGE, Keyword::GROUPS];

/// What frames can be without, by words; the last is nothing.
const EXCLUDED: [&[&str]; 4] = [
    &["current", "row"],
    &["group"],
    &["ties"],
    &["no", "others"],
];

/// Takes `EXCLUDE ...` out of frames, and puts marks into their windows.
pub(super) fn with_marked_windows(tokens: &mut Vec<TokenWithSpan>) {
    let mut list = TokenList::of(tokens);
    let (mut open, mut between) = (vec![], vec![]);
    for n in 0..list.len() {
        if list.has(n, &Token::LParen) {
            open.push(n);
        } else if list.has(n, &Token::RParen) {
            between.pop_if(|depth| *depth >= open.len());
            open.pop();
        } else if FRAMES.iter().any(|word| list.is(n, *word)) {
            let is_between = list.is(n + 1, Keyword::BETWEEN);
            between.extend(is_between.then_some(open.len()));
            bracket_text(&mut list, n + 1 + usize::from(is_between));
        } else if list.is(n, Keyword::AND) && between.pop_if(|depth| *depth == open.len()).is_some()
        {
            bracket_text(&mut list, n + 1);
        } else if list.is(n, Keyword::EXCLUDE)
            && let Some(window) = open.last()
            && let Some(words) = excluded(&list, n)
        {
            (n..=n + words.len()).for_each(|n| list.replace(n, []));
            if words != ["no", "others"] {
                mark(&mut list, *window, &words.join(" "));
            }
        }
    }
    list.changes().make(tokens);
}

/// Puts the text that an end of a frame begins with within brackets, if something follows that belongs to it.
fn bracket_text(list: &mut TokenList<'_>, n: usize) {
    let is_text = |token: &TokenWithSpan| matches!(token.token, Token::SingleQuotedString(_));
    let ends = |word| list.is(n + 1, word);
    if list.token(n).is_some_and(is_text) && !ends(Keyword::PRECEDING) && !ends(Keyword::FOLLOWING)
    {
        list.put(n, [Token::LParen]);
        list.put(n + 1, [Token::RParen]);
    }
}

/// The words behind an EXCLUDE that ends a frame, and with it a window.
fn excluded(list: &TokenList<'_>, n: usize) -> Option<&'static [&'static str]> {
    list.before(n, 1).filter(|token| {
        matches!(
            keyword(token),
            Keyword::ROW | Keyword::PRECEDING | Keyword::FOLLOWING
        )
    })?;
    let mut known = EXCLUDED.into_iter();
    known
        .find(|words| {
            let mut words = words.iter().zip(n + 1..);
            words.all(|(word, n)| list.token(n).is_some_and(|token| is_word(token, word)))
        })
        .filter(|words| list.has(n + 1 + words.len(), &Token::RParen))
}

fn mark(list: &mut TokenList<'_>, open: usize, excluded: &str) {
    const BEGINS: [Keyword; 5] = [
        Keyword::PARTITION,
        Keyword::ORDER,
        Keyword::ROWS,
        Keyword::RANGE,
        Keyword::GROUPS,
    ];
    let first = list.token(open + 1).map(keyword);
    // Before these there may be the name of another window.
    let begin = match first.is_some_and(|first| BEGINS.contains(&first)) {
        true => open + 1,
        false => open + 2,
    };
    let text = Token::SingleQuotedString(excluded.to_owned());
    let mark = [named(EXCLUDE), Token::LParen, text, Token::RParen];
    match list.is(begin, Keyword::PARTITION) && list.is(begin + 1, Keyword::BY) {
        true => list.put(begin + 2, mark.into_iter().chain([Token::Comma])),
        false => list.put(
            begin,
            [word("PARTITION"), word("BY")].into_iter().chain(mark),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse_one;

    #[test]
    fn what_frames_exclude_is_marked_in_their_windows() {
        for (given, expected) in [
            (
                "SELECT sum(x) OVER (ORDER BY y ROWS BETWEEN 1 PRECEDING AND CURRENT ROW EXCLUDE CURRENT ROW) FROM t",
                "SELECT sum(x) OVER (PARTITION BY \"$exclude\"('current row') ORDER BY y ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM t",
            ),
            (
                "SELECT sum(x) OVER (w PARTITION BY a ROWS 1 PRECEDING EXCLUDE TIES) FROM t",
                "SELECT sum(x) OVER (w PARTITION BY \"$exclude\"('ties'), a ROWS 1 PRECEDING) FROM t",
            ),
            (
                "SELECT sum(x) OVER w FROM t WINDOW w AS (v GROUPS 1 PRECEDING EXCLUDE GROUP)",
                "SELECT sum(x) OVER w FROM t WINDOW w AS (v PARTITION BY \"$exclude\"('group') GROUPS 1 PRECEDING)",
            ),
            (
                "SELECT sum(x) OVER (ORDER BY y RANGE BETWEEN '1 day'::INTERVAL PRECEDING AND '2 days' FOLLOWING) FROM t",
                "SELECT sum(x) OVER (ORDER BY y RANGE BETWEEN ('1 day')::INTERVAL PRECEDING AND INTERVAL '2 days' FOLLOWING) FROM t",
            ),
            (
                "SELECT sum(x) OVER (ORDER BY a BETWEEN 'b' AND 'c'::TEXT ROWS '1'::INTEGER PRECEDING EXCLUDE TIES) FROM t",
                "SELECT sum(x) OVER (PARTITION BY \"$exclude\"('ties') ORDER BY a BETWEEN 'b' AND 'c'::TEXT ROWS ('1')::INTEGER PRECEDING) FROM t",
            ),
            (
                "SELECT sum(x) OVER (ORDER BY y RANGE BETWEEN (a AND 'b'::BOOLEAN)::INTEGER PRECEDING AND '1'::DOUBLE FOLLOWING) FROM t",
                "SELECT sum(x) OVER (ORDER BY y RANGE BETWEEN (a AND 'b'::BOOLEAN)::INTEGER PRECEDING AND ('1')::DOUBLE FOLLOWING) FROM t",
            ),
            (
                "SELECT sum(x) OVER (ROWS 1 PRECEDING EXCLUDE NO OTHERS) FROM (SELECT * EXCLUDE ties FROM u)",
                "SELECT sum(x) OVER (ROWS 1 PRECEDING) FROM (SELECT * EXCLUDE ties FROM u)",
            ),
        ] {
            assert_eq!(parse_one(given).unwrap().to_string(), expected);
        }
    }
}
