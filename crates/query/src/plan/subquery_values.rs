//! `x IN (SELECT ...)` and `EXISTS (SELECT ...)` as values, which are true, false or unknown. DataFusion knows them as conditions
//! on rows alone, and there `x IN` is false where it should be unknown.
//!
//! What must hold: a condition that keeps rows keeps its join, where unknown and false are the same, or where that join knows
//! NULLs. Everywhere else stands a value made of scalar subqueries that count.

use super::correlated_names::named_apart;
use super::dependent_joins::joinable;
use super::flat_plans::all_of;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column, DFSchema, ExprSchema, Result, ScalarValue, Spans};
use datafusion::config::ConfigOptions;
use datafusion::functions_aggregate::expr_fn::count;
use datafusion::logical_expr::expr::{Case, Exists, InSubquery};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::split_conjunction_owned;
use datafusion::logical_expr::{
    BinaryExpr, Cast, Distinct, Expr, ExprSchemable, Filter, LogicalPlan, LogicalPlanBuilder,
    Operator, Projection, Subquery, lit, when,
};
use datafusion::optimizer::AnalyzerRule;
use std::sync::Arc;

/// The column of the subquery.
const VALUE: &str = "$value";
const ROWS: &str = "$rows";
const KNOWN: &str = "$known";

/// The rule; see the module.
#[derive(Debug)]
pub(super) struct SubqueryValues;

impl AnalyzerRule for SubqueryValues {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        plan.transform_up_with_subqueries(rewrite).map(|t| t.data)
    }

    fn name(&self) -> &str {
        "subquery_values"
    }
}

fn is_test(expr: &Expr) -> bool {
    matches!(expr, Expr::InSubquery(_) | Expr::Exists(_))
}

/// What is a column of a projection where a node has no joins for it.
fn is_below(expr: &Expr) -> bool {
    match expr {
        Expr::ScalarSubquery(subquery) => !subquery.outer_ref_columns.is_empty(),
        other => is_test(other),
    }
}

fn rewrite(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let names = NamePreserver::new(&plan);
    let plan = plan.map_expressions(|expr| {
        let name = names.save(&expr);
        let plain = expr.transform_down(plain)?;
        Ok(plain.update_data(|expr| name.restore(expr)))
    })?;
    plan.transform_data(as_values)
}

/// A subquery that names columns of its outer query, without what stands in the way of a join: that gives the columns that are
/// compared with those beside the subquery's own, which may go by the same name. Of what EXISTS asks for no column matters.
fn plain(mut expr: Expr) -> Result<Transformed<Expr>> {
    let exists = matches!(expr, Expr::Exists(_));
    let is_in = matches!(expr, Expr::InSubquery(_));
    let (Expr::ScalarSubquery(subquery)
    | Expr::Exists(Exists { subquery, .. })
    | Expr::InSubquery(InSubquery { subquery, .. })) = &mut expr
    else {
        return Ok(Transformed::no(expr));
    };
    if subquery.outer_ref_columns.is_empty() {
        if is_in {
            subquery.subquery = Arc::new(named(&subquery.subquery)?);
        }
        return Ok(Transformed::yes(expr));
    }
    let mut plan = subquery.subquery.as_ref();
    while exists
        && let LogicalPlan::Distinct(Distinct::All(input))
        | LogicalPlan::Projection(Projection { input, .. }) = plan
    {
        plan = input;
    }
    let plan = match plan {
        LogicalPlan::Projection(projection) if projection.expr.len() == 1 => {
            let value = projection.expr[0].clone().unalias().alias(VALUE);
            let input = Arc::clone(&projection.input);
            LogicalPlan::Projection(Projection::try_new(vec![value], input)?)
        }
        other if is_in => named(other)?,
        other => other.clone(),
    };
    let plan = named_apart(plan)?;
    *subquery = Subquery {
        outer_ref_columns: plan.all_out_ref_exprs(),
        subquery: Arc::new(plan),
        spans: Spans::new(),
    };
    Ok(Transformed::yes(expr))
}

/// Values of IN that are no columns of a table get a name of their own. A join that marks rows would take the one that they have for two, as
/// that of a set operation: without the name of the join's side and with it.
fn named(plan: &LogicalPlan) -> Result<LogicalPlan> {
    let column = plan.schema().columns().swap_remove(0);
    if column.relation.is_some() {
        return Ok(plan.clone());
    }
    let value = Expr::Column(column).alias(VALUE);
    let named = Projection::try_new(vec![value], Arc::new(plan.clone()))?;
    Ok(LogicalPlan::Projection(named))
}

fn as_values(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let mut found = false;
    for expr in plan.expressions() {
        found |= expr.exists(|expr| Ok(is_below(expr)))?;
    }
    if !found {
        return Ok(Transformed::no(plan));
    }
    match plan {
        LogicalPlan::Filter(filter)
            if filter.predicate.exists(|expr| Ok(tests_a_test(expr)))? =>
        {
            let columns = filter.input.schema().columns();
            let plan = as_values(LogicalPlan::Filter(with_left_sides(filter)?))?.data;
            let columns = columns.into_iter().map(Expr::Column);
            let plan = LogicalPlanBuilder::from(plan).project(columns)?.build()?;
            Ok(Transformed::yes(plan))
        }
        LogicalPlan::Filter(filter) => {
            let schema = Arc::clone(filter.input.schema());
            let conjuncts = split_conjunction_owned(filter.predicate).into_iter();
            let conjuncts = conjuncts.map(|expr| condition(expr, &schema, true));
            let predicate = all_of(conjuncts.collect::<Result<Vec<_>>>()?);
            let predicate = predicate.unwrap_or_else(|| lit(true));
            let filter = Filter::try_new(predicate, filter.input)?;
            Ok(Transformed::yes(LogicalPlan::Filter(filter)))
        }
        LogicalPlan::Projection(projection) => {
            let schema = Arc::clone(projection.input.schema());
            let plan = LogicalPlan::Projection(projection);
            let names = NamePreserver::new(&plan);
            plan.map_expressions(|expr| {
                let name = names.save(&expr);
                let values = values(expr, &schema)?;
                Ok(values.update_data(|expr| name.restore(expr)))
            })
        }
        LogicalPlan::Aggregate(_) | LogicalPlan::Window(_) | LogicalPlan::Sort(_) => below(plan),
        other => Ok(Transformed::no(other)),
    }
}

/// Whether it is `x IN (SELECT ...)` where `x` has such a test in it.
fn tests_a_test(expr: &Expr) -> bool {
    match expr {
        Expr::InSubquery(test) => test.expr.exists(|expr| Ok(is_below(expr))).unwrap_or(false),
        _ => false,
    }
}

/// A filter over a projection that has what such tests are made of as columns.
fn with_left_sides(filter: Filter) -> Result<Filter> {
    let schema = Arc::clone(filter.input.schema());
    let mut columns: Vec<Expr> = schema.columns().into_iter().map(Expr::Column).collect();
    let predicate = filter.predicate.transform_up(|expr| match expr {
        Expr::InSubquery(mut test) if test.expr.exists(|expr| Ok(is_below(expr)))? => {
            let name = format!("$left{}", columns.len());
            columns.push(values(*test.expr, &schema)?.data.alias(&name));
            test.expr = Box::new(Expr::Column(Column::new_unqualified(name)));
            Ok(Transformed::yes(Expr::InSubquery(test)))
        }
        other => Ok(Transformed::no(other)),
    })?;
    let input = LogicalPlanBuilder::from(filter.input.as_ref().clone()).project(columns)?;
    Filter::try_new(predicate.data, Arc::new(input.build()?))
}

/// Values in a projection below a node, which then knows them as columns.
fn below(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let [input] = plan.inputs()[..] else {
        return Ok(Transformed::no(plan));
    };
    let schema = Arc::clone(input.schema());
    let mut columns: Vec<Expr> = schema.columns().into_iter().map(Expr::Column).collect();
    let before = plan.schema().columns();
    let names = NamePreserver::new(&plan);
    let mut exprs = vec![];
    for expr in plan.expressions() {
        let name = names.save(&expr);
        let replaced = expr.transform_down(|expr| {
            if !is_below(&expr) {
                return Ok(Transformed::no(expr));
            }
            let column = format!("$test{}", columns.len());
            columns.push(value(expr, &schema)?.alias(&column));
            let column = Expr::Column(Column::new_unqualified(column));
            Ok(Transformed::yes(column))
        })?;
        exprs.push(name.restore(replaced.data));
    }
    let input = LogicalPlanBuilder::from(input.clone())
        .project(columns)?
        .build()?;
    let plan = plan
        .with_new_exprs(exprs, vec![input])?
        .recompute_schema()?;
    if plan.schema().columns() == before {
        return Ok(Transformed::yes(plan));
    }
    let columns = before.into_iter().map(Expr::Column);
    let plan = LogicalPlanBuilder::from(plan).project(columns)?.build()?;
    Ok(Transformed::yes(plan))
}

/// A condition on rows. `alone` is whether rows are kept by it alone, and not by others as well.
fn condition(expr: Expr, schema: &DFSchema, alone: bool) -> Result<Expr> {
    match expr {
        Expr::BinaryExpr(BinaryExpr {
            left,
            op: op @ (Operator::And | Operator::Or),
            right,
        }) => {
            let left = condition(*left, schema, false)?;
            let right = condition(*right, schema, false)?;
            let both = BinaryExpr::new(Box::new(left), op, Box::new(right));
            Ok(Expr::BinaryExpr(both))
        }
        Expr::InSubquery(test)
            // The join of a query's own rows knows no columns of queries around it.
            if !test.expr.contains_outer()
                && joinable(&test.subquery.subquery, schema)?
                && (!test.negated || alone && knows_nulls(&test, schema)?) =>
        {
            Ok(Expr::InSubquery(test))
        }
        Expr::Not(inner) => match *inner {
            Expr::InSubquery(test) => {
                let negated = !test.negated;
                condition(
                    Expr::InSubquery(InSubquery { negated, ..test }),
                    schema,
                    alone,
                )
            }
            inner => tests_of_in(Expr::Not(Box::new(inner)), schema),
        },
        other => tests_of_in(other, schema),
    }
}

/// Values for the tests of IN; the join for EXISTS is never unknown, where there is one.
fn tests_of_in(expr: Expr, schema: &DFSchema) -> Result<Expr> {
    let values = expr.transform_down(|expr| match &expr {
        Expr::Exists(test) if joinable(&test.subquery.subquery, schema)? => {
            Ok(Transformed::no(expr))
        }
        Expr::InSubquery(_) | Expr::Exists(_) => value(expr, schema).map(Transformed::yes),
        _ => Ok(Transformed::no(expr)),
    })?;
    Ok(values.data)
}

fn values(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    expr.transform_down(|expr| match is_test(&expr) {
        true => value(expr, schema).map(Transformed::yes),
        false => Ok(Transformed::no(expr)),
    })
}

/// Whether the join that DataFusion makes of `x NOT IN (SELECT ...)` gives the right rows: it looks at the columns for what may
/// be NULL, and only at the subquery as a whole.
fn knows_nulls(test: &InSubquery, schema: &DFSchema) -> Result<bool> {
    // It takes one pair of columns, and any pair may be of an outer query's.
    if !test.subquery.outer_ref_columns.is_empty() {
        return Ok(false);
    }
    if !may_be_unknown(test, schema)? {
        return Ok(true);
    }
    let column = match test.expr.as_ref() {
        Expr::Cast(Cast { expr, .. }) => expr.as_ref(),
        other => other,
    };
    Ok(matches!(column, Expr::Column(_)))
}

fn may_be_unknown(test: &InSubquery, schema: &DFSchema) -> Result<bool> {
    let subquery = test.subquery.subquery.schema();
    Ok(subquery.field(0).is_nullable() || test.expr.nullable(schema)?)
}

/// A test as a value.
fn value(test: Expr, schema: &DFSchema) -> Result<Expr> {
    match test {
        Expr::InSubquery(test) => membership(test, schema),
        Expr::Exists(Exists { subquery, negated }) => {
            let rows = LogicalPlanBuilder::from(subquery.subquery)
                .aggregate(Vec::<Expr>::new(), [count(lit(1i64)).alias(ROWS)])?;
            let exists = scalar(rows.build()?).gt(lit(0i64));
            Ok(if negated { !exists } else { exists })
        }
        other => Ok(other),
    }
}

fn membership(test: InSubquery, schema: &DFSchema) -> Result<Expr> {
    let unknown = may_be_unknown(&test, schema)?;
    let InSubquery {
        expr,
        subquery,
        negated,
    } = test;
    let column = subquery.subquery.schema().columns().swap_remove(0);
    let rows = LogicalPlanBuilder::from(subquery.subquery)
        .project([Expr::Column(column).alias(VALUE)])?
        .build()?;
    let listed = Expr::Column(Column::new_unqualified(VALUE));
    let equal = LogicalPlanBuilder::from(rows.clone())
        .filter(listed.clone().eq(outer(expr.as_ref().clone(), schema)?))?
        .aggregate(Vec::<Expr>::new(), [count(lit(1i64)).alias(ROWS)])?
        .build()?;
    let is_in = scalar(equal).gt(lit(0i64));
    let value = match unknown {
        false => is_in,
        true => {
            let null = lit(ScalarValue::Boolean(None));
            let of_all = Expr::Case(Case::new(
                Some(Box::new(scalar(state(rows, listed)?))),
                vec![
                    (Box::new(lit(EMPTY)), Box::new(lit(false))),
                    (Box::new(lit(WITH_NULL)), Box::new(null.clone())),
                ],
                Some(Box::new(when(expr.is_null(), null).otherwise(lit(false))?)),
            ));
            when(is_in, lit(true)).otherwise(of_all)?
        }
    };
    Ok(if negated { !value } else { value })
}

/// What a subquery's rows are.
const EMPTY: i64 = 0;
const KNOWN_ALL: i64 = 1;
const WITH_NULL: i64 = 2;

/// `EMPTY`, `KNOWN_ALL` or `WITH_NULL`, as one row.
fn state(rows: LogicalPlan, listed: Expr) -> Result<LogicalPlan> {
    let counted = [count(lit(1i64)).alias(ROWS), count(listed).alias(KNOWN)];
    let all = Expr::Column(Column::new_unqualified(ROWS));
    let known = Expr::Column(Column::new_unqualified(KNOWN));
    let state = when(all.clone().eq(lit(0i64)), lit(EMPTY))
        .when(known.lt(all), lit(WITH_NULL))
        .otherwise(lit(KNOWN_ALL))?;
    LogicalPlanBuilder::from(rows)
        .aggregate(Vec::<Expr>::new(), counted)?
        .project([state.alias("$state")])?
        .build()
}

fn scalar(plan: LogicalPlan) -> Expr {
    Expr::ScalarSubquery(Subquery {
        outer_ref_columns: plan.all_out_ref_exprs(),
        subquery: Arc::new(plan),
        spans: Spans::new(),
    })
}

/// An expression as a subquery of its query sees it.
fn outer(expr: Expr, schema: &DFSchema) -> Result<Expr> {
    let outer = expr.transform_up(|expr| match expr {
        Expr::Column(column) => {
            let field = Arc::clone(schema.field_from_column(&column)?);
            Ok(Transformed::yes(Expr::OuterReferenceColumn(field, column)))
        }
        other => Ok(Transformed::no(other)),
    })?;
    Ok(outer.data)
}
