//! `UnnestedJson`: what is unnested from a list of JSON is JSON. DataFusion's Unnest has the type of items, not what their field says.

use super::rewrite_expressions::rewrite_plan;
use crate::functions::of_json;
use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::common::tree_node::Transformed;
use datafusion::common::{Column, Result};
use datafusion::config::ConfigOptions;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, Unnest};
use datafusion::optimizer::AnalyzerRule;
use hushdb_storage::is_json_item;

/// The rule, which says so in a projection above it.
#[derive(Debug)]
pub(super) struct UnnestedJson;

impl AnalyzerRule for UnnestedJson {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        with_unnested_json(plan)
    }

    fn name(&self) -> &str {
        "unnested_json"
    }
}

/// The plan, in which this is known.
pub(super) fn with_unnested_json(plan: LogicalPlan) -> Result<LogicalPlan> {
    rewrite_plan(plan, |plan| match plan {
        LogicalPlan::Unnest(unnest) => above(unnest),
        plan => Ok(Transformed::no(plan)),
    })
}

fn above(unnest: Unnest) -> Result<Transformed<LogicalPlan>> {
    let fields = unnest.input.schema().fields();
    let lists = unnest.list_type_columns.iter().filter(|(place, list)| {
        let field = fields.get(*place);
        field.is_some_and(|field| is_json_at(field.data_type(), list.depth))
    });
    let json: Vec<&Column> = lists.map(|(_, list)| &list.output_column).collect();
    if json.is_empty() {
        return Ok(Transformed::no(LogicalPlan::Unnest(unnest)));
    }
    let columns = unnest.schema.iter().map(|(qualifier, field)| {
        let column = Column::from((qualifier, field));
        let is_json = json.contains(&&column);
        let (relation, name) = (column.relation.clone(), column.name.clone());
        match is_json {
            true => of_json(Expr::Column(column)).alias_qualified(relation, name),
            false => Expr::Column(column),
        }
    });
    let columns: Vec<Expr> = columns.collect();
    let projection = LogicalPlanBuilder::from(LogicalPlan::Unnest(unnest)).project(columns)?;
    Ok(Transformed::yes(projection.build()?))
}

/// Whether what is this many lists deep is JSON.
fn is_json_at(list: &DataType, depth: usize) -> bool {
    let item: &Field = match list {
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => item,
        _ => return false,
    };
    match depth {
        0 | 1 => is_json_item(item),
        _ => is_json_at(item.data_type(), depth - 1),
    }
}
