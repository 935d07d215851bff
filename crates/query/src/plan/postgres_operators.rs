//! `@>`, `||` and `-` of PostgreSQL, which are of lists, texts, numbers or JSON: which, the types tell.

use super::casts::is_blob;
use super::postgres_literals;
use crate::functions::{
    ARRAY_CAT, INTERVAL_CUT, JSONB_CONCAT, JSONB_CONTAINS, JSONB_DELETE, LIST_WITHIN, MAKE_LIST,
    SHIFTED_LEFT, SHIFTED_RIGHT,
};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{DFSchema, Result, ScalarValue, plan_err};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::planner::{PlannerResult, RawBinaryExpr};
use datafusion::logical_expr::{Expr, ExprSchemable, ScalarUDF, lit};
use datafusion::sql::sqlparser::ast::BinaryOperator;
use hushdb_sql::POSTGRES_TEXT;
use hushdb_sql::type_names::is_called_json;
use std::sync::Arc;

/// The functions that these operators are.
#[derive(Debug)]
pub(super) struct PostgresOperators {
    has_all: Option<Arc<ScalarUDF>>,
    contains: Option<Arc<ScalarUDF>>,
    concat: Option<Arc<ScalarUDF>>,
    delete: Option<Arc<ScalarUDF>>,
    list: Option<Arc<ScalarUDF>>,
    concat_lists: Option<Arc<ScalarUDF>>,
    text: Option<Arc<ScalarUDF>>,
    cut: Option<Arc<ScalarUDF>>,
    shifted_left: Option<Arc<ScalarUDF>>,
    shifted_right: Option<Arc<ScalarUDF>>,
}

impl PostgresOperators {
    pub(super) fn of(functions: &[Arc<ScalarUDF>]) -> Self {
        let named = |name| functions.iter().find(|f| f.name() == name).cloned();
        Self {
            has_all: named(LIST_WITHIN),
            contains: named(JSONB_CONTAINS),
            concat: named(JSONB_CONCAT),
            delete: named(JSONB_DELETE),
            list: named(MAKE_LIST),
            concat_lists: named(ARRAY_CAT),
            text: named(POSTGRES_TEXT),
            cut: named(INTERVAL_CUT),
            shifted_left: named(SHIFTED_LEFT),
            shifted_right: named(SHIFTED_RIGHT),
        }
    }

    /// `left @> right`.
    pub(super) fn contains(&self, mut expr: RawBinaryExpr, schema: &DFSchema) -> Result<Expr> {
        postgres_literals::meet(&mut [&mut expr.left, &mut expr.right], schema);
        let is_list = |side: &Expr| side.get_type(schema).is_ok_and(|ty| ty.is_list());
        if !(is_list(&expr.left) || is_list(&expr.right)) {
            return call(&self.contains, expr);
        }
        call(&self.has_all, expr)
    }

    /// `left || right`, if it is of JSON; a text without a type is JSON beside one. A value beside a list becomes one.
    pub(super) fn concat(
        &self,
        mut expr: RawBinaryExpr,
        schema: &DFSchema,
    ) -> Result<PlannerResult<RawBinaryExpr>> {
        if let Some(list) = &self.list {
            let is_list = |side: &Expr| side.get_type(schema).is_ok_and(|ty| ty.is_list());
            let is_item = |side: &Expr| {
                let ty = side.get_type(schema);
                ty.is_ok_and(|ty| !ty.is_list() && !ty.is_null())
                    && !(is_text_literal(side) || postgres_literals::text_of(side).is_some())
            };
            let in_list = |side: Expr| {
                let call = ScalarFunction::new_udf(Arc::clone(list), vec![side]);
                Expr::ScalarFunction(call)
            };
            if is_list(&expr.left) && is_item(&expr.right) {
                expr.right = in_list(expr.right);
            } else if is_list(&expr.right) && is_item(&expr.left) {
                expr.left = in_list(expr.left);
            }
        }
        let [left, right] = [&expr.left, &expr.right].map(|side| is_json(side, schema));
        let is_open =
            |side: &Expr| is_text_literal(side) || postgres_literals::text_of(side).is_some();
        let of_json = match (left, right) {
            (true, true) => true,
            (true, false) => is_open(&expr.right),
            (false, true) => is_open(&expr.left),
            (false, false) => false,
        };
        if of_json {
            return call(&self.concat, expr).map(PlannerResult::Planned);
        }
        let [of_left, of_right] = [&expr.left, &expr.right].map(|side| side.get_type(schema).ok());
        // A text without a type is bytes beside bytes.
        let is_bytes = |of: &Option<DataType>| of.as_ref().is_some_and(is_blob);
        if is_bytes(&of_left) && is_open(&expr.right) {
            expr.right = as_bytes(expr.right)?;
            return Ok(PlannerResult::Original(expr));
        }
        if is_bytes(&of_right) && is_open(&expr.left) {
            expr.left = as_bytes(expr.left)?;
            return Ok(PlannerResult::Original(expr));
        }
        match (of_left, of_right) {
            // NULL beside a list is a list without values.
            (Some(left), Some(right)) if left.is_list() && right.is_list() => {
                call(&self.concat_lists, expr).map(PlannerResult::Planned)
            }
            (Some(left), Some(right)) if left.is_string() && is_written(&right) => {
                expr.right = self.text_of(expr.right)?;
                Ok(PlannerResult::Original(expr))
            }
            (Some(left), Some(right)) if is_written(&left) && right.is_string() => {
                expr.left = self.text_of(expr.left)?;
                Ok(PlannerResult::Original(expr))
            }
            _ => Ok(PlannerResult::Original(expr)),
        }
    }

    /// `left << right` of whole numbers that PostgreSQL has, as a call; of others it is the operator of ours.
    pub(super) fn shifted(
        &self,
        expr: RawBinaryExpr,
        is_left: bool,
        schema: &DFSchema,
    ) -> Result<PlannerResult<RawBinaryExpr>> {
        use DataType as T;
        let [of, by] = [&expr.left, &expr.right].map(|side| side.get_type(schema).ok());
        let is_known = matches!(of, Some(T::Int16 | T::Int32 | T::Int64))
            && by.is_some_and(|by| by.is_signed_integer());
        let (function, op) = match is_left {
            true => (&self.shifted_left, BinaryOperator::PGBitwiseShiftLeft),
            false => (&self.shifted_right, BinaryOperator::PGBitwiseShiftRight),
        };
        match is_known {
            true => call(function, expr).map(PlannerResult::Planned),
            false => Ok(PlannerResult::Original(RawBinaryExpr { op, ..expr })),
        }
    }

    /// An interval that is divided by a number.
    pub(super) fn divide_intervals(
        &self,
        expr: RawBinaryExpr,
        schema: &DFSchema,
    ) -> Result<PlannerResult<RawBinaryExpr>> {
        let is_interval = matches!(expr.left.get_type(schema), Ok(DataType::Interval(_)));
        let is_number = expr.right.get_type(schema).is_ok_and(|of| of.is_numeric());
        let divides = expr.op == BinaryOperator::Divide;
        match is_interval && is_number && divides {
            true => call(&self.cut, expr).map(PlannerResult::Planned),
            false => Ok(PlannerResult::Original(expr)),
        }
    }

    /// A value as PostgreSQL writes it.
    fn text_of(&self, value: Expr) -> Result<Expr> {
        let Some(text) = &self.text else {
            return plan_err!("operator does not exist");
        };
        let call = ScalarFunction::new_udf(Arc::clone(text), vec![value]);
        Ok(Expr::ScalarFunction(call))
    }

    /// `left - right`, which takes something out of JSON.
    pub(super) fn minus(&self, expr: RawBinaryExpr) -> Result<Expr> {
        call(&self.delete, expr)
    }
}

/// Whether PostgreSQL writes values of a type otherwise than DuckDB.
fn is_written(of: &DataType) -> bool {
    of.is_floating() || is_blob(of) || matches!(of, DataType::Interval(_))
}

/// The bytes that a text without a type is.
fn as_bytes(literal: Expr) -> Result<Expr> {
    let plain = literal
        .as_literal()
        .and_then(|text| text.try_as_str().flatten());
    match plain.or_else(|| postgres_literals::text_of(&literal)) {
        Some(text) => postgres_literals::read(text, &DataType::BinaryView, false).map(lit),
        None => Ok(lit(ScalarValue::BinaryView(None))),
    }
}

/// Whether an operand is JSON.
pub(super) fn is_json(side: &Expr, schema: &DFSchema) -> bool {
    side.to_field(schema)
        .is_ok_and(|(_, field)| is_called_json(&field))
}

fn is_text_literal(side: &Expr) -> bool {
    matches!(side, Expr::Literal(value, _) if value.data_type().is_string())
}

fn call(function: &Option<Arc<ScalarUDF>>, expr: RawBinaryExpr) -> Result<Expr> {
    let Some(function) = function else {
        return plan_err!("operator does not exist");
    };
    let call = ScalarFunction::new_udf(Arc::clone(function), vec![expr.left, expr.right]);
    Ok(Expr::ScalarFunction(call))
}
