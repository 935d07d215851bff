//! `LateralUnnest`: `FROM t, unnest(t.a) AS u(x)`, of a column to the left. `hushdb_sql` brings it and all that is to its
//! left together in brackets, as one relation. The rows of `json_each` and `json_tree` are such lists, of structs that become
//! columns.

use datafusion::common::{Column, DFSchema, Result, UnnestOptions, plan_err};
use datafusion::functions::core::expr_fn::get_field;
use datafusion::logical_expr::planner::{
    PlannedRelation, RelationPlanner, RelationPlannerContext, RelationPlanning,
};
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder};
use datafusion::sql::sqlparser::ast::{JoinOperator, TableFactor, TableWithJoins};
use hushdb_sql::{JSON_EACH, JSON_MEMBERS, JSON_TREE, is_call, unnest_table};

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
        if rows_of_json(&relation) {
            let alone = LogicalPlanBuilder::empty(true).build()?;
            let planned = unnested(alone, &relation, context)?;
            return Ok(RelationPlanning::Planned(Box::new(PlannedRelation::new(
                planned, None,
            ))));
        }
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

/// Whether a relation is `json_each` or `json_tree`.
fn rows_of_json(relation: &TableFactor) -> bool {
    match relation {
        TableFactor::UNNEST { array_exprs, .. } => {
            let lists = [JSON_EACH, JSON_TREE].into_iter().chain(JSON_MEMBERS);
            match array_exprs.as_slice() {
                [list] => lists.into_iter().any(|known| is_call(list, known)),
                _ => false,
            }
        }
        _ => false,
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
    let mut names = vec![];
    let mut table = "unnest".to_owned();
    if let Some(alias) = alias {
        let given = alias.columns.iter().map(|column| column.name.clone());
        names = given.map(|name| context.normalize_ident(name)).collect();
        table = context.normalize_ident(alias.name.clone());
    }
    let of_json = rows_of_json(unnest);
    let is_members = JSON_MEMBERS.iter().any(|known| is_call(list, known));
    let schema: &DFSchema = left.schema();
    let list = context.sql_to_expr(list.clone(), schema)?;
    let columns: Vec<Expr> = schema.columns().into_iter().map(Expr::Column).collect();
    let with_list = columns.iter().cloned().chain([list.alias(LIST)]);
    // An empty list, and NULL, have no rows.
    let options = UnnestOptions::new().with_preserve_nulls(false);
    let with_list: Vec<Expr> = with_list.collect();
    let value = Expr::Column(Column::from_name(LIST));
    let values = match of_json {
        true => fields_of_json(&value, &table, names, is_members)?,
        false => {
            let name = names.into_iter().next();
            let name = name.unwrap_or_else(|| "unnest".to_owned());
            vec![value.alias_qualified(Some(table), name)]
        }
    };
    LogicalPlanBuilder::from(left.clone())
        .project(with_list)?
        .unnest_column_with_options(Column::from_name(LIST), options)?
        .project(columns.into_iter().chain(values))?
        .build()
}

/// The fields of a row of JSON as columns, the first of them under the names that are given.
fn fields_of_json(
    row: &Expr,
    table: &str,
    names: Vec<String>,
    is_members: bool,
) -> Result<Vec<Expr>> {
    let usual: &[&str] = match is_members {
        true => &["key", "value"],
        false => &[
            "key", "value", "type", "atom", "id", "parent", "fullkey", "path",
        ],
    };
    if names.len() > usual.len() {
        return plan_err!("the rows of JSON have {} columns", usual.len());
    }
    let mut names = names.into_iter();
    let columns = usual.iter().map(|field| {
        let name = names.next().unwrap_or_else(|| field.to_string());
        get_field(row.clone(), *field).alias_qualified(Some(table.to_owned()), name)
    });
    Ok(columns.collect())
}
