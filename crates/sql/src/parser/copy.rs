//! COPY ... TO and COPY ... FROM.

use super::statement::{CopyPath, CopyTarget, OptionValue, Statement};
use super::tokens::{expect, object_name, parser_error, scalar, string, syntax_error, word};
use crate::error::Result;
use sqlparser::keywords::Keyword;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::Token;

pub(super) fn copy(parser: &mut Parser) -> Result<Statement> {
    parser.next_token();
    if matches!(parser.peek_token().token, Token::LParen) {
        parser.next_token();
        let query = parser.parse_query().map_err(parser_error)?;
        expect(parser, &Token::RParen)?;
        if !parser.parse_keyword(Keyword::TO) {
            return Err(syntax_error(&parser.peek_token().token));
        }
        let path = path(parser)?;
        return Ok(Statement::CopyTo {
            what: CopyTarget::Query(query),
            path,
            options: copy_options(parser)?,
        });
    }
    let table = object_name(parser)?;
    let mut columns = vec![];
    if parser.consume_token(&Token::LParen) {
        loop {
            columns.push(parser.parse_identifier().map_err(parser_error)?);
            if !parser.consume_token(&Token::Comma) {
                break;
            }
        }
        expect(parser, &Token::RParen)?;
    }
    if parser.parse_keyword(Keyword::TO) {
        let path = path(parser)?;
        return Ok(Statement::CopyTo {
            what: CopyTarget::Table(table, columns),
            path,
            options: copy_options(parser)?,
        });
    }
    if !parser.parse_keyword(Keyword::FROM) {
        return Err(syntax_error(&parser.peek_token().token));
    }
    let path = path(parser)?;
    let columns = columns.into_iter().map(|column| column.value).collect();
    Ok(Statement::CopyFrom {
        table,
        columns,
        path,
        options: copy_options(parser)?,
    })
}

/// `'file'`, or `(value)`.
fn path(parser: &mut Parser) -> Result<CopyPath> {
    if !parser.consume_token(&Token::LParen) {
        return string(parser).map(CopyPath::Written);
    }
    let value = parser.parse_expr().map_err(parser_error)?;
    expect(parser, &Token::RParen)?;
    Ok(CopyPath::Value(Box::new(value)))
}

/// `name: value, ...}`, of which a value is a text or a number.
fn pairs(parser: &mut Parser) -> Result<Vec<(String, String)>> {
    let mut pairs = vec![];
    loop {
        let name = scalar(parser)?;
        expect(parser, &Token::Colon)?;
        pairs.push((name, scalar(parser)?));
        if !parser.consume_token(&Token::Comma) {
            break;
        }
    }
    expect(parser, &Token::RBrace)?;
    Ok(pairs)
}

/// `[WITH] (name [value], ...)`, or the older form without parentheses: `WITH HEADER DELIMITER ','`.
pub(super) fn copy_options(parser: &mut Parser) -> Result<Vec<(String, OptionValue)>> {
    let mut options = vec![];
    let _ = parser.parse_keyword(Keyword::WITH);
    if !parser.consume_token(&Token::LParen) {
        while matches!(parser.peek_token().token, Token::Word(_)) {
            let name = word(parser)?.to_lowercase();
            let value = match parser.peek_token().token {
                Token::SingleQuotedString(text) => {
                    parser.next_token();
                    OptionValue::Text(text)
                }
                _ => OptionValue::None,
            };
            options.push((name, value));
        }
        return Ok(options);
    }
    loop {
        let name = word(parser)?.to_lowercase();
        let _ = parser.consume_token(&Token::Eq);
        let value = match parser.peek_token().token {
            Token::Comma | Token::RParen => OptionValue::None,
            Token::Mul => {
                parser.next_token();
                OptionValue::Text("*".into())
            }
            Token::LParen => {
                parser.next_token();
                let mut items = vec![];
                loop {
                    items.push(scalar(parser)?);
                    if !parser.consume_token(&Token::Comma) {
                        break;
                    }
                }
                expect(parser, &Token::RParen)?;
                OptionValue::List(items)
            }
            Token::LBrace => {
                parser.next_token();
                OptionValue::Pairs(pairs(parser)?)
            }
            _ => OptionValue::Text(scalar(parser)?),
        };
        options.push((name, value));
        if !parser.consume_token(&Token::Comma) {
            break;
        }
    }
    expect(parser, &Token::RParen)?;
    Ok(options)
}
