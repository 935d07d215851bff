//! SELECT and EXPLAIN.

use crate::result::QueryResult;
use crate::session::ExplainOutput;
use crate::statement::Statement;
use datafusion::arrow::array::{ArrayRef, AsArray, StringArray};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::Column;
use datafusion::logical_expr::{Cast, Expr, LogicalPlan, LogicalPlanBuilder};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::sql::sqlparser::ast;
use futures::StreamExt;
use hushdb_query::heed::{AskOnDrop, heeding};
use hushdb_query::memory::{KeepRows, KeptRows};
use hushdb_query::plan::{InOrderExec, Planner};
use hushdb_sql::{self as sql, Error, Result};
use hushdb_storage::Interrupt;
use std::sync::Arc;

/// Plans a query and gives its rows as a stream.
pub(super) fn run(statement: &Statement<'_>, query: ast::Statement) -> Result<QueryResult> {
    let plan = statement.planner().plan_statement(query)?;
    stream(statement, &without_untyped(plan)?)
}

/// The plan, whose columns of NULL without a type are INTEGER, as in DuckDB.
pub(super) fn without_untyped(plan: LogicalPlan) -> Result<LogicalPlan> {
    let schema = Arc::clone(plan.schema());
    if schema
        .fields()
        .iter()
        .all(|field| typed(field.data_type()).is_none())
    {
        return Ok(plan);
    }
    let columns = schema.iter().map(|(table, field)| {
        let column = Expr::Column(Column::from((table, field)));
        match typed(field.data_type()) {
            None => column,
            Some(to) => {
                let cast = Cast::new(Box::new(column), to);
                Expr::Cast(cast).alias_qualified(table.cloned(), field.name())
            }
        }
    });
    let columns: Vec<Expr> = columns.collect();
    Ok(LogicalPlanBuilder::from(plan).project(columns)?.build()?)
}

/// The type that an untyped one becomes, NULL's or that of lists and structs of it; `None` for all others.
fn typed(of: &DataType) -> Option<DataType> {
    match of {
        DataType::Null => Some(DataType::Int32),
        DataType::List(item) => {
            let item = item
                .as_ref()
                .clone()
                .with_data_type(typed(item.data_type())?);
            Some(DataType::List(Arc::new(item)))
        }
        DataType::Struct(fields) => {
            let mut some = false;
            let fields = fields.iter().map(|field| match typed(field.data_type()) {
                Some(ty) => {
                    some = true;
                    Arc::new(field.as_ref().clone().with_data_type(ty))
                }
                None => Arc::clone(field),
            });
            let fields = fields.collect();
            some.then_some(DataType::Struct(fields))
        }
        _ => None,
    }
}

/// Runs a logical plan.
pub(super) fn stream(statement: &Statement<'_>, plan: &LogicalPlan) -> Result<QueryResult> {
    stream_physical(statement, physical(statement, plan)?)
}

/// Runs a plan that is executable.
pub(super) fn stream_physical(
    statement: &Statement<'_>,
    physical: Arc<dyn ExecutionPlan>,
) -> Result<QueryResult> {
    let engine = statement.session.engine();
    let _entered = engine.runtime.enter()?;
    let context = engine.task_context(Interrupt::of_part(statement.progress.heeds()));
    let running = AskOnDrop::of(&context);
    let stream = InOrderExec::aside(physical).execute(0, context)?;
    Ok(QueryResult::stream(
        stream,
        Arc::clone(&engine.runtime),
        Arc::clone(statement.progress),
        Some(running),
    ))
}

/// Optimises a logical plan and makes it executable.
pub(super) fn physical(
    statement: &Statement<'_>,
    plan: &LogicalPlan,
) -> Result<Arc<dyn ExecutionPlan>> {
    statement.block_on(async {
        Ok(statement
            .session
            .engine()
            .state
            .create_physical_plan(plan)
            .await?)
    })
}

/// Reads a small result into memory.
pub(super) fn collect(statement: &Statement<'_>, plan: &LogicalPlan) -> Result<Vec<RecordBatch>> {
    stream(statement, plan)?.collect_batches()
}

/// The columns of a view, if its query still stands.
pub(super) fn bound_view(planner: &Planner<'_>, path: [&str; 3]) -> Result<SchemaRef> {
    let path = path.map(sql::quoted).join(".");
    match sql::parse_one(&format!("SELECT * FROM {path}"))? {
        ast::Statement::Query(query) => {
            let plan = planner.state().optimize(&planner.plan_query(*query)?)?;
            Ok(Arc::clone(plan.schema().inner()))
        }
        _ => Err(Error::internal("a SELECT was parsed as something else")),
    }
}

/// Keeps all rows of a plan, each batch as `change` gives it back.
pub(super) fn keep(
    statement: &Statement<'_>,
    plan: &LogicalPlan,
    mut change: impl FnMut(RecordBatch) -> Result<RecordBatch>,
) -> Result<KeptRows> {
    let result = stream(statement, plan)?;
    let none = change(RecordBatch::new_empty(result.schema()))?;
    let mut kept = KeepRows::new(none.schema(), &statement.session.engine().context());
    for batch in result {
        kept.push(change(batch?)?)?;
    }
    Ok(kept.finish()?)
}

/// Keeps the rows of a result.
pub(super) fn kept(statement: &Statement<'_>, result: QueryResult) -> Result<KeptRows> {
    let mut kept = KeepRows::new(result.schema(), &statement.session.engine().context());
    for batch in result {
        kept.push(batch?)?;
    }
    Ok(kept.finish()?)
}

/// Rows of these columns, of which there are none.
pub(super) fn no_rows(statement: &Statement<'_>, schema: SchemaRef) -> Result<KeptRows> {
    let context = statement.session.engine().context();
    Ok(KeepRows::new(schema, &context).finish()?)
}

/// Reads a few kept rows into memory.
pub(super) fn read(statement: &Statement<'_>, rows: &KeptRows) -> Result<Vec<RecordBatch>> {
    let runtime = Arc::clone(&statement.session.engine().runtime);
    QueryResult::stream(rows.stream(), runtime, Arc::clone(statement.progress), None)
        .collect_batches()
}

/// Characters that EXPLAIN shows of one line of a plan: a list of constants may be as long as a file.
const SHOWN: usize = 4000;

/// A plan with its long lines cut.
pub(super) fn shortened(plan: &str) -> String {
    let lines = plan.split_inclusive('\n').map(|line| {
        let end = line.char_indices().nth(SHOWN).map(|(end, _)| end);
        end.map_or(line.to_owned(), |end| {
            let left_out = line[end..].trim_end().chars().count();
            let ending = if line.ends_with('\n') { "\n" } else { "" };
            format!("{} ... {left_out} characters more{ending}", &line[..end])
        })
    });
    lines.collect()
}

/// EXPLAIN and EXPLAIN ANALYZE, as rows of `explain_key` and `explain_value` like DuckDB's.
pub(super) fn explain(statement: &Statement<'_>, query: ast::Statement) -> Result<QueryResult> {
    let plan = statement.planner().plan_statement(query)?;
    explain_plan(statement, plan)
}

/// The columns of an EXPLAIN.
pub(super) fn explain_schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("explain_key", DataType::Utf8, false),
        Field::new("explain_value", DataType::Utf8, false),
    ]))
}

/// Keys and values of an EXPLAIN.
pub(super) fn explain_rows(batch: &RecordBatch) -> Result<Vec<(String, String)>> {
    let texts = |at: usize| datafusion::arrow::compute::cast(batch.column(at), &DataType::Utf8);
    let (keys, plans) = (texts(0)?, texts(1)?);
    let rows = keys.as_string::<i32>().iter().zip(plans.as_string::<i32>());
    let owned = |text: Option<&str>| text.unwrap_or_default().to_owned();
    Ok(rows.map(|(key, plan)| (owned(key), owned(plan))).collect())
}

/// What a plan of EXPLAIN says.
pub(super) fn explain_plan(statement: &Statement<'_>, plan: LogicalPlan) -> Result<QueryResult> {
    let physical = physical(statement, &plan)?;
    let batches = statement.block_on(async {
        let context = statement
            .session
            .engine()
            .task_context(Arc::clone(statement.progress.heeds()));
        let mut stream = heeding(physical.execute(0, Arc::clone(&context))?, &context);
        let mut batches = vec![];
        while let Some(batch) = stream.next().await {
            batches.push(batch?);
        }
        Ok(batches)
    })?;
    let schema = explain_schema();
    let output = statement.session.settings.lock().explain;
    let (mut keys, mut plans) = (vec![], vec![]);
    if let (ExplainOutput::All, LogicalPlan::Explain(explain)) = (output, &plan) {
        keys.push("logical_plan".to_owned());
        plans.push(shortened(&explain.plan.display_indent().to_string()));
    }
    for batch in &batches {
        for (key, plan) in explain_rows(batch)? {
            let key = match key.as_str() {
                "logical_plan" if output == ExplainOutput::PhysicalOnly => continue,
                "physical_plan" if output == ExplainOutput::OptimizedOnly => continue,
                "logical_plan" => "logical_opt",
                "Plan with Metrics" => "analyzed_plan",
                other => other,
            };
            keys.push(key.to_owned());
            plans.push(shortened(&plan));
        }
    }
    let columns: Vec<ArrayRef> = vec![
        Arc::new(StringArray::from(keys)),
        Arc::new(StringArray::from(plans)),
    ];
    let result = vec![RecordBatch::try_new(Arc::clone(&schema), columns)?];
    Ok(QueryResult::rows(schema, result))
}
