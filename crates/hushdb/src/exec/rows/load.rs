//! Writing rows: a plan's batches become compressed, sealed row groups, in parallel and in order; a few rows stay in
//! memory uncompressed.
//!
//! What must hold: a row is checked before it is written, and nothing counts until the transaction commits.

use super::declared::fitted;
use super::row_ids::RowIds;
use crate::exec::columns::default_text;
use crate::exec::columns::generated::Generated;
use crate::exec::query;
use crate::statement::Statement;
use crate::transaction::Write;
use datafusion::arrow::array::{Array, ArrayData, ArrayRef, AsArray, MutableArrayData, make_array};
use datafusion::arrow::compute::{CastOptions, cast_with_options};
use datafusion::arrow::datatypes::{DataType, Schema, SchemaRef};
use datafusion::arrow::record_batch::{RecordBatch, RecordBatchOptions};
use datafusion::common::{DFSchema, DFSchemaRef};
use datafusion::execution::TaskContext;
use datafusion::execution::memory_pool::{MemoryPool, MemoryReservation};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{Cast, Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder, lit};
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties, PhysicalExpr};
use futures::StreamExt;
use hushdb_query::functions::{NUMERIC, stored_numeric};
use hushdb_query::heed::{AskOnDrop, heeding, interrupt_of, of_task};
use hushdb_query::memory::{Claim, compact, limit_of, row_bytes};
use hushdb_query::plan::{InOrderExec, Planner, TableName};
use hushdb_sql::type_names::{arrow_field, column_type_name, is_enum};
use hushdb_sql::{self as sql, Error, Result, planned_names};
use hushdb_storage::{
    Check, Column, ColumnType, GatheredRows, Interrupt, PendingRowGroup, RowGroupBuilder, Store,
};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;
use tokio::task::JoinHandle;

/// A statement that adds no more rows keeps them in memory and the log, until a checkpoint compresses them.
pub(in crate::exec) const FEW_ROWS: usize = 8192;
/// Unless they take more bytes than this.
const FEW_BYTES: usize = 4 << 20;

/// What every new row of a table must satisfy.
pub(in crate::exec) struct RowRules {
    schema: SchemaRef,
    columns: Vec<Column>,
    table: String,
    checks: Vec<(String, Arc<dyn PhysicalExpr>)>,
    generated: Generated,
}

impl RowRules {
    pub(in crate::exec) fn new(
        planner: &Planner<'_>,
        table: &str,
        columns: &[Column],
        checks: &[Check],
    ) -> Result<Self> {
        Ok(Self {
            schema: schema_of(columns),
            columns: columns.to_vec(),
            table: table.to_string(),
            checks: conditions(planner, columns, checks)?,
            generated: Generated::of(planner, columns, &planned_schema(columns)?, convert)?,
        })
    }

    /// Brings a batch to the table's exact types, computes what is generated, and holds it against NOT NULL and CHECK.
    pub(in crate::exec) fn apply(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let batch = self.typed(batch)?;
        self.hold(&batch)?;
        Ok(batch)
    }

    /// Brings a batch to the table's exact types, and computes what is generated.
    pub(in crate::exec) fn typed(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let strict = CastOptions {
            safe: false,
            ..CastOptions::default()
        };
        let arrays = batch
            .columns()
            .iter()
            .zip(&self.columns)
            .map(|(array, column)| {
                let to = column.ty.arrow();
                let array = match array.data_type() == &to {
                    true => Arc::clone(array),
                    false => cast_with_options(array, &to, &strict)?,
                };
                let array = hushdb_query::functions::one_nan(&array).unwrap_or(array);
                fitted(column, array)
            })
            .collect::<Result<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let schema = Arc::clone(&self.schema);
        let batch = RecordBatch::try_new_with_options(schema, arrays, &options)?;
        self.generated.fill(batch)
    }

    /// Holds a batch of the table's types against NOT NULL and CHECK.
    fn hold(&self, batch: &RecordBatch) -> Result<()> {
        for (array, column) in batch.columns().iter().zip(&self.columns) {
            if !column.nullable && array.null_count() > 0 {
                return Err(Error::not_null(&self.table, &column.name));
            }
        }
        for (name, check) in &self.checks {
            let holds = check.evaluate(batch)?.into_array(batch.num_rows())?;
            // As in SQL's standard, a CHECK that is NULL holds.
            if holds.as_boolean().iter().any(|held| held == Some(false)) {
                return Err(Error::check(&self.table, name));
            }
        }
        Ok(())
    }
}

/// A schema of columns, each of which may be NULL.
pub(in crate::exec) fn schema_of(columns: &[Column]) -> SchemaRef {
    named_schema(columns, columns.iter().map(|column| column.name.clone()))
}

fn named_schema(columns: &[Column], names: impl IntoIterator<Item = String>) -> SchemaRef {
    let fields = columns.iter().zip(names);
    let fields = fields.map(|(column, name)| arrow_field(&name, &column.ty, true));
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

/// A schema of columns by the names that the planner knows.
pub(in crate::exec) fn planned_schema(columns: &[Column]) -> Result<DFSchemaRef> {
    let schema = named_schema(columns, planned_names(columns));
    Ok(Arc::new(DFSchema::try_from(schema)?))
}

/// CHECKs over rows of columns, by their names or texts.
pub(in crate::exec) fn conditions(
    planner: &Planner<'_>,
    columns: &[Column],
    checks: &[Check],
) -> Result<Vec<(String, Arc<dyn PhysicalExpr>)>> {
    if checks.is_empty() {
        return Ok(vec![]);
    }
    let schema = planned_schema(columns)?;
    let planner = planner.for_stored();
    let condition = |check: &Check| {
        let expr = planner.plan_expr(sql::parse_expr(&check.sql)?, &schema)?;
        let expr = Expr::Cast(Cast::new(Box::new(expr), DataType::Boolean));
        let name = check.name.clone().unwrap_or_else(|| check.sql.clone());
        Ok((name, planner.kept_expr(expr, &schema)?))
    };
    checks.iter().map(condition).collect()
}

/// Projects a plan to the columns of the table at `place`. `sources[i]` is the plan's column for table column `i`; `None` takes the default.
pub(in crate::exec) fn project(
    planner: &Planner<'_>,
    plan: LogicalPlan,
    place: &TableName,
    columns: &[Column],
    sources: &[Option<usize>],
) -> Result<LogicalPlan> {
    project_after(planner, plan, 0, place, columns, sources)
}

/// As [`project`], after the plan's first columns, as many as `kept`.
pub(in crate::exec) fn project_after(
    planner: &Planner<'_>,
    plan: LogicalPlan,
    kept: usize,
    place: &TableName,
    columns: &[Column],
    sources: &[Option<usize>],
) -> Result<LogicalPlan> {
    let schema = Arc::clone(plan.schema());
    let kept = schema.columns().into_iter().take(kept);
    let kept = kept.map(|column| Ok(Expr::Column(column)));
    let values = columns.iter().zip(sources).map(|(column, source)| {
        let expr = match source {
            Some(index) => Expr::Column(schema.columns()[*index].clone()),
            None => match &column.default {
                Some(default) => {
                    let default = default_text::expression(planner.snapshot, place, Some(default))?;
                    planner.plan_expr(default, &DFSchema::empty())?
                }
                None => lit(datafusion::common::ScalarValue::Null),
            },
        };
        Ok(convert(expr, &schema, column)?.alias(&column.name))
    });
    let exprs = kept.chain(values).collect::<Result<Vec<_>>>()?;
    Ok(LogicalPlanBuilder::from(plan).project(exprs)?.build()?)
}

/// Casts an expression to a column's type.
pub(in crate::exec) fn convert(expr: Expr, schema: &DFSchema, column: &Column) -> Result<Expr> {
    let from = expr.get_type(schema)?;
    let to = column.ty.arrow();
    // Texts are no JSON: they are looked at.
    if from == to && column.ty != ColumnType::Json {
        return Ok(expr);
    }
    let is_flat = !from.is_nested() || is_enum(&from);
    if !is_flat
        && !column.ty.is_nested()
        && !matches!(
            column.ty,
            ColumnType::Varchar | ColumnType::Json | ColumnType::Collated(_)
        )
    {
        return Err(Error::binder(format!(
            "a {} value cannot be stored in column {} of type {}",
            sql::type_names::type_name(&from),
            column.name,
            column_type_name(&column.ty)
        )));
    }
    if to == NUMERIC {
        let call = ScalarFunction::new_udf(stored_numeric(), vec![expr]);
        return Ok(Expr::ScalarFunction(call));
    }
    Ok(Expr::Cast(Cast::new_from_field(
        Box::new(expr),
        Arc::new(arrow_field(&column.name, &column.ty, true)),
    )))
}

/// What a partition of a plan gave.
enum Loaded {
    Few(Vec<RecordBatch>),
    Groups(Vec<PendingRowGroup>),
}

/// Runs a plan and adds its rows to a table; returns their number. Partitions are written at once and come in order.
pub(in crate::exec) fn load(
    statement: &Statement<'_>,
    write: &mut Write<'_>,
    name: &TableName,
    plan: &LogicalPlan,
    rules: RowRules,
) -> Result<u64> {
    let physical = query::physical(statement, plan)?;
    let rules = Arc::new(rules);
    let loaded = write_rows(statement, write.store(), physical, &rules, None)?;
    keep(write, name, &rules, loaded)
}

/// Runs a plan whose first column has ids of rows, and puts the rest of each row in that row's place; returns how many rows were
/// replaced.
pub(in crate::exec) fn replace(
    statement: &Statement<'_>,
    write: &mut Write<'_>,
    name: &TableName,
    plan: &LogicalPlan,
    rules: RowRules,
) -> Result<u64> {
    // One partition, in order, so that which match of a row is its first is the same every time.
    let physical = InOrderExec::over(query::physical(statement, plan)?);
    let ids = Arc::new(Mutex::new(RowIds::default()));
    let rules = Arc::new(rules);
    let found = Some(Arc::clone(&ids));
    let loaded = write_rows(statement, write.store(), physical, &rules, found)?;
    let ids = std::mem::take(&mut *ids.lock());
    let replaced = ids.delete(write, name)?;
    keep(write, name, &rules, loaded)?;
    Ok(replaced)
}

/// Adds what was written to a table; returns how many rows that are.
fn keep(write: &mut Write<'_>, name: &TableName, rules: &RowRules, loaded: Loaded) -> Result<u64> {
    Ok(match loaded {
        Loaded::Groups(groups) => write.append(&name.schema, &name.name, groups)?,
        Loaded::Few(batches) => match joined(&batches)? {
            None => 0,
            Some(arrays) => add(write, name, &rules.columns, &arrays)?,
        },
    })
}

/// Writes a plan's rows as row groups, if they are not few. With `ids`, these are taken off first.
fn write_rows(
    statement: &Statement<'_>,
    store: &Arc<Store>,
    physical: Arc<dyn ExecutionPlan>,
    rules: &Arc<RowRules>,
    ids: Option<Arc<Mutex<RowIds>>>,
) -> Result<Loaded> {
    let few = FEW_ROWS.min(store.row_group_rows());
    let engine = statement.session.engine();
    let context = engine.task_context(Interrupt::of_part(statement.progress.heeds()));
    // Row groups that other threads write when this fails are for nothing.
    let _running = AskOnDrop::of(&context);
    let partitions = physical.output_partitioning().partition_count();
    let writers = engine.threads.div_ceil(partitions).max(1);
    let sink = || RowGroupSink::new(store, &rules.columns, partitions, writers, &context);
    statement.block_on(async {
        let mut tasks = vec![];
        for partition in 0..partitions {
            let stream = physical.execute(partition, Arc::clone(&context))?;
            let mut stream = heeding(stream, &context);
            let mut sink = sink();
            let (rules, ids) = (Arc::clone(rules), ids.clone());
            tasks.push(Abort(tokio::spawn(async move {
                let (mut held, mut rows) = (vec![], 0);
                while let Some(batch) = stream.next().await {
                    let mut batch = batch?;
                    if let Some(ids) = &ids {
                        batch = ids.lock().take(batch)?;
                        batch.remove_column(0);
                    }
                    let batch = rules.apply(&batch)?;
                    rows += batch.num_rows();
                    held.push(batch);
                    if rows > few {
                        for batch in held.drain(..) {
                            sink.push(batch).await?;
                        }
                    }
                }
                Ok::<_, Error>(if rows > few {
                    Loaded::Groups(sink.finish().await?)
                } else {
                    Loaded::Few(held)
                })
            })));
        }
        let mut loaded = vec![];
        for mut task in tasks {
            let written = (&mut task.0).await.map_err(|e| of_task(&e))?;
            loaded.push(written?);
        }
        together(loaded, few, sink).await
    })
}

/// What the parts of a plan gave as one: rows that stay few, or row groups.
async fn together(
    loaded: Vec<Loaded>,
    few: usize,
    sink: impl Fn() -> RowGroupSink,
) -> Result<Loaded> {
    let rows = loaded.iter().map(|part| match part {
        Loaded::Few(batches) => batches.iter().map(RecordBatch::num_rows).sum(),
        Loaded::Groups(_) => few + 1,
    });
    if rows.sum::<usize>() <= few {
        let batches = loaded.into_iter().flat_map(|part| match part {
            Loaded::Few(batches) => batches,
            Loaded::Groups(_) => vec![],
        });
        return Ok(Loaded::Few(batches.collect()));
    }
    let mut groups = vec![];
    for part in loaded {
        groups.extend(match part {
            Loaded::Groups(groups) => groups,
            Loaded::Few(batches) => {
                let mut sink = sink();
                for batch in batches {
                    sink.push(batch).await?;
                }
                sink.finish().await?
            }
        });
    }
    Ok(Loaded::Groups(groups))
}

/// Adds a few rows, as arrays that hold no more memory than their values take; returns their number. Large values go to
/// the file at once.
pub(in crate::exec) fn add(
    write: &mut Write<'_>,
    name: &TableName,
    columns: &[Column],
    arrays: &[ArrayRef],
) -> Result<u64> {
    let bytes = arrays.iter().map(|array| array.get_buffer_memory_size());
    if bytes.sum::<usize>() <= FEW_BYTES {
        return Ok(write.insert(&name.schema, &name.name, arrays)?);
    }
    let group = write.store().write_row_group(columns, arrays)?;
    Ok(write.append(&name.schema, &name.name, vec![group])?)
}

/// One array for each column, holding no more memory than its values take.
pub(in crate::exec) fn joined(batches: &[RecordBatch]) -> Result<Option<Vec<ArrayRef>>> {
    let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
    let columns = match batches.first() {
        Some(first) if rows > 0 => first.num_columns(),
        _ => return Ok(None),
    };
    let columns = (0..columns).map(|column| {
        let pieces: Vec<ArrayData> = batches.iter().map(|b| b.column(column).to_data()).collect();
        let mut copy = MutableArrayData::new(pieces.iter().collect(), false, rows);
        for (index, piece) in pieces.iter().enumerate() {
            copy.try_extend(index, 0, piece.len())?;
        }
        Ok(compact(make_array(copy.freeze())))
    });
    columns.collect::<Result<_>>().map(Some)
}

/// A task that does not outlive the statement that started it.
struct Abort<T>(JoinHandle<T>);

impl<T> Drop for Abort<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Cuts rows into row groups and writes them on other threads, a few at a time, keeping their order.
pub(in crate::exec) struct RowGroupSink {
    store: Arc<Store>,
    columns: Arc<[Column]>,
    builder: RowGroupBuilder,
    running: VecDeque<(usize, JoinHandle<Result<PendingRowGroup>>)>,
    writers: usize,
    done: Vec<PendingRowGroup>,
    /// For the rows that are gathered or written. Taken without asking: operators below get less.
    reservation: MemoryReservation,
    gathered: usize,
    /// Bytes of rows after which a row group ends early.
    most: usize,
    pool: Arc<dyn MemoryPool>,
    interrupt: Arc<Interrupt>,
}

/// Beside its rows, which go column by column, a row group that is written takes a share of them: one column joined and compressed.
const WRITING_SHARE: usize = 4;

/// Rows that all sinks of a statement gather take so much of the memory limit at most.
const GATHERED_SHARE: usize = 8;

/// A row group has so many bytes at least before memory that is short ends it.
const LEAST_GROUP_BYTES: usize = 1 << 20;

impl RowGroupSink {
    /// One of so many `sinks` that gather rows at once. It has so many `writers`.
    fn new(
        store: &Arc<Store>,
        columns: &[Column],
        sinks: usize,
        writers: usize,
        context: &TaskContext,
    ) -> Self {
        let pool = Arc::clone(context.memory_pool());
        let limit = limit_of(pool.as_ref());
        Self {
            reservation: Claim::Held.register("RowGroupSink", &pool),
            gathered: 0,
            most: (limit / GATHERED_SHARE / sinks.max(1)).max(LEAST_GROUP_BYTES),
            pool,
            interrupt: interrupt_of(context),
            store: Arc::clone(store),
            columns: columns.into(),
            builder: RowGroupBuilder::new(columns, store.row_group_rows()),
            running: VecDeque::new(),
            writers,
            done: vec![],
        }
    }

    pub(in crate::exec) async fn push(&mut self, batch: RecordBatch) -> Result<()> {
        // While memory is short, what is being written goes before more is gathered.
        while self.pool.reserved() > limit_of(self.pool.as_ref()) / 2 && !self.running.is_empty() {
            self.wait().await?;
        }
        let bytes = row_bytes(&batch)?;
        self.gathered += bytes;
        self.reservation.grow(bytes);
        for rows in self.builder.push(&batch)? {
            self.write(rows).await?;
        }
        if self.gathered >= self.most
            && let Some(rows) = self.builder.cut()
        {
            self.write(rows).await?;
        }
        Ok(())
    }

    async fn write(&mut self, rows: GatheredRows) -> Result<()> {
        while self.running.len() >= self.writers {
            self.wait().await?;
        }
        let (store, columns) = (Arc::clone(&self.store), Arc::clone(&self.columns));
        let gathered = std::mem::take(&mut self.gathered);
        let beside = gathered / WRITING_SHARE;
        self.reservation.grow(beside);
        let held = gathered + beside;
        let interrupt = Arc::clone(&self.interrupt);
        let task = tokio::task::spawn_blocking(move || {
            Ok(interrupt.watch(|| store.write_gathered(&columns, rows))?)
        });
        self.running.push_back((held, task));
        Ok(())
    }

    async fn wait(&mut self) -> Result<()> {
        if let Some((held, task)) = self.running.front_mut() {
            let held = *held;
            let written = task.await.map_err(|e| of_task(&e))?;
            self.running.pop_front();
            self.reservation.shrink(held);
            self.done.push(written?);
        }
        Ok(())
    }

    pub(in crate::exec) async fn finish(mut self) -> Result<Vec<PendingRowGroup>> {
        if let Some(rows) = self.builder.cut() {
            self.write(rows).await?;
        }
        while !self.running.is_empty() {
            self.wait().await?;
        }
        Ok(std::mem::take(&mut self.done))
    }
}
