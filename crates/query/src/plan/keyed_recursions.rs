//! `USING KEY` of recursive queries: their first part has a mark with the columns of the key, as `crates/sql/src/parser/keyed_queries.rs`
//! writes it. The plan has it in the query's name, and what the query reads of itself is known by a number.
//!
//! What must hold: it comes before rules that move conditions or change what a part's columns are.

use crate::keyed_recursion::{TurnTable, recursion_name};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::cte_worktable::CteWorkTable;
use datafusion::common::tree_node::{Transformed, TreeNodeRecursion};
use datafusion::common::{DFSchema, DataFusionError, Result};
use datafusion::config::ConfigOptions;
use datafusion::datasource::{provider_as_source, source_as_provider};
use datafusion::logical_expr::{
    Cast, Expr, LogicalPlan, LogicalPlanBuilder, RecursiveQuery, TableScan,
};
use datafusion::optimizer::AnalyzerRule;
use hushdb_sql::{Error, RECURRING, USING_KEY};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The rule; see the module.
#[derive(Debug)]
pub(super) struct UsingKey;

impl AnalyzerRule for UsingKey {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        let keyed = plan.transform_down_with_subqueries(|plan| match plan {
            LogicalPlan::RecursiveQuery(query) => keyed(with_one_type(query)?),
            plan => Ok(Transformed::no(plan)),
        })?;
        // A query that reads nothing of itself has no use of a key.
        let plain = keyed.data.transform_up_with_subqueries(without_mark)?;
        Ok(plain.data)
    }

    fn name(&self) -> &'static str {
        "using_key"
    }
}

/// The query where each part has columns of the types of the first one, which may be NULL, whatever later rules make of them.
fn with_one_type(mut query: RecursiveQuery) -> Result<RecursiveQuery> {
    let types: Vec<_> = query
        .static_term
        .schema()
        .fields()
        .iter()
        .cloned()
        .collect();
    for part in [&mut query.static_term, &mut query.recursive_term] {
        let columns = part.schema().iter().zip(&types);
        let columns = columns.map(|((table, field), of)| {
            let column = Expr::Column((table, field).into());
            let cast = Cast::new_from_field(Box::new(column), Arc::clone(of));
            Expr::Cast(cast).alias_qualified(table.cloned(), field.name())
        });
        let columns: Vec<Expr> = columns.collect();
        let plan = LogicalPlanBuilder::from(part.as_ref().clone()).project(columns)?;
        *part = Arc::new(plan.build()?);
    }
    let fields = query.schema.iter().map(|(table, field)| {
        let nullable = field.as_ref().clone().with_nullable(true);
        (table.cloned(), Arc::new(nullable))
    });
    let schema = DFSchema::new_with_metadata(fields.collect(), query.schema.metadata().clone())?;
    query.schema = Arc::new(schema);
    Ok(query)
}

fn keyed(query: RecursiveQuery) -> Result<Transformed<LogicalPlan>> {
    static NUMBERS: AtomicU64 = AtomicU64::new(0);
    let Some(of_key) = key_of(&query.static_term)? else {
        return Ok(Transformed::yes(LogicalPlan::RecursiveQuery(query)));
    };
    let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
    let recursive = Arc::unwrap_or_clone(query.recursive_term);
    let recursive = recursive.transform_down_with_subqueries(|plan| match plan {
        LogicalPlan::TableScan(scan) => reading_turns(scan, &query.name, number),
        // Its name hides this one.
        LogicalPlan::RecursiveQuery(inner) if inner.name == query.name => {
            let inner = LogicalPlan::RecursiveQuery(inner);
            Ok(Transformed::new(inner, false, TreeNodeRecursion::Jump))
        }
        plan => Ok(Transformed::no(plan)),
    })?;
    let query = RecursiveQuery {
        name: recursion_name(number, &of_key),
        recursive_term: Arc::new(recursive.data),
        static_term: query.static_term,
        is_distinct: query.is_distinct,
        schema: query.schema,
    };
    Ok(Transformed::yes(LogicalPlan::RecursiveQuery(query)))
}

/// The places of a key's columns, where a first part has the mark.
fn key_of(first: &LogicalPlan) -> Result<Option<Vec<usize>>> {
    match first {
        LogicalPlan::Projection(of) => key_of(&of.input),
        LogicalPlan::SubqueryAlias(of) => key_of(&of.input),
        LogicalPlan::Filter(filter) => {
            let Some(columns) = marked(&filter.predicate) else {
                return Ok(None);
            };
            let places = columns.iter().map(|column| match column {
                Expr::Column(column) => filter.input.schema().index_of_column(column),
                _ => Err(Error::binder("USING KEY takes names of columns").into()),
            });
            places.collect::<Result<_>>().map(Some)
        }
        _ => Ok(None),
    }
}

fn marked(condition: &Expr) -> Option<&[Expr]> {
    match condition {
        Expr::ScalarFunction(call) if call.name() == USING_KEY => Some(&call.args),
        _ => None,
    }
}

/// A scan of the query itself, as one of a turn's rows, or of the rows of all keys.
fn reading_turns(mut scan: TableScan, name: &str, number: u64) -> Result<Transformed<LogicalPlan>> {
    if let Some(table) = work_table(&scan)
        && table.0 == name
    {
        scan.source = provider_as_source(Arc::new(TurnTable {
            number,
            of_all: is_of_all(&scan),
            schema: table.1,
        }));
        return Ok(Transformed::yes(LogicalPlan::TableScan(scan)));
    }
    Ok(Transformed::no(LogicalPlan::TableScan(scan)))
}

fn is_of_all(scan: &TableScan) -> bool {
    scan.table_name.schema() == Some(RECURRING)
}

/// The name of the query that a scan reads itself of, and its columns.
fn work_table(scan: &TableScan) -> Option<(String, SchemaRef)> {
    let table = source_as_provider(&scan.source).ok()?;
    let table = table.downcast_ref::<CteWorkTable>()?;
    Some((table.name().to_owned(), table.schema()))
}

fn without_mark(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    match plan {
        LogicalPlan::Filter(filter) if marked(&filter.predicate).is_some() => {
            Ok(Transformed::yes(Arc::unwrap_or_clone(filter.input)))
        }
        LogicalPlan::TableScan(scan) if is_of_all(&scan) && work_table(&scan).is_some() => {
            let table = scan.table_name.table();
            let error = Error::catalog(format!(
                "Table with name \"{RECURRING}.{table}\" does not exist because schema \"{RECURRING}\" does not exist: a recursive \
                 query has it that says USING KEY"
            ));
            Err(DataFusionError::from(error))
        }
        plan => Ok(Transformed::no(plan)),
    }
}
