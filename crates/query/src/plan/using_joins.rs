//! `UsingJoins`: joins with USING and NATURAL, each with all that is to its left. `hushdb_sql` brings them together in
//! brackets, as one relation.
//!
//! What must hold: `*` gives the merged column once, at its place in the left table: of an inner or left join the left table's,
//! of a right join the right one's, of a full join the one of both that is not NULL. Columns of the single tables that a right or
//! full join has merged go by names of their own, and there are none where a `*` would show them.

use super::marked_joins::{self, Asof};
use super::numbers::one_type;
use super::spelling::written;
use crate::functions::spelled;
use datafusion::common::{
    Column, JoinConstraint, JoinType, NullEquality, Result, TableReference, not_impl_err, plan_err,
};
use datafusion::functions::core::expr_fn::coalesce;
use datafusion::logical_expr::planner::{
    PlannedRelation, RelationPlanner, RelationPlannerContext, RelationPlanning,
};
use datafusion::logical_expr::{Expr, Join, LogicalPlan, LogicalPlanBuilder, Operator};
use datafusion::sql::sqlparser::ast::{
    self, JoinOperator, ObjectName, TableFactor, TableWithJoins,
};
use hushdb_sql::walk::visit_expressions_mut;
use hushdb_sql::{ASOF, MERGED, POSITIONAL, has_call, is_call, merges, single};
use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::Arc;

#[derive(Debug)]
pub(super) struct UsingJoins;

impl RelationPlanner for UsingJoins {
    fn plan_relation(
        &self,
        relation: TableFactor,
        context: &mut dyn RelationPlannerContext,
    ) -> Result<RelationPlanning> {
        let (tables, alias) = match relation {
            TableFactor::NestedJoin {
                table_with_joins,
                alias,
            } if table_with_joins.joins.iter().any(merges) => (*table_with_joins, alias),
            other => return Ok(RelationPlanning::Original(Box::new(other))),
        };
        let TableWithJoins { relation, joins } = tables;
        let mut left = context.plan(relation)?;
        for join in joins {
            left = joined(left, join, context)?;
        }
        let planned = PlannedRelation::new(left, alias);
        Ok(RelationPlanning::Planned(Box::new(planned)))
    }
}

fn joined(
    left: LogicalPlan,
    join: ast::Join,
    context: &mut dyn RelationPlannerContext,
) -> Result<LogicalPlan> {
    use JoinOperator as J;
    let right = context.plan(join.relation)?;
    let (join_type, on) = match join.join_operator {
        J::Join(on) | J::Inner(on) => (JoinType::Inner, on),
        J::Left(on) | J::LeftOuter(on) => (JoinType::Left, on),
        J::Right(on) | J::RightOuter(on) => (JoinType::Right, on),
        J::FullOuter(on) => (JoinType::Full, on),
        J::Semi(on) | J::LeftSemi(on) => (JoinType::LeftSemi, on),
        J::Anti(on) | J::LeftAnti(on) => (JoinType::LeftAnti, on),
        J::RightSemi(on) => (JoinType::RightSemi, on),
        J::RightAnti(on) => (JoinType::RightAnti, on),
        J::CrossJoin(_) => return LogicalPlanBuilder::from(left).cross_join(right)?.build(),
        other => return not_impl_err!("this join beside one with USING: {other:?}"),
    };
    let by_name = matches!(on, ast::JoinConstraint::Using(_));
    let is_asof =
        matches!(&on, ast::JoinConstraint::Using(names) if names.first().is_some_and(is_mark));
    let keys = match on {
        ast::JoinConstraint::On(on) if has_call(&on, POSITIONAL) => {
            return marked_joins::positional(left, right);
        }
        ast::JoinConstraint::On(on) => {
            let (on, is_asof) = without_mark(on);
            let both = left.schema().join(right.schema())?;
            let on = context.sql_to_expr(on, &both)?;
            if is_asof {
                let asof = Asof::of(on, left.schema(), right.schema())?;
                return asof.plan(&left, &right, join_type);
            }
            let builder = LogicalPlanBuilder::from(left);
            return builder.join_on(right, join_type, Some(on))?.build();
        }
        ast::JoinConstraint::None => {
            let builder = LogicalPlanBuilder::from(left);
            return builder.join_on(right, join_type, [])?.build();
        }
        ast::JoinConstraint::Using(names) => {
            let names = names.into_iter().skip(usize::from(is_asof));
            let names = names.map(|name| key(name, context));
            names.collect::<Result<Vec<_>>>()?
        }
        ast::JoinConstraint::Natural => shared(&left, &right)?,
    };
    let merge = Merge::new(left, right, &keys)?;
    let singles = by_name && !join.global;
    match is_asof {
        true => merge.asof(join_type, singles),
        false => merge.plan(join_type, join.global, singles),
    }
}

/// Whether a name in USING says that the join is an ASOF JOIN.
fn is_mark(name: &ObjectName) -> bool {
    matches!(name.0.as_slice(), [part] if part.as_ident().is_some_and(|part| part.value == ASOF))
}

/// A condition without what says that the join is an ASOF JOIN, and whether it did.
fn without_mark(mut on: ast::Expr) -> (ast::Expr, bool) {
    let found = has_call(&on, ASOF);
    if found {
        let _: ControlFlow<()> = visit_expressions_mut(&mut on, |expr| {
            if is_call(expr, ASOF) {
                *expr = ast::Expr::value(ast::Value::Boolean(true));
            }
            ControlFlow::Continue(())
        });
    }
    (on, found)
}

fn key(name: ObjectName, context: &dyn RelationPlannerContext) -> Result<String> {
    match <[_; 1]>::try_from(name.0) {
        Ok([ast::ObjectNamePart::Identifier(name)]) => Ok(context.normalize_ident(name)),
        _ => plan_err!("USING takes names of columns without their table"),
    }
}

/// Columns of one name on both sides, in the order of the left one.
fn shared(left: &LogicalPlan, right: &LogicalPlan) -> Result<Vec<String>> {
    let mut keys: Vec<String> = vec![];
    for field in left.schema().fields() {
        let name = field.name();
        if right.schema().has_column_with_unqualified_name(name) && !keys.contains(name) {
            keys.push(name.clone());
        }
    }
    match keys.is_empty() {
        true => plan_err!("No columns found to join on in NATURAL JOIN."),
        false => Ok(keys),
    }
}

/// Two sides, and the columns that are merged.
struct Merge {
    left: LogicalPlan,
    right: LogicalPlan,
    left_keys: Vec<Column>,
    right_keys: Vec<Column>,
}

impl Merge {
    fn new(left: LogicalPlan, right: LogicalPlan, keys: &[String]) -> Result<Self> {
        let (left, left_keys) = with_keys(left, keys, "left")?;
        let (right, right_keys) = with_keys(right, keys, "right")?;
        Ok(Self {
            left,
            right,
            left_keys,
            right_keys,
        })
    }

    /// `first` is whether the left column has to come first in a `*`, `singles` whether single tables' columns may be named.
    fn plan(mut self, join_type: JoinType, first: bool, singles: bool) -> Result<LogicalPlan> {
        if matches!(join_type, JoinType::Right | JoinType::Full) {
            return self.outer(join_type, singles);
        }
        if first {
            self.put_left_first()?;
        }
        self.join(join_type, JoinConstraint::Using)
    }

    fn join(self, join_type: JoinType, constraint: JoinConstraint) -> Result<LogicalPlan> {
        let column = |column: Column| Expr::Column(column);
        let left_keys = self.left_keys.into_iter().map(column);
        let on = left_keys.zip(self.right_keys.into_iter().map(column));
        Ok(LogicalPlan::Join(Join::try_new(
            Arc::new(self.left),
            Arc::new(self.right),
            on.collect(),
            None,
            join_type,
            constraint,
            NullEquality::NullEqualsNothing,
            false,
        )?))
    }

    /// Of the columns that a join has merged, `*` shows the one whose table sorts first, and one-part names sort before those
    /// of three. So a right table that would come first gets such a name, which is still found under its own.
    fn put_left_first(&mut self) -> Result<()> {
        let keys = self.left_keys.iter().zip(&self.right_keys);
        let before = keys.filter(|(left, right)| right < left);
        let tables: Vec<TableReference> = before.filter_map(|(_, c)| c.relation.clone()).collect();
        if tables.is_empty() {
            return Ok(());
        }
        let joins = self.left.using_columns()?.len() + self.right.using_columns()?.len();
        let renamed = |column: &Column| {
            let table = column.relation.as_ref()?;
            tables.contains(table).then(|| {
                let schema = table.schema().unwrap_or("$").to_owned();
                TableReference::full(format!("${joins:04}"), schema, table.table())
            })
        };
        let columns = self.right.schema().columns();
        let columns = columns.into_iter().map(|column| match renamed(&column) {
            None => Expr::Column(column),
            Some(table) => {
                let name = column.name.clone();
                Expr::Column(column).alias_qualified(Some(table), name)
            }
        });
        let columns: Vec<Expr> = columns.collect();
        for key in &mut self.right_keys {
            if let Some(table) = renamed(key) {
                key.relation = Some(table);
            }
        }
        self.right = LogicalPlanBuilder::from(self.right.clone())
            .project(columns)?
            .build()?;
        Ok(())
    }

    /// An ASOF JOIN, whose last column in USING is the one of which the nearest is wanted. The left side's columns are shown.
    fn asof(self, join_type: JoinType, singles: bool) -> Result<LogicalPlan> {
        let column = |column: &Column| Expr::Column(column.clone());
        let pairs = self.left_keys.iter().zip(&self.right_keys);
        let mut equal: Vec<(Expr, Expr)> = pairs.map(|(l, r)| (column(l), column(r))).collect();
        let singles = singles && !matches!(join_type, JoinType::LeftSemi | JoinType::LeftAnti);
        let Some((left, right)) = equal.pop() else {
            return plan_err!("Missing ASOF JOIN inequality");
        };
        let asof = Asof {
            equal,
            nearest: (left, Operator::GtEq, right),
        };
        let plan = asof.plan(&self.left, &self.right, join_type)?;
        if matches!(join_type, JoinType::Right | JoinType::Full) {
            let columns = self.merged(join_type, singles)?;
            return LogicalPlanBuilder::from(plan).project(columns)?.build();
        }
        let shown = plan.schema().columns().into_iter();
        let shown = shown.filter(|column| !self.right_keys.contains(column));
        let columns: Vec<Expr> = shown
            .map(Expr::Column)
            .chain(self.singles(singles))
            .collect();
        LogicalPlanBuilder::from(plan).project(columns)?.build()
    }

    /// Columns of the single tables beside the merged ones, if they may be named.
    fn singles(&self, singles: bool) -> Vec<Expr> {
        let merged = self.left_keys.iter().chain(&self.right_keys);
        let merged = merged.filter(|key| {
            let table = key.relation.as_ref().map(TableReference::table);
            singles && !table.is_some_and(|table| table.starts_with(MERGED))
        });
        let named = merged.map(|key| {
            let name = single(&key.name);
            Expr::Column(key.clone()).alias_qualified(key.relation.clone(), name)
        });
        named.collect()
    }

    /// A right or full join: the merged column is of neither table. Those of the tables have names of their own.
    fn outer(self, join_type: JoinType, singles: bool) -> Result<LogicalPlan> {
        let columns = self.merged(join_type, singles)?;
        let join = self.join(join_type, JoinConstraint::On)?;
        LogicalPlanBuilder::from(join).project(columns)?.build()
    }

    /// The columns of a right or full join.
    fn merged(&self, join_type: JoinType, singles: bool) -> Result<Vec<Expr>> {
        let both_sides = self.left.schema().join(self.right.schema())?;
        let of_left = self.left.schema().columns().into_iter().enumerate();
        let of_left = of_left.map(|(place, column)| {
            let at = self.left_keys.iter().position(|key| *key == column);
            let Some(at) = at else {
                return Ok(Expr::Column(column));
            };
            let name = column.name.clone();
            let right = &self.right_keys[at];
            let table = of_both(&column, right);
            let right = Expr::Column(right.clone());
            Ok(match join_type {
                JoinType::Full => {
                    let both = coalesce(vec![Expr::Column(column), right]);
                    let both = one_type(both, &both_sides)?;
                    let both = match written(&self.left, place) {
                        Some(written) => spelled(both, &written),
                        None => both,
                    };
                    both.alias_qualified(table, name)
                }
                _ => right.alias_qualified(table, name),
            })
        });
        let of_right = self.right.schema().columns().into_iter();
        let of_right = of_right.filter(|column| !self.right_keys.contains(column));
        let singles = self.singles(singles);
        let others = of_right.map(Expr::Column).chain(singles).map(Ok);
        of_left.chain(others).collect()
    }
}

/// A side, in which what a join before has merged is one column, and the columns that go by the names.
fn with_keys(plan: LogicalPlan, keys: &[String], side: &str) -> Result<(LogicalPlan, Vec<Column>)> {
    let (mut columns, mut hidden) = (vec![], vec![]);
    for key in keys {
        let (column, others) = merged_as(&plan, key, side)?;
        columns.push(column);
        hidden.extend(others);
    }
    Ok((without(plan, &hidden)?, columns))
}

/// The column of a side by its name, and those that a join before has merged with it.
fn merged_as(plan: &LogicalPlan, key: &str, side: &str) -> Result<(Column, Vec<Column>)> {
    let mut found = plan.schema().columns_with_unqualified_name(key).into_iter();
    let Some(first) = found.next() else {
        return plan_err!("Column \"{key}\" does not exist on {side} side of join!");
    };
    let others: Vec<Column> = found.collect();
    let merged = plan.using_columns()?;
    let is_one = |set: &HashSet<Column>| others.iter().all(|column| set.contains(column));
    if !others.is_empty() && !merged.iter().any(is_one) {
        return plan_err!(
            "Column name \"{key}\" is ambiguous: it exists more than once on {side} side of join."
        );
    }
    Ok((first, others))
}

/// A plan without some of its columns.
fn without(plan: LogicalPlan, hidden: &[Column]) -> Result<LogicalPlan> {
    if hidden.is_empty() {
        return Ok(plan);
    }
    let columns = plan.schema().columns().into_iter();
    let shown = columns.filter(|c| !hidden.contains(c)).map(Expr::Column);
    let shown: Vec<Expr> = shown.collect();
    LogicalPlanBuilder::from(plan).project(shown)?.build()
}

/// What a column is of that neither table has as it is. A query may have several such joins side by side.
fn of_both(left: &Column, right: &Column) -> Option<TableReference> {
    let table = |column: &Column| {
        let table = column.relation.as_ref();
        table.map(TableReference::to_string).unwrap_or_default()
    };
    let (left, right) = (table(left), table(right));
    Some(TableReference::bare(format!("{MERGED} {left} {right}")))
}
