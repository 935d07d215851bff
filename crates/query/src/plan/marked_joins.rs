//! ASOF and POSITIONAL joins, which the parser has marked in their conditions.
//!
//! An ASOF join puts the rows of both sides into one order, within the values that must be equal, and numbers each row by the rows
//! of the right side up to it: rows of one number have the same match. What must hold: no row is compared with more than its
//! neighbours, and each side is run once.

use super::spelling::written;
use crate::common_types::{For, common_of};
use crate::functions::spelled;
use datafusion::common::{Column, DFSchema, JoinType, Result, ScalarValue, not_impl_err, plan_err};
use datafusion::functions_aggregate::count::count_udaf;
use datafusion::functions_window::nth_value::first_value_udwf;
use datafusion::functions_window::row_number::row_number_udwf;
use datafusion::logical_expr::expr::{Sort, WindowFunction};
use datafusion::logical_expr::type_coercion::binary::comparison_coercion;
use datafusion::logical_expr::utils::split_conjunction_owned;
use datafusion::logical_expr::{
    BinaryExpr, Expr, ExprFunctionExt, ExprSchemable, LogicalPlan, LogicalPlanBuilder, Operator,
    WindowFrame, WindowFrameBound, WindowFrameUnits, WindowFunctionDefinition, cast, lit, when,
};

/// Numbers of rows on both sides.
const LEFT_ROW: &str = "$left_row";
const RIGHT_ROW: &str = "$right_row";
/// Of the rows of both sides: what orders them, 1 for those of the right side, and how many of these there are so far.
const AT: &str = "$at";
const OF_RIGHT: &str = "$of_right";
const MATCH: &str = "$match";
/// How many rows of the left side have the match of a row.
const LEFT_ROWS: &str = "$left_rows";

fn named(name: &str) -> Expr {
    Expr::Column(Column::from_name(name))
}

/// The rows of both sides side by side, those of the longer one with NULL.
pub(super) fn positional(left: LogicalPlan, right: LogicalPlan) -> Result<LogicalPlan> {
    let columns = left.schema().columns().into_iter();
    let columns = columns.chain(right.schema().columns());
    let columns: Vec<Expr> = columns.map(Expr::Column).collect();
    let number = |plan, name| {
        let number = WindowFunction::new(
            WindowFunctionDefinition::WindowUDF(row_number_udwf()),
            vec![],
        );
        let number = Expr::from(number).alias(name);
        LogicalPlanBuilder::from(plan).window(vec![number])?.build()
    };
    let (left, right) = (number(left, LEFT_ROW)?, number(right, RIGHT_ROW)?);
    let same = named(LEFT_ROW).eq(named(RIGHT_ROW));
    let place =
        datafusion::functions::core::expr_fn::coalesce(vec![named(LEFT_ROW), named(RIGHT_ROW)]);
    LogicalPlanBuilder::from(left)
        .join_on(right, JoinType::Full, Some(same))?
        .sort(vec![place.sort(true, false)])?
        .project(columns)?
        .build()
}

/// What an ASOF JOIN compares.
pub(super) struct Asof {
    /// What must be equal, of the left and of the right side.
    pub(super) equal: Vec<(Expr, Expr)>,
    /// `left operator right`, of which the nearest is wanted.
    pub(super) nearest: (Expr, Operator, Expr),
}

impl Asof {
    /// Reads a condition.
    pub(super) fn of(on: Expr, left: &DFSchema, right: &DFSchema) -> Result<Self> {
        let (mut equal, mut nearest) = (vec![], None);
        for part in split_conjunction_owned(on) {
            if matches!(part, Expr::Literal(ScalarValue::Boolean(Some(true)), _)) {
                continue;
            }
            let is_of = |expr: &Expr, side: &DFSchema| {
                let columns = expr.column_refs();
                !columns.is_empty() && columns.iter().all(|c| side.is_column_from_schema(c))
            };
            // A condition of one side is 1 or NULL, which equals nothing.
            let holds = |part: Expr| when(part, lit(1i64)).end();
            if is_of(&part, left) {
                equal.push((holds(part)?, lit(1i64)));
                continue;
            }
            if is_of(&part, right) {
                equal.push((lit(1i64), holds(part)?));
                continue;
            }
            let Expr::BinaryExpr(BinaryExpr {
                left: a,
                op,
                right: b,
            }) = part
            else {
                return plan_err!(
                    "an ASOF JOIN takes comparisons of both sides, one with >=, >, <= or <, others with =, and conditions of one side"
                );
            };
            let (a, op, b) = match (is_of(&a, left) && is_of(&b, right), op.swap()) {
                (true, _) => (*a, op, *b),
                (false, Some(swapped)) if is_of(&a, right) && is_of(&b, left) => (*b, swapped, *a),
                _ => {
                    return plan_err!(
                        "an ASOF JOIN takes comparisons of the left with the right side"
                    );
                }
            };
            match op {
                Operator::Eq => equal.push((a, b)),
                Operator::Gt | Operator::GtEq | Operator::Lt | Operator::LtEq => {
                    if nearest.replace((a, op, b)).is_some() {
                        return plan_err!("Multiple ASOF JOIN inequalities");
                    }
                }
                _ => return plan_err!("Invalid ASOF JOIN comparison: {op}"),
            }
        }
        match nearest {
            Some(nearest) => Ok(Self { equal, nearest }),
            None => plan_err!("Missing ASOF JOIN inequality"),
        }
    }

    /// The left rows, each with the nearest of the right ones.
    pub(super) fn plan(
        self,
        left: &LogicalPlan,
        right: &LogicalPlan,
        join_type: JoinType,
    ) -> Result<LogicalPlan> {
        let keys: Vec<String> = (0..self.equal.len()).map(|n| format!("$key{n}")).collect();
        let (at_left, op, at_right) = self.nearest;
        let mut of_left = vec![at_left];
        let mut of_right = vec![at_right];
        for (a, b) in self.equal {
            of_left.push(a);
            of_right.push(b);
        }
        for (a, b) in of_left.iter_mut().zip(&mut of_right) {
            *a = alike(a, b, left.schema(), right.schema())?;
            *b = cast(b.clone(), a.get_type(left.schema())?);
        }
        let names: Vec<&str> = std::iter::once(AT)
            .chain(keys.iter().map(String::as_str))
            .collect();
        // What is NULL on the right is nobody's match.
        let there = of_right.iter().cloned().map(Expr::is_not_null);
        let there = there.reduce(Expr::and).unwrap_or(lit(true));
        let all_of_right = matches!(join_type, JoinType::Right | JoinType::Full);
        let known = LogicalPlanBuilder::from(right.clone());
        let (known, counts) = match all_of_right {
            true => (known, when(there, lit(1i64)).otherwise(lit(0i64))?),
            false => (known.filter(there)?, lit(1i64)),
        };
        let none = lit(ScalarValue::Int64(None));
        let of_left = side(of_left, &names, [left, right], true, none)?;
        let of_right = side(of_right, &names, [left, right], false, counts)?;
        let both = LogicalPlanBuilder::from(left.clone())
            .project(of_left)?
            .union(known.project(of_right)?.build()?)?;
        let width = right.schema().fields().len();
        let matched = numbered(both, &keys, op, width, all_of_right)?;
        let rows = matched.filter(shown(join_type)?)?;
        let of = |plan: &LogicalPlan, letter: &str| {
            let columns = plan.schema().columns().into_iter().enumerate();
            let columns = columns.map(|(at, column)| {
                let value = named(&format!("${letter}{at}"));
                let value = match written(plan, at) {
                    Some(written) => spelled(value, &written),
                    None => value,
                };
                value.alias_qualified(column.relation, column.name)
            });
            columns.collect::<Vec<_>>()
        };
        let rows = match all_of_right {
            true => rows.project(with_own_values(left, right)?)?,
            false => rows,
        };
        let of_right = match join_type {
            JoinType::LeftSemi | JoinType::LeftAnti => vec![],
            _ => of(right, "m"),
        };
        rows.project(of(left, "l").into_iter().chain(of_right))?
            .build()
    }
}

/// A value of the left side in the type in which it is compared with one of the right.
fn alike(a: &Expr, b: &Expr, left: &DFSchema, right: &DFSchema) -> Result<Expr> {
    let (own, other) = (a.get_type(left)?, b.get_type(right)?);
    let both = [(Some(a), own.clone()), (Some(b), other.clone())];
    let common = common_of(both.into_iter(), For::Comparison);
    match common.or_else(|| comparison_coercion(&own, &other)) {
        Some(common) if common == own => Ok(a.clone()),
        Some(common) => Ok(cast(a.clone(), common)),
        None => plan_err!("an ASOF JOIN cannot compare {own} with {other}"),
    }
}

fn has_match() -> Expr {
    named(MATCH).gt(lit(0i64))
}

/// The rows of both sides that a join has.
fn shown(join_type: JoinType) -> Result<Expr> {
    let of_left = named(OF_RIGHT).is_null();
    // The number of a row of the right side is that of the rows which it matches.
    let none = |name| named(name).eq(lit(0i64));
    let is_nobodys = none(OF_RIGHT).or(none(LEFT_ROWS));
    let alone = named(OF_RIGHT).is_not_null().and(is_nobodys);
    Ok(match join_type {
        JoinType::Inner | JoinType::LeftSemi => of_left.and(has_match()),
        JoinType::LeftAnti => of_left.and(has_match().is_not_true()),
        JoinType::Left => of_left,
        JoinType::Right => of_left.and(has_match()).or(alone),
        JoinType::Full => of_left.or(alone),
        other => return not_impl_err!("an ASOF JOIN that is {other}"),
    })
}

/// The columns of the rows, where those of the right side that match nothing have their own values.
fn with_own_values(left: &LogicalPlan, right: &LogicalPlan) -> Result<Vec<Expr>> {
    let of_left = 0..left.schema().fields().len();
    let mut columns: Vec<Expr> = of_left.map(|at| named(&format!("$l{at}"))).collect();
    for at in 0..right.schema().fields().len() {
        let mut own = when(named(OF_RIGHT).is_not_null(), named(&format!("$r{at}")));
        let value = own.when(has_match(), named(&format!("$m{at}"))).end()?;
        columns.push(value.alias(format!("$m{at}")));
    }
    Ok(columns)
}

/// The columns of one side, with NULL for those of the other.
fn side(
    compared: Vec<Expr>,
    names: &[&str],
    [left, right]: [&LogicalPlan; 2],
    is_left: bool,
    counts: Expr,
) -> Result<Vec<Expr>> {
    let compared = compared.into_iter().zip(names);
    let mut columns: Vec<Expr> = compared.map(|(expr, name)| expr.alias(*name)).collect();
    columns.push(counts.alias(OF_RIGHT));
    for (plan, letter, own) in [(left, "l", is_left), (right, "r", !is_left)] {
        let schema = plan.schema();
        for (at, column) in schema.columns().into_iter().enumerate() {
            let value = match own {
                true => Expr::Column(column),
                false => lit(ScalarValue::try_new_null(schema.field(at).data_type())?),
            };
            columns.push(value.alias(format!("${letter}{at}")));
        }
    }
    Ok(columns)
}

/// The rows of both sides, those of the left with their matches, as `$m0` and so on, and with the number of the match: 0 is none.
fn numbered(
    both: LogicalPlanBuilder,
    keys: &[String],
    op: Operator,
    of_right: usize,
    all_of_right: bool,
) -> Result<LogicalPlanBuilder> {
    let ascends = matches!(op, Operator::Gt | Operator::GtEq);
    let equal_too = matches!(op, Operator::GtEq | Operator::LtEq);
    let order: Vec<Sort> = vec![
        named(AT).sort(ascends, true),
        // Those of the right have a 1 here; they stand before what they match.
        named(OF_RIGHT).sort(true, !equal_too),
    ];
    let keys: Vec<Expr> = keys.iter().map(|key| named(key)).collect();
    let over = |function: WindowFunction, by: Vec<Expr>| {
        let window = Expr::from(function).order_by(order.clone());
        let window = window.window_frame(WindowFrame::new_bounds(
            WindowFrameUnits::Rows,
            WindowFrameBound::Preceding(ScalarValue::UInt64(None)),
            WindowFrameBound::CurrentRow,
        ));
        match by.is_empty() {
            true => window.build(),
            false => window.partition_by(by).build(),
        }
    };
    let counted = |of: Expr| {
        let count = WindowFunctionDefinition::AggregateUDF(count_udaf());
        WindowFunction::new(count, vec![of])
    };
    let matches = when(named(OF_RIGHT).eq(lit(1i64)), lit(1i64)).end()?;
    let count = over(counted(matches), keys.clone())?.alias(MATCH);
    let by: Vec<Expr> = keys.into_iter().chain([named(MATCH)]).collect();
    let of_left = when(named(OF_RIGHT).is_null(), lit(1i64)).end()?;
    let left_rows = Expr::from(counted(of_left)).partition_by(by.clone());
    let left_rows = left_rows.build()?.alias(LEFT_ROWS);
    let first = |at: usize| {
        let first = WindowFunction::new(
            WindowFunctionDefinition::WindowUDF(first_value_udwf()),
            vec![named(&format!("$r{at}"))],
        );
        Ok(over(first, by.clone())?.alias(format!("$m{at}")))
    };
    let firsts = (0..of_right).map(first).collect::<Result<Vec<_>>>()?;
    let numbered = both.window(vec![count])?.window(firsts)?;
    match all_of_right {
        true => numbered.window(vec![left_rows]),
        false => Ok(numbered),
    }
}
