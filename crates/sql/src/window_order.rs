//! ORDER BY among the arguments of an aggregate over a window, which the planner has not: `list(x ORDER BY y) OVER w` becomes the
//! list of all pairs in the frame, sorted by a function of ours.
//!
//! What must hold: FILTER, DISTINCT and the window stay with the aggregate, whose rows they choose.

use super::calls::{all_unnamed, quoted_call};
use super::parser::RANKS;
use super::template::template;
use crate::error::{Error, Result};
use crate::walk::visit_mut;
use sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentClause, FunctionArguments, Ident,
    ObjectName, OrderByExpr, Value, VisitorMut, WindowType,
};
use std::ops::ControlFlow;

/// `$in_order(list, flags)`: the last fields of a list of structs, sorted by the others. A key has two letters: `a` or `d` for up and
/// down, and `f` or `l` for where NULL is.
pub const IN_ORDER: &str = "$in_order";

/// `fill(x) OVER (ORDER BY y)`, which has `y` for an argument.
pub const FILL: &str = "$fill";

/// `rank(ORDER BY x) OVER (PARTITION BY g)` is `rank() OVER (PARTITION BY g ORDER BY x)`.
pub(super) fn rank_by_own_order(function: &mut Function) -> Result<()> {
    let called = function.name.to_string();
    let FunctionArguments::List(list) = &mut function.args else {
        return Ok(());
    };
    let is_order =
        |clause: &FunctionArgumentClause| matches!(clause, FunctionArgumentClause::OrderBy(_));
    let is_rank = RANKS.iter().any(|rank| called.eq_ignore_ascii_case(rank));
    if !is_rank || !list.clauses.iter().any(is_order) {
        return Ok(());
    }
    // What `parser/ranks.rs` has put there.
    list.args.retain(|arg| !is_null(arg));
    by_own_order(function).map(drop)
}

fn is_null(arg: &FunctionArg) -> bool {
    matches!(arg, FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Value(value))) if value.value == Value::Null)
}

/// Gives `fill` what its rows are sorted by as an argument.
pub(super) fn with_key(function: &mut Function) -> Result<()> {
    let is_fill = function.name.to_string().eq_ignore_ascii_case("fill");
    let Some(WindowType::WindowSpec(window)) = &mut function.over else {
        return Ok(());
    };
    let FunctionArguments::List(list) = &mut function.args else {
        return Ok(());
    };
    if !is_fill {
        return Ok(());
    }
    if function.filter.is_some() || list.duplicate_treatment.is_some() {
        let what = "FILTER and DISTINCT are not implemented for non-aggregate window functions!";
        return Err(Error::parser(what));
    }
    for clause in list.clauses.drain(..) {
        if let FunctionArgumentClause::OrderBy(own) = clause {
            window.order_by = own;
        }
    }
    let [key] = window.order_by.as_slice() else {
        let what = "FILL functions must have only one ORDER BY expression";
        return Err(Error::binder(what));
    };
    if list.args.len() != 1 {
        let what = "Incorrect number of parameters for function fill";
        return Err(Error::parser(what));
    }
    let key = FunctionArgExpr::Expr(key.expr.clone());
    list.args.push(FunctionArg::Unnamed(key));
    window.window_frame = None;
    function.null_treatment = None;
    function.name = ObjectName::from(vec![Ident::with_quote('"', FILL)]);
    Ok(())
}

/// Brings such aggregates in an expression to functions of lists. `nulls` is where NULL is sorted unless the text says.
pub(super) fn apply(expr: &mut Expr, nulls: &str) -> Result<()> {
    let mut failed = Ok(());
    let _ = visit_mut(
        expr,
        &mut Ordering {
            nulls,
            failed: &mut failed,
        },
    );
    failed
}

struct Ordering<'a> {
    nulls: &'a str,
    failed: &'a mut Result<()>,
}

impl VisitorMut for Ordering<'_> {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        let Expr::Function(function) = expr else {
            return ControlFlow::Continue(());
        };
        match over_frames(function, self.nulls) {
            Ok(None) => {}
            Ok(Some(sorted)) => *expr = sorted,
            Err(error) => {
                *self.failed = Err(error);
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    }
}

fn over_frames(function: &mut Function, nulls: &str) -> Result<Option<Expr>> {
    let FunctionArguments::List(list) = &mut function.args else {
        return Ok(None);
    };
    let is_order =
        |clause: &FunctionArgumentClause| matches!(clause, FunctionArgumentClause::OrderBy(_));
    let Some(at) = list.clauses.iter().position(is_order) else {
        return Ok(None);
    };
    let called = function.name.to_string().to_lowercase();
    if matches!(called.as_str(), "lag" | "lead") {
        return by_own_order(function);
    }
    let (taken, known_alone, most) = match called.as_str() {
        "array_agg" | "list" => ("$1", false, 1),
        "first_value" => ("($1)[1]", false, 1),
        "last_value" => ("($1)[-1]", false, 1),
        "nth_value" => ("($1)[$2]", false, 2),
        "string_agg" => ("array_to_string($1, $2)", true, 2),
        _ => return Ok(None),
    };
    let values: Vec<Expr> = all_unnamed(&list.args).unwrap_or_default();
    let Some(value) = values.first().filter(|_| function.over.is_some()) else {
        return Ok(None);
    };
    if values.len() > most {
        return Err(Error::binder(format!(
            "No function matches the given name and argument types: {called} takes {most}, and here are {}",
            values.len()
        )));
    }
    let FunctionArgumentClause::OrderBy(order) = list.clauses.remove(at) else {
        return Ok(None);
    };
    let (mut fields, mut flags) = (vec![], String::new());
    for (n, key) in order.into_iter().enumerate() {
        flags.push_str(&directions(&key, nulls));
        fields.extend([text(&format!("k{n}")), key.expr]);
    }
    if known_alone {
        let own = function.filter.take().map(|filter| *filter);
        let known = template("($1 IS NOT NULL)", std::slice::from_ref(value))?;
        function.filter = Some(Box::new(match own {
            Some(own) => template("($1 AND $2)", &[own, known])?,
            None => known,
        }));
    }
    fields.extend([text("v"), value.clone()]);
    let pairs = quoted_call("named_struct", fields);
    list.args = vec![FunctionArg::Unnamed(FunctionArgExpr::Expr(pairs))];
    function.name = ObjectName::from(vec![Ident::new("array_agg")]);
    let all = Expr::Function(function.clone());
    let sorted = quoted_call(IN_ORDER, vec![all, text(&flags)]);
    let separator = values.get(1).cloned().unwrap_or_else(|| text(","));
    template(taken, &[sorted, separator]).map(Some)
}

/// `lag(x ORDER BY y) OVER (PARTITION BY g)`: the window's rows are in the arguments' order.
fn by_own_order(function: &mut Function) -> Result<Option<Expr>> {
    let called = function.name.to_string();
    let (FunctionArguments::List(list), Some(WindowType::WindowSpec(window))) =
        (&mut function.args, &mut function.over)
    else {
        return Ok(None);
    };
    if !window.order_by.is_empty() || window.window_frame.is_some() {
        return Err(Error::unsupported(format!(
            "ORDER BY among the arguments of {called} beside an order or a frame of its window is not there yet"
        )));
    }
    for clause in std::mem::take(&mut list.clauses) {
        match clause {
            FunctionArgumentClause::OrderBy(order) => window.order_by = order,
            other => list.clauses.push(other),
        }
    }
    Ok(Some(Expr::Function(function.clone())))
}

fn text(text: &str) -> Expr {
    Expr::Value(Value::SingleQuotedString(text.to_owned()).into())
}

/// The letters of a key.
fn directions(key: &OrderByExpr, nulls: &str) -> String {
    let ascends = key.options.asc.unwrap_or(true);
    let nulls_first =
        key.options
            .nulls_first
            .unwrap_or_else(|| match nulls.to_ascii_uppercase().as_str() {
                "NULLS_FIRST" => true,
                "NULLS_FIRST_ON_ASC_LAST_ON_DESC" => ascends,
                "NULLS_LAST_ON_ASC_FIRST_ON_DESC" => !ascends,
                _ => false,
            });
    let direction = if ascends { "a" } else { "d" };
    let nulls = if nulls_first { "f" } else { "l" };
    format!("{direction}{nulls}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse_expr;

    #[test]
    fn an_order_within_a_window_sorts_the_list_of_its_frame() {
        for (given, expected) in [
            (
                "array_agg(x ORDER BY y DESC, z NULLS FIRST) OVER (PARTITION BY g)",
                "(\"$in_order\"(array_agg(\"named_struct\"('k0', y, 'k1', z, 'v', x)) OVER (PARTITION BY g), 'dlaf'))",
            ),
            (
                "first_value(x ORDER BY y) FILTER (WHERE p) OVER w",
                "((\"$in_order\"(array_agg(\"named_struct\"('k0', y, 'v', x)) FILTER (WHERE p) OVER w, 'al')))[1]",
            ),
            (
                "lag(x, 2 ORDER BY y DESC) OVER (PARTITION BY g)",
                "lag(x, 2) OVER (PARTITION BY g ORDER BY y DESC)",
            ),
            ("array_agg(x ORDER BY y)", "array_agg(x ORDER BY y)"),
            ("sum(x) OVER w", "sum(x) OVER w"),
        ] {
            let mut expr = parse_expr(given).unwrap();
            apply(&mut expr, "NULLS_LAST").unwrap();
            assert_eq!(expr.to_string(), expected);
        }
    }
}
