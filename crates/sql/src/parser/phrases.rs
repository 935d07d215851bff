//! Phrases of DuckDB that are brought, before they are parsed, to others that mean the same, or marked for the dialect: hints of
//! WITH, names before a colon, list comprehensions, FILTER without WHERE, TABLE as a query, VALUES in FROM, FETCH, and arrows of JSON.
//!
//! What must hold: the work is linear in the number of tokens, and no token changes that may stand for something else.

use super::super::calls::call;
use super::super::operators::{COMPREHENSION, NAMED, PLACE};
use crate::error::Error;
use crate::marks::PERCENT;
use sqlparser::ast::{
    BinaryOperator, Expr, Fetch, FunctionArg, FunctionArgExpr, FunctionArguments, Ident,
    LimitClause, OrderBy, OrderByKind, Query, Select, SelectItem, Value, VisitorMut,
};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};
use std::ops::ControlFlow;

/// Brings all of them to what the parser knows.
pub(super) fn plain_phrases(tokens: &mut Vec<TokenWithSpan>) {
    hints_of_with(tokens);
    tables_as_queries(tokens);
    filters(tokens);
    values_in_from(tokens);
    stars_like(tokens);
    names_before_colons(tokens);
    comprehensions(tokens);
    json_arrows(tokens);
    percents(tokens);
}

fn is_space(token: &TokenWithSpan) -> bool {
    matches!(token.token, Token::Whitespace(_))
}

pub(super) fn keyword(token: &TokenWithSpan) -> Keyword {
    match &token.token {
        Token::Word(word) if word.quote_style.is_none() => word.keyword,
        _ => Keyword::NoKeyword,
    }
}

/// The places of tokens that are no space.
pub(super) fn places(tokens: &[TokenWithSpan]) -> Vec<usize> {
    let all = tokens.iter().enumerate();
    all.filter(|(_, token)| !is_space(token))
        .map(|(at, _)| at)
        .collect()
}

/// Takes `[NOT] MATERIALIZED` out of `AS [NOT] MATERIALIZED (`: the rows are the same.
fn hints_of_with(tokens: &mut Vec<TokenWithSpan>) {
    let places = places(tokens);
    let is = |n: usize, wanted| {
        places
            .get(n)
            .is_some_and(|at| keyword(&tokens[*at]) == wanted)
    };
    let mut gone = vec![];
    for n in 1..places.len() {
        let opens = |n: usize| {
            places
                .get(n)
                .is_some_and(|at| tokens[*at].token == Token::LParen)
        };
        if !is(n, Keyword::MATERIALIZED) || !opens(n + 1) {
            continue;
        }
        if is(n - 1, Keyword::AS) {
            gone.push(places[n]);
        } else if n > 1 && is(n - 1, Keyword::NOT) && is(n - 2, Keyword::AS) {
            gone.extend([places[n - 1], places[n]]);
        }
    }
    remove(tokens, &gone);
}

pub(super) fn remove(tokens: &mut Vec<TokenWithSpan>, gone: &[usize]) {
    let mut gone = gone.iter().peekable();
    let mut at = 0;
    tokens.retain(|_| {
        let is_gone = gone.next_if(|next| **next == at).is_some();
        at += 1;
        !is_gone
    });
}

/// Puts tokens before those at their places, which ascend.
pub(super) fn insert(tokens: &mut Vec<TokenWithSpan>, new: Vec<(usize, Token)>) {
    if new.is_empty() {
        return;
    }
    let mut all = Vec::with_capacity(tokens.len() + new.len());
    let mut new = new.into_iter().peekable();
    for (at, token) in std::mem::take(tokens).into_iter().enumerate() {
        while let Some((_, put)) = new.next_if(|(place, _)| *place <= at) {
            let span = token.span;
            all.push(TokenWithSpan { token: put, span });
        }
        all.push(token);
    }
    let span = all.last().map(|token| token.span);
    if let Some(span) = span {
        all.extend(new.map(|(_, token)| TokenWithSpan { token, span }));
    }
    *tokens = all;
}

pub(super) fn word(text: &str) -> Token {
    Token::make_word(text, None)
}

/// `TABLE t` where a query may stand is `FROM t`.
fn tables_as_queries(tokens: &mut [TokenWithSpan]) {
    let places = places(tokens);
    for (n, at) in places.iter().enumerate() {
        let before = n.checked_sub(1).and_then(|n| places.get(n));
        let begins = match before.map(|at| &tokens[*at]) {
            None => true,
            Some(before) => {
                before.token == Token::LParen
                    || matches!(keyword(before), Keyword::UNION | Keyword::ALL)
            }
        };
        let named = places.get(n + 1).map(|at| &tokens[*at].token);
        if begins
            && keyword(&tokens[*at]) == Keyword::TABLE
            && matches!(named, Some(Token::Word(_)))
        {
            tokens[*at].token = word("FROM");
        }
    }
}

/// `f(x) FILTER (condition)` lacks the word WHERE.
fn filters(tokens: &mut Vec<TokenWithSpan>) {
    let places = places(tokens);
    let mut new = vec![];
    for window in places.windows(4) {
        let [closes, filter, opens, next] = [0, 1, 2, 3].map(|n| &tokens[window[n]]);
        if closes.token == Token::RParen
            && keyword(filter) == Keyword::FILTER
            && opens.token == Token::LParen
            && keyword(next) != Keyword::WHERE
        {
            new.push((window[3], word("WHERE")));
        }
    }
    insert(tokens, new);
}

/// `FROM VALUES (1), (2) t(a)` is `FROM (VALUES (1), (2)) t(a)`.
fn values_in_from(tokens: &mut Vec<TokenWithSpan>) {
    let places = places(tokens);
    let mut new = vec![];
    let mut n = 1;
    while n < places.len() {
        let begins = matches!(
            keyword(&tokens[places[n - 1]]),
            Keyword::FROM | Keyword::JOIN
        ) && keyword(&tokens[places[n]]) == Keyword::VALUES;
        if !begins {
            n += 1;
            continue;
        }
        let values = places[n];
        let (mut depth, mut end) = (0usize, None);
        for (m, at) in places.iter().enumerate().skip(n + 1) {
            match &tokens[*at].token {
                Token::LParen => depth += 1,
                Token::RParen if depth == 0 => break,
                Token::RParen => {
                    depth -= 1;
                    end = Some(m);
                }
                Token::Comma => {}
                _ if depth == 0 => break,
                _ => {}
            }
            let token = |n: usize| places.get(n).map(|at| &tokens[*at].token);
            let goes_on =
                token(m + 1) == Some(&Token::Comma) && token(m + 2) == Some(&Token::LParen);
            if end == Some(m) && depth == 0 && !goes_on {
                break;
            }
        }
        if let Some(end) = end {
            new.push((values, Token::LParen));
            new.push((places[end] + 1, Token::RParen));
            n = end;
        }
        n += 1;
    }
    insert(tokens, new);
}

/// `LIMIT 10%` and `LIMIT 10 PERCENT` are `LIMIT "$percent"(10)`.
fn percents(tokens: &mut Vec<TokenWithSpan>) {
    let places = places(tokens);
    // Of each bracket: where the expression of its LIMIT begins.
    let mut levels = vec![None];
    let mut new = vec![];
    let mut signs = vec![];
    for (n, at) in places.iter().enumerate() {
        let token = &tokens[*at];
        match &token.token {
            Token::LParen | Token::LBracket | Token::LBrace => levels.push(None),
            Token::RParen | Token::RBracket | Token::RBrace if levels.len() > 1 => {
                levels.pop();
            }
            Token::Word(_) if keyword(token) == Keyword::LIMIT => {
                if let Some(level) = levels.last_mut() {
                    *level = places.get(n + 1).copied();
                }
            }
            sign if *sign == Token::Mod || is_word(token, "percent") => {
                let next = places.get(n + 1).map(|at| &tokens[*at]);
                let ends = next.is_none_or(|next| {
                    matches!(next.token, Token::RParen | Token::SemiColon)
                        || ENDS_OF_LIMIT.contains(&keyword(next))
                });
                let begin = levels.last().copied().flatten();
                if let Some(begin) = begin.filter(|begin| ends && begin < at) {
                    new.push((begin, Token::make_word(PERCENT, Some('"'))));
                    new.push((begin, Token::LParen));
                    signs.push(*at);
                }
            }
            _ => {}
        }
    }
    for sign in signs {
        tokens[sign].token = Token::RParen;
    }
    new.sort_by_key(|(at, _)| *at);
    insert(tokens, new);
}

/// What may follow the number of a LIMIT.
const ENDS_OF_LIMIT: [Keyword; 4] = [
    Keyword::OFFSET,
    Keyword::UNION,
    Keyword::EXCEPT,
    Keyword::INTERSECT,
];

/// What a select list does not go on behind.
const ENDS_OF_LISTS: [Keyword; 8] = [
    Keyword::FROM,
    Keyword::WHERE,
    Keyword::GROUP,
    Keyword::HAVING,
    Keyword::WINDOW,
    Keyword::QUALIFY,
    Keyword::ORDER,
    Keyword::LIMIT,
];

/// `SELECT a: 42`: a name and its colon become a mark, before which the dialect finds the expression.
fn names_before_colons(tokens: &mut Vec<TokenWithSpan>) {
    let places = places(tokens);
    // Of each bracket: whether it is a round one, and whether a select list goes on in it.
    let mut levels = vec![(true, false)];
    let mut gone = vec![];
    for n in 0..places.len() {
        let at = places[n];
        match &tokens[at].token {
            Token::LParen => levels.push((true, false)),
            Token::LBracket | Token::LBrace => levels.push((false, false)),
            Token::RParen | Token::RBracket | Token::RBrace if levels.len() > 1 => {
                levels.pop();
            }
            token => {
                let (begins, ends) = match token {
                    Token::Word(word) if word.quote_style.is_none() => (
                        word.keyword == Keyword::SELECT,
                        ENDS_OF_LISTS.contains(&word.keyword),
                    ),
                    _ => (false, false),
                };
                if let Some(level) = levels.last_mut().filter(|_| begins || ends) {
                    level.1 = begins;
                }
            }
        }
        let Some((true, true)) = levels.last() else {
            continue;
        };
        let begins = tokens[at].token == Token::Comma
            || matches!(keyword(&tokens[at]), Keyword::SELECT | Keyword::DISTINCT);
        let (Some(name), Some(colon)) = (places.get(n + 1), places.get(n + 2)) else {
            break;
        };
        let mark = match (&tokens[*name].token, &tokens[*colon].token) {
            (
                Token::Word(Word {
                    value, quote_style, ..
                }),
                Token::Colon,
            ) if begins => {
                let quote = if quote_style.is_some() { '"' } else { ' ' };
                Token::Placeholder(format!("{NAMED}{quote}{value}"))
            }
            _ => continue,
        };
        tokens[*name].token = mark;
        gone.push(*colon);
    }
    remove(tokens, &gone);
}

/// `* LIKE 'a%'` is `COLUMNS("$c" -> "$c" LIKE 'a%')`.
fn stars_like(tokens: &mut Vec<TokenWithSpan>) {
    let places = places(tokens);
    let mut new = vec![];
    for (n, at) in places.iter().enumerate() {
        let token = |n: usize| places.get(n).map(|at| &tokens[*at]);
        let before = n.checked_sub(1).and_then(token);
        let begins = before.is_some_and(|before| {
            before.token == Token::Comma
                || matches!(keyword(before), Keyword::SELECT | Keyword::DISTINCT)
        });
        if !begins || tokens[*at].token != Token::Mul {
            continue;
        }
        let is = |n: usize, wanted| token(n).is_some_and(|token| keyword(token) == wanted);
        let operator = n + 1 + usize::from(is(n + 1, Keyword::NOT));
        let pattern = match is(operator, Keyword::SIMILAR) && is(operator + 1, Keyword::TO) {
            true => operator + 2,
            false if is(operator, Keyword::LIKE) || is(operator, Keyword::ILIKE) => operator + 1,
            false if token(operator).is_some_and(|token| is_word(token, "glob")) => operator + 1,
            false => continue,
        };
        let (Some(first), Some(last)) = (places.get(n + 1), places.get(pattern)) else {
            continue;
        };
        if !matches!(tokens[*last].token, Token::SingleQuotedString(_)) {
            continue;
        }
        let name = || Token::make_word("$c", Some('"'));
        new.push((*at, Token::LParen));
        new.push((*at, name()));
        new.push((*at, Token::Arrow));
        new.push((*first, name()));
        new.push((*last + 1, Token::RParen));
    }
    // The stars become the function's name, which goes before its bracket.
    let stars: Vec<usize> = new.chunks(5).map(|chunk| chunk[0].0).collect();
    for star in &stars {
        tokens[*star].token = word("COLUMNS");
    }
    for (place, _) in new.iter_mut().filter(|(place, _)| stars.contains(place)) {
        *place += 1;
    }
    insert(tokens, new);
}

pub(super) fn is_word(token: &TokenWithSpan, wanted: &str) -> bool {
    matches!(&token.token, Token::Word(word) if word.quote_style.is_none() && word.value.eq_ignore_ascii_case(wanted))
}

/// Functions that take what `x -> ...` is as a function.
const TAKE_LAMBDAS: [&str; 12] = [
    "list_transform",
    "array_transform",
    "list_apply",
    "array_apply",
    "apply",
    "list_filter",
    "array_filter",
    "filter",
    "list_reduce",
    "array_reduce",
    "reduce",
    "columns",
];

/// `json -> 'a'` becomes `json #> 'a'`, which the parser takes for no lambda.
fn json_arrows(tokens: &mut [TokenWithSpan]) {
    let places = places(tokens);
    // Of each bracket: whether lambdas may stand in it.
    let mut levels = vec![];
    for (n, at) in places.iter().enumerate() {
        let before = |back: usize| {
            let place = n.checked_sub(back).and_then(|n| places.get(n));
            place.map(|at| &tokens[*at].token)
        };
        match &tokens[*at].token {
            Token::LParen | Token::LBracket | Token::LBrace => {
                let named = matches!(before(1), Some(Token::Word(word))
                    if TAKE_LAMBDAS.iter().any(|name| word.value.eq_ignore_ascii_case(name)));
                levels.push(named);
            }
            Token::RParen | Token::RBracket | Token::RBrace => {
                levels.pop();
            }
            Token::Arrow => {
                let is_argument = match before(1) {
                    Some(Token::RParen) => true,
                    Some(Token::Word(_)) => {
                        matches!(before(2), Some(Token::Comma | Token::LParen))
                    }
                    _ => false,
                };
                if !(is_argument && levels.last() == Some(&true)) {
                    tokens[*at].token = Token::HashArrow;
                }
            }
            _ => {}
        }
    }
}

/// `[x + 1 FOR x IN l IF x > 0]`: its bracket becomes a mark.
fn comprehensions(tokens: &mut [TokenWithSpan]) {
    let mut open = vec![];
    for at in 0..tokens.len() {
        match &tokens[at].token {
            Token::LBracket | Token::LParen | Token::LBrace => open.push(at),
            Token::RBracket | Token::RParen | Token::RBrace => {
                open.pop();
            }
            _ if keyword(&tokens[at]) == Keyword::FOR => {
                if let Some(bracket) = open.last()
                    && tokens[*bracket].token == Token::LBracket
                {
                    tokens[*bracket].token = Token::Placeholder(COMPREHENSION.into());
                }
            }
            _ => {}
        }
    }
}

/// `ORDER BY #1` is `ORDER BY 1`.
fn place_of(expr: &Expr) -> Option<Expr> {
    match expr {
        Expr::Function(function) if function.name.to_string() == format!("\"{PLACE}\"") => {
            match &function.args {
                FunctionArguments::List(list) => match list.args.as_slice() {
                    [FunctionArg::Unnamed(FunctionArgExpr::Expr(number))] => Some(number.clone()),
                    _ => None,
                },
                _ => None,
            }
        }
        _ => None,
    }
}

/// `json -> 'a' ->> 'b'` goes from left to right, though `->>` binds tighter.
fn turn_arrows(expr: &mut Expr) {
    let Expr::BinaryOp {
        left,
        op: op @ BinaryOperator::HashArrow,
        right,
    } = expr
    else {
        return;
    };
    let nothing = || Expr::Identifier(Ident::new(""));
    if let Expr::BinaryOp {
        left: middle,
        op: BinaryOperator::LongArrow,
        right: last,
    } = right.as_mut()
    {
        let [first, middle, last] =
            [left, middle, last].map(|of| std::mem::replace(of.as_mut(), nothing()));
        let mut inner = Expr::BinaryOp {
            left: Box::new(first),
            op: op.clone(),
            right: Box::new(middle),
        };
        turn_arrows(&mut inner);
        *expr = Expr::BinaryOp {
            left: Box::new(inner),
            op: BinaryOperator::LongArrow,
            right: Box::new(last),
        };
    }
}

/// Brings names before a colon, FETCH and arrows of JSON to the forms that everybody reads.
pub(super) struct PlainPhrases;

impl VisitorMut for PlainPhrases {
    type Break = Box<Error>;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Self::Break> {
        let is_plain = |fetch: &Fetch| !fetch.with_ties && !fetch.percent;
        if let Some(OrderBy {
            kind: OrderByKind::Expressions(order),
            ..
        }) = &mut query.order_by
        {
            for item in order {
                if let Some(place) = place_of(&item.expr) {
                    item.expr = place;
                }
            }
        }
        let limited = match &query.limit_clause {
            None => None,
            Some(LimitClause::LimitOffset {
                limit: None,
                offset,
                limit_by,
            }) if limit_by.is_empty() => offset.clone(),
            Some(_) => return ControlFlow::Continue(()),
        };
        if let Some(fetch) = query.fetch.take_if(|fetch| is_plain(fetch)) {
            let one = || Expr::value(Value::Number("1".into(), false));
            query.limit_clause = Some(LimitClause::LimitOffset {
                limit: Some(fetch.quantity.unwrap_or_else(one)),
                offset: limited,
                limit_by: vec![],
            });
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Self::Break> {
        turn_arrows(expr);
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Self::Break> {
        if let Expr::BinaryOp { left, op, right } = expr {
            let name = match op {
                BinaryOperator::HashArrow => "json_extract",
                BinaryOperator::LongArrow => "json_extract_string",
                _ => return ControlFlow::Continue(()),
            };
            let [left, right] = [left, right]
                .map(|of| std::mem::replace(of.as_mut(), Expr::Identifier(Ident::new(""))));
            *expr = call(name, vec![left, right]);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Self::Break> {
        for item in &mut select.projection {
            if let SelectItem::UnnamedExpr(Expr::Named { expr, name }) = item {
                let alias = name.clone();
                let expr = std::mem::replace(expr.as_mut(), Expr::Identifier(Ident::new("")));
                *item = SelectItem::ExprWithAlias { expr, alias };
            }
        }
        ControlFlow::Continue(())
    }
}
