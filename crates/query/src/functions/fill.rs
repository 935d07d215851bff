//! `fill(x) OVER (ORDER BY y)`: where `x` is NULL, what lies on the line between the rows before and behind that have one, or on that
//! of the last two. Here `y` is its second argument.
//!
//! What must hold: a row that has a value keeps it; what does not fit the type is NULL.

use crate::heed::check;
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, Decimal128Array, Decimal256Array, Float64Array, Int64Array,
    new_null_array,
};
use datafusion::arrow::compute::{CastOptions, cast, cast_with_options};
use datafusion::arrow::datatypes::{
    DataType, Decimal128Type, Decimal256Type, Field, FieldRef, Float64Type, Int64Type, i256,
};
use datafusion::common::{Result, internal_err, plan_err};
use datafusion::logical_expr::function::{PartitionEvaluatorArgs, WindowUDFFieldArgs};
use datafusion::logical_expr::{
    PartitionEvaluator, Signature, Volatility, WindowUDF, WindowUDFImpl,
};
use hushdb_sql::FILL;
use std::sync::Arc;

/// Rows between two looks at the statement.
const LOOK_ROWS: usize = 4096;

/// The function.
pub fn fill() -> Arc<WindowUDF> {
    Arc::new(WindowUDF::from(Fill {
        signature: Signature::user_defined(Volatility::Immutable),
    }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Fill {
    signature: Signature,
}

impl WindowUDFImpl for Fill {
    fn name(&self) -> &'static str {
        FILL
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let can = |of: &DataType| {
            use DataType as T;
            of.is_numeric() || matches!(of, T::Date32 | T::Timestamp(..) | T::Time64(_))
        };
        match types {
            [of, _] if !can(of) => plan_err!("FILL argument must support subtraction"),
            [_, by] if !can(by) => plan_err!("FILL ordering must support subtraction"),
            [_, _] => Ok(types.to_vec()),
            _ => plan_err!("Incorrect number of parameters for function fill"),
        }
    }

    fn field(&self, args: WindowUDFFieldArgs<'_>) -> Result<FieldRef> {
        let Some(of) = args.get_input_field(0) else {
            return internal_err!("fill has no argument");
        };
        Ok(Arc::new(Field::new(
            args.name(),
            of.data_type().clone(),
            true,
        )))
    }

    fn partition_evaluator(
        &self,
        _: PartitionEvaluatorArgs<'_>,
    ) -> Result<Box<dyn PartitionEvaluator>> {
        Ok(Box::new(Filler))
    }
}

#[derive(Debug)]
struct Filler;

impl PartitionEvaluator for Filler {
    fn evaluate_all(&mut self, values: &[ArrayRef], rows: usize) -> Result<ArrayRef> {
        let [of, by] = values else {
            return internal_err!("fill takes two columns");
        };
        if of.null_count() == 0 {
            return Ok(Arc::clone(of));
        }
        if of.null_count() == rows {
            return Ok(new_null_array(of.data_type(), rows));
        }
        let by = Points::of(by)?;
        match Points::of(of)? {
            Points::Whole(known) => {
                let filled = filled(&known, &by, rows, whole_on_line)?;
                whole_column(filled, of.data_type())
            }
            Points::Real(known) => {
                let mut filled = filled(&known, &by, rows, |(low, high), share, _| {
                    Some(low + (high - low) * share)
                })?;
                // Infinite ones are on no line, and stay.
                let given = cast(of, &DataType::Float64)?;
                let given = given.as_primitive::<Float64Type>().iter();
                for (value, given) in filled.iter_mut().zip(given) {
                    *value = given.or(*value);
                }
                Ok(cast(&Float64Array::from(filled), of.data_type())?)
            }
        }
    }
}

/// Values that are subtracted: whole numbers of the units of a type, or finite ones.
enum Points {
    Whole(Vec<Option<i128>>),
    Real(Vec<Option<f64>>),
}

impl Points {
    fn of(column: &ArrayRef) -> Result<Self> {
        let strict = CastOptions {
            safe: false,
            ..Default::default()
        };
        let whole = |column: &ArrayRef| -> Result<Vec<Option<i128>>> {
            let wide = cast_with_options(column, &DataType::Int64, &strict)?;
            let wide = wide.as_primitive::<Int64Type>().iter();
            Ok(wide.map(|value| value.map(i128::from)).collect())
        };
        Ok(Self::Whole(match column.data_type() {
            of if of.is_floating() => {
                let reals = cast(column, &DataType::Float64)?;
                let reals = reals.as_primitive::<Float64Type>().iter();
                let reals = reals.map(|value| value.filter(|value| value.is_finite()));
                return Ok(Self::Real(reals.collect()));
            }
            DataType::UInt64 => {
                let wide = cast(column, &DataType::Decimal128(38, 0))?;
                wide.as_primitive::<Decimal128Type>().iter().collect()
            }
            DataType::Decimal256(..) => {
                let wide = column.as_primitive::<Decimal256Type>().iter();
                wide.map(|value| value.and_then(i256::to_i128)).collect()
            }
            DataType::Decimal32(_, scale)
            | DataType::Decimal64(_, scale)
            | DataType::Decimal128(_, scale) => {
                let wide = cast(column, &DataType::Decimal128(38, *scale))?;
                wide.as_primitive::<Decimal128Type>().iter().collect()
            }
            DataType::Date32 => whole(&cast(column, &DataType::Int32)?)?,
            _ => whole(column)?,
        }))
    }

    fn is_known(&self, row: usize) -> bool {
        match self {
            Self::Whole(values) => values.get(row).is_some_and(Option::is_some),
            Self::Real(values) => values.get(row).is_some_and(Option::is_some),
        }
    }

    /// How far a row is from the first of two others, where 1 is the second; `None` if these are at one place.
    fn share(&self, row: usize, low: usize, high: usize) -> Option<f64> {
        let (way, all) = match self {
            Self::Whole(values) => {
                let at = |row: usize| values.get(row).copied().flatten();
                let (row, low, high) = (at(row)?, at(low)?, at(high)?);
                (row.checked_sub(low)? as f64, high.checked_sub(low)? as f64)
            }
            Self::Real(values) => {
                let at = |row: usize| values.get(row).copied().flatten();
                (at(row)? - at(low)?, at(high)? - at(low)?)
            }
        };
        (all != 0.0).then(|| way / all)
    }
}

/// Between two values what is behind the point is cut off, and beyond them rounded, as DuckDB does.
fn whole_on_line((low, high): (i128, i128), share: f64, between: bool) -> Option<i128> {
    let way = high.checked_sub(low)? as f64 * share;
    let way = if between { way.trunc() } else { way.round() };
    let fits = way.abs() < 2_f64.powi(126);
    fits.then(|| low.checked_add(way as i128)).flatten()
}

/// The values, with others where there was none.
fn filled<T: Copy>(
    known: &[Option<T>],
    by: &Points,
    rows: usize,
    on_line: impl Fn((T, T), f64, bool) -> Option<T>,
) -> Result<Vec<Option<T>>> {
    let given = |row: &usize| known.get(*row).is_some_and(Option::is_some) && by.is_known(*row);
    let given: Vec<usize> = (0..rows).filter(given).collect();
    let value = |row: usize| known.get(row).copied().flatten();
    let mut all = Vec::with_capacity(rows);
    // How many of the given rows are behind.
    let mut passed = 0;
    for row in 0..rows {
        if row.is_multiple_of(LOOK_ROWS) {
            check()?;
        }
        while given.get(passed).is_some_and(|next| *next <= row) {
            passed += 1;
        }
        let fill = || {
            if !by.is_known(row) {
                return None;
            }
            let at = |place: Option<usize>| place.and_then(|place| given.get(place)).copied();
            let (low, high, between) = match (at(passed.checked_sub(1)), at(Some(passed))) {
                (Some(low), Some(high)) => (low, high, true),
                (Some(last), None) => match at(passed.checked_sub(2)) {
                    Some(low) => (low, last, false),
                    None => return value(last),
                },
                (None, Some(first)) => match at(Some(passed + 1)) {
                    Some(high) => (first, high, false),
                    None => return value(first),
                },
                (None, None) => return None,
            };
            let ends = (value(low)?, value(high)?);
            match by.share(row, low, high) {
                Some(share) => on_line(ends, share, between),
                None => Some(ends.0),
            }
        };
        all.push(value(row).or_else(fill));
    }
    Ok(all)
}

/// A column of the type whose units these are.
fn whole_column(values: Vec<Option<i128>>, of: &DataType) -> Result<ArrayRef> {
    let whole = |values: Vec<Option<i128>>| {
        let values = values.into_iter();
        let values = values.map(|value| value.and_then(|value| i64::try_from(value).ok()));
        Int64Array::from(values.collect::<Vec<_>>())
    };
    Ok(match of {
        DataType::Decimal256(..) => {
            let values = values.into_iter().map(|value| value.map(i256::from_i128));
            Arc::new(
                values
                    .collect::<Decimal256Array>()
                    .with_data_type(of.clone()),
            )
        }
        DataType::UInt64 => {
            let values = Decimal128Array::from(values).with_precision_and_scale(38, 0)?;
            cast(&values, of)?
        }
        DataType::Decimal32(_, scale)
        | DataType::Decimal64(_, scale)
        | DataType::Decimal128(_, scale) => {
            let values = Decimal128Array::from(values).with_precision_and_scale(38, *scale)?;
            cast(&values, of)?
        }
        DataType::Date32 => cast(&cast(&whole(values), &DataType::Int32)?, of)?,
        _ => cast(&whole(values), of)?,
    })
}
