//! `sum` and `avg` of floats over frames that move. A float that leaves a frame cannot be subtracted again: 1e20 + 1 - 1e20 is 0, and what
//! was infinite stays so.
//!
//! What must hold: a frame's sum is added up of the frame's values alone, each value is added twice at most, and values leave in the order
//! in which they came. They lie on two stacks: what came last, with its sum, and what leaves next, each with the sum of it and all that
//! came behind it up to the other stack (Tangwongsan, Hirzel, Schneider: Low-Latency Sliding-Window Aggregation, 2017, section 3).

use super::float_arithmetic;
use super::sum_numbers::{InRange, Sum};
use datafusion::arrow::array::ArrayRef;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::Accumulator;

/// The accumulator; see the module.
#[derive(Debug, Default)]
pub(super) struct MovingSum {
    is_mean: bool,
    /// The type whose range an answer may not leave, as in PostgreSQL.
    range: Option<DataType>,
    /// How many values are no finite numbers.
    infinite: usize,
    entered: Vec<f64>,
    sum_of_entered: f64,
    /// The value that leaves next is in the last sum alone.
    leaving: Vec<f64>,
}

impl MovingSum {
    /// A frame without values; of its mean, or its sum, in the range of a type where there is one.
    pub(super) fn new(is_mean: bool, range: Option<DataType>) -> Self {
        Self {
            is_mean,
            range,
            ..Self::default()
        }
    }

    /// Sums of PostgreSQL's `real` are of that type.
    fn typed(&self, answer: Option<f64>) -> Result<ScalarValue> {
        Ok(match self.range {
            Some(DataType::Float32) => ScalarValue::Float32(answer.map(|sum| sum as f32)),
            _ => ScalarValue::Float64(answer),
        })
    }

    fn leave(&mut self) -> Option<f64> {
        if self.leaving.is_empty() {
            let mut sum = 0.0;
            while let Some(value) = self.entered.pop() {
                sum += value;
                self.leaving.push(sum);
            }
            self.sum_of_entered = 0.0;
        }
        self.leaving.pop()
    }
}

impl Accumulator for MovingSum {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        InRange::each(&values[0], None, |_, InRange(value)| {
            self.infinite += usize::from(!value.is_finite());
            self.entered.push(value);
            self.sum_of_entered += value;
        })
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let mut all_left = true;
        InRange::each(&values[0], None, |_, InRange(value)| {
            let infinite = self.infinite.checked_sub(usize::from(!value.is_finite()));
            all_left &= infinite.is_some() && self.leave().is_some();
            self.infinite = infinite.unwrap_or(0);
        })?;
        match all_left {
            true => Ok(()),
            false => internal_err!("a frame lost too many"),
        }
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let values = self.entered.len() + self.leaving.len();
        let sum = self.leaving.last().unwrap_or(&0.0) + self.sum_of_entered;
        let answer = match self.is_mean {
            true => sum / values as f64,
            false => sum,
        };
        let answer = (values > 0).then_some(answer);
        let Some(range) = self.range.as_ref().filter(|_| self.infinite == 0) else {
            return self.typed(answer);
        };
        match answer.is_none_or(|sum| sum.is_finite() && InRange(sum).fits(range)) {
            true => self.typed(answer),
            false => Err(float_arithmetic::overflow().into()),
        }
    }

    fn size(&self) -> usize {
        size_of::<Self>() + (self.entered.capacity() + self.leaving.capacity()) * size_of::<f64>()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        internal_err!("the accumulator of a frame has no state")
    }

    fn merge_batch(&mut self, _: &[ArrayRef]) -> Result<()> {
        internal_err!("the accumulators of frames are not merged")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::array::{Float32Array, Float64Array};
    use std::sync::Arc;

    #[test]
    fn a_frame_has_the_sum_of_its_own_values() {
        let values = [1e20, 1.0, f64::INFINITY, 2.0, 3.0, f64::NAN, -7.0, 0.5, 4.0];
        for width in 1..=values.len() {
            let mut moving = MovingSum::new(false, None);
            for end in 1..=values.len() {
                let column = |at: usize| -> ArrayRef {
                    Arc::new(Float64Array::from(vec![None, Some(values[at])]))
                };
                moving.update_batch(&[column(end - 1)]).unwrap();
                let start = end.saturating_sub(width);
                if start > 0 {
                    moving.retract_batch(&[column(start - 1)]).unwrap();
                }
                let sum = values[start..end].iter().sum::<f64>();
                let found = moving.evaluate().unwrap();
                assert_eq!(found.to_string(), ScalarValue::from(sum).to_string());
            }
        }
    }

    #[test]
    fn a_frame_without_values_has_no_sum() {
        let mut moving = MovingSum::new(true, None);
        let column: ArrayRef = Arc::new(Float64Array::from(vec![Some(1.0), None, Some(2.0)]));
        moving.update_batch(std::slice::from_ref(&column)).unwrap();
        assert_eq!(moving.evaluate().unwrap(), ScalarValue::from(1.5));
        moving.retract_batch(std::slice::from_ref(&column)).unwrap();
        assert_eq!(moving.evaluate().unwrap(), ScalarValue::Float64(None));
        assert!(moving.retract_batch(&[column]).is_err());
    }

    #[test]
    fn what_leaves_the_range_of_its_type_is_an_error() {
        let column: ArrayRef = Arc::new(Float32Array::from(vec![3e38, 3e38, f32::INFINITY]));
        let mut moving = MovingSum::new(false, Some(DataType::Float32));
        moving.update_batch(&[column.slice(0, 1)]).unwrap();
        assert_eq!(moving.evaluate().unwrap(), ScalarValue::from(3e38f32));
        moving.update_batch(&[column.slice(1, 1)]).unwrap();
        assert!(moving.evaluate().is_err());
        moving.update_batch(&[column.slice(2, 1)]).unwrap();
        assert_eq!(moving.evaluate().unwrap(), ScalarValue::from(f32::INFINITY));
    }
}
