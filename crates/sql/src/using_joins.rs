//! Joins with USING and NATURAL come into brackets with what is to their left, as one relation, which `plan/using_joins.rs` plans:
//! the planner by itself gives the merged column where the table is that comes first in the alphabet.

use sqlparser::ast::{
    Join, JoinConstraint, JoinOperator, Select, SelectItem, TableFactor, TableWithJoins,
};

/// What a merged column is of that neither table has as it is.
pub const MERGED: &str = "$merged";

/// Brackets every such join of a FROM, and gives SEMI and ANTI joins the names that the planner knows.
///
/// A join is marked as `global`, which nothing else means here, if the SELECT has a `*`, in which its merged column has to
/// stand first.
pub(super) fn bracket(select: &mut Select) {
    let is_star = |item: &SelectItem| matches!(item, SelectItem::Wildcard(_));
    let star = select.projection.iter().any(is_star);
    for table in &mut select.from {
        mark(table, star);
        let Some(last) = table.joins.iter().rposition(merges) else {
            continue;
        };
        let after = table.joins.split_off(last + 1);
        let bracketed = TableWithJoins {
            relation: table.relation.clone(),
            joins: std::mem::replace(&mut table.joins, after),
        };
        table.relation = TableFactor::NestedJoin {
            table_with_joins: Box::new(bracketed),
            alias: None,
        };
    }
}

/// Whether a join merges columns.
pub fn merges(join: &Join) -> bool {
    use JoinOperator as J;
    let on = match &join.join_operator {
        J::Join(on) | J::Inner(on) | J::Left(on) | J::LeftOuter(on) | J::Right(on) => on,
        J::RightOuter(on) | J::FullOuter(on) | J::Semi(on) | J::LeftSemi(on) => on,
        J::RightSemi(on) | J::Anti(on) | J::LeftAnti(on) | J::RightAnti(on) => on,
        _ => return false,
    };
    matches!(on, JoinConstraint::Using(_) | JoinConstraint::Natural)
}

fn mark(table: &mut TableWithJoins, star: bool) {
    mark_within(&mut table.relation, star);
    for join in &mut table.joins {
        mark_within(&mut join.relation, star);
        join.global = star && merges(join);
        use JoinOperator as J;
        let operator = std::mem::replace(&mut join.join_operator, J::CrossApply);
        join.join_operator = match operator {
            J::Semi(on) => J::LeftSemi(on),
            J::Anti(on) => J::LeftAnti(on),
            other => other,
        };
    }
}

fn mark_within(factor: &mut TableFactor, star: bool) {
    if let TableFactor::NestedJoin {
        table_with_joins, ..
    } = factor
    {
        mark(table_with_joins, star);
    }
}
