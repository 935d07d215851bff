//! `JsonMembers`: `j.a` and `j[0]` of JSON, what is at that place in it.
//!
//! What must hold: names in JSON have a case. The planner knows names in lower case, so that how they are written is kept aside; where
//! that is not known, the name is refused.

use super::postgres_operators::is_json;
use super::postgres_sides::PostgresSides;
use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::common::{Column, DFSchema, Result, TableReference, plan_err};
use datafusion::execution::SessionState;
use datafusion::functions::core::get_field;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawFieldAccessExpr};
use datafusion::logical_expr::{Expr, GetFieldAccess, ScalarUDF, lit};
use hushdb_sql::type_names::is_called_json;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;

/// How names behind dots are written, by the name in lower case; `None` where that differs.
pub(super) type Written = Arc<Mutex<HashMap<String, Option<String>>>>;

#[derive(Debug)]
struct JsonMembers {
    /// The function `json_extract`.
    extract: Arc<ScalarUDF>,
    written: Written,
}

/// What plans expressions, this before all others, and for PostgreSQL's clients what it has otherwise.
pub(super) fn before_others(
    state: &SessionState,
    written: &Written,
    postgres: bool,
) -> Vec<Arc<dyn ExprPlanner>> {
    let extract = state.scalar_functions().get("json_extract").cloned();
    let json = extract.map(|extract| {
        let written = Arc::clone(written);
        Arc::new(JsonMembers { extract, written }) as Arc<dyn ExprPlanner>
    });
    let sides = postgres.then(|| Arc::new(PostgresSides) as Arc<dyn ExprPlanner>);
    let others = state.expr_planners().iter().cloned();
    json.into_iter().chain(sides).chain(others).collect()
}

impl JsonMembers {
    fn at_place(&self, of: Expr, at: Expr) -> Expr {
        Expr::ScalarFunction(ScalarFunction::new_udf(
            Arc::clone(&self.extract),
            vec![of, at],
        ))
    }

    /// How the name of a member is written.
    fn written(&self, name: &str) -> Result<String> {
        match self.written.lock().get(name) {
            Some(Some(written)) => Ok(written.clone()),
            None => Ok(name.to_owned()),
            Some(None) => plan_err!(
                "the name of a member of JSON is written in two ways in this statement: write j->'name'"
            ),
        }
    }
}

impl ExprPlanner for JsonMembers {
    fn plan_field_access(
        &self,
        expr: RawFieldAccessExpr,
        schema: &DFSchema,
    ) -> Result<PlannerResult<RawFieldAccessExpr>> {
        if !is_json(&expr.expr, schema) {
            return Ok(PlannerResult::Original(expr));
        }
        let at = match &expr.field_access {
            GetFieldAccess::NamedStructField { name } => {
                let text = name.try_as_str().flatten().unwrap_or_default();
                if self.written(text)? != text {
                    return plan_err!("the name of a member of JSON has a case: write j->'name'");
                }
                lit(name.clone())
            }
            GetFieldAccess::ListIndex { key } => *key.clone(),
            GetFieldAccess::ListRange { .. } => return Ok(PlannerResult::Original(expr)),
        };
        Ok(PlannerResult::Planned(self.at_place(expr.expr, at)))
    }

    fn plan_compound_identifier(
        &self,
        column: &Field,
        qualifier: Option<&TableReference>,
        nested_names: &[String],
    ) -> Result<PlannerResult<Vec<Expr>>> {
        let mut expr = Expr::Column(Column::from((qualifier, column)));
        let Some((fields, members)) = json_behind(column, nested_names) else {
            return Ok(PlannerResult::Original(vec![expr]));
        };
        for field in fields {
            expr = get_field().call(vec![expr, lit(field)]);
        }
        for name in members {
            expr = self.at_place(expr, lit(self.written(name)?));
        }
        Ok(PlannerResult::Planned(expr))
    }
}

/// The fields that lead from a column to JSON, and the names of members within that, of which there is one at least.
fn json_behind<'a>(column: &Field, names: &'a [String]) -> Option<(Vec<String>, &'a [String])> {
    let (mut of, mut fields, mut names) = (column, vec![], names);
    loop {
        let (name, others) = names.split_first()?;
        if is_called_json(of) {
            return Some((fields, names));
        }
        let DataType::Struct(within) = of.data_type() else {
            return None;
        };
        let mut found = within.iter();
        of = found.find(|field| field.name().eq_ignore_ascii_case(name))?;
        fields.push(of.name().clone());
        names = others;
    }
}
