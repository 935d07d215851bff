//! Casts that Arrow does differently from DuckDB or not at all: to and from UUID and BLOB text, text to intervals, to lists
//! and structs, and rounding numbers to integers.

use super::rewrite_expressions::{rewrite_expressions, rewrite_plan};
use crate::functions::{
    BLOB_FROM_TEXT, BLOB_OR_NULL, INTERVAL_FROM_TEXT, ROUND_EVEN, TEXT_FROM_BLOB, TEXT_FROM_UUID,
    TEXT_FROM_VALUE, TRY_INTERVAL_FROM_TEXT, UUID_FROM_TEXT, UUID_OR_NULL, check_nested_cast,
    nested_cast, rounding_cast, rounds,
};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result};
use datafusion::config::ConfigOptions;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{Cast, Expr, ExprSchemable, LogicalPlan, ScalarUDF, TryCast};
use datafusion::optimizer::AnalyzerRule;
use std::collections::HashMap;
use std::sync::Arc;

/// Puts our conversion functions where a CAST needs them.
#[derive(Debug)]
pub(super) struct DuckCasts {
    functions: HashMap<String, Arc<ScalarUDF>>,
}

impl DuckCasts {
    pub(super) fn new(functions: &[Arc<ScalarUDF>]) -> Self {
        Self {
            functions: functions
                .iter()
                .map(|f| (f.name().to_string(), Arc::clone(f)))
                .collect(),
        }
    }

    fn call(&self, name: &str, arg: Expr) -> Expr {
        match self.functions.get(name) {
            Some(function) => {
                Expr::ScalarFunction(ScalarFunction::new_udf(Arc::clone(function), vec![arg]))
            }
            None => arg,
        }
    }

    /// `string_agg` of values as text, as a CAST writes them.
    fn texts(&self, mut expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
        let (name, args) = match &mut expr {
            Expr::AggregateFunction(call) => (call.func.name(), &mut call.params.args),
            Expr::WindowFunction(call) => (call.fun.name(), &mut call.params.args),
            _ => return Ok(Transformed::no(expr)),
        };
        let Some(value) = args.first_mut().filter(|_| name == "string_agg") else {
            return Ok(Transformed::no(expr));
        };
        let of = value.get_type(schema)?;
        if of.is_string() || of.is_null() {
            return Ok(Transformed::no(expr));
        }
        let cast = Cast::new(Box::new(std::mem::take(value)), DataType::Utf8View);
        *value = self.rewrite(Expr::Cast(cast), schema)?.data;
        Ok(Transformed::yes(expr))
    }

    fn rewrite(&self, expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
        let (inner, field, lenient) = match &expr {
            Expr::Cast(Cast { expr: inner, field }) => (inner, field, false),
            Expr::TryCast(TryCast { expr: inner, field }) => (inner, field, true),
            _ => return self.texts(expr, schema),
        };
        let Ok(from) = inner.get_type(schema) else {
            return Ok(Transformed::no(expr));
        };
        let to = field.data_type();
        if &from != to && (to.is_nested() || from.is_nested() && !to.is_string()) {
            check_nested_cast(&from, to)?;
            let cast = ScalarFunction::new_udf(nested_cast(to, lenient), vec![*inner.clone()]);
            return Ok(Transformed::yes(Expr::ScalarFunction(cast)));
        }
        if rounds(&from, to) || fails(inner, to) {
            let cast = ScalarFunction::new_udf(rounding_cast(to, lenient), vec![*inner.clone()]);
            return Ok(Transformed::yes(Expr::ScalarFunction(cast)));
        }
        let text =
            |t: &DataType| matches!(t, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View);
        if text(&from) && matches!(to, DataType::Interval(_)) {
            let name = match lenient {
                true => TRY_INTERVAL_FROM_TEXT,
                false => INTERVAL_FROM_TEXT,
            };
            return Ok(Transformed::yes(self.call(name, inner.as_ref().clone())));
        }
        let blob = |t: &DataType| {
            matches!(
                t,
                DataType::Binary | DataType::LargeBinary | DataType::BinaryView
            )
        };
        let uuid = |t: &DataType| matches!(t, DataType::FixedSizeBinary(16));
        if lenient && !from.is_nested() {
            let or_null = match (text(&from), uuid(to), blob(to)) {
                (true, true, _) => UUID_OR_NULL,
                (true, _, true) => BLOB_OR_NULL,
                _ if blob(&from) && text(to) => TEXT_FROM_BLOB,
                _ if uuid(&from) && text(to) => TEXT_FROM_UUID,
                _ => return Ok(Transformed::no(expr)),
            };
            return Ok(Transformed::yes(self.call(or_null, *inner.clone())));
        }
        let inner = inner.as_ref().clone();
        let rewritten = if text(&from) && uuid(to) {
            self.call(UUID_FROM_TEXT, inner)
        } else if uuid(&from) && text(to) {
            self.call(TEXT_FROM_UUID, inner)
        } else if text(&from) && blob(to) {
            self.call(BLOB_FROM_TEXT, inner)
        } else if blob(&from) && text(to) {
            self.call(TEXT_FROM_BLOB, inner)
        } else if text(to) && (from.is_floating() || from.is_temporal() || from.is_nested()) {
            self.call(TEXT_FROM_VALUE, inner)
        } else if from.is_floating() && to.is_integer() {
            let rounded = self.call(
                ROUND_EVEN,
                Expr::Cast(Cast::new(Box::new(inner), DataType::Float64)),
            );
            Expr::Cast(Cast::new_from_field(Box::new(rounded), Arc::clone(field)))
        } else {
            return Ok(Transformed::no(expr));
        };
        Ok(Transformed::yes(rewritten))
    }
}

/// Whether a number is written that does not cast: that is an error of the rows that it is for, of which there may be none.
fn fails(expr: &Expr, to: &DataType) -> bool {
    match expr {
        Expr::Literal(value, _) if value.data_type().is_numeric() && !to.is_nested() => {
            value.cast_to(to).is_err()
        }
        _ => false,
    }
}

impl AnalyzerRule for DuckCasts {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        rewrite_plan(plan, |plan| {
            rewrite_expressions(plan, |expr, schema| self.rewrite(expr, schema))
        })
    }

    fn name(&self) -> &str {
        "duck_casts"
    }
}
