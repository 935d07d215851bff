//! Statements about one key, which are run without a plan: rows found by their key, read or changed, and rows of literals added.
//!
//! What must hold: what comes out, and what stays, is what the plan would give. Whatever needs a plan, and whatever the plan
//! would refuse, gives `None` and has changed nothing.

use super::dml::{insert_targets, table_of};
use super::literal::{Argument, Literal, array};
use super::literal_rows::literal_rows;
use super::load;
use crate::prepared::{Item, Place, Resolved, Shape, insert_values};
use crate::result::QueryResult;
use crate::statement::Statement;
use datafusion::arrow::array::ArrayRef;
use datafusion::arrow::record_batch::{RecordBatch, RecordBatchOptions};
use datafusion::sql::sqlparser::ast::{self, Expr, ObjectName};
use hushdb_query::memory::compact;
use hushdb_sql::Result;
use hushdb_sql::position_of;
use hushdb_storage::{Column, TableVersion};
use parking_lot::Mutex;
use std::sync::Arc;

/// Where a prepared statement keeps what was resolved.
type Kept<'a> = Option<&'a Mutex<Option<Arc<Resolved>>>>;

/// Runs a statement by its shape. `None`: it is to be planned.
pub(super) fn run(
    statement: &Statement<'_>,
    ast: &ast::Statement,
    shape: &Shape,
    arguments: &[Argument<'_>],
    kept: Kept<'_>,
) -> Result<Option<QueryResult>> {
    match (shape, ast) {
        (Shape::Select { place, items }, _) => {
            select(statement, place, items.as_deref(), arguments, kept)
        }
        (Shape::Update { place, set }, _) => change(statement, place, Some(set), arguments, kept),
        (Shape::Delete { place }, _) => change(statement, place, None, arguments, kept),
        (Shape::Insert { table, columns }, ast::Statement::Insert(insert)) => {
            self::insert(statement, table, columns, insert, arguments)
        }
        _ => Ok(None),
    }
}

fn select(
    statement: &Statement<'_>,
    place: &Place,
    items: Option<&[Item]>,
    arguments: &[Argument<'_>],
    kept: Kept<'_>,
) -> Result<Option<QueryResult>> {
    let snapshot = statement.snapshot();
    let Some((database, table)) = snapshot.seen(&place.parts) else {
        return Ok(None);
    };
    let Some(found) = find(table, place, items, arguments, kept)? else {
        return Ok(None);
    };
    let Resolved { output, schema, .. } = found.resolved.as_ref();
    if found.row_ids.is_empty() {
        return Ok(Some(QueryResult::rows(Arc::clone(schema), vec![])));
    }
    let columns: Vec<&Column> = output
        .iter()
        .filter_map(|at| table.columns.get(*at))
        .collect();
    let arrays = database.store.read_rows(table, &columns, &found.row_ids)?;
    let options = RecordBatchOptions::new().with_row_count(Some(found.row_ids.len()));
    let batch = RecordBatch::try_new_with_options(Arc::clone(schema), arrays, &options)?;
    Ok(Some(QueryResult::rows(Arc::clone(schema), vec![batch])))
}

/// UPDATE, or DELETE when nothing is set.
fn change(
    statement: &Statement<'_>,
    place: &Place,
    set: Option<&Vec<(String, Expr)>>,
    arguments: &[Argument<'_>],
    kept: Kept<'_>,
) -> Result<Option<QueryResult>> {
    let (name, mut write) = statement.resolve_for_write(&place.table)?;
    let Some((_, table)) = statement.snapshot().seen(&place.parts) else {
        return Ok(None);
    };
    let new_values = match set {
        None => Some(vec![]),
        Some(set) => assigned(table, set, arguments),
    };
    let Some(new_values) = new_values else {
        return Ok(None);
    };
    let Some(found) = find(table, place, None, arguments, kept)? else {
        return Ok(None);
    };
    let row_ids = found.row_ids;
    if row_ids.len() > load::FEW_ROWS.min(write.store().row_group_rows()) {
        return Ok(None);
    }
    if row_ids.is_empty() {
        return QueryResult::count(0).map(Some);
    }
    if set.is_some() {
        let columns: Vec<&Column> = table.columns.iter().collect();
        let mut arrays = write.store().read_rows(table, &columns, &row_ids)?;
        for (at, value) in new_values {
            let cells = vec![value; row_ids.len()];
            let (Some(column), Some(slot)) = (table.columns.get(at), arrays.get_mut(at)) else {
                return Ok(None);
            };
            match array(&column.ty, &cells) {
                Some(array) => *slot = array,
                None => return Ok(None),
            }
        }
        let arrays: Vec<ArrayRef> = arrays.into_iter().map(compact).collect();
        write.delete_rows(&name.schema, &name.name, &row_ids)?;
        load::add(&mut write, &name, &table.columns, &arrays)?;
    } else {
        write.delete_rows(&name.schema, &name.name, &row_ids)?;
    }
    write.commit()?;
    QueryResult::count(row_ids.len() as u64).map(Some)
}

/// Positions of the columns that are set, and literals that they can hold.
fn assigned<'a>(
    table: &TableVersion,
    set: &'a [(String, Expr)],
    arguments: &'a [Argument<'a>],
) -> Option<Vec<(usize, Literal<'a>)>> {
    if !table.checks.is_empty() {
        return None;
    }
    let mut assigned: Vec<(usize, Literal<'a>)> = vec![];
    for (name, expr) in set {
        let names = table.columns.iter().map(|column| column.name.as_str());
        let at = position_of(names, name)?;
        let value = Literal::of(expr, arguments)?;
        let again = assigned.iter().any(|(other, _)| *other == at);
        if again || (value.is_null() && !table.columns[at].nullable) {
            return None;
        }
        assigned.push((at, value));
    }
    Some(assigned)
}

fn insert(
    statement: &Statement<'_>,
    table: &ObjectName,
    columns: &[ObjectName],
    insert: &ast::Insert,
    arguments: &[Argument<'_>],
) -> Result<Option<QueryResult>> {
    let Some(values) = insert_values(insert) else {
        return Ok(None);
    };
    let (name, mut write) = statement.resolve_for_write(table)?;
    if values.rows.len() > load::FEW_ROWS.min(write.store().row_group_rows()) {
        return Ok(None);
    }
    let table = table_of(statement.snapshot(), &name)?;
    let targets = insert_targets(&table, columns)?;
    let Some(arrays) = literal_rows(values, &table, &targets, arguments) else {
        return Ok(None);
    };
    let rows = load::add(&mut write, &name, &table.columns, &arrays)?;
    write.commit()?;
    QueryResult::count(rows).map(Some)
}

/// Rows that a place names.
struct Found {
    resolved: Arc<Resolved>,
    row_ids: Vec<u64>,
}

fn find(
    table: &TableVersion,
    place: &Place,
    items: Option<&[Item]>,
    arguments: &[Argument<'_>],
    kept: Kept<'_>,
) -> Result<Option<Found>> {
    let before = kept.and_then(|kept| kept.lock().clone());
    let resolved = match before {
        Some(before) if before.index(table).is_some() => before,
        _ => match Resolved::new(table, place, items).map(Arc::new) {
            None => return Ok(None),
            Some(resolved) => {
                if let Some(kept) = kept {
                    *kept.lock() = Some(Arc::clone(&resolved));
                }
                resolved
            }
        },
    };
    let Some(index) = resolved.index(table) else {
        return Ok(None);
    };
    let key = resolved.key.iter().map(|(at, ty)| {
        let (_, expr) = place.key.get(*at)?;
        array(ty, &[Literal::of(expr, arguments)?])
    });
    let Some(key) = key.collect::<Option<Vec<ArrayRef>>>() else {
        return Ok(None);
    };
    match table.find(index, &key, 0) {
        Ok(row_ids) => Ok(Some(Found { resolved, row_ids })),
        // A key too long for the index is in no row, which the plan finds out.
        Err(hushdb_storage::Error::Unsupported(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
