//! SUMMARIZE: one row a column of a table or query, with DuckDB's columns.
//!
//! What must hold: of a table without deletes and recent rows, smallest and greatest values, NULLs and distinct values are
//! taken from what its row groups record, which is exact; everything else is found in one pass over the rows.

mod column;
mod numbers;
mod sample;

use crate::exec::query;
use crate::result::QueryResult;
use crate::statement::Statement;
use column::{ColumnPass, Wanted};
use datafusion::arrow::array::{ArrayRef, Decimal64Array, Int64Array, StringArray};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Schema};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::stats::Precision;
use datafusion::common::{ScalarValue, Statistics};
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder};
use datafusion::physical_plan::ExecutionPlanProperties;
use datafusion::sql::sqlparser::ast;
use futures::StreamExt;
use hushdb_query::functions::value_text;
use hushdb_query::heed::{heeding, of_task};
use hushdb_query::plan::Planner;
use hushdb_query::scan::TableScan;
use hushdb_sql::name_parts;
use hushdb_sql::{self as sql, type_names::display_type};
use hushdb_sql::{Error, Result};
use numbers::NumberTexts;
use std::sync::Arc;
use tokio::task::JoinSet;

/// What is said of a column.
#[derive(Default)]
struct Summary {
    min: Option<ScalarValue>,
    max: Option<ScalarValue>,
    distinct: u64,
    nulls: u64,
    numbers: NumberTexts,
}

pub(in crate::exec) fn summarize(
    statement: &Statement<'_>,
    query: ast::Query,
) -> Result<QueryResult> {
    rows_of(statement, &statement.planner(), query)
}

/// The rows of SUMMARIZE.
pub(in crate::exec) fn rows_of(
    statement: &Statement<'_>,
    planner: &Planner<'_>,
    query: ast::Query,
) -> Result<QueryResult> {
    let kept = kept(planner, &query)?;
    let plan = planner.plan_query(query)?;
    // Types as they come out; the plan itself is optimised when it is run.
    let optimised = planner.state().optimize(&plan)?;
    let fields: Vec<FieldRef> = optimised.schema().fields().iter().cloned().collect();
    let mut rows = 0;
    let mut summaries: Vec<Summary> = fields.iter().map(|_| Summary::default()).collect();
    let mut wanted: Vec<Wanted> = fields.iter().map(|field| Wanted::all(field)).collect();
    if let Some(kept) = &kept {
        rows = kept.num_rows.get_value().map_or(0, |n| *n as u64);
        for ((summary, wanted), column) in summaries
            .iter_mut()
            .zip(&mut wanted)
            .zip(&kept.column_statistics)
        {
            take_kept(summary, wanted, column, rows);
        }
    }
    let columns: Vec<usize> = (0..fields.len())
        .filter(|i| wanted[*i].anything())
        .collect();
    if !columns.is_empty() && kept.as_ref().is_none_or(|_| rows > 0) {
        let picked: Vec<Wanted> = columns.iter().map(|i| wanted[*i]).collect();
        let plan = match columns.len() < fields.len() {
            true => pick(plan, &columns)?,
            false => plan,
        };
        let passed = pass(statement, planner, &plan, &picked)?;
        rows = passed.rows;
        for (i, column) in columns.into_iter().zip(passed.columns) {
            column.finish(&mut summaries[i])?;
        }
    }
    table(&fields, &summaries, rows)
}

/// What a table's row groups record, if the query is a bare table and that is exact.
fn kept(planner: &Planner<'_>, query: &ast::Query) -> Result<Option<Statistics>> {
    let snapshot = planner.snapshot;
    let Some((name, table)) = bare_table(query).and_then(|parts| snapshot.table(&parts).ok())
    else {
        return Ok(None);
    };
    let database = snapshot.database(&name.database)?;
    let scan = TableScan::new(
        Arc::clone(&database.store),
        Arc::clone(&database.version),
        table,
        false,
        Arc::clone(&planner.progress),
    );
    let statistics = scan.whole_statistics()?;
    let mut columns = statistics.column_statistics.iter();
    let exact = columns.all(|column| matches!(column.null_count, Precision::Exact(_)));
    Ok(exact.then_some(statistics))
}

/// The name in `SELECT * FROM name` and `FROM name`, if the query says no more.
fn bare_table(query: &ast::Query) -> Option<Vec<String>> {
    let ast::SetExpr::Select(select) = query.body.as_ref() else {
        return None;
    };
    let [from] = select.from.as_slice() else {
        return None;
    };
    let ast::TableFactor::Table { name, .. } = &from.relation else {
        return None;
    };
    let texts = [format!("SELECT * FROM {name}"), format!("FROM {name}")];
    let bare = texts.iter().any(
        |text| matches!(sql::parse_one(text), Ok(ast::Statement::Query(bare)) if *bare == *query),
    );
    bare.then(|| name_parts(name).ok()).flatten()
}

/// Takes what is known of a column, and wants it no more.
fn take_kept(
    summary: &mut Summary,
    wanted: &mut Wanted,
    known: &datafusion::common::ColumnStatistics,
    rows: u64,
) {
    let Precision::Exact(nulls) = known.null_count else {
        return;
    };
    summary.nulls = nulls as u64;
    // Nothing is known of lists and structs.
    if let Precision::Inexact(distinct) = known.distinct_count {
        summary.distinct = (distinct as u64).min(rows - summary.nulls.min(rows));
        wanted.distinct = false;
    }
    if summary.nulls == rows {
        *wanted = Wanted::default();
    } else if let (Precision::Exact(min), Precision::Exact(max)) =
        (&known.min_value, &known.max_value)
    {
        summary.min = Some(min.clone());
        summary.max = Some(max.clone());
        wanted.bounds = false;
    }
}

/// Some of a plan's columns.
fn pick(plan: LogicalPlan, columns: &[usize]) -> Result<LogicalPlan> {
    let all = plan.schema().columns();
    let picked: Vec<Expr> = columns
        .iter()
        .map(|i| Expr::Column(all[*i].clone()))
        .collect();
    Ok(LogicalPlanBuilder::from(plan).project(picked)?.build()?)
}

/// What a pass over the rows has found.
struct Passed {
    rows: u64,
    columns: Vec<ColumnPass>,
}

/// Runs a plan and looks at each of its columns, its partitions at once.
fn pass(
    statement: &Statement<'_>,
    planner: &Planner<'_>,
    plan: &LogicalPlan,
    wanted: &[Wanted],
) -> Result<Passed> {
    let physical = query::physical(statement, plan)?;
    let fields = physical.schema().fields().clone();
    let new = |partition: usize| -> Result<Passed> {
        let columns = fields.iter().zip(wanted);
        let columns = columns.map(|(field, wanted)| ColumnPass::new(field, *wanted, partition));
        Ok(Passed {
            rows: 0,
            columns: columns.collect::<Result<_>>()?,
        })
    };
    let heeds = Arc::clone(planner.progress.heeds());
    let context = statement.session.engine().task_context(heeds);
    statement.block_on(async {
        let mut tasks = JoinSet::new();
        for partition in 0..physical.output_partitioning().partition_count() {
            let stream = physical.execute(partition, Arc::clone(&context))?;
            let mut stream = heeding(stream, &context);
            let mut passed = new(partition)?;
            tasks.spawn(async move {
                while let Some(batch) = stream.next().await {
                    let batch = batch?;
                    passed.rows += batch.num_rows() as u64;
                    for (column, values) in passed.columns.iter_mut().zip(batch.columns()) {
                        column.add(values)?;
                    }
                }
                Ok::<_, Error>((partition, passed))
            });
        }
        let mut parts = vec![];
        while let Some(part) = tasks.join_next().await {
            parts.push(part.map_err(|e| of_task(&e))??);
        }
        // In one order, so that sums of doubles are the same each time.
        parts.sort_by_key(|(partition, _)| *partition);
        let mut all = new(0)?;
        for (_, part) in parts {
            all.rows += part.rows;
            for (column, other) in all.columns.iter_mut().zip(part.columns) {
                column.merge(other)?;
            }
        }
        Ok(all)
    })
}

fn table(fields: &[FieldRef], summaries: &[Summary], rows: u64) -> Result<QueryResult> {
    let value = |value: &Option<ScalarValue>| -> Result<Option<String>> {
        match value {
            Some(value) => Ok(value_text(value.to_array()?.as_ref(), 0)?),
            None => Ok(None),
        }
    };
    let texts = |of: &dyn Fn(&Summary) -> Result<Option<String>>| -> Result<ArrayRef> {
        let texts = summaries.iter().map(of);
        Ok(Arc::new(texts.collect::<Result<StringArray>>()?))
    };
    let number = |of: &dyn Fn(&NumberTexts) -> &Option<String>| {
        texts(&|summary| Ok(of(&summary.numbers).clone()))
    };
    let nulls = summaries.iter().map(|summary| {
        let share = (1.0 - (rows - summary.nulls) as f64 / rows as f64) * 100.0;
        (rows > 0).then(|| (share * 100.0).round() as i64)
    });
    let nulls = nulls.collect::<Decimal64Array>();
    let distinct = summaries
        .iter()
        .map(|summary| Some(summary.distinct as i64));
    let columns: Vec<(&str, ArrayRef)> = vec![
        (
            "column_name",
            Arc::new(
                fields
                    .iter()
                    .map(|f| Some(f.name()))
                    .collect::<StringArray>(),
            ),
        ),
        (
            "column_type",
            Arc::new(
                fields
                    .iter()
                    .map(|f| Some(type_name(f)))
                    .collect::<StringArray>(),
            ),
        ),
        ("min", texts(&|summary| value(&summary.min))?),
        ("max", texts(&|summary| value(&summary.max))?),
        ("approx_unique", Arc::new(distinct.collect::<Int64Array>())),
        ("avg", number(&|numbers| &numbers.avg)?),
        ("std", number(&|numbers| &numbers.std)?),
        ("q25", number(&|numbers| &numbers.quartiles[0])?),
        ("q50", number(&|numbers| &numbers.quartiles[1])?),
        ("q75", number(&|numbers| &numbers.quartiles[2])?),
        (
            "count",
            Arc::new(Int64Array::from(vec![rows as i64; fields.len()])),
        ),
        (
            "null_percentage",
            Arc::new(nulls.with_precision_and_scale(9, 2)?),
        ),
    ];
    let schema = columns
        .iter()
        .map(|(name, array)| Field::new(*name, array.data_type().clone(), true));
    let schema = Arc::new(Schema::new(schema.collect::<Vec<_>>()));
    let columns = columns.into_iter().map(|(_, array)| array).collect();
    let batch = RecordBatch::try_new(Arc::clone(&schema), columns)?;
    Ok(QueryResult::rows(schema, vec![batch]))
}

/// As in DuckDB, a column of NULL alone is an INTEGER.
fn type_name(field: &Field) -> String {
    match field.data_type() {
        DataType::Null => "INTEGER".into(),
        _ => display_type(field),
    }
}
