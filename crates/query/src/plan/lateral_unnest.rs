//! `LateralUnnest`: `FROM t, unnest(t.a) AS u(x)`, of a column to the left. `hushdb_sql` brings it and all that is to its
//! left together in brackets, as one relation.

use datafusion::common::{Column, DFSchema, Result, UnnestOptions, plan_err};
use datafusion::logical_expr::planner::{
    PlannedRelation, RelationPlanner, RelationPlannerContext, RelationPlanning,
};
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder};
use datafusion::sql::sqlparser::ast::{JoinOperator, TableFactor, TableWithJoins};
use hushdb_sql::unnest_table;

/// The list, before its values are taken out of it.
const LIST: &str = "$list";

#[derive(Debug)]
pub(super) struct LateralUnnest;

impl RelationPlanner for LateralUnnest {
    fn plan_relation(
        &self,
        mut relation: TableFactor,
        context: &mut dyn RelationPlannerContext,
    ) -> Result<RelationPlanning> {
        // In text that was made of rewritten SQL and is read again.
        unnest_table(&mut relation);
        let TableFactor::NestedJoin {
            table_with_joins,
            alias: None,
        } = &mut relation
        else {
            return Ok(RelationPlanning::Original(Box::new(relation)));
        };
        let Some((left, unnest)) = parts(table_with_joins) else {
            return Ok(RelationPlanning::Original(Box::new(relation)));
        };
        let left = context.plan(left)?;
        let planned = unnested(left, unnest, context)?;
        Ok(RelationPlanning::Planned(Box::new(PlannedRelation::new(
            planned, None,
        ))))
    }
}

/// What is to the left of `CROSS JOIN unnest(...)`, and that.
fn parts(tables: &mut TableWithJoins) -> Option<(TableFactor, &TableFactor)> {
    let [join] = tables.joins.as_mut_slice() else {
        return None;
    };
    unnest_table(&mut join.relation);
    let is_cross = matches!(join.join_operator, JoinOperator::CrossJoin(_));
    let is_unnest = matches!(join.relation, TableFactor::UNNEST { .. });
    (is_cross && is_unnest).then(|| (tables.relation.clone(), &join.relation))
}

fn unnested(
    left: LogicalPlan,
    unnest: &TableFactor,
    context: &mut dyn RelationPlannerContext,
) -> Result<LogicalPlan> {
    let TableFactor::UNNEST {
        alias, array_exprs, ..
    } = unnest
    else {
        return plan_err!("a relation is no unnest");
    };
    let [list] = array_exprs.as_slice() else {
        return plan_err!("unnest takes one list in FROM");
    };
    let (table, column) = match alias {
        None => ("unnest".to_owned(), None),
        Some(alias) => {
            let column = alias.columns.first().map(|column| column.name.clone());
            let table = context.normalize_ident(alias.name.clone());
            (table, column.map(|column| context.normalize_ident(column)))
        }
    };
    let column = column.unwrap_or_else(|| "unnest".to_owned());
    let schema: &DFSchema = left.schema();
    let list = context.sql_to_expr(list.clone(), schema)?;
    let columns: Vec<Expr> = schema.columns().into_iter().map(Expr::Column).collect();
    let with_list = columns.iter().cloned().chain([list.alias(LIST)]);
    // An empty list, and NULL, have no rows.
    let options = UnnestOptions::new().with_preserve_nulls(false);
    let with_list: Vec<Expr> = with_list.collect();
    let value = Expr::Column(Column::from_name(LIST)).alias_qualified(Some(table), column);
    LogicalPlanBuilder::from(left.clone())
        .project(with_list)?
        .unnest_column_with_options(Column::from_name(LIST), options)?
        .project(columns.into_iter().chain([value]))?
        .build()
}
