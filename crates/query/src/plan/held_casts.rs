//! Casts after which not every value is there, as functions of ours: BIGINT to INTEGER, a DECIMAL of fewer digits, a finer TIMESTAMP; and
//! all between dates and timestamps, whose infinite values Arrow does not know.
//!
//! What must hold: DataFusion compares what is below a cast with the constant on its other side, in plans, in scans and where row groups
//! are skipped: `TRY_CAST(c AS UINTEGER) <> 1` was `c <> 1`, true for -1, and a TIMESTAMP_S was compared with a timestamp that was cut to
//! its second. What is left as a cast of its own has another value of the new type for each that the old one has.

use super::rewrite_expressions::rewrite_expressions;
use crate::common_types::has_json_within;
use crate::common_types::number_kind::is_huge;
use crate::functions::{
    is_of_moments, is_unknown_cast, nested_cast, rounding_cast, rounds, unknown_cast,
};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result};
use datafusion::config::ConfigOptions;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{Cast, Expr, ExprSchemable, LogicalPlan, TryCast};
use datafusion::optimizer::AnalyzerRule;
use hushdb_storage::HUGEINT;

/// The rule, of casts that are written and of those that comparisons were given; see the module.
#[derive(Debug)]
pub(super) struct HeldCasts;

impl AnalyzerRule for HeldCasts {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        let rewritten = plan.transform_up_with_subqueries(|plan| rewrite_expressions(plan, held));
        rewritten.map(|rewritten| rewritten.data)
    }

    fn name(&self) -> &'static str {
        "held_casts"
    }
}

fn held(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let (inner, to, lenient) = match &expr {
        Expr::Cast(Cast { expr: inner, field }) => (inner, field.data_type(), false),
        Expr::TryCast(TryCast { expr: inner, field }) => (inner, field.data_type(), true),
        _ => return Ok(Transformed::no(expr)),
    };
    let from = inner.get_type(schema)?;
    // A comparison, CASE or call gave it to values that have nothing in common.
    if is_unknown_cast(&from, to) {
        let cast = ScalarFunction::new_udf(unknown_cast(to, lenient), vec![inner.as_ref().clone()]);
        return Ok(Transformed::yes(Expr::ScalarFunction(cast)));
    }
    // What becomes JSON is looked at.
    if from != *to && has_json_within(to) {
        let cast = ScalarFunction::new_udf(nested_cast(to, lenient), vec![inner.as_ref().clone()]);
        return Ok(Transformed::yes(Expr::ScalarFunction(cast)));
    }
    // A text that something gave a type is read as a CAST reads it.
    if from.is_string() && rounds(&from, to) {
        let cast =
            ScalarFunction::new_udf(rounding_cast(to, lenient), vec![inner.as_ref().clone()]);
        return Ok(Transformed::yes(Expr::ScalarFunction(cast)));
    }
    // Of numbers that are written there is nothing to be lost unseen.
    let is_known = matches!(inner.as_ref(), Expr::Literal(..)) && !is_of_moments(&from, to);
    if is_known || !loses(&from, to) {
        return Ok(Transformed::no(expr));
    }
    let function = rounding_cast(to, lenient);
    let inner = inner.as_ref().clone();
    let cast = ScalarFunction::new_udf(function, vec![inner]);
    Ok(Transformed::yes(Expr::ScalarFunction(cast)))
}

/// Whether a value of the one type may have none of the other, of types that DataFusion compares without their casts.
fn loses(from: &DataType, to: &DataType) -> bool {
    is_of_moments(from, to)
        || huge_loses(from, to)
        || match (range(from), range(to)) {
            (Some(from), Some(to)) => !from.is_within(&to),
            _ => false,
        }
}

/// Whether a value of the one type may have none of the other, of which one is HUGEINT or UHUGEINT.
fn huge_loses(from: &DataType, to: &DataType) -> bool {
    if !is_huge(from) && !is_huge(to) || from == to || from.is_null() {
        return false;
    }
    let fits = from.is_unsigned_integer() || from.is_integer() && *to == HUGEINT;
    !fits && !to.is_string()
}

/// The numbers that a type has: digits behind the point, and the ends, in units of the last of these.
struct Range {
    scale: i8,
    least: i128,
    most: i128,
}

impl Range {
    fn is_within(&self, other: &Self) -> bool {
        let up = other.scale.checked_sub(self.scale);
        let Some(up) = up.and_then(|up| u32::try_from(up).ok()) else {
            return false;
        };
        let up = |end: i128| 10_i128.checked_pow(up).and_then(|by| end.checked_mul(by));
        let fits = |end| up(end).is_some_and(|end| other.least <= end && end <= other.most);
        fits(self.least) && fits(self.most)
    }
}

fn range(ty: &DataType) -> Option<Range> {
    use DataType as T;
    let whole = |least, most| Range {
        scale: 0,
        least,
        most,
    };
    Some(match ty {
        T::Int8 => whole(i8::MIN.into(), i8::MAX.into()),
        T::Int16 => whole(i16::MIN.into(), i16::MAX.into()),
        T::Int32 => whole(i32::MIN.into(), i32::MAX.into()),
        T::Int64 => whole(i64::MIN.into(), i64::MAX.into()),
        T::UInt8 => whole(0, u8::MAX.into()),
        T::UInt16 => whole(0, u16::MAX.into()),
        T::UInt32 => whole(0, u32::MAX.into()),
        T::UInt64 => whole(0, u64::MAX.into()),
        T::Decimal32(digits, scale)
        | T::Decimal64(digits, scale)
        | T::Decimal128(digits, scale) => {
            let most = 10_i128.checked_pow((*digits).into())? - 1;
            Range {
                scale: *scale,
                least: -most,
                most,
            }
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::datatypes::TimeUnit;
    use hushdb_storage::UHUGEINT;

    #[test]
    fn casts_that_keep_all_values_are_told_from_others() {
        use DataType as T;
        let timestamp = |unit| T::Timestamp(unit, None);
        for (from, to, wanted) in [
            (T::Int64, T::Int64, false),
            (T::Int32, T::Int64, false),
            (T::UInt32, T::Int64, false),
            (T::Int64, T::Int32, true),
            (T::Int64, T::UInt64, true),
            (T::UInt64, T::Int64, true),
            (T::Int64, T::Decimal128(19, 0), false),
            (T::Int64, T::Decimal128(20, 2), true),
            (T::UInt64, T::Decimal128(20, 0), false),
            (T::Decimal128(38, 0), T::Decimal128(38, 1), true),
            (T::Decimal32(9, 2), T::Decimal64(12, 4), false),
            (T::Decimal32(9, 2), T::Decimal64(10, 4), true),
            (T::Decimal64(10, 2), T::Decimal64(10, 1), true),
            (T::Decimal32(4, 0), T::Int16, false),
            (T::Decimal32(5, 0), T::Int16, true),
            (
                timestamp(TimeUnit::Second),
                timestamp(TimeUnit::Second),
                false,
            ),
            (
                timestamp(TimeUnit::Second),
                timestamp(TimeUnit::Microsecond),
                true,
            ),
            (T::Date32, timestamp(TimeUnit::Microsecond), true),
            (T::Utf8View, T::Int64, false),
            (T::Int64, HUGEINT, false),
            (T::Int64, UHUGEINT, true),
            (T::UInt64, UHUGEINT, false),
            (HUGEINT, T::Int64, true),
            (HUGEINT, UHUGEINT, true),
            (T::Decimal128(38, 0), HUGEINT, true),
        ] {
            assert_eq!(loses(&from, &to), wanted, "{from} to {to}");
        }
    }
}
