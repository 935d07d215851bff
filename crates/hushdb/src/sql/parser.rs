//! The statements HushDB knows. Those that sqlparser's DuckDB dialect lacks or cuts short are read here, token by token;
//! the rest comes as sqlparser's tree.

use super::normalize;
use crate::error::{Error, Result};
use datafusion::sql::sqlparser::ast::{self, ObjectName};
use datafusion::sql::sqlparser::dialect::DuckDbDialect;
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer};
use std::fmt;

/// One statement.
pub(crate) enum Statement {
    /// Queries, DML and DDL.
    Sql(Box<ast::Statement>),
    /// `INSERT INTO t BY NAME query`.
    InsertByName(Box<ast::Insert>),
    Attach {
        path: String,
        name: Option<String>,
        if_not_exists: bool,
        options: Vec<AttachOption>,
    },
    Detach {
        name: String,
        if_exists: bool,
    },
    Use(Vec<String>),
    /// `CALL f(args)` and `PRAGMA f(args)`.
    Call {
        name: String,
        args: Vec<ast::Expr>,
        named: Vec<(String, ast::Expr)>,
    },
    /// `PRAGMA name`.
    Pragma(String),
    Set {
        name: String,
        value: Box<ast::Expr>,
    },
    Reset(String),
    CopyFrom {
        table: ObjectName,
        columns: Vec<String>,
        path: String,
        options: Vec<(String, OptionValue)>,
    },
    CopyTo {
        what: CopyTarget,
        path: String,
        options: Vec<(String, OptionValue)>,
    },
    Describe(Box<ast::Query>),
    /// `SHOW TABLES [FROM x]`, `SHOW ALL TABLES`.
    ShowTables {
        from: Option<Vec<String>>,
        all: bool,
    },
    ShowDatabases,
    ShowSchemas,
    /// `SHOW setting`.
    Show(String),
    /// `CHECKPOINT [database]`.
    Checkpoint(Option<String>),
    /// `INSTALL x`, `LOAD x`.
    Extension(String),
    /// Known, and not there yet; the text says what to do instead.
    NotYet(&'static str),
}

/// What COPY ... TO writes.
pub(crate) enum CopyTarget {
    Query(Box<ast::Query>),
    Table(ObjectName, Vec<ast::Ident>),
}

/// A value in an option list.
#[derive(Clone, PartialEq)]
pub(crate) enum OptionValue {
    /// The option stands alone.
    None,
    Text(String),
    List(Vec<String>),
}

/// An option of ATTACH. Its value may be a key, so it has no Debug output.
#[derive(Clone)]
pub(crate) struct AttachOption {
    pub(crate) name: String,
    pub(crate) value: Option<String>,
}

impl fmt::Debug for AttachOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AttachOption({})", self.name)
    }
}

/// The table function that gives the rows of a DESCRIBE or SHOW.
pub(crate) const ROWS_OF: &str = "$rows_of";

const TRANSACTIONS: &str =
    "transactions over several statements are not there yet; each statement is atomic by itself";

/// Parses a text that holds exactly one statement.
pub(crate) fn parse(sql: &str) -> Result<Statement> {
    let dialect = DuckDbDialect {};
    let mut tokens = Tokenizer::new(&dialect, sql)
        .tokenize_with_location()
        .map_err(|e| parser_error(e.into()))?;
    let by_name = take_by_name(&mut tokens);
    statements_in_from(&mut tokens);
    let mut parser = Parser::new(&dialect).with_tokens_with_locations(tokens);
    let mut statement = statement(&mut parser)?;
    if by_name {
        statement = match statement {
            Statement::Sql(inner) => match *inner {
                ast::Statement::Insert(insert) => Statement::InsertByName(Box::new(insert)),
                other => Statement::Sql(Box::new(other)),
            },
            other => other,
        };
    }
    while parser.consume_token(&Token::SemiColon) {}
    match parser.peek_token().token {
        Token::EOF => Ok(statement),
        other => Err(syntax_error(&other)),
    }
}

/// Takes `BY NAME` out of `INSERT INTO t BY NAME ...`; true when it was there.
fn take_by_name(tokens: &mut Vec<TokenWithSpan>) -> bool {
    let words: Vec<(usize, String)> = tokens
        .iter()
        .enumerate()
        .filter(|(_, t)| !matches!(t.token, Token::Whitespace(_)))
        .take(12)
        .map(|(i, t)| (i, t.token.to_string().to_uppercase()))
        .collect();
    if words.first().is_none_or(|(_, word)| word != "INSERT") {
        return false;
    }
    let found = words
        .windows(2)
        .find(|pair| pair[0].1 == "BY" && pair[1].1 == "NAME");
    let (Some(pair), source) = (
        found,
        words
            .iter()
            .find(|(_, w)| matches!(w.as_str(), "SELECT" | "VALUES" | "FROM" | "WITH" | "(")),
    ) else {
        return false;
    };
    if source.is_some_and(|(at, _)| *at < pair[0].0) {
        return false;
    }
    tokens.drain(pair[0].0..=pair[1].0);
    true
}

/// Puts the table function `$rows_of('...')` where a query says `FROM (DESCRIBE ...)` or `FROM (SHOW ...)`.
fn statements_in_from(tokens: &mut Vec<TokenWithSpan>) {
    let mut at = 0;
    while at < tokens.len() {
        let next =
            (at + 1..tokens.len()).find(|i| !matches!(tokens[*i].token, Token::Whitespace(_)));
        let is_word = |i: usize| {
            matches!(&tokens[i].token, Token::Word(w) if w.quote_style.is_none()
                && matches!(w.value.to_uppercase().as_str(), "DESCRIBE" | "SHOW"))
        };
        let (Token::LParen, Some(start)) = (&tokens[at].token, next.filter(|i| is_word(*i))) else {
            at += 1;
            continue;
        };
        let mut depth = 1;
        let mut end = start;
        while end < tokens.len() {
            match tokens[end].token {
                Token::LParen => depth += 1,
                Token::RParen => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                break;
            }
            end += 1;
        }
        if end == tokens.len() {
            return;
        }
        let text: String = tokens[start..end]
            .iter()
            .map(|t| match &t.token {
                Token::SingleQuotedString(text) => format!("'{}'", text.replace('\'', "''")),
                other => other.to_string(),
            })
            .collect();
        let span = tokens[at].span;
        let call = [
            Token::make_word(ROWS_OF, None),
            Token::LParen,
            Token::SingleQuotedString(text),
            Token::RParen,
        ];
        tokens.splice(at..=end, call.map(|token| TokenWithSpan { token, span }));
        at += 4;
    }
}

/// Parses one statement of sqlparser's.
pub(crate) fn parse_one(sql: &str) -> Result<ast::Statement> {
    match parse(sql)? {
        Statement::Sql(statement) => Ok(*statement),
        _ => Err(Error::parser("a query was expected")),
    }
}

fn parser_error(error: ParserError) -> Error {
    let text = match error {
        ParserError::TokenizerError(text) | ParserError::ParserError(text) => text,
        ParserError::RecursionLimitExceeded => "the statement is nested too deeply".to_string(),
    };
    Error::parser(text)
}

fn syntax_error(token: &Token) -> Error {
    match token {
        Token::EOF => Error::parser("syntax error at end of input"),
        // A string may be a key: it is not repeated.
        Token::SingleQuotedString(_) | Token::DollarQuotedString(_) => {
            Error::parser("syntax error at or near a string")
        }
        other => Error::parser(format!("syntax error at or near \"{other}\"")),
    }
}

/// The next tokens as upper-case words, without consuming them.
fn words(parser: &Parser, n: usize) -> Vec<String> {
    (0..n)
        .map(|i| match &parser.peek_nth_token_ref(i).token {
            Token::Word(word) if word.quote_style.is_none() => word.value.to_uppercase(),
            other => other.to_string(),
        })
        .collect()
}

fn statement(parser: &mut Parser) -> Result<Statement> {
    let ahead = words(parser, 4);
    let ahead: Vec<&str> = ahead.iter().map(String::as_str).collect();
    match ahead.as_slice() {
        ["ATTACH", ..] => attach(parser),
        ["DETACH", ..] => detach(parser),
        ["USE", ..] => {
            parser.next_token();
            Ok(Statement::Use(parts(&object_name(parser)?)))
        }
        ["CALL", ..] => {
            parser.next_token();
            call(parser)
        }
        ["PRAGMA", ..] => pragma(parser),
        ["COPY", "FROM", "DATABASE", ..] => Ok(not_yet(
            parser,
            "COPY FROM DATABASE is not there yet; use CREATE TABLE b.t AS FROM a.t for each table",
        )),
        ["COPY", ..] => copy(parser),
        ["SET", "VARIABLE", ..] => Ok(not_yet(parser, "SET VARIABLE is not there yet")),
        ["SET", ..] => set(parser),
        ["RESET", ..] => {
            parser.next_token();
            Ok(Statement::Reset(word(parser)?))
        }
        ["SHOW", "TABLES", ..] => {
            parser.next_token();
            parser.next_token();
            let from = parser.parse_keyword(Keyword::FROM);
            let from = if from {
                Some(parts(&object_name(parser)?))
            } else {
                None
            };
            Ok(Statement::ShowTables { from, all: false })
        }
        ["SHOW", "ALL", "TABLES", ..] => {
            (0..3).for_each(|_| drop(parser.next_token()));
            Ok(Statement::ShowTables {
                from: None,
                all: true,
            })
        }
        ["SHOW", "DATABASES", ..] => {
            (0..2).for_each(|_| drop(parser.next_token()));
            Ok(Statement::ShowDatabases)
        }
        ["SHOW", "SCHEMAS", ..] => {
            (0..2).for_each(|_| drop(parser.next_token()));
            Ok(Statement::ShowSchemas)
        }
        ["SHOW", "SELECT" | "FROM" | "WITH" | "VALUES" | "(", ..] => describe(parser),
        ["SHOW", ..] => {
            parser.next_token();
            // `SHOW t` describes a table, `SHOW setting` gives a setting; execution decides.
            Ok(Statement::Show(parts(&object_name(parser)?).join(".")))
        }
        ["DESCRIBE" | "DESC", ..] => describe(parser),
        ["SUMMARIZE", ..] => Ok(not_yet(
            parser,
            "SUMMARIZE is not there yet; aggregate the columns by hand",
        )),
        ["FORCE", "CHECKPOINT", ..] | ["CHECKPOINT", ..] => {
            let _ = parser.parse_keyword(Keyword::FORCE);
            parser.next_token();
            let name = matches!(parser.peek_token().token, Token::Word(_))
                .then(|| word(parser))
                .transpose()?;
            Ok(Statement::Checkpoint(name))
        }
        ["INSTALL" | "LOAD", ..] => {
            parser.next_token();
            Ok(Statement::Extension(match parser.next_token().token {
                Token::Word(w) => w.value.to_lowercase(),
                Token::SingleQuotedString(s) => s.to_lowercase(),
                other => return Err(syntax_error(&other)),
            }))
        }
        [
            "BEGIN" | "COMMIT" | "ROLLBACK" | "ABORT" | "START" | "SAVEPOINT" | "END",
            ..,
        ] => Ok(not_yet(parser, TRANSACTIONS)),
        ["EXPORT" | "IMPORT", "DATABASE", ..] => Ok(not_yet(
            parser,
            "EXPORT and IMPORT DATABASE are not there yet; use COPY for each table",
        )),
        ["VACUUM", ..] => Ok(not_yet(
            parser,
            "VACUUM is not there yet; space of dropped data is reused by itself",
        )),
        ["TRUNCATE", ..] => {
            // DuckDB takes TRUNCATE t, sqlparser wants TRUNCATE TABLE t: both are read by it.
            sql(parser)
        }
        _ => sql(parser),
    }
}

fn not_yet(parser: &mut Parser, text: &'static str) -> Statement {
    while parser.peek_token().token != Token::EOF {
        parser.next_token();
    }
    Statement::NotYet(text)
}

fn sql(parser: &mut Parser) -> Result<Statement> {
    Ok(Statement::Sql(Box::new(
        parser.parse_statement().map_err(parser_error)?,
    )))
}

fn object_name(parser: &mut Parser) -> Result<ObjectName> {
    parser.parse_object_name(false).map_err(parser_error)
}

fn parts(name: &ObjectName) -> Vec<String> {
    name.0
        .iter()
        .filter_map(|part| part.as_ident().map(normalize))
        .collect()
}

/// A word, folded to lower case unless quoted.
fn word(parser: &mut Parser) -> Result<String> {
    Ok(normalize(&parser.parse_identifier().map_err(parser_error)?))
}

fn string(parser: &mut Parser) -> Result<String> {
    match parser.next_token().token {
        Token::SingleQuotedString(text) => Ok(text),
        Token::DollarQuotedString(text) => Ok(text.value),
        other => Err(syntax_error(&other)),
    }
}

fn expect(parser: &mut Parser, token: &Token) -> Result<()> {
    if parser.consume_token(token) {
        Ok(())
    } else {
        Err(syntax_error(&parser.peek_token().token))
    }
}

fn attach(parser: &mut Parser) -> Result<Statement> {
    parser.next_token();
    if parser.parse_keywords(&[Keyword::OR, Keyword::REPLACE]) {
        return Err(Error::unsupported(
            "ATTACH OR REPLACE is not there yet; DETACH first",
        ));
    }
    let _ = parser.parse_keyword(Keyword::DATABASE);
    let if_not_exists = parser.parse_keywords(&[Keyword::IF, Keyword::NOT, Keyword::EXISTS]);
    let path = string(parser)?;
    let name = if parser.parse_keyword(Keyword::AS) {
        Some(word(parser)?)
    } else {
        None
    };
    let mut options = vec![];
    if parser.consume_token(&Token::LParen) {
        loop {
            let name = word(parser)?.to_lowercase();
            let value = match parser.peek_token().token {
                Token::Comma | Token::RParen => None,
                _ => {
                    let _ = parser.consume_token(&Token::Eq);
                    Some(scalar(parser)?)
                }
            };
            options.push(AttachOption { name, value });
            if !parser.consume_token(&Token::Comma) {
                break;
            }
        }
        expect(parser, &Token::RParen)?;
    }
    Ok(Statement::Attach {
        path,
        name,
        if_not_exists,
        options,
    })
}

/// A string, number or word as text.
fn scalar(parser: &mut Parser) -> Result<String> {
    match parser.next_token().token {
        Token::SingleQuotedString(text) => Ok(text),
        Token::DollarQuotedString(text) => Ok(text.value),
        Token::Word(word) => Ok(word.value),
        Token::Number(text, _) => Ok(text),
        Token::Minus => match parser.next_token().token {
            Token::Number(text, _) => Ok(format!("-{text}")),
            other => Err(syntax_error(&other)),
        },
        other => Err(syntax_error(&other)),
    }
}

fn detach(parser: &mut Parser) -> Result<Statement> {
    parser.next_token();
    let _ = parser.parse_keyword(Keyword::DATABASE);
    let if_exists = parser.parse_keywords(&[Keyword::IF, Keyword::EXISTS]);
    Ok(Statement::Detach {
        name: word(parser)?,
        if_exists,
    })
}

fn call(parser: &mut Parser) -> Result<Statement> {
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

fn pragma(parser: &mut Parser) -> Result<Statement> {
    parser.next_token();
    match parser.peek_nth_token_ref(1).token {
        Token::LParen => call(parser),
        Token::Eq => {
            let name = word(parser)?.to_lowercase();
            parser.next_token();
            Ok(Statement::Set {
                name,
                value: Box::new(parser.parse_expr().map_err(parser_error)?),
            })
        }
        _ => Ok(Statement::Pragma(word(parser)?.to_lowercase())),
    }
}

fn set(parser: &mut Parser) -> Result<Statement> {
    parser.next_token();
    for scope in ["SESSION", "GLOBAL", "LOCAL"] {
        if words(parser, 1)[0] == scope && !matches!(parser.peek_nth_token_ref(1).token, Token::Eq)
        {
            parser.next_token();
        }
    }
    let name = parts(&object_name(parser)?).join(".");
    if !parser.consume_token(&Token::Eq) && !parser.parse_keyword(Keyword::TO) {
        return Err(syntax_error(&parser.peek_token().token));
    }
    Ok(Statement::Set {
        name,
        value: Box::new(parser.parse_expr().map_err(parser_error)?),
    })
}

fn describe(parser: &mut Parser) -> Result<Statement> {
    parser.next_token();
    let ahead = words(parser, 1);
    if matches!(
        ahead[0].as_str(),
        "SELECT" | "FROM" | "WITH" | "VALUES" | "(" | "TABLE"
    ) {
        return Ok(Statement::Describe(
            parser.parse_query().map_err(parser_error)?,
        ));
    }
    if ahead[0] == "<EOF>" || parser.peek_token().token == Token::EOF {
        return Ok(Statement::ShowTables {
            from: None,
            all: true,
        });
    }
    let name = object_name(parser)?;
    Ok(Statement::Describe(Box::new(select_all(&name)?)))
}

/// `FROM name`.
fn select_all(name: &ObjectName) -> Result<ast::Query> {
    match parse_one(&format!("SELECT * FROM {name}"))? {
        ast::Statement::Query(query) => Ok(*query),
        _ => Err(Error::internal("a SELECT was parsed as something else")),
    }
}

fn copy(parser: &mut Parser) -> Result<Statement> {
    parser.next_token();
    if matches!(parser.peek_token().token, Token::LParen) {
        parser.next_token();
        let query = parser.parse_query().map_err(parser_error)?;
        expect(parser, &Token::RParen)?;
        if !parser.parse_keyword(Keyword::TO) {
            return Err(syntax_error(&parser.peek_token().token));
        }
        let path = string(parser)?;
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
        let path = string(parser)?;
        return Ok(Statement::CopyTo {
            what: CopyTarget::Table(table, columns),
            path,
            options: copy_options(parser)?,
        });
    }
    if !parser.parse_keyword(Keyword::FROM) {
        return Err(syntax_error(&parser.peek_token().token));
    }
    let path = string(parser)?;
    let columns = columns.iter().map(normalize).collect();
    Ok(Statement::CopyFrom {
        table,
        columns,
        path,
        options: copy_options(parser)?,
    })
}

/// `[WITH] (name [value], ...)`, or the older form without parentheses: `WITH HEADER DELIMITER ','`.
fn copy_options(parser: &mut Parser) -> Result<Vec<(String, OptionValue)>> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attach_reads_its_options() {
        let Ok(Statement::Attach {
            path,
            name,
            options,
            ..
        }) = parse("ATTACH 'a b.db' AS x (ENCRYPTION_KEY 'hex:00', READ_ONLY, TYPE hush)")
        else {
            panic!("not an ATTACH")
        };
        assert_eq!((path.as_str(), name.as_deref()), ("a b.db", Some("x")));
        assert_eq!(
            options.iter().map(|o| o.name.as_str()).collect::<Vec<_>>(),
            ["encryption_key", "read_only", "type"]
        );
        assert!(!format!("{options:?}").contains("hex:00"));
    }

    #[test]
    fn errors_do_not_repeat_strings() {
        let error = parse("ATTACH 'f' AS x (ENCRYPTION_KEY 'sesame' 'sesame')")
            .err()
            .unwrap();
        assert!(!error.to_string().contains("sesame"), "{error}");
    }

    #[test]
    fn call_takes_named_arguments() {
        let Ok(Statement::Call { name, named, .. }) = parse("CALL dbgen(sf = 0.1, catalog = 'x')")
        else {
            panic!()
        };
        assert_eq!(name, "dbgen");
        assert_eq!(named.len(), 2);
    }

    #[test]
    fn nonsense_is_a_parser_error() {
        for sql in [
            "selec 1",
            "ATTACH",
            "COPY t",
            "SELECT 1 2 3",
            "CALL f(",
            "SET x",
            "COPY t FROM 'x' (a",
        ] {
            let Err(error) = parse(sql) else {
                panic!("{sql} parsed")
            };
            assert_eq!(error.kind(), crate::ErrorKind::Parser, "{sql}: {error}");
        }
    }
}
