//! `random() BETWEEN a AND b`, and coalesce and nullif of what has another value each time: the planner writes such an operand twice, so a
//! lambda gives its value a name.

use super::planner::Planner;
use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, Select, SelectItem,
    Visit, VisitMut, VisitorMut,
};
use hushdb_sql::walk::{visit_expressions, visit_expressions_mut, visit_mut};
use hushdb_sql::{Error, Result, parse_expr};
use std::ops::ControlFlow;

/// What the value is called.
const DRAWN: &str = "$drawn";
/// Functions of which the planner writes arguments twice: all but the last.
const REPEATED: [&str; 4] = ["coalesce", "ifnull", "nvl", "nullif"];

/// Names what is drawn, where a statement or an expression would draw it twice.
///
/// # Errors
/// `Internal` when a call of ours cannot be read.
pub(super) fn name(planner: &Planner<'_>, parsed: &mut (impl Visit + VisitMut)) -> Result<()> {
    if !any_repeated(planner, parsed) {
        return Ok(());
    }
    match visit_mut(parsed, &mut Namer { planner }) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(*error),
    }
}

fn any_repeated(planner: &Planner<'_>, part: &impl Visit) -> bool {
    let found = visit_expressions(part, |expr| match repeated(planner, expr) {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    });
    found.is_break()
}

/// Whether an operand of an expression would be drawn twice.
fn repeated(planner: &Planner<'_>, expr: &Expr) -> bool {
    match expr {
        Expr::Between { expr, .. } => planner.draws(expr),
        Expr::Function(function) => {
            arguments(function).is_some_and(|args| all_but_last(args).any(|arg| planner.draws(arg)))
        }
        _ => false,
    }
}

/// The arguments of a function that may repeat them.
fn arguments(function: &Function) -> Option<&[FunctionArg]> {
    let [name] = function.name.0.as_slice() else {
        return None;
    };
    let name = name.as_ident()?.value.to_lowercase();
    match &function.args {
        FunctionArguments::List(list) if REPEATED.contains(&name.as_str()) => Some(&list.args),
        _ => None,
    }
}

fn all_but_last(args: &[FunctionArg]) -> impl Iterator<Item = &Expr> {
    let args = args.split_last().map_or(&[][..], |(_, args)| args);
    args.iter().filter_map(|arg| match arg {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr),
        _ => None,
    })
}

struct Namer<'a> {
    planner: &'a Planner<'a>,
}

impl VisitorMut for Namer<'_> {
    type Break = Box<Error>;

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Box<Error>> {
        for item in &mut select.projection {
            if let SelectItem::UnnamedExpr(expr) = item
                && any_repeated(self.planner, expr)
            {
                // A column is called what was written.
                let alias = Ident::with_quote('"', expr.to_string());
                let expr = expr.clone();
                *item = SelectItem::ExprWithAlias { expr, alias };
            }
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Box<Error>> {
        match self.named(expr) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(Box::new(error)),
        }
    }
}

impl Namer<'_> {
    fn named(&self, expr: &mut Expr) -> Result<()> {
        if !repeated(self.planner, expr) {
            return Ok(());
        }
        match expr {
            Expr::Between { expr: operand, .. } => {
                let value = std::mem::replace(operand.as_mut(), drawn());
                *expr = with_name(value, expr.clone())?;
            }
            Expr::Function(function) => {
                *expr = self.with_drawn_named(function)?;
            }
            _ => {}
        }
        Ok(())
    }

    /// A call whose first argument that is drawn has a name. Those behind it are a call of their own: the first value that is there counts.
    fn with_drawn_named(&self, function: &Function) -> Result<Expr> {
        let args = arguments(function).unwrap_or_default();
        let at = all_but_last(args).position(|arg| self.planner.draws(arg));
        let (before, from) = args.split_at(at.unwrap_or_default());
        let [
            FunctionArg::Unnamed(FunctionArgExpr::Expr(value)),
            rest @ ..,
        ] = from
        else {
            return Ok(Expr::Function(function.clone()));
        };
        let mut last = match rest {
            [FunctionArg::Unnamed(FunctionArgExpr::Expr(last))] => last.clone(),
            _ => called(function, rest.to_vec()),
        };
        self.named(&mut last)?;
        let named = called(function, vec![argument(drawn()), argument(last)]);
        let named = with_name(value.clone(), named)?;
        let before = before.iter().cloned();
        Ok(match at {
            Some(0) | None => named,
            Some(_) => called(function, before.chain([argument(named)]).collect()),
        })
    }
}

fn argument(expr: Expr) -> FunctionArg {
    FunctionArg::Unnamed(FunctionArgExpr::Expr(expr))
}

/// The function of other arguments.
fn called(function: &Function, args: Vec<FunctionArg>) -> Expr {
    let mut function = function.clone();
    if let FunctionArguments::List(list) = &mut function.args {
        list.args = args;
    }
    Expr::Function(function)
}

fn drawn() -> Expr {
    Expr::Identifier(Ident::with_quote('"', DRAWN))
}

/// `list_extract(list_transform(list_value(value), "$drawn" -> body), 1)`.
fn with_name(value: Expr, body: Expr) -> Result<Expr> {
    let mut named = parse_expr(&format!(
        "list_extract(list_transform(list_value(\"{DRAWN} value\"), \"{DRAWN}\" -> \"{DRAWN} body\"), 1)"
    ))?;
    let is = |name: &Ident, what: &str| name.value.strip_prefix(DRAWN) == Some(what);
    let _: ControlFlow<()> = visit_expressions_mut(&mut named, |expr| {
        match expr {
            Expr::Identifier(name) if is(name, " value") => *expr = value.clone(),
            Expr::Identifier(name) if is(name, " body") => *expr = body.clone(),
            _ => {}
        }
        ControlFlow::Continue(())
    });
    Ok(named)
}
