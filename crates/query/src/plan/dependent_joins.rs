//! Subqueries that name columns of the query around them, where DataFusion's rules make no join of them, or none that is known to
//! be right: such a subquery is evaluated for all different values of these columns at once, and joined by them.
//!
//! What must hold: a subquery of one row has that row for each row of the outer query, and one of several rows is an error only
//! where its value is asked for. What is not there yet stays as it was, and is refused by the rules that come later.

use super::dependent_plans::{Dependent, Names, names_any, plan_names_any};
use super::lateral_joins::join_lateral;
use crate::functions::{key_type, one_row};
use crate::heed::check;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, DataFusionError, ExprSchema, JoinType, Result};
use datafusion::config::ConfigOptions;
use datafusion::functions_aggregate::expr_fn::{count, first_value};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{
    BinaryExpr, Cast, Distinct, Expr, ExprSchemable, Filter, LogicalPlan, LogicalPlanBuilder,
    Operator, Projection, Subquery, lit,
};
use datafusion::optimizer::AnalyzerRule;
use std::sync::Arc;

/// The rule; see the module.
#[derive(Debug)]
pub(super) struct DependentJoins;

impl AnalyzerRule for DependentJoins {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        let names = Names::default();
        let joined = plan.transform_up_with_subqueries(|plan| {
            join_subqueries(plan, &names)?.transform_data(|plan| join_lateral(plan, &names))
        });
        joined.map(|joined| joined.data)
    }

    fn name(&self) -> &str {
        "dependent_joins"
    }
}

/// Joins the subqueries of a filter or projection with its input.
pub(super) fn join_subqueries(
    plan: LogicalPlan,
    names: &Names,
) -> Result<Transformed<LogicalPlan>> {
    let (LogicalPlan::Filter(Filter { input, .. })
    | LogicalPlan::Projection(Projection { input, .. })) = &plan
    else {
        return Ok(Transformed::no(plan));
    };
    let mut joined = input.as_ref().clone();
    let mut found = false;
    let saved = NamePreserver::new(&plan);
    let mut exprs = vec![];
    for expr in plan.expressions() {
        let name = saved.save(&expr);
        let replaced = expr.transform_down(|expr| {
            let Expr::ScalarSubquery(subquery) = &expr else {
                return Ok(Transformed::no(expr));
            };
            match join(&joined, input, subquery, names)? {
                None => Ok(Transformed::no(expr)),
                Some((plan, value)) => {
                    joined = plan;
                    found = true;
                    Ok(Transformed::new(value, true, TreeNodeRecursion::Jump))
                }
            }
        })?;
        exprs.push(name.restore(replaced.data));
    }
    if !found {
        return Ok(Transformed::no(plan));
    }
    let plan = match (&plan, exprs.as_slice()) {
        (LogicalPlan::Filter(_), [predicate]) => {
            let filter = Filter::try_new(predicate.clone(), Arc::new(joined))?;
            let columns = plan.schema().columns().into_iter().map(Expr::Column);
            LogicalPlanBuilder::from(LogicalPlan::Filter(filter))
                .project(columns)?
                .build()?
        }
        _ => LogicalPlan::Projection(Projection::try_new(exprs, Arc::new(joined))?),
    };
    Ok(Transformed::yes(plan))
}

/// The plan with the subquery's value beside its columns, and that value. Nothing where the subquery names none of the columns
/// of `input`, or where DataFusion's rule does.
fn join(
    plan: &LogicalPlan,
    input: &LogicalPlan,
    subquery: &Subquery,
    names: &Names,
) -> Result<Option<(LogicalPlan, Expr)>> {
    check()?;
    let schema = input.schema();
    let inner = subquery.subquery.as_ref();
    let outer = outer_columns(inner, schema)?;
    if outer.is_empty() || is_aggregate_of_equals(inner, schema)? {
        return Ok(None);
    }
    let dependent = Dependent {
        outer: &outer,
        // Not `plan`, which has the subqueries before: each would double what is planned.
        of: input,
        names,
    };
    let (right, keys) = match dependent.evaluated(inner) {
        Err(DataFusionError::NotImplemented(_)) => return Ok(None),
        other => other?,
    };
    let (value, rows) = (names.next("$value"), names.next("$rows"));
    let column = Expr::Column(inner.schema().columns().swap_remove(0));
    let by: Vec<Expr> = keys.iter().cloned().map(Expr::Column).collect();
    let right = LogicalPlanBuilder::from(right);
    let named = |name: &String| Expr::Column(Column::new_unqualified(name));
    let (right, result) = match inner.max_rows() {
        Some(0 | 1) => {
            let columns = std::iter::once(column.alias(&value)).chain(by);
            (right.project(columns)?, named(&value))
        }
        _ => {
            let all = [
                first_value(column, vec![]).alias(&value),
                count(lit(1i64)).alias(&rows),
            ];
            let result = one_row(named(&value), named(&rows));
            (right.aggregate(by, all)?, result)
        }
    };
    let pairs = outer.into_iter().zip(keys);
    let on = pairs.map(|(outer, key)| same(Expr::Column(outer), Expr::Column(key)));
    let joined = LogicalPlanBuilder::from(plan.clone());
    let joined = joined.join_on(right.build()?, JoinType::Left, on)?;
    Ok(Some((joined.build()?, result)))
}

/// That both are equal, or both NULL.
pub(super) fn same(left: Expr, right: Expr) -> Expr {
    let (left, right) = (Box::new(left), Box::new(right));
    Expr::BinaryExpr(BinaryExpr::new(left, Operator::IsNotDistinctFrom, right))
}

/// Columns in `schema` that a subquery names as those of an outer query, at any depth.
pub(super) fn outer_columns(plan: &LogicalPlan, schema: &DFSchema) -> Result<Vec<Column>> {
    let mut found: Vec<Column> = vec![];
    plan.apply_with_subqueries(|plan| {
        plan.apply_expressions(|expr| {
            expr.apply(|expr| {
                if let Expr::OuterReferenceColumn(_, column) = expr
                    && schema.field_from_column(column).is_ok()
                    && !found.contains(column)
                {
                    found.push(column.clone());
                }
                Ok(TreeNodeRecursion::Continue)
            })
        })
    })?;
    Ok(found)
}

/// Whether a scalar subquery is an aggregate of rows whose columns equal outer ones, which DataFusion's rule joins.
fn is_aggregate_of_equals(plan: &LogicalPlan, schema: &DFSchema) -> Result<bool> {
    let mut plan = plan;
    while let LogicalPlan::Projection(Projection { input, .. }) = plan
        && !plan.contains_outer_reference()
    {
        plan = input;
    }
    let LogicalPlan::Aggregate(aggregate) = plan else {
        return Ok(false);
    };
    if !aggregate.group_expr.is_empty() || plan.contains_outer_reference() {
        return Ok(false);
    }
    filters_alone(&aggregate.input, schema, &is_equality, &|_, _| false)
}

/// Whether DataFusion's rule makes a join of a subquery of IN or EXISTS: outer columns are named in filters alone. Subqueries of such a
/// filter may name columns of the rows that it looks at, which then stay what they are.
pub(super) fn joinable(subquery: &LogicalPlan, schema: &DFSchema) -> Result<bool> {
    let is_of = |column: &Column, schema: &DFSchema| schema.field_from_column(column).is_ok();
    filters_alone(subquery, schema, &|_, _| true, &|column, rows| {
        is_of(column, rows) && !is_of(column, schema)
    })
}

/// Whether outer columns, all of `schema`, are named by filters of rows alone, and of the kind that is asked for. `may_name` says which
/// columns the subqueries of a filter of rows may name.
fn filters_alone(
    mut plan: &LogicalPlan,
    schema: &DFSchema,
    kind: &dyn Fn(&Expr, &DFSchema) -> bool,
    may_name: &dyn Fn(&Column, &DFSchema) -> bool,
) -> Result<bool> {
    loop {
        plan = match plan {
            LogicalPlan::Filter(filter) => {
                let rows = filter.input.schema();
                for term in split_conjunction(&filter.predicate) {
                    let is_far = |column: &Column| schema.field_from_column(column).is_err();
                    let is_other = |column: &Column| !may_name(column, rows);
                    if names_any(term, &is_other, true)?
                        || names_any(term, &is_far, false)?
                        || term.contains_outer() && !kind(term, rows)
                    {
                        return Ok(false);
                    }
                }
                &filter.input
            }
            LogicalPlan::Projection(projection) => {
                for expr in &projection.expr {
                    if expr.contains_outer() || names_any(expr, &|_| true, true)? {
                        return Ok(false);
                    }
                }
                &projection.input
            }
            LogicalPlan::Distinct(Distinct::All(input)) => input,
            // What is compared with an outer column below has no name beside the alias.
            LogicalPlan::SubqueryAlias(alias) => {
                return Ok(!plan_names_any(&alias.input, &|_| true)?);
            }
            other => return Ok(!plan_names_any(other, &|_| true)?),
        };
    }
}

/// `column = outer column`, or an expression of these, of values that are compared as they are.
fn is_equality(term: &Expr, rows: &DFSchema) -> bool {
    let is_column = |side: &Expr| match side {
        Expr::Cast(Cast { expr, .. }) => matches!(expr.as_ref(), Expr::Column(_)),
        side => matches!(side, Expr::Column(_)),
    };
    match term {
        Expr::BinaryExpr(BinaryExpr {
            left,
            op: Operator::Eq,
            right,
        }) => {
            let is_pair = is_column(left) && !right.any_column_refs()
                || is_column(right) && !left.any_column_refs();
            is_pair && are_plainly_equal(left, right, rows)
        }
        _ => false,
    }
}

/// Whether an equality stays one of its sides: it is one of keys in the end, or of what functions make of texts, where they are compared
/// so, which DataFusion's rule does not take apart.
fn are_plainly_equal(left: &Expr, right: &Expr, rows: &DFSchema) -> bool {
    match (left.get_type(rows), right.get_type(rows)) {
        (Ok(left), Ok(right)) => {
            let is_one = left == right || left.is_integer() && right.is_integer();
            is_one && !left.is_floating() && key_type(&left).is_none()
        }
        _ => false,
    }
}
