//! CREATE and DROP TYPE.

use super::statement::{NewType, Statement, TypeBody};
use super::tokens::{dropped_name, entry_head, expect, parser_error, syntax_error, word, words};
use crate::error::Result;
use sqlparser::ast::DataType;
use sqlparser::keywords::Keyword;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::Token;

/// `CREATE [OR REPLACE] [TEMP] TYPE [IF NOT EXISTS] name AS type`, or `AS ENUM (query)`.
pub(super) fn create(parser: &mut Parser) -> Result<Statement> {
    let head = entry_head(parser)?;
    if !parser.parse_keyword(Keyword::AS) {
        return Err(syntax_error(&parser.peek_token().token));
    }
    let ahead = words(parser, 4);
    let ahead: Vec<&str> = ahead.iter().map(String::as_str).collect();
    let body = match ahead.as_slice() {
        ["ENUM", "(", ")", ..] => {
            (0..3).for_each(|_| drop(parser.next_token()));
            TypeBody::Type(DataType::Enum(vec![], None))
        }
        ["ENUM", "(", "SELECT" | "FROM" | "WITH" | "VALUES" | "(", ..] => {
            word(parser)?;
            expect(parser, &Token::LParen)?;
            let query = parser.parse_query().map_err(parser_error)?;
            expect(parser, &Token::RParen)?;
            TypeBody::Query(query)
        }
        _ => TypeBody::Type(parser.parse_data_type().map_err(parser_error)?),
    };
    Ok(Statement::CreateType(NewType { head, body }))
}

/// `DROP TYPE [IF EXISTS] name`.
pub(super) fn drop_type(parser: &mut Parser) -> Result<Statement> {
    (0..2).for_each(|_| drop(parser.next_token()));
    let if_exists = parser.parse_keywords(&[Keyword::IF, Keyword::EXISTS]);
    let name = dropped_name(parser)?;
    Ok(Statement::DropType { name, if_exists })
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;

    #[test]
    fn types_are_read() {
        for text in [
            "CREATE TYPE mood AS ENUM ('sad', 'ok')",
            "CREATE OR REPLACE TYPE s.mood AS ENUM()",
            "CREATE TEMP TYPE IF NOT EXISTS t AS STRUCT(a INTEGER)",
        ] {
            let Ok(Statement::CreateType(new)) = parse(text) else {
                panic!("{text}")
            };
            assert!(matches!(new.body, TypeBody::Type(_)));
        }
        for text in [
            "CREATE TYPE mood AS ENUM (SELECT x FROM t)",
            "CREATE TYPE mood AS ENUM (FROM t)",
        ] {
            assert!(
                matches!(parse(text), Ok(Statement::CreateType(new)) if matches!(new.body, TypeBody::Query(_)))
            );
        }
        let text = "DROP TYPE IF EXISTS s.mood CASCADE";
        assert!(matches!(
            parse(text),
            Ok(Statement::DropType {
                if_exists: true,
                ..
            })
        ));
        for text in [
            "CREATE TYPE mood",
            "DROP TYPE a, b",
            "CREATE TYPE a AS ENUM('a'",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
