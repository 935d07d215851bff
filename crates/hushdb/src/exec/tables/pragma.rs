//! PRAGMA, INSTALL and LOAD.

use super::show;
use crate::exec::{hints, query, settings};
use crate::result::QueryResult;
use crate::statement::Statement;
use datafusion::sql::sqlparser::ast::{Expr, Value};
use hushdb_sql as sql;
use hushdb_sql::sqlstate;
use hushdb_sql::{Error, Result};

pub(in crate::exec) fn pragma(statement: &Statement<'_>, name: &str) -> Result<QueryResult> {
    let set = |name: &str, on: bool| {
        settings::set(statement.session, name, &Expr::value(Value::Boolean(on)))
    };
    match name {
        "show_tables" => show::tables(statement.snapshot(), None),
        "show_databases" => show::databases(statement),
        "collations" | "database_list" | "database_size" | "platform" | "user_agent" => {
            let rows = sql::parse_one(&format!("SELECT * FROM pragma_{name}()"))?;
            query::run(statement, rows)
        }
        "version" => show::text_table(
            &["library_version"],
            &[vec![Some(env!("CARGO_PKG_VERSION").into())]],
        ),
        "enable_checkpoint_on_shutdown" | "disable_checkpoint_on_shutdown" => {
            let on = name.starts_with("enable");
            statement
                .session
                .instance
                .set_durability(|d| d.checkpoint_on_shutdown = on);
            Ok(QueryResult::done())
        }
        "enable_progress_bar" | "enable_print_progress_bar" => set("enable_progress_bar", true),
        "disable_progress_bar" | "disable_print_progress_bar" => set("enable_progress_bar", false),
        _ if hints::PRAGMAS.contains(&name) => Ok(QueryResult::done()),
        // A setting's name alone shows it.
        _ => match settings::value(statement.session, name) {
            Some(value) => show::text_table(&[name], &[vec![Some(value)]]),
            None => Err(Error::catalog(format!(
                "Pragma Function with name {name} does not exist!"
            ))
            .with_sqlstate(sqlstate::UNDEFINED_FUNCTION)),
        },
    }
}

/// What DuckDB loads as an extension, and what there is here instead.
pub(in crate::exec) fn extension(statement: &Statement<'_>, name: &str) -> Result<QueryResult> {
    let text = match name {
        "tpch" => "tpch is built in: CALL dbgen(sf = 1), FROM tpch_queries()",
        "parquet" => "parquet is built in: COPY, FROM 'file.parquet'",
        "core_functions" => "core_functions is built in",
        "httpfs" => {
            "httpfs is not needed for encryption, which is built in; there is no reading over HTTP or from S3"
        }
        "icu" => "icu is not there: time zones need none, and text is sorted by its bytes",
        "json" => "json is built in",
        _ => {
            return Err(Error::unsupported(format!(
                "there is no extension \"{name}\"; HushDB has tpch and parquet built in"
            )));
        }
    };
    statement.session.notice(text);
    Ok(QueryResult::done())
}
