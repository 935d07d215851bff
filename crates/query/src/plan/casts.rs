//! Casts that Arrow does differently from DuckDB or not at all: to and from UUID and BLOB text, text to intervals, to lists
//! and structs, and rounding numbers to integers.

use super::postgres_literals;
use super::rewrite_expressions::{rewrite_expressions, rewrite_plan};
use crate::functions::{
    BLOB_FROM_TEXT, BLOB_OR_NULL, INTERVAL_FROM_TEXT, ROUND_EVEN, ROUND_UNSIGNED, TEXT_AND_TEXT,
    TEXT_FROM_BLOB, TEXT_FROM_UUID, TEXT_FROM_VALUE, TRY_INTERVAL_FROM_TEXT, UUID_FROM_TEXT,
    UUID_OR_NULL, check_cast_of_times, check_nested_cast, has_no_whole, is_unknown_cast, json_cast,
    nested_cast, rounding_cast, rounds, unknown_cast,
};
use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::config::ConfigOptions;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{
    BinaryExpr, Cast, Expr, ExprSchemable, LogicalPlan, Operator, ScalarUDF, TryCast, Volatility,
    lit,
};
use datafusion::optimizer::AnalyzerRule;
use hushdb_sql::type_names::{is_called_json, is_enum};
use hushdb_sql::{AS_JSON, POSTGRES_TEXT, POSTGRES_WHOLE, TRY_AS_JSON};
use hushdb_storage::{BIT, TIMETZ};
use std::collections::HashMap;
use std::sync::Arc;

const CAST_TO_TYPE: &str = "cast_to_type";

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
            Expr::BinaryExpr(of) if of.op == Operator::StringConcat => {
                return Ok(self.joined(expr, schema));
            }
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

    /// `a || b || c` as one call, which asks for the memory of what it makes.
    fn joined(&self, expr: Expr, schema: &DFSchema) -> Transformed<Expr> {
        let is_call = |side: &Expr| match side {
            Expr::ScalarFunction(call) => call.func.name() == TEXT_AND_TEXT,
            _ => false,
        };
        let is_text = |side: &Expr| side.get_type(schema).is_ok_and(|of| text(&of));
        match (expr, self.functions.get(TEXT_AND_TEXT)) {
            (Expr::BinaryExpr(BinaryExpr { left, right, .. }), Some(function))
                if (is_call(&left) || is_text(&left)) && is_text(&right) =>
            {
                let mut all = match *left {
                    Expr::ScalarFunction(call) if call.func.name() == TEXT_AND_TEXT => call.args,
                    left => vec![left],
                };
                all.push(*right);
                let call = ScalarFunction::new_udf(Arc::clone(function), all);
                Transformed::yes(Expr::ScalarFunction(call))
            }
            (expr, _) => Transformed::no(expr),
        }
    }

    /// A value as JSON; what is JSON stays as it is.
    fn as_json(&self, of: &Expr, lenient: bool, schema: &DFSchema) -> Result<Transformed<Expr>> {
        let name = if lenient { TRY_AS_JSON } else { AS_JSON };
        let is_json = is_called_json(of.to_field(schema)?.1.as_ref());
        Ok(Transformed::yes(match is_json {
            true => of.clone(),
            false => self.call(name, of.clone()),
        }))
    }

    fn rewrite(&self, expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
        let (inner, field, lenient) = match &expr {
            Expr::Cast(Cast { expr: inner, field }) => (inner, field, false),
            Expr::TryCast(TryCast { expr: inner, field }) => (inner, field, true),
            Expr::ScalarFunction(call) if call.func.name() == POSTGRES_TEXT => {
                return self.of_postgres(expr, schema);
            }
            Expr::ScalarFunction(call) if call.func.name() == POSTGRES_WHOLE => {
                return Ok(whole_of_postgres(expr, schema));
            }
            Expr::ScalarFunction(call) if call.func.name() == CAST_TO_TYPE => {
                return self.to_type_of(expr, schema);
            }
            _ => return self.texts(expr, schema),
        };
        if let Some(text) = postgres_literals::text_of(inner) {
            return self.of_literal(text, field, lenient, schema);
        }
        let Ok(from) = inner.get_type(schema) else {
            return Ok(Transformed::no(expr));
        };
        let to = field.data_type();
        if is_called_json(field) {
            return self.as_json(inner, lenient, schema);
        }
        if text(&from) && !text(to) && is_called_json(inner.to_field(schema)?.1.as_ref()) {
            let cast = ScalarFunction::new_udf(json_cast(to, lenient), vec![*inner.clone()]);
            return Ok(Transformed::yes(Expr::ScalarFunction(cast)));
        }
        if let Err(refused) = check_cast_of_times(&from, to) {
            return match lenient {
                true => Ok(Transformed::yes(lit(ScalarValue::try_from(to)?))),
                false => Err(refused),
            };
        }
        if is_unknown_cast(&from, to) {
            let cast = ScalarFunction::new_udf(unknown_cast(to, lenient), vec![*inner.clone()]);
            return Ok(Transformed::yes(Expr::ScalarFunction(cast)));
        }
        if &from != to && (to.is_nested() || from.is_nested() && !to.is_string()) {
            check_nested_cast(&from, to)?;
            let cast = ScalarFunction::new_udf(nested_cast(to, lenient), vec![*inner.clone()]);
            return Ok(Transformed::yes(Expr::ScalarFunction(cast)));
        }
        // Between two numbers that are true there may be one that is not, which the library does not know of its own cast.
        if (from.is_decimal() || from.is_integer()) && to == &DataType::Boolean {
            let zero = lit(ScalarValue::new_zero(&from)?);
            return Ok(Transformed::yes(inner.as_ref().clone().not_eq(zero)));
        }
        // A BIT is written by a function that asks for memory.
        let is_written = from == BIT && text(to);
        let is_truth = from.is_floating() && to == &DataType::Boolean;
        if !is_written && rounds(&from, to) || is_truth || fails(inner, to) {
            let cast = ScalarFunction::new_udf(rounding_cast(to, lenient), vec![*inner.clone()]);
            return Ok(Transformed::yes(Expr::ScalarFunction(cast)));
        }
        if text(&from) && matches!(to, DataType::Interval(_)) {
            let name = match lenient {
                true => TRY_INTERVAL_FROM_TEXT,
                false => INTERVAL_FROM_TEXT,
            };
            return Ok(Transformed::yes(self.call(name, inner.as_ref().clone())));
        }
        let rewritten = match lenient && !from.is_nested() {
            true => self.or_null(&from, inner, field),
            false => self.or_error(&from, inner, field)?,
        };
        Ok(rewritten.map_or_else(|| Transformed::no(expr.clone()), Transformed::yes))
    }

    /// `cast_to_type(value, other)`, which the library would make its own CAST of only later.
    fn to_type_of(&self, expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
        let Expr::ScalarFunction(call) = &expr else {
            return Ok(Transformed::no(expr));
        };
        let [value, other] = call.args.as_slice() else {
            return Ok(Transformed::no(expr));
        };
        let (_, to) = other.to_field(schema)?;
        let cast = Expr::Cast(Cast::new_from_field(Box::new(value.clone()), to));
        Ok(Transformed::yes(self.rewrite(cast, schema)?.data))
    }

    /// CAST, where it is a function of ours.
    fn or_error(&self, from: &DataType, inner: &Expr, field: &FieldRef) -> Result<Option<Expr>> {
        let to = field.data_type();
        let inner = inner.clone();
        Ok(Some(if text(from) && uuid(to) {
            self.call(UUID_FROM_TEXT, inner)
        } else if uuid(from) && text(to) {
            self.call(TEXT_FROM_UUID, inner)
        } else if text(from) && is_blob(to) {
            self.call(BLOB_FROM_TEXT, inner)
        } else if is_blob(from) && text(to) {
            self.call(TEXT_FROM_BLOB, inner)
        } else if text(to) && (writes(from) || from.is_nested()) {
            self.call(TEXT_FROM_VALUE, inner)
        } else if from.is_floating() && to.is_integer() {
            self.whole(inner, field)?
        } else if !to.is_nested() && from != to && !from.is_null() && is_computed(&inner)? {
            let cast = ScalarFunction::new_udf(rounding_cast(to, false), vec![inner]);
            Expr::ScalarFunction(cast)
        } else {
            return Ok(None);
        }))
    }

    /// A cast of a float to an integer.
    fn whole(&self, float: Expr, field: &FieldRef) -> Result<Expr> {
        let to = field.data_type();
        let is_constant = is_constant(&float)?;
        let rounded = self.rounded(float, to);
        Ok(match is_constant {
            true => {
                let cast = ScalarFunction::new_udf(rounding_cast(to, false), vec![rounded]);
                Expr::ScalarFunction(cast)
            }
            false => Expr::Cast(Cast::new_from_field(Box::new(rounded), Arc::clone(field))),
        })
    }

    /// A cast to text of PostgreSQL, which is DuckDB's for values that both write alike.
    fn of_postgres(&self, expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
        let Expr::ScalarFunction(call) = &expr else {
            return Ok(Transformed::no(expr));
        };
        let [value] = call.args.as_slice() else {
            return Ok(Transformed::no(expr));
        };
        let of = value.get_type(schema)?;
        let differs = of.is_floating() || of.is_decimal() || is_blob(&of) || of.is_list();
        let is_record = matches!(of, DataType::Struct(_)) && !is_enum(&of);
        if differs || is_record || matches!(of, DataType::Interval(_)) {
            return Ok(Transformed::no(expr));
        }
        let cast = Cast::new(Box::new(value.clone()), DataType::Utf8View);
        Ok(Transformed::yes(
            self.rewrite(Expr::Cast(cast), schema)?.data,
        ))
    }

    /// A cast of a text that the type it is cast to reads in its own way.
    fn of_literal(
        &self,
        text: &str,
        field: &FieldRef,
        lenient: bool,
        schema: &DFSchema,
    ) -> Result<Transformed<Expr>> {
        let read = postgres_literals::read(text, field.data_type(), lenient)?;
        let read = Box::new(lit(read));
        let cast = match lenient {
            true => Expr::TryCast(TryCast::new_from_field(read, Arc::clone(field))),
            false => Expr::Cast(Cast::new_from_field(read, Arc::clone(field))),
        };
        Ok(Transformed::yes(self.rewrite(cast, schema)?.data))
    }

    /// TRY_CAST, where it is a function of ours.
    fn or_null(&self, from: &DataType, inner: &Expr, field: &FieldRef) -> Option<Expr> {
        let to = field.data_type();
        let function = match (text(from), uuid(to), is_blob(to)) {
            (true, true, _) => UUID_OR_NULL,
            (true, _, true) => BLOB_OR_NULL,
            _ if is_blob(from) && text(to) => TEXT_FROM_BLOB,
            _ if uuid(from) && text(to) => TEXT_FROM_UUID,
            _ if text(to) && writes(from) => TEXT_FROM_VALUE,
            _ if from.is_floating() && to.is_integer() => {
                let rounded = Box::new(self.rounded(inner.clone(), to));
                let cast = TryCast::new_from_field(rounded, Arc::clone(field));
                return Some(Expr::TryCast(cast));
            }
            _ => return None,
        };
        Some(self.call(function, inner.clone()))
    }

    /// A float as a whole number for an integer of that type, still a float.
    fn rounded(&self, float: Expr, to: &DataType) -> Expr {
        let double = Expr::Cast(Cast::new(Box::new(float), DataType::Float64));
        let name = match to.is_unsigned_integer() {
            true => ROUND_UNSIGNED,
            false => ROUND_EVEN,
        };
        self.call(name, double)
    }
}

/// What looks at a text that becomes a whole number, which is the value itself where it is no text, or JSON.
fn whole_of_postgres(mut expr: Expr, schema: &DFSchema) -> Transformed<Expr> {
    let Expr::ScalarFunction(call) = &mut expr else {
        return Transformed::no(expr);
    };
    let [value] = call.args.as_mut_slice() else {
        return Transformed::no(expr);
    };
    let is_text = match value.to_field(schema) {
        Ok((_, field)) => text(field.data_type()) && !is_called_json(&field),
        Err(_) => true,
    };
    match is_text {
        true => Transformed::no(expr),
        false => Transformed::yes(std::mem::take(value)),
    }
}

fn text(ty: &DataType) -> bool {
    matches!(
        ty,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View
    )
}

/// Whether values of a type are bytes of any number.
pub(super) fn is_blob(ty: &DataType) -> bool {
    matches!(ty, DataType::Binary | DataType::BinaryView)
}

fn uuid(ty: &DataType) -> bool {
    matches!(ty, DataType::FixedSizeBinary(16))
}

/// Whether values of a type are written otherwise than by Arrow.
fn writes(from: &DataType) -> bool {
    from.is_floating() || from.is_temporal() || has_no_whole(from) || [TIMETZ, BIT].contains(from)
}

/// Whether a value is written that does not cast: that is an error of the rows that it is for, of which there may be none.
fn fails(expr: &Expr, to: &DataType) -> bool {
    let casts = |from: &DataType| {
        from.is_numeric()
            || from.is_temporal()
            || from.is_string() && (to.is_floating() || to == &DataType::Boolean || is_time(to))
    };
    match expr {
        Expr::Literal(value, _) if casts(&value.data_type()) && !to.is_nested() => {
            value.cast_to(to).is_err()
        }
        _ => false,
    }
}

fn is_time(ty: &DataType) -> bool {
    matches!(ty, DataType::Time32(_) | DataType::Time64(_))
}

/// Whether an expression is the same for all rows, but not as it is written: what the planner computes must not fail either.
fn is_computed(expr: &Expr) -> Result<bool> {
    Ok(!matches!(expr, Expr::Literal(..)) && is_constant(expr)?)
}

/// Whether an expression is the same for all rows.
fn is_constant(expr: &Expr) -> Result<bool> {
    let varies = expr.exists(|part| {
        Ok(match part {
            Expr::Column(_)
            | Expr::OuterReferenceColumn(..)
            | Expr::Placeholder(_)
            | Expr::ScalarSubquery(_)
            | Expr::InSubquery(_)
            | Expr::Exists(_)
            | Expr::AggregateFunction(_)
            | Expr::WindowFunction(_) => true,
            Expr::ScalarFunction(call) => call.func.signature().volatility == Volatility::Volatile,
            _ => false,
        })
    });
    varies.map(|varies| !varies)
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
