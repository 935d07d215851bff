//! COMMENT ON, and comments as the SQL that makes them again.

use super::as_sql::path;
use crate::result::QueryResult;
use crate::statement::Statement;
use hushdb_query::plan::{Relation, TableName, known_as};
use hushdb_sql::{Commented, Error, NewComment, Result, find_named, name_parts, quote, sqlstate};
use hushdb_storage::{CommentKind, CommentOn, SchemaVersion};

pub(in crate::exec) fn comment(statement: &Statement<'_>, new: &NewComment) -> Result<QueryResult> {
    let parts = name_parts(&new.name)?;
    let (place, on) = match new.on {
        Commented::Relation => {
            let (place, _) = statement.snapshot().relation(&parts)?;
            let on = of(CommentKind::Relation, &place.name, None);
            (place, on)
        }
        Commented::Column => of_column(statement, &parts)?,
        Commented::Sequence => {
            let (place, _) = statement.snapshot().sequence(&parts)?;
            let on = of(CommentKind::Sequence, &place.name, None);
            (place, on)
        }
        Commented::Macro => of_macro(statement, &parts, false)?,
        Commented::TableMacro => of_macro(statement, &parts, true)?,
        Commented::Index => of_index(statement, &parts)?,
        Commented::Type => of_type(statement, &parts)?,
    };
    let mut write = statement.write(&place.database)?;
    write.set_comment(&place.schema, on, new.text.as_deref())?;
    write.commit()?;
    Ok(QueryResult::done())
}

fn of(kind: CommentKind, name: &str, part: Option<&str>) -> CommentOn {
    CommentOn {
        kind,
        name: name.to_owned(),
        part: part.map(str::to_owned),
    }
}

/// A column of a table or view.
fn of_column(statement: &Statement<'_>, parts: &[String]) -> Result<(TableName, CommentOn)> {
    let Some((column, table)) = parts.split_last().filter(|(_, table)| !table.is_empty()) else {
        return Err(Error::parser(format!(
            "Invalid column reference: '{}', please specify a table",
            parts.join(".")
        )));
    };
    let (place, relation) = statement.snapshot().relation(table)?;
    let names: Vec<String> = match relation {
        Relation::Table(table) => table.columns.iter().map(|c| c.name.clone()).collect(),
        Relation::View(_) => {
            let name = [&place.database, &place.schema, &place.name].map(String::as_str);
            let bound = crate::exec::query::bound_view(&statement.planner(), name)?;
            bound.fields().iter().map(|f| f.name().clone()).collect()
        }
    };
    let known = find_named(&names, column, |name: &String| name.as_str());
    let known = known.ok_or_else(|| {
        Error::binder(format!(
            "Table \"{}\" does not have a column with name \"{column}\"",
            place.name
        ))
        .with_sqlstate(sqlstate::UNDEFINED_COLUMN)
    })?;
    let on = of(CommentKind::Relation, &place.name, Some(known));
    Ok((place, on))
}

fn of_macro(
    statement: &Statement<'_>,
    parts: &[String],
    of_tables: bool,
) -> Result<(TableName, CommentOn)> {
    let kind = match of_tables {
        true => CommentKind::TableMacro,
        false => CommentKind::Macro,
    };
    let has =
        |schema: &SchemaVersion, name: &str| known_as(schema.macros_of(of_tables), name).is_some();
    let place = statement.snapshot().entry(parts, &has)?;
    match statement.snapshot().macro_named(parts, of_tables) {
        Some(found) => Ok((place, of(kind, &found.name, None))),
        None => Err(Error::catalog(format!(
            "Macro Function with name {} does not exist!",
            place.name
        ))
        .with_sqlstate(sqlstate::UNDEFINED_FUNCTION)),
    }
}

fn of_type(statement: &Statement<'_>, parts: &[String]) -> Result<(TableName, CommentOn)> {
    let has = |schema: &SchemaVersion, name: &str| known_as(&schema.types, name).is_some();
    let place = statement.snapshot().entry(parts, &has)?;
    let database = statement.snapshot().database(&place.database)?;
    let schema = database.version.schema(&place.schema);
    match schema.and_then(|schema| known_as(&schema.types, &place.name)) {
        Some((name, _)) => Ok((place, of(CommentKind::Type, name, None))),
        None => Err(
            Error::catalog(format!("Type with name {} does not exist!", place.name))
                .with_sqlstate(sqlstate::UNDEFINED_OBJECT),
        ),
    }
}

fn of_index(statement: &Statement<'_>, parts: &[String]) -> Result<(TableName, CommentOn)> {
    let index = |schema: &SchemaVersion, name: &str| {
        let mut tables = schema.tables.values();
        tables.find_map(|table| {
            let index = find_named(table.indexes(), name, |index| index.name())?;
            Some((table.name.clone(), index.name().to_owned()))
        })
    };
    let has = |schema: &SchemaVersion, name: &str| index(schema, name).is_some();
    let place = statement.snapshot().entry(parts, &has)?;
    let database = statement.snapshot().database(&place.database)?;
    let schema = database.version.schema(&place.schema);
    match schema.and_then(|schema| index(schema, &place.name)) {
        Some((table, name)) => Ok((place, of(CommentKind::Index, &table, Some(&name)))),
        None => Err(
            Error::catalog(format!("Index with name {} does not exist!", place.name))
                .with_sqlstate(sqlstate::UNDEFINED_TABLE),
        ),
    }
}

/// What is said of a table, view or column.
pub(in crate::exec) fn of_relation(
    schema: &SchemaVersion,
    name: &str,
    column: Option<&str>,
) -> Option<String> {
    said(schema, CommentKind::Relation, name, column)
}

/// What is said of something.
pub(in crate::exec) fn said(
    schema: &SchemaVersion,
    kind: CommentKind,
    name: &str,
    part: Option<&str>,
) -> Option<String> {
    if schema.comments.is_empty() {
        return None;
    }
    let text = schema.comments.get(&of(kind, name, part))?;
    Some(text.to_string())
}

/// `COMMENT ON`, for all that is said in a schema.
pub(in crate::exec) fn definitions(name: &str, schema: &SchemaVersion) -> Vec<String> {
    let comments = schema.comments.iter().map(|(on, text)| {
        let whole = path(name, &on.name);
        let what = match (on.kind, &on.part) {
            (CommentKind::Relation, None) if schema.views.contains_key(&on.name) => {
                format!("VIEW {whole}")
            }
            (CommentKind::Relation, None) => format!("TABLE {whole}"),
            (CommentKind::Relation, Some(column)) => format!("COLUMN {whole}.{}", quote(column)),
            (CommentKind::Sequence, _) => format!("SEQUENCE {whole}"),
            (CommentKind::Macro, _) => format!("MACRO {whole}"),
            (CommentKind::TableMacro, _) => format!("MACRO TABLE {whole}"),
            (CommentKind::Type, _) => format!("TYPE {whole}"),
            (CommentKind::Index, part) => {
                format!("INDEX {}", path(name, part.as_deref().unwrap_or_default()))
            }
        };
        format!("COMMENT ON {what} IS '{}';", text.replace('\'', "''"))
    });
    comments.collect()
}
