//! How many rows a logical plan is thought to have, from exact table statistics and the textbook's selectivities
//! (Selinger et al., "Access path selection in a relational database management system", 1979).

use super::TableScan;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Column, JoinType, ScalarValue, TableReference};
use datafusion::datasource::source_as_provider;
use datafusion::logical_expr::expr::{Alias, Between, InList, Like};
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{
    Aggregate, BinaryExpr, Expr, FetchType, Join, LogicalPlan, Operator, Projection,
    TableScan as ScanNode,
};
use std::collections::HashMap;

/// Rows of what is not known.
const UNKNOWN_ROWS: f64 = 1000.0;
/// Share of rows that a predicate of unknown effect keeps.
const UNKNOWN: f64 = 0.25;
const RANGE: f64 = 1.0 / 3.0;
const PATTERN: f64 = 0.1;
const SEMI: f64 = 0.5;

/// What is known of one column.
#[derive(Clone, Debug)]
struct ColumnEstimate {
    distinct: f64,
    bounds: Option<(f64, f64)>,
}

/// Rows, and for each known column its distinct values and bounds.
#[derive(Clone, Debug)]
pub(crate) struct Estimate {
    pub(crate) rows: f64,
    columns: HashMap<Column, ColumnEstimate>,
}

impl Estimate {
    fn unknown(rows: f64) -> Self {
        Self {
            rows,
            columns: HashMap::new(),
        }
    }

    /// Keeps a share of the rows.
    fn keep(mut self, share: f64) -> Self {
        self.rows = (self.rows * share.clamp(0.0, 1.0)).max(1.0);
        for column in self.columns.values_mut() {
            column.distinct = column.distinct.min(self.rows);
        }
        self
    }

    fn distinct(&self, expr: &Expr) -> f64 {
        match expr {
            Expr::Column(column) => self
                .columns
                .get(column)
                .map_or(self.rows, |c| c.distinct.min(self.rows)),
            Expr::Cast(cast) => self.distinct(&cast.expr),
            Expr::Alias(Alias { expr, .. }) => self.distinct(expr),
            Expr::Literal(..) => 1.0,
            _ => self.rows,
        }
        .max(1.0)
    }

    /// An inner join on equalities: every key of the side with fewer distinct keys is thought to find a partner.
    pub(crate) fn join<'a>(
        left: &Self,
        right: &Self,
        keys: impl Iterator<Item = (&'a Expr, &'a Expr)>,
    ) -> Self {
        let mut rows = left.rows * right.rows;
        let mut strongest = 1.0f64;
        for (l, r) in keys {
            let distinct = left.distinct(l).max(right.distinct(r));
            // Keys of one join are rarely independent: the strongest counts whole, the others by their root.
            let (more, less) = if distinct > strongest {
                (distinct, strongest)
            } else {
                (strongest, distinct)
            };
            rows = rows * strongest / more;
            rows /= less.sqrt();
            strongest = more;
        }
        let columns = left
            .columns
            .iter()
            .chain(&right.columns)
            .map(|(c, e)| (c.clone(), e.clone()))
            .collect();
        Self {
            rows: rows.max(1.0),
            columns,
        }
        .keep(1.0)
    }
}

/// Share of a table's rows, 0 to 1, that pass filters whose columns are not qualified.
pub(super) fn share_of_rows(table: &TableScan, filters: &[Expr]) -> f64 {
    let conjuncts: Vec<&Expr> = filters.iter().flat_map(split_conjunction).collect();
    whole_table(table, None).map_or(UNKNOWN, |whole| share(table, &conjuncts, &whole))
}

/// What the conjuncts' selectivities make together; one row at most where they fix a key.
fn share(table: &TableScan, conjuncts: &[&Expr], whole: &Estimate) -> f64 {
    let share = selectivity(conjuncts, whole);
    let fixed: Vec<&str> = conjuncts.iter().filter_map(|e| fixed_column(e)).collect();
    let one = |key: Vec<&str>| key.iter().all(|column| fixed.contains(column));
    match table.unique_keys().any(one) {
        true => share.min(1.0 / whole.rows.max(1.0)),
        false => share,
    }
}

/// The column of `column = literal`.
fn fixed_column(conjunct: &Expr) -> Option<&str> {
    let Expr::BinaryExpr(BinaryExpr { left, op, right }) = conjunct else {
        return None;
    };
    match (left.as_ref(), op, right.as_ref()) {
        (Expr::Column(column), Operator::Eq, Expr::Literal(..))
        | (Expr::Literal(..), Operator::Eq, Expr::Column(column)) => Some(&column.name),
        _ => None,
    }
}

fn of_scan(table: &TableScan, name: Option<&TableReference>, filters: &[Expr]) -> Estimate {
    let Some(whole) = whole_table(table, name) else {
        return Estimate::unknown(UNKNOWN_ROWS);
    };
    let conjuncts: Vec<&Expr> = filters.iter().flat_map(split_conjunction).collect();
    let share = share(table, &conjuncts, &whole);
    whole.keep(share)
}

/// What the table's statistics say; its columns are known under `name`.
fn whole_table(table: &TableScan, name: Option<&TableReference>) -> Option<Estimate> {
    let statistics = table.whole_statistics().ok()?;
    let rows = statistics
        .num_rows
        .get_value()
        .map_or(UNKNOWN_ROWS, |n| *n as f64);
    let mut columns = HashMap::new();
    for (field, known) in table.fields().iter().zip(&statistics.column_statistics) {
        let low = known.min_value.get_value().and_then(number);
        let high = known.max_value.get_value().and_then(number);
        let distinct = known.distinct_count.get_value().map_or(rows, |n| *n as f64);
        let column = Column::new(name.cloned(), field.name());
        columns.insert(
            column,
            ColumnEstimate {
                distinct,
                bounds: low.zip(high),
            },
        );
    }
    Some(Estimate { rows, columns })
}

/// Estimates a plan.
pub(crate) fn estimate(plan: &LogicalPlan) -> Estimate {
    match plan {
        LogicalPlan::TableScan(scan) => of_table(scan),
        LogicalPlan::Filter(filter) => {
            let input = estimate(&filter.input);
            let share = selectivity(&split_conjunction(&filter.predicate), &input);
            input.keep(share)
        }
        LogicalPlan::SubqueryAlias(alias) => {
            let input = estimate(&alias.input);
            renamed(
                &input,
                alias.input.schema().columns(),
                alias.schema.columns(),
            )
        }
        LogicalPlan::Projection(projection) => of_projection(projection),
        LogicalPlan::Aggregate(aggregate) => of_aggregate(aggregate),
        LogicalPlan::Join(join) => of_join(join),
        LogicalPlan::Limit(limit) => {
            let input = estimate(&limit.input);
            match limit.get_fetch_type() {
                Ok(FetchType::Literal(Some(n))) => {
                    let share = n as f64 / input.rows.max(1.0);
                    input.keep(share)
                }
                _ => input,
            }
        }
        LogicalPlan::EmptyRelation(empty) => {
            Estimate::unknown(if empty.produce_one_row { 1.0 } else { 0.0 })
        }
        LogicalPlan::Values(values) => Estimate::unknown(values.values.len() as f64),
        LogicalPlan::Sort(_) | LogicalPlan::Distinct(_) | LogicalPlan::Repartition(_) => plan
            .inputs()
            .first()
            .map_or_else(|| Estimate::unknown(UNKNOWN_ROWS), |input| estimate(input)),
        other => {
            let rows: f64 = other
                .inputs()
                .iter()
                .map(|input| estimate(input).rows)
                .sum();
            Estimate::unknown(if rows > 0.0 { rows } else { UNKNOWN_ROWS })
        }
    }
}

fn of_table(scan: &ScanNode) -> Estimate {
    let Ok(provider) = source_as_provider(&scan.source) else {
        return Estimate::unknown(UNKNOWN_ROWS);
    };
    let Some(table) = provider.downcast_ref::<TableScan>() else {
        return Estimate::unknown(UNKNOWN_ROWS);
    };
    of_scan(table, Some(&scan.table_name), &scan.filters)
}

fn of_projection(projection: &Projection) -> Estimate {
    let input = estimate(&projection.input);
    let mut output = Estimate::unknown(input.rows);
    for (expr, column) in projection.expr.iter().zip(projection.schema.columns()) {
        let source = match expr {
            Expr::Alias(Alias { expr, .. }) => expr.as_ref(),
            other => other,
        };
        if let Expr::Column(source) = source
            && let Some(known) = input.columns.get(source)
        {
            output.columns.insert(column, known.clone());
        }
    }
    output
}

fn of_aggregate(aggregate: &Aggregate) -> Estimate {
    let input = estimate(&aggregate.input);
    let groups: f64 = aggregate
        .group_expr
        .iter()
        .map(|e| input.distinct(e))
        .product();
    let rows = groups.min(input.rows);
    let mut output = Estimate {
        rows,
        columns: input.columns,
    };
    output
        .columns
        .values_mut()
        .for_each(|c| c.distinct = c.distinct.min(rows));
    output
}

fn of_join(join: &Join) -> Estimate {
    let (left, right) = (estimate(&join.left), estimate(&join.right));
    let inner = Estimate::join(&left, &right, join.on.iter().map(|(l, r)| (l, r)));
    match join.join_type {
        JoinType::LeftSemi | JoinType::LeftAnti | JoinType::LeftMark => left.keep(SEMI),
        JoinType::RightSemi | JoinType::RightAnti | JoinType::RightMark => right.keep(SEMI),
        JoinType::Left => Estimate {
            rows: inner.rows.max(left.rows),
            ..inner
        },
        JoinType::Right => Estimate {
            rows: inner.rows.max(right.rows),
            ..inner
        },
        JoinType::Full => Estimate {
            rows: inner.rows.max(left.rows).max(right.rows),
            ..inner
        },
        JoinType::Inner => inner,
    }
}

fn renamed(input: &Estimate, from: Vec<Column>, to: Vec<Column>) -> Estimate {
    let columns = from
        .into_iter()
        .zip(to)
        .filter_map(|(f, t)| Some((t, input.columns.get(&f)?.clone())));
    Estimate {
        rows: input.rows,
        columns: columns.collect(),
    }
}

/// A value as a point on a line; dates by day, timestamps by unit.
fn number(value: &ScalarValue) -> Option<f64> {
    let value = match value.data_type() {
        DataType::Date32 => value.cast_to(&DataType::Int32).ok()?,
        DataType::Timestamp(..) | DataType::Time64(_) => value.cast_to(&DataType::Int64).ok()?,
        t if t.is_numeric() => value.clone(),
        _ => return None,
    };
    match value.cast_to(&DataType::Float64).ok()? {
        ScalarValue::Float64(v) => v,
        _ => None,
    }
}

/// Share of rows that pass all conjuncts. Bounds on one column are taken together, others as independent.
fn selectivity(conjuncts: &[&Expr], input: &Estimate) -> f64 {
    let mut ranges: HashMap<&Column, (f64, f64)> = HashMap::new();
    let mut share = 1.0;
    for expr in conjuncts {
        match range(expr, input) {
            Some((column, low, high)) => {
                let entry = ranges.entry(column).or_insert((0.0, 1.0));
                *entry = (entry.0.max(low), entry.1.min(high));
            }
            None => share *= one(expr, input),
        }
    }
    let floor = 1.0 / input.rows.max(1.0);
    share
        * ranges
            .values()
            .map(|(low, high)| (high - low).max(floor))
            .product::<f64>()
}

/// `column < literal` and its like, as the part of the column's span that passes, 0 to 1.
fn range<'a>(expr: &'a Expr, input: &Estimate) -> Option<(&'a Column, f64, f64)> {
    let position = |column: &Column, value: &ScalarValue| {
        let (low, high) = input.columns.get(column)?.bounds?;
        if high <= low {
            return None;
        }
        Some(((number(value)? - low) / (high - low)).clamp(0.0, 1.0))
    };
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
            let (column, value, op) = match (left.as_ref(), right.as_ref()) {
                (Expr::Column(c), Expr::Literal(v, _)) => (c, v, *op),
                (Expr::Literal(v, _), Expr::Column(c)) => (c, v, op.swap()?),
                _ => return None,
            };
            let at = position(column, value)?;
            match op {
                Operator::Lt | Operator::LtEq => Some((column, 0.0, at)),
                Operator::Gt | Operator::GtEq => Some((column, at, 1.0)),
                _ => None,
            }
        }
        Expr::Between(Between {
            expr,
            negated: false,
            low,
            high,
        }) => {
            let (Expr::Column(column), Expr::Literal(l, _), Expr::Literal(h, _)) =
                (expr.as_ref(), low.as_ref(), high.as_ref())
            else {
                return None;
            };
            Some((column, position(column, l)?, position(column, h)?))
        }
        _ => None,
    }
}

fn one(expr: &Expr, input: &Estimate) -> f64 {
    let negate = |share: f64, negated: bool| if negated { 1.0 - share } else { share };
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => match op {
            Operator::And => selectivity(&[left.as_ref(), right.as_ref()], input),
            Operator::Or => {
                let (l, r) = (
                    selectivity(&[left.as_ref()], input),
                    selectivity(&[right.as_ref()], input),
                );
                l + r - l * r
            }
            Operator::Eq | Operator::IsNotDistinctFrom => {
                1.0 / input.distinct(left).max(input.distinct(right))
            }
            Operator::NotEq | Operator::IsDistinctFrom => {
                1.0 - 1.0 / input.distinct(left).max(input.distinct(right))
            }
            Operator::Lt | Operator::LtEq | Operator::Gt | Operator::GtEq => RANGE,
            _ => UNKNOWN,
        },
        Expr::InList(InList {
            expr,
            list,
            negated,
        }) => negate(
            (list.len() as f64 / input.distinct(expr)).min(1.0),
            *negated,
        ),
        Expr::Like(Like { negated, .. }) => negate(PATTERN, *negated),
        Expr::Between(Between { negated, .. }) => negate(RANGE, *negated),
        Expr::Not(inner) => 1.0 - selectivity(&[inner.as_ref()], input),
        Expr::IsNull(_) => 0.05,
        Expr::IsNotNull(_) => 0.95,
        Expr::Literal(ScalarValue::Boolean(Some(true)), _) => 1.0,
        _ => UNKNOWN,
    }
}
