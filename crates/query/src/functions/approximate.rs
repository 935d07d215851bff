//! `approx_quantile(x, share)`: about the value that such a share of all is less than, of a digest that does not grow with them.
//!
//! What must hold: among few values, which the digest keeps one by one, it is what lies between the middles of their places; the
//! result is of the argument's type. After T. Dunning and O. Ertl, Computing Extremely Accurate Quantiles Using t-Digests, 2019.

use super::frame_values::FrameValues;
use super::plain::called;
use super::whole::list_of;
use crate::common_types::number_kind::is_huge;
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, Float64Array, RecordBatch, new_null_array,
};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Float64Type, Schema, TimeUnit};
use datafusion::common::utils::SingleRowListArrayBuilder;
use datafusion::common::{Result, ScalarValue, internal_err, plan_err};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::format_state_name;
use datafusion::logical_expr::{
    Accumulator, AggregateUDFImpl, ColumnarValue, Signature, Volatility,
};
use datafusion_functions_aggregate_common::tdigest::{Centroid, TDigest};
use hushdb_sql::Error;
use hushdb_storage::HUGEINT;
use std::sync::Arc;

/// Groups of values that a digest keeps.
const MOST: usize = 100;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Approximate {
    signature: Signature,
}

impl Approximate {
    pub(super) fn new() -> Self {
        Self {
            signature: Signature::user_defined(Volatility::Immutable),
        }
    }
}

/// The type in which one quantile of values of a type is given, or a list of them.
fn given(of: &DataType, in_list: bool) -> Option<DataType> {
    use DataType as T;
    Some(match of {
        T::Int8 | T::Float32 if in_list => of.clone(),
        T::Float16 | T::Float32 | T::Float64 => T::Float64,
        T::Int16 | T::Int32 | T::Int64 | T::Date32 | T::Time64(_) => of.clone(),
        T::Timestamp(_, zone) => T::Timestamp(TimeUnit::Microsecond, zone.clone()),
        T::UInt64 => HUGEINT,
        of if of.is_integer() || of.is_null() => T::Int64,
        of if *of == HUGEINT => HUGEINT,
        of if is_huge(of) => T::Float64,
        // As DuckDB: the integer that such a decimal is stored as.
        T::Decimal32(digits, _) | T::Decimal64(digits, _) | T::Decimal128(digits, _) => {
            match digits {
                0..=4 => T::Int16,
                5..=9 => T::Int32,
                10..=18 => T::Int64,
                _ => HUGEINT,
            }
        }
        _ => return None,
    })
}

/// What moments are counted in; numbers are themselves.
fn counted_in(of: &DataType) -> Option<DataType> {
    match of {
        DataType::Date32 => Some(DataType::Int32),
        DataType::Time64(_) | DataType::Timestamp(..) => Some(DataType::Int64),
        _ => None,
    }
}

/// The shares that are asked for, which are constants.
fn shares(args: &AccumulatorArgs<'_>) -> Result<Vec<f64>> {
    let none = RecordBatch::new_empty(Arc::new(Schema::empty()));
    let shares = match args.exprs.get(1).map(|share| share.evaluate(&none)) {
        Some(Ok(ColumnarValue::Scalar(ScalarValue::List(list)))) if list.is_valid(0) => {
            list.value(0)
        }
        Some(Ok(ColumnarValue::Scalar(share))) if !share.is_null() => share.to_array()?,
        _ => {
            return plan_err!(
                "APPROXIMATE QUANTILE parameter list must be a constant, and not NULL"
            );
        }
    };
    // DuckDB takes them as FLOAT.
    let shares = cast(&cast(&shares, &DataType::Float32)?, &DataType::Float64)?;
    let shares = shares.as_primitive::<Float64Type>();
    if shares.null_count() > 0 {
        return plan_err!("APPROXIMATE QUANTILE parameter cannot be NULL");
    }
    if !shares
        .values()
        .iter()
        .all(|share| (0.0..=1.0).contains(share))
    {
        return plan_err!("APPROXIMATE QUANTILE can only take parameters in range [0, 1]");
    }
    Ok(shares.values().to_vec())
}

impl AggregateUDFImpl for Approximate {
    fn name(&self) -> &str {
        "approx_quantile"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let brought = match types {
            [of, DataType::List(item)]
                if item.data_type().is_numeric() || item.data_type().is_null() =>
            {
                given(of, true).map(|of| vec![of, list_of(DataType::Float64)])
            }
            [of, share] if share.is_numeric() || share.is_null() => {
                given(of, false).map(|of| vec![of, DataType::Float64])
            }
            _ => None,
        };
        match brought {
            Some(brought) => Ok(brought),
            None => plan_err!(
                "No function matches the given name and argument types '{}'. You might need to add explicit type casts.",
                called(self.name(), types)
            ),
        }
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match types {
            [of, DataType::List(_)] => Ok(list_of(of.clone())),
            [of, _] => Ok(of.clone()),
            _ => internal_err!("approx_quantile takes two arguments"),
        }
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        let field = |name, of| Field::new(format_state_name(args.name, name), of, true);
        let number = |name| Arc::new(field(name, DataType::Float64));
        Ok(vec![
            Arc::new(field("max_size", DataType::UInt64)),
            number("sum"),
            number("count"),
            number("max"),
            number("min"),
            Arc::new(field("centroids", list_of(DataType::Float64))),
        ])
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        if args.is_distinct {
            let what = "approx_quantile(DISTINCT x, share) beside other aggregates";
            return Err(Error::unsupported(what).into());
        }
        Ok(Box::new(Digest {
            digest: TDigest::new(MOST),
            shares: shares(&args)?,
            to: args.return_field.data_type().clone(),
        }))
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        Ok(FrameValues::of(self.clone(), &args))
    }
}

#[derive(Debug)]
struct Digest {
    digest: TDigest,
    shares: Vec<f64>,
    to: DataType,
}

impl Accumulator for Digest {
    fn update_batch(&mut self, columns: &[ArrayRef]) -> Result<()> {
        let Some(values) = columns.first() else {
            return internal_err!("approx_quantile takes values");
        };
        let values = match counted_in(values.data_type()) {
            Some(number) => cast(values, &number)?,
            None => Arc::clone(values),
        };
        let values = cast(&values, &DataType::Float64)?;
        let values = values.as_primitive::<Float64Type>().iter().flatten();
        // As in DuckDB, what is not finite does not count.
        let mut values: Vec<f64> = values.filter(|value| value.is_finite()).collect();
        values.sort_unstable_by(f64::total_cmp);
        if !values.is_empty() {
            self.digest = self.digest.merge_sorted_f64(&values);
        }
        Ok(())
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let rows = states.first().map_or(0, |state| state.len());
        let digests = (0..rows).map(|row| {
            let state = states
                .iter()
                .map(|state| ScalarValue::try_from_array(state, row));
            Ok(TDigest::from_scalar_state(
                &state.collect::<Result<Vec<_>>>()?,
            ))
        });
        let digests = digests.collect::<Result<Vec<_>>>()?;
        let all = digests.iter().chain(std::iter::once(&self.digest));
        let filled: Vec<&TDigest> = all.filter(|digest| digest.count() > 0.0).collect();
        if !filled.is_empty() {
            self.digest = TDigest::merge_digests(filled);
        }
        Ok(())
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(self.digest.to_scalar_state())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        if self.digest.count() == 0.0 {
            return ScalarValue::try_from_array(&new_null_array(&self.to, 1), 0);
        }
        let item = match &self.to {
            DataType::List(item) => item.data_type(),
            of => of,
        };
        let values = self
            .shares
            .iter()
            .map(|share| quantile(&self.digest, *share));
        let values = values.map(|value| match item.is_floating() {
            true => value,
            false => value.round_ties_even(),
        });
        let numbers: Vec<f64> = values.collect();
        let values: ArrayRef = Arc::new(Float64Array::from(numbers.clone()));
        let values = match counted_in(item) {
            Some(number) => cast(&cast(&values, &number)?, item)?,
            None => cast(&values, item)?,
        };
        let values = match values.null_count() {
            0 => values,
            _ => ends_where_null(&values, &numbers)?,
        };
        match &self.to {
            DataType::List(_) => Ok(SingleRowListArrayBuilder::new(values).build_list_scalar()),
            _ => ScalarValue::try_from_array(&values, 0),
        }
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.digest.size() + self.shares.capacity() * size_of::<f64>()
    }
}

/// The end of a type's range where a number has become NULL: the last of BIGINT is past it as a DOUBLE.
fn ends_where_null(values: &ArrayRef, numbers: &[f64]) -> Result<ArrayRef> {
    let ended = numbers.iter().enumerate().map(|(at, number)| {
        let value = ScalarValue::try_from_array(values, at)?;
        let end = match number.is_sign_negative() {
            true => ScalarValue::min(values.data_type()),
            false => ScalarValue::max(values.data_type()),
        };
        Ok(end.filter(|_| value.is_null()).unwrap_or(value))
    });
    ScalarValue::iter_to_array(ended.collect::<Result<Vec<_>>>()?)
}

/// The value at a share of all, between the middles of the two groups that it lies between.
fn quantile(digest: &TDigest, share: f64) -> f64 {
    let place = share * digest.count();
    let (mut before, mut last) = (0.0, (0.0, digest.min()));
    for (at, group) in digest.centroids().iter().enumerate() {
        let middle = before + group.weight() / 2.0;
        before += group.weight();
        if place < middle {
            return match at == 0 && group.weight() == 1.0 {
                true => group.mean(),
                false => between(last, middle, group, place),
            };
        }
        last = (middle, group.mean());
    }
    let (middle, mean) = last;
    match before - middle > 0.5 {
        true => between(last, before, &Centroid::new(digest.max(), 1.0), place),
        false => mean,
    }
}

fn between((from, low): (f64, f64), to: f64, high: &Centroid, place: f64) -> f64 {
    low + (high.mean() - low) * ((place - from) / (to - from))
}
