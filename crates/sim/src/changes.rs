//! Random changes, made to a transaction and to a model alike.
//!
//! What must hold: a change that storage accepts leaves both with the same content; one that cannot be is refused by
//! storage and leaves both as they were.

use std::sync::Arc;

use hushdb_storage::{
    CatalogVersion, Column, ColumnDef, ColumnId, ColumnType, Error, IndexDef, IndexKind,
    MAIN_SCHEMA, Result, Store, Transaction, View,
};

use crate::dice::Dice;
use crate::model::{COLUMN_TYPES, Model, SchemaModel, TableModel, Value, array};

/// Tables that a database is let grow to.
const TABLES: usize = 5;
/// Rows after which a table is emptied rather than added to.
const ROWS: usize = 400;
const WORDS: [&str; 8] = [
    "",
    "a",
    "hush",
    "twelve bytes",
    "thirteen byte",
    "Grüße, 世界",
    "the quick brown fox jumps over the lazy dog",
    "zz",
];

/// Makes one change. An error may be one of the disk; anything else is a defect.
///
/// # Errors
/// What the transaction reports.
pub(crate) fn change(txn: &mut Transaction, model: &mut Model, dice: &mut Dice) -> Result<()> {
    let tables = model.table_names();
    if tables.is_empty() {
        return create_table(txn, model, dice);
    }
    let (schema, table) = dice.pick(&tables).clone();
    let (schema, table) = (schema.as_str(), table.as_str());
    let rows = model.table(schema, table).map_or(0, |t| t.rows.len());
    match dice.below(100) {
        0..=7 if tables.len() < TABLES => create_table(txn, model, dice),
        8..=10 => drop_table(txn, model, schema, table),
        11..=13 => rename_table(txn, model, schema, table, dice),
        14..=24 => alter(txn, model, schema, table, dice),
        25..=27 => truncate(txn, model, schema, table),
        61..=63 => vacuum(txn, model, schema, table, dice),
        28..=30 => schemas_and_views(txn, model, dice),
        31..=48 => delete(txn, model, schema, table, dice),
        49..=60 => {
            let bulk = dice.chance(40);
            update(txn, model, schema, table, bulk, dice)
        }
        _ if rows > ROWS => truncate(txn, model, schema, table),
        _ => append(txn, model, schema, table, dice),
    }
}

/// Makes one change that the log has room for: rows that come, go or change.
///
/// # Errors
/// What the transaction reports.
pub(crate) fn small_change(
    txn: &mut Transaction,
    model: &mut Model,
    dice: &mut Dice,
) -> Result<()> {
    let tables = model.table_names();
    if tables.is_empty() {
        return Ok(());
    }
    let (schema, table) = dice.pick(&tables).clone();
    let (schema, table) = (schema.as_str(), table.as_str());
    match dice.below(10) {
        0..=2 => delete(txn, model, schema, table, dice),
        3..=5 => update(txn, model, schema, table, false, dice),
        _ => {
            let columns = seen(txn.catalog(), schema, table)?.columns.clone();
            let rows = rows(&columns, dice);
            txn.insert(schema, table, &arrays(&columns, &rows))?;
            added(model, schema, table, rows);
            Ok(())
        }
    }
}

/// A transaction that adds rows to a table; `None` where there is none.
///
/// # Errors
/// What the transaction reports.
pub(crate) fn rows_beside(
    store: &Arc<Store>,
    model: &mut Model,
    dice: &mut Dice,
) -> Result<Option<Transaction>> {
    let tables = model.table_names();
    if tables.is_empty() {
        return Ok(None);
    }
    let (schema, table) = dice.pick(&tables).clone();
    let mut txn = store.begin()?;
    append(&mut txn, model, &schema, &table, dice)?;
    Ok(Some(txn))
}

/// A few random rows for columns.
fn rows(columns: &[Column], dice: &mut Dice) -> Vec<Vec<Value>> {
    let count = match dice.below(10) {
        0 => 1,
        1 => 60,
        _ => dice.between(1, 20),
    };
    // A column that is NULL in every row has no segment.
    let all_null: Vec<bool> = columns.iter().map(|_| dice.chance(8)).collect();
    let row = |dice: &mut Dice| {
        let of = |(column, null): (&Column, &bool)| match null {
            true => Value::Null,
            false => value(&column.ty, dice),
        };
        columns.iter().zip(&all_null).map(of).collect()
    };
    (0..count).map(|_| row(dice)).collect()
}

/// Writes rows as one row group, not yet named by anything.
///
/// # Errors
/// What storage reports.
fn write_rows(
    store: &Arc<Store>,
    columns: &[Column],
    rows: &[Vec<Value>],
) -> Result<hushdb_storage::PendingRowGroup> {
    store.write_row_group(columns, &arrays(columns, rows))
}

fn arrays(columns: &[Column], rows: &[Vec<Value>]) -> Vec<arrow_array::ArrayRef> {
    let of = |(at, column): (usize, &Column)| {
        let values = rows.iter().map(|row| row.get(at).unwrap_or(&Value::Null));
        array(&column.ty, values)
    };
    columns.iter().enumerate().map(of).collect()
}

/// The table as the transaction sees it.
fn seen<'t>(
    catalog: &'t CatalogVersion,
    schema: &str,
    table: &str,
) -> Result<&'t hushdb_storage::TableVersion> {
    let found = catalog.table(schema, table);
    Ok(found.ok_or_else(|| Error::InvalidInput("the transaction lost a table".into()))?)
}

fn value(ty: &ColumnType, dice: &mut Dice) -> Value {
    if dice.chance(15) {
        return Value::Null;
    }
    match ty {
        ColumnType::Boolean => Value::Bool(dice.chance(50)),
        ColumnType::Int32 => Value::Int(i64::from(dice.throw() as i32)),
        ColumnType::Int64 => match dice.below(3) {
            0 => Value::Int(dice.throw() as i64),
            1 => Value::Int(7),
            _ => Value::Int(dice.below(1000) as i64),
        },
        ColumnType::Double => Value::Double((dice.below(1 << 40) as f64 / 256.0).to_bits()),
        _ => {
            let word = *dice.pick(&WORDS);
            match dice.below(8) {
                // So that a segment takes several sectors, and is written anew when most of its rows are gone.
                0 => Value::Text((0..40).map(|_| dice.throw().to_string()).collect()),
                1..=3 => Value::Text(format!("{word}{}", dice.throw())),
                _ => Value::Text(word.to_owned()),
            }
        }
    }
}

fn definition(name: String, dice: &mut Dice) -> ColumnDef {
    ColumnDef {
        name,
        ty: dice.pick(&COLUMN_TYPES).clone(),
        nullable: dice.chance(80),
        default: dice.chance(20).then(|| "1".to_owned()),
        generated: None,
        declared: None,
    }
}

fn column(def: &ColumnDef, id: ColumnId) -> Column {
    Column {
        id,
        name: def.name.clone(),
        ty: def.ty.clone(),
        nullable: def.nullable,
        default: def.default.clone(),
        generated: def.generated.clone(),
        declared: def.declared,
    }
}

/// A name that is not taken in the schema.
fn free_name(model: &Model, schema: &str, dice: &mut Dice) -> String {
    let taken = |name: &str| {
        let schema = model.schemas.get(schema);
        schema.is_some_and(|s| s.tables.contains_key(name) || s.views.contains_key(name))
    };
    loop {
        let name = format!("t{}", dice.below(50));
        if !taken(&name) {
            return name;
        }
    }
}

fn some_schema(model: &Model, dice: &mut Dice) -> String {
    let names: Vec<&String> = model.schemas.keys().collect();
    (*dice.pick(&names)).clone()
}

fn create_table(txn: &mut Transaction, model: &mut Model, dice: &mut Dice) -> Result<()> {
    let schema = some_schema(model, dice);
    let name = free_name(model, &schema, dice);
    let count = dice.between(1, 4);
    let defs: Vec<ColumnDef> = (0..count)
        .map(|at| definition(format!("c{at}"), dice))
        .collect();
    let id = txn.create_table(&schema, &name, defs.clone(), Vec::new())?;
    let table = TableModel {
        id,
        columns: (0..)
            .zip(&defs)
            .map(|(id, def)| column(def, ColumnId::new(id)))
            .collect(),
        indexes: Vec::new(),
        next_column_id: ColumnId::new(defs.len() as u32),
        next_row_id: 0,
        rows: Default::default(),
    };
    if let Some(schema) = model.schemas.get_mut(&schema) {
        schema.tables.insert(name.clone(), Arc::new(table));
    }
    if dice.chance(60) {
        create_index(txn, model, &schema, &name, dice)?;
    }
    match dice.chance(70) {
        true => append(txn, model, &schema, &name, dice),
        false => Ok(()),
    }
}

/// An index of one or two columns.
fn create_index(
    txn: &mut Transaction,
    model: &mut Model,
    schema: &str,
    table: &str,
    dice: &mut Dice,
) -> Result<()> {
    let Some(target) = model.table_mut(schema, table) else {
        return Ok(());
    };
    let name = format!("i{}", dice.throw());
    let first = dice.index(target.columns.len());
    let second = dice.index(target.columns.len());
    let mut columns = vec![&target.columns[first]];
    columns.extend((first != second).then(|| &target.columns[second]));
    let index = IndexDef {
        name: name.clone(),
        kind: IndexKind::Plain,
        columns: columns.iter().map(|column| column.name.clone()).collect(),
    };
    let ids = columns.iter().map(|column| column.id).collect();
    txn.create_index(schema, table, index)?;
    target.indexes.push((name, ids));
    Ok(())
}

fn drop_table(txn: &mut Transaction, model: &mut Model, schema: &str, table: &str) -> Result<()> {
    txn.drop_table(schema, table)?;
    if let Some(schema) = model.schemas.get_mut(schema) {
        schema.tables.remove(table);
    }
    Ok(())
}

fn rename_table(
    txn: &mut Transaction,
    model: &mut Model,
    schema: &str,
    table: &str,
    dice: &mut Dice,
) -> Result<()> {
    let name = free_name(model, schema, dice);
    txn.rename_table(schema, table, &name)?;
    if let Some(schema) = model.schemas.get_mut(schema)
        && let Some(table) = schema.tables.remove(table)
    {
        schema.tables.insert(name, table);
    }
    Ok(())
}

fn alter(
    txn: &mut Transaction,
    model: &mut Model,
    schema: &str,
    table: &str,
    dice: &mut Dice,
) -> Result<()> {
    let Some(target) = model.table_mut(schema, table) else {
        return Ok(());
    };
    let at = dice.index(target.columns.len());
    let old = target.columns[at].clone();
    match dice.below(6) {
        4 if target.indexes.len() < 3 => create_index(txn, model, schema, table, dice)?,
        4 | 5 => {
            if let Some((index, _)) = target.indexes.pop() {
                txn.drop_index(schema, table, &index)?;
            }
        }
        0 if target.columns.len() < 6 => {
            let def = definition(format!("c{}", target.next_column_id), dice);
            let fill = value(&def.ty, dice);
            let filled = (dice.chance(60) && fill != Value::Null)
                .then(|| array(&def.ty, [fill.clone()].iter()));
            let fill = match &filled {
                Some(_) => fill,
                None => Value::Null,
            };
            txn.add_column(schema, table, def.clone(), filled)?;
            let column = column(&def, target.next_column_id);
            target.columns.push(column);
            target.next_column_id = target.next_column_id.next().expect("few columns");
            for row in target.rows.values_mut() {
                row.push(fill.clone());
            }
        }
        1 if target.columns.len() > 1 => {
            let (needs, kept) = std::mem::take(&mut target.indexes)
                .into_iter()
                .partition(|(_, columns)| columns.contains(&old.id));
            target.indexes = kept;
            let needs: Vec<(String, Vec<ColumnId>)> = needs;
            for (index, _) in needs {
                txn.drop_index(schema, table, &index)?;
            }
            txn.drop_column(schema, table, &old.name)?;
            target.columns.remove(at);
            for row in target.rows.values_mut() {
                row.remove(at);
            }
        }
        2 => {
            let name = format!("r{}", dice.below(1000));
            if target.columns.iter().any(|column| column.name == name) {
                return Ok(());
            }
            txn.rename_column(schema, table, &old.name, &name)?;
            target.columns[at].name = name;
        }
        _ => {
            let default = dice.chance(50).then(|| format!("{}", dice.below(9)));
            txn.set_column(schema, table, &old.name, !old.nullable, default.clone())?;
            target.columns[at].nullable = !old.nullable;
            target.columns[at].default = default;
        }
    }
    Ok(())
}

fn truncate(txn: &mut Transaction, model: &mut Model, schema: &str, table: &str) -> Result<()> {
    txn.truncate(schema, table)?;
    if let Some(target) = model.table_mut(schema, table) {
        target.rows.clear();
    }
    Ok(())
}

fn vacuum(
    txn: &mut Transaction,
    model: &mut Model,
    schema: &str,
    table: &str,
    dice: &mut Dice,
) -> Result<()> {
    let rows = txn.vacuum_table(schema, table, dice.chance(50))?;
    let Some(target) = model.table_mut(schema, table).filter(|_| rows > 0) else {
        return Ok(());
    };
    if rows != target.rows.len() as u64 {
        return Err(Error::InvalidInput(
            "vacuum wrote another number of rows than there are".into(),
        ));
    }
    for row in std::mem::take(&mut target.rows).into_values() {
        target.rows.insert(target.next_row_id, row);
        target.next_row_id += 1;
    }
    Ok(())
}

fn schemas_and_views(txn: &mut Transaction, model: &mut Model, dice: &mut Dice) -> Result<()> {
    let schema = some_schema(model, dice);
    match dice.below(4) {
        0 if model.schemas.len() < 3 => {
            let name = format!("s{}", dice.throw());
            txn.create_schema(&name)?;
            model.schemas.insert(name, SchemaModel::default());
        }
        1 if schema != MAIN_SCHEMA => {
            txn.drop_schema(&schema)?;
            model.schemas.remove(&schema);
        }
        2 => {
            let views = model.schemas.get(&schema).map(|s| s.views.keys());
            let Some(name) = views.and_then(|mut names| names.next()).cloned() else {
                return Ok(());
            };
            txn.drop_view(&schema, &name)?;
            if let Some(schema) = model.schemas.get_mut(&schema) {
                schema.views.remove(&name);
            }
        }
        _ => {
            let name = free_name(model, &schema, dice);
            let sql = format!("SELECT {}", dice.throw());
            let view = View {
                name: name.clone(),
                sql: sql.clone(),
                columns: Vec::new(),
            };
            txn.create_view(&schema, view)?;
            if let Some(schema) = model.schemas.get_mut(&schema) {
                schema.views.insert(name, sql);
            }
        }
    }
    Ok(())
}

fn append(
    txn: &mut Transaction,
    model: &mut Model,
    schema: &str,
    table: &str,
    dice: &mut Dice,
) -> Result<()> {
    let columns = seen(txn.catalog(), schema, table)?.columns.clone();
    let groups = if dice.chance(80) { 1 } else { 3 };
    let (mut pending, mut all) = (Vec::new(), Vec::new());
    for _ in 0..groups {
        let rows = rows(&columns, dice);
        if pending.is_empty() && dice.chance(60) {
            txn.insert(schema, table, &arrays(&columns, &rows))?;
            all.extend(rows);
            continue;
        }
        pending.push(write_rows(txn.store(), &columns, &rows)?);
        if dice.chance(5) {
            // Written and not wanted after all.
            pending.pop();
            continue;
        }
        all.extend(rows);
    }
    txn.append(schema, table, pending)?;
    added(model, schema, table, all);
    Ok(())
}

fn added(model: &mut Model, schema: &str, table: &str, rows: Vec<Vec<Value>>) {
    if let Some(target) = model.table_mut(schema, table) {
        for row in rows {
            target.rows.insert(target.next_row_id, row);
            target.next_row_id += 1;
        }
    }
}

/// Row ids to be deleted: a run, some here and there, or all; at times ids that are not there.
fn victims(target: &TableModel, dice: &mut Dice) -> Vec<u64> {
    let ids: Vec<u64> = target.rows.keys().copied().collect();
    let mut chosen: Vec<u64> = match dice.below(5) {
        0 => ids,
        1 => {
            let from = dice.index(ids.len() + 1);
            ids.into_iter().skip(from).take(25).collect()
        }
        _ => {
            let percent = *dice.pick(&[5, 30, 70]);
            ids.into_iter().filter(|_| dice.chance(percent)).collect()
        }
    };
    if dice.chance(20) {
        chosen.push(target.next_row_id + dice.below(9));
        chosen.push(dice.below(target.next_row_id + 1));
    }
    chosen
}

fn delete(
    txn: &mut Transaction,
    model: &mut Model,
    schema: &str,
    table: &str,
    dice: &mut Dice,
) -> Result<()> {
    let Some(target) = model.table_mut(schema, table) else {
        return Ok(());
    };
    let ids = victims(target, dice);
    let deleted = txn.delete_rows(schema, table, &ids)?;
    let before = target.rows.len();
    for id in &ids {
        target.rows.remove(id);
    }
    match deleted == (before - target.rows.len()) as u64 {
        true => Ok(()),
        false => Err(Error::InvalidInput(
            "deleting returned another number of rows than were there".into(),
        )),
    }
}

fn update(
    txn: &mut Transaction,
    model: &mut Model,
    schema: &str,
    table: &str,
    bulk: bool,
    dice: &mut Dice,
) -> Result<()> {
    let Some(target) = model.table_mut(schema, table) else {
        return Ok(());
    };
    let ids: Vec<u64> = target
        .rows
        .keys()
        .copied()
        .filter(|_| dice.chance(10))
        .collect();
    if ids.is_empty() {
        return Ok(());
    }
    let columns = seen(txn.catalog(), schema, table)?.columns.clone();
    let at = dice.index(columns.len());
    let mut changed = Vec::new();
    for row in ids.iter().filter_map(|id| target.rows.get(id)) {
        let mut row = row.clone();
        row[at] = value(&columns[at].ty, dice);
        changed.push(row);
    }
    if !bulk {
        txn.delete_rows(schema, table, &ids)?;
        txn.insert(schema, table, &arrays(&columns, &changed))?;
    } else {
        let pending = write_rows(txn.store(), &columns, &changed)?;
        txn.delete_rows(schema, table, &ids)?;
        txn.append(schema, table, vec![pending])?;
    }
    for id in &ids {
        target.rows.remove(id);
    }
    added(model, schema, table, changed);
    Ok(())
}
