//! SHOW, DESCRIBE and SUMMARIZE.

use super::parse_one;
use super::statement::Statement;
use super::tokens::{object_name, parser_error, parts, words};
use crate::error::{Error, Result};
use sqlparser::ast::{self, ObjectName};
use sqlparser::keywords::Keyword;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::Token;

pub(super) fn show(parser: &mut Parser) -> Result<Statement> {
    let ahead = words(parser, 3);
    let ahead: Vec<&str> = ahead.iter().skip(1).map(String::as_str).collect();
    if matches!(
        ahead.as_slice(),
        ["SELECT" | "FROM" | "WITH" | "VALUES" | "(", ..]
    ) {
        return describe(parser);
    }
    parser.next_token();
    match ahead.as_slice() {
        ["TABLES", ..] => {
            parser.next_token();
            let from = parser.parse_keyword(Keyword::FROM);
            let from = from.then(|| object_name(parser)).transpose()?;
            Ok(Statement::ShowTables {
                from: from.as_ref().map(parts),
                all: false,
            })
        }
        ["ALL", "TABLES"] => {
            (0..2).for_each(|_| drop(parser.next_token()));
            Ok(Statement::ShowTables {
                from: None,
                all: true,
            })
        }
        ["DATABASES", ..] => {
            parser.next_token();
            Ok(Statement::ShowDatabases)
        }
        ["SCHEMAS", ..] => {
            parser.next_token();
            Ok(Statement::ShowSchemas)
        }
        // `SHOW t` describes a table, `SHOW setting` gives a setting; execution decides.
        _ => Ok(Statement::Show(parts(&object_name(parser)?).join("."))),
    }
}

pub(super) fn describe(parser: &mut Parser) -> Result<Statement> {
    parser.next_token();
    if parser.peek_token().token == Token::EOF {
        return Ok(Statement::ShowTables {
            from: None,
            all: true,
        });
    }
    Ok(Statement::Describe(rows_meant(parser)?))
}

pub(super) fn summarize(parser: &mut Parser) -> Result<Statement> {
    parser.next_token();
    Ok(Statement::Summarize(rows_meant(parser)?))
}

/// A query, or all rows of a table that is named.
fn rows_meant(parser: &mut Parser) -> Result<Box<ast::Query>> {
    let ahead = words(parser, 1);
    if matches!(
        ahead[0].as_str(),
        "SELECT" | "FROM" | "WITH" | "VALUES" | "(" | "TABLE"
    ) {
        return parser.parse_query().map_err(parser_error);
    }
    let name = object_name(parser)?;
    Ok(Box::new(select_all(&name)?))
}

/// `FROM name`.
fn select_all(name: &ObjectName) -> Result<ast::Query> {
    match parse_one(&format!("SELECT * FROM {name}"))? {
        ast::Statement::Query(query) => Ok(*query),
        _ => Err(Error::internal("a SELECT was parsed as something else")),
    }
}
