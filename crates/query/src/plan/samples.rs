//! `Samples`: `FROM (t CROSS JOIN "$sample"(number, unit, method, seed))`, some rows of a relation (`sql/samples.rs` writes it).
//!
//! What must hold: a sample with a seed is the same whenever the rows come in the same order; a number of rows is that number,
//! where there are as many. Rows of a sample of rows come in no order.

use datafusion::arrow::array::{ArrayRef, AsArray, Float64Array};
use datafusion::arrow::datatypes::{DataType, UInt64Type};
use datafusion::common::{Column, Result, ScalarValue, plan_err};
use datafusion::functions::math::expr_fn::random;
use datafusion::functions_aggregate::count::count_udaf;
use datafusion::functions_window::expr_fn::row_number;
use datafusion::logical_expr::expr::WindowFunction;
use datafusion::logical_expr::planner::{
    PlannedRelation, RelationPlanner, RelationPlannerContext, RelationPlanning,
};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ExprFunctionExt, LogicalPlan, LogicalPlanBuilder, ScalarFunctionArgs,
    ScalarUDF, ScalarUDFImpl, Signature, Volatility, cast, lit,
};
use datafusion::sql::sqlparser::ast::{self, FunctionArg, FunctionArgExpr, TableFactor};
use hushdb_sql::{Error, SAMPLE, is_call};
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

/// The chance of a row, its number, and how many rows there are.
const CHANCE: &str = "$chance";
const NUMBER: &str = "$number";
const COUNT: &str = "$count";
/// Rows that SYSTEM takes or leaves together, with a seed; without one a batch.
const BLOCK_ROWS: u64 = 2048;

#[derive(Debug)]
pub(super) struct Samples;

impl RelationPlanner for Samples {
    fn plan_relation(
        &self,
        relation: TableFactor,
        context: &mut dyn RelationPlannerContext,
    ) -> Result<RelationPlanning> {
        let Some((of, how)) = parts(&relation) else {
            return Ok(RelationPlanning::Original(Box::new(relation)));
        };
        let how = Sample::read(how)?;
        let of = of.clone();
        let of = context.plan(of)?;
        let planned = how.of(of)?;
        Ok(RelationPlanning::Planned(Box::new(PlannedRelation::new(
            planned, None,
        ))))
    }
}

/// What is sampled, and how.
fn parts(relation: &TableFactor) -> Option<(&TableFactor, &ast::Function)> {
    let TableFactor::NestedJoin {
        table_with_joins,
        alias: None,
    } = relation
    else {
        return None;
    };
    let [join] = table_with_joins.joins.as_slice() else {
        return None;
    };
    match &join.relation {
        TableFactor::UNNEST { array_exprs, .. } => match array_exprs.as_slice() {
            [call @ ast::Expr::Function(how)] if is_call(call, SAMPLE) => {
                Some((&table_with_joins.relation, how))
            }
            _ => None,
        },
        _ => None,
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Method {
    /// So many rows, each with the same chance.
    Reservoir,
    /// Each row by itself.
    Bernoulli,
    /// Rows that come together.
    System,
}

struct Sample {
    number: f64,
    percent: bool,
    method: Method,
    seed: Option<u64>,
}

impl Sample {
    fn read(how: &ast::Function) -> Result<Self> {
        let refused = || {
            Error::binder(
                "a sample takes a number of rows, or a number of percent from 0 to 100, and a whole number as its seed",
            )
        };
        let said = text(how).ok_or_else(refused)?;
        let [number, unit, method, seed] = said.split('|').collect::<Vec<_>>()[..] else {
            return Err(refused().into());
        };
        let percent = unit == "PERCENT";
        let most = if percent { 100.0 } else { i64::MAX as f64 };
        let number = number.parse::<f64>().ok();
        let number = number.filter(|number| (0.0..=most).contains(number));
        let number = number.ok_or_else(refused)?;
        let seed = Some(seed).filter(|seed| *seed != "NULL");
        let seed = seed.map(|seed| seed.parse().map_err(|_| refused()));
        let method = match method {
            "BERNOULLI" => Method::Bernoulli,
            "SYSTEM" => Method::System,
            _ => Method::Reservoir,
        };
        if !percent && method != Method::Reservoir {
            return Err(Error::binder(
                "Sample method with a discrete sample count must be reservoir: use a percentage, or reservoir",
            )
            .into());
        }
        Ok(Self {
            number,
            percent,
            method,
            seed: seed.transpose()?,
        })
    }

    fn of(&self, plan: LogicalPlan) -> Result<LogicalPlan> {
        let columns = plan.schema().columns().into_iter().map(Expr::Column);
        let columns: Vec<Expr> = columns.collect();
        let share = lit(self.number / 100.0);
        match (self.method, self.percent) {
            (Method::Reservoir, false) => {
                let rows = self.number.round() as usize;
                LogicalPlanBuilder::from(self.with_chance(plan)?)
                    .sort_with_limit(vec![chance().sort(true, false)], Some(rows))?
                    .limit(0, Some(rows))?
                    .project(columns)?
                    .build()
            }
            (Method::Reservoir, true) => {
                let by_chance = row_number()
                    .order_by(vec![chance().sort(true, false)])
                    .build()?
                    .alias(NUMBER);
                let of_all = WindowFunction::new(count_udaf(), vec![lit(1_i64)]);
                let of_all = Expr::from(of_all).alias(COUNT);
                let taken = cast(name(COUNT), DataType::Float64) * share;
                let taken = datafusion::functions::math::expr_fn::round(vec![taken]);
                LogicalPlanBuilder::from(self.with_chance(plan)?)
                    .window(vec![by_chance, of_all])?
                    .filter(cast(name(NUMBER), DataType::Float64).lt_eq(taken))?
                    .project(columns)?
                    .build()
            }
            (Method::System, true) if self.seed.is_none() => LogicalPlanBuilder::from(plan)
                .filter(batch_chance().lt(share))?
                .build(),
            _ => LogicalPlanBuilder::from(self.with_chance(plan)?)
                .filter(chance().lt(share))?
                .project(columns)?
                .build(),
        }
    }

    /// The rows with a number from 0 to 1 each.
    fn with_chance(&self, plan: LogicalPlan) -> Result<LogicalPlan> {
        let columns = plan.schema().columns().into_iter().map(Expr::Column);
        let columns: Vec<Expr> = columns.collect();
        let Some(seed) = self.seed else {
            let all = columns.into_iter().chain([random().alias(CHANCE)]);
            return LogicalPlanBuilder::from(plan).project(all)?.build();
        };
        let number = row_number().alias(NUMBER);
        let block = if self.method == Method::System {
            BLOCK_ROWS
        } else {
            1
        };
        let of_number = cast(name(NUMBER), DataType::UInt64);
        let drawn = drawn(vec![lit(seed), of_number, lit(block)]).alias(CHANCE);
        LogicalPlanBuilder::from(plan)
            .window(vec![number])?
            .project(columns.into_iter().chain([drawn]))?
            .build()
    }
}

fn name(of: &str) -> Expr {
    Expr::Column(Column::from_name(of))
}

fn chance() -> Expr {
    name(CHANCE)
}

/// The text that a mark has.
fn text(how: &ast::Function) -> Option<&str> {
    let ast::FunctionArguments::List(list) = &how.args else {
        return None;
    };
    match list.args.as_slice() {
        [FunctionArg::Unnamed(FunctionArgExpr::Expr(ast::Expr::Value(value)))] => {
            match &value.value {
                ast::Value::SingleQuotedString(text) => Some(text),
                _ => None,
            }
        }
        _ => None,
    }
}

/// The chance of a row by its number.
fn drawn(args: Vec<Expr>) -> Expr {
    call("$drawn", Signature::any(3, Volatility::Immutable), args)
}

/// One chance for all rows of a batch.
fn batch_chance() -> Expr {
    call(
        "$batch_chance",
        Signature::nullary(Volatility::Volatile),
        vec![],
    )
}

fn call(name: &'static str, signature: Signature, args: Vec<Expr>) -> Expr {
    Arc::new(ScalarUDF::from(Chance { name, signature })).call(args)
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Chance {
    name: &'static str,
    signature: Signature,
}

impl ScalarUDFImpl for Chance {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Float64)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [seed, numbers, block] = args.args.as_slice() else {
            let bits = RandomState::new().hash_one(args.number_rows);
            return Ok(ColumnarValue::Scalar(ScalarValue::from(share(bits))));
        };
        let (
            ColumnarValue::Scalar(ScalarValue::UInt64(Some(seed))),
            ColumnarValue::Scalar(ScalarValue::UInt64(Some(block))),
        ) = (seed, block)
        else {
            return plan_err!("a sample without a seed");
        };
        let numbers = numbers.to_array(args.number_rows)?;
        let numbers = numbers.as_primitive::<UInt64Type>().iter();
        let drawn = numbers.map(|number| {
            let number = number.unwrap_or_default().saturating_sub(1) / (*block).max(1);
            share(mixed(mixed(*seed) ^ number))
        });
        let drawn: ArrayRef = Arc::new(drawn.map(Some).collect::<Float64Array>());
        Ok(ColumnarValue::Array(drawn))
    }
}

/// From 0 to 1, without 1.
fn share(bits: u64) -> f64 {
    (bits >> 11) as f64 / (1_u64 << 53) as f64
}

/// SplitMix64 (Steele, Lea and Flood, 2014).
fn mixed(number: u64) -> u64 {
    let number = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    number ^ (number >> 31)
}
