//! SHOW, DESCRIBE and SUMMARIZE.

use super::parse_one;
use super::statement::Statement;
use super::tokens::{object_name, parser_error, parts, words};
use crate::error::{Error, Result};
use sqlparser::ast::{self, ObjectName};
use sqlparser::keywords::Keyword;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::Token;

/// `SHOW ALL TABLES`. A view that does not stand any more has no columns.
const ALL_TABLES: &str = "SELECT database_name AS database, schema_name AS schema, table_name AS name, \
    list(column_name ORDER BY column_index) FILTER (WHERE column_name IS NOT NULL) AS column_names, \
    list(data_type ORDER BY column_index) FILTER (WHERE column_name IS NOT NULL) AS column_types, temporary \
    FROM (SELECT database_name, schema_name, table_name, temporary FROM duckdb_tables() WHERE NOT internal \
    UNION ALL SELECT database_name, schema_name, view_name, temporary FROM duckdb_views() WHERE NOT internal) t \
    LEFT JOIN duckdb_columns() c USING (database_name, schema_name, table_name) GROUP BY ALL ORDER BY ALL";

/// `SHOW SCHEMAS`, without that of what is temporary.
const SCHEMAS: &str = "SELECT database_name, schema_name, \
    database_name = current_database() AND schema_name = current_schema() AS current \
    FROM duckdb_schemas() WHERE database_name <> 'temp' ORDER BY database_name, schema_name";

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
            Ok(Statement::ShowTables(from.as_ref().map(parts)))
        }
        ["ALL", "TABLES"] => {
            (0..2).for_each(|_| drop(parser.next_token()));
            all_tables()
        }
        ["DATABASES", ..] => {
            parser.next_token();
            Ok(Statement::ShowDatabases)
        }
        ["SCHEMAS", ..] => {
            parser.next_token();
            query(SCHEMAS)
        }
        // `SHOW t` describes a table, `SHOW setting` gives a setting; execution decides.
        _ => Ok(Statement::Show(parts(&object_name(parser)?).join("."))),
    }
}

/// All tables and views with their columns, as `SHOW ALL TABLES` and `PRAGMA show_tables_expanded` give them.
pub(super) fn all_tables() -> Result<Statement> {
    query(ALL_TABLES)
}

pub(super) fn describe(parser: &mut Parser) -> Result<Statement> {
    parser.next_token();
    if parser.peek_token().token == Token::EOF {
        return query(ALL_TABLES);
    }
    Ok(Statement::Describe(rows_meant(parser)?))
}

pub(super) fn summarize(parser: &mut Parser) -> Result<Statement> {
    parser.next_token();
    Ok(Statement::Summarize(rows_meant(parser)?))
}

fn query(text: &str) -> Result<Statement> {
    Ok(Statement::Sql(Box::new(parse_one(text)?)))
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
