//! `IntervalMean`: the accumulator of `avg` of intervals, and of PostgreSQL's `sum` of them, and of times of day with a zone, which is that of UTC.
//!
//! What must hold: months, days and microseconds add up apart, so that a frame takes back what it had; a month that does not divide is thirty
//! days. As in DuckDB, microseconds that do not divide are added whole.

use super::different_values::DifferentValues;
use super::interval_units::scaled_by;
use super::time_tz::times;
use datafusion::arrow::array::{Array, ArrayRef, AsArray};
use datafusion::arrow::datatypes::{
    DataType, Field, FieldRef, Int64Type, IntervalMonthDayNano, IntervalMonthDayNanoType,
    IntervalUnit,
};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::Accumulator;
use datafusion::logical_expr::utils::format_state_name;
use hushdb_sql::{Error, ErrorKind};
use hushdb_storage::{TIMETZ, TimeTz};

const INTERVAL: DataType = DataType::Interval(IntervalUnit::MonthDayNano);
const DAYS_PER_MONTH: i64 = 30;
const MICROS_PER_SECOND: i64 = 1_000_000;
const MICROS_PER_DAY: i64 = 86_400 * MICROS_PER_SECOND;

/// What is made of the sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mean {
    /// Each part by itself, as in DuckDB.
    OfParts,
    /// Fractions go to smaller parts, as in PostgreSQL.
    Exact,
    /// The sums are the answer.
    Sum,
}

/// Sums, and how many values they are of.
#[derive(Debug)]
pub(super) struct IntervalMean {
    of: DataType,
    answer: Mean,
    months: i64,
    days: i64,
    micros: i64,
    count: i64,
}

/// The type in which such values are added up; `None` of others.
pub(super) fn parted(of: &DataType) -> Option<DataType> {
    match of {
        DataType::Interval(_) => Some(INTERVAL),
        of => (*of == TIMETZ).then_some(TIMETZ),
    }
}

fn overflow() -> Error {
    let what = "Overflow in avg: the sum of the intervals does not fit";
    Error::new(ErrorKind::OutOfRange, what)
}

impl IntervalMean {
    pub(super) fn new(of: &DataType, answer: Mean) -> Self {
        Self {
            of: of.clone(),
            answer,
            months: 0,
            days: 0,
            micros: 0,
            count: 0,
        }
    }

    pub(super) fn state_fields(name: &str) -> Vec<FieldRef> {
        let field = |part| Field::new(format_state_name(name, part), DataType::Int64, false).into();
        ["months", "days", "micros", "count"].map(field).into()
    }

    fn add(&mut self, parts: [i64; 3], count: i64) -> Result<(), Error> {
        let [months, days, micros] = parts;
        let sum = |sum: i64, part: i64| sum.checked_add(part).ok_or_else(overflow);
        self.months = sum(self.months, months)?;
        self.days = sum(self.days, days)?;
        self.micros = sum(self.micros, micros)?;
        self.count += count;
        Ok(())
    }

    /// Adds values, or takes them back.
    pub(super) fn count(&mut self, values: &ArrayRef, sign: i64) -> Result<()> {
        if self.of == TIMETZ {
            for time in times(values).flatten() {
                self.add([0, 0, sign * micros_of_utc(time)], sign)?;
            }
            return Ok(());
        }
        for value in values
            .as_primitive::<IntervalMonthDayNanoType>()
            .iter()
            .flatten()
        {
            let parts = [
                value.months.into(),
                value.days.into(),
                value.nanoseconds / 1000,
            ];
            self.add(parts.map(|part| sign * part), sign)?;
        }
        Ok(())
    }

    pub(super) fn mean(&self) -> Result<ScalarValue> {
        if self.count == 0 {
            return ScalarValue::try_from(&self.of);
        }
        let count = self.count;
        if self.of == TIMETZ {
            let mean = TimeTz::new(self.micros / count, 0).ok_or_else(overflow)?;
            let bytes = mean.to_bytes().to_vec();
            return Ok(ScalarValue::FixedSizeBinary(8, Some(bytes)));
        }
        // The sums are intervals, too.
        let fits = |part: i64| i32::try_from(part).map_err(|_| overflow());
        let (months, days) = (i64::from(fits(self.months)?), i64::from(fits(self.days)?));
        if self.answer != Mean::OfParts {
            let nanos = self.micros.checked_mul(1000).ok_or_else(overflow)?;
            let sum = IntervalMonthDayNano::new(fits(months)?, fits(days)?, nanos);
            let answer = match self.answer {
                Mean::Exact => scaled_by(sum, |part| part / count as f64)?,
                Mean::Sum | Mean::OfParts => sum,
            };
            return Ok(ScalarValue::IntervalMonthDayNano(Some(answer)));
        }
        let days_left = months % count * DAYS_PER_MONTH;
        let micros_left = i128::from(days % count + days_left % count) * i128::from(MICROS_PER_DAY);
        let whole = i128::from(self.micros / count + self.micros % count);
        let nanos = (whole + micros_left / i128::from(count)) * 1000;
        let mean = IntervalMonthDayNano {
            months: fits(months / count)?,
            days: fits(days / count + days_left / count)?,
            nanoseconds: i64::try_from(nanos).map_err(|_| overflow())?,
        };
        Ok(ScalarValue::IntervalMonthDayNano(Some(mean)))
    }
}

/// A time of day in UTC.
/// The mean of values that differ, or their sum, each of which counts once.
#[derive(Debug)]
pub(super) struct DistinctMean(pub(super) DifferentValues, pub(super) Mean);

impl Accumulator for DistinctMean {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.0.update_batch(values)
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let ScalarValue::List(list) = self.0.evaluate()? else {
            return internal_err!("values that differ are a list");
        };
        let mut mean = IntervalMean::new(&list.value_type(), self.1);
        if list.is_valid(0) {
            mean.count(&list.value(0), 1)?;
        }
        mean.mean()
    }

    fn size(&self) -> usize {
        self.0.size()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.0.state()
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.0.merge_batch(states)
    }
}

fn micros_of_utc(time: TimeTz) -> i64 {
    let micros = time.micros() - i64::from(time.offset()) * MICROS_PER_SECOND;
    micros.rem_euclid(MICROS_PER_DAY)
}

impl Accumulator for IntervalMean {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.count(&values[0], 1)
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.count(&values[0], -1)
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        self.mean()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let parts = [self.months, self.days, self.micros, self.count];
        Ok(parts.map(ScalarValue::from).into())
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let [months, days, micros, count] =
            [0, 1, 2, 3].map(|part| states[part].as_primitive::<Int64Type>());
        for row in 0..count.len() {
            let parts = [months, days, micros].map(|parts| parts.value(row));
            self.add(parts, count.value(row))?;
        }
        Ok(())
    }

    fn size(&self) -> usize {
        size_of_val(self)
    }
}
