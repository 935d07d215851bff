//! Keys and indexes in definitions: PRIMARY KEY and UNIQUE of CREATE and ALTER TABLE, CREATE INDEX and DROP INDEX.
//!
//! What it refuses: indexes of anything but columns.

use super::foreign_keys;
use crate::result::QueryResult;
use crate::statement::Statement;
use crate::transaction::Write;
use datafusion::sql::sqlparser::ast::{
    self, ColumnOption, Expr, IndexColumn, NullsDistinctOption, ObjectName, OrderByOptions,
    TableConstraint,
};
use hushdb_query::plan::{Relation, TableName};
use hushdb_sql::{self as sql, Error, Result, sqlstate};
use hushdb_storage::{ColumnDef, ColumnId, Index, IndexDef, IndexKind, TableVersion, same_name};

/// A key that a definition asks for.
pub(in crate::exec) struct Key {
    name: Option<String>,
    pub(in crate::exec) kind: IndexKind,
    pub(in crate::exec) columns: Vec<String>,
}

/// The key that a column's option asks for, if it is of those.
pub(in crate::exec) fn of_column(
    column: &str,
    option: &ast::ColumnOptionDef,
) -> Result<Option<Key>> {
    let kind = match &option.option {
        ColumnOption::PrimaryKey(_) => IndexKind::Primary,
        ColumnOption::Unique(unique) => {
            refuse_nulls_alike(unique.nulls_distinct)?;
            IndexKind::Unique
        }
        _ => return Ok(None),
    };
    Ok(Some(Key {
        name: option.name.as_ref().map(|name| name.value.clone()),
        kind,
        columns: vec![column.to_string()],
    }))
}

/// The key that a table's constraint asks for, if it is of those.
pub(in crate::exec) fn of_table(constraint: &TableConstraint) -> Result<Option<Key>> {
    let (name, kind, columns) = match constraint {
        TableConstraint::PrimaryKey(key) => (&key.name, IndexKind::Primary, &key.columns),
        TableConstraint::Unique(key) => {
            refuse_nulls_alike(key.nulls_distinct)?;
            (&key.name, IndexKind::Unique, &key.columns)
        }
        _ => return Ok(None),
    };
    Ok(Some(Key {
        name: name.as_ref().map(|name| name.value.clone()),
        kind,
        columns: columns.iter().map(plain_column).collect::<Result<_>>()?,
    }))
}

fn refuse_nulls_alike(nulls: NullsDistinctOption) -> Result<()> {
    match nulls {
        NullsDistinctOption::NotDistinct => Err(Error::unsupported(
            "UNIQUE NULLS NOT DISTINCT is not there yet; rows with NULL in the key never collide",
        )),
        _ => Ok(()),
    }
}

/// A column of a key or index.
fn plain_column(column: &IndexColumn) -> Result<String> {
    let plain = column.operator_class.is_none() && column.column.with_fill.is_none();
    match &column.column.expr {
        Expr::Identifier(ident)
            if plain
                && matches!(
                    column.column.options,
                    OrderByOptions {
                        asc: None | Some(true),
                        nulls_first: None
                    }
                ) =>
        {
            Ok(ident.value.clone())
        }
        _ => Err(Error::unsupported(
            "a key or index takes columns; expressions, and DESC in a key, are not there yet",
        )),
    }
}

/// Holds keys against a table's columns, and makes those of a primary key NOT NULL.
pub(in crate::exec) fn apply(table: &str, keys: &[Key], columns: &mut [ColumnDef]) -> Result<()> {
    let primary = |key: &&Key| key.kind == IndexKind::Primary;
    if keys.iter().filter(primary).count() > 1 {
        return Err(Error::parser(format!(
            "table \"{table}\" has more than one primary key"
        )));
    }
    for key in keys {
        for (at, name) in key.columns.iter().enumerate() {
            if key.columns[..at].iter().any(|other| same_name(other, name)) {
                return Err(twice(key.kind, name));
            }
            let known = columns.iter().map(|column| column.name.as_str());
            let at = sql::position_of(known, name);
            let column = at.and_then(|at| columns.get_mut(at));
            let column = column.ok_or_else(|| no_column(table, name))?;
            if key.kind == IndexKind::Primary {
                column.nullable = false;
            }
        }
    }
    Ok(())
}

fn twice(kind: IndexKind, column: &str) -> Error {
    let what = match kind {
        IndexKind::Primary => "primary key constraint",
        IndexKind::Unique => "unique constraint",
        IndexKind::Plain => "index",
    };
    Error::parser(format!("column \"{column}\" appears twice in {what}"))
}

fn no_column(table: &str, column: &str) -> Error {
    Error::catalog(format!(
        "table \"{table}\" does not have a column named \"{column}\""
    ))
    .with_sqlstate(sqlstate::UNDEFINED_COLUMN)
}

/// Makes a key's index. Its columns are there, and NOT NULL for a primary key.
pub(in crate::exec) fn create(write: &mut Write<'_>, table: &TableName, key: Key) -> Result<()> {
    let taken = |name: &str| find(write, &table.schema, name).is_some();
    let name = match key.name {
        Some(name) if taken(&name) => return Err(already_exists(&name)),
        Some(name) => name,
        None => {
            let stem = match key.kind {
                IndexKind::Primary => format!("{}_pkey", table.name),
                _ => format!("{}_{}_key", table.name, key.columns.join("_")),
            };
            let numbered = (1..).map(|n| format!("{stem}{n}"));
            let mut names = std::iter::once(stem.clone()).chain(numbered);
            names.find(|name| !taken(name)).unwrap_or(stem)
        }
    };
    let index = IndexDef {
        name,
        kind: key.kind,
        columns: key.columns,
    };
    match write.create_index(&table.schema, &table.name, index) {
        Err(hushdb_storage::Error::Duplicate { .. }) => Err(Error::duplicate(
            "Data contains duplicates on indexed column(s)",
        )),
        other => Ok(other?),
    }
}

/// A table that is there may have a primary key already.
pub(in crate::exec) fn refuse_second_primary(
    write: &Write<'_>,
    table: &TableName,
    key: &Key,
) -> Result<()> {
    let Some(version) = write.catalog().table(&table.schema, &table.name) else {
        return Ok(());
    };
    let mut indexes = version.indexes().iter();
    match indexes.find(|index| index.kind() == IndexKind::Primary) {
        Some(primary) if key.kind == IndexKind::Primary => Err(Error::catalog(format!(
            "table \"{}\" can have only one primary key: PRIMARY KEY({})",
            table.name,
            column_names(version, primary).join(", ")
        ))),
        _ => Ok(()),
    }
}

/// Names of an index's columns, in its order.
pub(in crate::exec) fn column_names(table: &TableVersion, index: &Index) -> Vec<String> {
    let name = |id: &ColumnId| table.columns.iter().find(|column| column.id == *id);
    let columns = index.column_ids().iter().filter_map(name);
    columns.map(|column| column.name.clone()).collect()
}

/// Names of an index's columns as SQL.
pub(in crate::exec) fn quoted(table: &TableVersion, index: &Index) -> String {
    let names = column_names(table, index);
    let names: Vec<String> = names.iter().map(|name| sql::quote(name)).collect();
    names.join(", ")
}

/// The index of that name in a schema.
struct Found {
    table: String,
    name: String,
    kind: IndexKind,
}

fn find(write: &Write<'_>, schema: &str, name: &str) -> Option<Found> {
    let tables = &write.catalog().schemas.get(schema)?.tables;
    let indexes = tables.iter().flat_map(|(table, version)| {
        let indexes = version.indexes().iter();
        indexes.map(move |index| (table, index))
    });
    let indexes: Vec<_> = indexes.collect();
    let (table, index) = sql::find_named(&indexes, name, |(_, index)| index.name())?;
    Some(Found {
        table: (*table).clone(),
        name: index.name().to_owned(),
        kind: index.kind(),
    })
}

fn already_exists(name: &str) -> Error {
    Error::catalog(format!("Index with name \"{name}\" already exists!"))
        .with_sqlstate(sqlstate::DUPLICATE_OBJECT)
}

fn does_not_exist(name: &str) -> Error {
    Error::catalog(format!("Index with name {name} does not exist!"))
}

pub(in crate::exec) fn create_index(
    statement: &Statement<'_>,
    create: &ast::CreateIndex,
) -> Result<QueryResult> {
    let Some(name) = &create.name else {
        return Err(Error::unsupported(
            "Please provide an index name, e.g., CREATE INDEX my_name ...",
        ));
    };
    let name = hushdb_sql::name_parts(name)?;
    let [name] = name.as_slice() else {
        return Err(Error::parser(
            "an index's name has one part; the index is in its table's schema",
        ));
    };
    refuse_other_forms(create)?;
    // Rows are looked up by all columns of an index; no query takes its order.
    let columns = create.columns.iter().map(|column| {
        let mut column = column.clone();
        column.column.options = OrderByOptions::default();
        plain_column(&column)
    });
    let columns: Vec<String> = columns.collect::<Result<_>>()?;
    let (table, mut write) = statement.resolve_for_write(&create.table_name)?;
    let version = match statement.snapshot().find(&table) {
        Some(Relation::Table(version)) => version,
        Some(Relation::View(_)) => {
            return Err(Error::binder("can only create an index on a base table"));
        }
        None => return Err(statement.snapshot().unknown(&table)),
    };
    if find(&write, &table.schema, name).is_some() {
        return match create.if_not_exists {
            true => Ok(QueryResult::done()),
            false => Err(already_exists(name)),
        };
    }
    let kind = match create.unique {
        true => IndexKind::Unique,
        false => IndexKind::Plain,
    };
    check_columns(&table, &version, &columns)?;
    let key = Key {
        name: Some(name.clone()),
        kind,
        columns,
    };
    self::create(&mut write, &table, key)?;
    write.commit()?;
    Ok(QueryResult::done())
}

fn refuse_other_forms(create: &ast::CreateIndex) -> Result<()> {
    if create.predicate.is_some() {
        return Err(Error::unsupported(
            "Creating partial indexes is not supported currently",
        ));
    }
    let using = create.using.as_ref().map(|using| using.to_string());
    if using.is_some_and(|using| !using.eq_ignore_ascii_case("ART"))
        || create.concurrently
        || !create.include.is_empty()
        || create.nulls_distinct == Some(false)
        || !create.with.is_empty()
        || !create.index_options.is_empty()
        || !create.alter_options.is_empty()
    {
        return Err(Error::unsupported(
            "this form of CREATE INDEX is not supported; write CREATE [UNIQUE] INDEX name ON table (columns)",
        ));
    }
    Ok(())
}

/// Each column is the table's, and is named once.
fn check_columns(table: &TableName, version: &TableVersion, columns: &[String]) -> Result<()> {
    for (at, column) in columns.iter().enumerate() {
        if version.column(column).is_none() {
            return Err(Error::binder(format!(
                "Table \"{}\" does not have a column named \"{column}\"",
                table.name
            ))
            .with_sqlstate(sqlstate::UNDEFINED_COLUMN));
        }
        if columns[..at].iter().any(|other| same_name(other, column)) {
            return Err(twice(IndexKind::Plain, column));
        }
    }
    Ok(())
}

pub(in crate::exec) fn drop_index(
    statement: &Statement<'_>,
    if_exists: bool,
    name: &ObjectName,
) -> Result<()> {
    let (resolved, mut write) = match statement.resolve_for_write(name) {
        Err(error) if if_exists && error.kind() == crate::ErrorKind::Catalog => return Ok(()),
        other => other?,
    };
    match find(&write, &resolved.schema, &resolved.name) {
        None if if_exists => return Ok(()),
        None => return Err(does_not_exist(&resolved.name)),
        Some(Found {
            table,
            kind: IndexKind::Primary,
            ..
        }) => {
            return Err(Error::catalog(format!(
                "Cannot drop index \"{}\": it is the primary key of table \"{table}\"; use ALTER TABLE ... DROP CONSTRAINT",
                resolved.name
            )));
        }
        Some(found) => {
            foreign_keys::refuse_without_index(
                &write,
                &resolved.schema,
                &found.table,
                &found.name,
            )?;
            write.drop_index(&resolved.schema, &found.table, &found.name)?;
        }
    }
    write.commit()
}

/// `ALTER TABLE ... DROP CONSTRAINT`, of a key.
pub(in crate::exec) fn drop_constraint(
    write: &mut Write<'_>,
    table: &TableName,
    name: &str,
    if_exists: bool,
) -> Result<()> {
    match find(write, &table.schema, name) {
        Some(found) if found.table == table.name && found.kind.is_unique() => {
            foreign_keys::refuse_without_index(write, &table.schema, &table.name, &found.name)?;
            Ok(write.drop_index(&table.schema, &table.name, &found.name)?)
        }
        _ if if_exists => Ok(()),
        _ => Err(Error::catalog(format!(
            "table \"{}\" has no key named \"{name}\"; other constraints cannot be dropped yet",
            table.name
        ))),
    }
}

/// # Errors
/// `Binder` or `Catalog` when a key or an index has the column.
pub(in crate::exec) fn refuse_change_of_type(
    write: &Write<'_>,
    table: &TableName,
    column: &str,
) -> Result<()> {
    let Some(version) = write.catalog().table(&table.schema, &table.name) else {
        return Ok(());
    };
    let mut indexes = version.indexes().iter();
    let has = |index: &&Index| {
        column_names(version, index)
            .iter()
            .any(|name| name == column)
    };
    match indexes.find(has).map(|index| index.kind()) {
        None => Ok(()),
        Some(IndexKind::Plain) => Err(Error::catalog(
            "Cannot change the type of this column: an index depends on it!",
        )),
        Some(_) => Err(Error::binder(
            "Cannot change the type of a column that has a UNIQUE or PRIMARY KEY constraint specified",
        )),
    }
}

/// A key or index under a column keeps it from being dropped.
pub(in crate::exec) fn refuse_drop_of_column(
    write: &Write<'_>,
    table: &TableName,
    column: &str,
) -> Result<()> {
    let Some(version) = write.catalog().table(&table.schema, &table.name) else {
        return Ok(());
    };
    for index in version.indexes() {
        let names = column_names(version, index);
        if !names.iter().any(|name| name == column) {
            continue;
        }
        return Err(Error::catalog(match index.kind() {
            IndexKind::Plain => format!(
                "Cannot drop column \"{column}\": index \"{}\" depends on it!",
                index.name()
            ),
            _ => format!(
                "Cannot drop column \"{column}\" because it is referenced in unique constraint UNIQUE({})",
                names.join(", ")
            ),
        }));
    }
    Ok(())
}

/// Whether a column is part of its table's primary key.
pub(in crate::exec) fn is_primary(
    write: &Write<'_>,
    table: &TableName,
    column_id: ColumnId,
) -> bool {
    let version = write.catalog().table(&table.schema, &table.name);
    version.is_some_and(|version| {
        let mut indexes = version.indexes().iter();
        indexes.any(|index| {
            index.kind() == IndexKind::Primary && index.column_ids().contains(&column_id)
        })
    })
}

/// `CREATE INDEX`, as DuckDB words it.
pub(in crate::exec) fn definition(table: &TableVersion, index: &Index) -> String {
    let unique = match index.kind().is_unique() {
        true => "UNIQUE ",
        false => "",
    };
    format!(
        "CREATE {unique}INDEX {} ON {}({});",
        sql::quote(index.name()),
        sql::quote(&table.name),
        quoted(table, index)
    )
}
