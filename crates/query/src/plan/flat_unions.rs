//! `FlatUnions`: a UNION of UNIONs as one, before types are brought together.
//!
//! What must hold: the branches stay in their order, and get the type that the chain had from left to right, however the
//! parser bracketed it (`balance.rs` of `hushdb_sql`).

use datafusion::common::Result;
use datafusion::common::tree_node::Transformed;
use datafusion::config::ConfigOptions;
use datafusion::logical_expr::{Distinct, LogicalPlan, Union};
use datafusion::optimizer::AnalyzerRule;
use std::sync::Arc;

/// The rule; see the module.
#[derive(Debug)]
pub(super) struct FlatUnions;

/// The branches of a UNION ALL.
fn all(plan: &LogicalPlan) -> Option<&Union> {
    match plan {
        LogicalPlan::Union(union) => Some(union),
        _ => None,
    }
}

/// The branches of a UNION, which loses nothing by those of a UNION or UNION ALL within it.
fn distinct(plan: &LogicalPlan) -> Option<&Union> {
    match plan {
        LogicalPlan::Distinct(Distinct::All(input)) => all(input),
        plan => all(plan),
    }
}

/// One union of all branches; `None` when it is flat.
fn flat(union: &Union, within: impl Fn(&LogicalPlan) -> Option<&Union>) -> Option<LogicalPlan> {
    if !union.inputs.iter().any(|input| within(input).is_some()) {
        return None;
    }
    let mut branches = vec![];
    let mut open: Vec<&Arc<LogicalPlan>> = union.inputs.iter().rev().collect();
    while let Some(plan) = open.pop() {
        match within(plan) {
            Some(nested) => open.extend(nested.inputs.iter().rev()),
            None => branches.push(Arc::clone(plan)),
        }
    }
    Some(LogicalPlan::Union(Union {
        inputs: branches,
        schema: Arc::clone(&union.schema),
    }))
}

impl AnalyzerRule for FlatUnions {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        plan.transform_down_with_subqueries(|plan| {
            let flat = match &plan {
                LogicalPlan::Union(union) => flat(union, all),
                LogicalPlan::Distinct(Distinct::All(input)) => all(input)
                    .and_then(|union| flat(union, distinct))
                    .map(|union| LogicalPlan::Distinct(Distinct::All(Arc::new(union)))),
                _ => None,
            };
            Ok(match flat {
                Some(flat) => Transformed::yes(flat),
                None => Transformed::no(plan),
            })
        })
        .map(|t| t.data)
    }

    fn name(&self) -> &str {
        "flat_unions"
    }
}
