//! INSERT, UPDATE, DELETE and MERGE.

use super::query::items;
use super::{Result, refuse, relations};
use sqlparser::ast::{
    ConflictTarget, Delete, DoUpdate, FromTable, Insert, OnConflict, OnConflictAction, OnInsert,
    SelectItem, TableFactor, TableWithJoins, Update, UpdateTableFromKind,
};

pub(super) fn insert(insert: &Insert) -> Result<()> {
    let Insert {
        insert_token: _,
        optimizer_hints,
        or: _,
        ignore,
        into: _,
        table: _,
        // `exec/rows/dml.rs` reads it.
        table_alias: _,
        columns: _,
        overwrite,
        source: _,
        assignments,
        partitioned,
        after_columns,
        has_table_keyword: _,
        on,
        returning,
        output,
        replace_into,
        priority,
        insert_alias,
        settings,
        format_clause,
        multi_table_insert_type,
        multi_table_into_clauses,
        multi_table_when_clauses,
        multi_table_else_clause,
    } = insert;
    refuse(&[
        (optimizer_hints, "a hint"),
        (ignore, "INSERT IGNORE; write INSERT OR IGNORE"),
        (overwrite, "INSERT OVERWRITE"),
        (assignments, "INSERT ... SET"),
        (partitioned, "PARTITION of INSERT"),
        (after_columns, "columns after PARTITION"),
        (output, "OUTPUT; write RETURNING"),
        (replace_into, "REPLACE INTO; write INSERT OR REPLACE INTO"),
        (priority, "a priority of INSERT"),
        (insert_alias, "an alias of the rows of INSERT"),
        (settings, "SETTINGS of INSERT"),
        (format_clause, "FORMAT of INSERT"),
        (multi_table_insert_type, "INSERT ALL or FIRST"),
        (multi_table_into_clauses, "INSERT into several tables"),
        (multi_table_when_clauses, "WHEN of INSERT"),
        (multi_table_else_clause, "ELSE of INSERT"),
    ])?;
    match on {
        // `exec/rows/upsert.rs` reads or refuses these.
        None | Some(OnInsert::DuplicateKeyUpdate(_)) => {}
        Some(OnInsert::OnConflict(OnConflict {
            conflict_target,
            action,
        })) => {
            match conflict_target {
                None | Some(ConflictTarget::Columns(_) | ConflictTarget::OnConstraint(_)) => {}
            }
            match action {
                OnConflictAction::DoNothing
                | OnConflictAction::DoUpdate(DoUpdate {
                    assignments: _,
                    selection: _,
                }) => {}
            }
        }
        Some(_) => return refuse(&[(on, "this clause after INSERT")]),
    }
    items(returning.as_deref().unwrap_or_default())
}

pub(super) fn update(update: &Update) -> Result<()> {
    let Update {
        update_token: _,
        optimizer_hints,
        table,
        assignments: _,
        from,
        selection: _,
        returning,
        output,
        // `exec/rows/dml.rs` refuses these.
        or: _,
        order_by: _,
        limit: _,
    } = update;
    refuse(&[
        (optimizer_hints, "a hint"),
        (output, "OUTPUT; write RETURNING"),
    ])?;
    target(table)?;
    if let Some(UpdateTableFromKind::BeforeSet(tables) | UpdateTableFromKind::AfterSet(tables)) =
        from
    {
        relations::from(tables)?;
    }
    items(returning.as_deref().unwrap_or_default())
}

pub(super) fn delete(delete: &Delete) -> Result<()> {
    let Delete {
        delete_token: _,
        optimizer_hints,
        tables,
        from,
        using,
        selection: _,
        returning,
        output,
        // `exec/rows/dml.rs` refuses these.
        order_by: _,
        limit: _,
    } = delete;
    refuse(&[
        (optimizer_hints, "a hint"),
        (tables, "DELETE with tables before FROM"),
        (output, "OUTPUT; write RETURNING"),
    ])?;
    let (FromTable::WithFromKeyword(targets) | FromTable::WithoutKeyword(targets)) = from;
    targets.iter().try_for_each(target)?;
    relations::from(using.as_deref().unwrap_or_default())?;
    items(returning.as_deref().unwrap_or_default())
}

/// MERGE INTO, of which all else is taken apart by expressions and queries.
pub(super) fn merge(target: &TableFactor, returning: &[SelectItem]) -> Result<()> {
    relations::factor(target)?;
    kept_names(target)?;
    items(returning)
}

/// The table that is changed, whose columns keep their names.
fn target(table: &TableWithJoins) -> Result<()> {
    relations::joins(table)?;
    kept_names(&table.relation)
}

fn kept_names(table: &TableFactor) -> Result<()> {
    match table {
        TableFactor::Table {
            alias: Some(alias),
            args: _,
            ..
        } => refuse(&[(
            &alias.columns,
            "new names of the columns of a table that is changed",
        )]),
        _ => Ok(()),
    }
}
