//! Running statements: which part of this folder a statement goes to.

mod alter;
mod attach;
mod catalog_tables;
mod change_type;
mod copy;
mod copy_database;
mod csv;
mod ddl;
mod definitions;
mod dml;
mod export;
mod import;
mod json;
mod key_tables;
mod keys;
mod literal;
mod literal_rows;
mod load;
mod point;
mod pragma;
mod prepared;
mod process_tables;
mod query;
mod returning;
mod row_ids;
mod series;
pub(crate) mod settings;
mod show;
mod summarize;
pub(crate) mod table_functions;
mod tpch_load;
mod transaction;
mod upsert;
mod vacuum;

use crate::connection::Connection;
use crate::result::QueryResult;
use datafusion::sql::sqlparser::ast;
use hushdb_query::scan::ScanProgress;
use hushdb_sql::sqlstate;
use hushdb_sql::stack::with_room;
use hushdb_sql::{self as sql, Statement, quote};
use hushdb_sql::{Error, Result};
use std::sync::Arc;
use std::sync::atomic::Ordering;

pub(crate) use literal::Argument;
pub(crate) use prepared::Prepared;
pub(crate) use settings::ExplainOutput;

/// Runs one statement, in the connection's transaction if it has one open.
pub(crate) fn run(
    connection: &Connection,
    statement: Statement,
    progress: &Arc<ScanProgress>,
) -> Result<QueryResult> {
    in_transaction(connection, statement.ends_transaction(), || {
        dispatch(connection, statement, progress)
    })
}

/// Binds and runs a prepared statement, likewise.
pub(crate) fn run_prepared(
    connection: &Connection,
    prepared: &Prepared,
    arguments: &[Argument<'_>],
    progress: &Arc<ScanProgress>,
) -> Result<QueryResult> {
    in_transaction(connection, prepared.ends_transaction(), || {
        prepared.execute(connection, arguments, progress)
    })
}

/// Does a statement's work unless an error has aborted the open transaction, which an error of it does.
fn in_transaction(
    connection: &Connection,
    ends: bool,
    work: impl FnOnce() -> Result<QueryResult>,
) -> Result<QueryResult> {
    let aborted = connection
        .transaction
        .lock()
        .as_ref()
        .map(|open| (open.is_aborted(), Arc::clone(open.aborted())));
    if matches!(aborted, Some((true, _))) && !ends {
        return Err(
            Error::transaction("Current transaction is aborted (please ROLLBACK)")
                .with_sqlstate(sqlstate::FAILED_TRANSACTION),
        );
    }
    let result = work();
    let Some((_, aborted)) = aborted else {
        return result;
    };
    match result {
        Ok(result) => result.within(aborted, connection),
        Err(error) => {
            if error.aborts() {
                aborted.store(true, Ordering::Release);
            }
            Err(error)
        }
    }
}

/// A statement about one key is run where it is; all others get the room that a plan takes.
fn dispatch(
    connection: &Connection,
    statement: Statement,
    progress: &Arc<ScanProgress>,
) -> Result<QueryResult> {
    if let Statement::Sql(statement) = &statement
        && let Some(shape) = point::recognise(statement)
        && let Some(result) = point::run(connection, statement, &shape, &[], None)?
    {
        return Ok(result);
    }
    with_room(|| run_planned(connection, statement, progress))
}

fn run_planned(
    connection: &Connection,
    statement: Statement,
    progress: &Arc<ScanProgress>,
) -> Result<QueryResult> {
    match statement {
        Statement::Sql(statement) => run_sql(connection, *statement, progress),
        Statement::InsertByName(insert) => dml::insert(connection, *insert, true, progress),
        Statement::Attach {
            path,
            name,
            on_conflict,
            options,
        } => attach::attach(connection, &path, name, on_conflict, options),
        Statement::Detach { name, if_exists } => attach::detach(connection, &name, if_exists),
        Statement::Prepare { name, statement } => {
            connection.keep_prepared(&name, Prepared::new(*statement)?);
            Ok(QueryResult::done())
        }
        Statement::Use(parts) => attach::use_database(connection, &parts),
        Statement::Call { name, args, named } => call(connection, &name, args, named, progress),
        Statement::Pragma(name) => pragma::pragma(connection, &name, progress),
        Statement::Set { name, value } => settings::set(connection, &name, &value),
        Statement::Reset(name) => settings::reset(connection, &name),
        Statement::CopyFrom {
            table,
            columns,
            path,
            options,
        } => copy::copy_from(connection, &table, &columns, &path, &options, progress),
        Statement::CopyTo {
            what,
            path,
            options,
        } => copy::copy_to(connection, what, &path, &options, progress),
        Statement::CopyDatabase { from, to, parts } => {
            copy_database::copy_database(connection, &from, &to, parts, progress)
        }
        Statement::ExportDatabase {
            database,
            directory,
            options,
        } => export::export_database(connection, database, &directory, options, progress),
        Statement::ImportDatabase(directory) => {
            import::import_database(connection, &directory, progress)
        }
        Statement::Summarize(query) => summarize::summarize(connection, *query, progress),
        Statement::Describe(query) => show::describe(connection, *query, progress),
        Statement::ShowTables(from) => show::tables(&connection.snapshot(), from.as_deref()),
        Statement::ShowDatabases => show::databases(connection),
        Statement::Show(name) => show::setting_or_table(connection, &name, progress),
        Statement::Checkpoint(name) => {
            if connection.has_changes() {
                return Err(Error::transaction(
                    "Cannot CHECKPOINT: the current transaction has transaction local changes",
                ));
            }
            let name = name.unwrap_or_else(|| connection.current_database());
            connection.shared.database(&name)?.store.checkpoint()?;
            Ok(QueryResult::done())
        }
        Statement::Vacuum(table) => vacuum::vacuum(connection, table.as_ref()),
        Statement::Transaction(statement) => transaction::run(connection, statement),
        Statement::Extension(name) => pragma::extension(connection, &name),
        Statement::NotYet(text) => Err(Error::unsupported(text)),
    }
}

fn run_sql(
    connection: &Connection,
    statement: ast::Statement,
    progress: &Arc<ScanProgress>,
) -> Result<QueryResult> {
    use ast::Statement as S;
    match statement {
        S::Query(_) => query::run(connection, statement, progress),
        S::Explain { ref statement, .. } if !matches!(**statement, S::Query(_)) => {
            Err(Error::unsupported(
                "EXPLAIN works on queries; write the SELECT that the statement reads",
            ))
        }
        S::Explain { .. } => query::explain(connection, statement, progress),
        S::ExplainTable { table_name, .. } => {
            let text = format!("SELECT * FROM {table_name}");
            match sql::parse_one(&text)? {
                S::Query(query) => show::describe(connection, *query, progress),
                _ => Err(Error::internal("a SELECT was parsed as something else")),
            }
        }
        S::Insert(insert) => dml::insert(connection, insert, false, progress),
        S::Update(update) => dml::update(connection, update, progress),
        S::Delete(delete) => dml::delete(connection, delete, progress),
        S::Truncate(truncate) => dml::truncate(connection, &truncate),
        S::CreateTable(create) => ddl::create_table(connection, create, progress),
        S::CreateView(view) => ddl::create_view(connection, view, progress),
        S::CreateSchema {
            schema_name,
            if_not_exists,
            ..
        } => ddl::create_schema(connection, &schema_name, if_not_exists),
        S::AlterTable(alter) => alter::alter_table(connection, alter, progress),
        S::Drop {
            object_type,
            if_exists,
            names,
            cascade,
            ..
        } => ddl::drop(connection, object_type, if_exists, &names, cascade),
        S::Prepare {
            name, statement, ..
        } => {
            let prepared = Prepared::new(Statement::Sql(statement))?;
            connection.keep_prepared(&name.value, prepared);
            Ok(QueryResult::done())
        }
        S::Execute {
            name: Some(name),
            parameters,
            ..
        } => {
            let called = sql::name_parts(&name)?.join(".");
            let prepared = connection.prepared(&called)?;
            let arguments: Vec<Argument<'_>> = parameters.iter().map(Argument::Expr).collect();
            prepared.execute(connection, &arguments, progress)
        }
        S::Deallocate { name, .. } => {
            connection.deallocate(&name.value)?;
            Ok(QueryResult::done())
        }
        S::CreateIndex(create) => keys::create_index(connection, &create),
        other => {
            let text = other.to_string();
            let words: Vec<&str> = text.split_whitespace().take(2).collect();
            Err(Error::unsupported(format!(
                "the statement {} is not supported",
                words.join(" ")
            )))
        }
    }
}

/// `CALL f(...)`: procedures of ours, else any table function.
fn call(
    connection: &Connection,
    name: &str,
    args: Vec<ast::Expr>,
    named: Vec<(String, ast::Expr)>,
    progress: &Arc<ScanProgress>,
) -> Result<QueryResult> {
    if name == "dbgen" {
        return tpch_load::dbgen(connection, &args, &named, progress);
    }
    let args: Vec<String> = args.iter().map(ToString::to_string).collect();
    let statement = sql::parse_one(&format!(
        "SELECT * FROM {}({})",
        quote(name),
        args.join(", ")
    ))?;
    query::run(connection, statement, progress)
}
