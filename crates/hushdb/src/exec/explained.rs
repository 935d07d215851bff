//! EXPLAIN of statements that change something: the plan of the rows that they read, under what is done with these. EXPLAIN ANALYZE does
//! it, and says how many rows it was and how long it took.

use super::copy;
use super::explained_formats::{self, Done, Node};
use super::rows::{dml, merge};
use crate::exec::{query, run_planned, table_changed};
use crate::result::{QueryResult, ResultKind};
use crate::statement::Statement;
use datafusion::arrow::array::{ArrayRef, StringArray};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::logical_expr::{LogicalPlan, LogicalPlanBuilder};
use datafusion::sql::sqlparser::ast::{self, AnalyzeFormat};
use hushdb_sql::{Error, Result, Statement as Parsed};
use hushdb_storage::clock;
use std::sync::Arc;

/// `EXPLAIN [ANALYZE]` of a query, or of a change that sqlparser knows.
pub(super) fn of_sql(statement: &Statement<'_>, parsed: ast::Statement) -> Result<QueryResult> {
    match parsed {
        ast::Statement::Explain {
            statement: change,
            analyze,
            format,
            ..
        } if !matches!(*change, ast::Statement::Query(_)) => {
            let format = explained_formats::named(format);
            explain(statement, Parsed::Sql(change), analyze, format)
        }
        parsed => explained_formats::explain(statement, parsed),
    }
}

/// `EXPLAIN [ANALYZE] change`.
pub(super) fn explain(
    statement: &Statement<'_>,
    change: Parsed,
    analyzes: bool,
    format: Option<AnalyzeFormat>,
) -> Result<QueryResult> {
    // Before it is done: what it reads may be gone behind it.
    let plan = rows_read(statement, &change)?;
    let title = title_of(&change);
    if let Some(format) = format {
        let plan = plan.map(|plan| query::physical(statement, &plan));
        let mut node = Node::of_change(&title, plan.transpose()?.as_deref())?;
        if analyzes {
            node.done = Some(done(statement, change)?);
        }
        return node.shown(&format, analyzes);
    }
    let plan = plan.map(|plan| {
        LogicalPlanBuilder::from(plan)
            .explain(false, false)?
            .build()
    });
    let plan = match plan {
        Some(plan) => query::explain_plan(statement, plan?)?.collect_batches()?,
        None => vec![],
    };
    let title = match analyzes {
        true => format!("{title}{}", done(statement, change)?),
        false => title,
    };
    titled(&title, plan, analyzes)
}

/// Does it; says how many rows it was, and how long it took.
fn done(statement: &Statement<'_>, change: Parsed) -> Result<Done> {
    let began = clock::now();
    let mut result = run_planned(statement, change)?;
    let kind = result.kind();
    let returned: usize = result
        .by_ref()
        .map(|batch| Ok(batch?.num_rows()))
        .sum::<Result<usize>>()?;
    let rows = match kind {
        ResultKind::Count(rows) => usize::try_from(rows).ok(),
        _ => (returned > 0).then_some(returned),
    };
    Ok(Done {
        rows,
        time: began.elapsed(),
    })
}

/// What is done with the rows.
fn title_of(change: &Parsed) -> String {
    match change {
        Parsed::Sql(change) => table_changed(change),
        Parsed::Merge(merge) => format!("Merge: {}", merge.target),
        Parsed::CopyFrom { table, .. } => format!("CopyFrom: {table}"),
        Parsed::CopyTo { .. } => "CopyTo".into(),
        other => other.command().to_lowercase(),
    }
}

/// The plan of what a statement reads; nothing where it reads no rows.
fn rows_read(statement: &Statement<'_>, change: &Parsed) -> Result<Option<LogicalPlan>> {
    match change {
        Parsed::Sql(change) => rows_read_by_sql(statement, change),
        Parsed::Merge(merge) => merge::rows_read(statement, merge).map(Some),
        Parsed::CopyTo {
            what,
            path,
            options,
        } => {
            let path = copy::file_of(statement, path)?;
            hushdb_files::copy_options::options(&path, options)?;
            copy::rows_of(statement, what.clone()).map(Some)
        }
        Parsed::CopyFrom {
            table,
            columns,
            path,
            options,
        } => copy::rows_read(statement, table, columns, path, options),
        Parsed::Summarize(query) => {
            let query = query.as_ref().clone();
            statement.planner().plan_query(query).map(Some)
        }
        _ => Ok(None),
    }
}

fn rows_read_by_sql(
    statement: &Statement<'_>,
    change: &ast::Statement,
) -> Result<Option<LogicalPlan>> {
    use ast::Statement as S;
    match change {
        S::Insert(insert) => {
            let incoming = dml::incoming(statement, insert.clone(), false)?;
            Ok(Some(incoming.plan))
        }
        S::Update(update) => Ok(Some(dml::found_by_update(statement, update)?.plan)),
        S::Delete(delete) => Ok(Some(dml::found_by_delete(statement, delete)?.plan)),
        S::CreateTable(create) => {
            let query = create.query.clone();
            query
                .map(|query| statement.planner().plan_query(*query))
                .transpose()
        }
        S::Drop { .. }
        | S::Truncate(_)
        | S::CreateSchema { .. }
        | S::CreateIndex(_)
        | S::CreateView(_)
        | S::AlterTable(_) => Ok(None),
        _ => Err(Error::unsupported(
            "EXPLAIN of this statement is not there yet; it takes queries, INSERT, UPDATE, DELETE, MERGE, COPY and CREATE TABLE",
        )),
    }
}

/// Each plan under the change, a step further in.
fn titled(title: &str, plan: Vec<RecordBatch>, analyzes: bool) -> Result<QueryResult> {
    let schema = query::explain_schema();
    let (mut keys, mut texts) = (vec![], vec![]);
    for batch in &plan {
        for (key, text) in query::explain_rows(batch)? {
            let text: String = text.lines().map(|line| format!("  {line}\n")).collect();
            keys.push(key);
            texts.push(format!("{title}\n{text}"));
        }
    }
    if keys.is_empty() {
        keys.push("physical_plan".into());
        texts.push(format!("{title}\n"));
    }
    if analyzes {
        for key in keys.iter_mut().filter(|key| *key == "physical_plan") {
            *key = "analyzed_plan".into();
        }
    }
    let columns: Vec<ArrayRef> = vec![
        Arc::new(StringArray::from(keys)),
        Arc::new(StringArray::from(texts)),
    ];
    let rows = vec![RecordBatch::try_new(Arc::clone(&schema), columns)?];
    Ok(QueryResult::rows(schema, rows))
}
