//! `EXCLUDE` of frames: where a window has a mark of it, its function becomes one that knows what its frames are without.
//!
//! What must hold: it comes behind all rules that change what aggregates are, or the types of their arguments.

use super::rewrite_expressions::rewrite_expressions;
use crate::functions::{Excluded, excluding};
use datafusion::common::tree_node::Transformed;
use datafusion::common::{Result, plan_err};
use datafusion::config::ConfigOptions;
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::logical_expr::{Expr, LogicalPlan};
use datafusion::optimizer::AnalyzerRule;
use hushdb_sql::EXCLUDE;
use std::sync::Arc;

/// The rule; see the module.
#[derive(Debug)]
pub(super) struct ExcludedRows {
    memory: Arc<dyn MemoryPool>,
}

impl ExcludedRows {
    pub(super) fn new(memory: &Arc<dyn MemoryPool>) -> Self {
        Self {
            memory: Arc::clone(memory),
        }
    }

    fn without_mark(&self, expr: Expr) -> Result<Transformed<Expr>> {
        let Expr::WindowFunction(mut window) = expr else {
            return Ok(Transformed::no(expr));
        };
        let params = &mut window.params;
        let marks = params.partition_by.extract_if(.., |by| is_mark(by));
        let Some(mark) = marks.last() else {
            return Ok(Transformed::no(Expr::WindowFunction(window)));
        };
        let function = excluding(
            &window.fun,
            excluded(&mark)?,
            params.distinct,
            params.filter.is_some(),
            &self.memory,
        );
        if let Some(function) = function {
            window.fun = function;
            params.distinct = false;
            params
                .args
                .extend(params.filter.take().map(|filter| *filter));
        }
        Ok(Transformed::yes(Expr::WindowFunction(window)))
    }
}

impl AnalyzerRule for ExcludedRows {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        let rewritten = plan.transform_up_with_subqueries(|plan| {
            rewrite_expressions(plan, |expr, _| self.without_mark(expr))
        });
        rewritten.map(|rewritten| rewritten.data)
    }

    fn name(&self) -> &'static str {
        "excluded_rows"
    }
}

fn is_mark(expr: &Expr) -> bool {
    matches!(expr, Expr::ScalarFunction(call) if call.name() == EXCLUDE)
}

fn excluded(mark: &Expr) -> Result<Excluded> {
    let text = match mark {
        Expr::ScalarFunction(call) => call.args.first().and_then(|text| text.as_literal()),
        _ => None,
    };
    let text = text.and_then(|text| text.try_as_str().flatten());
    match text {
        Some("current row") => Ok(Excluded::Row),
        Some("group") => Ok(Excluded::Group),
        Some("ties") => Ok(Excluded::Ties),
        _ => plan_err!("EXCLUDE takes CURRENT ROW, GROUP, TIES or NO OTHERS"),
    }
}
