//! The statements HushDB knows. Those that sqlparser's DuckDB dialect lacks or cuts short are read here, token by token,
//! a file for each kind; the rest comes as sqlparser's tree.

mod alter_database;
mod alter_fields;
mod attach;
mod before_parsing;
mod call_and_set;
mod changes_within;
mod collations;
mod comments;
mod copy;
mod databases;
mod frames;
mod from_first;
mod generated_columns;
mod grouped_elements;
mod keyed_queries;
mod locking;
mod merge;
mod merge_statement;
mod more_joins;
mod names_before;
mod null_tests;
mod phrases;
mod pivots;
mod postgres_phrases;
mod ranks;
mod recursive_views;
mod renamed_columns;
mod samples;
mod sequences;
mod shapes;
mod show;
mod statement;
mod tokens;
mod transaction;
mod user_macros;
mod user_types;
mod with_changes;
mod with_merge;

pub use alter_fields::field_path;
pub use before_parsing::ROWS_OF;
pub use changes_within::{ChangesWithin, changes_within};
pub use merge_statement::{Merge, MergeAction, MergeClause, MergedRows};
pub use renamed_columns::renamed_column;
pub use shapes::name_columns_of_values;
pub(crate) use shapes::name_tables;
pub use statement::{
    AlterSequence, AttachOption, Commented, CopyPath, CopyTarget, DatabaseChange, DatabaseParts,
    DroppedMacro, EntryHead, MacroBody, NewComment, NewMacro, NewOverload, NewParameter,
    NewSequence, NewType, OnConflict, OptionValue, RekeySlot, SequenceChange, Statement,
    TransactionStatement, TypeBody,
};

use alter_database::alter_database;
use attach::{attach, detach};
use before_parsing::{
    joined_strings, plain_numbers, plain_strings, statements_in_from, take_by_name,
};
use call_and_set::{call, pragma, reset, set, set_variable};
use copy::copy;
use databases::{copy_database, export_database, import_database};
use phrases::{PlainPhrases, named_columns, plain_phrases, postgres_operators, without_data};
pub(crate) use ranks::RANKS;
use show::{describe, show, summarize};
use tokens::{object_name, parser_error, parts, syntax_error, word, words};

use super::balance::Shaper;
use super::dialect::{HushDialect, explain_options, has_explain_options};
use super::key_literals::KeyLiterals;
use super::map_types::plain_map_types;
use super::read_or_refuse;
use super::reading::read;
use super::secrets::is_quiet;
use crate::error::{Error, ErrorKind, Result};
use sqlparser::ast;
use sqlparser::keywords::Keyword;
use sqlparser::parser::{IsOptional, Parser};
use sqlparser::tokenizer::{Location, Token, Tokenizer};

/// Parses a text that holds exactly one statement.
pub fn parse(sql: &str) -> Result<Statement> {
    parse_in(sql, false)
}

/// As [`parse`], in PostgreSQL's dialect: its operators of JSON bind as they do there.
///
/// # Errors
/// The same.
pub fn parse_postgres(sql: &str) -> Result<Statement> {
    parse_in(sql, true)
}

fn parse_in(sql: &str, postgres: bool) -> Result<Statement> {
    if let Some(known) = transaction::of_one_word(sql) {
        return Ok(known);
    }
    let (sql, keys) = KeyLiterals::take_out_of(sql);
    let quiet = is_quiet(&sql);
    let mut tokens = Tokenizer::new(&HushDialect::default(), &sql)
        .tokenize_with_location()
        .map_err(|error| match quiet {
            true => nothing_repeated(error.location),
            false => parser_error(error.into()),
        })?;
    plain_strings(&mut tokens);
    joined_strings(&mut tokens);
    plain_numbers(&mut tokens);
    if postgres {
        postgres_operators(&mut tokens);
        postgres_phrases::postgres_phrases(&mut tokens);
    }
    let by_name = take_by_name(&mut tokens);
    statements_in_from(&mut tokens);
    recursive_views::as_views(&mut tokens);
    with_merge::with_inside(&mut tokens);
    more_joins::as_joins(&mut tokens);
    pivots::as_queries(&mut tokens);
    generated_columns::with_types(&mut tokens);
    generated_columns::with_ordered_options(&mut tokens);
    named_columns(&mut tokens);
    without_data(&mut tokens);
    samples::plain_samples(&mut tokens);
    alter_fields::as_names(&mut tokens);
    null_tests::plain_null_tests(&mut tokens);
    renamed_columns::as_names(&mut tokens);
    plain_phrases(&mut tokens);
    frames::with_marked_windows(&mut tokens);
    keyed_queries::with_marked_columns(&mut tokens);
    ranks::with_arguments(&mut tokens);
    grouped_elements::in_brackets(&mut tokens);
    plain_map_types(&mut tokens, false);
    locking::plain_locks(&mut tokens);
    from_first::with_their_stars(&mut tokens);
    read(tokens, |parser| {
        let mut statement = parsed(parser, by_name, &keys).map_err(|error| match quiet {
            true if error.kind() == ErrorKind::Parser => {
                nothing_repeated(parser.get_current_token().span.start)
            }
            _ => error,
        })?;
        statement.visit(&mut Shaper::of_statement())?;
        Ok(statement)
    })
}

/// An error that says where, and nothing of what stands there.
fn nothing_repeated(at: Location) -> Error {
    Error::parser(format!(
        "syntax error near line {}, column {} of a statement that may hold a key, of which nothing is repeated; it reads \
         ATTACH 'file' AS name (ENCRYPTION_KEY 'key')",
        at.line, at.column
    ))
}

/// The one statement that the parser's tokens make.
fn parsed(parser: &mut Parser, by_name: bool, keys: &KeyLiterals) -> Result<Statement> {
    let mut statement = explained_or_not(parser, keys)?;
    if by_name {
        statement = match statement {
            Statement::Sql(inner) => match *inner {
                ast::Statement::Insert(insert) if !insert.columns.is_empty() => {
                    return Err(Error::binder(
                        "INSERT BY NAME cannot be combined with an explicit column list",
                    ));
                }
                ast::Statement::Insert(insert) => Statement::InsertByName(Box::new(insert)),
                other => Statement::Sql(Box::new(other)),
            },
            other => other,
        };
    }
    if let Statement::Sql(statement) = &mut statement {
        with_changes::without_with(statement)?;
    }
    statement.visit(&mut keyed_queries::KeyedQueries)?;
    statement.visit(&mut PlainPhrases)?;
    statement.visit(&mut shapes::PlainShapes)?;
    statement.visit(&mut collations::Collated)?;
    while parser.consume_token(&Token::SemiColon) {}
    match parser.peek_token().token {
        Token::EOF => read_or_refuse::check(&statement).map(|()| statement),
        other => Err(syntax_error(&other)),
    }
}

/// Parses one statement of sqlparser's.
pub fn parse_one(sql: &str) -> Result<ast::Statement> {
    match parse(sql)? {
        Statement::Sql(statement) => Ok(*statement),
        _ => Err(Error::parser("a query was expected")),
    }
}

/// A statement, or EXPLAIN of one that sqlparser does not know.
fn explained_or_not(parser: &mut Parser, keys: &KeyLiterals) -> Result<Statement> {
    let options = explain_options_ahead(parser);
    let ahead = words(parser, 5 + options.unwrap_or(0));
    let ahead: Vec<&str> = ahead.iter().map(String::as_str).collect();
    let (analyzes, format) = match options {
        Some(before) if is_explained_by_us(&ahead[before..]) => {
            explain_options(parser).map_err(parser_error)?
        }
        _ => match explained(&ahead) {
            Some((before, analyzes)) => {
                (0..before).for_each(|_| drop(parser.next_token()));
                (analyzes, None)
            }
            None => return statement(parser, keys),
        },
    };
    Ok(Statement::Explain {
        statement: Box::new(statement(parser, keys)?),
        analyzes,
        format,
    })
}

/// How many words EXPLAIN and its options in brackets are, if they come.
fn explain_options_ahead(parser: &Parser) -> Option<usize> {
    /// More than all options have.
    const MOST: usize = 64;
    if !has_explain_options(parser) {
        return None;
    }
    let closes = |at: &usize| parser.peek_nth_token_ref(*at).token == Token::RParen;
    let end = (2..MOST).find(closes)?;
    Some(end + 1)
}

fn statement(parser: &mut Parser, keys: &KeyLiterals) -> Result<Statement> {
    let ahead = words(parser, 5);
    let ahead: Vec<&str> = ahead.iter().map(String::as_str).collect();
    if let Some(create) = entry_of(&ahead) {
        return create(parser);
    }
    match ahead.as_slice() {
        ["CREATE", "OR", "REPLACE", "SCHEMA", ..] => {
            (0..4).for_each(|_| drop(parser.next_token()));
            Ok(Statement::ReplaceSchema(object_name(parser)?))
        }
        ["ATTACH", ..] => attach(parser, keys),
        ["DETACH", ..] => detach(parser),
        ["ALTER", "DATABASE", ..] => alter_database(parser, keys),
        ["ALTER", "VIEW", ..] => rename_view(parser),
        ["ALTER", "SEQUENCE", ..] => sequences::alter(parser),
        ["MERGE", ..] => merge::merge(parser),
        ["DROP", "MACRO" | "FUNCTION", ..] => user_macros::drop(parser),
        ["DROP", "TYPE", ..] => user_types::drop_type(parser),
        ["COMMENT", "ON", ..] => comments::comment(parser),
        // sqlparser prepares statements that it knows.
        ["PREPARE", _, "AS", "ATTACH", ..] => {
            parser.next_token();
            let name = word(parser)?;
            parser.next_token();
            Ok(Statement::Prepare {
                name,
                statement: Box::new(attach(parser, keys)?),
            })
        }
        ["USE", ..] => {
            parser.next_token();
            Ok(Statement::Use(parts(&object_name(parser)?)))
        }
        ["CALL", ..] => {
            parser.next_token();
            call(parser)
        }
        ["PRAGMA", ..] => pragma(parser),
        ["COPY", "FROM", "DATABASE", ..] => copy_database(parser),
        ["COPY", ..] => copy(parser),
        ["SET", "VARIABLE", ..] => set_variable(parser),
        ["SET", ..] => set(parser),
        ["RESET", ..] => reset(parser),
        ["SHOW", ..] => show(parser),
        ["DESCRIBE" | "DESC", ..] => describe(parser),
        ["SUMMARIZE", ..] => summarize(parser),
        ["FORCE", "CHECKPOINT", ..] | ["CHECKPOINT", ..] => {
            let _ = parser.parse_keyword(Keyword::FORCE);
            parser.next_token();
            let name = matches!(parser.peek_token().token, Token::Word(_))
                .then(|| word(parser))
                .transpose()?;
            Ok(Statement::Checkpoint(name))
        }
        ["INSTALL" | "LOAD", ..] => extension(parser),
        ["BEGIN", ..] | ["START", "TRANSACTION", ..] => transaction::begin(parser),
        ["COMMIT" | "END", ..] => Ok(transaction::commit(parser)),
        ["ROLLBACK" | "ABORT", ..] => transaction::rollback(parser),
        ["SAVEPOINT", ..] => transaction::savepoint(parser),
        ["RELEASE", ..] => transaction::release(parser),
        ["EXPORT", "DATABASE", ..] => export_database(parser),
        ["IMPORT", "DATABASE", ..] => import_database(parser),
        ["VACUUM", ..] => vacuum(parser),
        ["ANALYZE", ..] => analyze(parser),
        _ => sql(parser),
    }
}

/// How many words stand before a statement that sqlparser does not know and EXPLAIN is about, and whether ANALYZE is one of them.
fn explained(ahead: &[&str]) -> Option<(usize, bool)> {
    let rest = ahead.strip_prefix(&["EXPLAIN"])?;
    let (rest, analyzes) = match rest {
        ["ANALYZE", rest @ ..] => (rest, true),
        rest => (rest, false),
    };
    is_explained_by_us(rest).then_some((ahead.len() - rest.len(), analyzes))
}

/// Whether a statement begins so that sqlparser does not know.
fn is_explained_by_us(ahead: &[&str]) -> bool {
    match ahead {
        ["COPY", "FROM", "DATABASE", ..] => false,
        [
            "COPY" | "MERGE" | "CALL" | "SET" | "RESET" | "CHECKPOINT" | "VACUUM",
            ..,
        ]
        | ["SUMMARIZE" | "DESCRIBE" | "SHOW", ..]
        | ["DROP", "MACRO" | "FUNCTION" | "TYPE", ..]
        | ["CREATE", "OR", "REPLACE", ..] => true,
        _ => entry_of(ahead).is_some(),
    }
}

/// `VACUUM [ANALYZE] [table]`.
fn vacuum(parser: &mut Parser) -> Result<Statement> {
    parser.next_token();
    let _ = parser.parse_keyword(Keyword::ANALYZE);
    let is_named = matches!(parser.peek_token().token, Token::Word(_));
    let table = is_named.then(|| object_name(parser)).transpose()?;
    Ok(Statement::Vacuum(table))
}

/// `ANALYZE [table [(columns)]]`.
fn analyze(parser: &mut Parser) -> Result<Statement> {
    parser.next_token();
    if !matches!(parser.peek_token().token, Token::Word(_)) {
        return Ok(Statement::Analyze(None, vec![]));
    }
    let table = object_name(parser)?;
    let columns = parser
        .parse_parenthesized_column_list(IsOptional::Optional, false)
        .map_err(parser_error)?;
    let columns = columns.into_iter().map(|column| column.value).collect();
    Ok(Statement::Analyze(Some(table), columns))
}

/// What reads the CREATE of an entry, which [`tokens::entry_head`] begins.
fn entry_of(ahead: &[&str]) -> Option<fn(&mut Parser) -> Result<Statement>> {
    let rest = ahead.strip_prefix(&["CREATE"])?;
    let rest = rest.strip_prefix(&["OR", "REPLACE"]).unwrap_or(rest);
    let rest = match rest {
        ["TEMP" | "TEMPORARY", rest @ ..] => rest,
        rest => rest,
    };
    match rest.first().copied()? {
        "MACRO" | "FUNCTION" => Some(user_macros::create),
        "SEQUENCE" => Some(sequences::create),
        "TYPE" => Some(user_types::create),
        _ => None,
    }
}

/// `INSTALL x` and `LOAD x`.
fn extension(parser: &mut Parser) -> Result<Statement> {
    parser.next_token();
    Ok(Statement::Extension(match parser.next_token().token {
        Token::Word(w) => w.value.to_lowercase(),
        Token::SingleQuotedString(s) => s.to_lowercase(),
        other => return Err(syntax_error(&other)),
    }))
}

/// `ALTER VIEW [IF EXISTS] a RENAME TO b`.
fn rename_view(parser: &mut Parser) -> Result<Statement> {
    (0..2).for_each(|_| drop(parser.next_token()));
    let if_exists = parser.parse_keywords(&[Keyword::IF, Keyword::EXISTS]);
    let name = object_name(parser)?;
    if !parser.parse_keywords(&[Keyword::RENAME, Keyword::TO]) {
        return Err(syntax_error(&parser.peek_token().token));
    }
    let new_name = word(parser)?;
    Ok(Statement::RenameView {
        name,
        if_exists,
        new_name,
    })
}

fn sql(parser: &mut Parser) -> Result<Statement> {
    Ok(Statement::Sql(Box::new(
        parser.parse_statement().map_err(parser_error)?,
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

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
