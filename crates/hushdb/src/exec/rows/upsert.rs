//! INSERT with ON CONFLICT, OR IGNORE or OR REPLACE: a row whose key exists already is left out, or changes the row that
//! has the key.
//!
//! What must hold: conflicts are found on what the statement sees, own changes included. What others commit meanwhile is
//! found when the statement commits; outside of a transaction it then runs again on the newest state, and so does one whose
//! isolation level waits. Changing one row twice is refused.

use super::dml::{self, Incoming, assignments, column_of, new_values, rows_plan};
use super::load::{self, RowRules};
use super::returning::{returning, row_by_row, select};
use super::row_ids::{RowIds, row_ids_of};
use crate::exec::query;
use crate::result::QueryResult;
use crate::statement::Statement;
use crate::transaction::Write;
use datafusion::arrow::array::{ArrayRef, UInt64Array};
use datafusion::arrow::compute::take;
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::arrow::row::{RowConverter, SortField};
use datafusion::catalog::MemTable;
use datafusion::datasource::provider_as_source;
use datafusion::execution::TaskContext;
use datafusion::execution::memory_pool::MemoryReservation;
use datafusion::logical_expr::{LogicalPlan, TableSource};
use datafusion::sql::sqlparser::ast::{
    self, AccessExpr, Assignment, ConflictTarget, Expr, Ident, OnConflictAction, OnInsert,
    SelectItem, SqliteOnConflict, Subscript, Value, VisitorMut,
};
use hushdb_query::memory::{Claim, KeepRows, KeptRows, compact, row_bytes};
use hushdb_query::plan::{DML_EXCLUDED, DML_TARGET, TableName};
use hushdb_sql::type_names::arrow_field;
use hushdb_sql::walk::{visit_expressions, visit_mut};
use hushdb_sql::{Error, ErrorKind, Result, name_parts, sqlstate};
use hushdb_storage::{Column, ColumnId, Index, TableVersion, same_name};
use roaring::RoaringTreemap;
use std::collections::HashSet;
use std::convert::Infallible;
use std::ops::ControlFlow;
use std::sync::Arc;

/// The share of the limit that rows take whose keys are looked for together.
const PROPOSED_SHARE: usize = 16;
/// How often a statement that stands alone is tried when others are faster each time.
const TRIES: usize = 64;
/// The column that pairs an existing row with the one that was to be inserted.
const PAIR: &str = "$pair";

/// An INSERT, with a rule for keys that are there already or without.
pub(in crate::exec) fn insert(
    statement: &Statement<'_>,
    insert: ast::Insert,
    by_name: bool,
) -> Result<QueryResult> {
    match rule(&insert)? {
        None => dml::add_all(statement, dml::incoming(statement, insert, by_name)?),
        Some(rule) => run(statement, &rule, |statement| {
            dml::incoming(statement, insert.clone(), by_name)
        }),
    }
}

/// What an INSERT does about keys that are there already.
struct Rule {
    /// The one key that counts.
    target: Option<Target>,
    action: Action,
}

enum Target {
    Columns(Vec<String>),
    Constraint(String),
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
fn rule(insert: &ast::Insert) -> Result<Option<Rule>> {
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
        Some(ConflictTarget::Columns(columns)) => {
            let names = columns.iter().map(|column| column.value.clone());
            Some(Target::Columns(names.collect()))
        }
        Some(ConflictTarget::OnConstraint(name)) => name_parts(name)?.pop().map(Target::Constraint),
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
    let found = visit_expressions(update, |expr| match expr {
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
        let columns = match &self.target {
            None => {
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
            }
            Some(Target::Constraint(name)) => {
                let mut named = unique
                    .into_iter()
                    .filter(|index| same_name(index.name(), name));
                let named = named.next().map(|index| vec![index]);
                return named.ok_or_else(|| {
                    let what = format!(
                        "constraint \"{name}\" for table \"{}\" does not exist",
                        table.name
                    );
                    Error::catalog(what).with_sqlstate(sqlstate::UNDEFINED_OBJECT)
                });
            }
            Some(Target::Columns(columns)) => columns,
        };
        let ids = columns
            .iter()
            .map(|name| Ok(table.columns[dml::position(table, name)?].id));
        let ids: Vec<ColumnId> = ids.collect::<Result<_>>()?;
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
fn run<'a>(
    statement: &Statement<'a>,
    rule: &Rule,
    incoming: impl Fn(&Statement<'a>) -> Result<Incoming<'a>>,
) -> Result<QueryResult> {
    // What waits, and what is a part, is begun anew from above.
    let by_itself = !statement.waits() && !statement.is_part();
    let mut tries = TRIES;
    let mut again = None;
    loop {
        let statement = again.as_ref().unwrap_or(statement);
        let (write, result) = apply(statement, rule, incoming(statement)?)?;
        tries -= 1;
        match write.commit() {
            Ok(()) => return Ok(result),
            Err(error) if tries > 0 && by_itself && is_overtaken(&error) => {
                statement.progress.check()?;
            }
            Err(error) => return Err(error),
        }
        again = Some(statement.anew());
    }
}

/// Whether another transaction has committed the same key or changed the same row first.
fn is_overtaken(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Conflict | ErrorKind::Constraint)
}

fn apply<'a>(
    statement: &Statement<'a>,
    rule: &Rule,
    incoming: Incoming<'a>,
) -> Result<(Write<'a>, QueryResult)> {
    let Incoming {
        name,
        alias,
        table,
        mut write,
        plan,
        targets,
        returning: items,
    } = incoming;
    let planner = statement.planner();
    let rules = RowRules::new(&planner, &name.name, &table.columns, &table.checks)?;
    let keys = rule.keys(&table)?;
    let change = Change {
        statement,
        name: &name,
        alias: &alias,
        table: &table,
    };
    let context = statement.session.engine().context();
    let schema = Arc::new(Schema::new(schema_of(&table)));
    let mut fresh = KeepRows::new(Arc::clone(&schema), &context);
    let mut changed = KeepRows::new(schema, &context);
    let changes = !matches!(rule.action, Action::Nothing);
    let mut split = Split::new(&keys, changes, &context);
    let mut gone = RowIds::default();
    let mut work = |proposed: &[RecordBatch]| -> Result<()> {
        // Also planned without rows, so that a mistake shows.
        let proposed = load::joined(proposed)?.unwrap_or_else(|| no_rows(&table));
        let Divided { new, met } = split.divide(&table, &proposed)?;
        fresh.push(batch_of(&table, taken(&proposed, &new)?)?)?;
        if changes {
            let (ids, rows) = change.changed_rows(&write, rule, &proposed, met, &targets)?;
            gone.extend(&ids);
            for batch in rows {
                changed.push(rules.typed(&batch)?)?;
            }
        }
        Ok(())
    };
    in_portions(statement, &plan, &rules, &mut work)?;
    drop(split);
    gone.delete(&mut write, &name)?;
    let (fresh, changed) = (fresh.finish()?, changed.finish()?);
    let rows = fresh.followed_by(&changed);
    let returned = match &items {
        None => None,
        Some(items) => Some(returning(statement, &alias, items, &rows)?),
    };
    let count = rows.rows();
    add_rows(&change, &mut write, &rows, rules)?;
    let result = match returned {
        Some(rows) => rows,
        None => QueryResult::count(count as u64),
    };
    Ok((write, result))
}

/// Works on the rows that a plan proposes, once at least: many together, so that row groups are opened a few times only.
fn in_portions(
    statement: &Statement<'_>,
    plan: &LogicalPlan,
    rules: &RowRules,
    work: &mut dyn FnMut(&[RecordBatch]) -> Result<()>,
) -> Result<()> {
    let enough = statement.session.instance.memory.limit() / PROPOSED_SHARE;
    let (mut proposed, mut bytes, mut none) = (vec![], 0, true);
    for batch in query::stream(statement, plan)? {
        let batch = rules.typed(&batch?)?;
        bytes += row_bytes(&batch)?;
        proposed.push(batch);
        if bytes > enough {
            work(&std::mem::take(&mut proposed))?;
            (bytes, none) = (0, false);
        }
    }
    match none || !proposed.is_empty() {
        true => work(&proposed),
        false => Ok(()),
    }
}

/// Adds new and changed rows to the table.
fn add_rows(
    change: &Change<'_>,
    write: &mut Write<'_>,
    rows: &KeptRows,
    rules: RowRules,
) -> Result<()> {
    let (statement, name) = (change.statement, change.name);
    if rows.rows() > load::FEW_ROWS.min(write.store().row_group_rows()) {
        let plan = rows_plan(rows)?;
        load::load(statement, write, name, &plan, rules)?;
        return Ok(());
    }
    let held = query::read(statement, rows)?;
    let held = held.iter().map(|batch| rules.apply(batch));
    if let Some(arrays) = load::joined(&held.collect::<Result<Vec<_>>>()?)? {
        load::add(write, name, &change.table.columns, &arrays)?;
    }
    Ok(())
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

/// Finds the rows of an INSERT whose key is there, in the table or in an earlier row of the statement.
struct Split<'a> {
    keys: Vec<(&'a Index, Keys)>,
    /// Rows of the table that change.
    met: RoaringTreemap,
    changes: bool,
}

/// Some rows of an INSERT.
#[derive(Default)]
struct Divided {
    /// Those whose key is not there.
    new: Vec<u64>,
    /// Ids of rows that have the key, and the rows of the statement that met them.
    met: Vec<(u64, u64)>,
}

impl<'a> Split<'a> {
    fn new(keys: &[&'a Index], changes: bool, context: &TaskContext) -> Self {
        let keys = keys.iter();
        Self {
            keys: keys.map(|index| (*index, Keys::new(context))).collect(),
            met: RoaringTreemap::new(),
            changes,
        }
    }

    fn divide(&mut self, table: &TableVersion, proposed: &[ArrayRef]) -> Result<Divided> {
        let rows = proposed.first().map_or(0, |array| array.len());
        let mut divided = Divided::default();
        let mut columns = vec![];
        for (index, _) in &self.keys {
            let ids = index.column_ids().iter();
            let arrays = ids.filter_map(|id| {
                let at = table.columns.iter().position(|column| column.id == *id)?;
                proposed.get(at).cloned()
            });
            let arrays: Vec<ArrayRef> = arrays.collect();
            let fields = arrays.iter().map(|a| SortField::new(a.data_type().clone()));
            let comparable = RowConverter::new(fields.collect())?.convert_columns(&arrays)?;
            columns.push((arrays, comparable));
        }
        for row in 0..rows {
            let mut found = None;
            for ((index, _), (arrays, _)) in self.keys.iter().zip(&columns) {
                if let Some(id) = table.find(index, arrays, row)?.first() {
                    found = Some(*id);
                    break;
                }
            }
            if let Some(id) = found {
                if self.changes && !self.met.insert(id) {
                    return Err(Error::affected_twice());
                }
                divided.met.push((id, row as u64));
                continue;
            }
            let is_null = |arrays: &[ArrayRef]| arrays.iter().any(|array| array.is_null(row));
            let mut again = self.keys.iter().zip(&columns);
            if again.any(|((_, earlier), (arrays, comparable))| {
                !is_null(arrays) && earlier.contains(comparable.row(row).data())
            }) {
                if self.changes {
                    return Err(Error::affected_twice());
                }
                continue;
            }
            for ((_, earlier), (arrays, comparable)) in self.keys.iter_mut().zip(&columns) {
                if !is_null(arrays) {
                    earlier.insert(comparable.row(row).data())?;
                }
            }
            divided.new.push(row as u64);
        }
        Ok(divided)
    }
}

/// Keys as bytes, which are counted.
struct Keys {
    /// Those of fifteen bytes at most, with their length.
    short: HashSet<u128>,
    long: HashSet<Box<[u8]>>,
    reservation: MemoryReservation,
}

impl Keys {
    fn new(context: &TaskContext) -> Self {
        Self {
            short: HashSet::new(),
            long: HashSet::new(),
            reservation: Claim::Held.register(
                "the new keys of INSERT with ON CONFLICT",
                context.memory_pool(),
            ),
        }
    }

    fn short(key: &[u8]) -> Option<u128> {
        let mut bytes = [0; 16];
        let (len, rest) = bytes.split_first_mut()?;
        *len = u8::try_from(key.len()).ok()?;
        rest.get_mut(..key.len())?.copy_from_slice(key);
        Some(u128::from_le_bytes(bytes))
    }

    fn contains(&self, key: &[u8]) -> bool {
        match Self::short(key) {
            Some(key) => self.short.contains(&key),
            None => self.long.contains(key),
        }
    }

    fn insert(&mut self, key: &[u8]) -> Result<()> {
        match Self::short(key) {
            Some(key) => {
                self.grow(self.short.len(), self.short.capacity(), size_of::<u128>())?;
                self.short.insert(key);
            }
            None => {
                let place = size_of::<Box<[u8]>>();
                self.grow(self.long.len(), self.long.capacity(), place)?;
                self.reservation.try_grow(key.len())?;
                self.long.insert(key.into());
            }
        }
        Ok(())
    }

    /// Counts what a set of so many entries takes when it grows: twice its places, which have a byte each beside.
    fn grow(&self, len: usize, capacity: usize, place: usize) -> Result<()> {
        if len == capacity {
            self.reservation.try_grow((capacity + 1) * (place + 1))?;
        }
        Ok(())
    }
}

/// The rows that a statement changes instead of adding others.
struct Change<'a> {
    statement: &'a Statement<'a>,
    name: &'a TableName,
    /// What the statement calls the table.
    alias: &'a Ident,
    table: &'a Arc<TableVersion>,
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
                let new = new.map(compact).collect();
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
            statement,
            table,
            alias,
            ..
        } = self;
        let mut qualify = Qualify { table, alias };
        let mut assigned = assignments(table, set)?;
        for (_, expr) in &mut assigned {
            let ControlFlow::Continue(()) = visit_mut(expr, &mut qualify);
        }
        let mut selection = selection.cloned();
        if let Some(expr) = &mut selection {
            let ControlFlow::Continue(()) = visit_mut(expr, &mut qualify);
        }
        let mut items = vec![SelectItem::UnnamedExpr(column_of(alias, PAIR))];
        items.extend(new_values(
            statement.snapshot(),
            self.name,
            table,
            alias,
            assigned,
        )?);
        let from = format!(
            "\"{DML_TARGET}\" AS {alias} JOIN \"{DML_EXCLUDED}\" AS excluded ON {alias}.\"{PAIR}\" = excluded.\"{PAIR}\""
        );
        let query = select(&from, |select| {
            select.projection = items;
            select.selection = selection;
        })?;
        let planner = statement
            .planner()
            .with_rows(DML_TARGET, numbered(table, existing)?)
            .with_rows(DML_EXCLUDED, numbered(table, excluded)?);
        let plan = planner.plan_query(query)?;
        row_by_row(&plan)?;
        let computed = query::collect(statement, &plan)?;
        let (pairs, batches) = first_of_each_row(computed)?;
        let schema = plan.schema().inner();
        let mut kept = KeepRows::new(Arc::clone(schema), &statement.session.engine().context());
        for batch in batches {
            kept.push(batch)?;
        }
        let planner = statement.planner();
        let sources: Vec<Option<usize>> = (1..=table.columns.len()).map(Some).collect();
        let rows = rows_plan(&kept.finish()?)?;
        let plan = load::project(&planner, rows, self.name, &table.columns, &sources)?;
        Ok((pairs, query::collect(statement, &plan)?))
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

impl Qualify<'_> {
    /// Of `t.a.b[1]` and `a.b[1]`: what is a column becomes the root, and fields become subscripts, which are no names of columns.
    fn told_apart(&self, root: &mut Expr, chain: &mut Vec<AccessExpr>) {
        if let Expr::Identifier(table) = root
            && self.table.column(&table.value).is_none()
            && let Some(AccessExpr::Dot(Expr::Identifier(column))) = chain.first()
        {
            *root = Expr::CompoundIdentifier(vec![table.clone(), column.clone()]);
            chain.remove(0);
        }
        for access in chain {
            if let AccessExpr::Dot(Expr::Identifier(field)) = access {
                let index = Expr::value(Value::SingleQuotedString(field.value.clone()));
                *access = AccessExpr::Subscript(Subscript::Index { index });
            }
        }
    }
}

impl VisitorMut for Qualify<'_> {
    type Break = Infallible;

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Infallible> {
        match expr {
            Expr::Identifier(ident) if self.table.column(&ident.value).is_some() => {
                *expr = column_of(self.alias, &ident.value);
            }
            Expr::CompoundFieldAccess { root, access_chain } => self.told_apart(root, access_chain),
            _ => {}
        }
        ControlFlow::Continue(())
    }
}
