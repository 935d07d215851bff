//! What the columns of a query are called: the planner knows names in lower case (`names.rs` of `hushdb_sql`), and here they get back what
//! they look like, where a statement's plan ends.
//!
//! What must hold: names alone change. A column that is only passed on is called what its table, or whoever named it, calls
//! it; an alias is called what the statement says.

use crate::functions;
use crate::scan::TableScan;
use datafusion::common::{Column, Result, TableReference};
use datafusion::datasource::{ViewTable, provider_as_source, source_as_provider};
use datafusion::logical_expr::{
    Distinct, Expr, JoinType, LogicalPlan, LogicalPlanBuilder, TableSource,
};
use hushdb_sql::{SPELLED, Spellings, folded, unique};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// The plan with its columns called what they look like.
pub(super) fn spelled(plan: LogicalPlan, spellings: &Spellings) -> Result<LogicalPlan> {
    let fields = plan.schema().fields();
    let names: Vec<String> = (0..fields.len())
        .map(|at| match spellings.listed.get(at) {
            Some(Some(name)) if spellings.listed.len() == fields.len() => name.clone(),
            _ => written(&plan, at).unwrap_or_else(|| spellings.of(fields[at].name())),
        })
        .collect();
    // The planner has told apart what is called the same.
    let mut taken: HashMap<String, Vec<Option<&TableReference>>> = HashMap::new();
    let names: Vec<String> = (plan.schema().iter().zip(names))
        .map(|((qualifier, field), name)| {
            let others = taken.entry(name.clone()).or_default();
            // Of two tables there may be one each.
            let mut others_of = others.iter();
            let is_free =
                others_of.all(|of| of.is_some() && qualifier.is_some() && *of != qualifier);
            others.push(qualifier);
            match is_free {
                true => name,
                false => spellings.of(field.name()),
            }
        })
        .collect();
    if names
        .iter()
        .zip(fields)
        .all(|(name, field)| name == field.name())
    {
        return Ok(plan);
    }
    let columns = plan.schema().iter().zip(&names);
    let columns: Vec<Expr> = columns
        .map(|((qualifier, field), name)| {
            Expr::Column((qualifier, field).into()).alias_qualified(qualifier.cloned(), name)
        })
        .collect();
    LogicalPlanBuilder::from(plan).project(columns)?.build()
}

/// What a column of a plan is called, if it is one of a table, or was spelled out.
pub(super) fn written(plan: &LogicalPlan, at: usize) -> Option<String> {
    use LogicalPlan as P;
    match plan {
        P::Projection(node) => of_expr(&node.input, node.expr.get(at)?),
        P::Distinct(Distinct::On(node)) => of_expr(&node.input, node.select_expr.get(at)?),
        P::SubqueryAlias(node) => written(&node.input, at),
        P::Join(node) => {
            let left = match node.join_type {
                JoinType::RightSemi | JoinType::RightAnti => 0,
                _ => node.left.schema().fields().len(),
            };
            match at.checked_sub(left) {
                None => written(&node.left, at),
                Some(at) => written(&node.right, at),
            }
        }
        P::Union(node) => written(node.inputs.first()?, at),
        P::RecursiveQuery(node) => written(&node.static_term, at),
        P::TableScan(node) => {
            let column = match &node.projection {
                Some(projection) => *projection.get(at)?,
                None => at,
            };
            let table = source_as_provider(&node.source).ok()?;
            let table = table.downcast_ref::<TableScan>()?;
            table.column_name(column).map(str::to_owned)
        }
        P::Explain(_) | P::Analyze(_) => None,
        // Others pass columns on under their names.
        node => match node.inputs().as_slice() {
            [input] if at < node.schema().fields().len() => {
                let column = node.schema().qualified_field(at).into();
                of_expr(input, &Expr::Column(column))
            }
            _ => None,
        },
    }
}

fn of_expr(input: &LogicalPlan, expr: &Expr) -> Option<String> {
    match expr {
        Expr::Column(column) => written(input, input.schema().maybe_index_of_column(column)?),
        Expr::Alias(alias) => match alias.expr.as_ref() {
            Expr::Column(column) if column.name != alias.name => None,
            expr => of_expr(input, expr),
        },
        Expr::ScalarFunction(call) if call.name() == SPELLED => match call.args.get(1)? {
            Expr::Literal(name, _) => name.try_as_str()?.map(str::to_owned),
            _ => None,
        },
        _ => None,
    }
}

/// A column as the planner knows it, which knows how its name is written.
pub(super) fn folded_column(column: Column, name: &str) -> Expr {
    let lower = folded(name);
    match lower == name {
        true => Expr::Column(column).alias(lower),
        false => functions::spelled(Expr::Column(column), name).alias(lower),
    }
}

/// A source under names that the planner knows. Names that differ in case alone are told apart by a number, as in DuckDB, but
/// those in `kept`, which stay.
pub(super) fn folded_source(
    source: Arc<dyn TableSource>,
    kept: &HashSet<&str>,
) -> Result<Arc<dyn TableSource>> {
    let schema = source.schema();
    let mut taken = HashSet::new();
    let mut names = vec![];
    for field in schema.fields() {
        names.push(match kept.contains(field.name().as_str()) {
            true => field.name().clone(),
            false => unique(&mut taken, field.name().clone()),
        });
    }
    let mut named = schema.fields().iter().zip(&names);
    if named.all(|(field, name)| field.name() == name && folded(name) == *name) {
        return Ok(source);
    }
    let scan = LogicalPlanBuilder::scan("source", source, None)?;
    let columns = scan.schema().columns().into_iter().zip(&names);
    let columns: Vec<Expr> = columns
        .map(|(column, name)| match kept.contains(name.as_str()) {
            true => Expr::Column(column).alias(name),
            false => folded_column(column, name),
        })
        .collect();
    let plan = scan.project(columns)?.build()?;
    Ok(provider_as_source(Arc::new(ViewTable::new(plan, None))))
}
