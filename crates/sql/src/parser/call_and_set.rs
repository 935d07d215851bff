//! CALL, PRAGMA and SET.

use super::show::all_tables;
use super::statement::Statement;
use super::tokens::{expect, object_name, parser_error, parts, syntax_error, word, words};
use crate::error::Result;
use sqlparser::ast::{Expr, Value};
use sqlparser::keywords::Keyword;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::Token;

pub(super) fn call(parser: &mut Parser) -> Result<Statement> {
    let name = word(parser)?.to_lowercase();
    let (mut args, mut named) = (vec![], vec![]);
    expect(parser, &Token::LParen)?;
    if !parser.consume_token(&Token::RParen) {
        loop {
            let is_named = matches!(parser.peek_nth_token_ref(0).token, Token::Word(_))
                && matches!(
                    parser.peek_nth_token_ref(1).token,
                    Token::Eq | Token::Assignment | Token::RArrow
                );
            if is_named {
                let name = word(parser)?.to_lowercase();
                parser.next_token();
                named.push((name, parser.parse_expr().map_err(parser_error)?));
            } else {
                args.push(parser.parse_expr().map_err(parser_error)?);
            }
            if !parser.consume_token(&Token::Comma) {
                break;
            }
        }
        expect(parser, &Token::RParen)?;
    }
    Ok(Statement::Call { name, args, named })
}

pub(super) fn pragma(parser: &mut Parser) -> Result<Statement> {
    parser.next_token();
    match parser.peek_nth_token_ref(1).token {
        Token::LParen => {
            let mut called = call(parser)?;
            // `table_info(t)` names a table, as `table_info('t')` does.
            if let Statement::Call { args, .. } = &mut called {
                for arg in args {
                    if let Expr::Identifier(_) | Expr::CompoundIdentifier(_) = arg {
                        let name = match &*arg {
                            Expr::Identifier(name) => name.value.clone(),
                            other => other.to_string(),
                        };
                        *arg = Expr::value(Value::SingleQuotedString(name));
                    }
                }
            }
            Ok(called)
        }
        Token::Eq => {
            let name = word(parser)?.to_lowercase();
            parser.next_token();
            Ok(Statement::Set {
                name,
                value: Box::new(parser.parse_expr().map_err(parser_error)?),
            })
        }
        _ => match word(parser)?.to_lowercase() {
            name if name == "show_tables_expanded" => all_tables(),
            name => Ok(Statement::Pragma(name)),
        },
    }
}

pub(super) fn set(parser: &mut Parser) -> Result<Statement> {
    parser.next_token();
    for scope in ["SESSION", "GLOBAL", "LOCAL"] {
        if words(parser, 1)[0] == scope && !matches!(parser.peek_nth_token_ref(1).token, Token::Eq)
        {
            parser.next_token();
        }
    }
    let name = match parser.parse_keywords(&[Keyword::TIME, Keyword::ZONE]) {
        true => "timezone".to_owned(),
        false => {
            let name = parts(&object_name(parser)?).join(".");
            if !parser.consume_token(&Token::Eq) && !parser.parse_keyword(Keyword::TO) {
                return Err(syntax_error(&parser.peek_token().token));
            }
            name
        }
    };
    Ok(Statement::Set {
        name,
        value: Box::new(parser.parse_expr().map_err(parser_error)?),
    })
}

/// `RESET name` and `RESET VARIABLE name`.
pub(super) fn reset(parser: &mut Parser) -> Result<Statement> {
    parser.next_token();
    let name = word(parser)?;
    let is_variable = name.eq_ignore_ascii_case("variable");
    match is_variable && matches!(parser.peek_token().token, Token::Word(_)) {
        true => Ok(Statement::ResetVariable(word(parser)?)),
        false => Ok(Statement::Reset(name)),
    }
}

/// `SET VARIABLE name = expression`.
pub(super) fn set_variable(parser: &mut Parser) -> Result<Statement> {
    (0..2).for_each(|_| drop(parser.next_token()));
    let name = word(parser)?;
    if !parser.consume_token(&Token::Eq) && !parser.parse_keyword(Keyword::TO) {
        return Err(syntax_error(&parser.peek_token().token));
    }
    let value = Box::new(parser.parse_expr().map_err(parser_error)?);
    Ok(Statement::SetVariable { name, value })
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;

    #[test]
    fn call_takes_named_arguments() {
        let Ok(Statement::Call { name, named, .. }) = parse("CALL dbgen(sf = 0.1, catalog = 'x')")
        else {
            panic!()
        };
        assert_eq!(name, "dbgen");
        assert_eq!(named.len(), 2);
    }
}
