//! Statements about whole databases: COPY FROM DATABASE, EXPORT DATABASE and IMPORT DATABASE.

use super::copy::copy_options;
use super::statement::{DatabaseParts, Statement};
use super::tokens::{expect, string, syntax_error, word, words};
use crate::error::Result;
use sqlparser::keywords::Keyword;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::Token;

/// `COPY FROM DATABASE a TO b [(SCHEMA | DATA)]`.
pub(super) fn copy_database(parser: &mut Parser) -> Result<Statement> {
    (0..3).for_each(|_| drop(parser.next_token()));
    let from = word(parser)?;
    to(parser)?;
    let to = word(parser)?;
    let mut parts = DatabaseParts::All;
    if parser.consume_token(&Token::LParen) {
        parts = match words(parser, 1)[0].as_str() {
            "SCHEMA" => DatabaseParts::Schema,
            "DATA" => DatabaseParts::Data,
            _ => return Err(syntax_error(&parser.peek_token().token)),
        };
        parser.next_token();
        expect(parser, &Token::RParen)?;
    }
    Ok(Statement::CopyDatabase { from, to, parts })
}

/// `EXPORT DATABASE [a TO] 'directory' [(FORMAT csv, ...)]`.
pub(super) fn export_database(parser: &mut Parser) -> Result<Statement> {
    (0..2).for_each(|_| drop(parser.next_token()));
    let database = match parser.peek_token().token {
        Token::Word(_) => {
            let name = word(parser)?;
            to(parser)?;
            Some(name)
        }
        _ => None,
    };
    Ok(Statement::ExportDatabase {
        database,
        directory: string(parser)?,
        options: copy_options(parser)?,
    })
}

/// `IMPORT DATABASE 'directory'`.
pub(super) fn import_database(parser: &mut Parser) -> Result<Statement> {
    (0..2).for_each(|_| drop(parser.next_token()));
    Ok(Statement::ImportDatabase(string(parser)?))
}

fn to(parser: &mut Parser) -> Result<()> {
    match parser.parse_keyword(Keyword::TO) {
        true => Ok(()),
        false => Err(syntax_error(&parser.peek_token().token)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;

    #[test]
    fn a_copy_says_what_is_copied() {
        let parts = |sql: &str| match parse(sql) {
            Ok(Statement::CopyDatabase { from, to, parts }) if from == "a" && to == "b c" => parts,
            _ => panic!("{sql}"),
        };
        let statement = "COPY FROM DATABASE a TO \"b c\"";
        assert!(parts(statement) == DatabaseParts::All);
        assert!(parts(&format!("{statement} (schema)")) == DatabaseParts::Schema);
        assert!(parts(&format!("{statement} (DATA)")) == DatabaseParts::Data);
        assert!(parse(&format!("{statement} (INDEXES)")).is_err());
    }

    #[test]
    fn an_export_may_name_its_database() {
        let Ok(Statement::ExportDatabase {
            database,
            directory,
            options,
        }) = parse("EXPORT DATABASE x TO 'd' (FORMAT parquet)")
        else {
            panic!()
        };
        assert_eq!((database.as_deref(), directory.as_str()), (Some("x"), "d"));
        assert_eq!(options.len(), 1);
        assert!(matches!(
            parse("EXPORT DATABASE 'd'"),
            Ok(Statement::ExportDatabase { database: None, .. })
        ));
        assert!(parse("IMPORT DATABASE d").is_err());
    }
}
