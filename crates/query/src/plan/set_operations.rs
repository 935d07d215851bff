//! `SetOperations`: UNION, EXCEPT and INTERSECT. `hushdb_sql` makes calls of them.
//!
//! What must hold: columns have the type that holds what all queries give, before anything is planned over them.

use super::numbers::{read_literals, to_type};
use super::postgres_literals::text_of;
use super::spelling::written;
use crate::common_types::stacked;
use crate::functions::spelled;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{Column, DFSchema, Result, ScalarValue, UnnestOptions, plan_err};
use datafusion::functions_aggregate::expr_fn::count;
use datafusion::functions_nested::range::range_udf;
use datafusion::logical_expr::planner::{
    PlannedRelation, RelationPlanner, RelationPlannerContext, RelationPlanning,
};
use datafusion::logical_expr::{
    Cast, Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder, Operator, Union, binary_expr, lit,
    when,
};
use datafusion::sql::sqlparser::ast::TableFactor;
use hushdb_sql::type_names::{display_type, is_called_json};
use hushdb_sql::{SetOperation, folded, set_operation};
use std::sync::Arc;

#[derive(Debug)]
pub(super) struct SetOperations;

impl RelationPlanner for SetOperations {
    fn plan_relation(
        &self,
        relation: TableFactor,
        context: &mut dyn RelationPlannerContext,
    ) -> Result<RelationPlanning> {
        let Some((operation, queries)) = set_operation(&relation) else {
            return Ok(RelationPlanning::Original(Box::new(relation)));
        };
        let sides = queries.into_iter().map(|query| {
            context.plan(TableFactor::Derived {
                lateral: false,
                subquery: Box::new(query),
                alias: None,
                sample: None,
            })
        });
        let sides = sides.collect::<Result<Vec<_>>>()?;
        let alias = match relation {
            TableFactor::Table { alias, .. } => alias,
            _ => None,
        };
        use SetOperation as S;
        let planned = match operation {
            S::UnionAll | S::Union | S::UnionAllByName | S::UnionByName => union(operation, sides)?,
            S::Except | S::Intersect => distinct(operation, sides)?,
            S::ExceptAll | S::IntersectAll => counted(operation, sides)?,
            S::Rows => match <[LogicalPlan; 1]>::try_from(sides) {
                Ok([rows]) => rows,
                Err(_) => return plan_err!("the rows of one query were asked for"),
            },
        };
        let planned = PlannedRelation::new(planned, alias);
        Ok(RelationPlanning::Planned(Box::new(planned)))
    }
}

/// The type of a column in a UNION of queries in which it has these; `None` where there is none.
pub fn column_type(types: &[DataType]) -> Option<DataType> {
    let fields = types.iter().map(|of| Field::new("", of.clone(), true));
    let fields: Vec<Field> = fields.collect();
    let common = stacked(&fields.iter().collect::<Vec<_>>())?;
    Some(common.data_type().clone())
}

/// Columns of the queries that stand under one another: for each query an expression, or none where it has no such column.
struct Columns {
    names: Vec<String>,
    /// How the names are written, where a query knows it.
    written: Vec<Option<String>>,
    of_sides: Vec<Vec<Option<Expr>>>,
}

impl Columns {
    fn by_position(sides: &[LogicalPlan]) -> Result<Self> {
        let widths: Vec<usize> = sides.iter().map(|s| s.schema().fields().len()).collect();
        if widths.windows(2).any(|pair| pair[0] != pair[1]) {
            return plan_err!(
                "Set operations can only apply to expressions with the same number of result columns"
            );
        }
        let first = sides.first().map(names).unwrap_or_default();
        let mut unique: Vec<String> = vec![];
        for name in first {
            let taken = |name: &String| unique.contains(name);
            let others = (1..).map(|n| format!("{name}_{n}"));
            let free = std::iter::once(name.clone())
                .chain(others)
                .find(|n| !taken(n));
            unique.extend(free);
        }
        let columns =
            |side: &LogicalPlan| side.schema().columns().into_iter().map(column).collect();
        let of_first = |at| written(sides.first()?, at);
        Ok(Self {
            written: (0..unique.len()).map(of_first).collect(),
            names: unique,
            of_sides: sides.iter().map(columns).collect(),
        })
    }

    /// As in DuckDB, names differ by more than their case.
    fn by_name(sides: &[LogicalPlan]) -> Result<Self> {
        let mut all: Vec<String> = vec![];
        let mut spellings = vec![];
        let mut keys: Vec<Vec<String>> = vec![];
        for side in sides {
            let mut own: Vec<String> = vec![];
            for (at, name) in names(side).into_iter().enumerate() {
                let key = folded(&name);
                if own.contains(&key) {
                    return plan_err!(
                        "UNION (ALL) BY NAME operation doesn't support duplicate names in the SELECT list - the name \
                         \"{name}\" occurs multiple times"
                    );
                }
                if !all.iter().any(|known| folded(known) == key) {
                    all.push(name);
                    spellings.push(written(side, at));
                }
                own.push(key);
            }
            keys.push(own);
        }
        let of_side = |(side, keys): (&LogicalPlan, &Vec<String>)| {
            let columns = side.schema().columns();
            let found = all.iter().map(|name| {
                let at = keys.iter().position(|key| *key == folded(name))?;
                column(columns.get(at)?.clone())
            });
            found.collect()
        };
        let of_sides = sides.iter().zip(&keys).map(of_side).collect();
        Ok(Self {
            names: all,
            written: spellings,
            of_sides,
        })
    }

    /// The queries, each with all columns, of one type, under names that only stand here.
    fn aligned(&self, sides: Vec<LogicalPlan>) -> Result<Vec<LogicalPlan>> {
        let fields = (0..self.names.len()).map(|at| self.field(at, &sides));
        let fields = fields.collect::<Result<Vec<_>>>()?;
        let types: Vec<DataType> = fields.iter().map(|of| of.data_type().clone()).collect();
        let aligned = sides
            .into_iter()
            .zip(&self.of_sides)
            .map(|(side, columns)| {
                let own = side.schema().columns().into_iter();
                let is_in_order = own.map(column).eq(columns.iter().cloned());
                let side = match is_in_order {
                    true => read_literals(side, &types)?,
                    false => side,
                };
                let columns = columns.iter().zip(&fields).enumerate();
                let columns = columns.map(|(at, (column, to))| {
                    let column = match column {
                        Some(column) => to_field(column.clone(), to, side.schema())?,
                        None => lit(ScalarValue::try_from(to.data_type())?),
                    };
                    Ok(column.alias(position(at)))
                });
                let columns = columns.collect::<Result<Vec<_>>>()?;
                LogicalPlanBuilder::from(side).project(columns)?.build()
            });
        aligned.collect()
    }

    /// What a column of the result is.
    fn field(&self, at: usize, sides: &[LogicalPlan]) -> Result<FieldRef> {
        let of_sides = self.of_sides.iter().zip(sides);
        let given = of_sides.filter_map(|(columns, side)| {
            let Some(Expr::Column(column)) = columns.get(at)?.as_ref() else {
                return None;
            };
            let place = side.schema().maybe_index_of_column(column)?;
            let is_untyped = is_untyped_text(side, place);
            Some((side.schema().field(place).as_ref(), is_untyped))
        });
        let given: Vec<(&Field, bool)> = given.collect();
        let is_typed =
            |(field, is_untyped): &(&Field, bool)| !is_untyped && !field.data_type().is_null();
        let any_typed = given.iter().any(is_typed);
        let fields = given.iter().filter(|of| !any_typed || is_typed(of));
        let fields: Vec<&Field> = fields.map(|(field, _)| *field).collect();
        match stacked(&fields) {
            Some(field) => Ok(Arc::new(field)),
            None => {
                let names = fields.iter().map(|field| display_type(field));
                let names = names.collect::<Vec<_>>().join(" and ");
                plan_err!("Cannot combine types {names} - an explicit cast is required")
            }
        }
    }

    /// `aligned` columns.
    fn positions(&self) -> Vec<Expr> {
        (0..self.names.len())
            .map(|at| named(&position(at)))
            .collect()
    }

    /// The same, under the names that the result has.
    fn renamed(&self) -> Vec<Expr> {
        let columns = self.positions().into_iter().zip(&self.names);
        let columns = columns.zip(&self.written);
        let columns = columns.map(|((column, name), written)| match written {
            Some(written) => spelled(column, written).alias(name),
            None => column.alias(name),
        });
        columns.collect()
    }
}

fn names(plan: &LogicalPlan) -> Vec<String> {
    let fields = plan.schema().fields().iter();
    fields.map(|field| field.name().clone()).collect()
}

fn column(column: Column) -> Option<Expr> {
    Some(Expr::Column(column))
}

fn position(at: usize) -> String {
    format!("${at}")
}

fn named(name: &str) -> Expr {
    Expr::Column(Column::new_unqualified(name))
}

/// Brings a query's column to the type that the result's has.
fn to_field(column: Expr, to: &FieldRef, schema: &DFSchema) -> Result<Expr> {
    let (_, own) = column.to_field(schema)?;
    match is_called_json(to) && !is_called_json(&own) {
        true => Ok(Expr::Cast(Cast::new_from_field(
            Box::new(column),
            Arc::clone(to),
        ))),
        false => to_type(column, to.data_type(), schema),
    }
}

/// Whether a query's column is a text that is written, of no type in PostgreSQL's dialect.
fn is_untyped_text(query: &LogicalPlan, at: usize) -> bool {
    match query {
        LogicalPlan::Projection(projection) => {
            let item = projection.expr.get(at).cloned();
            item.is_some_and(|item| text_of(&item.unalias()).is_some())
        }
        LogicalPlan::SubqueryAlias(alias) => is_untyped_text(&alias.input, at),
        _ => false,
    }
}

/// All rows, of queries with columns of the same types.
fn all_rows(sides: Vec<LogicalPlan>) -> Result<LogicalPlanBuilder> {
    let sides = sides.into_iter().map(Arc::new).collect();
    let union = Union::try_new_with_loose_types(sides)?;
    Ok(LogicalPlanBuilder::from(LogicalPlan::Union(union)))
}

fn union(operation: SetOperation, sides: Vec<LogicalPlan>) -> Result<LogicalPlan> {
    use SetOperation as S;
    let columns = match operation {
        S::UnionAllByName | S::UnionByName => Columns::by_name(&sides)?,
        _ => Columns::by_position(&sides)?,
    };
    let mut rows = all_rows(columns.aligned(sides)?)?;
    if matches!(operation, S::Union | S::UnionByName) {
        rows = rows.distinct()?;
    }
    rows.project(columns.renamed())?.build()
}

fn distinct(operation: SetOperation, sides: Vec<LogicalPlan>) -> Result<LogicalPlan> {
    let columns = Columns::by_position(&sides)?;
    let Ok([left, right]) = <[LogicalPlan; 2]>::try_from(columns.aligned(sides)?) else {
        return plan_err!("EXCEPT and INTERSECT are of two queries");
    };
    let rows = match operation {
        SetOperation::Except => LogicalPlanBuilder::except(left, right, false)?,
        _ => LogicalPlanBuilder::intersect(left, right, false)?,
    };
    LogicalPlanBuilder::from(rows)
        .project(columns.renamed())?
        .build()
}

/// Whether a row is of the first query.
const IS_LEFT: &str = "$left";
const LEFT_ROWS: &str = "$left_rows";
const RIGHT_ROWS: &str = "$right_rows";
const COPIES: &str = "$copies";

/// Counts equal rows of both queries, and gives as many copies as the operation leaves.
fn counted(operation: SetOperation, sides: Vec<LogicalPlan>) -> Result<LogicalPlan> {
    let columns = Columns::by_position(&sides)?;
    let marked = columns
        .aligned(sides)?
        .into_iter()
        .enumerate()
        .map(|(at, side)| {
            let with_mark = columns
                .positions()
                .into_iter()
                .chain([lit(at == 0).alias(IS_LEFT)]);
            LogicalPlanBuilder::from(side).project(with_mark)?.build()
        });
    let all = all_rows(marked.collect::<Result<_>>()?)?;
    let rows = |test: Expr| {
        Ok::<_, datafusion::error::DataFusionError>(count(when(test, lit(1i64)).end()?))
    };
    let groups = all.aggregate(
        columns.positions(),
        [
            rows(named(IS_LEFT))?.alias(LEFT_ROWS),
            rows(!named(IS_LEFT))?.alias(RIGHT_ROWS),
        ],
    )?;
    let (left, right) = (named(LEFT_ROWS), named(RIGHT_ROWS));
    let copies = match operation {
        SetOperation::ExceptAll => binary_expr(left, Operator::Minus, right),
        _ => when(left.clone().lt(right.clone()), left).otherwise(right)?,
    };
    let copies = range_udf().call(vec![lit(0i64), copies]).alias(COPIES);
    let with_copies = columns.positions().into_iter().chain([copies]);
    groups
        .project(with_copies)?
        .unnest_column_with_options(
            Column::new_unqualified(COPIES),
            UnnestOptions::new().with_preserve_nulls(false),
        )?
        .project(columns.renamed())?
        .build()
}
