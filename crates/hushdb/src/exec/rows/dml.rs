//! INSERT, UPDATE, DELETE and TRUNCATE.
//!
//! Each is planned as a SELECT of row ids and new values, run, and fed to the storage transaction. An UPDATE deletes rows and
//! inserts them under new row ids.
//!
//! What must hold: DataFusion's own DML hooks are never used.

use super::beside::Beside;
use super::load::{self, RowRules};
use super::returning::{returning, row_by_row, select};
use super::row_ids::RowIds;
use crate::exec::columns::default_text::{self, is_default};
use crate::exec::columns::generated;
use crate::exec::columns::identity;
use crate::exec::query;
use crate::result::QueryResult;
use crate::statement::Statement;
use crate::transaction::Write;
use datafusion::arrow::datatypes::Schema;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::logical_expr::{LogicalPlan, LogicalPlanBuilder};
use datafusion::sql::sqlparser::ast::{
    self, Assignment, AssignmentTarget, Expr, FromTable, Ident, ObjectName, SelectItem, SetExpr,
    TableFactor, TableObject, TableWithJoins, UpdateTableFromKind,
};
use hushdb_query::memory::KeptRows;
use hushdb_query::plan::{DML_TARGET, DmlTarget, Snapshot, TableName};
use hushdb_query::scan::ROW_ID;
use hushdb_sql::type_names::stored_as;
use hushdb_sql::{
    Error, Result, like, name_parts, offered, position_of, postgres_literal, sqlstate,
};
use hushdb_storage::TableVersion;
use std::sync::Arc;

/// Rows that an INSERT is about to add.
pub(in crate::exec) struct Incoming<'a> {
    pub(in crate::exec) name: TableName,
    /// What the statement calls the table.
    pub(in crate::exec) alias: Ident,
    pub(in crate::exec) table: Arc<TableVersion>,
    pub(in crate::exec) write: Write<'a>,
    /// The rows, with the table's columns.
    pub(in crate::exec) plan: LogicalPlan,
    /// Positions of the columns that the statement gives values for.
    pub(in crate::exec) targets: Vec<usize>,
    pub(in crate::exec) returning: Option<Vec<SelectItem>>,
}

pub(in crate::exec) fn incoming<'a>(
    statement: &Statement<'a>,
    insert: ast::Insert,
    by_name: bool,
) -> Result<Incoming<'a>> {
    let TableObject::TableName(name) = &insert.table else {
        return Err(Error::binder("INSERT INTO takes the name of a table"));
    };
    let (name, write) = statement.resolve_for_write(name)?;
    let alias = insert.table_alias.map(|alias| alias.alias);
    let alias = alias.unwrap_or_else(|| Ident::with_quote('"', name.name.clone()));
    let table = table_of(statement.snapshot(), &name)?;
    let mut targets = insert_targets(&table, &insert.columns)?;
    if let Some(source) = &insert.source {
        identity::refuse_values(statement.snapshot(), &name, &table, &targets, Some(source))?;
    }
    let fewer_may_come = insert.columns.is_empty() && statement.session.settings.lock().postgres;
    let planner = statement.planner();
    let (plan, sources) = match insert.source {
        // DEFAULT VALUES
        None => {
            targets.clear();
            (
                LogicalPlanBuilder::empty(true).build()?,
                vec![None; table.columns.len()],
            )
        }
        Some(mut source) => {
            bring_values_to_columns(statement.snapshot(), &name, &mut source, &table, &targets)?;
            let plan = planner.plan_query(*source)?;
            if by_name {
                let names = plan.schema().fields().iter().map(|f| f.name());
                targets = names
                    .map(|name| position(&table, name))
                    .collect::<Result<_>>()?;
                generated::refuse_values(&table, &targets)?;
            }
            let given = plan.schema().fields().len();
            // Without a column list PostgreSQL leaves the others to their defaults; in DuckDB the number of values has to be that
            // of the columns.
            if fewer_may_come && given > 0 {
                targets.truncate(given);
            }
            if given != targets.len() {
                return Err(Error::binder(format!(
                    "table {} has {} columns but {given} values were supplied",
                    name.name,
                    targets.len()
                )));
            }
            let mut sources = vec![None; table.columns.len()];
            for (i, target) in targets.iter().enumerate() {
                sources[*target] = Some(i);
            }
            (plan, sources)
        }
    };
    let plan = load::project(&planner, plan, &name, &table.columns, &sources)?;
    Ok(Incoming {
        name,
        alias,
        table,
        write,
        plan,
        targets,
        returning: insert.returning,
    })
}

/// Adds all rows of an INSERT.
pub(in crate::exec) fn add_all(
    statement: &Statement<'_>,
    incoming: Incoming<'_>,
) -> Result<QueryResult> {
    let Incoming {
        name,
        alias,
        table,
        mut write,
        mut plan,
        returning: items,
        ..
    } = incoming;
    let planner = statement.planner();
    let rules = RowRules::new(&planner, &name.name, &table.columns, &table.checks)?;
    let mut returned = None;
    if let Some(items) = &items {
        let rows = query::keep(statement, &plan, |batch| rules.typed(&batch))?;
        let result = returning(statement, &alias, items, &rows)?;
        returned = Some(result);
        plan = rows_plan(&rows)?;
    }
    let rows = load::load(statement, &mut write, &name, &plan, rules)?;
    write.commit()?;
    Ok(returned.unwrap_or_else(|| QueryResult::count(rows)))
}

pub(in crate::exec) fn table_of(
    snapshot: &Snapshot,
    name: &TableName,
) -> Result<Arc<TableVersion>> {
    Ok(snapshot
        .table(&[
            name.database.clone(),
            name.schema.clone(),
            name.name.clone(),
        ])?
        .1)
}

/// Positions in the table of the columns that INSERT names, all of them if it names none.
pub(in crate::exec) fn insert_targets(
    table: &TableVersion,
    columns: &[ObjectName],
) -> Result<Vec<usize>> {
    if columns.is_empty() {
        return Ok(generated::given(table));
    }
    let mut targets: Vec<usize> = vec![];
    for column in columns {
        let parts = name_parts(column)?;
        let name = parts.last().cloned().unwrap_or_default();
        let position = position(table, &name)?;
        if targets.contains(&position) {
            return Err(Error::binder(format!(
                "Duplicate column name \"{name}\" in INSERT"
            )));
        }
        targets.push(position);
    }
    generated::refuse_values(table, &targets)?;
    Ok(targets)
}

pub(in crate::exec) fn position(table: &TableVersion, name: &str) -> Result<usize> {
    let names = table.columns.iter().map(|column| column.name.as_str());
    position_of(names, name).ok_or_else(|| {
        let names = table.columns.iter().map(|column| column.name.as_str());
        Error::binder(format!(
            "Table \"{}\" does not have a column with name \"{name}\"{}",
            table.name,
            offered("\nDid you mean", &like(name, names))
        ))
        .with_sqlstate(sqlstate::UNDEFINED_COLUMN)
    })
}

/// As [`position`], of a column that an UPDATE sets.
fn updated_position(table: &TableVersion, name: &str) -> Result<usize> {
    position(table, name).map_err(|error| {
        let names = table.columns.iter().map(|column| column.name.as_str());
        Error::binder(format!(
            "Referenced update column {name} not found in table!{}",
            offered("\nDid you mean", &like(name, names))
        ))
        .with_sqlstate(error.sqlstate())
    })
}

/// Puts the column's default where VALUES says DEFAULT, and casts every value by itself to its column's type, so that one
/// column's values need no common type.
fn bring_values_to_columns(
    snapshot: &Snapshot,
    place: &TableName,
    query: &mut ast::Query,
    table: &TableVersion,
    targets: &[usize],
) -> Result<()> {
    let values = match query.body.as_mut() {
        SetExpr::Values(values) => values,
        body => return bring_literals_to_columns(body, table, targets),
    };
    for row in &mut values.rows {
        for (expr, target) in row.iter_mut().zip(targets) {
            let column = &table.columns[*target];
            let value = if is_default(expr) {
                default_text::expression(snapshot, place, column.default.as_deref())?
            } else {
                std::mem::replace(expr, Expr::Identifier(Ident::new("")))
            };
            *expr = stored_as(value, &column.ty)?;
        }
    }
    Ok(())
}

/// Gives the texts of a SELECT's items the types of their columns, if their type is that of what they meet.
fn bring_literals_to_columns(
    body: &mut SetExpr,
    table: &TableVersion,
    targets: &[usize],
) -> Result<()> {
    match body {
        SetExpr::SetOperation { left, right, .. } => {
            bring_literals_to_columns(left, table, targets)?;
            bring_literals_to_columns(right, table, targets)
        }
        SetExpr::Select(select) => {
            for (item, target) in select.projection.iter_mut().zip(targets) {
                if let SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } = item
                    && postgres_literal(expr).is_some()
                {
                    *expr = stored_as(expr.clone(), &table.columns[*target].ty)?;
                }
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Rows of a table that a statement finds, their ids first.
pub(in crate::exec) struct FoundRows<'a> {
    name: TableName,
    table: Arc<TableVersion>,
    alias: Ident,
    write: Write<'a>,
    pub(in crate::exec) plan: LogicalPlan,
    /// What stands between the ids and the values.
    beside: Beside,
}

/// The rows that an UPDATE finds, with their new values.
pub(in crate::exec) fn found_by_update<'a>(
    statement: &Statement<'a>,
    update: &ast::Update,
) -> Result<FoundRows<'a>> {
    if update.or.is_some() {
        return Err(Error::parser(
            "UPDATE takes no OR; a key that would be there twice is an error",
        ));
    }
    if !update.order_by.is_empty() || update.limit.is_some() {
        return Err(Error::unsupported(
            "ORDER BY and LIMIT of UPDATE are not there yet; choose rows with a subquery",
        ));
    }
    if !update.table.joins.is_empty() {
        return Err(Error::parser(
            "UPDATE takes one table; join others with FROM",
        ));
    }
    let (name, alias) = target_name(&update.table.relation)?;
    let (name, write) = statement.resolve_for_write(&name)?;
    let table = table_of(statement.snapshot(), &name)?;

    let assigned = assignments(&table, &update.assignments)?;
    identity::refuse_update(statement.snapshot(), &name, &table, &assigned)?;
    let alias = alias.unwrap_or_else(|| Ident::with_quote('"', name.name.clone()));
    let from = tables_of(update.from.as_ref());
    let beside = Beside::named(statement, &from, update.returning.as_deref(), &table)?;
    let mut items = vec![SelectItem::UnnamedExpr(column_of(&alias, ROW_ID))];
    items.extend(beside.values());
    items.extend(new_values(
        statement.snapshot(),
        &name,
        &table,
        &alias,
        assigned,
    )?);
    let plan = target_plan(
        statement,
        &name,
        &table,
        &alias,
        items,
        from,
        update.selection.clone(),
    )?;
    Ok(FoundRows {
        name,
        table,
        alias,
        write,
        plan,
        beside,
    })
}

/// The tables of an UPDATE's FROM.
pub(in crate::exec) fn tables_of(from: Option<&UpdateTableFromKind>) -> Vec<TableWithJoins> {
    match from {
        Some(UpdateTableFromKind::AfterSet(tables) | UpdateTableFromKind::BeforeSet(tables)) => {
            tables.clone()
        }
        None => vec![],
    }
}

pub(in crate::exec) fn update(
    statement: &Statement<'_>,
    update: ast::Update,
) -> Result<QueryResult> {
    let FoundRows {
        name,
        table,
        alias,
        mut write,
        plan,
        beside,
    } = found_by_update(statement, &update)?;
    let planner = statement.planner();
    let first = 1 + beside.count();
    let sources = (0..table.columns.len()).map(|column| Some(first + column));
    let sources: Vec<Option<usize>> = sources.collect();
    let mut plan = load::project_after(&planner, plan, first, &name, &table.columns, &sources)?;
    let rules = RowRules::new(&planner, &name.name, &table.columns, &table.checks)?;
    let mut returned = None;
    if let Some(items) = &update.returning {
        let mut ids = RowIds::default();
        let rows = query::keep(statement, &plan, |batch| {
            typed_after(&rules, first, &ids.take(batch)?)
        })?;
        let items = beside.returned(items, &alias);
        let without_ids = rows.project(&values_first(first, &table))?;
        let result = returning(statement, &alias, &items, &without_ids)?;
        returned = Some(result);
        let values = first..first + table.columns.len();
        plan = rows_plan(&rows.project(&std::iter::once(0).chain(values).collect::<Vec<_>>())?)?;
    }
    let rows = load::replace(statement, &mut write, &name, &plan, rules)?;
    write.commit()?;
    Ok(returned.unwrap_or_else(|| QueryResult::count(rows)))
}

/// Rows with the table's exact types behind the first columns, of which there are so many.
fn typed_after(rules: &RowRules, first: usize, batch: &RecordBatch) -> Result<RecordBatch> {
    let columns: Vec<usize> = (first..batch.num_columns()).collect();
    let typed = rules.typed(&batch.project(&columns)?)?;
    let fields = batch.schema_ref().fields().iter().take(first);
    let fields = fields.chain(typed.schema_ref().fields()).cloned();
    let arrays = batch.columns().iter().take(first).chain(typed.columns());
    let schema = Schema::new(fields.collect::<Vec<_>>());
    Ok(RecordBatch::try_new(
        Arc::new(schema),
        arrays.cloned().collect(),
    )?)
}

/// Places of a table's columns, and then of what stands between them and the ids, in rows with so many columns before the table's.
fn values_first(first: usize, table: &TableVersion) -> Vec<usize> {
    (first..first + table.columns.len())
        .chain(1..first)
        .collect()
}

/// `alias.column`
pub(in crate::exec) fn column_of(alias: &Ident, name: &str) -> Expr {
    Expr::CompoundIdentifier(vec![alias.clone(), Ident::with_quote('"', name)])
}

/// The values of a changed row, which the alias stands for, under names of ours.
pub(in crate::exec) fn new_values(
    snapshot: &Snapshot,
    place: &TableName,
    table: &TableVersion,
    alias: &Ident,
    mut assigned: Vec<(usize, Expr)>,
) -> Result<Vec<SelectItem>> {
    let columns = table.columns.iter().enumerate();
    let values = columns.map(|(i, column)| {
        let at = assigned.iter().position(|(target, _)| *target == i);
        let expr = match at.map(|at| assigned.swap_remove(at).1) {
            Some(expr) if is_default(&expr) => {
                default_text::expression(snapshot, place, column.default.as_deref())?
            }
            Some(expr) => expr,
            None => column_of(alias, &column.name),
        };
        Ok(named(expr, format!("$new{i}")))
    });
    values.collect()
}

fn named(expr: Expr, name: String) -> SelectItem {
    let alias = Ident::with_quote('"', name);
    SelectItem::ExprWithAlias { expr, alias }
}

/// Table name and alias of the table that UPDATE or DELETE changes.
pub(in crate::exec) fn target_name(factor: &TableFactor) -> Result<(ObjectName, Option<Ident>)> {
    match factor {
        TableFactor::Table { name, alias, .. } => {
            Ok((name.clone(), alias.as_ref().map(|a| a.name.clone())))
        }
        _ => Err(Error::parser("UPDATE and DELETE change a table")),
    }
}

/// Column positions and their new values; `(a, b) = (x, y)` is taken apart.
pub(in crate::exec) fn assignments(
    table: &TableVersion,
    assignments: &[Assignment],
) -> Result<Vec<(usize, Expr)>> {
    let mut assigned: Vec<(usize, Expr)> = vec![];
    for assignment in assignments {
        let pairs: Vec<(ObjectName, Expr)> = match (&assignment.target, &assignment.value) {
            (AssignmentTarget::ColumnName(name), value) => vec![(name.clone(), value.clone())],
            (AssignmentTarget::Tuple(names), Expr::Tuple(values))
                if names.len() == values.len() =>
            {
                names.iter().cloned().zip(values.iter().cloned()).collect()
            }
            _ => {
                return Err(Error::unsupported(
                    "SET (a, b) = ... takes as many values as columns",
                ));
            }
        };
        for (name, value) in pairs {
            let column = name_parts(&name)?.pop().unwrap_or_default();
            let position = updated_position(table, &column)?;
            generated::refuse_update(&table.columns[position])?;
            if assigned.iter().any(|(p, _)| *p == position) {
                return Err(Error::binder(format!(
                    "Multiple assignments to same column \"{column}\""
                )));
            }
            // Behind a query it would be a text like any other.
            let value = match postgres_literal(&value) {
                Some(_) => stored_as(value, &table.columns[position].ty)?,
                None => value,
            };
            assigned.push((position, value));
        }
    }
    Ok(assigned)
}

/// `SELECT items FROM target AS alias, from... WHERE selection`, where the target carries its row ids.
fn target_plan(
    statement: &Statement<'_>,
    name: &TableName,
    table: &Arc<TableVersion>,
    alias: &Ident,
    items: Vec<SelectItem>,
    from: Vec<TableWithJoins>,
    selection: Option<Expr>,
) -> Result<LogicalPlan> {
    let query = select(&format!("\"{DML_TARGET}\" AS {alias}"), |select| {
        select.projection = items;
        select.from.extend(from);
        select.selection = selection;
    })?;
    let target = DmlTarget {
        database: name.database.clone(),
        table: Arc::clone(table),
    };
    let plan = statement.planner().with_target(target).plan_query(query)?;
    row_by_row(&plan)?;
    Ok(plan)
}

/// Kept rows as a plan, to be cast and checked like those of an INSERT.
pub(in crate::exec) fn rows_plan(rows: &KeptRows) -> Result<LogicalPlan> {
    Ok(LogicalPlanBuilder::scan("new_rows", rows.source()?, None)?.build()?)
}

/// The rows that a DELETE finds, with their values if it has RETURNING.
pub(in crate::exec) fn found_by_delete<'a>(
    statement: &Statement<'a>,
    delete: &ast::Delete,
) -> Result<FoundRows<'a>> {
    if !delete.order_by.is_empty() || delete.limit.is_some() {
        return Err(Error::unsupported(
            "ORDER BY and LIMIT of DELETE are not there yet; choose rows with a subquery",
        ));
    }
    let (FromTable::WithFromKeyword(tables) | FromTable::WithoutKeyword(tables)) = &delete.from;
    let [TableWithJoins { relation, joins }] = tables.as_slice() else {
        return Err(Error::parser(
            "DELETE takes one table; join others with USING",
        ));
    };
    if !joins.is_empty() {
        return Err(Error::parser(
            "DELETE takes one table; join others with USING",
        ));
    }
    let (name, alias) = target_name(relation)?;
    let (name, write) = statement.resolve_for_write(&name)?;
    let table = table_of(statement.snapshot(), &name)?;
    let alias = alias.unwrap_or_else(|| Ident::with_quote('"', name.name.clone()));
    let using = delete.using.clone().unwrap_or_default();
    let beside = Beside::named(statement, &using, delete.returning.as_deref(), &table)?;
    let mut items = vec![SelectItem::UnnamedExpr(column_of(&alias, ROW_ID))];
    if delete.returning.is_some() {
        items.extend(beside.values());
        let columns = table.columns.iter().enumerate();
        items.extend(columns.map(|(i, c)| named(column_of(&alias, &c.name), format!("$old{i}"))));
    }
    let plan = target_plan(
        statement,
        &name,
        &table,
        &alias,
        items,
        using,
        delete.selection.clone(),
    )?;
    Ok(FoundRows {
        name,
        table,
        alias,
        write,
        plan,
        beside,
    })
}

pub(in crate::exec) fn delete(
    statement: &Statement<'_>,
    delete: ast::Delete,
) -> Result<QueryResult> {
    let is_all = delete.selection.is_none() && delete.using.is_none() && delete.returning.is_none();
    let FoundRows {
        name,
        table,
        alias,
        mut write,
        plan,
        beside,
    } = found_by_delete(statement, &delete)?;
    if is_all {
        let rows = write.truncate(&name.schema, &name.name)?;
        write.commit()?;
        return Ok(QueryResult::count(rows));
    }
    let (ids, returned) = match &delete.returning {
        None => (RowIds::of(statement, &plan)?, None),
        Some(items) => {
            let mut ids = RowIds::default();
            let planner = statement.planner();
            let rules = RowRules::new(&planner, &name.name, &table.columns, &[])?;
            let first = 1 + beside.count();
            let rows = query::keep(statement, &plan, |batch| {
                typed_after(&rules, first, &ids.take(batch)?)
            })?;
            let rows = rows.project(&values_first(first, &table))?;
            let items = beside.returned(items, &alias);
            let returned = returning(statement, &alias, &items, &rows)?;
            (ids, Some(returned))
        }
    };
    let rows = ids.delete(&mut write, &name)?;
    write.commit()?;
    Ok(returned.unwrap_or_else(|| QueryResult::count(rows)))
}

pub(in crate::exec) fn truncate(
    statement: &Statement<'_>,
    truncate: &ast::Truncate,
) -> Result<QueryResult> {
    let [target] = truncate.table_names.as_slice() else {
        return Err(Error::parser("TRUNCATE takes one table"));
    };
    let (name, mut write) = statement.resolve_for_write(&target.name)?;
    let table = table_of(statement.snapshot(), &name)?;
    write.lock_whole(table.id)?;
    let rows = write.truncate(&name.schema, &name.name)?;
    write.commit()?;
    Ok(QueryResult::count(rows))
}
