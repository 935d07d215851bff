//! Phrases of DuckDB that are brought, before they are parsed, to others that mean the same, or marked for the dialect: hints of
//! WITH, names before a colon, list comprehensions, FILTER without WHERE, TABLE as a query, VALUES in FROM, FETCH, and arrows of JSON.
//!
//! What must hold: the work is linear in the number of tokens, and no token changes that may stand for something else.

use super::super::calls::call;
use super::super::operators::{COMPREHENSION, PLACE, UNPACKED};
use super::super::token_list::{TokenList, is_word, keyword, named, word};
use super::names_before::names_before_colons;
use crate::error::Error;
use crate::marks::PERCENT;
use sqlparser::ast::{
    BinaryOperator, Expr, Fetch, FunctionArg, FunctionArgExpr, FunctionArguments, Ident,
    LimitClause, OrderBy, OrderByKind, Query, Select, SelectItem, Value, VisitorMut,
};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};
use std::ops::ControlFlow;

/// Brings all of them to what the parser knows.
pub(super) fn plain_phrases(tokens: &mut Vec<TokenWithSpan>) {
    hints_of_with(tokens);
    tables_as_queries(tokens);
    filters(tokens);
    values_in_from(tokens);
    stars_like(tokens);
    names_before_colons(tokens);
    json_arrows(tokens);
    percents(tokens);
    typed_texts(tokens);
    called_behind_dots(tokens);
    unpacked_columns(tokens);
    open_ends(tokens);
    by_position(tokens);
    // Last, since its mark is no bracket to the others.
    comprehensions(tokens);
}

/// `CREATE TABLE ... AS query WITH NO DATA` is one of no rows of the query.
pub(super) fn without_data(tokens: &mut Vec<TokenWithSpan>) {
    let mut list = TokenList::of(tokens);
    let mut end = list.len();
    while end > 0 && list.has(end - 1, &Token::SemiColon) {
        end -= 1;
    }
    let said = |n: usize, wanted: &str| list.token(n).is_some_and(|token| is_word(token, wanted));
    let has_no = end > 3 && said(end - 2, "no");
    let begin = end.saturating_sub(if has_no { 3 } else { 2 });
    let as_word = (0..begin).find(|n| list.is(*n, Keyword::AS));
    let (true, true, true, Some(as_word)) = (
        list.is(0, Keyword::CREATE),
        end > 0 && said(end - 1, "data"),
        said(begin, "with"),
        as_word,
    ) else {
        return;
    };
    (begin..end).for_each(|n| list.replace(n, []));
    if has_no {
        list.put(as_word + 1, [word("FROM"), Token::LParen]);
        let none = Token::Number("0".into(), false);
        list.replace(begin, [Token::RParen, word("LIMIT"), none]);
    }
    list.changes().make(tokens);
}

/// Takes `[NOT] MATERIALIZED` out of `AS [NOT] MATERIALIZED (`: the rows are the same.
fn hints_of_with(tokens: &mut Vec<TokenWithSpan>) {
    let mut list = TokenList::of(tokens);
    for n in 1..list.len() {
        if !list.is(n, Keyword::MATERIALIZED) || !list.has(n + 1, &Token::LParen) {
            continue;
        }
        if list.is(n - 1, Keyword::AS) {
            list.replace(n, []);
        } else if n > 1 && list.is(n - 1, Keyword::NOT) && list.is(n - 2, Keyword::AS) {
            list.replace(n - 1, []);
            list.replace(n, []);
        }
    }
    list.changes().make(tokens);
}

/// Timestamps by their precision.
const PRECISE: [&str; 4] = [
    "timestamp_s",
    "timestamp_ms",
    "timestamp_us",
    "timestamp_ns",
];

/// `TIMESTAMP_S 'text'`, of a type whose name the parser does not know, is a CAST.
fn typed_texts(tokens: &mut Vec<TokenWithSpan>) {
    let mut list = TokenList::of(tokens);
    for n in 1..list.len() {
        let name = list.before(n, 1);
        let known = PRECISE
            .into_iter()
            .find(|wanted| name.is_some_and(|name| is_word(name, wanted)));
        let text = list.token(n).map(|text| text.token.clone());
        if let (Some(known), Some(text @ Token::SingleQuotedString(_))) = (known, text) {
            list.replace(n - 1, [word("CAST"), Token::LParen]);
            list.replace(n, [text, word("AS"), word(known), Token::RParen]);
        }
    }
    list.changes().make(tokens);
}

/// Functions whose arguments the parser reads in a way of their own.
const OF_THEIR_OWN: [&str; 8] = [
    "ceil",
    "extract",
    "floor",
    "overlay",
    "position",
    "substr",
    "substring",
    "trim",
];

/// `x.trim('y')`: behind a dot these are functions as others.
fn called_behind_dots(tokens: &mut Vec<TokenWithSpan>) {
    let mut list = TokenList::of(tokens);
    for n in 2..list.len() {
        let called = list.before(n, 1);
        let known = OF_THEIR_OWN
            .into_iter()
            .find(|wanted| called.is_some_and(|name| is_word(name, wanted)));
        if let Some(known) = known
            && list.has(n, &Token::LParen)
            && list.has(n - 2, &Token::Period)
        {
            list.replace(n - 1, [named(known)]);
        }
    }
    list.changes().make(tokens);
}

/// `*COLUMNS(...)` among arguments and in lists is a call of its own.
fn unpacked_columns(tokens: &mut Vec<TokenWithSpan>) {
    let mut list = TokenList::of(tokens);
    for n in 3..list.len() {
        let begins = [Token::LParen, Token::LBracket, Token::Comma];
        if list.has(n, &Token::LParen)
            && list
                .token(n - 1)
                .is_some_and(|token| is_word(token, "columns"))
            && list.has(n - 2, &Token::Mul)
            && begins.iter().any(|sign| list.has(n - 3, sign))
        {
            list.replace(n - 2, []);
            list.replace(n - 1, [named(UNPACKED)]);
        }
    }
    list.changes().make(tokens);
}

/// `INSERT INTO t (a) BY POSITION SELECT ...` says what is so without it.
fn by_position(tokens: &mut Vec<TokenWithSpan>) {
    let mut list = TokenList::of(tokens);
    let query = [
        Keyword::SELECT,
        Keyword::FROM,
        Keyword::VALUES,
        Keyword::WITH,
    ];
    let begins =
        |n: usize| query.iter().any(|word| list.is(n, *word)) || list.has(n, &Token::LParen);
    let found = match list.is(0, Keyword::INSERT) {
        true => (3..list.len())
            .take_while(|n| !begins(*n) || list.has(*n, &Token::LParen))
            .find(|n| {
                list.is(n - 1, Keyword::BY)
                    && list
                        .token(*n)
                        .is_some_and(|token| is_word(token, "position"))
                    && begins(n + 1)
            }),
        false => None,
    };
    if let Some(n) = found {
        list.replace(n - 1, []);
        list.replace(n, []);
    }
    list.changes().make(tokens);
}

/// `CREATE TABLE t (a, b) AS query` is one of `SELECT * FROM (query) q(a, b)`.
pub(super) fn named_columns(tokens: &mut Vec<TokenWithSpan>) {
    let mut list = TokenList::of(tokens);
    let is_table = list.is(0, Keyword::CREATE)
        && (1..5).any(|n| list.is(n, Keyword::TABLE))
        && !(1..5).any(|n| list.is(n, Keyword::MACRO) || list.is(n, Keyword::FUNCTION));
    let opens = (2..list.len().min(16)).find(|n| list.has(*n, &Token::LParen));
    let is_behind_name = |opens: &usize| !(0..*opens).any(|n| list.is(n, Keyword::AS));
    let Some(opens) = opens.filter(|opens| is_table && is_behind_name(opens)) else {
        return;
    };
    let mut closes = opens + 1;
    let mut names = vec![];
    while let Some(token) = list.token(closes).filter(|t| t.token != Token::RParen) {
        let is_name = matches!(token.token, Token::Word(_));
        if is_name != (names.len() % 2 == 0) || !is_name && token.token != Token::Comma {
            return;
        }
        names.push(token.token.clone());
        closes += 1;
    }
    if names.len() % 2 == 0 || !list.is(closes + 1, Keyword::AS) {
        return;
    }
    let mut end = list.len();
    while list.has(end - 1, &Token::SemiColon) {
        end -= 1;
    }
    (opens..=closes).for_each(|n| list.replace(n, []));
    list.put(
        closes + 2,
        [word("SELECT"), Token::Mul, word("FROM"), Token::LParen],
    );
    let behind = [Token::RParen, named("$rows"), Token::LParen];
    let behind = behind.into_iter().chain(names).chain([Token::RParen]);
    list.put(end, behind);
    list.changes().make(tokens);
}

/// `l[1:-:2]` goes on to the last item, `l[:-:-1]` to the first.
fn open_ends(tokens: &mut Vec<TokenWithSpan>) {
    let mut list = TokenList::of(tokens);
    for n in 1..list.len() {
        if list.has(n, &Token::Minus)
            && list.has(n - 1, &Token::Colon)
            && list.has(n + 1, &Token::Colon)
        {
            let first = Token::Number("1".into(), false);
            match list.has(n + 2, &Token::Minus) {
                true => list.replace(n, [first]),
                false => list.put(n + 1, [first]),
            }
        }
    }
    list.changes().make(tokens);
}

/// `TABLE t` where a query may stand is `FROM t`.
fn tables_as_queries(tokens: &mut Vec<TokenWithSpan>) {
    let mut list = TokenList::of(tokens);
    for n in 0..list.len() {
        let begins = list.before(n, 1).is_none_or(|before| {
            before.token == Token::LParen
                || matches!(
                    keyword(before),
                    Keyword::UNION
                        | Keyword::ALL
                        | Keyword::EXCEPT
                        | Keyword::INTERSECT
                        | Keyword::DISTINCT
                )
        });
        let named = list.token(n + 1).map(|next| &next.token);
        if (begins || gives_rows(&list, n))
            && list.is(n, Keyword::TABLE)
            && matches!(named, Some(Token::Word(_)))
        {
            list.replace(n, [word("FROM")]);
        }
    }
    list.changes().make(tokens);
}

/// Whether a `TABLE t` is what a table is made of, what is inserted, or the query behind WITH: `CREATE ... AS TABLE t`,
/// `INSERT INTO u (a) TABLE t`, `WITH u AS (...) TABLE u`.
fn gives_rows(list: &TokenList<'_>, n: usize) -> bool {
    let is_name = list
        .token(n + 1)
        .is_some_and(|next| keyword(next) == Keyword::NoKeyword);
    let Some(before) = list.before(n, 1).filter(|_| is_name) else {
        return false;
    };
    match list.is(0, Keyword::CREATE) {
        true => keyword(before) == Keyword::AS,
        false => match &before.token {
            Token::Word(_) => list.is(0, Keyword::INSERT) && keyword(before) == Keyword::NoKeyword,
            Token::RParen => list.is(0, Keyword::INSERT) || list.is(0, Keyword::WITH),
            _ => false,
        },
    }
}

/// `f(x) FILTER (condition)` lacks the word WHERE.
fn filters(tokens: &mut Vec<TokenWithSpan>) {
    let mut list = TokenList::of(tokens);
    for n in 3..list.len() {
        if list.has(n - 3, &Token::RParen)
            && list.is(n - 2, Keyword::FILTER)
            && list.has(n - 1, &Token::LParen)
            && !list.is(n, Keyword::WHERE)
        {
            list.put(n, [word("WHERE")]);
        }
    }
    list.changes().make(tokens);
}

/// `FROM VALUES (1), (2) t(a)` is `FROM (VALUES (1), (2)) t(a)`.
fn values_in_from(tokens: &mut Vec<TokenWithSpan>) {
    let mut list = TokenList::of(tokens);
    let mut n = 1;
    while n < list.len() {
        let begins = (list.is(n - 1, Keyword::FROM) || list.is(n - 1, Keyword::JOIN))
            && list.is(n, Keyword::VALUES);
        if begins && let Some(end) = end_of_values(&list, n) {
            list.put(n, [Token::LParen]);
            list.put(end + 1, [Token::RParen]);
            n = end;
        }
        n += 1;
    }
    list.changes().make(tokens);
}

/// The last bracket of the rows behind VALUES.
fn end_of_values(list: &TokenList<'_>, values: usize) -> Option<usize> {
    let (mut depth, mut end) = (0usize, None);
    for n in values + 1..list.len() {
        match &list.token(n)?.token {
            Token::LParen => depth += 1,
            Token::RParen if depth == 0 => break,
            Token::RParen => {
                depth -= 1;
                end = Some(n);
            }
            Token::Comma => {}
            _ if depth == 0 => break,
            _ => {}
        }
        let goes_on = list.has(n + 1, &Token::Comma) && list.has(n + 2, &Token::LParen);
        if end == Some(n) && depth == 0 && !goes_on {
            break;
        }
    }
    end
}

/// `LIMIT 10%` and `LIMIT 10 PERCENT` are `LIMIT "$percent"(10)`.
fn percents(tokens: &mut Vec<TokenWithSpan>) {
    let mut list = TokenList::of(tokens);
    // Of each bracket: where the expression of its LIMIT begins.
    let mut levels = vec![None];
    let mut n = 0;
    while let Some(token) = list.token(n) {
        match &token.token {
            Token::LParen | Token::LBracket | Token::LBrace => levels.push(None),
            Token::RParen | Token::RBracket | Token::RBrace if levels.len() > 1 => {
                levels.pop();
            }
            Token::Word(_) if keyword(token) == Keyword::LIMIT => {
                if let Some(level) = levels.last_mut() {
                    *level = Some(n + 1);
                }
            }
            sign if *sign == Token::Mod || is_word(token, "percent") => {
                let ends = list.token(n + 1).is_none_or(|next| {
                    matches!(next.token, Token::RParen | Token::SemiColon)
                        || ENDS_OF_LIMIT.contains(&keyword(next))
                });
                let begin = levels.last().copied().flatten();
                if let Some(begin) = begin.filter(|begin| ends && *begin < n) {
                    list.put(begin, [named(PERCENT), Token::LParen]);
                    list.replace(n, [Token::RParen]);
                }
            }
            _ => {}
        }
        n += 1;
    }
    list.changes().make(tokens);
}

/// What may follow the number of a LIMIT.
const ENDS_OF_LIMIT: [Keyword; 4] = [
    Keyword::OFFSET,
    Keyword::UNION,
    Keyword::EXCEPT,
    Keyword::INTERSECT,
];

/// `* LIKE 'a%'` is `COLUMNS("$c" -> "$c" LIKE 'a%')`.
fn stars_like(tokens: &mut Vec<TokenWithSpan>) {
    let mut list = TokenList::of(tokens);
    for n in 0..list.len() {
        let begins = list.before(n, 1).is_some_and(|before| {
            before.token == Token::Comma
                || matches!(keyword(before), Keyword::SELECT | Keyword::DISTINCT)
        });
        if !begins || !list.has(n, &Token::Mul) {
            continue;
        }
        let operator = n + 1 + usize::from(list.is(n + 1, Keyword::NOT));
        let is_glob = list
            .token(operator)
            .is_some_and(|token| is_word(token, "glob"));
        let pattern =
            match list.is(operator, Keyword::SIMILAR) && list.is(operator + 1, Keyword::TO) {
                true => operator + 2,
                false if list.is(operator, Keyword::LIKE) || list.is(operator, Keyword::ILIKE) => {
                    operator + 1
                }
                false if is_glob => operator + 1,
                false => continue,
            };
        let text = list.token(pattern).map(|text| &text.token);
        if matches!(text, Some(Token::SingleQuotedString(_))) {
            let name = || named("$c");
            list.replace(
                n,
                [word("COLUMNS"), Token::LParen, name(), Token::Arrow, name()],
            );
            list.put(pattern + 1, [Token::RParen]);
        }
    }
    list.changes().make(tokens);
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
fn json_arrows(tokens: &mut Vec<TokenWithSpan>) {
    let mut list = TokenList::of(tokens);
    for n in arrows_of_json(&list) {
        list.replace(n, [Token::HashArrow]);
    }
    list.changes().make(tokens);
}

/// PostgreSQL's operators of JSON, which all bind alike there, and as `||` does.
pub(super) fn postgres_operators(tokens: &mut Vec<TokenWithSpan>) {
    let mut list = TokenList::of(tokens);
    let operator = |name: &str| [Token::CustomBinaryOperator(name.to_owned())];
    for n in 0..list.len() {
        let name = match list.token(n).map(|token| &token.token) {
            Some(Token::LongArrow) => "->>",
            Some(Token::HashArrow) => "#>",
            Some(Token::HashLongArrow) => "#>>",
            Some(Token::HashMinus) => "#-",
            Some(Token::AtArrow) => "@>",
            Some(Token::ArrowAt) => "<@",
            Some(Token::Placeholder(mark)) if mark == "?" => {
                let name = match list.token(n + 1).map(|token| &token.token) {
                    Some(Token::Pipe) => "?|",
                    Some(Token::Ampersand) => "?&",
                    _ => "?",
                };
                if name.len() > 1 {
                    list.replace(n + 1, []);
                }
                name
            }
            _ => continue,
        };
        list.replace(n, operator(name));
    }
    for n in arrows_of_json(&list) {
        list.replace(n, operator("->"));
    }
    list.changes().make(tokens);
}

/// Where arrows stand that are none of lambdas.
fn arrows_of_json(list: &TokenList<'_>) -> Vec<usize> {
    let mut found = vec![];
    // Of each bracket: whether lambdas may stand in it.
    let mut levels = vec![];
    let mut n = 0;
    while let Some(token) = list.token(n) {
        let before = |back| list.before(n, back).map(|token| &token.token);
        match &token.token {
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
                    found.push(n);
                }
            }
            _ => {}
        }
        n += 1;
    }
    found
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
