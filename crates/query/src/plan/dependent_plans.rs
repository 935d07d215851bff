//! `Dependent`: the plan of a subquery for all values of the outer columns that it names. Each row stands beside the values that
//! it is of.

use super::dependent_joins::{join_subqueries, same};
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, JoinType, Result, Spans, TableReference, not_impl_err};
use datafusion::functions::core::expr_fn::coalesce;
use datafusion::functions_window::expr_fn::row_number;
use datafusion::logical_expr::expr::{AggregateFunction, Exists, InSubquery, Sort};
use datafusion::logical_expr::{
    Aggregate, Distinct, Expr, ExprFunctionExt, FetchType, Filter, GroupingSet, Join, Limit,
    LogicalPlan, LogicalPlanBuilder, Projection, SkipType, Subquery, SubqueryAlias, Union, Values,
    Window, lit,
};
use hushdb_sql::stack::with_room;
use std::cell::Cell;
use std::sync::Arc;

/// Names that no two columns share.
#[derive(Default)]
pub(super) struct Names(Cell<usize>);

impl Names {
    pub(super) fn next(&self, name: &str) -> String {
        self.0.set(self.0.get() + 1);
        format!("{name}{}", self.0.get())
    }
}

/// A subquery's plan, and its columns that hold the values of the outer ones.
type Evaluated = (LogicalPlan, Vec<Column>);

/// What a subquery depends on.
pub(super) struct Dependent<'a> {
    /// The outer columns.
    pub(super) outer: &'a [Column],
    /// What they are columns of.
    pub(super) of: &'a LogicalPlan,
    pub(super) names: &'a Names,
}

/// Whether an expression names an outer column; those that subqueries in it name count by themselves.
pub(super) fn names_any(
    expr: &Expr,
    which: &dyn Fn(&Column) -> bool,
    in_subqueries: bool,
) -> Result<bool> {
    let mut found = false;
    expr.apply(|expr| {
        match expr {
            Expr::OuterReferenceColumn(_, column) => found |= !in_subqueries && which(column),
            Expr::ScalarSubquery(subquery)
            | Expr::Exists(Exists { subquery, .. })
            | Expr::InSubquery(InSubquery { subquery, .. })
                if in_subqueries =>
            {
                found |= plan_names_any(&subquery.subquery, which)?;
            }
            _ => {}
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(found)
}

/// Whether a plan names an outer column, at any depth.
pub(super) fn plan_names_any(plan: &LogicalPlan, which: &dyn Fn(&Column) -> bool) -> Result<bool> {
    let mut found = false;
    plan.apply_with_subqueries(|plan| {
        plan.apply_expressions(|expr| {
            found |= names_any(expr, which, false)?;
            Ok(TreeNodeRecursion::Continue)
        })
    })?;
    Ok(found)
}

fn columns_of(plan: &LogicalPlan) -> Vec<Expr> {
    plan.schema()
        .columns()
        .into_iter()
        .map(Expr::Column)
        .collect()
}

fn as_exprs(keys: &[Column]) -> Vec<Expr> {
    keys.iter().cloned().map(Expr::Column).collect()
}

impl Dependent<'_> {
    /// The plan for all values of the outer columns.
    pub(super) fn evaluated(&self, plan: &LogicalPlan) -> Result<Evaluated> {
        with_room(|| self.node(plan))
    }

    fn node(&self, plan: &LogicalPlan) -> Result<Evaluated> {
        if !self.is_dependent(plan)? {
            let (values, keys) = self.values()?;
            let both = LogicalPlanBuilder::from(plan.clone()).cross_join(values)?;
            return Ok((both.build()?, keys));
        }
        let (plan, keys) = match plan {
            LogicalPlan::Projection(projection) => self.projection(projection)?,
            LogicalPlan::Filter(filter) => {
                let (input, keys) = self.evaluated(&filter.input)?;
                let predicate = self.inner(filter.predicate.clone(), &keys)?;
                let filter = Filter::try_new(predicate, Arc::new(input))?;
                (LogicalPlan::Filter(filter), keys)
            }
            LogicalPlan::SubqueryAlias(alias) => {
                let (input, keys) = self.evaluated(&alias.input)?;
                let name = alias.alias.clone();
                let keys = qualified(keys, &name);
                let alias = SubqueryAlias::try_new(Arc::new(input), name)?;
                (LogicalPlan::SubqueryAlias(alias), keys)
            }
            LogicalPlan::Distinct(Distinct::All(input)) => {
                let (input, keys) = self.evaluated(input)?;
                (LogicalPlan::Distinct(Distinct::All(Arc::new(input))), keys)
            }
            LogicalPlan::Aggregate(aggregate) if aggregate.group_expr.is_empty() => {
                self.one_group(aggregate)?
            }
            LogicalPlan::Aggregate(aggregate) => self.groups(aggregate)?,
            // Within each value of the keys the rows are sorted, too, where somebody sees it.
            LogicalPlan::Sort(sort) if sort.fetch.is_none() => {
                let (input, keys) = self.evaluated(&sort.input)?;
                let by = sort.expr.iter().map(|by| {
                    Ok(Sort {
                        expr: self.inner(by.expr.clone(), &keys)?,
                        ..by.clone()
                    })
                });
                let by = by.collect::<Result<Vec<_>>>()?;
                (LogicalPlanBuilder::from(input).sort(by)?.build()?, keys)
            }
            LogicalPlan::Limit(limit) => self.limit(limit)?,
            LogicalPlan::Join(join) => self.join(join)?,
            LogicalPlan::Union(union) => self.union(union)?,
            LogicalPlan::Values(values) => self.rows(values)?,
            LogicalPlan::Window(window) => self.window(window)?,
            LogicalPlan::Unnest(unnest) => {
                let (input, keys) = self.evaluated(&unnest.input)?;
                let (columns, options) = (unnest.exec_columns.clone(), unnest.options.clone());
                let plan = LogicalPlanBuilder::from(input)
                    .unnest_columns_with_options(columns, options)?;
                (plan.build()?, keys)
            }
            _ => return not_impl_err!("this subquery of an outer query's columns"),
        };
        // What subqueries within it named are its own columns now.
        Ok((join_subqueries(plan, self.names)?.data, keys))
    }

    fn is_dependent(&self, plan: &LogicalPlan) -> Result<bool> {
        plan_names_any(plan, &|column| self.outer.contains(column))
    }

    /// All different values of the outer columns.
    fn values(&self) -> Result<Evaluated> {
        let named = self.outer.iter().map(|column| {
            let name = self.names.next("$outer");
            let value = Expr::Column(column.clone()).alias(&name);
            (value, Column::new_unqualified(name))
        });
        let (values, keys): (Vec<_>, Vec<_>) = named.unzip();
        let plan = LogicalPlanBuilder::from(self.of.clone()).project(values)?;
        Ok((plan.distinct()?.build()?, keys))
    }

    /// An expression with the keys in place of the outer columns.
    fn inner(&self, expr: Expr, keys: &[Column]) -> Result<Expr> {
        let key = |column: &Column| {
            let at = self.outer.iter().position(|outer| outer == column);
            at.and_then(|at| keys.get(at).cloned())
        };
        let replaced = expr.transform_up(|mut expr| match &mut expr {
            Expr::OuterReferenceColumn(_, column) => Ok(match key(column) {
                Some(key) => Transformed::yes(Expr::Column(key)),
                None => Transformed::no(expr),
            }),
            Expr::ScalarSubquery(subquery)
            | Expr::Exists(Exists { subquery, .. })
            | Expr::InSubquery(InSubquery { subquery, .. }) => {
                let plan = subquery.subquery.as_ref().clone();
                let plan = plan.transform_down_with_subqueries(|plan| {
                    plan.map_expressions(|expr| {
                        expr.transform_up(|expr| match &expr {
                            Expr::OuterReferenceColumn(field, column) => Ok(match key(column) {
                                Some(key) => {
                                    let field = Arc::clone(field);
                                    Transformed::yes(Expr::OuterReferenceColumn(field, key))
                                }
                                None => Transformed::no(expr),
                            }),
                            _ => Ok(Transformed::no(expr)),
                        })
                    })
                })?;
                *subquery = Subquery {
                    outer_ref_columns: plan.data.all_out_ref_exprs(),
                    subquery: Arc::new(plan.data),
                    spans: Spans::new(),
                };
                Ok(Transformed::yes(expr))
            }
            _ => Ok(Transformed::no(expr)),
        })?;
        Ok(replaced.data)
    }

    /// Expressions under the names that they had.
    fn named(&self, exprs: &[Expr], keys: &[Column]) -> Result<Vec<Expr>> {
        let named = exprs.iter().map(|expr| {
            let (qualifier, name) = expr.qualified_name();
            let inner = self.inner(expr.clone(), keys)?;
            Ok(
                match inner.qualified_name() == (qualifier.clone(), name.clone()) {
                    true => inner,
                    false => inner.unalias().alias_qualified(qualifier, name),
                },
            )
        });
        named.collect()
    }

    fn projection(&self, projection: &Projection) -> Result<Evaluated> {
        let (input, keys) = self.evaluated(&projection.input)?;
        let mut exprs = self.named(&projection.expr, &keys)?;
        exprs.extend(as_exprs(&keys));
        let plan = Projection::try_new(exprs, Arc::new(input))?;
        Ok((LogicalPlan::Projection(plan), keys))
    }

    fn groups(&self, aggregate: &Aggregate) -> Result<Evaluated> {
        let (input, keys) = self.evaluated(&aggregate.input)?;
        let mut groups = self.named(&aggregate.group_expr, &keys)?;
        let by = as_exprs(&keys);
        match groups.as_mut_slice() {
            [Expr::GroupingSet(GroupingSet::GroupingSets(sets))] => {
                if sets.iter().any(Vec::is_empty) {
                    return not_impl_err!("this subquery of an outer query's columns");
                }
                sets.iter_mut().for_each(|set| set.extend(by.clone()));
            }
            [Expr::GroupingSet(_)] => {
                return not_impl_err!("this subquery of an outer query's columns");
            }
            _ => groups.extend(by.clone()),
        }
        let aggregates = self.named(&aggregate.aggr_expr, &keys)?;
        let plan = Aggregate::try_new(Arc::new(input), groups, aggregates)?;
        self.columns(
            LogicalPlan::Aggregate(plan),
            aggregate.schema.columns(),
            keys,
        )
    }

    /// An aggregate that has a row of no rows, too: so it has for all values.
    fn one_group(&self, aggregate: &Aggregate) -> Result<Evaluated> {
        let (input, inner) = self.evaluated(&aggregate.input)?;
        let mark = self.names.next("$marked");
        let mut columns = columns_of(&input);
        columns.push(lit(true).alias(&mark));
        let input = LogicalPlanBuilder::from(input).project(columns)?.build()?;
        let (values, keys) = self.values()?;
        let pairs = keys.iter().zip(&inner);
        let on = pairs.map(|(a, b)| same(Expr::Column(a.clone()), Expr::Column(b.clone())));
        let on: Vec<_> = on.collect();
        let rows = LogicalPlanBuilder::from(values).join_on(input, JoinType::Left, on)?;
        let is_row = Expr::Column(Column::new_unqualified(mark)).is_not_null();
        let mut aggregates = vec![];
        for aggregate in &aggregate.aggr_expr {
            let name = aggregate.qualified_name();
            let of_rows = self
                .inner(aggregate.clone(), &keys)?
                .transform_up(|mut expr| {
                    let Expr::AggregateFunction(AggregateFunction { params, .. }) = &mut expr
                    else {
                        return Ok(Transformed::no(expr));
                    };
                    let filter = params
                        .filter
                        .take()
                        .map(|filter| is_row.clone().and(*filter));
                    params.filter = Some(Box::new(filter.unwrap_or_else(|| is_row.clone())));
                    Ok(Transformed::yes(expr))
                })?;
            aggregates.push(of_rows.data.unalias().alias_qualified(name.0, name.1));
        }
        let plan = rows.aggregate(as_exprs(&keys), aggregates)?.build()?;
        self.columns(plan, aggregate.schema.columns(), keys)
    }

    /// These columns and the keys.
    fn columns(
        &self,
        plan: LogicalPlan,
        columns: Vec<Column>,
        keys: Vec<Column>,
    ) -> Result<Evaluated> {
        // What tells sets apart is made anew with them.
        let columns = columns.iter().chain(&keys);
        let columns = columns.filter(|column| column.name != Aggregate::INTERNAL_GROUPING_ID);
        let columns = columns.cloned().map(Expr::Column);
        let plan = LogicalPlanBuilder::from(plan).project(columns)?.build()?;
        Ok((plan, keys))
    }

    /// So many rows for each of the values.
    fn limit(&self, limit: &Limit) -> Result<Evaluated> {
        let (skip, fetch) = match (limit.get_skip_type()?, limit.get_fetch_type()?) {
            (SkipType::Literal(skip), FetchType::Literal(fetch)) => (skip as u64, fetch),
            _ => return not_impl_err!("this LIMIT in a subquery of an outer query's columns"),
        };
        let (input, order): (_, &[Sort]) = match limit.input.as_ref() {
            // A row of it is a row of its input.
            LogicalPlan::Projection(projection) => {
                let input = Arc::clone(&projection.input);
                let limit = LogicalPlan::Limit(Limit {
                    input,
                    ..limit.clone()
                });
                let expr = projection.expr.clone();
                return self.projection(&Projection::try_new(expr, Arc::new(limit))?);
            }
            LogicalPlan::Sort(sort) if sort.fetch.is_none() => (&sort.input, sort.expr.as_slice()),
            _ => (&limit.input, &[]),
        };
        let (input, keys) = self.evaluated(input)?;
        let columns = limit.input.schema().columns();
        let order = order.iter().map(|sort| {
            let expr = self.inner(sort.expr.clone(), &keys)?;
            Ok(Sort {
                expr,
                ..sort.clone()
            })
        });
        let order: Vec<_> = order.collect::<Result<_>>()?;
        let number = row_number().partition_by(as_exprs(&keys));
        let number = match order.is_empty() {
            true => number.build()?,
            false => number.order_by(order).build()?,
        };
        let name = self.names.next("$number");
        let plan = LogicalPlanBuilder::from(input).window([number.alias(&name)])?;
        let number = || Expr::Column(Column::new_unqualified(&name));
        let mut kept = number().gt(lit(skip));
        if let Some(fetch) = fetch {
            kept = kept.and(number().lt_eq(lit(skip.saturating_add(fetch as u64))));
        }
        self.columns(plan.filter(kept)?.build()?, columns, keys)
    }

    fn window(&self, window: &Window) -> Result<Evaluated> {
        let (input, keys) = self.evaluated(&window.input)?;
        let by = as_exprs(&keys);
        let mut exprs = vec![];
        for expr in &window.window_expr {
            let name = expr.schema_name().to_string();
            let within = self.inner(expr.clone(), &keys)?.transform_up(|mut expr| {
                let Expr::WindowFunction(window) = &mut expr else {
                    return Ok(Transformed::no(expr));
                };
                window.params.partition_by.extend(by.clone());
                Ok(Transformed::yes(expr))
            })?;
            exprs.push(within.data.unalias().alias(name));
        }
        let plan = Window::try_new(exprs, Arc::new(input))?;
        self.columns(LogicalPlan::Window(plan), window.schema.columns(), keys)
    }

    fn union(&self, union: &Union) -> Result<Evaluated> {
        let keys = self.outer.iter();
        let keys: Vec<_> = keys
            .map(|_| Column::new_unqualified(self.names.next("$outer")))
            .collect();
        let inputs = union.inputs.iter().map(|input| {
            let columns = input.schema().columns().into_iter().map(Expr::Column);
            let (plan, own) = self.evaluated(input)?;
            let own = as_exprs(&own).into_iter().zip(&keys);
            let own = own.map(|(own, key)| own.alias(&key.name));
            let plan = LogicalPlanBuilder::from(plan).project(columns.chain(own))?;
            Ok(Arc::new(plan.build()?))
        });
        let plan = Union::try_new_with_loose_types(inputs.collect::<Result<_>>()?)?;
        Ok((LogicalPlan::Union(plan), keys))
    }

    /// VALUES: a SELECT of each row.
    fn rows(&self, values: &Values) -> Result<Evaluated> {
        let columns = values.schema.columns();
        let rows = values.values.iter().map(|row| {
            let named = columns.iter().zip(row);
            let named = named.map(|(column, value)| {
                let (table, name) = (column.relation.clone(), column.name.clone());
                value.clone().alias_qualified(table, name)
            });
            let row = LogicalPlanBuilder::empty(true).project(named)?.build()?;
            Ok(Arc::new(row))
        });
        let rows: Vec<Arc<LogicalPlan>> = rows.collect::<Result<_>>()?;
        if let [row] = rows.as_slice() {
            return self.evaluated(row);
        }
        self.union(&Union::try_new_with_loose_types(rows)?)
    }

    fn join(&self, join: &Join) -> Result<Evaluated> {
        use JoinType as J;
        let of = |side: fn(&(Expr, Expr)) -> &Expr| -> Result<bool> {
            let mut found = false;
            for pair in &join.on {
                found |= names_any(side(pair), &|c| self.outer.contains(c), false)?;
            }
            Ok(found)
        };
        let left = self.is_dependent(&join.left)? || of(|pair| &pair.0)?;
        let right = self.is_dependent(&join.right)? || of(|pair| &pair.1)?;
        let (left, right) = match join.join_type {
            J::Inner => (left || !right, right),
            J::Left | J::LeftSemi | J::LeftAnti | J::LeftMark => (true, right),
            J::Right | J::RightSemi | J::RightAnti | J::RightMark => (left, true),
            J::Full => (true, true),
        };
        if join.null_aware && right {
            return not_impl_err!("this subquery of an outer query's columns");
        }
        let side = |dependent: bool, plan: &LogicalPlan| match dependent {
            true => self.evaluated(plan),
            false => Ok((plan.clone(), vec![])),
        };
        let (left, of_left) = side(left, &join.left)?;
        let (right, of_right) = side(right, &join.right)?;
        let is_right = matches!(
            join.join_type,
            J::Right | J::RightSemi | J::RightAnti | J::RightMark
        );
        let keys = match is_right || of_left.is_empty() {
            true => of_right.clone(),
            false => of_left.clone(),
        };
        let pairs = of_left.iter().zip(&of_right);
        let same_values =
            pairs.map(|(a, b)| same(Expr::Column(a.clone()), Expr::Column(b.clone())));
        let filter = join.filter.clone().map(|filter| self.inner(filter, &keys));
        let filter = same_values.chain(filter.transpose()?).reduce(Expr::and);
        let on = join.on.iter().map(|(a, b)| {
            let left = self.inner(a.clone(), &of_left)?;
            Ok((left, self.inner(b.clone(), &of_right)?))
        });
        let plan = LogicalPlan::Join(Join::try_new(
            Arc::new(left),
            Arc::new(right),
            on.collect::<Result<_>>()?,
            filter,
            join.join_type,
            join.join_constraint,
            join.null_equality,
            join.null_aware,
        )?);
        let columns = join.schema.columns();
        if join.join_type != J::Full {
            return self.columns(plan, columns, keys);
        }
        let mut exprs: Vec<Expr> = columns.into_iter().map(Expr::Column).collect();
        let mut keys = vec![];
        for (left, right) in as_exprs(&of_left).into_iter().zip(as_exprs(&of_right)) {
            let name = self.names.next("$outer");
            exprs.push(coalesce(vec![left, right]).alias(&name));
            keys.push(Column::new_unqualified(name));
        }
        let plan = LogicalPlanBuilder::from(plan).project(exprs)?.build()?;
        Ok((plan, keys))
    }
}

fn qualified(keys: Vec<Column>, by: &TableReference) -> Vec<Column> {
    let keys = keys.into_iter();
    keys.map(|key| Column::new(Some(by.clone()), key.name))
        .collect()
}
