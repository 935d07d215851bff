//! Running statements: which part of this folder a statement goes to.
//!
//! What must hold: in a transaction that an error has aborted nothing runs but what ends it; what makes a plan gets the room on
//! the stack that a plan takes.

mod columns;
mod confined;
mod copy;
mod databases;
mod definitions;
mod describe;
mod explained;
mod explained_formats;
mod hints;
mod query;
mod rejects;
mod rows;
mod setting;
pub(crate) mod settings;
mod tables;
mod transaction;
mod transfer;
mod variables;
mod waiting;

use crate::prepared::{Prepared, recognise};
use crate::result::QueryResult;
use crate::session::Session;
use crate::statement::Statement;
use databases::{attach, slots, vacuum};
use datafusion::arrow::array::ArrayRef;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::sql::sqlparser::ast;
use definitions::{alter, comments, ddl, indexes, sequences, user_macros, user_types};
use hushdb_query::scan::ScanProgress;
use hushdb_sql::sqlstate;
use hushdb_sql::stack::with_room;
use hushdb_sql::{self as sql, Statement as Parsed, quote};
use hushdb_sql::{Error, Result};
use rows::{
    append, dml, for_update, lock_table, locked_queries, merge, point, tpch_load, upsert,
    with_changes,
};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tables::{pragma, show, summarize};
use transfer::{copy_database, export, import};

pub(crate) use columns::generated::given_columns;
pub(crate) use databases::rekey::{begin as begin_rekey, go_on as seal_anew, slots as key_slots};
pub(crate) use describe::describe;
pub(crate) use rows::literal::Argument;

/// Columns of a table that is made for one statement.
type Columns = Vec<(&'static str, ArrayRef)>;

/// Runs one statement, in the session's transaction if it has one open.
pub(crate) fn run(
    session: &Session,
    parsed: Parsed,
    progress: &Arc<ScanProgress>,
) -> Result<QueryResult> {
    rejects::store(session, progress)?;
    let result = in_transaction(session, parsed.ends_transaction(), || {
        match session.waits() {
            None => dispatch(&Statement::new(session, progress), parsed),
            Some(waits) => {
                let shape = match &parsed {
                    Parsed::Sql(ast) => recognise(ast),
                    _ => None,
                };
                let sight = waiting::sight(&parsed, shape.as_ref());
                waiting::settled(session, progress, &waits, sight, |statement| {
                    dispatch(statement, parsed.clone())
                })
            }
        }
    });
    Ok(result?.shown_in(session.time_zone()))
}

/// Binds and runs a prepared statement, likewise.
pub(crate) fn run_prepared(
    session: &Session,
    prepared: &Prepared,
    arguments: &[Argument<'_>],
    progress: &Arc<ScanProgress>,
) -> Result<QueryResult> {
    rejects::store(session, progress)?;
    let result = in_transaction(session, prepared.ends_transaction(), || {
        match session.waits() {
            None => execute(&Statement::new(session, progress), prepared, arguments),
            Some(waits) => {
                let sight = waiting::sight(&prepared.statement, prepared.shape.as_ref());
                waiting::settled(session, progress, &waits, sight, |statement| {
                    execute(statement, prepared, arguments)
                })
            }
        }
    });
    Ok(result?.shown_in(session.time_zone()))
}

/// Adds rows to a table, likewise.
pub(crate) fn append(
    session: &Session,
    table: &[String],
    columns: &[String],
    rows: RecordBatch,
    progress: &Arc<ScanProgress>,
) -> Result<QueryResult> {
    in_transaction(session, false, || {
        let add = |statement: &Statement<'_>, rows: RecordBatch| {
            with_room(|| append::append(statement, table, columns, rows))
        };
        match session.waits() {
            None => add(&Statement::new(session, progress), rows),
            Some(waits) => {
                let sight = waiting::Sight::AsItIs;
                waiting::settled(session, progress, &waits, sight, |statement| {
                    add(statement, rows.clone())
                })
            }
        }
    })
}

/// Copies a database into another one, of which what is in `main` goes to a schema of another name.
pub(crate) fn copy_database(
    session: &Session,
    from: &str,
    to: &str,
    main_as: &str,
    progress: &Arc<ScanProgress>,
) -> Result<QueryResult> {
    let copied = copy_database::Copied {
        from,
        to,
        parts: sql::DatabaseParts::All,
        main_as,
    };
    in_transaction(session, false, || {
        let statement = Statement::new(session, progress);
        with_room(|| copy_database::copy_database(&statement, copied))
    })
}

/// Takes in what a directory defines and holds, as IMPORT DATABASE; bare names are of a schema of the caller's.
pub(crate) fn import_directory(
    session: &Session,
    directory: &Path,
    main_as: &str,
    progress: &Arc<ScanProgress>,
) -> Result<QueryResult> {
    in_transaction(session, false, || {
        let statement = Statement::new(session, progress);
        with_room(|| import::import_directory(&statement, directory, main_as))
    })
}

/// Does a statement's work unless an error has aborted the open transaction, which an error of it does.
fn in_transaction(
    session: &Session,
    ends: bool,
    work: impl FnOnce() -> Result<QueryResult>,
) -> Result<QueryResult> {
    let open = session.transaction.lock();
    let number = open.as_ref().map_or(0, |open| open.number);
    session.open_number.store(number, Ordering::Relaxed);
    let aborted = open
        .as_ref()
        .map(|open| (open.is_aborted(), Arc::clone(open.aborted())));
    drop(open);
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
        Ok(result) => {
            let context = || session.engine().context();
            result.within(aborted, session.has_changes(), context)
        }
        Err(error) => {
            if error.aborts() {
                aborted.store(true, Ordering::Release);
                let waits = session.transaction.lock().as_mut().and_then(|open| {
                    open.abandon();
                    open.waits().cloned()
                });
                if let Some(waits) = waits {
                    return waits.told(Err(error));
                }
            }
            Err(error)
        }
    }
}

/// A statement about one key, or about the transaction, is run where it is; all others get the room that a plan takes.
fn dispatch(statement: &Statement<'_>, parsed: Parsed) -> Result<QueryResult> {
    let command = parsed.command();
    confined::check(statement.session, &parsed)?;
    if let Parsed::Sql(ast) = &parsed
        && let Some(shape) = recognise(ast)
        && let Some(result) = point::run(statement, ast, &shape, &[], None)?
    {
        return Ok(result.of_command(command));
    }
    if statement.by_key {
        return Err(hushdb_storage::Error::Overtaken.into());
    }
    let is_flat = matches!(parsed, Parsed::Transaction(_));
    let run = || run_planned(statement, parsed);
    Ok(if is_flat { run()? } else { with_room(run)? }.of_command(command))
}

/// Binds a prepared statement and runs it.
fn execute(
    statement: &Statement<'_>,
    prepared: &Prepared,
    arguments: &[Argument<'_>],
) -> Result<QueryResult> {
    if let (Some(shape), Parsed::Sql(ast)) = (&prepared.shape, &prepared.statement)
        && arguments.len() == prepared.parameters()
        && let Some(result) = point::run(statement, ast, shape, arguments, Some(prepared))?
    {
        return Ok(result.of_command(prepared.statement.command()));
    }
    let values = arguments.iter().map(Argument::to_expr);
    let values = values.collect::<Result<Vec<_>>>()?;
    with_room(|| {
        let mut parsed = prepared.statement.clone();
        sql::substitute_parameters(&mut parsed, &values)?;
        dispatch(statement, parsed)
    })
}

/// `EXECUTE name(parameters)`.
fn execute_named(
    statement: &Statement<'_>,
    name: &ast::ObjectName,
    parameters: &[ast::Expr],
) -> Result<QueryResult> {
    let prepared = statement
        .session
        .prepared(&sql::name_parts(name)?.join("."))?;
    let parameters = in_places(prepared.names(), parameters)?;
    let arguments: Vec<Argument<'_>> = parameters.into_iter().map(Argument::Expr).collect();
    execute(statement, &prepared, &arguments)
}

/// The values of EXECUTE in the order of the parameters, where these have names.
fn in_places<'a>(names: &[String], values: &'a [ast::Expr]) -> Result<Vec<&'a ast::Expr>> {
    let mut places: Vec<Option<&ast::Expr>> = vec![None; names.len()];
    let mut others = vec![];
    for value in values {
        let ast::Expr::BinaryOp {
            left,
            op: ast::BinaryOperator::Assignment,
            right,
        } = value
        else {
            others.push(value);
            continue;
        };
        let name = sql::folded(&left.to_string());
        match names.iter().position(|known| *known == name) {
            Some(place) if places[place].is_some() => {
                return Err(Error::invalid(format!("{name} is given twice")));
            }
            Some(place) => places[place] = Some(right),
            None => {
                return Err(Error::invalid(format!(
                    "Parameter argument/count mismatch, identifiers of the excess parameters: {name}"
                )));
            }
        }
    }
    if names.is_empty() {
        return Ok(others);
    }
    if !others.is_empty() && places.iter().any(Option::is_some) {
        return Err(Error::unsupported(
            "Mixing named parameters and positional parameters is not supported yet",
        ));
    }
    let mut missing = names.iter().zip(&places);
    match missing.find(|(_, place)| place.is_none()) {
        Some((name, _)) => Err(Error::invalid(format!(
            "Values were not provided for the following prepared statement parameters: {name}"
        ))),
        None => Ok(places.into_iter().flatten().collect()),
    }
}

fn run_planned(statement: &Statement<'_>, parsed: Parsed) -> Result<QueryResult> {
    match parsed {
        Parsed::Sql(ast) => run_sql(statement, *ast),
        Parsed::InsertByName(insert) => upsert::insert(statement, *insert, true),
        Parsed::Merge(new) => merge::merge(statement, *new),
        Parsed::Explain {
            statement: change,
            analyzes,
            format,
        } => explained::explain(statement, *change, analyzes, format),
        Parsed::Attach {
            path,
            name,
            on_conflict,
            options,
        } => attach::attach(statement.session, &path, name, on_conflict, options),
        Parsed::Detach { name, if_exists } => attach::detach(statement.session, &name, if_exists),
        Parsed::AlterDatabase {
            name,
            if_exists,
            change,
        } => slots::alter_database(statement.session, &name, if_exists, change),
        Parsed::Prepare {
            name,
            statement: parsed,
        } => prepare(statement.session, &name, *parsed),
        Parsed::Use(parts) => attach::use_database(statement.session, &parts),
        Parsed::Call { name, args, named } => call(statement, &name, args, named),
        Parsed::Pragma(name) => pragma::pragma(statement, &name),
        Parsed::Set { name, value } => settings::set(statement.session, &name, &value),
        Parsed::Reset(name) => settings::reset(statement.session, &name),
        Parsed::SetVariable { name, value } => variables::set(statement, &name, *value),
        Parsed::ResetVariable(name) => Ok(variables::reset(statement.session, &name)),
        Parsed::RenameView {
            name,
            if_exists,
            new_name,
        } => ddl::rename_view(statement, &name, if_exists, new_name),
        Parsed::CreateMacro(_) | Parsed::DropMacro(_) => user_macros::run(statement, parsed),
        Parsed::ReplaceSchema(name) => ddl::replace_schema(statement, name),
        Parsed::CreateType(_) | Parsed::DropType { .. } => user_types::run(statement, parsed),
        Parsed::Comment(new) => comments::comment(statement, &new),
        Parsed::CreateSequence(new) => sequences::create(statement, new),
        Parsed::AlterSequence(change) => sequences::alter(statement, &change),
        parsed @ (Parsed::CopyFrom { .. } | Parsed::CopyTo { .. }) => copy::run(statement, parsed),
        Parsed::CopyDatabase { from, to, parts } => {
            copy_database::copy_database(statement, copy_database::Copied::same(&from, &to, parts))
        }
        Parsed::ExportDatabase {
            database,
            directory,
            options,
        } => export::export_database(statement, database, &directory, options),
        Parsed::ImportDatabase(directory) => import::import_database(statement, &directory),
        Parsed::Summarize(query) => summarize::summarize(statement, *query),
        Parsed::Describe(query) => show::describe(statement, *query),
        Parsed::ShowTables(from) => show::tables(statement.snapshot(), from.as_deref()),
        Parsed::ShowDatabases => show::databases(statement),
        Parsed::Show(name) => show::setting_or_table(statement, &name),
        Parsed::Checkpoint(name) => checkpoint(statement, name),
        parsed @ (Parsed::Vacuum(_) | Parsed::Analyze(..)) => vacuum::run(statement, &parsed),
        Parsed::Transaction(parsed) => transaction::run(statement.session, parsed),
        Parsed::Extension(name) => pragma::extension(statement, &name),
    }
}

/// `PREPARE name AS`, of a statement that sqlparser does not know.
fn prepare(session: &Session, name: &str, parsed: Parsed) -> Result<QueryResult> {
    session.keep_prepared(name, Prepared::new(parsed)?);
    Ok(QueryResult::done())
}

fn checkpoint(statement: &Statement<'_>, name: Option<String>) -> Result<QueryResult> {
    let session = statement.session;
    if session.has_changes() {
        return Err(Error::transaction(
            "Cannot CHECKPOINT: the current transaction has transaction local changes",
        ));
    }
    let name = name.unwrap_or_else(|| session.current_database());
    statement.snapshot().database(&name)?.store.checkpoint()?;
    Ok(QueryResult::done())
}

/// What a change is called, with the table that it is about.
fn table_changed(change: &ast::Statement) -> String {
    use ast::Statement as S;
    match change {
        S::Insert(insert) => format!("Insert: {}", insert.table),
        S::Update(update) => format!("Update: {}", update.table),
        S::Delete(_) => "Delete".into(),
        S::CreateTable(create) => format!("CreateTable: {}", create.name),
        S::Drop { .. } => "Drop".into(),
        S::CreateView(_) => "CreateView".into(),
        S::AlterTable(_) => "AlterTable".into(),
        _ => "Change".into(),
    }
}

fn run_sql(statement: &Statement<'_>, mut parsed: ast::Statement) -> Result<QueryResult> {
    use ast::Statement as S;
    if let Some(changes) = sql::changes_within(&parsed)? {
        return with_changes::run(statement, changes);
    }
    user_types::expand(statement, &mut parsed)?;
    locked_queries::resolve(statement, &mut parsed)?;
    match parsed {
        S::Query(query) if !query.locks.is_empty() => for_update::run(statement, *query),
        S::Query(_) => query::run(statement, parsed),
        S::Explain { .. } => explained::of_sql(statement, parsed),
        S::ExplainTable { table_name, .. } => {
            let text = format!("SELECT * FROM {table_name}");
            match sql::parse_one(&text)? {
                S::Query(query) => show::describe(statement, *query),
                _ => Err(Error::internal("a SELECT was parsed as something else")),
            }
        }
        S::Insert(insert) => upsert::insert(statement, insert, false),
        S::Update(update) => dml::update(statement, update),
        S::Delete(delete) => dml::delete(statement, delete),
        S::Truncate(truncate) => dml::truncate(statement, &truncate),
        S::CreateTable(create) => ddl::create_table(statement, create),
        S::CreateView(view) => ddl::create_view(statement, view),
        S::CreateSchema {
            schema_name,
            if_not_exists,
            ..
        } => ddl::create_schema(statement, &schema_name, if_not_exists),
        S::AlterTable(alter) => alter::alter_table(statement, alter),
        S::Drop {
            object_type,
            if_exists,
            names,
            cascade,
            ..
        } => ddl::drop(statement, object_type, if_exists, &names, cascade),
        S::Prepare {
            name,
            statement: parsed,
            data_types,
        } => {
            refuse_types(&data_types)?;
            let prepared = Prepared::new(Parsed::Sql(parsed))?;
            statement.session.keep_prepared(&name.value, prepared);
            Ok(QueryResult::done())
        }
        S::Execute {
            name: Some(name),
            parameters,
            ..
        } => execute_named(statement, &name, &parameters),
        S::Deallocate { name, .. } => {
            statement.session.deallocate(&name.value)?;
            Ok(QueryResult::done())
        }
        S::CreateIndex(create) => indexes::create_index(statement, &create),
        S::Lock(lock) => lock_table::run(statement, &lock),
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

/// The types of PREPARE, which PostgreSQL's dialect has brought into casts before.
fn refuse_types(types: &[ast::DataType]) -> Result<()> {
    match types {
        [] => Ok(()),
        _ => Err(Error::unsupported(
            "PREPARE with types of parameters is not there yet; write CAST($1 AS ...)",
        )),
    }
}

/// `CALL f(...)`: procedures of ours, else any table function.
fn call(
    statement: &Statement<'_>,
    name: &str,
    args: Vec<ast::Expr>,
    named: Vec<(String, ast::Expr)>,
) -> Result<QueryResult> {
    if name == "dbgen" {
        return tpch_load::dbgen(statement, &args, &named);
    }
    let args: Vec<String> = args.iter().map(ToString::to_string).collect();
    let query = sql::parse_one(&format!(
        "SELECT * FROM {}({})",
        quote(name),
        args.join(", ")
    ))?;
    query::run(statement, query)
}
