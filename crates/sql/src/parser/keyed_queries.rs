//! `WITH RECURSIVE t(a, b) USING KEY (a) AS (first UNION next)`, which the parser does not know: the key goes behind a mark among the
//! columns, and from there into the first part, which becomes `SELECT * FROM (first) AS "$first"(a, b) WHERE "$using_key"(a)`.
//!
//! What must hold: the work is linear in the number of tokens.

use super::super::token_list::{TokenList, is_word, named};
use super::parse_one;
use crate::calls::quoted_call;
use crate::error::{Error, Result};
use crate::marks::USING_KEY;
use sqlparser::ast::{
    Cte, Expr, Query, SetExpr, SetOperator, TableAliasColumnDef, TableFactor, VisitorMut,
};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};
use std::ops::ControlFlow;

/// Puts keys among the columns.
pub(super) fn with_marked_columns(tokens: &mut Vec<TokenWithSpan>) {
    let mut list = TokenList::of(tokens);
    for n in 1..list.len() {
        let is_key = list.token(n + 1).is_some_and(|token| is_word(token, "key"));
        if !list.is(n, Keyword::USING) || !is_key || !list.has(n + 2, &Token::LParen) {
            continue;
        }
        let Some((names, end)) = names(&list, n + 3) else {
            continue;
        };
        if !list.is(end + 1, Keyword::AS) || !list.has(end + 2, &Token::LParen) {
            continue;
        }
        let marked = std::iter::once(named(USING_KEY)).chain(names);
        let marked = marked.flat_map(|name| [Token::Comma, name]);
        match list.has(n - 1, &Token::RParen) {
            true => list.put(n - 1, marked),
            false => {
                let marked = marked.skip(1);
                let in_brackets = std::iter::once(Token::LParen).chain(marked);
                list.put(n, in_brackets.chain([Token::RParen]));
            }
        }
        (n..=end).for_each(|n| list.replace(n, []));
    }
    list.changes().make(tokens);
}

/// Names with commas between them, and the bracket behind them.
fn names(list: &TokenList<'_>, first: usize) -> Option<(Vec<Token>, usize)> {
    let mut names = vec![];
    for n in (first..).step_by(2) {
        let name = &list.token(n)?.token;
        matches!(name, Token::Word(_)).then(|| names.push(name.clone()))?;
        match list.token(n + 1)?.token {
            Token::Comma => {}
            Token::RParen => return Some((names, n + 1)),
            _ => return None,
        }
    }
    None
}

/// Takes keys from the columns to the first parts.
pub(super) struct KeyedQueries;

impl VisitorMut for KeyedQueries {
    type Break = Box<Error>;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Self::Break> {
        let tables = query.with.iter_mut().flat_map(|with| &mut with.cte_tables);
        for table in tables {
            if let Err(error) = mark_first(table) {
                return ControlFlow::Break(Box::new(error));
            }
        }
        ControlFlow::Continue(())
    }
}

fn mark_first(table: &mut Cte) -> Result<()> {
    let columns = &mut table.alias.columns;
    let is_mark = |column: &TableAliasColumnDef| column.name.value == USING_KEY;
    let Some(at) = columns.iter().position(is_mark) else {
        return Ok(());
    };
    let of_key = columns.split_off(at).into_iter().skip(1);
    let of_key = of_key.map(|column| Expr::Identifier(column.name));
    let mark = quoted_call(USING_KEY, of_key.collect());
    let columns = columns.clone();
    // One that is no UNION reads nothing of itself.
    let SetExpr::SetOperation {
        op: SetOperator::Union,
        left,
        ..
    } = table.query.body.as_mut()
    else {
        return Ok(());
    };
    let mut first = match parse_one("SELECT * FROM (SELECT 1) AS \"$first\" WHERE true")? {
        sqlparser::ast::Statement::Query(first) => first,
        _ => return Err(Error::internal("a query was expected")),
    };
    let SetExpr::Select(select) = first.body.as_mut() else {
        return Err(Error::internal("a query was expected"));
    };
    select.selection = Some(mark);
    if let [from] = select.from.as_mut_slice()
        && let TableFactor::Derived {
            subquery,
            alias: Some(alias),
            ..
        } = &mut from.relation
    {
        alias.columns = columns;
        std::mem::swap(&mut subquery.body, left);
    }
    *left = first.body;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::parse_one;

    #[test]
    fn the_first_part_says_what_the_key_is() {
        for (given, expected) in [
            (
                "WITH RECURSIVE t(a, b) USING KEY (a) AS (SELECT 1, 2 UNION SELECT a, b FROM t) SELECT * FROM t",
                "WITH RECURSIVE t (a, b) AS (SELECT * FROM (SELECT 1, 2) AS \"$first\" (a, b) WHERE \"$using_key\"(a) UNION SELECT a, b FROM t) SELECT * FROM t",
            ),
            (
                "WITH RECURSIVE t USING KEY (a, \"B\") AS (SELECT 1 a, 2 \"B\" UNION ALL SELECT a, b FROM recurring.t) FROM t",
                "WITH RECURSIVE t AS (SELECT * FROM (SELECT 1 AS a, 2 AS \"B\") AS \"$first\" WHERE \"$using_key\"(a, \"B\") UNION ALL SELECT a, b FROM recurring.t) FROM t",
            ),
            (
                "WITH t(a) USING KEY (a) AS (SELECT 1) SELECT a FROM t JOIN u USING (key)",
                "WITH t (a) AS (SELECT 1) SELECT a FROM t JOIN u USING(key)",
            ),
        ] {
            assert_eq!(parse_one(given).unwrap().to_string(), expected);
        }
    }
}
