//! Keys for inner joins that were written without: `FROM a, b, c WHERE a.x = c.x AND b.y = c.y`. Stands in place of DataFusion's rule of
//! that name, which forgets keys that no pair of two relations can judge (`a JOIN (b CROSS JOIN c) ON a.x = b.x + c.x`), takes joins that
//! hold NULL for equal to NULL for others, and compares every key with every relation.
//!
//! What must hold: each condition is used, as a key or in the filter above; the rows and their columns stay. The work grows with the number
//! of conditions and of columns, not with their product.

use super::flat_plans::all_of;
use crate::heed::check;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column, JoinConstraint, JoinType, NullEquality, Result};
use datafusion::logical_expr::utils::{can_hash, split_conjunction_owned};
use datafusion::logical_expr::{
    BinaryExpr, Expr, ExprSchemable, Filter, Join, LogicalPlan, LogicalPlanBuilder, Operator,
};
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

/// The rule; see the module.
#[derive(Debug)]
pub(super) struct CrossJoins;

impl OptimizerRule for CrossJoins {
    fn name(&self) -> &'static str {
        "cross_joins"
    }

    fn supports_rewrite(&self) -> bool {
        true
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        _: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        with_keys(plan)
    }
}

fn with_keys(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    plan.transform_down_with_subqueries(|plan| {
        let (predicate, joins) = match &plan {
            LogicalPlan::Filter(filter) => (Some(&filter.predicate), filter.input.as_ref()),
            other => (None, other),
        };
        if !lacks_keys(joins) {
            return Ok(Transformed::no(plan));
        }
        let mut run = Run::default();
        run.flatten(joins);
        run.conditions
            .extend(predicate.into_iter().flat_map(conjuncts));
        let Some(joined) = run.with_more_keys()? else {
            return Ok(Transformed::no(plan));
        };
        let columns = plan.schema().columns();
        if joined.schema().columns() == columns {
            return Ok(Transformed::yes(joined));
        }
        let columns = columns.into_iter().map(Expr::Column);
        let restored = LogicalPlanBuilder::from(joined).project(columns)?;
        restored.build().map(Transformed::yes)
    })
}

/// Whether a plan is a run of inner joins of which one has no key.
fn lacks_keys(plan: &LogicalPlan) -> bool {
    match of_a_run(plan) {
        Some(join) => join.on.is_empty() || lacks_keys(&join.left) || lacks_keys(&join.right),
        None => false,
    }
}

/// A join whose conditions may stand anywhere in a run of inner joins.
fn of_a_run(plan: &LogicalPlan) -> Option<&Join> {
    let LogicalPlan::Join(join) = plan else {
        return None;
    };
    let of_rows = |expr: &Expr| !expr.is_volatile();
    let plain = join.join_type == JoinType::Inner
        && join.null_equality == NullEquality::NullEqualsNothing
        && join.filter.as_ref().is_none_or(of_rows)
        && join
            .on
            .iter()
            .all(|(left, right)| of_rows(left) && of_rows(right));
    plain.then_some(join)
}

fn conjuncts(predicate: &Expr) -> Vec<Expr> {
    split_conjunction_owned(predicate.clone())
}

/// The keys of a join: what stands left and right.
type On = Vec<(Expr, Expr)>;

/// A run of inner joins, taken apart.
#[derive(Default)]
struct Run<'a> {
    /// In the order of FROM.
    relations: Vec<&'a LogicalPlan>,
    /// All that must hold of a row.
    conditions: Vec<Expr>,
    /// How many of the conditions are keys already.
    keys: usize,
}

impl<'a> Run<'a> {
    fn flatten(&mut self, plan: &'a LogicalPlan) {
        let Some(join) = of_a_run(plan) else {
            self.relations.push(plan);
            return;
        };
        self.flatten(&join.left);
        self.flatten(&join.right);
        self.keys += join.on.len();
        let keys = join.on.iter();
        self.conditions
            .extend(keys.map(|(left, right)| left.clone().eq(right.clone())));
        self.conditions
            .extend(join.filter.iter().flat_map(conjuncts));
    }

    /// The same rows by joins that have more keys. None: there are no more.
    fn with_more_keys(self) -> Result<Option<LogicalPlan>> {
        let mut keys = Keys::new(&self.relations, &self.conditions);
        let steps = keys.steps()?;
        if steps.iter().map(|(_, on)| on.len()).sum::<usize>() <= self.keys {
            return Ok(None);
        }
        let mut joined: Option<LogicalPlan> = None;
        for (relation, on) in steps {
            check()?;
            let relation = self.relations[relation].clone();
            joined = Some(match joined {
                None => relation,
                Some(left) => inner_join(left, relation, on)?,
            });
        }
        let rest = self.conditions.into_iter().enumerate();
        let rest = rest.filter(|(i, _)| !keys.used.contains(i));
        match (joined, all_of(rest.map(|(_, condition)| condition))) {
            (Some(plan), Some(predicate)) => {
                let filter = Filter::try_new(predicate, Arc::new(plan))?;
                Ok(Some(LogicalPlan::Filter(filter)))
            }
            (joined, _) => Ok(joined),
        }
    }
}

fn inner_join(left: LogicalPlan, right: LogicalPlan, on: On) -> Result<LogicalPlan> {
    let join = Join::try_new(
        Arc::new(left),
        Arc::new(right),
        on,
        None,
        JoinType::Inner,
        JoinConstraint::On,
        NullEquality::NullEqualsNothing,
        false,
    )?;
    Ok(LogicalPlan::Join(join))
}

/// `left = right`, of which each side reads relations of its own.
struct Equality {
    sides: [Expr; 2],
    reads: [HashSet<usize>; 2],
    /// The condition that it is. None: it follows from one, which is asked all the same.
    condition: Option<usize>,
}

/// The equalities of a run, and what of it is joined.
struct Keys {
    equalities: Vec<Equality>,
    /// Which equalities read a relation.
    reading: Vec<Vec<usize>>,
    joined: HashSet<usize>,
    /// Relations that have a key with what is joined.
    reachable: BTreeSet<usize>,
    /// Conditions that are keys now.
    used: HashSet<usize>,
}

impl Keys {
    fn new(relations: &[&LogicalPlan], conditions: &[Expr]) -> Self {
        let mut keys = Self {
            equalities: vec![],
            reading: vec![vec![]; relations.len()],
            joined: HashSet::new(),
            reachable: BTreeSet::new(),
            used: HashSet::new(),
        };
        let mut of_column = HashMap::new();
        for (i, relation) in relations.iter().enumerate() {
            of_column.extend(relation.schema().columns().into_iter().map(|c| (c, i)));
        }
        for (i, condition) in conditions.iter().enumerate() {
            let pairs = implied(condition);
            let itself = matches!(condition, Expr::BinaryExpr(e) if e.op == Operator::Eq);
            for sides in pairs {
                keys.insert(sides, itself.then_some(i), relations, &of_column);
            }
        }
        keys
    }

    /// Takes an equality if each side reads relations that the other does not, and a hash table may be made of its values.
    fn insert(
        &mut self,
        sides: [Expr; 2],
        condition: Option<usize>,
        relations: &[&LogicalPlan],
        of_column: &HashMap<Column, usize>,
    ) {
        let read = |side: &Expr| -> Option<HashSet<usize>> {
            let columns = side.column_refs().into_iter();
            columns.map(|c| of_column.get(c).copied()).collect()
        };
        let (Some(left), Some(right)) = (read(&sides[0]), read(&sides[1])) else {
            return;
        };
        let apart = left.is_disjoint(&right) && !left.is_empty() && !right.is_empty();
        if !apart || sides.iter().any(|side| !may_be_key(side)) {
            return;
        }
        // Both sides are of one type.
        let single = [&left, &right].into_iter().zip(&sides);
        let hashed = single
            .filter(|(reads, _)| reads.len() == 1)
            .any(|(reads, side)| {
                let relation = reads.iter().map(|relation| relations[*relation]).next();
                let data_type = relation.map(|relation| side.get_type(relation.schema()));
                data_type.is_some_and(|data_type| data_type.is_ok_and(|t| can_hash(&t)))
            });
        if !hashed {
            return;
        }
        for relation in left.union(&right) {
            self.reading[*relation].push(self.equalities.len());
        }
        self.equalities.push(Equality {
            sides,
            reads: [left, right],
            condition,
        });
    }

    /// The relations in the order in which they are joined, each with its keys: the next of FROM that has one with those before, or else
    /// the next.
    fn steps(&mut self) -> Result<Vec<(usize, On)>> {
        let mut waiting: BTreeSet<usize> = (0..self.reading.len()).collect();
        let mut steps = vec![];
        while let Some(next) = self.reachable.first().or(waiting.first()).copied() {
            check()?;
            waiting.remove(&next);
            steps.push((next, self.with(next)));
            self.add(next);
        }
        Ok(steps)
    }

    /// The side of a relation in an equality that is a key between it and what is joined.
    fn side_of(&self, relation: usize, equality: &Equality) -> Option<usize> {
        (0..2).find(|side| {
            let [of_it, of_others] = [&equality.reads[*side], &equality.reads[1 - side]];
            of_it.len() == 1 && of_it.contains(&relation) && of_others.is_subset(&self.joined)
        })
    }

    /// The keys of a relation with what is joined, whose side is the left one; they are used now.
    fn with(&mut self, relation: usize) -> On {
        let mut keys = vec![];
        for i in &self.reading[relation] {
            let equality = &self.equalities[*i];
            let Some(side) = self.side_of(relation, equality) else {
                continue;
            };
            let [it, other] = [&equality.sides[side], &equality.sides[1 - side]];
            let key = (other.clone(), it.clone());
            if !keys.contains(&key) {
                keys.push(key);
            }
            self.used.extend(equality.condition);
        }
        keys
    }

    /// A relation is joined: what has a key with it may be next.
    fn add(&mut self, relation: usize) {
        self.joined.insert(relation);
        self.reachable.remove(&relation);
        for i in &self.reading[relation] {
            let equality = &self.equalities[*i];
            for side in &equality.reads {
                let single = side.iter().next().filter(|_| side.len() == 1);
                if let Some(next) = single.filter(|next| !self.joined.contains(next))
                    && self.side_of(*next, equality).is_some()
                {
                    self.reachable.insert(*next);
                }
            }
        }
    }
}

fn may_be_key(side: &Expr) -> bool {
    let asks_a_query = |expr: &Expr| {
        let of_a_query = matches!(
            expr,
            Expr::ScalarSubquery(_)
                | Expr::InSubquery(_)
                | Expr::Exists(_)
                | Expr::SetComparison(_)
        );
        Ok(of_a_query)
    };
    !side.is_volatile() && !side.exists(asks_a_query).unwrap_or(true)
}

/// The equalities that hold wherever a condition holds.
fn implied(condition: &Expr) -> Vec<[Expr; 2]> {
    let Expr::BinaryExpr(BinaryExpr { left, op, right }) = condition else {
        return vec![];
    };
    match op {
        Operator::Eq if left.any_column_refs() && right.any_column_refs() => {
            vec![[left.as_ref().clone(), right.as_ref().clone()]]
        }
        Operator::And => [implied(left), implied(right)].concat(),
        Operator::Or => {
            let mut both = implied(left);
            if !both.is_empty() {
                let right: HashSet<[Expr; 2]> = implied(right).into_iter().collect();
                both.retain(|[l, r]| {
                    right.contains(&[l.clone(), r.clone()])
                        || right.contains(&[r.clone(), l.clone()])
                });
            }
            both
        }
        _ => vec![],
    }
}
