//! CREATE, ALTER and DROP SEQUENCE.
//!
//! What must hold: a sequence that a table needs is not dropped before it.

use super::entries::{Kind, placed};
use crate::exec::columns::default_text;
use crate::result::QueryResult;
use crate::statement::Statement;
use datafusion::sql::sqlparser::ast::ObjectName;
use hushdb_query::plan::{TableName, known_as};
use hushdb_sql::{
    AlterSequence, Error, ErrorKind, NewSequence, Result, SequenceChange, name_parts, sqlstate,
};
use hushdb_storage::{Sequence, SequenceDef, SequenceUse};

pub(in crate::exec) fn create(statement: &Statement<'_>, new: NewSequence) -> Result<QueryResult> {
    let own = statement.for_new(new.head.temporary)?;
    let statement = own.as_ref().unwrap_or(statement);
    let kind = Kind {
        name: "Sequence",
        taken: sqlstate::DUPLICATE_TABLE,
        known: &|schema, name| known_as(&schema.sequences, name).map(|(known, _)| known.clone()),
    };
    let Some(placed) = placed(statement, &new.head, &kind)? else {
        return Ok(QueryResult::done());
    };
    let (place, mut write) = (placed.place, placed.write);
    if let Some(known) = placed.replaced {
        refuse_needed(statement, &place, &known)?;
        write.drop_sequence(&place.schema, &known)?;
    }
    let def = SequenceDef {
        name: place.name.clone(),
        options: new.options,
        point: None,
    };
    write.create_sequence(&place.schema, def)?;
    if let Some(owner) = &new.owner {
        let (table, column) = owner_parts(statement, &place, owner)?;
        let owner = (table.as_str(), column.as_deref());
        let used = SequenceUse::Owned;
        write.set_sequence_owner(&place.schema, &place.name, Some(owner), used)?;
    }
    write.commit()?;
    Ok(QueryResult::done())
}

/// The table that owns a sequence, and its column if one does.
fn owner_parts(
    statement: &Statement<'_>,
    place: &TableName,
    owner: &ObjectName,
) -> Result<(String, Option<String>)> {
    let snapshot = statement.snapshot();
    let parts = name_parts(owner)?;
    let with_column = parts.split_last().filter(|(_, table)| !table.is_empty());
    let found = with_column.and_then(|(column, table)| {
        let (name, table) = snapshot.table(table).ok()?;
        Some((name, Some(table.column(column)?.name.clone())))
    });
    let (table, column) = match found {
        Some(found) => found,
        None => (snapshot.table(&parts)?.0, None),
    };
    match (&table.database, &table.schema) == (&place.database, &place.schema) {
        true => Ok((table.name, column)),
        false => Err(Error::catalog(
            "a sequence and the table that owns it are in one schema",
        )),
    }
}

/// `ALTER SEQUENCE s OWNED BY t` and `ALTER SEQUENCE s RESTART`.
pub(in crate::exec) fn alter(
    statement: &Statement<'_>,
    change: &AlterSequence,
) -> Result<QueryResult> {
    let (place, sequence) = match statement.snapshot().sequence(&name_parts(&change.name)?) {
        Err(error) if change.if_exists && error.kind() == ErrorKind::Catalog => {
            return Ok(QueryResult::done());
        }
        found => found?,
    };
    match &change.change {
        SequenceChange::Owner(owner) => set_owner(statement, &place, owner.as_ref()),
        SequenceChange::Restart(value) => restart(statement, &place, &sequence, *value),
    }
}

/// Goes on with a number at once, as `setval` does: no ROLLBACK takes it back.
fn restart(
    statement: &Statement<'_>,
    place: &TableName,
    sequence: &Sequence,
    value: Option<i64>,
) -> Result<QueryResult> {
    let value = value.unwrap_or(sequence.options.start);
    let store = &statement.snapshot().database(&place.database)?.store;
    match store.set_value(sequence, value, false)? {
        true => Ok(QueryResult::done()),
        false => Err(Error::new(
            ErrorKind::OutOfRange,
            format!(
                "RESTART value ({value}) is out of bounds for sequence \"{}\" ({}..{})",
                sequence.name, sequence.options.min, sequence.options.max
            ),
        )),
    }
}

fn set_owner(
    statement: &Statement<'_>,
    place: &TableName,
    owner: Option<&ObjectName>,
) -> Result<QueryResult> {
    let owner = match owner {
        Some(owner) => Some(owner_parts(statement, place, owner)?),
        None => None,
    };
    let owner = owner
        .as_ref()
        .map(|(table, column)| (table.as_str(), column.as_deref()));
    let mut write = statement.write(&place.database)?;
    write.set_sequence_owner(&place.schema, &place.name, owner, SequenceUse::Owned)?;
    write.commit()?;
    Ok(QueryResult::done())
}

/// `DROP SEQUENCE s`.
pub(in crate::exec) fn drop(
    statement: &Statement<'_>,
    if_exists: bool,
    name: &ObjectName,
) -> Result<()> {
    let (place, _) = match statement.snapshot().sequence(&name_parts(name)?) {
        Err(error) if if_exists && error.kind() == ErrorKind::Catalog => return Ok(()),
        found => found?,
    };
    refuse_needed(statement, &place, &place.name)?;
    let mut write = statement.write(&place.database)?;
    write.drop_sequence(&place.schema, &place.name)?;
    write.commit()
}

/// # Errors
/// `Catalog` when the default of a column names the sequence, or a table owns it.
fn refuse_needed(statement: &Statement<'_>, place: &TableName, sequence: &str) -> Result<()> {
    let snapshot = statement.snapshot();
    let version = &snapshot.database(&place.database)?.version;
    let schema = version.schema(&place.schema);
    let own = schema.and_then(|schema| Some((schema, schema.sequences.get(sequence)?)));
    let owner = own.and_then(|(schema, sequence)| sequence.owner_in(schema));
    let owner = owner.map(|(table, _)| table.name.clone());
    let named = || {
        version.named_tables().find_map(|(schema, table)| {
            let at = TableName {
                database: place.database.clone(),
                schema: schema.to_owned(),
                name: table.name.clone(),
            };
            let mut defaults = table.columns.iter().filter_map(|c| c.default.as_deref());
            let is_it = |name: &TableName| {
                (&name.database, &name.schema) == (&place.database, &place.schema)
                    && name.name == sequence
            };
            defaults
                .any(|default| {
                    let found = default_text::sequences(snapshot, &at, default);
                    found.iter().any(is_it)
                })
                .then_some(at.name)
        })
    };
    match owner.or_else(named) {
        None => Ok(()),
        Some(table) => Err(Error::catalog(format!(
            "Cannot drop entry \"{sequence}\" because there are entries that depend on it.\n\
             table \"{table}\" depends on sequence \"{sequence}\": drop the table or its default first"
        ))
        .with_sqlstate(sqlstate::DEPENDENT_OBJECTS)),
    }
}
