//! CREATE and DROP MACRO, which FUNCTION is another word for.
//!
//! Refuses parameters of one name, and those without a default behind one that has it.

use super::statement::{DroppedMacro, MacroBody, NewMacro, NewOverload, NewParameter, Statement};
use super::tokens::{dropped_name, entry_head, expect, parser_error, syntax_error, word};
use crate::error::{Error, Result};
use crate::names::folded;
use crate::walk::visit_expressions;
use sqlparser::ast::Expr;
use sqlparser::keywords::Keyword;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::Token;
use std::ops::ControlFlow;

/// `CREATE [OR REPLACE] [TEMP] MACRO [IF NOT EXISTS] name(parameters) AS [TABLE] body [, (parameters) AS [TABLE] body ...]`.
pub(super) fn create(parser: &mut Parser) -> Result<Statement> {
    let head = entry_head(parser)?;
    let mut overloads = vec![];
    loop {
        overloads.push(overload(parser)?);
        if !parser.consume_token(&Token::Comma) {
            break;
        }
    }
    let is_table = |one: &NewOverload| matches!(one.body, MacroBody::Query(_));
    if overloads.iter().any(is_table) != overloads.iter().all(is_table) {
        return Err(Error::parser(
            "Cannot mix table and scalar macro definitions in one macro",
        ));
    }
    Ok(Statement::CreateMacro(NewMacro {
        head,
        is_table: overloads.iter().any(is_table),
        overloads,
    }))
}

fn overload(parser: &mut Parser) -> Result<NewOverload> {
    let parameters = parameters(parser)?;
    if !parser.parse_keyword(Keyword::AS) {
        return Err(syntax_error(&parser.peek_token().token));
    }
    let body = match parser.parse_keyword(Keyword::TABLE) {
        true => MacroBody::Query(parser.parse_query().map_err(parser_error)?),
        false => MacroBody::Expr(Box::new(parser.parse_expr().map_err(parser_error)?)),
    };
    if let MacroBody::Expr(body) = &body {
        refuse_lambdas(body, &parameters)?;
    }
    Ok(NewOverload { parameters, body })
}

fn parameters(parser: &mut Parser) -> Result<Vec<NewParameter>> {
    let mut parameters: Vec<NewParameter> = vec![];
    expect(parser, &Token::LParen)?;
    if parser.consume_token(&Token::RParen) {
        return Ok(parameters);
    }
    loop {
        let new = parameter(parser)?;
        let is_same = |known: &NewParameter| folded(&known.name) == folded(&new.name);
        if parameters.iter().any(is_same) {
            return Err(Error::parser(format!(
                "Duplicate parameter '{}' in macro definition",
                new.name
            )));
        }
        if new.default.is_none() && parameters.iter().any(|known| known.default.is_some()) {
            return Err(Error::parser(
                "Parameter without a default follows parameter with a default",
            ));
        }
        parameters.push(new);
        if !parser.consume_token(&Token::Comma) {
            break;
        }
    }
    expect(parser, &Token::RParen)?;
    Ok(parameters)
}

/// `name [type] [:= default]`.
fn parameter(parser: &mut Parser) -> Result<NewParameter> {
    let name = word(parser)?;
    let ty = match parser.peek_token().token {
        Token::Comma | Token::RParen | Token::Assignment | Token::RArrow => None,
        _ => Some(parser.parse_data_type().map_err(parser_error)?),
    };
    let has_default =
        parser.consume_token(&Token::Assignment) || parser.consume_token(&Token::RArrow);
    let default = match has_default {
        true => Some(parser.parse_expr().map_err(parser_error)?),
        false => None,
    };
    if let Some(default) = &default {
        refuse_columns(&name, default)?;
    }
    Ok(NewParameter { name, ty, default })
}

fn refuse_columns(name: &str, default: &Expr) -> Result<()> {
    let found = visit_expressions(default, |expr| match expr {
        Expr::Identifier(_) | Expr::CompoundIdentifier(_) => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    match found {
        ControlFlow::Break(()) => Err(Error::binder(format!(
            "Default value for parameter '{name}' cannot contain column names"
        ))),
        ControlFlow::Continue(()) => Ok(()),
    }
}

/// A lambda's parameter would be taken for the macro's.
fn refuse_lambdas(body: &Expr, parameters: &[NewParameter]) -> Result<()> {
    let is_known = |name: &str| {
        parameters
            .iter()
            .any(|known| folded(&known.name) == folded(name))
    };
    let found = visit_expressions(body, |expr| match expr {
        Expr::Lambda(lambda) if lambda.params.iter().any(|p| is_known(&p.name.value)) => {
            ControlFlow::Break(())
        }
        _ => ControlFlow::Continue(()),
    });
    match found {
        ControlFlow::Break(()) => Err(Error::unsupported(
            "a lambda in a macro has a parameter that is called like one of the macro's: rename one of them",
        )),
        ControlFlow::Continue(()) => Ok(()),
    }
}

/// `DROP MACRO [TABLE] [IF EXISTS] name`.
pub(super) fn drop(parser: &mut Parser) -> Result<Statement> {
    (0..2).for_each(|_| std::mem::drop(parser.next_token()));
    let is_table = parser.parse_keyword(Keyword::TABLE);
    let if_exists = parser.parse_keywords(&[Keyword::IF, Keyword::EXISTS]);
    let name = dropped_name(parser)?;
    Ok(Statement::DropMacro(DroppedMacro {
        name,
        is_table,
        if_exists,
    }))
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;

    #[test]
    fn overloads_and_defaults_are_read() {
        let text = "CREATE OR REPLACE MACRO s.f(a, b := 1 + 1) AS a + b, () AS 42";
        let Ok(Statement::CreateMacro(new)) = parse(text) else {
            panic!("{text}")
        };
        assert!(new.head.or_replace && !new.is_table && !new.head.temporary);
        assert_eq!(new.overloads.len(), 2);
        assert!(new.overloads[0].parameters[1].default.is_some());
        let text = "CREATE MACRO f(a DECIMAL(5, 2), b, c s.mood := 'x', d INTEGER[] => []) AS 1";
        let Ok(Statement::CreateMacro(new)) = parse(text) else {
            panic!("{text}")
        };
        let parameters = new.overloads[0].parameters.iter();
        let typed: Vec<bool> = parameters.map(|one| one.ty.is_some()).collect();
        assert_eq!(typed, [true, false, true, true]);
        let text = "CREATE FUNCTION t(n) AS TABLE SELECT n AS x UNION ALL SELECT 2";
        assert!(matches!(parse(text), Ok(Statement::CreateMacro(new)) if new.is_table));
    }

    #[test]
    fn what_cannot_be_is_refused() {
        for text in [
            "CREATE MACRO f(a, A) AS a",
            "CREATE MACRO f(a := 1, b) AS a",
            "CREATE MACRO f(a, b := a) AS a",
            "CREATE MACRO f(a) AS a, (b) AS TABLE SELECT b",
            "CREATE MACRO f AS 1",
            "CREATE MACRO f(x) AS list_transform([1], x -> x)",
            "DROP MACRO f, g",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
