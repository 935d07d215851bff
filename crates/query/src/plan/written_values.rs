//! Lists, structs and OVERLAY as they are written: calls of functions that ask for memory or know JSON, in place of the library's.

use super::numbers::unify;
use crate::common_types::For;
use crate::functions::{MAKE_LIST, NAMED_STRUCT, OVERLAY};
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawDictionaryExpr};
use datafusion::logical_expr::{Expr, ScalarUDF};
use std::sync::Arc;

/// Plans them; asked before DataFusion's own planners.
#[derive(Debug)]
pub(super) struct WrittenValues {
    list: Option<Arc<ScalarUDF>>,
    structure: Option<Arc<ScalarUDF>>,
    overlay: Option<Arc<ScalarUDF>>,
}

impl WrittenValues {
    /// Calls of some of these functions.
    pub(super) fn new(functions: &[Arc<ScalarUDF>]) -> Self {
        let named = |name| functions.iter().find(|f| f.name() == name).cloned();
        Self {
            list: named(MAKE_LIST),
            structure: named(NAMED_STRUCT),
            overlay: named(OVERLAY),
        }
    }
}

fn call(function: &Arc<ScalarUDF>, args: Vec<Expr>) -> Expr {
    Expr::ScalarFunction(ScalarFunction::new_udf(Arc::clone(function), args))
}

impl ExprPlanner for WrittenValues {
    /// Brings the values of a list to one type, so that what is planned over it knows that type.
    fn plan_array_literal(
        &self,
        mut exprs: Vec<Expr>,
        schema: &DFSchema,
    ) -> Result<PlannerResult<Vec<Expr>>> {
        unify(
            &mut exprs.iter_mut().collect::<Vec<_>>(),
            For::Value,
            schema,
        )?;
        Ok(match &self.list {
            Some(list) => PlannerResult::Planned(call(list, exprs)),
            None => PlannerResult::Original(exprs),
        })
    }

    fn plan_dictionary_literal(
        &self,
        expr: RawDictionaryExpr,
        _: &DFSchema,
    ) -> Result<PlannerResult<RawDictionaryExpr>> {
        let Some(structure) = &self.structure else {
            return Ok(PlannerResult::Original(expr));
        };
        let pairs = expr.keys.into_iter().zip(expr.values);
        let args = pairs.flat_map(|(name, value)| [name, value]);
        Ok(PlannerResult::Planned(call(structure, args.collect())))
    }

    fn plan_overlay(&self, args: Vec<Expr>) -> Result<PlannerResult<Vec<Expr>>> {
        Ok(match &self.overlay {
            Some(overlay) => PlannerResult::Planned(call(overlay, args)),
            None => PlannerResult::Original(args),
        })
    }
}
