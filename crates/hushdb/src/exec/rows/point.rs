//! Statements about one key, which are run without a plan: rows found by their key, read or changed, and rows of literals added.
//!
//! What must hold: the result, and the table afterwards, are those that the plan would give. Whatever needs a plan, and whatever the plan
//! would refuse, gives `None` and has changed nothing.

use super::computed::{computed, values_of};
use super::conditions;
use super::dml::{insert_targets, table_of};
use super::for_update::RowLock;
use super::literal::{Argument, Literal, array, array_of};
use super::literal_rows::literal_rows;
use super::load;
use crate::exec::columns::generated;
use crate::exec::columns::identity;
use crate::prepared::{Computed, Item, Place, Prepared, Resolved, Shape, insert_values};
use crate::result::QueryResult;
use crate::statement::Statement;
use crate::transaction::Write;
use datafusion::arrow::array::{Array, ArrayRef};
use datafusion::arrow::record_batch::{RecordBatch, RecordBatchOptions};
use datafusion::sql::sqlparser::ast::{self, Expr, ObjectName};
use hushdb_query::memory::compact;
use hushdb_query::plan::TableName;
use hushdb_sql::Result;
use hushdb_sql::position_of;
use hushdb_storage::{Column, Index, TableVersion};
use std::collections::HashSet;
use std::sync::Arc;

/// A prepared statement, which keeps what was resolved and planned.
type Kept<'a> = Option<&'a Prepared>;

/// Runs a statement by its shape. `None`: it is to be planned.
pub(in crate::exec) fn run(
    statement: &Statement<'_>,
    ast: &ast::Statement,
    shape: &Shape,
    arguments: &[Argument<'_>],
    kept: Kept<'_>,
) -> Result<Option<QueryResult>> {
    match (shape, ast) {
        (Shape::Select { place, items, lock }, _) => {
            let lock = lock.as_ref().map(RowLock::from);
            select(statement, place, items.as_deref(), lock, arguments, kept)
        }
        (Shape::Update { place, set }, _) => change(statement, place, Some(set), arguments, kept),
        (Shape::Delete { place }, _) => change(statement, place, None, arguments, kept),
        (Shape::Insert { table, columns }, ast::Statement::Insert(insert)) => {
            self::insert(statement, table, columns, insert, arguments, kept)
        }
        _ => Ok(None),
    }
}

fn select(
    statement: &Statement<'_>,
    place: &Place,
    items: Option<&[Item]>,
    lock: Option<RowLock>,
    arguments: &[Argument<'_>],
    kept: Kept<'_>,
) -> Result<Option<QueryResult>> {
    if lock.is_some() && !statement.waits() {
        return Ok(None);
    }
    let snapshot = statement.snapshot();
    let Some((database, table)) = snapshot.seen(&place.parts) else {
        return Ok(None);
    };
    let Some(mut found) = find(table, place, items, arguments, kept)? else {
        return Ok(None);
    };
    statement.still_sees(None, database, table, found.by(), &found.row_ids)?;
    if let Some(lock) = lock {
        let (_, write) = statement.resolve_for_write(&place.table)?;
        found.row_ids = lock.take(&write, table.id, found.row_ids)?;
    }
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
    let (name, mut write) = statement.resolve_parts_for_write(&place.parts)?;
    let Some((database, table)) = statement.snapshot().seen(&place.parts) else {
        return Ok(None);
    };
    let is_always = identity::has_always(statement.snapshot(), &name, table);
    if set.is_some() && (is_always || generated::has_any(table)) {
        return Ok(None);
    }
    let new_values = match set {
        None => Some(Assigned::default()),
        Some(set) => assigned(statement, table, set, arguments, kept),
    };
    let Some(new_values) = new_values else {
        return Ok(None);
    };
    let Some(found) = find(table, place, None, arguments, kept)? else {
        return Ok(None);
    };
    if statement.by_key && has_foreign_key(&write, &name, table) {
        // What it names, or what names it, may have come or gone.
        return Err(hushdb_storage::Error::Overtaken.into());
    }
    // A row that is found by its own key and is locked next is looked at then.
    let is_looked_at = found.row_ids.len() == 1 && found.index.kind().is_unique();
    if !is_looked_at {
        statement.still_sees(Some(&write), database, table, found.by(), &found.row_ids)?;
    }
    let Found {
        row_ids,
        index,
        key,
        ..
    } = found;
    if row_ids.len() > load::FEW_ROWS.min(write.store().row_group_rows()) {
        return Ok(None);
    }
    if row_ids.is_empty() {
        return Ok(Some(QueryResult::count(0)));
    }
    if statement.waits() {
        // Whoever waits for its row waits before it has done work that it would do again.
        write.lock_to_change(table.id, &row_ids, (index, &key))?;
    }
    if set.is_some() {
        let columns: Vec<&Column> = table.columns.iter().collect();
        let mut arrays = write.store().read_rows(table, &columns, &row_ids)?;
        if new_values.put_into(table, &mut arrays, arguments).is_none() {
            return Ok(None);
        }
        if conditions::hold(statement, table, &arrays, kept).is_none() {
            return Ok(None);
        }
        let arrays: Vec<ArrayRef> = arrays.into_iter().map(compact).collect();
        write.delete_rows(&name.schema, &name.name, &row_ids)?;
        load::add(&mut write, &name, &table.columns, &arrays)?;
    } else {
        write.delete_rows(&name.schema, &name.name, &row_ids)?;
    }
    write.commit()?;
    Ok(Some(QueryResult::count(row_ids.len() as u64)))
}

/// Whether rows of a table name others, or others name them.
fn has_foreign_key(write: &Write<'_>, name: &TableName, table: &TableVersion) -> bool {
    let schema = write.catalog().schema(&name.schema);
    let mut keys = schema.into_iter().flat_map(|schema| &schema.foreign_keys);
    keys.any(|key| key.child == table.id || key.parent == table.id)
}

/// What columns are set to, by their positions.
#[derive(Default)]
struct Assigned<'a> {
    literals: Vec<(usize, Literal<'a>)>,
    /// Those that are computed from the row, and how.
    computed: Option<(Vec<usize>, Arc<Computed>)>,
}

/// The columns that are set to what they can hold, or to what can be computed without a plan.
fn assigned<'a>(
    statement: &Statement<'_>,
    table: &TableVersion,
    set: &'a [(String, Expr)],
    arguments: &'a [Argument<'a>],
    kept: Kept<'_>,
) -> Option<Assigned<'a>> {
    if !table.checks.is_empty() && kept.is_none() {
        return None;
    }
    let (mut literals, mut others) = (vec![], vec![]);
    let mut positions = HashSet::new();
    for (name, expr) in set {
        let names = table.columns.iter().map(|column| column.name.as_str());
        let at = position_of(names, name)?;
        if !positions.insert(at) {
            return None;
        }
        match Literal::of(expr, arguments) {
            Some(value) if value.is_null() && !table.columns[at].nullable => return None,
            Some(value) => literals.push((at, value)),
            None => others.push((at, expr)),
        }
    }
    let computed = match others.is_empty() {
        true => None,
        false => {
            let before = kept.map(|kept| &kept.computed);
            let made = computed(statement, table, &others, arguments, before)?;
            Some((others.iter().map(|(at, _)| *at).collect(), made))
        }
    };
    Some(Assigned { literals, computed })
}

impl Assigned<'_> {
    /// Puts the new values in the place of the old ones; `None` when one of them cannot be stored.
    fn put_into(
        &self,
        table: &TableVersion,
        arrays: &mut [ArrayRef],
        arguments: &[Argument<'_>],
    ) -> Option<()> {
        let rows = arrays.first()?.len();
        let mut new = vec![];
        if let Some((positions, computed)) = &self.computed {
            let values = values_of(computed, arrays, arguments)?;
            new.extend(positions.iter().copied().zip(values));
        }
        for (at, value) in &self.literals {
            let column = table.columns.get(*at)?;
            new.push((*at, array_of(column, &vec![*value; rows])?));
        }
        for (at, values) in new {
            let column = table.columns.get(at)?;
            if values.null_count() > 0 && !column.nullable {
                return None;
            }
            *arrays.get_mut(at)? = values;
        }
        Some(())
    }
}

fn insert(
    statement: &Statement<'_>,
    table: &ObjectName,
    columns: &[ObjectName],
    insert: &ast::Insert,
    arguments: &[Argument<'_>],
    kept: Kept<'_>,
) -> Result<Option<QueryResult>> {
    let Some(values) = insert_values(insert) else {
        return Ok(None);
    };
    let (name, mut write) = statement.resolve_for_write(table)?;
    if values.rows.len() > load::FEW_ROWS.min(write.store().row_group_rows()) {
        return Ok(None);
    }
    let table = table_of(statement.snapshot(), &name)?;
    if generated::has_any(&table) {
        return Ok(None);
    }
    let targets = insert_targets(&table, columns)?;
    if identity::gives_value(
        statement.snapshot(),
        &name,
        &table,
        &targets,
        insert.source.as_deref(),
    )
    .is_some()
    {
        return Ok(None);
    }
    // Of another zone than UTC, clocks show something else.
    let in_utc = statement.session.time_zone().is_none();
    let now = in_utc.then_some(statement.snapshot().now);
    let Some(arrays) = literal_rows(values, &table, &targets, arguments, now) else {
        return Ok(None);
    };
    if conditions::hold(statement, &table, &arrays, kept).is_none() {
        return Ok(None);
    }
    let rows = load::add(&mut write, &name, &table.columns, &arrays)?;
    write.commit()?;
    Ok(Some(QueryResult::count(rows)))
}

/// Rows that a place names.
struct Found<'t> {
    resolved: Arc<Resolved>,
    index: &'t Index,
    key: Vec<ArrayRef>,
    row_ids: Vec<u64>,
}

impl Found<'_> {
    /// The key that they have.
    fn by(&self) -> (&Index, &[ArrayRef]) {
        (self.index, &self.key)
    }
}

fn find<'t>(
    table: &'t TableVersion,
    place: &Place,
    items: Option<&[Item]>,
    arguments: &[Argument<'_>],
    kept: Kept<'_>,
) -> Result<Option<Found<'t>>> {
    let before = kept.and_then(|kept| kept.resolved.lock().clone());
    let resolved = match before {
        Some(before) if before.index(table).is_some() => before,
        _ => match Resolved::new(table, place, items).map(Arc::new) {
            None => return Ok(None),
            Some(resolved) => {
                if let Some(kept) = kept {
                    *kept.resolved.lock() = Some(Arc::clone(&resolved));
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
        Ok(row_ids) => Ok(Some(Found {
            resolved,
            index,
            key,
            row_ids,
        })),
        // A key too long for the index is in no row, which the plan finds out.
        Err(hushdb_storage::Error::Unsupported(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
