//! Joins with USING and NATURAL come into brackets with what is to their left, as one relation, which `plan/using_joins.rs` plans:
//! the planner by itself gives the merged column where the table is that comes first in the alphabet. A right or full join has the
//! columns of its single tables beside the merged one, by names of their own, which are put here where a statement means them.

use super::column_names::tables_of;
use super::constraints::constraint_of;
use super::folded;
use super::marks::{ASOF, POSITIONAL};
use crate::walk::visit_mut;
use sqlparser::ast::{
    BinaryOperator, Distinct, Expr, Ident, Join, JoinConstraint, JoinOperator, ObjectName,
    ObjectNamePart, OrderByKind, Query, Select, SelectItem, SetExpr, TableFactor, TableWithJoins,
    VisitMut, VisitorMut,
};
use std::collections::HashSet;
use std::ops::ControlFlow;

/// The name that a single table's column has beside the merged one.
pub fn single(column: &str) -> String {
    format!("$single {}", folded(column))
}

/// Puts the names of single tables' columns in the ORDER BY of a SELECT.
pub(super) fn name_singles_in_order(query: &mut Query) {
    let SetExpr::Select(select) = query.body.as_ref() else {
        return;
    };
    let mut singles = Singles::of(select);
    if let Some(order_by) = &mut query.order_by
        && let OrderByKind::Expressions(order) = &mut order_by.kind
    {
        singles.put(order);
    }
}

/// Puts the names of single tables' columns in a SELECT.
pub(super) fn name_singles(select: &mut Select) {
    let mut singles = Singles::of(select);
    if singles.names.is_empty() {
        return;
    }
    for item in &mut select.projection {
        if let SelectItem::UnnamedExpr(Expr::CompoundIdentifier(parts)) = item
            && let Some(column) = parts.last().cloned()
        {
            let expr = Expr::CompoundIdentifier(std::mem::take(parts));
            *item = SelectItem::ExprWithAlias {
                expr,
                alias: column,
            };
        }
    }
    singles.put(&mut select.projection);
    singles.put(&mut select.selection);
    singles.put(&mut select.group_by);
    singles.put(&mut select.having);
    singles.put(&mut select.qualify);
    singles.put(&mut select.named_window);
    if let Some(Distinct::On(on)) = &mut select.distinct {
        singles.put(on);
    }
    for tables in &mut select.from {
        singles.put_in_joins(tables);
    }
}

/// Columns of single tables that right and full joins have merged, by table and name.
struct Singles {
    names: HashSet<(String, String)>,
    /// Tables of the queries within, which hide others of the same name.
    within: Vec<HashSet<String>>,
}

impl Singles {
    /// Those of a SELECT. Where it has a `*` there are none.
    fn of(select: &Select) -> Self {
        let mut names = HashSet::new();
        let tables = match is_wild(select) {
            true => &[],
            false => select.from.as_slice(),
        };
        for tables in tables {
            merged_of(tables, &mut names);
        }
        Self {
            names,
            within: vec![],
        }
    }

    /// Puts them in the conditions behind such joins; whether there was one.
    fn put_in_joins(&mut self, tables: &mut TableWithJoins) -> bool {
        let mut is_behind = self.put_within(&mut tables.relation);
        for join in &mut tables.joins {
            is_behind |= self.put_within(&mut join.relation);
            if is_behind {
                self.put(&mut join.join_operator);
            }
            is_behind |= merges_both(join);
        }
        is_behind
    }

    fn put_within(&mut self, factor: &mut TableFactor) -> bool {
        match factor {
            TableFactor::NestedJoin {
                table_with_joins, ..
            } => self.put_in_joins(table_with_joins),
            _ => false,
        }
    }

    fn put(&mut self, part: &mut impl VisitMut) {
        if !self.names.is_empty() {
            let _ = visit_mut(part, self);
        }
    }
}

impl VisitorMut for Singles {
    type Break = ();

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        let joined = select.from.iter().flat_map(|from| {
            let joins = from.joins.iter().map(|join| &join.relation);
            std::iter::once(&from.relation).chain(joins)
        });
        self.within.push(tables_of(joined));
        ControlFlow::Continue(())
    }

    fn post_visit_select(&mut self, _: &mut Select) -> ControlFlow<()> {
        self.within.pop();
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        let Expr::CompoundIdentifier(parts) = expr else {
            return ControlFlow::Continue(());
        };
        let [table, column] = parts.as_mut_slice() else {
            return ControlFlow::Continue(());
        };
        let name = (folded(&table.value), folded(&column.value));
        let is_hidden = self.within.iter().any(|tables| tables.contains(&name.0));
        if !is_hidden && self.names.contains(&name) {
            *column = Ident::with_quote('"', single(&name.1));
        }
        ControlFlow::Continue(())
    }
}

/// Columns of single tables that joins have merged, also of those in brackets.
fn merged_of(tables: &TableWithJoins, names: &mut HashSet<(String, String)>) {
    let mut merged_within = |factor: &TableFactor| {
        if let TableFactor::NestedJoin {
            table_with_joins,
            alias: None,
        } = factor
        {
            merged_of(table_with_joins, names);
        }
    };
    merged_within(&tables.relation);
    for join in &tables.joins {
        merged_within(&join.relation);
    }
    let mut known: Vec<String> = tables_of([&tables.relation]).into_iter().collect();
    for join in &tables.joins {
        known.extend(tables_of([&join.relation]));
        let merged = using(join)
            .into_iter()
            .flatten()
            .filter(|_| merges_both(join));
        for column in merged {
            let Some(ObjectNamePart::Identifier(column)) = column.0.last() else {
                continue;
            };
            let column = folded(&column.value);
            names.extend(known.iter().map(|table| (table.clone(), column.clone())));
        }
    }
}

/// Whether a SELECT has a `*`, of a table or of all.
fn is_wild(select: &Select) -> bool {
    let mut items = select.projection.iter();
    items.any(|item| {
        matches!(
            item,
            SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..)
        )
    })
}

/// The columns of an ASOF JOIN's USING.
fn asof(join: &Join) -> Option<&[ObjectName]> {
    use JoinOperator as J;
    let (J::Join(on) | J::Inner(on) | J::Left(on) | J::LeftOuter(on)) = &join.join_operator else {
        return None;
    };
    match on {
        JoinConstraint::Using(columns) if columns.first().is_some_and(is_mark) => Some(columns),
        _ => None,
    }
}

fn is_mark(name: &ObjectName) -> bool {
    matches!(name.0.as_slice(), [part] if part.as_ident().is_some_and(|part| part.value == ASOF))
}

/// Whether the single tables' columns of a join are hidden by the merged one.
fn merges_both(join: &Join) -> bool {
    use JoinOperator as J;
    let outer = matches!(
        join.join_operator,
        J::Right(_) | J::RightOuter(_) | J::FullOuter(_)
    );
    (outer && merges(join)) || asof(join).is_some()
}

/// The columns of USING.
fn using(join: &Join) -> Option<&[ObjectName]> {
    use JoinOperator as J;
    match &join.join_operator {
        J::Right(JoinConstraint::Using(columns))
        | J::RightOuter(JoinConstraint::Using(columns))
        | J::FullOuter(JoinConstraint::Using(columns)) => Some(columns),
        _ => asof(join),
    }
}

/// Brackets every such join of a FROM, and gives SEMI and ANTI joins the names that the planner knows.
///
/// A join is marked as `global`, which nothing else means here, if the SELECT has a `*`, in which its merged column has to
/// stand first; a right or full join also if it has a `*` of one table: columns beside the merged one must not be in that.
pub(super) fn bracket(select: &mut Select) {
    let is_star = |item: &SelectItem| matches!(item, SelectItem::Wildcard(_));
    let star = Star {
        of_all: select.projection.iter().any(is_star),
        of_any: is_wild(select),
    };
    for table in &mut select.from {
        mark(table, star);
        bracket_left(table);
    }
}

/// Brackets the last of such joins with all to its left. A LATERAL join there keeps brackets of its own, around what it may name: the
/// planner alone tells it what that is.
fn bracket_left(table: &mut TableWithJoins) {
    let Some(last) = table.joins.iter().rposition(merges) else {
        return;
    };
    let after = table.joins.split_off(last + 1);
    if let Some(lateral) = table.joins.iter().rposition(is_lateral) {
        let behind = table.joins.split_off(lateral + 1);
        bracket_left(table);
        enclose(table, behind);
    }
    enclose(table, after);
}

/// Puts brackets around what there is, before joins.
fn enclose(table: &mut TableWithJoins, after: Vec<Join>) {
    let enclosed = TableWithJoins {
        relation: table.relation.clone(),
        joins: std::mem::replace(&mut table.joins, after),
    };
    table.relation = TableFactor::NestedJoin {
        table_with_joins: Box::new(enclosed),
        alias: None,
    };
}

fn is_lateral(join: &Join) -> bool {
    matches!(join.relation, TableFactor::Derived { lateral: true, .. }) && !merges(join)
}

/// Whether a join merges columns.
pub fn merges(join: &Join) -> bool {
    match constraint_of(&join.join_operator) {
        Some(JoinConstraint::Using(_) | JoinConstraint::Natural) => true,
        // Those that `parser/more_joins.rs` has marked are planned there, too.
        Some(JoinConstraint::On(on)) => has_call(on, ASOF) || has_call(on, POSITIONAL),
        Some(JoinConstraint::None) | None => false,
    }
}

/// Whether a condition, or one of those that must all hold, is a call of ours.
pub fn has_call(condition: &Expr, name: &str) -> bool {
    match condition {
        Expr::Nested(inner) => has_call(inner, name),
        // A mark stands behind it.
        Expr::BinaryOp {
            left,
            op: BinaryOperator::Custom(_),
            ..
        } => has_call(left, name),
        Expr::BinaryOp {
            left,
            op: BinaryOperator::And,
            right,
        } => has_call(left, name) || has_call(right, name),
        other => is_call(other, name),
    }
}

/// Whether an expression is the call of a function that no text has.
pub fn is_call(expr: &Expr, name: &str) -> bool {
    match expr {
        Expr::Function(function) => match function.name.0.as_slice() {
            [part] => part.as_ident().is_some_and(|part| part.value == name),
            _ => false,
        },
        _ => false,
    }
}

/// Whether a SELECT has a `*` of all tables, or any.
#[derive(Clone, Copy)]
struct Star {
    of_all: bool,
    of_any: bool,
}

fn mark(table: &mut TableWithJoins, star: Star) {
    mark_within(&mut table.relation, star);
    for join in &mut table.joins {
        mark_within(&mut join.relation, star);
        join.global = match merges_both(join) {
            true => star.of_any,
            false => star.of_all && merges(join),
        };
        use JoinOperator as J;
        let operator = std::mem::replace(&mut join.join_operator, J::CrossApply);
        join.join_operator = match operator {
            J::Semi(on) => J::LeftSemi(on),
            J::Anti(on) => J::LeftAnti(on),
            other => other,
        };
    }
}

fn mark_within(factor: &mut TableFactor, star: Star) {
    if let TableFactor::NestedJoin {
        table_with_joins, ..
    } = factor
    {
        mark(table_with_joins, star);
    }
}
