//! `list_sum(x)` and `list_avg(x)`: as `sum` and `avg` of the list's values, exact for integers, decimals and points in time.

use super::interval_mean::{IntervalMean, Mean, parted};
use super::sum::{averaged, overflow};
use super::sum_numbers::{Sum, means};
use super::whole::{Whole, item, list_of, registered};
use crate::heed::check;
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, Decimal128Array, Decimal256Array, Float64Array, ListArray,
    new_empty_array,
};
use datafusion::arrow::datatypes::{DataType, Decimal128Type, Decimal256Type, Float64Type, i256};
use datafusion::common::{Result, ScalarValue, plan_err};
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::logical_expr::ScalarUDF;
use hushdb_sql::{Error, ErrorKind};
use hushdb_storage::{HUGEINT, UHUGEINT};
use std::sync::Arc;

const MAX_DIGITS: u8 = 38;

pub(super) fn all(memory: &Arc<dyn MemoryPool>) -> Vec<Arc<ScalarUDF>> {
    let sum: Whole = (
        &["list_sum", "array_sum"],
        |types| match types {
            [list] => Some(vec![list_of(summed(&item(list)?)?)]),
            _ => None,
        },
        |types, _| item(types.first()?),
        |call, _| {
            let [list] = call.take()?;
            sums(list.as_list())
        },
    );
    let avg: Whole = (
        &["list_avg", "array_avg"],
        |types| match types {
            [list] => Some(vec![list_of(averaged(&item(list)?)?)]),
            _ => None,
        },
        |types, _| match item(types.first()?)? {
            point if point.is_temporal() || parted(&point).is_some() => Some(point),
            _ => Some(DataType::Float64),
        },
        |call, _| {
            let [list] = call.take()?;
            let list = list.as_list::<i32>();
            match list.value_type() {
                DataType::Float64 => averages::<f64>(list),
                of if parted(&of).is_some() => interval_means(list),
                _ => averages::<i128>(list),
            }
        },
    );
    registered([sum, avg], memory)
}

/// The mean of each list.
fn averages<N: Sum>(list: &ListArray) -> Result<ArrayRef> {
    let of = list.value_type();
    let (mut sums, mut counts) = (vec![N::default(); list.len()], vec![0; list.len()]);
    for ((values, sum), count) in list.iter().zip(&mut sums).zip(&mut counts) {
        check()?;
        let Some(values) = values else { continue };
        let mut fits = true;
        N::each(&values, None, |_, value| {
            fits &= sum.add(value);
            *count += 1;
        })?;
        if !fits || !sum.fits(&of) {
            return Err(overflow(&of));
        }
    }
    means(&sums, &counts, &of)
}

fn interval_means(list: &ListArray) -> Result<ArrayRef> {
    let of = list.value_type();
    let means = list.iter().map(|values| {
        check()?;
        let mut mean = IntervalMean::new(&of, Mean::OfParts);
        if let Some(values) = values {
            mean.count(&values, 1)?;
        }
        mean.mean()
    });
    let means = means.collect::<Result<Vec<_>>>()?;
    match means.is_empty() {
        true => Ok(new_empty_array(&of)),
        false => ScalarValue::iter_to_array(means),
    }
}

/// The type of a sum of such items.
fn summed(item: &DataType) -> Option<DataType> {
    match item {
        DataType::Null => Some(HUGEINT),
        integer if integer.is_integer() || *integer == HUGEINT => Some(HUGEINT),
        huge if *huge == UHUGEINT => Some(DataType::Float64),
        DataType::Decimal32(_, s) | DataType::Decimal64(_, s) | DataType::Decimal128(_, s) => {
            Some(DataType::Decimal128(MAX_DIGITS, *s))
        }
        float if float.is_floating() => Some(DataType::Float64),
        _ => None,
    }
}

fn huge_sum(values: &ArrayRef) -> Result<Option<i256>, Error> {
    let mut values = values.as_primitive::<Decimal256Type>().iter().flatten();
    let Some(first) = values.next() else {
        return Ok(None);
    };
    let sum = values.try_fold(first.as_i128(), |sum, value| {
        sum.checked_add(value.as_i128())
    });
    let overflow = || {
        Error::new(
            ErrorKind::OutOfRange,
            "Overflow in list_sum: it does not fit",
        )
    };
    Ok(Some(i256::from_i128(sum.ok_or_else(overflow)?)))
}

fn sums(list: &ListArray) -> Result<ArrayRef> {
    let rows = list.iter();
    if list.value_type() == DataType::Float64 {
        let sum = |values: ArrayRef| {
            let values = values.as_primitive::<Float64Type>();
            let mut values = values.iter().flatten();
            values
                .next()
                .map(|first| values.fold(first, |sum, v| sum + v))
        };
        return Ok(Arc::new(
            rows.map(|values| values.and_then(sum))
                .collect::<Float64Array>(),
        ));
    }
    if list.value_type() == HUGEINT {
        let sums = rows.map(|values| values.map_or(Ok(None), |values| huge_sum(&values)));
        let sums = sums.collect::<Result<Decimal256Array, Error>>()?;
        return Ok(Arc::new(sums.with_data_type(HUGEINT)));
    }
    let limit = 10i128.pow(u32::from(MAX_DIGITS));
    let sum = |values: ArrayRef| {
        let mut sum = None;
        for value in values.as_primitive::<Decimal128Type>().iter().flatten() {
            let next = sum.unwrap_or(0i128).checked_add(value);
            let next = next.filter(|next| next.unsigned_abs() < limit.unsigned_abs());
            sum = Some(next.ok_or_else(|| {
                Error::new(
                    ErrorKind::OutOfRange,
                    "Overflow in list_sum: more than 38 digits",
                )
            })?);
        }
        Ok(sum)
    };
    let sums = rows.map(|values| values.map_or(Ok(None), sum));
    let sums = sums.collect::<Result<Decimal128Array, Error>>()?;
    let DataType::Decimal128(precision, scale) = list.value_type() else {
        return plan_err!("list_sum takes one list of numbers");
    };
    Ok(Arc::new(sums.with_precision_and_scale(precision, scale)?))
}
