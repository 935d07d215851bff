//! Three of DataFusion's rules, kept from plans that they change the meaning of, or do not know.
//!
//! What must hold of filters that are pushed down: a condition that names no column stays above an aggregate that has a row of no rows, too: below it, that row
//! would be left. And of comparisons of one column with constants, of which the rule keeps the strictest, it sees the constant on the right
//! and in one spelling: it takes `2 < x` for `x > 2` where it counts, but not where 2 is the bound of another, and `1 = x` for a
//! contradiction of `x = 1`. And of keys of joins: where NULL equals NULL in a join, as for IS NOT DISTINCT FROM, what was compared by `=`
//! is not NULL.

use super::flat_plans::all_of;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{NullEquality, Result, ScalarValue};
use datafusion::logical_expr::utils::{split_conjunction, split_conjunction_owned};
use datafusion::logical_expr::{BinaryExpr, Expr, Filter, GroupingSet, LogicalPlan, Operator, lit};
use datafusion::optimizer::optimizer::ApplyOrder;
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};
use std::collections::HashSet;
use std::sync::Arc;

type Rule = Arc<dyn OptimizerRule + Send + Sync>;

/// What is done in place of a rule's rewriting, which it is given to call.
type Rewrite =
    fn(&dyn OptimizerRule, LogicalPlan, &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>>;

/// One of DataFusion's rules by its name and in its order, but for what it rewrites.
#[derive(Debug)]
struct Guarded {
    rule: Rule,
    rewrite: Rewrite,
}

/// The rule with another rewriting.
pub(super) fn guarded(rule: Rule, rewrite: Rewrite) -> Rule {
    Arc::new(Guarded { rule, rewrite })
}

impl OptimizerRule for Guarded {
    fn name(&self) -> &str {
        self.rule.name()
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        self.rule.apply_order()
    }

    fn supports_rewrite(&self) -> bool {
        true
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        config: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        (self.rewrite)(self.rule.as_ref(), plan, config)
    }
}

/// The rule that computes once what expressions have in common. It takes a function over a window for that where it is there twice,
/// also as `sum(i * 2) OVER ()` and `sum(i * (1 + 1)) OVER ()`, and puts it below the window.
pub(super) fn common_expressions(
    rule: &dyn OptimizerRule,
    plan: LogicalPlan,
    config: &dyn OptimizerConfig,
) -> Result<Transformed<LogicalPlan>> {
    match plan.exists(|node| Ok(has_one_twice(node)))? {
        true => Ok(Transformed::no(plan)),
        false => rule.rewrite(plan, config),
    }
}

/// Whether windows that stand upon each other have a function twice.
fn has_one_twice(node: &LogicalPlan) -> bool {
    let (mut seen, mut node) = (HashSet::new(), node);
    while let LogicalPlan::Window(window) = node {
        for mut expr in &window.window_expr {
            while let Expr::Alias(alias) = expr {
                expr = &alias.expr;
            }
            if !seen.insert(expr) {
                return true;
            }
        }
        node = &window.input;
    }
    false
}

/// The rule that pushes filters down.
pub(super) fn push_down_filters(
    rule: &dyn OptimizerRule,
    plan: LogicalPlan,
    config: &dyn OptimizerConfig,
) -> Result<Transformed<LogicalPlan>> {
    if is_above_a_folded_window(&plan) {
        return Ok(Transformed::no(plan));
    }
    let filter = match constants_right(plan)? {
        LogicalPlan::Filter(filter) if always_has_a_row(below_filters(&filter.input)) => filter,
        other => return rule.rewrite(other, config),
    };
    // The library's rule takes filters above each other for one.
    let mut terms = split_conjunction_owned(filter.predicate);
    let mut input = Arc::unwrap_or_clone(filter.input);
    while let LogicalPlan::Filter(Filter {
        predicate,
        input: next,
        ..
    }) = input
    {
        terms.extend(split_conjunction_owned(predicate));
        input = Arc::unwrap_or_clone(next);
    }
    let terms = terms.into_iter();
    let (moving, staying): (Vec<_>, Vec<_>) = terms.partition(Expr::any_column_refs);
    let with = |terms, input| match all_of(terms) {
        None => Ok(input),
        Some(predicate) => Filter::try_new(predicate, Arc::new(input)).map(LogicalPlan::Filter),
    };
    if moving.is_empty() {
        return with(staying, input).map(Transformed::no);
    }
    let pushed = rule.rewrite(with(moving, input)?, config)?;
    pushed.map_data(|plan| with(staying, plan))
}

/// Whether filters lie on a window function of constants that became its value: the rule takes all that is there for window functions.
fn is_above_a_folded_window(plan: &LogicalPlan) -> bool {
    let is_window = |expr: &Expr| matches!(unaliased(expr), Expr::WindowFunction(_));
    match (plan, below_filters(plan)) {
        (LogicalPlan::Filter(_), LogicalPlan::Window(window)) => {
            !window.window_expr.iter().all(is_window)
        }
        _ => false,
    }
}

fn unaliased(expr: &Expr) -> &Expr {
    match expr {
        Expr::Alias(alias) => unaliased(&alias.expr),
        other => other,
    }
}

/// The comparisons of filters that lie on each other, which the rule takes for one.
fn constants_right(plan: LogicalPlan) -> Result<LogicalPlan> {
    match has_to_turn(&plan) {
        true => turned(plan),
        false => Ok(plan),
    }
}

fn has_to_turn(mut plan: &LogicalPlan) -> bool {
    while let LogicalPlan::Filter(filter) = plan {
        let mut conjuncts = split_conjunction(&filter.predicate).into_iter();
        let turns = |term: &Expr| match term {
            Expr::BinaryExpr(comparison) if is_grouped(comparison.op) => {
                constant_right(term.clone()) != *term
            }
            _ => false,
        };
        if conjuncts.any(turns) {
            return true;
        }
        plan = &filter.input;
    }
    false
}

fn turned(plan: LogicalPlan) -> Result<LogicalPlan> {
    let LogicalPlan::Filter(filter) = plan else {
        return Ok(plan);
    };
    let input = turned(Arc::unwrap_or_clone(filter.input))?;
    let conjuncts = split_conjunction_owned(filter.predicate).into_iter();
    let predicate = all_of(conjuncts.map(constant_right)).unwrap_or_default();
    Filter::try_new(predicate, Arc::new(input)).map(LogicalPlan::Filter)
}

/// Whether the rule keeps the strictest of several such comparisons.
fn is_grouped(op: Operator) -> bool {
    use Operator::{Eq, Gt, GtEq, Lt, LtEq};
    matches!(op, Eq | Lt | LtEq | Gt | GtEq)
}

fn constant_right(condition: Expr) -> Expr {
    let Expr::BinaryExpr(BinaryExpr { left, op, right }) = condition else {
        return condition;
    };
    let is_grouped = is_grouped(op);
    let (left, op, mut right) = match (left.as_literal(), right.as_literal(), op.swap()) {
        (Some(_), None, Some(swapped)) if is_grouped => (right, swapped, left),
        _ => (left, op, right),
    };
    if let (true, Expr::Literal(value, _)) = (is_grouped, right.as_mut()) {
        match value {
            // Neither true nor less strict than another.
            value if value.is_null() => return lit(ScalarValue::Boolean(None)),
            ScalarValue::Float64(Some(zero)) if *zero == 0.0 => *zero = 0.0,
            ScalarValue::Float32(Some(zero)) if *zero == 0.0 => *zero = 0.0,
            _ => {}
        }
    }
    Expr::BinaryExpr(BinaryExpr { left, op, right })
}

/// What filters above each other keep rows of.
fn below_filters(mut plan: &LogicalPlan) -> &LogicalPlan {
    while let LogicalPlan::Filter(Filter { input, .. }) = plan {
        plan = input;
    }
    plan
}

/// Whether an aggregate has a group of all rows.
fn always_has_a_row(plan: &LogicalPlan) -> bool {
    let LogicalPlan::Aggregate(aggregate) = plan else {
        return false;
    };
    match aggregate.group_expr.as_slice() {
        [Expr::GroupingSet(GroupingSet::GroupingSets(sets))] => sets.iter().any(Vec::is_empty),
        [Expr::GroupingSet(_)] => true,
        groups => groups.is_empty(),
    }
}

/// The rule that makes keys of a join of the equalities in its condition.
pub(super) fn extract_keys(
    rule: &dyn OptimizerRule,
    plan: LogicalPlan,
    config: &dyn OptimizerConfig,
) -> Result<Transformed<LogicalPlan>> {
    let had = match &plan {
        LogicalPlan::Join(join) if join.null_equality == NullEquality::NullEqualsNull => {
            join.on.len()
        }
        _ => return rule.rewrite(plan, config),
    };
    let extracted = rule.rewrite(plan, config)?;
    Ok(extracted.update_data(|plan| match plan {
        LogicalPlan::Join(mut join) => {
            let known = join
                .on
                .iter()
                .skip(had)
                .map(|(key, _)| key.clone().is_not_null());
            join.filter = all_of(known.chain(join.filter.take()));
            LogicalPlan::Join(join)
        }
        other => other,
    }))
}
