//! Puts keys where floats, intervals, lists and structs are compared, ordered, grouped or joined: DataFusion takes -0.0 for less
//! than 0.0 and a NaN for what its sign says, compares intervals field by field, and takes NULL within a list or struct for less than
//! all else, or for unequal to itself.
//!
//! What must hold: it runs when common types have been found. What comes out are the values, never their keys.

use super::empty_frames::put_behind_all;
use super::numbers::is_comparison;
use super::operators::cast_if;
use super::ranges_of_times;
use super::rewrite_expressions::{rewrite_expressions, rewrite_plan};
use crate::common_types::number_kind::int_literal;
use crate::functions::{extreme_of_keys, key_of, key_type, may_differ};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::tree_node::{Transformed, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, JoinConstraint, Result, ScalarValue};
use datafusion::config::ConfigOptions;
use datafusion::functions_aggregate::expr_fn::first_value;
use datafusion::logical_expr::expr::{
    AggregateFunction, Between, Case, InList, InSubquery, Sort, WindowFunction,
};
use datafusion::logical_expr::utils::grouping_set_to_exprlist;
use datafusion::logical_expr::{
    Aggregate, BinaryExpr, Distinct, Expr, ExprSchemable, GroupingSet, LogicalPlan,
    LogicalPlanBuilder, Operator, WindowFrame, WindowFrameBound, WindowFrameUnits, lit, when,
};
use datafusion::optimizer::AnalyzerRule;
use std::sync::Arc;

/// The rule; see the module.
#[derive(Debug)]
pub(super) struct ComparisonKeys;

impl AnalyzerRule for ComparisonKeys {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        let differs =
            |expr: &Expr, schema: &DFSchema| expr.get_type(schema).is_ok_and(|ty| may_differ(&ty));
        rewrite_plan(plan, |plan| {
            groups(plan, &differs, &|value, _| key_of(value))?
                .transform_data(order_and_join)?
                .transform_data(|plan| rewrite_expressions(plan, comparisons))
        })
    }

    fn name(&self) -> &str {
        "comparison_keys"
    }
}

fn transformed<T>(data: T, changed: bool) -> Transformed<T> {
    Transformed::new(data, changed, TreeNodeRecursion::Continue)
}

/// Puts the key in an expression's place if values of its type are told apart by theirs; false where they are not.
fn take_key(expr: &mut Expr, schema: &DFSchema, by_key: fn(&DataType) -> bool) -> bool {
    let needed = expr.get_type(schema).is_ok_and(|ty| by_key(&ty));
    if needed {
        *expr = key_of(std::mem::take(expr));
    }
    needed
}

fn has_key(ty: &DataType) -> bool {
    ty.is_floating() || key_type(ty).is_some()
}

/// Whether an expression is a number that is written, and not 0 or NaN: a float compares with it as it is.
fn is_plain_number(expr: &Expr) -> bool {
    match expr {
        Expr::Literal(ScalarValue::Float64(Some(v)), _) => *v != 0.0 && !v.is_nan(),
        Expr::Literal(ScalarValue::Float32(Some(v)), _) => *v != 0.0 && !v.is_nan(),
        other => int_literal(other).is_some_and(|v| v != 0),
    }
}

/// A column against zero, as a comparison that statistics of row groups are made for.
fn with_zero(left: &Expr, op: Operator, right: &Expr) -> Option<Expr> {
    let zeros = match right {
        Expr::Literal(ScalarValue::Float64(Some(0.0)), _) => [lit(-0.0_f64), lit(0.0_f64)],
        Expr::Literal(ScalarValue::Float32(Some(0.0)), _) => [lit(-0.0_f32), lit(0.0_f32)],
        other if int_literal(other) == Some(0) => [lit(-0.0_f64), lit(0.0_f64)],
        _ => return None,
    };
    let (Expr::Column(_), [least, most]) = (left, zeros) else {
        return None;
    };
    let left = left.clone();
    Some(match op {
        Operator::Eq => left.clone().gt_eq(least).and(left.lt_eq(most)),
        Operator::NotEq => left.clone().lt(least).or(left.gt(most)),
        Operator::Lt => left.lt(least),
        Operator::LtEq => left.lt_eq(most),
        Operator::Gt => left.gt(most),
        Operator::GtEq => left.gt_eq(least),
        _ => return None,
    })
}

/// Brings values that are compared with each other to keys of one type.
fn compare(exprs: &mut [&mut Expr], schema: &DFSchema) -> Result<bool> {
    let types = exprs.iter().map(|expr| expr.get_type(schema));
    let types = types.collect::<Result<Vec<_>>>()?;
    let Some(ty) = types.iter().find(|ty| key_type(ty).is_some()).cloned() else {
        return Ok(compare_floats(exprs, &types));
    };
    let fits = |other: &DataType| {
        let text_of_interval = matches!(ty, DataType::Interval(_)) && other.is_string();
        *other == ty || *other == DataType::Null || text_of_interval
    };
    if !types.iter().all(fits) {
        return Ok(false);
    }
    for (expr, from) in exprs.iter_mut().zip(&types) {
        **expr = key_of(cast_if(std::mem::take(*expr), from, &ty));
    }
    Ok(true)
}

/// Puts the keys of floats that are compared with more than numbers that are written, or that are calculated, so that they may
/// be NaNs of either sign: columns have one NaN (`one_nan.rs`). Other numbers have one zero.
fn compare_floats(exprs: &mut [&mut Expr], types: &[DataType]) -> bool {
    let others = exprs.iter().filter(|expr| !is_plain_number(expr));
    let others: Vec<_> = others.take(2).collect();
    let are_clear = match others.as_slice() {
        [] => true,
        [only] => matches!(***only, Expr::Column(_)),
        _ => false,
    };
    let mut changed = false;
    for (expr, ty) in exprs.iter_mut().zip(types) {
        if ty.is_floating() && !are_clear && !is_plain_number(expr) {
            **expr = key_of(std::mem::take(*expr));
            changed = true;
        }
    }
    changed
}

/// Keys in comparisons, and in the clauses of aggregates and windows.
fn comparisons(mut expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let changed = match &mut expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) if is_comparison(*op) => {
            if let Some(comparison) = with_zero(left, *op, right)
                && left.get_type(schema)?.is_floating()
            {
                return Ok(Transformed::yes(comparison));
            }
            compare(&mut [left.as_mut(), right.as_mut()], schema)?
        }
        Expr::Between(Between {
            expr, low, high, ..
        }) => compare(&mut [expr.as_mut(), low.as_mut(), high.as_mut()], schema)?,
        Expr::InList(InList { expr, list, .. }) => {
            let all = std::iter::once(expr.as_mut()).chain(list);
            compare(&mut all.collect::<Vec<_>>(), schema)?
        }
        Expr::Case(Case {
            expr: Some(expr),
            when_then_expr,
            ..
        }) => {
            let tests = when_then_expr.iter_mut().map(|(when, _)| when.as_mut());
            let all = std::iter::once(expr.as_mut()).chain(tests);
            compare(&mut all.collect::<Vec<_>>(), schema)?
        }
        Expr::InSubquery(in_subquery) => in_query(in_subquery, schema)?,
        Expr::ScalarFunction(call) if call.func.name() == "nullif" => {
            let [value, other] = call.args.as_slice() else {
                return Ok(Transformed::no(expr));
            };
            let value = value.clone();
            let (mut left, mut right) = (value.clone(), other.clone());
            let keyed = compare(&mut [&mut left, &mut right], schema)?;
            if keyed {
                expr = when(left.eq(right), lit(ScalarValue::Null)).otherwise(value)?;
            }
            keyed
        }
        Expr::AggregateFunction(aggregate) => aggregate_keys(aggregate, schema)?,
        Expr::WindowFunction(window) => window_keys(window, schema)?,
        _ => false,
    };
    Ok(transformed(expr, changed))
}

fn aggregate_keys(aggregate: &mut AggregateFunction, schema: &DFSchema) -> Result<bool> {
    let AggregateFunction { func, params } = aggregate;
    let mut changed = false;
    for sort in &mut params.order_by {
        changed |= take_key(&mut sort.expr, schema, has_key);
    }
    if params.distinct {
        // Zeros of both signs are one value.
        for arg in &mut params.args {
            changed |= take_key(arg, schema, DataType::is_floating);
        }
    }
    let by_key = |arg: &Expr| arg.get_type(schema).is_ok_and(|ty| key_type(&ty).is_some());
    if params.args.iter().any(by_key)
        && let Some(extreme) = extreme_of_keys(func, None)
    {
        *func = extreme;
        changed = true;
    }
    if params.distinct && func.name() == "count" {
        for arg in &mut params.args {
            changed |= count_by_key(arg, schema)?;
        }
    }
    Ok(changed)
}

/// Of lists and structs the library keeps slices of whole batches, and counts the memory of all of a batch for each value of it.
fn count_by_key(arg: &mut Expr, schema: &DFSchema) -> Result<bool> {
    let has_key = |ty: &DataType| may_differ(ty) || key_type(ty).is_some();
    if !take_key(arg, schema, has_key) {
        return Ok(false);
    }
    let key = arg.get_type(schema)?;
    if key == DataType::Binary {
        // More than 2 GiB of them in all.
        *arg = cast_if(std::mem::take(arg), &key, &DataType::BinaryView);
    }
    Ok(true)
}

fn in_query(in_subquery: &mut InSubquery, schema: &DFSchema) -> Result<bool> {
    let plan = &in_subquery.subquery.subquery;
    let (qualifier, field) = plan.schema().qualified_field(0);
    let mut column = Expr::Column(Column::from((qualifier, field)));
    let own = in_subquery.expr.get_type(schema)?;
    // Of two types that become one later, floats have keys that do as well.
    let by_key = match own == *field.data_type() {
        true => has_key,
        false => DataType::is_floating,
    };
    let changed = take_key(&mut in_subquery.expr, schema, by_key);
    if !take_key(&mut column, plan.schema(), by_key) {
        return Ok(changed);
    }
    // Under another name: the library finds the column by it in the join, too.
    let column = column.alias("$listed");
    let keys = LogicalPlanBuilder::from(plan.as_ref().clone()).project([column])?;
    in_subquery.subquery.subquery = Arc::new(keys.build()?);
    Ok(true)
}

/// Keys that rows are sorted by. Of the last it does not matter which of two equal floats comes first.
fn sort_keys(order: &mut [Sort], schema: &DFSchema) -> bool {
    let is_key = |ty: &DataType| key_type(ty).is_some();
    let Some((last, others)) = order.split_last_mut() else {
        return false;
    };
    let mut changed = take_key(&mut last.expr, schema, is_key);
    for sort in others {
        changed |= take_key(&mut sort.expr, schema, has_key);
    }
    changed
}

fn window_keys(window: &mut WindowFunction, schema: &DFSchema) -> Result<bool> {
    let params = &mut window.params;
    let mut changed = ranges_of_times::as_known(params, schema)?;
    changed |= put_behind_all(&mut params.window_frame);
    for expr in &mut params.partition_by {
        changed |= take_key(expr, schema, may_differ);
    }
    // Bounds of a frame that are so and so far from a row's value are added to that.
    let by_distance = |bound: &WindowFrameBound| match bound {
        WindowFrameBound::Preceding(by) | WindowFrameBound::Following(by) => !by.is_null(),
        WindowFrameBound::CurrentRow => false,
    };
    let frame = &params.window_frame;
    if frame.units == WindowFrameUnits::Range
        && (by_distance(&frame.start_bound) || by_distance(&frame.end_bound))
    {
        // To the keys of floats, which are floats, as well.
        for sort in &mut params.order_by {
            changed |= take_key(&mut sort.expr, schema, DataType::is_floating);
        }
        return Ok(changed);
    }
    let by_bytes = params.order_by.iter().any(|sort| {
        let ty = sort.expr.get_type(schema);
        ty.is_ok_and(|ty| {
            ty.is_nested() || ty.is_binary() || matches!(ty, DataType::FixedSizeBinary(_))
        })
    });
    if by_bytes && frame.units == WindowFrameUnits::Range {
        // The same rows; the library has no ranges of bytes.
        let (start, end) = (frame.start_bound.clone(), frame.end_bound.clone());
        params.window_frame = WindowFrame::new_bounds(WindowFrameUnits::Groups, start, end);
    }
    // Rows that are equal by all keys have one rank.
    for sort in &mut params.order_by {
        changed |= take_key(&mut sort.expr, schema, has_key);
    }
    Ok(changed)
}

/// Keys in ORDER BY, and in the columns that joins compare.
fn order_and_join(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    Ok(match plan {
        LogicalPlan::Sort(mut sort) => {
            let changed = sort_keys(&mut sort.expr, sort.input.schema());
            transformed(LogicalPlan::Sort(sort), changed)
        }
        LogicalPlan::Join(mut join) => {
            let mut changed = false;
            for (left, right) in &mut join.on {
                if left.get_type(join.left.schema())? == right.get_type(join.right.schema())? {
                    changed |= take_key(left, join.left.schema(), has_key)
                        && take_key(right, join.right.schema(), has_key);
                }
            }
            if changed {
                // USING knows columns alone. What it hides in a `*` is known by now.
                join.join_constraint = JoinConstraint::On;
            }
            transformed(LogicalPlan::Join(join), changed)
        }
        LogicalPlan::Distinct(Distinct::On(mut distinct)) => {
            let mut changed = false;
            for on in &mut distinct.on_expr {
                changed |= take_key(on, distinct.input.schema(), has_key);
            }
            for sort in distinct.sort_expr.iter_mut().flatten() {
                changed |= take_key(&mut sort.expr, distinct.input.schema(), has_key);
            }
            transformed(LogicalPlan::Distinct(Distinct::On(distinct)), changed)
        }
        other => Transformed::no(other),
    })
}

/// Groups by the keys of values that differ though they are equal, and gives the first value of each group, or the key that is a float.
/// So does DISTINCT.
pub(super) fn groups(
    plan: LogicalPlan,
    differs: &dyn Fn(&Expr, &DFSchema) -> bool,
    key: &dyn Fn(Expr, &DFSchema) -> Expr,
) -> Result<Transformed<LogicalPlan>> {
    let aggregate = match plan {
        LogicalPlan::Aggregate(aggregate) => aggregate,
        LogicalPlan::Distinct(Distinct::All(input)) => {
            let columns = input.schema().columns().into_iter().map(Expr::Column);
            let columns: Vec<Expr> = columns.collect();
            if !columns.iter().any(|expr| differs(expr, input.schema())) {
                return Ok(Transformed::no(LogicalPlan::Distinct(Distinct::All(input))));
            }
            Aggregate::try_new(input, columns, vec![])?
        }
        other => return Ok(Transformed::no(other)),
    };
    let in_schema = Arc::clone(aggregate.input.schema());
    let grouped = grouping_set_to_exprlist(&aggregate.group_expr)?;
    let values = grouped.into_iter().cloned().enumerate();
    let values: Vec<_> = values
        .filter(|(_, value)| differs(value, &in_schema))
        .collect();
    if values.is_empty() {
        return Ok(Transformed::no(LogicalPlan::Aggregate(aggregate)));
    }
    let out = Arc::clone(&aggregate.schema);
    let mut columns: Vec<Expr> = out.columns().into_iter().map(Expr::Column).collect();
    let (mut group_expr, mut aggr_expr) = (aggregate.group_expr, aggregate.aggr_expr);
    let is_set = matches!(group_expr.as_slice(), [Expr::GroupingSet(_)]);
    for (n, value) in values {
        let (named, first) = (format!("$key{n}"), format!("$first{n}"));
        let by = key(value.clone(), &in_schema).alias(&named);
        key_groups(&mut group_expr, &mut aggr_expr, &value, &by);
        let grouped = Expr::Column(Column::from_name(named));
        let shown = match value.get_type(&in_schema)?.is_floating() {
            // The key is the value, but for the sign of a zero.
            true => grouped,
            false => {
                aggr_expr.push(first_value(value, vec![]).alias(&first));
                let first = Expr::Column(Column::from_name(first));
                match is_set {
                    // Where a set does not group by it, it is NULL.
                    true => when(grouped.is_not_null(), first).end()?,
                    false => first,
                }
            }
        };
        let (qualifier, field) = out.qualified_field(n);
        columns[n] = shown.alias_qualified(qualifier.cloned(), field.name());
    }
    // What tells sets apart is made anew with them.
    columns.retain(|column| {
        !matches!(column, Expr::Column(column) if column.name == Aggregate::INTERNAL_GROUPING_ID)
    });
    let plan = Aggregate::try_new(aggregate.input, group_expr, aggr_expr)?;
    let plan = rewrite_expressions(LogicalPlan::Aggregate(plan), comparisons)?.data;
    let plan = LogicalPlanBuilder::from(plan).project(columns)?;
    Ok(Transformed::yes(plan.build()?))
}

/// Puts the key in a value's place wherever is grouped by it, and where is asked for that.
fn key_groups(groups: &mut [Expr], aggregates: &mut [Expr], value: &Expr, key: &Expr) {
    let put = |expr: &mut Expr| {
        if expr == value {
            expr.clone_from(key);
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
        let name = aggregate.schema_name().to_string();
        let mut call = &mut *aggregate;
        while let Expr::Alias(alias) = call {
            call = &mut alias.expr;
        }
        if let Expr::AggregateFunction(AggregateFunction { func, params }) = call
            && func.name() == "grouping"
            && params.args.contains(value)
        {
            params.args.iter_mut().for_each(put);
            *aggregate = std::mem::take(aggregate).alias(name);
        }
    }
}
