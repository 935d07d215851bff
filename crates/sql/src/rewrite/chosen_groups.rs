//! HAVING, QUALIFY and GROUP BY ALL, where the planner finds a name, a window or a group elsewhere than DuckDB does.

use crate::folded;
use crate::macros;
use crate::operators::PLACE;
use crate::walk::{visit_expressions, visit_own, visit_own_expressions, visit_own_mut};
use sqlparser::ast::{
    BinaryOperator, Expr, Function, GroupByExpr, OrderByKind, Query, Select, SelectItem, SetExpr,
    Visitor, VisitorMut,
};
use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

/// Whether a query within names nothing of what is around it, as far as that is known.
type IsAlone<'a> = &'a dyn Fn(&Query) -> bool;

/// Whether GROUP BY ALL may group by what has a query in it.
pub fn groups_by_queries(select: &Select) -> bool {
    let found = |item: &SelectItem| {
        let found = visit_own_expressions(item, |expr| match query_of_value(expr) {
            Some(_) => ControlFlow::Break(()),
            None => ControlFlow::Continue(()),
        });
        found.is_break()
    };
    matches!(select.group_by, GroupByExpr::All(_)) && select.projection.iter().any(found)
}

/// Writes out GROUP BY ALL, which groups by no queries that name nothing of the FROM.
pub fn group_by_no_constants(
    select: &mut Select,
    is_aggregate: &dyn Fn(&str) -> bool,
    is_alone: IsAlone<'_>,
) {
    having_items(select, is_aggregate, is_alone);
    if matches!(select.group_by, GroupByExpr::All(_))
        && let Some(groups) = all_groups(&select.projection, is_aggregate, is_alone)
    {
        select.group_by = GroupByExpr::Expressions(groups, vec![]);
    }
}

/// The query in an expression that is a value or a condition.
fn query_of_value(expr: &Expr) -> Option<&Query> {
    match expr {
        Expr::Subquery(query) => Some(query),
        Expr::Exists { subquery, .. } | Expr::InSubquery { subquery, .. } => Some(subquery),
        _ => None,
    }
}

/// A name in HAVING that is none of GROUP BY is the last item of that name before it is a column, but within aggregates. GROUP BY ALL groups
/// by such columns, too, also where they stand within what it groups by.
pub fn having_items(
    select: &mut Select,
    is_aggregate: &dyn Fn(&str) -> bool,
    is_alone: IsAlone<'_>,
) {
    let Some(having) = &mut select.having else {
        return;
    };
    let groups = names_of(&select.group_by);
    let items = select.projection.iter().filter_map(|item| match item {
        SelectItem::ExprWithAlias { expr, alias } => Some((folded(&alias.value), expr.clone())),
        _ => None,
    });
    let mut named = Items {
        items: items.filter(|(name, _)| !groups.contains(name)).collect(),
        is_aggregate,
        inside: 0,
    };
    let _ = visit_own_mut(having, &mut named);
    if matches!(select.group_by, GroupByExpr::All(_))
        && let Some(mut groups) = all_groups(&select.projection, is_aggregate, is_alone)
    {
        let mut columns = Columns {
            groups: &mut groups,
            is_aggregate,
            inside: 0,
        };
        let _ = visit_own(having, &mut columns);
        select.group_by = GroupByExpr::Expressions(groups, vec![]);
    }
}

/// What GROUP BY ALL groups by is written out where ORDER BY has one of these: the planner looks for such groups there.
pub(super) fn order_by_groups(query: &mut Query, is_aggregate: &dyn Fn(&str) -> bool) {
    let (SetExpr::Select(select), Some(order_by)) = (query.body.as_mut(), &query.order_by) else {
        return;
    };
    let OrderByKind::Expressions(keys) = &order_by.kind else {
        return;
    };
    if matches!(select.group_by, GroupByExpr::All(_))
        && let Some(groups) = all_groups(&select.projection, is_aggregate, &|_| false)
        && keys.iter().any(|key| is_group(&key.expr, &groups))
    {
        select.group_by = GroupByExpr::Expressions(groups, vec![]);
    }
}

/// Whether a key is a group that is more than a name.
fn is_group(key: &Expr, groups: &[Expr]) -> bool {
    match key {
        Expr::Nested(within) => is_group(within, groups),
        other => !is_column(other) && groups.contains(other),
    }
}

/// Adds the columns to groups that stand outside of aggregates.
struct Columns<'a> {
    groups: &'a mut Vec<Expr>,
    is_aggregate: &'a dyn Fn(&str) -> bool,
    /// How many aggregates and lambdas there are around.
    inside: usize,
}

impl Columns<'_> {
    fn is_whole(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Function(function) => aggregates(function, self.is_aggregate),
            other => matches!(other, Expr::Lambda(_)),
        }
    }
}

impl Visitor for Columns<'_> {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        match is_column(expr) {
            true if self.inside == 0 && !self.groups.contains(expr) => {
                self.groups.push(expr.clone());
            }
            true => {}
            false => self.inside += usize::from(self.is_whole(expr)),
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        self.inside -= usize::from(!is_column(expr) && self.is_whole(expr));
        ControlFlow::Continue(())
    }
}

fn is_column(expr: &Expr) -> bool {
    matches!(expr, Expr::Identifier(_) | Expr::CompoundIdentifier(_))
}

/// GROUP BY ALL groups by no constants: where a select list has nothing else to group by, there are no groups.
pub(super) fn no_groups_of_constants(select: &mut Select, is_aggregate: &dyn Fn(&str) -> bool) {
    if matches!(select.group_by, GroupByExpr::All(_))
        && all_groups(&select.projection, is_aggregate, &|_| false)
            .is_some_and(|groups| groups.is_empty())
    {
        select.group_by = GroupByExpr::Expressions(vec![], vec![]);
    }
}

/// What GROUP BY ALL groups by, which the planner does not find again where it has another name; `None` where there is more than
/// values that are written out.
fn all_groups(
    items: &[SelectItem],
    is_aggregate: &dyn Fn(&str) -> bool,
    is_alone: IsAlone<'_>,
) -> Option<Vec<Expr>> {
    let mut groups = vec![];
    for item in items {
        let expr = match item {
            SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => expr,
            _ => return None,
        };
        let aggregates = visit_own_expressions(expr, |expr| match expr {
            Expr::Function(function) if aggregates(function, is_aggregate) => {
                ControlFlow::Break(())
            }
            _ => ControlFlow::Continue(()),
        });
        if aggregates.is_continue() && names_columns(expr, is_alone) {
            groups.push(expr.clone());
        }
    }
    Some(groups)
}

/// Whether an expression names columns, as far as that is seen: a query within may name those around it.
fn names_columns(expr: &Expr, is_alone: IsAlone<'_>) -> bool {
    let mut names = Names {
        is_alone,
        bound: vec![],
    };
    visit_own(expr, &mut names).is_break()
}

/// Looks for a name that is none of a lambda's.
struct Names<'a> {
    is_alone: IsAlone<'a>,
    /// The names that the lambdas around have given to what they are called with.
    bound: Vec<String>,
}

impl Visitor for Names<'_> {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        let names_column = match expr {
            Expr::Function(function) => stands_for_columns(function),
            Expr::Identifier(name) => !self.bound.contains(&folded(&name.value)),
            Expr::CompoundIdentifier(names) => {
                let mut first = names.iter().take(1);
                !first.any(|name| self.bound.contains(&folded(&name.value)))
            }
            Expr::Lambda(lambda) => {
                let names = lambda.params.iter();
                self.bound
                    .extend(names.map(|name| folded(&name.name.value)));
                false
            }
            other => query_of_value(other).is_some_and(|query| !(self.is_alone)(query)),
        };
        match names_column {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }

    fn post_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        if let Expr::Lambda(lambda) = expr {
            let outside = self.bound.len() - lambda.params.len();
            self.bound.truncate(outside);
        }
        ControlFlow::Continue(())
    }
}

fn stands_for_columns(function: &Function) -> bool {
    let name = function.name.0.last().and_then(|name| name.as_ident());
    name.is_some_and(|name| name.value == PLACE || name.value.eq_ignore_ascii_case("columns"))
}

fn aggregates(function: &Function, is_aggregate: &dyn Fn(&str) -> bool) -> bool {
    let name = function.name.to_string().to_lowercase();
    function.over.is_some() || is_aggregate(&name) || macros::is_aggregate(&name)
}

/// The names of columns that rows are grouped by.
fn names_of(group_by: &GroupByExpr) -> HashSet<String> {
    let mut names = HashSet::new();
    if let GroupByExpr::Expressions(elements, _) = group_by {
        elements
            .iter()
            .for_each(|element| add_names(element, &mut names));
    }
    names
}

/// The columns that an element of GROUP BY is, or has as keys.
fn add_names(element: &Expr, names: &mut HashSet<String>) {
    match element {
        Expr::Nested(one) => add_names(one, names),
        Expr::Tuple(parts) => parts.iter().for_each(|part| add_names(part, names)),
        Expr::Rollup(sets) | Expr::Cube(sets) | Expr::GroupingSets(sets) => {
            sets.iter()
                .flatten()
                .for_each(|part| add_names(part, names));
        }
        Expr::Identifier(name) => drop(names.insert(folded(&name.value))),
        Expr::CompoundIdentifier(parts) => {
            names.extend(parts.last().map(|name| folded(&name.value)));
        }
        _ => {}
    }
}

struct Items<'a> {
    items: HashMap<String, Expr>,
    is_aggregate: &'a dyn Fn(&str) -> bool,
    /// How many aggregates there are around.
    inside: usize,
}

impl Items<'_> {
    fn is_aggregate(&self, function: &Function) -> bool {
        aggregates(function, self.is_aggregate)
    }
}

impl VisitorMut for Items<'_> {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::Function(function) = expr {
            self.inside += usize::from(self.is_aggregate(function));
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        match expr {
            Expr::Function(function) => self.inside -= usize::from(self.is_aggregate(function)),
            Expr::Identifier(name) if self.inside == 0 => {
                if let Some(item) = self.items.get(&folded(&name.value)) {
                    *expr = Expr::Nested(Box::new(item.clone()));
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

/// The planner wants a window in QUALIFY itself: one of the select list is named there, in a condition that is always true.
pub(super) fn qualify_listed_windows(select: &mut Select) {
    let Some(qualify) = &select.qualify else {
        return;
    };
    let window = |expr: &Expr| {
        let mut found = None;
        let _ = visit_expressions(expr, |expr| match expr {
            Expr::Function(function) if function.over.is_some() => {
                found = Some(expr.clone());
                ControlFlow::Break(())
            }
            _ => ControlFlow::Continue(()),
        });
        found
    };
    let mut listed = select.projection.iter().filter_map(|item| match item {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => window(expr),
        _ => None,
    });
    if window(qualify).is_none()
        && let Some(listed) = listed.next()
        && let Some(qualify) = select.qualify.take()
    {
        let both = |left, op, right| Expr::BinaryOp {
            left: Box::new(left),
            op,
            right: Box::new(right),
        };
        let is_null = Expr::IsNull(Box::new(listed.clone()));
        let is_there = Expr::IsNotNull(Box::new(listed));
        let always = both(is_null, BinaryOperator::Or, is_there);
        select.qualify = Some(both(
            Expr::Nested(Box::new(qualify)),
            BinaryOperator::And,
            Expr::Nested(Box::new(always)),
        ));
    }
}
