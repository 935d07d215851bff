//! `ROWS BETWEEN a PRECEDING AND b FOLLOWING` of what is computed for each row, and GROUPS and RANGE likewise: the planner knows constants
//! alone, so the ends of the frame stand in a mark in PARTITION BY, where the planner's rules find them again.
//!
//! What must hold: frames of constants stay as they are.

use crate::calls::quoted_call;
use crate::error::{Error, Result};
use crate::marks::FRAME;
use crate::template::template;
use sqlparser::ast::{
    Expr, OrderByExpr, OrderByOptions, Value, WindowFrame, WindowFrameBound, WindowFrameUnits,
    WindowSpec,
};

/// Takes a frame whose ends are computed out of a window, and puts a mark into it.
pub(super) fn mark(window: &mut WindowSpec) -> Result<()> {
    let Some(frame) = &window.window_frame else {
        return Ok(());
    };
    if frame.units == WindowFrameUnits::Groups && window.order_by.is_empty() {
        // All rows are one group.
        window.order_by.push(OrderByExpr {
            expr: Expr::value(Value::Null),
            options: OrderByOptions::default(),
            with_fill: None,
        });
    }
    let units = match frame.units {
        WindowFrameUnits::Rows => "rows",
        WindowFrameUnits::Groups => "groups",
        WindowFrameUnits::Range => "range",
    };
    let end = frame.end_bound.as_ref();
    let end = end.unwrap_or(&WindowFrameBound::CurrentRow);
    refuse_backwards(&frame.start_bound, end)?;
    if !is_computed(&frame.start_bound, frame.units) && !is_computed(end, frame.units) {
        return Ok(());
    }
    let [(begins, from), (ends, to)] = [bound(&frame.start_bound), bound(end)];
    let text = |text: &str| Expr::value(Value::SingleQuotedString(text.to_owned()));
    let mut mark = vec![text(units), text(begins), text(ends)];
    mark.extend(match frame.units {
        WindowFrameUnits::Range => values([(begins, from), (ends, to)], &window.order_by)?,
        WindowFrameUnits::Rows | WindowFrameUnits::Groups => distances([from, to])?,
    });
    window.partition_by.push(quoted_call(FRAME, mark));
    window.window_frame = Some(WindowFrame {
        units: WindowFrameUnits::Rows,
        start_bound: WindowFrameBound::Preceding(None),
        end_bound: Some(WindowFrameBound::Following(None)),
    });
    Ok(())
}

/// # Errors
/// `Parser` for frames that end before they begin, whatever the distances are.
fn refuse_backwards(start: &WindowFrameBound, end: &WindowFrameBound) -> Result<()> {
    let backwards = match [bound(start).0, bound(end).0] {
        ["last", _] => "frame start cannot be UNBOUNDED FOLLOWING".into(),
        [_, "first"] => "frame end cannot be UNBOUNDED PRECEDING".into(),
        [begins @ "following", "preceding" | "current"] | [begins @ "current", "preceding"] => {
            format!("frame starting from {begins} row cannot have preceding rows")
        }
        _ => return Ok(()),
    };
    Err(Error::parser(backwards))
}

fn is_computed(bound: &WindowFrameBound, units: WindowFrameUnits) -> bool {
    let is_number = |far: &Value| match far {
        Value::Number(number, _) => {
            units == WindowFrameUnits::Range || number.bytes().all(|byte| byte.is_ascii_digit())
        }
        _ => false,
    };
    let is_constant = |far: &Expr| match far {
        Expr::Interval(interval) => matches!(interval.value.as_ref(), Expr::Value(_)),
        Expr::Value(far) => is_number(&far.value),
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
fn bound(bound: &WindowFrameBound) -> (&'static str, Option<&Expr>) {
    match bound {
        WindowFrameBound::CurrentRow => ("current", None),
        WindowFrameBound::Preceding(None) => ("first", None),
        WindowFrameBound::Following(None) => ("last", None),
        WindowFrameBound::Preceding(Some(far)) => ("preceding", Some(far.as_ref())),
        WindowFrameBound::Following(Some(far)) => ("following", Some(far.as_ref())),
    }
}

/// How many rows or groups the ends are from the row.
fn distances(ends: [Option<&Expr>; 2]) -> Result<Vec<Expr>> {
    let far = ends.map(|far| match far {
        Some(far) => template("CAST($1 AS BIGINT)", std::slice::from_ref(far)),
        None => template("CAST(0 AS BIGINT)", &[]),
    });
    far.into_iter().collect()
}

/// The values at which the ends are, and that of the row, all of one type.
fn values(
    [(begins, from), (ends, to)]: [(&str, Option<&Expr>); 2],
    order: &[OrderByExpr],
) -> Result<Vec<Expr>> {
    let [by] = order else {
        return Err(Error::binder(
            "RANGE frames must have only one ORDER BY expression",
        ));
    };
    let falls = by.options.asc == Some(false);
    let value = |far: Option<&Expr>, is_before: bool| {
        let text = match (far, is_before == falls) {
            (None, _) => "$1",
            (Some(_), true) => "$1 + $2",
            (Some(_), false) => "$1 - $2",
        };
        let far = far.unwrap_or(&by.expr);
        template(text, &[by.expr.clone(), far.clone()])
    };
    let (from, to) = (
        value(from, begins == "preceding")?,
        value(to, ends == "preceding")?,
    );
    let key = by.expr.clone();
    // A CASE has one type.
    let text = "CASE WHEN FALSE THEN $1 WHEN FALSE THEN $2 ELSE $3 END";
    let of_one_type = [[&to, &key, &from], [&from, &key, &to], [&from, &to, &key]];
    let of_one_type = of_one_type.map(|parts| template(text, &parts.map(Expr::clone)));
    of_one_type.into_iter().collect()
}
