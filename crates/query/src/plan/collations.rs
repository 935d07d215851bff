//! Collations: where texts that have one are compared, ordered, grouped or joined, their keys are. A column says in its metadata which
//! collation its texts have, `$collate` in a query; what functions make of such texts has it, too.
//!
//! What must hold: it runs before keys are put in the places of other values. What comes out are the texts, and no `$collate` is left.

use super::comparison_keys::groups;
use super::numbers::is_comparison;
use super::rewrite_expressions::{rewrite_expressions, rewrite_plan};
use crate::functions::{OR_NULL, collation_key, extreme_of_keys};
use datafusion::common::metadata::FieldMetadata;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, ExprSchema, JoinConstraint, Result, ScalarValue};
use datafusion::config::ConfigOptions;
use datafusion::logical_expr::expr::{
    Alias, Between, Case, InList, InSubquery, ScalarFunction, Sort, WindowFunction,
};
use datafusion::logical_expr::{
    BinaryExpr, Distinct, Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder, Operator, Union,
    WindowFunctionDefinition, lit, when,
};
use datafusion::optimizer::AnalyzerRule;
use hushdb_sql::type_names::{collation_metadata, collation_of};
use hushdb_sql::{COLLATE, Error};
use hushdb_storage::Collation;
use std::sync::Arc;

/// The rule; see the module.
#[derive(Debug)]
pub(super) struct Collations;

impl AnalyzerRule for Collations {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        if !has_collations(&plan)? {
            return Ok(plan);
        }
        let differs = |expr: &Expr, schema: &DFSchema| collation(expr, schema).is_some();
        let key = |expr: Expr, schema: &DFSchema| match collation(&expr, schema) {
            Some(collation) => collation_key(expr, collation),
            None => expr,
        };
        let keyed = rewrite_plan(plan, |plan| {
            let before = Arc::clone(plan.schema());
            let grouped = groups(plan, &differs, &key)?;
            let grouped = match grouped.transformed {
                true => grouped.map_data(|plan| saying_again(plan, &before))?,
                false => grouped,
            };
            grouped
                .transform_data(order_and_join)?
                .transform_data(|plan| rewrite_expressions(plan, comparisons))?
                .transform_data(said_of_results)
        })?;
        rewrite_plan(keyed, |plan| rewrite_expressions(plan, without_mark))
    }

    fn name(&self) -> &'static str {
        "collations"
    }
}

/// Whether there is a text with a collation anywhere.
fn has_collations(plan: &LogicalPlan) -> Result<bool> {
    let mut found = false;
    plan.apply_with_subqueries(|plan| {
        if plan.inputs().is_empty() {
            let mut fields = plan.schema().fields().iter();
            found |= fields.any(|field| collation_of(field).is_some());
        }
        plan.apply_expressions(|expr| {
            expr.apply(|expr| {
                found |= is_mark(expr);
                Ok(match found {
                    true => TreeNodeRecursion::Stop,
                    false => TreeNodeRecursion::Continue,
                })
            })
        })?;
        Ok(match found {
            true => TreeNodeRecursion::Stop,
            false => TreeNodeRecursion::Continue,
        })
    })?;
    Ok(found)
}

fn is_mark(expr: &Expr) -> bool {
    matches!(expr, Expr::ScalarFunction(call) if call.name() == COLLATE)
}

fn without_mark(expr: Expr, _: &DFSchema) -> Result<Transformed<Expr>> {
    match expr {
        Expr::ScalarFunction(ScalarFunction { func, mut args }) if func.name() == COLLATE => {
            args.truncate(1);
            Ok(Transformed::yes(args.pop().unwrap_or_default()))
        }
        expr => Ok(Transformed::no(expr)),
    }
}

/// Functions that make texts of others which are of no collation.
const OF_NONE: [&str; 8] = [
    "md5",
    "sha1",
    "sha256",
    "split_part",
    "string_agg",
    "array_to_string",
    "$collation_key",
    "typeof",
];

/// The collation of an expression; `None` of what is no text, or is compared by its bytes.
fn collation(expr: &Expr, schema: &DFSchema) -> Option<Collation> {
    match expr {
        Expr::Column(column) => collation_of(schema.field_from_column(column).ok()?),
        Expr::OuterReferenceColumn(field, _) => collation_of(field),
        Expr::Alias(alias) => collation(&alias.expr, schema),
        Expr::Cast(cast) if cast.field.data_type().is_string() => collation(&cast.expr, schema),
        Expr::TryCast(cast) if cast.field.data_type().is_string() => collation(&cast.expr, schema),
        Expr::ScalarFunction(call) if call.name() == COLLATE => {
            let name = call.args.get(1)?.as_literal()?.try_as_str()??;
            Collation::named(name)
        }
        Expr::ScalarFunction(call) if call.name() == OR_NULL => {
            collation(call.args.first()?, schema)
        }
        Expr::ScalarSubquery(subquery) => collation_of(subquery.subquery.schema().field(0)),
        Expr::Case(Case {
            when_then_expr,
            else_expr,
            ..
        }) => {
            let then = when_then_expr.iter().map(|(_, then)| then.as_ref());
            of_any(then.chain(else_expr.as_deref()), schema)
        }
        Expr::BinaryExpr(BinaryExpr {
            left,
            op: Operator::StringConcat,
            right,
        }) => of_any([left.as_ref(), right.as_ref()], schema),
        _ => {
            let (name, args) = called(expr)?;
            let is_text = || expr.get_type(schema).is_ok_and(|ty| ty.is_string());
            if OF_NONE.contains(&name) {
                return None;
            }
            of_any(args, schema).filter(|_| is_text())
        }
    }
}

/// That of the first that has one.
fn of_any<'a>(exprs: impl IntoIterator<Item = &'a Expr>, schema: &DFSchema) -> Option<Collation> {
    let found = exprs.into_iter().map(|expr| collation(expr, schema));
    found.flatten().next()
}

/// A function and its arguments.
fn called(expr: &Expr) -> Option<(&str, &[Expr])> {
    match expr {
        Expr::ScalarFunction(call) => Some((call.name(), &call.args)),
        Expr::AggregateFunction(call) => Some((call.func.name(), &call.params.args)),
        Expr::WindowFunction(call) => Some((call.fun.name(), &call.params.args)),
        _ => None,
    }
}

/// Puts the key in a text's place if it has a collation; false where it has none.
fn take_key(expr: &mut Expr, schema: &DFSchema) -> bool {
    let found = collation(expr, schema);
    if let Some(collation) = found {
        *expr = collation_key(std::mem::take(expr), collation);
    }
    found.is_some()
}

/// Brings texts that are compared with each other to keys of one collation.
fn compare(exprs: &mut [&mut Expr], schema: &DFSchema) -> Result<bool> {
    let found = exprs.iter().map(|expr| collation(expr, schema));
    let Some(one) = one_of(found)? else {
        return Ok(false);
    };
    let is_text = |expr: &Expr| {
        expr.get_type(schema)
            .is_ok_and(|ty| ty.is_string() || ty.is_null())
    };
    if !exprs.iter().all(|expr| is_text(expr)) {
        return Ok(false);
    }
    for expr in exprs.iter_mut() {
        **expr = collation_key(std::mem::take(*expr), one);
    }
    Ok(true)
}

/// The collation that there is among some.
fn one_of(found: impl Iterator<Item = Option<Collation>>) -> Result<Option<Collation>> {
    let mut one = None;
    for found in found.flatten() {
        if one.is_some_and(|one| one != found) {
            return Err(Error::binder("Cannot combine types with different collation!").into());
        }
        one = Some(found);
    }
    Ok(one)
}

/// Functions that look for a text within another, as it is compared.
const LOOK: [&str; 7] = [
    "contains",
    "starts_with",
    "prefix",
    "strpos",
    "instr",
    "position",
    "$glob_match",
];

/// Keys in comparisons, and in the clauses of aggregates and windows.
fn comparisons(mut expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let changed = match &mut expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) if is_comparison(*op) || is_like(*op) => {
            compare(&mut [left.as_mut(), right.as_mut()], schema)?
        }
        Expr::Like(like) if !like.case_insensitive => {
            compare(&mut [like.expr.as_mut(), like.pattern.as_mut()], schema)?
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
        Expr::ScalarFunction(call) if LOOK.contains(&call.name()) => {
            compare(&mut call.args.iter_mut().collect::<Vec<_>>(), schema)?
        }
        Expr::ScalarFunction(call) if call.name() == "nullif" => {
            let [value, other] = call.args.as_slice() else {
                return Ok(Transformed::no(expr));
            };
            let value = value.clone();
            let (mut left, mut right) = (value.clone(), other.clone());
            let keyed = compare(&mut [&mut left, &mut right], schema)?;
            if keyed {
                let none = lit(ScalarValue::Null);
                expr = when(left.eq(right), none).otherwise(value)?;
            }
            keyed
        }
        Expr::AggregateFunction(call) => {
            let mut changed = false;
            for sort in &mut call.params.order_by {
                changed |= take_key(&mut sort.expr, schema);
            }
            if let [arg] = call.params.args.as_slice()
                && let Some(collation) = collation(arg, schema)
                && let Some(extreme) = extreme_of_keys(&call.func, Some(collation))
            {
                call.func = extreme;
                changed = true;
            }
            changed
        }
        Expr::WindowFunction(window) => window_keys(window, schema),
        _ => false,
    };
    Ok(Transformed::new(expr, changed, TreeNodeRecursion::Continue))
}

fn is_like(op: Operator) -> bool {
    matches!(op, Operator::LikeMatch | Operator::NotLikeMatch)
}

fn in_query(in_subquery: &mut InSubquery, schema: &DFSchema) -> Result<bool> {
    let plan = &in_subquery.subquery.subquery;
    let (qualifier, field) = plan.schema().qualified_field(0);
    let found = [collation(&in_subquery.expr, schema), collation_of(field)];
    let Some(one) = one_of(found.into_iter())? else {
        return Ok(false);
    };
    if !field.data_type().is_string() && !field.data_type().is_null() {
        return Ok(false);
    }
    let column = Expr::Column((qualifier, field).into());
    let key = collation_key(column, one).alias("$listed");
    let keys = LogicalPlanBuilder::from(plan.as_ref().clone()).project([key])?;
    in_subquery.subquery.subquery = Arc::new(keys.build()?);
    let expr = std::mem::take(in_subquery.expr.as_mut());
    *in_subquery.expr = collation_key(expr, one);
    Ok(true)
}

fn window_keys(window: &mut WindowFunction, schema: &DFSchema) -> bool {
    let params = &mut window.params;
    let mut changed = false;
    for expr in &mut params.partition_by {
        changed |= take_key(expr, schema);
    }
    for sort in &mut params.order_by {
        changed |= take_key(&mut sort.expr, schema);
    }
    if let WindowFunctionDefinition::AggregateUDF(function) = &mut window.fun
        && let [arg] = params.args.as_slice()
        && let Some(collation) = collation(arg, schema)
        && let Some(extreme) = extreme_of_keys(function, Some(collation))
    {
        *function = extreme;
        changed = true;
    }
    changed
}

fn sort_keys(order: &mut [Sort], schema: &DFSchema) -> bool {
    let keyed = order.iter_mut();
    keyed.fold(false, |any, sort| take_key(&mut sort.expr, schema) | any)
}

/// Keys in ORDER BY, and in the columns that joins compare.
fn order_and_join(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let mut changed = false;
    let plan = match plan {
        LogicalPlan::Sort(mut sort) => {
            changed = sort_keys(&mut sort.expr, sort.input.schema());
            LogicalPlan::Sort(sort)
        }
        LogicalPlan::Join(mut join) => {
            for (left, right) in &mut join.on {
                let found = [
                    collation(left, join.left.schema()),
                    collation(right, join.right.schema()),
                ];
                if let Some(one) = one_of(found.into_iter())? {
                    *left = collation_key(std::mem::take(left), one);
                    *right = collation_key(std::mem::take(right), one);
                    changed = true;
                }
            }
            if changed {
                // USING knows columns alone. What it hides in a `*` is known by now.
                join.join_constraint = JoinConstraint::On;
            }
            LogicalPlan::Join(join)
        }
        LogicalPlan::Distinct(Distinct::On(mut distinct)) => {
            for on in &mut distinct.on_expr {
                changed |= take_key(on, distinct.input.schema());
            }
            if let Some(order) = &mut distinct.sort_expr {
                changed |= sort_keys(order, distinct.input.schema());
            }
            LogicalPlan::Distinct(Distinct::On(distinct))
        }
        other => other,
    };
    Ok(Transformed::new(plan, changed, TreeNodeRecursion::Continue))
}

/// Says of results that they are texts of a collation, where the plan's columns would not say it.
fn said_of_results(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    if let LogicalPlan::Union(union) = plan {
        return said_of_unions(union);
    }
    let computes = matches!(
        plan,
        LogicalPlan::Projection(_) | LogicalPlan::Aggregate(_) | LogicalPlan::Window(_)
    );
    let schemas: Vec<_> = plan
        .inputs()
        .iter()
        .map(|input| Arc::clone(input.schema()))
        .collect();
    let [schema] = schemas.as_slice() else {
        return Ok(Transformed::no(plan));
    };
    if !computes {
        return Ok(Transformed::no(plan));
    }
    let said = plan.map_expressions(|expr| {
        let has_said = matches!(
            &expr,
            Expr::Alias(Alias {
                metadata: Some(_),
                ..
            })
        );
        match collation(&expr, schema) {
            Some(collation) if !has_said && !matches!(expr, Expr::Column(_)) => {
                Ok(Transformed::yes(saying(expr, collation)))
            }
            _ => Ok(Transformed::no(expr)),
        }
    })?;
    match said.transformed {
        true => said.map_data(LogicalPlan::recompute_schema),
        false => Ok(said),
    }
}

/// The columns of a projection with the collations that they had before.
fn saying_again(plan: LogicalPlan, before: &DFSchema) -> Result<LogicalPlan> {
    let mut fields = before.fields().iter();
    let said = plan.map_expressions(|expr| {
        let found = fields.next().and_then(|field| collation_of(field));
        Ok(match found {
            Some(collation) => Transformed::yes(saying(expr, collation)),
            None => Transformed::no(expr),
        })
    })?;
    said.data.recompute_schema()
}

/// An expression under its name, with its collation.
fn saying(expr: Expr, collation: Collation) -> Expr {
    let (relation, name) = expr.qualified_name();
    let metadata = FieldMetadata::from(collation_metadata(collation));
    expr.unalias()
        .alias_qualified_with_metadata(relation, name, Some(metadata))
}

/// A column of a union has a collation if it has one in any of its parts.
fn said_of_unions(mut union: Union) -> Result<Transformed<LogicalPlan>> {
    let mut changed = false;
    for at in 0..union.schema.fields().len() {
        let of = |input: &Arc<LogicalPlan>| collation_of(input.schema().field(at));
        let Some(found) = union.inputs.iter().find_map(of) else {
            continue;
        };
        for input in &mut union.inputs {
            let ty = input.schema().field(at).data_type();
            if of(input).is_some() || !ty.is_string() {
                continue;
            }
            let columns = input.schema().columns().into_iter().map(Expr::Column);
            let columns = columns.enumerate().map(|(n, column)| match n == at {
                true => saying(column, found),
                false => column,
            });
            let columns: Vec<Expr> = columns.collect();
            let said = LogicalPlanBuilder::from(input.as_ref().clone()).project(columns)?;
            *input = Arc::new(said.build()?);
            changed = true;
        }
    }
    let plan = LogicalPlan::Union(union);
    match changed {
        true => Ok(Transformed::yes(plan.recompute_schema()?)),
        false => Ok(Transformed::no(plan)),
    }
}
