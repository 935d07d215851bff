//! `EXCLUDE` of frames, and frames whose ends are computed: where a window has a mark of it, or its ends depend on the calendar, its function
//! becomes one that knows what its frames are. So do `lag`, `lead`, `nth_value` and `ntile` of a computed number, and `lead` that passes over NULLs.
//!
//! What must hold: it comes behind all rules that change what aggregates are, or the types of their arguments.

use super::operators::cast;
use super::ranges_of_times;
use super::rewrite_expressions::rewrite_expressions;
use crate::functions::{
    Excluded, Frame, FrameEnd, FrameUnits, ROUNDING_CAST, excluding, of_computed,
};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result, ScalarValue, plan_err};
use datafusion::config::ConfigOptions;
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::logical_expr::expr::{NullTreatment, Sort, WindowFunction};
use datafusion::logical_expr::{
    Cast, Expr, LogicalPlan, WindowFrame, WindowFrameBound, WindowFrameUnits,
};
use datafusion::optimizer::AnalyzerRule;
use hushdb_sql::{EXCLUDE, FRAME};
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

    fn without_mark(&self, expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
        let Expr::WindowFunction(mut window) = expr else {
            return Ok(Transformed::no(expr));
        };
        let params = &mut window.params;
        let mut take = |name| {
            let marks = params.partition_by.extract_if(.., |by| is_mark(by, name));
            marks.last()
        };
        let (without, frame) = (take(EXCLUDE), take(FRAME));
        let frame = match frame {
            Some(mark) => Some(computed_frame(mark, &params.order_by)?),
            None => ranges_of_times::of_calendar(params, schema)?,
        };
        if without.is_none() && frame.is_none() {
            return Ok(self.of_computed_number(window));
        }
        let without = match &without {
            Some(mark) => excluded(mark)?,
            None => Excluded::Nothing,
        };
        let (frame, ends) = frame.unzip();
        if frame.is_some() {
            params.window_frame = all_rows();
        }
        let function = excluding(
            &window.fun,
            (without, frame),
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
            params.args.extend(ends.into_iter().flatten());
        }
        Ok(Transformed::yes(Expr::WindowFunction(window)))
    }

    /// `lag(x, n)` where `n` is no constant, or NULL: there is no such row then, whether NULLs are passed over or not. And `nth_value(x, n)` and
    /// `ntile(n)`, of which the library takes a constant from 1 alone.
    fn of_computed_number(&self, mut window: Box<WindowFunction>) -> Transformed<Expr> {
        let passes_nulls = window.params.null_treatment == Some(NullTreatment::IgnoreNulls);
        let name = window.fun.name().to_owned();
        let args = &mut window.params.args;
        let number = match name.as_str() {
            "lag" | "lead" => args.get_mut(1).filter(|far| {
                is_unknown(far) != Some(false) || passes_nulls && reaches_behind(&name, far)
            }),
            "nth_value" => args.get_mut(1).filter(|number| !counts(number)),
            "ntile" => args.first_mut().filter(|number| !counts(number)),
            _ => None,
        };
        let Some(number) = number else {
            return Transformed::no(Expr::WindowFunction(window));
        };
        *number = cast(std::mem::take(number), DataType::Int64);
        if let Some(function) = of_computed(&name, &self.memory) {
            window.fun = function;
        }
        Transformed::yes(Expr::WindowFunction(window))
    }
}

/// Whether a number is written that counts something from 1.
fn counts(number: &Expr) -> bool {
    whole(number).is_some_and(|number| number > 0)
}

/// A whole number that is written.
fn whole(number: &Expr) -> Option<i64> {
    let number = number.as_literal();
    let whole = number.filter(|number| number.data_type().is_integer());
    match whole.and_then(|number| number.cast_to(&DataType::Int64).ok()) {
        Some(ScalarValue::Int64(number)) => number,
        _ => None,
    }
}

/// Whether a row may be meant that comes more than one behind: where NULLs are passed over, the library's count of those rows is lost at a
/// NULL that comes after what it has looked at.
fn reaches_behind(name: &str, far: &Expr) -> bool {
    match name {
        "lag" => !counts(far),
        _ => whole(far) != Some(1),
    }
}

impl AnalyzerRule for ExcludedRows {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        let rewritten = plan.transform_up_with_subqueries(|plan| {
            rewrite_expressions(plan, |expr, schema| self.without_mark(expr, schema))
        });
        rewritten.map(|rewritten| rewritten.data)
    }

    fn name(&self) -> &'static str {
        "excluded_rows"
    }
}

/// The rows of a partition, of which a function with frames of its own is given all.
fn all_rows() -> WindowFrame {
    let (first, last) = (ScalarValue::UInt64(None), ScalarValue::UInt64(None));
    WindowFrame::new_bounds(
        WindowFrameUnits::Rows,
        WindowFrameBound::Preceding(first),
        WindowFrameBound::Following(last),
    )
}

fn is_mark(expr: &Expr, name: &str) -> bool {
    matches!(expr, Expr::ScalarFunction(call) if call.name() == name)
}

/// Whether a distance that is written is NULL, which the library takes for none; `None` for one that is computed.
fn is_unknown(far: &Expr) -> Option<bool> {
    match far {
        Expr::Literal(far, _) => Some(far.is_null()),
        Expr::Cast(Cast { expr, .. }) | Expr::Negative(expr) => is_unknown(expr),
        Expr::ScalarFunction(call) if call.name() == ROUNDING_CAST => {
            is_unknown(call.args.first()?)
        }
        _ => None,
    }
}

/// The frame that a mark says, and how far its ends are, or at which values, and the value of the row.
fn computed_frame(mark: Expr, order: &[Sort]) -> Result<(Frame, Vec<Expr>)> {
    let mut args = match mark {
        Expr::ScalarFunction(call) => call.args,
        _ => vec![],
    };
    let ends = args.split_off(args.len().min(3));
    let [units, begins, to] = args.as_slice() else {
        return plan_err!("a frame has two ends");
    };
    let units = match (text(units), order) {
        (Some("rows"), _) => FrameUnits::Rows,
        (Some("groups"), _) => FrameUnits::Groups,
        (Some("range"), [by]) => FrameUnits::Values {
            falls: !by.asc,
            nulls_first: by.nulls_first,
        },
        _ => return plan_err!("a frame is of rows, groups or values of one ORDER BY"),
    };
    let end = |end: &Expr| text(end).and_then(FrameEnd::named);
    match (end(begins), end(to)) {
        (Some(begins), Some(to)) => {
            let frame = Frame {
                units,
                ends: [begins, to],
            };
            Ok((frame, ends))
        }
        _ => plan_err!("a frame begins and ends somewhere"),
    }
}

fn text(expr: &Expr) -> Option<&str> {
    expr.as_literal()
        .and_then(|text| text.try_as_str().flatten())
}

fn excluded(mark: &Expr) -> Result<Excluded> {
    let text = match mark {
        Expr::ScalarFunction(call) => call.args.first().and_then(self::text),
        _ => None,
    };
    match text {
        Some("current row") => Ok(Excluded::Row),
        Some("group") => Ok(Excluded::Group),
        Some("ties") => Ok(Excluded::Ties),
        _ => plan_err!("EXCLUDE takes CURRENT ROW, GROUP, TIES or NO OTHERS"),
    }
}
