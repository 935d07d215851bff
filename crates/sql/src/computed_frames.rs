//! `ROWS BETWEEN a PRECEDING AND b FOLLOWING` of what is computed for each row, and GROUPS likewise: the planner knows constants alone, so
//! the ends of the frame stand in a mark in PARTITION BY, where the planner's rules find them again.
//!
//! What must hold: frames of constants, and those of RANGE, stay as they are.

use crate::calls::quoted_call;
use crate::error::{Error, Result};
use crate::marks::FRAME;
use crate::template::template;
use sqlparser::ast::{Expr, Value, WindowFrame, WindowFrameBound, WindowFrameUnits, WindowSpec};

/// Takes a frame whose ends are computed out of a window, and puts a mark into it.
pub(super) fn mark(window: &mut WindowSpec) -> Result<()> {
    let Some(frame) = &window.window_frame else {
        return Ok(());
    };
    let units = match frame.units {
        WindowFrameUnits::Rows => "rows",
        WindowFrameUnits::Groups => "groups",
        WindowFrameUnits::Range => return Ok(()),
    };
    let end = frame.end_bound.as_ref();
    let end = end.unwrap_or(&WindowFrameBound::CurrentRow);
    if !is_computed(&frame.start_bound) && !is_computed(end) {
        return Ok(());
    }
    if matches!(units, "groups") && window.order_by.is_empty() {
        return Err(Error::parser("GROUPS frames require an ORDER BY clause"));
    }
    let [(begins, from), (ends, to)] = [bound(&frame.start_bound)?, bound(end)?];
    if let ("following", "preceding" | "current") | ("current", "preceding") = (begins, ends) {
        return Err(Error::parser(format!(
            "frame starting from {begins} row cannot have preceding rows"
        )));
    }
    let text = |text: &str| Expr::value(Value::SingleQuotedString(text.to_owned()));
    let mark = vec![text(units), text(begins), from, text(ends), to];
    window.partition_by.push(quoted_call(FRAME, mark));
    window.window_frame = Some(WindowFrame {
        units: WindowFrameUnits::Rows,
        start_bound: WindowFrameBound::Preceding(None),
        end_bound: Some(WindowFrameBound::Following(None)),
    });
    Ok(())
}

fn is_computed(bound: &WindowFrameBound) -> bool {
    let is_constant = |far: &Expr| match far {
        Expr::Value(far) => matches!(far.value, Value::Number(..)),
        Expr::Interval(_) => true,
        _ => false,
    };
    match bound {
        WindowFrameBound::CurrentRow => false,
        WindowFrameBound::Preceding(far) | WindowFrameBound::Following(far) => {
            far.as_ref().is_some_and(|far| !is_constant(far))
        }
    }
}

/// Which end it is, and how far from the row.
fn bound(bound: &WindowFrameBound) -> Result<(&'static str, Expr)> {
    let (end, far) = match bound {
        WindowFrameBound::CurrentRow => ("current", None),
        WindowFrameBound::Preceding(None) => ("first", None),
        WindowFrameBound::Following(None) => ("last", None),
        WindowFrameBound::Preceding(Some(far)) => ("preceding", Some(far)),
        WindowFrameBound::Following(Some(far)) => ("following", Some(far)),
    };
    let far = match far {
        Some(far) => template("CAST($1 AS BIGINT)", std::slice::from_ref(far.as_ref()))?,
        None => template("CAST(0 AS BIGINT)", &[])?,
    };
    Ok((end, far))
}
