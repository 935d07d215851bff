//! INSERT with ON CONFLICT, OR IGNORE or OR REPLACE: rows whose key is there already are left out, or change the row that
//! has it.
//!
//! What must hold: conflicts are found on what the statement sees, own changes included. What others commit meanwhile shows
//! when the statement commits; one that stands alone then begins again on what they left.
//! What it refuses: changing one row twice.

use super::dml::{self, Incoming, assignments, column_of, new_values, rows_plan};
use super::load::{self, RowRules};
use super::query;
use super::returning::{returning, select};
use super::row_ids::{RowIds, row_ids_of};
use crate::connection::Connection;
use crate::error::{Error, ErrorKind, Result};
use crate::plan::{DML_EXCLUDED, DML_TARGET, Snapshot, TableName};
use crate::result::QueryResult;
use crate::scan::ScanProgress;
use crate::sql::normalize;
use crate::sql::type_names::arrow_field;
use crate::transaction::Write;
use datafusion::arrow::array::{ArrayRef, UInt64Array};
use datafusion::arrow::compute::take;
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::arrow::row::{RowConverter, SortField};
use datafusion::catalog::MemTable;
use datafusion::datasource::provider_as_source;
use datafusion::logical_expr::TableSource;
use datafusion::sql::sqlparser::ast::{
    self, Assignment, ConflictTarget, Expr, Ident, OnConflictAction, OnInsert, SelectItem,
    SqliteOnConflict, VisitMut, VisitorMut,
};
use hushdb_storage::{Column, Index, TableVersion};
use std::collections::HashSet;
use std::convert::Infallible;
use std::ops::ControlFlow;
use std::sync::Arc;

/// How often a statement that stands alone is tried when others are faster each time.
const TRIES: usize = 64;
/// The column that pairs an existing row with the one that was to be inserted.
const PAIR: &str = "$pair";

/// What an INSERT does about keys that are there already.
pub(super) struct Rule {
    /// Columns of the one key that counts.
    target: Option<Vec<String>>,
    action: Action,
}

enum Action {
    Nothing,
    /// The values that the statement gives replace those of the row.
    Replace,
    Update {
        assignments: Vec<Assignment>,
        selection: Option<Box<Expr>>,
    },
}

/// The rule that a statement gives, if it gives one.
pub(super) fn rule(insert: &ast::Insert) -> Result<Option<Rule>> {
    let action = match insert.or {
        None => None,
        Some(SqliteOnConflict::Ignore) => Some(Action::Nothing),
        Some(SqliteOnConflict::Replace) => Some(Action::Replace),
        Some(_) => {
            return Err(Error::parser(
                "INSERT OR takes IGNORE or REPLACE; other statements stop at a conflict by themselves",
            ));
        }
    };
    let on = match (&insert.on, action) {
        (None, action) => {
            return Ok(action.map(|action| Rule {
                target: None,
                action,
            }));
        }
        (Some(OnInsert::OnConflict(on)), None) => on,
        (Some(OnInsert::OnConflict(_)), Some(_)) => {
            return Err(Error::parser(
                "You can not provide both OR REPLACE|IGNORE and an ON CONFLICT clause, please remove the first if you \
                 want to have more granual control",
            ));
        }
        (Some(_), _) => {
            return Err(Error::parser(
                "ON DUPLICATE KEY is not known; use ON CONFLICT (columns) DO UPDATE",
            ));
        }
    };
    let target = match &on.conflict_target {
        None => None,
        Some(ConflictTarget::Columns(columns)) => Some(columns.iter().map(normalize).collect()),
        Some(ConflictTarget::OnConstraint(_)) => {
            return Err(Error::unsupported(
                "ON CONSTRAINT conflict target is not supported yet; name the key's columns",
            ));
        }
    };
    let action = match &on.action {
        OnConflictAction::DoNothing => Action::Nothing,
        OnConflictAction::DoUpdate(update) => {
            refuse_subqueries(update)?;
            Action::Update {
                assignments: update.assignments.clone(),
                selection: update.selection.clone().map(Box::new),
            }
        }
    };
    Ok(Some(Rule { target, action }))
}

fn refuse_subqueries(update: &ast::DoUpdate) -> Result<()> {
    let found = ast::visit_expressions(update, |expr| match expr {
        Expr::Subquery(_) | Expr::Exists { .. } | Expr::InSubquery { .. } => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    match found {
        ControlFlow::Break(()) => Err(Error::binder(
            "DO UPDATE SET clause cannot contain a subquery",
        )),
        ControlFlow::Continue(()) => Ok(()),
    }
}

impl Rule {
    /// The keys that count.
    fn keys<'a>(&self, table: &'a TableVersion) -> Result<Vec<&'a Index>> {
        let indexes = table.indexes().iter();
        let unique: Vec<&Index> = indexes.filter(|index| index.kind().is_unique()).collect();
        let Some(columns) = &self.target else {
            return match (unique.as_slice(), &self.action) {
                ([], _) => Err(Error::binder(
                    "There are no UNIQUE/PRIMARY KEY constraints that refer to this table, specify ON CONFLICT columns \
                     manually",
                )),
                ([_], _) | (_, Action::Nothing) => Ok(unique),
                _ => Err(Error::binder(
                    "Conflict target has to be provided for a DO UPDATE operation when the table has multiple \
                     UNIQUE/PRIMARY KEY constraints",
                )),
            };
        };
        let ids = columns
            .iter()
            .map(|name| Ok(table.columns[dml::position(table, name)?].id));
        let ids: Vec<u32> = ids.collect::<Result<_>>()?;
        let is_it = |index: &&&Index| {
            index.column_ids().len() == ids.len()
                && index.column_ids().iter().all(|id| ids.contains(id))
        };
        match unique.iter().find(is_it) {
            Some(index) => Ok(vec![index]),
            None => Err(Error::binder(
                "The specified columns as conflict target are not referenced by a UNIQUE/PRIMARY KEY CONSTRAINT or INDEX",
            )),
        }
    }
}

/// Runs an INSERT with a rule, again when it was overtaken. `incoming` begins it.
pub(super) fn run<'a>(
    connection: &'a Connection,
    rule: &Rule,
    progress: &Arc<ScanProgress>,
    incoming: impl Fn() -> Result<Incoming<'a>>,
) -> Result<QueryResult> {
    let mut tries = TRIES;
    loop {
        let (write, result) = apply(connection, rule, incoming()?, progress)?;
        tries -= 1;
        match write.commit() {
            Ok(()) => return Ok(result),
            Err(error) if tries > 0 && is_overtaken(&error) => progress.check()?,
            Err(error) => return Err(error),
        }
    }
}

/// Whether another transaction has committed the same key or changed the same row first.
fn is_overtaken(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Conflict | ErrorKind::Constraint)
}

fn apply<'a>(
    connection: &'a Connection,
    rule: &Rule,
    incoming: Incoming<'a>,
    progress: &Arc<ScanProgress>,
) -> Result<(Write<'a>, QueryResult)> {
    let Incoming {
        snapshot,
        name,
        table,
        mut write,
        plan,
        targets,
        returning: items,
    } = incoming;
    let planner = connection.planner(&snapshot, progress);
    let rules = RowRules::new(&planner, &name.name, &table.columns, &table.checks)?;
    let keys = rule.keys(&table)?;
    let change = Change {
        connection,
        snapshot: &snapshot,
        name: &name,
        table: &table,
        progress,
    };
    // Also planned without rows, so that a mistake shows.
    let proposed = query::collect(connection, &plan, progress)?;
    let proposed = proposed.iter().map(|batch| rules.typed(batch));
    let proposed = load::joined(&proposed.collect::<Result<Vec<_>>>()?)?;
    let proposed = proposed.unwrap_or_else(|| no_rows(&table));
    let changes = !matches!(rule.action, Action::Nothing);
    let split = split(&table, &keys, &proposed, changes)?;

    let mut batches = vec![batch_of(&table, taken(&proposed, &split.fresh)?)?];
    if changes {
        let (gone, changed) = change.changed_rows(&write, rule, &proposed, split.met, &targets)?;
        write.delete_rows(&name.schema, &name.name, &gone)?;
        batches.extend(changed);
    }
    let typed = batches.iter().map(|batch| rules.typed(batch));
    let batches = typed.collect::<Result<Vec<_>>>()?;
    let returned = match &items {
        None => None,
        Some(items) => {
            let alias = Ident::with_quote('"', name.name.clone());
            Some(returning(
                connection, &snapshot, &table, &alias, items, &batches, progress,
            )?)
        }
    };
    let count: usize = batches.iter().map(RecordBatch::num_rows).sum();
    if count <= load::FEW_ROWS.min(write.store().row_group_rows()) {
        let held = batches.iter().map(|batch| rules.apply(batch));
        if let Some(arrays) = load::joined(&held.collect::<Result<Vec<_>>>()?)? {
            load::add(&mut write, &name, &table.columns, &arrays)?;
        }
    } else {
        let plan = rows_plan(&plan, batches)?;
        load::load(connection, &mut write, &name, &plan, rules, progress)?;
    }
    let result = match returned {
        Some(rows) => rows,
        None => QueryResult::count(count as u64)?,
    };
    Ok((write, result))
}

fn no_rows(table: &TableVersion) -> Vec<ArrayRef> {
    let columns = table.columns.iter();
    let empty = |column: &Column| datafusion::arrow::array::new_empty_array(&column.ty.arrow());
    columns.map(empty).collect()
}

fn schema_of(table: &TableVersion) -> Vec<Field> {
    let columns = table.columns.iter();
    columns.map(|c| arrow_field(&c.name, &c.ty, true)).collect()
}

fn batch_of(table: &TableVersion, arrays: Vec<ArrayRef>) -> Result<RecordBatch> {
    let schema = Arc::new(Schema::new(schema_of(table)));
    Ok(RecordBatch::try_new(schema, arrays)?)
}

fn taken(arrays: &[ArrayRef], rows: &[u64]) -> Result<Vec<ArrayRef>> {
    let rows = UInt64Array::from(rows.to_vec());
    let taken = arrays.iter().map(|array| Ok(take(array, &rows, None)?));
    taken.collect()
}

/// Rows of an INSERT.
struct Split {
    /// Those whose key is not there.
    fresh: Vec<u64>,
    /// Ids of rows that have the key, and the rows of the statement that met them.
    met: Vec<(u64, u64)>,
}

fn split(
    table: &TableVersion,
    keys: &[&Index],
    proposed: &[ArrayRef],
    changes: bool,
) -> Result<Split> {
    let rows = proposed.first().map_or(0, |array| array.len());
    let mut split = Split {
        fresh: vec![],
        met: vec![],
    };
    let mut met = HashSet::new();
    let mut columns = vec![];
    for index in keys {
        let ids = index.column_ids().iter();
        let arrays = ids.filter_map(|id| {
            let at = table.columns.iter().position(|column| column.id == *id)?;
            proposed.get(at).cloned()
        });
        let arrays: Vec<ArrayRef> = arrays.collect();
        let fields = arrays.iter().map(|a| SortField::new(a.data_type().clone()));
        let comparable = RowConverter::new(fields.collect())?.convert_columns(&arrays)?;
        columns.push((*index, arrays, comparable));
    }
    let mut earlier = vec![HashSet::new(); columns.len()];
    for row in 0..rows {
        let mut found = None;
        for (index, arrays, _) in &columns {
            if let Some(id) = table.find(index, arrays, row)?.first() {
                found = Some(*id);
                break;
            }
        }
        if let Some(id) = found {
            if changes && !met.insert(id) {
                return Err(Error::affected_twice());
            }
            split.met.push((id, row as u64));
            continue;
        }
        let is_null = |arrays: &[ArrayRef]| arrays.iter().any(|array| array.is_null(row));
        let mut again = columns.iter().zip(&earlier);
        if again.any(|((_, arrays, comparable), earlier)| {
            !is_null(arrays) && earlier.contains(&comparable.row(row))
        }) {
            if changes {
                return Err(Error::affected_twice());
            }
            continue;
        }
        for ((_, arrays, comparable), earlier) in columns.iter().zip(&mut earlier) {
            if !is_null(arrays) {
                earlier.insert(comparable.row(row));
            }
        }
        split.fresh.push(row as u64);
    }
    Ok(split)
}

/// The rows that a statement changes instead of adding others.
struct Change<'a> {
    connection: &'a Connection,
    snapshot: &'a Snapshot,
    name: &'a TableName,
    table: &'a Arc<TableVersion>,
    progress: &'a Arc<ScanProgress>,
}

impl Change<'_> {
    /// Ids of the rows that change, and what they become.
    fn changed_rows(
        &self,
        write: &Write<'_>,
        rule: &Rule,
        proposed: &[ArrayRef],
        mut met: Vec<(u64, u64)>,
        targets: &[usize],
    ) -> Result<(Vec<u64>, Vec<RecordBatch>)> {
        // Rows that lie together are read together.
        met.sort_unstable();
        let (ids, rows): (Vec<u64>, Vec<u64>) = met.into_iter().unzip();
        let columns: Vec<&Column> = self.table.columns.iter().collect();
        let existing = write.store().read_rows(self.table, &columns, &ids)?;
        let excluded = taken(proposed, &rows)?;
        match &rule.action {
            Action::Nothing => Ok((vec![], vec![])),
            Action::Replace => {
                let both = existing.into_iter().zip(excluded).enumerate();
                let new =
                    both.map(|(at, (old, new))| if targets.contains(&at) { new } else { old });
                let new = new.map(load::compact).collect();
                Ok((ids, vec![batch_of(self.table, new)?]))
            }
            Action::Update {
                assignments,
                selection,
            } => {
                let (pairs, batches) =
                    self.computed(existing, excluded, assignments, selection.as_deref())?;
                let at = |pair: u64| usize::try_from(pair).ok().and_then(|at| ids.get(at));
                let gone = pairs.into_iter().filter_map(|pair| at(pair).copied());
                Ok((gone.collect(), batches))
            }
        }
    }

    /// `SELECT new values FROM existing JOIN excluded WHERE selection`: which pairs change, and to what.
    fn computed(
        &self,
        existing: Vec<ArrayRef>,
        excluded: Vec<ArrayRef>,
        set: &[Assignment],
        selection: Option<&Expr>,
    ) -> Result<(Vec<u64>, Vec<RecordBatch>)> {
        let Self {
            connection,
            snapshot,
            progress,
            table,
            ..
        } = self;
        let alias = Ident::with_quote('"', self.name.name.clone());
        let mut qualify = Qualify {
            table,
            alias: &alias,
        };
        let mut assigned = assignments(table, set)?;
        for (_, expr) in &mut assigned {
            let ControlFlow::Continue(()) = VisitMut::visit(expr, &mut qualify);
        }
        let mut selection = selection.cloned();
        if let Some(expr) = &mut selection {
            let ControlFlow::Continue(()) = VisitMut::visit(expr, &mut qualify);
        }
        let mut items = vec![SelectItem::UnnamedExpr(column_of(&alias, PAIR))];
        items.extend(new_values(table, &alias, assigned)?);
        let from = format!(
            "\"{DML_TARGET}\" AS {alias} JOIN \"{DML_EXCLUDED}\" AS excluded ON {alias}.\"{PAIR}\" = excluded.\"{PAIR}\""
        );
        let query = select(&from, |select| {
            select.projection = items;
            select.selection = selection;
        })?;
        let planner = connection
            .planner(snapshot, progress)
            .with_rows(DML_TARGET, numbered(table, existing)?)
            .with_rows(DML_EXCLUDED, numbered(table, excluded)?);
        let plan = planner.plan_query(query)?;
        let computed = query::collect(connection, &plan, progress)?;
        let (pairs, batches) = first_of_each_row(computed)?;
        let planner = connection.planner(snapshot, progress);
        let sources: Vec<Option<usize>> = (1..=table.columns.len()).map(Some).collect();
        let plan = load::project(
            &planner,
            rows_plan(&plan, batches)?,
            &table.columns,
            &sources,
        )?;
        Ok((pairs, query::collect(connection, &plan, progress)?))
    }
}

/// Splits the rows' numbers off; a row that comes twice counts once, by its first.
fn first_of_each_row(batches: Vec<RecordBatch>) -> Result<(Vec<u64>, Vec<RecordBatch>)> {
    let mut seen = RowIds::default();
    let first = batches.into_iter().map(|batch| seen.take(batch));
    let kept = first.collect::<Result<Vec<_>>>()?;
    let numbers = kept.iter().map(row_ids_of).collect::<Result<Vec<_>>>()?;
    let numbers = numbers
        .into_iter()
        .flat_map(|numbers| numbers.values().to_vec());
    Ok((numbers.collect(), kept))
}

/// Rows as a table, with their numbers.
fn numbered(table: &TableVersion, mut arrays: Vec<ArrayRef>) -> Result<Arc<dyn TableSource>> {
    let rows = arrays.first().map_or(0, |array| array.len()) as u64;
    let mut fields = schema_of(table);
    fields.push(Field::new(PAIR, DataType::UInt64, false));
    arrays.push(Arc::new(UInt64Array::from_iter_values(0..rows)));
    let schema = Arc::new(Schema::new(fields));
    let batch = RecordBatch::try_new(Arc::clone(&schema), arrays)?;
    let rows = MemTable::try_new(schema, vec![vec![batch]])?;
    Ok(provider_as_source(Arc::new(rows)))
}

/// Makes a bare name of a column mean the existing row, as in DuckDB.
struct Qualify<'a> {
    table: &'a TableVersion,
    alias: &'a Ident,
}

impl VisitorMut for Qualify<'_> {
    type Break = Infallible;

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Infallible> {
        if let Expr::Identifier(ident) = expr
            && self.table.column(&normalize(ident)).is_some()
        {
            *expr = column_of(self.alias, &normalize(ident));
        }
        ControlFlow::Continue(())
    }
}
