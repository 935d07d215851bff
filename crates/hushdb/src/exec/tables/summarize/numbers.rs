//! `Numbers`: average, standard deviation and quartiles of a column of numbers, dates or times.
//!
//! What must hold: sums of whole numbers and decimals of up to 18 digits are exact, and nothing overflows.

use super::sample::Samples;
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, Date32Array, Decimal128Array, Float64Array, PrimitiveArray,
    Time64MicrosecondArray, TimestampMicrosecondArray,
};
use datafusion::arrow::datatypes::*;
use hushdb_query::functions::value_text;
use hushdb_sql::Result;

/// Texts for SUMMARIZE; none for a column without values.
#[derive(Default)]
pub(super) struct NumberTexts {
    pub(super) avg: Option<String>,
    pub(super) std: Option<String>,
    pub(super) quartiles: [Option<String>; 3],
}

/// What is gathered of values in units of their type: days, ticks, the last digit of a decimal.
pub(super) struct Numbers {
    ty: DataType,
    count: u64,
    /// Of whole numbers of up to 64 bits.
    exact_sum: i128,
    mean: f64,
    /// Sum of the squares of the distances from the mean.
    squares: f64,
    samples: Samples,
}

/// Calls `$self.gather` with the array as what it is, and how its values become numbers.
macro_rules! gather {
    ($self:ident, $array:ident, $($pattern:pat => $ty:ty),* $(,)?) => {
        match $array.data_type() {
            $($pattern => $self.gather($array.as_primitive::<$ty>(), |v| i128::from(v), |v| v as f64),)*
            DataType::Decimal128(..) => {
                $self.gather($array.as_primitive::<Decimal128Type>(), |_| 0, |v| v as f64)
            }
            DataType::Decimal256(..) => $self.gather(
                $array.as_primitive::<Decimal256Type>(),
                |_| 0,
                |v| match v.to_i128() {
                    Some(v) => v as f64,
                    None => v.to_parts().0 as f64,
                },
            ),
            DataType::Float16 => {
                $self.gather($array.as_primitive::<Float16Type>(), |_| 0, |v| v.to_f64())
            }
            DataType::Float32 => {
                $self.gather($array.as_primitive::<Float32Type>(), |_| 0, f64::from)
            }
            DataType::Float64 => $self.gather($array.as_primitive::<Float64Type>(), |_| 0, |v| v),
            _ => {}
        }
    };
}

impl Numbers {
    /// Whether a column of this type has an average and quartiles.
    pub(super) fn are(ty: &DataType) -> bool {
        use DataType as D;
        let integer = ty.is_integer() || matches!(ty, D::Decimal32(..) | D::Decimal64(..));
        integer
            || ty.is_floating()
            || matches!(
                ty,
                D::Decimal128(..)
                    | D::Decimal256(..)
                    | D::Date32
                    | D::Time64(TimeUnit::Microsecond)
                    | D::Timestamp(..)
            )
    }

    pub(super) fn new(ty: &DataType, seed: u64) -> Option<Self> {
        Self::are(ty).then(|| Self {
            ty: ty.clone(),
            count: 0,
            exact_sum: 0,
            mean: 0.0,
            squares: 0.0,
            samples: Samples::new(seed),
        })
    }

    pub(super) fn add(&mut self, array: &ArrayRef) {
        gather!(
            self, array,
            DataType::Int8 => Int8Type,
            DataType::Int16 => Int16Type,
            DataType::Int32 => Int32Type,
            DataType::Int64 => Int64Type,
            DataType::UInt8 => UInt8Type,
            DataType::UInt16 => UInt16Type,
            DataType::UInt32 => UInt32Type,
            DataType::UInt64 => UInt64Type,
            DataType::Decimal32(..) => Decimal32Type,
            DataType::Decimal64(..) => Decimal64Type,
            DataType::Date32 => Date32Type,
            DataType::Time64(TimeUnit::Microsecond) => Time64MicrosecondType,
            DataType::Timestamp(TimeUnit::Second, _) => TimestampSecondType,
            DataType::Timestamp(TimeUnit::Millisecond, _) => TimestampMillisecondType,
            DataType::Timestamp(TimeUnit::Microsecond, _) => TimestampMicrosecondType,
            DataType::Timestamp(TimeUnit::Nanosecond, _) => TimestampNanosecondType,
        );
    }

    fn gather<T: ArrowPrimitiveType>(
        &mut self,
        array: &PrimitiveArray<T>,
        exact: impl Fn(T::Native) -> i128,
        real: impl Fn(T::Native) -> f64 + Copy,
    ) {
        let present: Vec<T::Native>;
        let values: &[T::Native] = match array.null_count() {
            0 => array.values(),
            _ => {
                present = array.iter().flatten().collect();
                &present
            }
        };
        if values.is_empty() {
            return;
        }
        let count = values.len() as f64;
        let mean = values.iter().map(|v| real(*v)).sum::<f64>() / count;
        let square = |v: &T::Native| {
            let distance = real(*v) - mean;
            distance * distance
        };
        let squares = values.iter().map(square).sum();
        self.exact_sum += values.iter().map(|v| exact(*v)).sum::<i128>();
        self.join(values.len() as u64, mean, squares);
        self.samples.offer(values.len(), |i| real(values[i]));
    }

    /// Takes in others' mean and squares (Chan, Golub and LeVeque 1979).
    fn join(&mut self, count: u64, mean: f64, squares: f64) {
        if count == 0 {
            return;
        }
        let (mine, theirs) = (self.count as f64, count as f64);
        let distance = mean - self.mean;
        self.count += count;
        if mine == 0.0 {
            (self.mean, self.squares) = (mean, squares);
            return;
        }
        self.mean += distance * theirs / (mine + theirs);
        self.squares += squares + distance * distance * mine * theirs / (mine + theirs);
    }

    pub(super) fn merge(&mut self, other: Self) {
        self.exact_sum += other.exact_sum;
        self.join(other.count, other.mean, other.squares);
        self.samples.merge(other.samples);
    }

    pub(super) fn texts(&self) -> Result<NumberTexts> {
        if self.count == 0 {
            return Ok(NumberTexts::default());
        }
        let quartiles = self.samples.quantiles([0.25, 0.5, 0.75]);
        let mut texts = NumberTexts::default();
        for (text, value) in texts.quartiles.iter_mut().zip(quartiles) {
            *text = match value {
                Some(value) => self.value(value)?,
                None => None,
            };
        }
        texts.avg = self.average()?;
        if let Some(scale) = self.scale() {
            let deviation = (self.squares / (self.count as f64 - 1.0)).sqrt() / scale;
            // As in DuckDB, one value deviates from nothing.
            if self.count > 1 && deviation.is_finite() {
                texts.std = real_text(deviation)?;
            }
        }
        Ok(texts)
    }

    /// Units in one; none for dates and times.
    fn scale(&self) -> Option<f64> {
        match &self.ty {
            DataType::Decimal32(_, scale)
            | DataType::Decimal64(_, scale)
            | DataType::Decimal128(_, scale) => Some(10_f64.powi(i32::from(*scale))),
            DataType::Decimal256(_, scale) => Some(10_f64.powi(i32::from(*scale))),
            ty if ty.is_integer() || ty.is_floating() => Some(1.0),
            _ => None,
        }
    }

    /// Microseconds in a unit, of dates and times.
    fn micros(&self) -> f64 {
        match &self.ty {
            DataType::Date32 => 86_400e6,
            DataType::Timestamp(TimeUnit::Second, _) => 1e6,
            DataType::Timestamp(TimeUnit::Millisecond, _) => 1e3,
            DataType::Timestamp(TimeUnit::Nanosecond, _) => 1e-3,
            _ => 1.0,
        }
    }

    fn average(&self) -> Result<Option<String>> {
        let is_wide = matches!(self.ty, DataType::Decimal128(..) | DataType::Decimal256(..));
        let is_exact = !self.ty.is_floating() && !is_wide;
        match self.scale() {
            Some(scale) if is_exact => {
                real_text(self.exact_sum as f64 / (self.count as f64 * scale))
            }
            Some(scale) => real_text(self.mean / scale),
            // A date's average has a time of day.
            None => self.instant(self.exact_sum as f64 / self.count as f64),
        }
    }

    /// A value of the column's type, rounded to it.
    fn value(&self, value: f64) -> Result<Option<String>> {
        let whole = value.round_ties_even();
        match &self.ty {
            DataType::Date32 => Ok(value_text(&Date32Array::from(vec![whole as i32]), 0)?),
            DataType::Decimal32(precision, scale)
            | DataType::Decimal64(precision, scale)
            | DataType::Decimal128(precision, scale) => {
                let array = Decimal128Array::from(vec![whole as i128]);
                let array = array.with_precision_and_scale((*precision).max(1), *scale)?;
                Ok(value_text(&array, 0)?)
            }
            ty if ty.is_integer() || matches!(ty, DataType::Decimal256(..)) => {
                Ok(Some((whole as i128).to_string()))
            }
            ty if ty.is_floating() => real_text(value),
            _ => self.instant(value),
        }
    }

    /// A time or timestamp, to the microsecond.
    fn instant(&self, value: f64) -> Result<Option<String>> {
        let micros = (value * self.micros()).round() as i64;
        let zone = match &self.ty {
            DataType::Time64(_) => {
                return Ok(value_text(&Time64MicrosecondArray::from(vec![micros]), 0)?);
            }
            DataType::Timestamp(_, zone) => zone.clone(),
            _ => None,
        };
        let array = TimestampMicrosecondArray::from(vec![micros]).with_timezone_opt(zone);
        Ok(value_text(&array, 0)?)
    }
}

fn real_text(value: f64) -> Result<Option<String>> {
    Ok(value_text(&Float64Array::from(vec![value]), 0)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::array::{Decimal64Array, Int64Array};
    use std::sync::Arc;

    fn texts(parts: Vec<ArrayRef>) -> NumberTexts {
        let mut all = Numbers::new(parts[0].data_type(), 0).unwrap();
        for part in parts {
            let mut numbers = Numbers::new(part.data_type(), 1).unwrap();
            numbers.add(&part);
            all.merge(numbers);
        }
        all.texts().unwrap()
    }

    #[test]
    fn parts_give_what_the_whole_gives() {
        let array = |values: &[i64]| -> ArrayRef { Arc::new(Int64Array::from(values.to_vec())) };
        let values: Vec<i64> = (0..1000).map(|i| i * i % 311).collect();
        let whole = texts(vec![array(&values)]);
        let parts = texts(values.chunks(77).map(array).collect());
        assert_eq!(
            (&whole.avg, &whole.quartiles),
            (&parts.avg, &parts.quartiles)
        );
        let number = |text: &Option<String>| text.as_ref().unwrap().parse::<f64>().unwrap();
        assert!((number(&whole.std) - number(&parts.std)).abs() < 1e-9);
    }

    #[test]
    fn sums_are_exact_and_wide() {
        let most: ArrayRef = Arc::new(Int64Array::from(vec![i64::MAX, i64::MAX, i64::MAX - 3]));
        assert_eq!(texts(vec![most]).avg.unwrap(), "9.223372036854776e+18");
        let cents = Decimal64Array::from(vec![Some(10), None, Some(20), Some(40)]);
        let cents = cents.with_precision_and_scale(15, 2).unwrap();
        let texts = texts(vec![Arc::new(cents)]);
        assert_eq!(texts.avg.unwrap(), "0.23333333333333334");
        assert_eq!(texts.quartiles[1].as_deref(), Some("0.20"));
    }

    #[test]
    fn no_value_has_no_text() {
        let texts = texts(vec![Arc::new(Int64Array::from(vec![None, None]))]);
        assert!(texts.avg.is_none() && texts.std.is_none() && texts.quartiles[0].is_none());
    }
}
