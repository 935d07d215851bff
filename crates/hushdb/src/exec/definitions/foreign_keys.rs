//! FOREIGN KEY in CREATE and ALTER TABLE, and what keeps a table from changing that is part of one.
//!
//! What must hold: the rows of both tables are in one schema, and what is named is a primary key or UNIQUE of the same types.
//! Refuses: CASCADE, SET NULL and SET DEFAULT, as DuckDB does.

use crate::statement::Statement;
use crate::transaction::Write;
use datafusion::sql::sqlparser::ast::{
    ColumnOption, ForeignKeyConstraint, Ident, ObjectName, ReferentialAction, TableConstraint,
};
use hushdb_query::plan::{Relation, TableName};
use hushdb_sql::type_names::column_type_name;
use hushdb_sql::{self as sql, Error, Result, name_parts, sqlstate};
use hushdb_storage::{
    ColumnId, ForeignKey, Index, IndexKind, SchemaVersion, TableId, TableVersion, same_name,
};

/// What the names of indexes end with that were made for a foreign key.
const SUFFIX: &str = "_fkey";

/// What a definition says of rows that name others.
pub(in crate::exec) struct Reference {
    pub(in crate::exec) columns: Vec<String>,
    parent: ObjectName,
    /// The primary key where none are written.
    parent_columns: Vec<String>,
}

fn names(idents: &[Ident]) -> Vec<String> {
    idents.iter().map(|ident| ident.value.clone()).collect()
}

fn reference(columns: Vec<String>, key: &ForeignKeyConstraint) -> Result<Reference> {
    for action in [key.on_delete, key.on_update].into_iter().flatten() {
        match action {
            ReferentialAction::NoAction | ReferentialAction::Restrict => {}
            _ => {
                return Err(Error::parser(
                    "FOREIGN KEY constraints cannot use CASCADE, SET NULL or SET DEFAULT",
                ));
            }
        }
    }
    if key.match_kind.is_some() || key.characteristics.is_some() || key.index_name.is_some() {
        return Err(Error::unsupported(
            "MATCH and DEFERRABLE of a FOREIGN KEY are not there: it is held at the end of each statement",
        ));
    }
    Ok(Reference {
        columns,
        parent: key.foreign_table.clone(),
        parent_columns: names(&key.referred_columns),
    })
}

/// What a column's option says of others' rows, if it does.
pub(in crate::exec) fn of_column(column: &str, option: &ColumnOption) -> Result<Option<Reference>> {
    match option {
        ColumnOption::ForeignKey(key) => reference(vec![column.to_owned()], key).map(Some),
        _ => Ok(None),
    }
}

/// What a table's constraint says of others' rows, if it does.
pub(in crate::exec) fn of_table(constraint: &TableConstraint) -> Result<Option<Reference>> {
    match constraint {
        TableConstraint::ForeignKey(key) => reference(names(&key.columns), key).map(Some),
        _ => Ok(None),
    }
}

fn failed(why: String) -> Error {
    Error::binder(format!("Failed to create foreign key: {why}"))
}

/// The table that is named, in the state of the statement's own changes.
fn parent_of<'a>(
    statement: &Statement<'_>,
    write: &'a Write<'_>,
    child: &TableName,
    parent: &ObjectName,
) -> Result<&'a TableVersion> {
    let parts = name_parts(parent)?;
    let within = write.catalog().schema(&child.schema);
    if let [name] = parts.as_slice()
        && same_name(name, &child.name)
        && let Some(own) = within.and_then(|schema| schema.tables.get(&child.name))
    {
        return Ok(own);
    }
    let place = statement.snapshot().resolve(&parts)?;
    match statement.snapshot().find(&place) {
        None => return Err(statement.snapshot().unknown(&place)),
        Some(Relation::View(_)) => {
            return Err(Error::binder("cannot reference a VIEW with a FOREIGN KEY"));
        }
        Some(Relation::Table(_)) => {}
    }
    if (&place.database, &place.schema) != (&child.database, &child.schema) {
        return Err(Error::binder(
            "Creating foreign keys across different schemas or catalogs is not supported",
        ));
    }
    let found = within.and_then(|schema| schema.tables.get(&place.name));
    found
        .map(|table| table.as_ref())
        .ok_or_else(|| statement.snapshot().unknown(&place))
}

/// Has the rows of a table that is there name others.
pub(in crate::exec) fn create(
    statement: &Statement<'_>,
    write: &mut Write<'_>,
    child: &TableName,
    reference: &Reference,
) -> Result<()> {
    let parent = parent_of(statement, write, child, &reference.parent)?;
    let own = write.catalog().table(&child.schema, &child.name);
    let own = own.ok_or_else(|| Error::internal("a table that was made is gone"))?;
    let columns = known_columns(own, &reference.columns).map_err(|name| {
        Error::catalog(format!(
            "table \"{}\" does not have a column named \"{name}\"",
            own.name
        ))
        .with_sqlstate(sqlstate::UNDEFINED_COLUMN)
    })?;
    let named = match reference.parent_columns.as_slice() {
        [] => primary_key(parent)?,
        named => known_columns(parent, named).map_err(|name| {
            failed(format!(
                "referenced table \"{}\" does not have a column named \"{name}\"",
                parent.name
            ))
        })?,
    };
    check(own, &columns, parent, &named)?;
    let (parent, index) = (parent.name.clone(), free_name(write, child, &columns));
    write.create_foreign_key(
        &child.schema,
        (&child.name, &columns),
        (&parent, &named),
        index,
    )?;
    Ok(())
}

/// Names as the table has them, or the first that it has not.
fn known_columns<'a>(
    table: &TableVersion,
    names: &'a [String],
) -> std::result::Result<Vec<String>, &'a str> {
    let known = |name: &'a String| {
        let found = sql::find_named(&table.columns, name, |column| column.name.as_str());
        found.map(|c| c.name.clone()).ok_or(name.as_str())
    };
    names.iter().map(known).collect()
}

fn primary_key(parent: &TableVersion) -> Result<Vec<String>> {
    let mut indexes = parent.indexes().iter();
    let primary = indexes.find(|index| index.kind() == IndexKind::Primary);
    let primary = primary.ok_or_else(|| {
        failed(format!(
            "there is no primary key for referenced table \"{}\"",
            parent.name
        ))
    })?;
    Ok(column_names(parent, primary.column_ids()))
}

/// Whether the columns can name those of the parent.
fn check(
    own: &TableVersion,
    columns: &[String],
    parent: &TableVersion,
    named: &[String],
) -> Result<()> {
    if columns.len() != named.len() {
        return Err(failed(format!(
            "number of referencing ({}) and referenced columns ({}) differ",
            columns.join(","),
            named.join(",")
        )));
    }
    let has_key = parent
        .indexes()
        .iter()
        .any(|index| index.kind().is_unique() && column_names(parent, index.column_ids()) == named);
    if !has_key {
        return Err(failed(format!(
            "there is no primary key or unique constraint for referenced table \"{}\" on the columns {}",
            parent.name,
            named.join(",")
        )));
    }
    for (column, other) in columns.iter().zip(named) {
        let types = own.column(column).zip(parent.column(other));
        if let Some((a, b)) = types.filter(|(a, b)| a.ty != b.ty) {
            return Err(failed(format!(
                "incompatible types between column \"{other}\" (\"{}\") and column \"{column}\" (\"{}\")",
                column_type_name(&b.ty),
                column_type_name(&a.ty)
            )));
        }
    }
    Ok(())
}

/// A name for the index of a child's columns.
fn free_name(write: &Write<'_>, child: &TableName, columns: &[String]) -> String {
    let tables = write.catalog().schema(&child.schema).into_iter();
    let tables = tables.flat_map(|schema| schema.tables.values());
    let taken: Vec<&str> = tables
        .flat_map(|table| table.indexes())
        .map(Index::name)
        .collect();
    let is_free = |name: &String| !taken.iter().any(|known| same_name(known, name));
    let stem = format!("{}_{}", child.name, columns.join("_"));
    let numbered = (1..).map(|n| format!("{stem}_{n}{SUFFIX}"));
    let mut names = std::iter::once(format!("{stem}{SUFFIX}")).chain(numbered);
    names.find(is_free).unwrap_or(stem)
}

/// A foreign key of a table, as its definition says it.
pub(in crate::exec) struct Named {
    pub(in crate::exec) columns: Vec<String>,
    /// `FOREIGN KEY (a) REFERENCES t(b)`.
    pub(in crate::exec) text: String,
    pub(in crate::exec) name: String,
    pub(in crate::exec) parent: String,
    pub(in crate::exec) parent_columns: Vec<String>,
}

/// The foreign keys of a table's own rows.
pub(in crate::exec) fn of(within: &SchemaVersion, table: &TableVersion) -> Vec<Named> {
    let own = within.foreign_keys.iter();
    let own = own.filter(|key| key.child == table.id);
    let named = own.filter_map(|key| {
        let parent = within.tables.values().find(|t| t.id == key.parent)?;
        let columns = column_names(table, &key.columns);
        let quoted = |names: &[String]| -> String {
            let quoted: Vec<String> = names.iter().map(|name| sql::quote(name)).collect();
            quoted.join(", ")
        };
        let named = column_names(parent, &key.parent_columns);
        Some(Named {
            text: format!(
                "FOREIGN KEY ({}) REFERENCES {}({})",
                quoted(&columns),
                sql::quote(&parent.name),
                quoted(&named)
            ),
            name: format!(
                "{}_{}_{}{SUFFIX}",
                table.name,
                columns.join("_"),
                named.join("_")
            ),
            columns,
            parent: parent.name.clone(),
            parent_columns: named,
        })
    });
    named.collect()
}

pub(in crate::exec) fn column_names(table: &TableVersion, ids: &[ColumnId]) -> Vec<String> {
    let column = |id: &ColumnId| table.columns.iter().find(|column| column.id == *id);
    let columns = ids.iter().filter_map(column);
    columns.map(|column| column.name.clone()).collect()
}

/// Whether an index is there for a foreign key alone.
pub(in crate::exec) fn is_own_index(within: &SchemaVersion, table: TableId, index: &Index) -> bool {
    let needs = |key: &std::sync::Arc<ForeignKey>| key.needs(table, index);
    index.kind() == IndexKind::Plain
        && index.name().contains(SUFFIX)
        && within.foreign_keys.iter().any(needs)
}

fn keys<'a>(write: &'a Write<'_>, name: &TableName) -> Vec<(&'a ForeignKey, TableId)> {
    let within = write.catalog().schema(&name.schema);
    let table = within.and_then(|schema| schema.tables.get(&name.name));
    let Some((within, table)) = within.zip(table) else {
        return vec![];
    };
    let keys = within.foreign_keys.iter();
    keys.map(|key| (key.as_ref(), table.id)).collect()
}

/// # Errors
/// `Catalog` when rows of another table name those of a table that is to go.
pub(in crate::exec) fn refuse_drop(write: &Write<'_>, name: &TableName) -> Result<()> {
    let found = keys(write, name);
    let mut found = found.iter();
    let Some((key, _)) = found.find(|(key, id)| key.parent == *id && key.child != *id) else {
        return Ok(());
    };
    let within = write.catalog().schema(&name.schema);
    let child = within.and_then(|schema| schema.tables.values().find(|t| t.id == key.child));
    Err(Error::catalog(format!(
        "Could not drop the table because this table is main key table of the table \"{}\"",
        child.map_or("", |child| &child.name)
    ))
    .with_sqlstate(sqlstate::DEPENDENT_OBJECTS))
}

/// # Errors
/// `Catalog` when a column is part of a foreign key, of its own rows or of others'.
pub(in crate::exec) fn refuse_change(
    write: &Write<'_>,
    name: &TableName,
    column: ColumnId,
    what: &str,
    shown: &str,
) -> Result<()> {
    let is_part = |(key, id): &(&ForeignKey, TableId)| {
        key.child == *id && key.columns.contains(&column)
            || key.parent == *id && key.parent_columns.contains(&column)
    };
    match keys(write, name).iter().any(is_part) {
        true => Err(Error::catalog(format!(
            "Cannot {what} column \"{shown}\" because there is a FOREIGN KEY constraint that depends on it"
        ))),
        false => Ok(()),
    }
}

/// # Errors
/// `Catalog` when a foreign key looks rows up by an index.
pub(in crate::exec) fn refuse_without_index(
    write: &Write<'_>,
    schema: &str,
    table: &str,
    index: &str,
) -> Result<()> {
    let within = write.catalog().schema(schema);
    let found = within.and_then(|within| {
        let table = within.tables.get(table)?;
        let index = table.indexes().iter().find(|one| one.name() == index)?;
        let mut keys = within.foreign_keys.iter();
        keys.find(|key| key.needs(table.id, index))
    });
    match found {
        Some(_) => Err(Error::catalog(format!(
            "Cannot drop \"{index}\" because there is a FOREIGN KEY constraint that depends on it"
        ))
        .with_sqlstate(sqlstate::DEPENDENT_OBJECTS)),
        None => Ok(()),
    }
}
