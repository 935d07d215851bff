//! What GROUPING SETS group by, as columns: an expression within a set would lose its name where a rule writes it in another
//! way, since a set has no place for names.
//!
//! What must hold: it runs before rules that rewrite expressions. Above the aggregate, columns have the names that they had.

use datafusion::common::tree_node::Transformed;
use datafusion::common::{Column, Result};
use datafusion::config::ConfigOptions;
use datafusion::logical_expr::expr::AggregateFunction;
use datafusion::logical_expr::utils::grouping_set_to_exprlist;
use datafusion::logical_expr::{Aggregate, Expr, GroupingSet, LogicalPlan, LogicalPlanBuilder};
use datafusion::optimizer::AnalyzerRule;

/// The rule; see the module.
#[derive(Debug)]
pub(super) struct SetKeys;

impl AnalyzerRule for SetKeys {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        let plan = plan.transform_up_with_subqueries(|plan| match plan {
            LogicalPlan::Aggregate(aggregate) => keys_below(aggregate),
            other => Ok(Transformed::no(other)),
        });
        plan.map(|plan| plan.data)
    }

    fn name(&self) -> &str {
        "set_keys"
    }
}

fn keys_below(aggregate: Aggregate) -> Result<Transformed<LogicalPlan>> {
    let computed = match aggregate.group_expr.as_slice() {
        [Expr::GroupingSet(_)] => {
            let keys = grouping_set_to_exprlist(&aggregate.group_expr)?.into_iter();
            let computed = keys.filter(|key| !matches!(key, Expr::Column(_)));
            computed.cloned().collect::<Vec<_>>()
        }
        _ => vec![],
    };
    if computed.is_empty() {
        return Ok(Transformed::no(LogicalPlan::Aggregate(aggregate)));
    }
    let Aggregate {
        input,
        mut group_expr,
        mut aggr_expr,
        schema: before,
        ..
    } = aggregate;
    let passed_on = input.schema().columns().into_iter().map(Expr::Column);
    let named = computed.iter().enumerate();
    let named = named.map(|(n, key)| key.clone().alias(name(n)));
    let columns: Vec<Expr> = passed_on.chain(named).collect();
    let input = LogicalPlanBuilder::from(input).project(columns)?.build()?;
    for (n, key) in computed.iter().enumerate() {
        put_column(&mut group_expr, &mut aggr_expr, key, n);
    }
    let aggregate = Aggregate::try_new(input.into(), group_expr, aggr_expr)?;
    // What tells the sets apart is no column of the query.
    let is_shown = |column: &Column| column.name != Aggregate::INTERNAL_GROUPING_ID;
    let after = aggregate.schema.columns().into_iter().filter(is_shown);
    let before = before.columns().into_iter().filter(is_shown);
    let columns = after.zip(before).map(|(now, then)| match now == then {
        true => Expr::Column(now),
        false => Expr::Column(now).alias_qualified(then.relation, then.name),
    });
    let columns: Vec<Expr> = columns.collect();
    let plan = LogicalPlanBuilder::from(LogicalPlan::Aggregate(aggregate)).project(columns)?;
    Ok(Transformed::yes(plan.build()?))
}

fn name(n: usize) -> String {
    format!("$set{n}")
}

/// Puts the column in a key's place in all sets, and where `grouping` asks for the key.
fn put_column(groups: &mut [Expr], aggregates: &mut [Expr], key: &Expr, n: usize) {
    let put = |expr: &mut Expr| {
        if expr == key {
            *expr = Expr::Column(Column::new_unqualified(name(n)));
        }
    };
    for group in groups {
        match group {
            Expr::GroupingSet(GroupingSet::GroupingSets(sets)) => {
                sets.iter_mut().flatten().for_each(put);
            }
            Expr::GroupingSet(GroupingSet::Rollup(all) | GroupingSet::Cube(all)) => {
                all.iter_mut().for_each(put);
            }
            other => put(other),
        }
    }
    for aggregate in aggregates {
        if let Expr::AggregateFunction(AggregateFunction { func, params }) = aggregate
            && func.name() == "grouping"
        {
            params.args.iter_mut().for_each(put);
        }
    }
}
