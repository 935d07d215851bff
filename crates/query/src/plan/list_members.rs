//! `x IN (1, y + 1, 2)` as `x IN (1, 2) OR x = y + 1`. DataFusion takes a list for constant whose members have one value for no rows at all,
//! as CASE and COALESCE have that of their ELSE: `x IN (NULL, coalesce(y, 0))` was `x IN (NULL, 0)`.
//!
//! What must hold: the types are those of comparisons already, and a value that is not the same each time is not computed twice.

use super::rewrite_expressions::rewrite_expressions;
use datafusion::common::Result;
use datafusion::common::tree_node::Transformed;
use datafusion::config::ConfigOptions;
use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::{Expr, LogicalPlan};
use datafusion::optimizer::AnalyzerRule;

/// The rule; see the module.
#[derive(Debug)]
pub(super) struct ListMembers;

impl AnalyzerRule for ListMembers {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        let rewritten = plan.transform_up_with_subqueries(|plan| {
            rewrite_expressions(plan, |expr, _| Ok(with_constants_alone(expr)))
        });
        rewritten.map(|rewritten| rewritten.data)
    }

    fn name(&self) -> &'static str {
        "list_members"
    }
}

fn with_constants_alone(expr: Expr) -> Transformed<Expr> {
    let Expr::InList(InList {
        expr,
        list,
        negated,
    }) = expr
    else {
        return Transformed::no(expr);
    };
    if expr.is_volatile() || !list.iter().any(reads_rows) {
        return Transformed::no(Expr::InList(InList::new(expr, list, negated)));
    }
    let (members, constants): (Vec<_>, Vec<_>) = list.into_iter().partition(reads_rows);
    let listed = (!constants.is_empty()).then(|| expr.as_ref().clone().in_list(constants, false));
    let equal = members
        .into_iter()
        .map(|member| expr.as_ref().clone().eq(member));
    let found = any_of(listed.into_iter().chain(equal).collect());
    Transformed::yes(if negated { !found } else { found })
}

/// Whether a member of a list may have another value in each row.
fn reads_rows(member: &Expr) -> bool {
    member.any_column_refs() || member.is_volatile() || member.contains_outer()
}

/// A condition that holds where one of these holds; log n deep.
fn any_of(mut conditions: Vec<Expr>) -> Expr {
    match conditions.len() {
        0 | 1 => conditions.pop().unwrap_or_default(),
        count => {
            let right = conditions.split_off(count / 2);
            any_of(conditions).or(any_of(right))
        }
    }
}
