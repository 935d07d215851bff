//! Has NaNs of one sign in every column. A sum of infinities or a minus makes others, which operators and functions would take for
//! less than all else.
//!
//! What must hold: what is a column has one NaN: of a table (they are stored so), of a file (it is read so), of a query, a group or a
//! window. Rules after this one rely on it.

use super::rewrite_expressions::{rewrite_expressions, rewrite_plan};
use crate::functions::{OR_NULL, has_floats, with_one_nan};
use datafusion::common::tree_node::Transformed;
use datafusion::common::{Column, DFSchema, ExprSchema, Result, ScalarValue};
use datafusion::config::ConfigOptions;
use datafusion::logical_expr::expr::{AggregateFunction, Alias, Cast, Sort, TryCast};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{
    Aggregate, Distinct, Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder, Projection, Values,
};
use datafusion::optimizer::AnalyzerRule;

/// The rule; see the module.
#[derive(Debug)]
pub(super) struct OneNan;

impl AnalyzerRule for OneNan {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        rewrite_plan(plan, |plan| {
            rewrite_expressions(plan, arguments)?.transform_data(columns)
        })
    }

    fn name(&self) -> &str {
        "one_nan"
    }
}

/// Functions and aggregates that give one of their arguments, or what is made of them as they are.
const HAND_ON: [&str; 16] = [
    OR_NULL,
    "$one_nan",
    "$key",
    "$spelled",
    "$in_place_of",
    "make_array",
    "named_struct",
    "get_field",
    "coalesce",
    "array_agg",
    "min",
    "max",
    "first_value",
    "last_value",
    "lag",
    "lead",
];

/// Functions to which it is the same which NaN they are given: arithmetic, and what stands for it.
const AS_THEY_ARE: [&str; 11] = [
    "$one_nan",
    "$key",
    "$brackets",
    "operators",
    "+",
    "-",
    "*",
    "%",
    "//",
    "<<",
    ">>",
];

/// Whether a value may be, or hold, a NaN whose sign is set.
fn may_have_other(expr: &Expr, schema: &dyn ExprSchema) -> bool {
    let is_clear = match expr {
        // A query's value is a column of it.
        Expr::Column(_) | Expr::OuterReferenceColumn(..) | Expr::ScalarSubquery(_) => true,
        Expr::Literal(ScalarValue::Float64(Some(v)), _) => !v.is_nan(),
        Expr::Literal(ScalarValue::Float32(Some(v)), _) => !v.is_nan(),
        Expr::Literal(value, _) => value.is_null(),
        Expr::Alias(alias) => return may_have_other(&alias.expr, schema),
        Expr::Cast(Cast { expr, .. }) | Expr::TryCast(TryCast { expr, .. }) => {
            match expr.get_type(schema) {
                Ok(from) if from.is_integer() || from.is_decimal() => true,
                Ok(from) if from.is_floating() => return may_have_other(expr, schema),
                _ => false,
            }
        }
        Expr::ScalarFunction(call) if call.name() == "$brackets" => {
            let value = call.args.first();
            return value.is_some_and(|value| may_have_other(value, schema));
        }
        // Their arguments are clear.
        Expr::ScalarFunction(call) => HAND_ON.contains(&call.name()),
        Expr::AggregateFunction(call) => HAND_ON.contains(&call.func.name()),
        Expr::WindowFunction(window) => HAND_ON.contains(&window.fun.name()),
        _ => false,
    };
    !is_clear && expr.get_type(schema).is_ok_and(|ty| has_floats(&ty))
}

fn clear(expr: &mut Expr, schema: &dyn ExprSchema) -> bool {
    let needed = may_have_other(expr, schema);
    if needed {
        let value = std::mem::take(expr);
        *expr = match value {
            Expr::Alias(Alias {
                expr,
                relation,
                name,
                metadata,
            }) => Expr::Alias(Alias {
                expr: Box::new(with_one_nan(*expr)),
                relation,
                name,
                metadata,
            }),
            value => with_one_nan(value),
        };
    }
    needed
}

/// What functions, aggregates and windows are given, and what rows are sorted by.
fn arguments(mut expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let mut changed = false;
    let mut all = |exprs: &mut [Expr]| {
        for expr in exprs {
            changed |= clear(expr, schema);
        }
    };
    match &mut expr {
        Expr::ScalarFunction(call) if !AS_THEY_ARE.contains(&call.name()) => all(&mut call.args),
        Expr::AggregateFunction(AggregateFunction { params, .. }) => {
            all(&mut params.args);
            changed |= sorted(&mut params.order_by, schema);
        }
        Expr::WindowFunction(window) => {
            all(&mut window.params.args);
            changed |= sorted(&mut window.params.order_by, schema);
        }
        _ => {}
    }
    Ok(match changed {
        true => Transformed::yes(expr),
        false => Transformed::no(expr),
    })
}

fn sorted(order: &mut [Sort], schema: &DFSchema) -> bool {
    let mut changed = false;
    for sort in order {
        changed |= clear(&mut sort.expr, schema);
    }
    changed
}

/// What a node makes columns of.
fn columns(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    Ok(match plan {
        LogicalPlan::Projection(Projection { expr, input, .. })
            if expr.iter().any(|e| may_have_other(e, input.schema())) =>
        {
            let expr = named(expr, input.schema());
            Transformed::yes(LogicalPlan::Projection(Projection::try_new(expr, input)?))
        }
        LogicalPlan::Distinct(Distinct::On(mut on)) => {
            let schema = on.input.schema();
            let needed = on.select_expr.iter().any(|e| may_have_other(e, schema));
            on.select_expr = named(on.select_expr, on.input.schema());
            let plan = LogicalPlan::Distinct(Distinct::On(on));
            match needed {
                true => Transformed::yes(plan.recompute_schema()?),
                false => Transformed::no(plan),
            }
        }
        LogicalPlan::Values(Values { schema, mut values }) => {
            let mut changed = false;
            let none = DFSchema::empty();
            for value in values.iter_mut().flatten() {
                changed |= clear(value, &none);
            }
            let plan = LogicalPlan::Values(Values { schema, values });
            match changed {
                true => Transformed::yes(plan),
                false => Transformed::no(plan),
            }
        }
        LogicalPlan::Sort(mut sort) => {
            let changed = sorted(&mut sort.expr, sort.input.schema());
            let plan = LogicalPlan::Sort(sort);
            match changed {
                true => Transformed::yes(plan),
                false => Transformed::no(plan),
            }
        }
        LogicalPlan::Aggregate(aggregate) => {
            let schema = aggregate.input.schema();
            let made = aggregate.aggr_expr.iter();
            let made: Vec<bool> = made.map(|e| may_have_other(e, schema)).collect();
            above(LogicalPlan::Aggregate(aggregate), &made)?
        }
        LogicalPlan::Window(window) => {
            let schema = window.input.schema();
            let made = window.window_expr.iter();
            let made: Vec<bool> = made.map(|e| may_have_other(e, schema)).collect();
            above(LogicalPlan::Window(window), &made)?
        }
        other => Transformed::no(other),
    })
}

/// The expressions of columns, under their names.
fn named(exprs: Vec<Expr>, schema: &DFSchema) -> Vec<Expr> {
    let names = NamePreserver::new_for_projection();
    let named = exprs.into_iter().map(|mut expr| {
        let name = names.save(&expr);
        match clear(&mut expr, schema) {
            true => name.restore(expr),
            false => expr,
        }
    });
    named.collect()
}

/// A node whose last columns are `made` by aggregates or windows, with those cleared that have to be.
fn above(plan: LogicalPlan, made: &[bool]) -> Result<Transformed<LogicalPlan>> {
    if !made.contains(&true) {
        return Ok(Transformed::no(plan));
    }
    let schema = plan.schema();
    let passed = schema.fields().len() - made.len();
    let columns = schema.iter().enumerate().map(|(at, (qualifier, field))| {
        let column = Expr::Column(Column::from((qualifier, field)));
        let is_other = at.checked_sub(passed).and_then(|at| made.get(at).copied());
        match is_other == Some(true) {
            true => with_one_nan(column).alias_qualified(qualifier.cloned(), field.name()),
            false => column,
        }
    });
    // What tells sets apart is made anew with them.
    let columns = columns.filter(|column| {
        !matches!(column, Expr::Column(column) if column.name == Aggregate::INTERNAL_GROUPING_ID)
    });
    let columns: Vec<Expr> = columns.collect();
    let plan = LogicalPlanBuilder::from(plan).project(columns)?.build()?;
    Ok(Transformed::yes(plan))
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::datatypes::{DataType, Field, Schema};
    use datafusion::logical_expr::{col, lit};

    #[test]
    fn what_may_be_another_nan_is_cleared_once() {
        let schema = Schema::new(vec![Field::new("x", DataType::Float64, true)]);
        let schema = DFSchema::try_from(schema).unwrap();
        let is_other = |expr: &Expr| may_have_other(expr, &schema);
        assert!(!is_other(&col("x")));
        assert!(is_other(&-col("x")));
        assert!(is_other(&(col("x") * lit(0.0)).alias("y")));
        assert!(is_other(&lit(-f64::NAN)));
        assert!(!is_other(&lit(1.5)));
        let mut value = (-col("x")).alias("y");
        assert!(clear(&mut value, &schema));
        assert!(!is_other(&value));
    }
}
