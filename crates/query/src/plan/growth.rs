//! How large a plan grows when every name that it uses is spelled out: a CTE or view that joins the one before with itself
//! doubles with each level, and planning goes over all of it.

use super::join_subqueries::subquery_of;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::LogicalPlan;
use datafusion::sql::sqlparser::ast::{self, ObjectName, Query, Visitor};
use hushdb_sql::walk::visit;
use hushdb_sql::{Error, Result, folded};
use std::collections::HashMap;
use std::ops::ControlFlow;

/// Nodes that a plan may have.
const MAX_NODES: u64 = 250_000;
/// Joins among them, which take longer.
const MAX_JOINS: u64 = 1_000;

#[derive(Clone, Copy, Default)]
struct Size {
    nodes: u64,
    joins: u64,
}

impl Size {
    fn and(self, other: Self) -> Self {
        Self {
            nodes: self.nodes.saturating_add(other.nodes),
            joins: self.joins.saturating_add(other.joins),
        }
    }
}

/// Holds a plan against what can be planned.
///
/// # Errors
/// `Binder` when it is too large.
pub(super) fn hold(plan: &LogicalPlan) -> Result<()> {
    let size = size(plan, &mut HashMap::new())?;
    if size.nodes <= MAX_NODES && size.joins <= MAX_JOINS {
        return Ok(());
    }
    Err(too_large())
}

fn too_large() -> Error {
    Error::binder(format!(
        "the statement is too large to be planned: with its views and WITH queries put in wherever they are named it has more \
         than {MAX_JOINS} joins or {MAX_NODES} steps; store what is used several times by CREATE TABLE ... AS"
    ))
}

/// What is used in several places is one object, and is looked at once.
fn size(plan: &LogicalPlan, known: &mut HashMap<*const LogicalPlan, Size>) -> Result<Size> {
    if let Some(size) = known.get(&std::ptr::from_ref(plan)) {
        return Ok(*size);
    }
    let mut total = Size {
        nodes: 1,
        joins: u64::from(matches!(plan, LogicalPlan::Join(_))),
    };
    for input in plan.inputs() {
        total = total.and(size(input, known)?);
    }
    let mut failed = None;
    plan.apply_expressions(|expr| {
        expr.apply(|expr| {
            let Some(subquery) = subquery_of(expr) else {
                return Ok(TreeNodeRecursion::Continue);
            };
            match size(&subquery.subquery, known) {
                Ok(size) => total = total.and(size),
                Err(error) => failed = Some(error),
            }
            Ok(TreeNodeRecursion::Continue)
        })
    })?;
    if let Some(error) = failed {
        return Err(error);
    }
    known.insert(std::ptr::from_ref(plan), total);
    Ok(total)
}

/// Table names that a query may have when each WITH query stands wherever it is named.
const MAX_NAMES: u64 = 50_000;

/// Holds a statement against what can be planned, before its WITH queries are put in where they are named.
///
/// # Errors
/// `Binder` when it is too large.
pub(super) fn hold_text(statement: &ast::Statement) -> Result<()> {
    let mut growth = Growth::default();
    let _ = visit(statement, &mut growth);
    if growth.most > MAX_NAMES {
        return Err(too_large());
    }
    let mut repeated = Repeated::default();
    let _ = visit(statement, &mut repeated);
    match repeated.most > MAX_REPEATED {
        true => Err(Error::binder(
            "the statement is too large to be planned: BETWEEN, IN and coalesce repeat what they are given, and they are nested \
             too deeply; compute the inner ones in a subquery first",
        )),
        false => Ok(()),
    }
}

/// Parts of expressions that may come on top where the optimizer writes some twice.
const MAX_REPEATED: u64 = 40_000;
/// A list of so few values becomes a comparison with each.
const SHORT_LIST: usize = 3;

/// Counts the parts of expressions, those that are written several times for as often as they are.
#[derive(Default)]
struct Repeated {
    /// Parts below the expressions that are being visited: as they are, and with repetitions.
    open: Vec<(u64, u64)>,
    /// How often what comes next is written.
    times: HashMap<*const ast::Expr, u64>,
    /// The most that comes on top.
    most: u64,
}

impl Visitor for Repeated {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &ast::Expr) -> ControlFlow<()> {
        self.open.push((1, 1));
        let mut repeat = |part: &ast::Expr, times: usize| {
            self.times.insert(std::ptr::from_ref(part), times as u64);
        };
        match expr {
            ast::Expr::Between { expr, .. } => repeat(expr, 2),
            ast::Expr::InList { expr, list, .. } if list.len() <= SHORT_LIST => {
                repeat(expr, list.len().max(1));
            }
            ast::Expr::Function(function) if is_coalesce(function) => {
                let given = function_args(function);
                for arg in given.iter().take(given.len().saturating_sub(1)) {
                    repeat(arg, 2);
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &ast::Expr) -> ControlFlow<()> {
        let (parts, written) = self.open.pop().unwrap_or_default();
        let times = self.times.remove(&std::ptr::from_ref(expr)).unwrap_or(1);
        let written = written.saturating_mul(times);
        self.most = self.most.max(written.saturating_sub(parts));
        if let Some((outer_parts, outer_written)) = self.open.last_mut() {
            *outer_parts += parts;
            *outer_written = outer_written.saturating_add(written);
        }
        ControlFlow::Continue(())
    }
}

fn is_coalesce(function: &ast::Function) -> bool {
    let [part] = function.name.0.as_slice() else {
        return false;
    };
    let name = part.as_ident().map(|name| name.value.to_lowercase());
    matches!(name.as_deref(), Some("coalesce" | "ifnull" | "nvl"))
}

fn function_args(function: &ast::Function) -> Vec<&ast::Expr> {
    let ast::FunctionArguments::List(list) = &function.args else {
        return vec![];
    };
    let args = list.args.iter().filter_map(|arg| match arg {
        ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(expr)) => Some(expr),
        _ => None,
    });
    args.collect()
}

/// Counts the names of tables, those of WITH queries for as many as they have within.
#[derive(Default)]
struct Growth {
    /// What is counted in the queries that are being visited.
    open: Vec<u64>,
    /// WITH queries that come next, by where they are.
    named: HashMap<*const Query, String>,
    /// Names of WITH queries, and what they stand for.
    known: HashMap<String, u64>,
    most: u64,
}

impl Visitor for Growth {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        self.open.push(0);
        for cte in query.with.iter().flat_map(|with| &with.cte_tables) {
            let name = folded(&cte.alias.name.value);
            self.named.insert(std::ptr::from_ref(&*cte.query), name);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_relation(&mut self, relation: &ObjectName) -> ControlFlow<()> {
        let name = match relation.0.as_slice() {
            [part] => part.as_ident().map(|part| folded(&part.value)),
            _ => None,
        };
        let size = name.and_then(|name| self.known.get(&name)).unwrap_or(&1);
        if let Some(count) = self.open.last_mut() {
            *count = count.saturating_add(*size);
            self.most = self.most.max(*count);
        }
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        let count = self.open.pop().unwrap_or_default();
        match self.named.remove(&std::ptr::from_ref(query)) {
            Some(name) => drop(self.known.insert(name, count.max(1))),
            None => {
                if let Some(outer) = self.open.last_mut() {
                    *outer = outer.saturating_add(count);
                    self.most = self.most.max(*outer);
                }
            }
        }
        ControlFlow::Continue(())
    }
}
