//! `ShortAliases`: `FROM t AS x(a)` of a table with more columns: the first of them are called so, the others as they were.

use datafusion::common::{Result, plan_err};
use datafusion::logical_expr::planner::{
    PlannedRelation, RelationPlanner, RelationPlannerContext, RelationPlanning,
};
use datafusion::logical_expr::{Expr, LogicalPlanBuilder};
use datafusion::sql::sqlparser::ast::{TableAlias, TableFactor};

#[derive(Debug)]
pub(super) struct ShortAliases;

impl RelationPlanner for ShortAliases {
    fn plan_relation(
        &self,
        mut relation: TableFactor,
        context: &mut dyn RelationPlannerContext,
    ) -> Result<RelationPlanning> {
        let Some(mut alias) = alias_with_columns(&mut relation) else {
            return Ok(RelationPlanning::Original(Box::new(relation)));
        };
        let is_call = matches!(relation, TableFactor::Table { args: Some(_), .. });
        let mut plan = context.plan(relation)?;
        let columns = plan.schema().columns();
        if is_call {
            // DuckDB reads no more names than such a table has columns.
            alias.columns.truncate(columns.len());
        }
        if alias.columns.len() > columns.len() {
            return plan_err!(
                "table \"{}\" has {} columns available but {} columns specified",
                alias.name.value,
                columns.len(),
                alias.columns.len()
            );
        }
        if alias.columns.len() < columns.len() {
            let names = std::mem::take(&mut alias.columns).into_iter();
            let mut names = names.map(|column| context.normalize_ident(column.name));
            let renamed = columns.into_iter().map(|column| match names.next() {
                Some(name) => Expr::Column(column).alias(name),
                None => Expr::Column(column),
            });
            let renamed: Vec<Expr> = renamed.collect();
            plan = LogicalPlanBuilder::from(plan).project(renamed)?.build()?;
        }
        let planned = PlannedRelation::new(plan, Some(alias));
        Ok(RelationPlanning::Planned(Box::new(planned)))
    }
}

/// Takes the alias of a table or of a query in brackets, if it names columns.
fn alias_with_columns(relation: &mut TableFactor) -> Option<TableAlias> {
    let (TableFactor::Table { alias, .. } | TableFactor::Derived { alias, .. }) = relation else {
        return None;
    };
    // What rewrites put in names all columns, or is refused.
    let is_ours = |alias: &TableAlias| alias.name.value.starts_with('$');
    alias.take_if(|alias| !alias.columns.is_empty() && !is_ours(alias))
}
