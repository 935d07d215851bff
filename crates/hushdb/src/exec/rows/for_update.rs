//! SELECT ... FOR UPDATE and FOR SHARE: a query over one table, whose rows stay locked until the transaction ends.
//!
//! ```text
//! look: the query with the ids of its rows -> lock their keys, waiting -> look again: are they still there?
//!   yes: the rows go out     no: `Overtaken`, and the statement begins anew on the newest state, its locks kept
//! SKIP LOCKED: rows in turn, those that are free, until LIMIT has enough
//! ```
//!
//! What must hold: a row goes out only once it is locked, and as it is in the newest state then. Where locks mean nothing, the
//! clause is refused by name.

use super::dml::table_of;
use super::row_ids::row_ids_of;
use crate::exec::query;
use crate::result::QueryResult;
use crate::statement::Statement;
use crate::transaction::{Write, takes_no_locks};
use datafusion::arrow::array::BooleanArray;
use datafusion::arrow::compute::filter_record_batch;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::Column;
use datafusion::logical_expr::{
    Expr, FetchType, Limit, LogicalPlan, LogicalPlanBuilder, SkipType, TableSource,
};
use datafusion::sql::sqlparser::ast::{
    self, LockClause, LockType, NonBlock, ObjectName, SetExpr, TableFactor,
};
use hushdb_query::memory::{KeepRows, KeptRows};
use hushdb_sql::{Error, Result, name_parts, sqlstate};
use hushdb_storage::{LockMode, TableId, TableVersion, same_name};
use std::sync::Arc;

/// Rows that are looked at beside those that are wanted, since some may be locked.
const SPARE: usize = 64;

/// How rows that are read are locked.
#[derive(Clone, Copy)]
pub(in crate::exec) struct RowLock {
    mode: LockMode,
    nonblock: Option<NonBlock>,
}

impl From<&LockClause> for RowLock {
    fn from(clause: &LockClause) -> Self {
        let mode = match clause.lock_type {
            LockType::Share => LockMode::Share,
            LockType::Update => LockMode::All,
        };
        let nonblock = clause.nonblock;
        Self { mode, nonblock }
    }
}

impl RowLock {
    /// Locks rows that were read; gives those that are locked, all unless locked ones are skipped.
    pub(in crate::exec) fn take(
        self,
        write: &Write<'_>,
        table: TableId,
        ids: Vec<u64>,
    ) -> Result<Vec<u64>> {
        if self.nonblock != Some(NonBlock::SkipLocked) {
            write.lock_rows(table, &ids, self.mode, self.nonblock.is_none())?;
            return Ok(ids);
        }
        let free = write.lock_free_rows(table, &ids, self.mode, usize::MAX)?;
        if free.any_gone {
            return Err(hushdb_storage::Error::Overtaken.into());
        }
        let locked = ids.into_iter().zip(free.locked);
        Ok(locked.filter_map(|(id, is)| is.then_some(id)).collect())
    }
}

/// Runs a query with a locking clause.
pub(in crate::exec) fn run(
    statement: &Statement<'_>,
    mut query: ast::Query,
) -> Result<QueryResult> {
    let clauses = std::mem::take(&mut query.locks);
    let clause = clauses.first();
    let clause = clause.ok_or_else(|| Error::internal("a query without a locking clause"))?;
    if !statement.waits() {
        return Err(takes_no_locks("FOR UPDATE and FOR SHARE"));
    }
    let name = only_table(&query, clause.of.as_ref())?;
    let (name, write) = statement.resolve_for_write(&name)?;
    let table = table_of(statement.snapshot(), &name)?;
    let planner = statement.planner();
    let source = planner.with_row_ids(&name.database, &table)?;
    let plan = planner.plan_query(query)?;
    let lock = RowLock::from(clause);
    let rows = if lock.nonblock == Some(NonBlock::SkipLocked) {
        let mut bounds = Bounds::default();
        let plan = with_row_ids(plan, &source, Some(&mut bounds))?;
        let plan = query::without_untyped(plan)?;
        free_rows(statement, &write, &table, &plan, lock.mode, &bounds)?
    } else {
        let plan = query::without_untyped(with_row_ids(plan, &source, None)?)?;
        let mut ids = vec![];
        let rows = query::keep(statement, &plan, |batch| {
            let (of_batch, rows) = without_ids(&batch)?;
            ids.extend(of_batch);
            Ok(rows)
        })?;
        lock.take(&write, table.id, ids)?;
        rows
    };
    let runtime = Arc::clone(&statement.session.engine().runtime);
    let progress = Arc::clone(statement.progress);
    Ok(QueryResult::stream(rows.stream(), runtime, progress, None))
}

/// What to say of a query that has no rows of one table to lock.
fn locks_nothing(what: &str) -> Error {
    Error::unsupported(format!(
        "FOR UPDATE and FOR SHARE lock rows of one table: they are not there for {what}"
    ))
}

/// The name of the one table that a query reads, which its clause may name too.
fn only_table(query: &ast::Query, of: Option<&ObjectName>) -> Result<ObjectName> {
    let SetExpr::Select(select) = query.body.as_ref() else {
        return Err(locks_nothing("UNION, INTERSECT, EXCEPT or VALUES"));
    };
    let refused = [
        (query.with.is_some(), "WITH"),
        (select.distinct.is_some(), "DISTINCT"),
    ];
    if let Some((_, what)) = refused.iter().find(|(is_there, _)| *is_there) {
        return Err(locks_nothing(what));
    }
    let [from] = select.from.as_slice() else {
        return Err(locks_nothing("a query over no table or several"));
    };
    if !from.joins.is_empty() {
        return Err(locks_nothing("joins"));
    }
    let TableFactor::Table {
        name,
        alias,
        args: None,
        ..
    } = &from.relation
    else {
        return Err(locks_nothing("subqueries and functions in FROM"));
    };
    if let Some(of) = of {
        let known = match alias {
            Some(alias) => vec![alias.name.value.clone()],
            None => name_parts(name)?,
        };
        let named = name_parts(of)?;
        let is_it = known.last().zip(named.last());
        if !is_it.is_some_and(|(known, named)| same_name(known, named)) {
            return Err(Error::binder(
                "the table that OF of a locking clause names is not in FROM",
            )
            .with_sqlstate(sqlstate::UNDEFINED_TABLE));
        }
    }
    Ok(name.clone())
}

/// What LIMIT and OFFSET say.
#[derive(Default)]
struct Bounds {
    skip: usize,
    fetch: Option<usize>,
}

impl Bounds {
    fn of(limit: &Limit) -> Result<Self> {
        let unknown = || Error::unsupported("SKIP LOCKED takes a number as LIMIT and OFFSET");
        let SkipType::Literal(skip) = limit.get_skip_type()? else {
            return Err(unknown());
        };
        let FetchType::Literal(fetch) = limit.get_fetch_type()? else {
            return Err(unknown());
        };
        Ok(Self { skip, fetch })
    }

    /// Rows to lock; `None` is all.
    fn wanted(&self) -> Option<usize> {
        self.fetch.map(|fetch| fetch.saturating_add(self.skip))
    }
}

/// The plan of a query over one table with the ids of its rows in the last column; without its LIMIT where that is wanted.
fn with_row_ids(
    plan: LogicalPlan,
    source: &Arc<dyn TableSource>,
    mut bounds: Option<&mut Bounds>,
) -> Result<LogicalPlan> {
    let below = |plan: &LogicalPlan, bounds| with_row_ids(plan.clone(), source, bounds);
    Ok(match plan {
        LogicalPlan::TableScan(scan) => {
            LogicalPlanBuilder::scan(scan.table_name, Arc::clone(source), None)?.build()?
        }
        LogicalPlan::SubqueryAlias(alias) => {
            let input = below(&alias.input, bounds)?;
            LogicalPlanBuilder::from(input)
                .alias(alias.alias)?
                .build()?
        }
        LogicalPlan::Projection(projection) => {
            let input = below(&projection.input, bounds)?;
            let last = input.schema().iter().last();
            let id = last.map(|(table, field)| Expr::Column(Column::from((table, field))));
            let exprs = projection.expr.into_iter().chain(id);
            let exprs: Vec<Expr> = exprs.collect();
            LogicalPlanBuilder::from(input).project(exprs)?.build()?
        }
        LogicalPlan::Limit(limit) if bounds.is_some() => {
            if let Some(bounds) = bounds.as_deref_mut() {
                *bounds = Bounds::of(&limit)?;
            }
            below(&limit.input, bounds)?
        }
        LogicalPlan::Filter(_) | LogicalPlan::Sort(_) | LogicalPlan::Limit(_) => {
            let inputs = plan.inputs();
            let input = inputs.first().map(|input| below(input, bounds));
            let input = input.ok_or_else(|| locks_nothing("such a query"))??;
            plan.with_new_exprs(plan.expressions(), vec![input])?
        }
        LogicalPlan::Aggregate(_) => {
            return Err(locks_nothing("aggregates, GROUP BY or HAVING"));
        }
        LogicalPlan::Window(_) => return Err(locks_nothing("window functions")),
        LogicalPlan::Unnest(_) => return Err(locks_nothing("unnest")),
        LogicalPlan::Distinct(_) => return Err(locks_nothing("DISTINCT")),
        _ => {
            return Err(locks_nothing(
                "such a query; choose its rows by a condition",
            ));
        }
    })
}

/// The ids of a batch, which come last, and the batch without them.
fn without_ids(batch: &RecordBatch) -> Result<(Vec<u64>, RecordBatch)> {
    let last = batch.num_columns().saturating_sub(1);
    let ids = batch.project(&[last])?;
    let rest: Vec<usize> = (0..last).collect();
    Ok((row_ids_of(&ids)?.values().to_vec(), batch.project(&rest)?))
}

/// Locks the rows of a plan that are free, in turn, until there are as many as are wanted.
fn free_rows(
    statement: &Statement<'_>,
    write: &Write<'_>,
    table: &TableVersion,
    plan: &LogicalPlan,
    mode: LockMode,
    bounds: &Bounds,
) -> Result<KeptRows> {
    let wanted = bounds.wanted();
    let mut most = wanted.map(|wanted| wanted.saturating_mul(2).saturating_add(SPARE));
    loop {
        let looked_at = match most {
            Some(most) => LogicalPlanBuilder::from(plan.clone())
                .limit(0, Some(most))?
                .build()?,
            None => plan.clone(),
        };
        let found = query::stream(statement, &looked_at)?;
        let (_, none) = without_ids(&RecordBatch::new_empty(found.schema()))?;
        let context = statement.session.engine().context();
        let mut kept = KeepRows::new(none.schema(), &context);
        let (mut seen, mut locked, mut any_gone) = (0, 0, false);
        for batch in found {
            let (ids, rows) = without_ids(&batch?)?;
            seen += ids.len();
            let more = wanted.map_or(usize::MAX, |wanted| wanted - locked);
            let free = write.lock_free_rows(table.id, &ids, mode, more)?;
            any_gone |= free.any_gone;
            let goes_out = free.locked.iter().map(|is_locked| {
                locked += usize::from(*is_locked);
                Some(*is_locked && locked > bounds.skip)
            });
            let goes_out: BooleanArray = goes_out.collect();
            kept.push(filter_record_batch(&rows, &goes_out)?)?;
            if Some(locked) == wanted {
                break;
            }
        }
        if Some(locked) == wanted {
            return Ok(kept.finish()?);
        }
        if most.is_some_and(|most| seen >= most) {
            // All that were looked at are taken: what is locked already is found again.
            most = None;
            continue;
        }
        return match any_gone {
            // Others were done with rows that may still be such as are wanted.
            true => Err(hushdb_storage::Error::Overtaken.into()),
            false => Ok(kept.finish()?),
        };
    }
}
