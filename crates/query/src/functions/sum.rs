//! `sum` and `avg` that cannot wrap: integers and decimals add up exactly in 128 bits, to a HUGEINT or 38 digits, and what is past that is an
//! error. As in DuckDB, `avg` of any number is a DOUBLE, of a point in time another one. PostgreSQL's `sum` of INTEGER is BIGINT, its `avg` of what is exact is a numeric.

use super::different_values::DifferentValues;
use super::float_arithmetic;
use super::frame_values::FrameValues;
use super::interval_mean::{DistinctMean, IntervalMean, Mean, parted};
use super::moving_sum::MovingSum;
use super::plain::called;
use super::quantile::point_in_time;
use super::quotient::QUOTIENT;
use super::sum_numbers::{InRange, MAX_DIGITS, Sum, is_whole, means, scale, total};
use crate::heed::check;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Int64Array};
use datafusion::arrow::buffer::NullBuffer;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Int64Type, i256};
use datafusion::common::{Result, ScalarValue, plan_err};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::format_state_name;
use datafusion::logical_expr::{
    Accumulator, AggregateUDFImpl, EmitTo, GroupsAccumulator, ReversedUDAF, Signature, Volatility,
};
use hushdb_sql::{Error, ErrorKind, POSTGRES_AVG, POSTGRES_SUM};
use hushdb_storage::{HUGEINT, UHUGEINT};
use std::collections::HashSet;
use std::sync::Arc;

/// Which number the accumulated sum becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Answer {
    Sum,
    Avg,
    PostgresSum,
    PostgresAvg,
}

impl Answer {
    fn counts(self) -> bool {
        matches!(self, Answer::Avg | Answer::PostgresAvg)
    }

    /// The same of intervals.
    fn of_intervals(self) -> Mean {
        match self {
            Answer::Sum | Answer::PostgresSum => Mean::Sum,
            Answer::PostgresAvg => Mean::Exact,
            Answer::Avg => Mean::OfParts,
        }
    }

    fn is_postgres(self) -> bool {
        matches!(self, Answer::PostgresSum | Answer::PostgresAvg)
    }
}

/// The aggregate function; `Answer` says which of them it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct ExactSum {
    answer: Answer,
    signature: Signature,
    aliases: Vec<String>,
}

impl ExactSum {
    pub(super) fn all() -> [Self; 4] {
        use Answer::{Avg, PostgresAvg, PostgresSum, Sum};
        [Sum, Avg, PostgresSum, PostgresAvg].map(|answer| Self {
            answer,
            signature: Signature::user_defined(Volatility::Immutable),
            aliases: match answer {
                Avg => vec!["mean".into()],
                _ => vec![],
            },
        })
    }
}

fn state_type(input: &DataType) -> DataType {
    match input {
        DataType::Float32 | DataType::Float64 => DataType::Float64,
        other => DataType::Decimal128(MAX_DIGITS, scale(other)),
    }
}

/// The type in which values are added up; `None` where there is no such sum.
fn summand(input: &DataType, answer: Answer) -> Option<DataType> {
    Some(match input {
        DataType::Null => DataType::Int64,
        DataType::Boolean if answer != Answer::Avg => DataType::Int64,
        huge if *huge == HUGEINT => HUGEINT,
        huge if *huge == UHUGEINT => DataType::Float64,
        DataType::UInt64 => DataType::UInt64,
        DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::UInt8 | DataType::UInt16
            if answer.is_postgres() =>
        {
            DataType::Int32
        }
        integer if integer.is_integer() => DataType::Int64,
        DataType::Decimal32(p, s) | DataType::Decimal64(p, s) => DataType::Decimal64(*p, *s),
        DataType::Decimal128(p, s) => DataType::Decimal128(*p, *s),
        DataType::Float32 if answer == Answer::PostgresSum => DataType::Float32,
        DataType::Float16 | DataType::Float32 | DataType::Float64 => DataType::Float64,
        other => {
            return match answer {
                Answer::Avg => parted(other).or_else(|| point_in_time(other)),
                Answer::PostgresSum | Answer::PostgresAvg => {
                    parted(other).filter(|of| matches!(of, DataType::Interval(_)))
                }
                Answer::Sum => None,
            };
        }
    })
}

/// The type in which the values of a list are added up; `None` where they have no mean.
pub(super) fn averaged(input: &DataType) -> Option<DataType> {
    summand(input, Answer::Avg)
}

impl AggregateUDFImpl for ExactSum {
    fn name(&self) -> &str {
        match self.answer {
            Answer::Sum => "sum",
            Answer::Avg => "avg",
            Answer::PostgresSum => POSTGRES_SUM,
            Answer::PostgresAvg => POSTGRES_AVG,
        }
    }

    fn aliases(&self) -> &[String] {
        &self.aliases
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, arg_types: &[DataType]) -> Result<Vec<DataType>> {
        let [input] = arg_types else {
            return plan_err!(
                "{} takes one argument, not {}",
                self.name(),
                arg_types.len()
            );
        };
        match summand(input, self.answer) {
            Some(of) => Ok(vec![of]),
            None => plan_err!(
                "No function matches the given name and argument types '{}'. You might need to add explicit type casts.",
                called(self.name(), arg_types)
            ),
        }
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        Ok(match self.answer {
            _ if parted(&arg_types[0]).is_some() => arg_types[0].clone(),
            Answer::Avg if arg_types[0].is_temporal() => arg_types[0].clone(),
            Answer::PostgresSum if arg_types[0] == DataType::Int32 => DataType::Int64,
            Answer::PostgresSum if arg_types[0] == DataType::Float32 => DataType::Float32,
            Answer::Sum | Answer::PostgresSum if is_whole(&arg_types[0]) => HUGEINT,
            Answer::Sum | Answer::PostgresSum => state_type(&arg_types[0]),
            Answer::PostgresAvg if arg_types[0] != DataType::Float64 => QUOTIENT,
            Answer::Avg | Answer::PostgresAvg => DataType::Float64,
        })
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        let input = args.expr_fields[0].data_type();
        if parted(input).is_some() {
            let answer = self.answer.of_intervals();
            return Ok(match args.is_distinct {
                true => Box::new(DistinctMean(DifferentValues::of(input, true)?, answer)),
                false => Box::new(IntervalMean::new(input, answer)),
            });
        }
        let total = Total::new(self.answer, input);
        let seen = HashSet::new();
        Ok(match args.is_distinct {
            true => Box::new(DistinctTotal { total, seen }),
            false => Box::new(total),
        })
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        if args.is_distinct {
            return Ok(FrameValues::of(self.clone(), &args));
        }
        let input = args.expr_fields[0].data_type();
        if input.is_floating() {
            let range = self.answer.is_postgres().then(|| input.clone());
            return Ok(Box::new(MovingSum::new(self.answer.counts(), range)));
        }
        self.accumulator(args)
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        let input = args.input_fields[0].data_type();
        if args.is_distinct {
            let item = Field::new_list_field(input.clone(), true);
            return Ok(vec![
                Field::new_list(format_state_name(args.name, "distinct"), item, true).into(),
            ]);
        }
        if parted(input).is_some() {
            return Ok(IntervalMean::state_fields(args.name));
        }
        let mut fields =
            vec![Field::new(format_state_name(args.name, "sum"), state_type(input), true).into()];
        if self.answer.counts() {
            fields.push(
                Field::new(
                    format_state_name(args.name, "count"),
                    DataType::Int64,
                    false,
                )
                .into(),
            );
        }
        Ok(fields)
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs) -> bool {
        !args.is_distinct && parted(args.expr_fields[0].data_type()).is_none()
    }

    fn create_groups_accumulator(
        &self,
        args: AccumulatorArgs,
    ) -> Result<Box<dyn GroupsAccumulator>> {
        let input = args.expr_fields[0].data_type().clone();
        Ok(match input {
            DataType::Float32 | DataType::Float64 => match self.answer.is_postgres() {
                true => Box::new(GroupTotals::<InRange>::new(self.answer, input)),
                false => Box::new(GroupTotals::<f64>::new(self.answer, input)),
            },
            _ => Box::new(GroupTotals::<i128>::new(self.answer, input)),
        })
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        ReversedUDAF::Identical
    }
}

pub(super) fn overflow(input: &DataType) -> datafusion::error::DataFusionError {
    if input.is_floating() {
        return float_arithmetic::overflow().into();
    }
    let what = match is_whole(input) {
        _ if *input == DataType::Int32 => "sum does not fit into bigint; cast what is added to it",
        true => "Overflow in HUGEINT addition: sum does not fit",
        false => "sum does not fit into 38 digits",
    };
    Error::new(ErrorKind::OutOfRange, what).into()
}

/// One group's sum, for queries without GROUP BY and for windows.
#[derive(Debug)]
struct Total {
    answer: Answer,
    input: DataType,
    exact: i128,
    /// How often `exact` wrapped upwards, less how often downwards: a window that slides over too much comes back.
    carry: i64,
    float: InRange,
    count: i64,
}

impl Total {
    fn new(answer: Answer, input: &DataType) -> Self {
        Self {
            answer,
            input: input.clone(),
            exact: 0,
            carry: 0,
            float: InRange::default(),
            count: 0,
        }
    }

    fn is_float(&self) -> bool {
        self.input.is_floating()
    }

    fn add(&mut self, values: &ArrayRef, sign: i64) -> Result<()> {
        if self.is_float() || values.data_type() == &DataType::Float64 {
            let mut fits = true;
            InRange::each(values, None, |_, v| {
                fits &= self.float.add(v);
                self.count += sign;
            })?;
            return match fits || !self.answer.is_postgres() {
                true => Ok(()),
                false => Err(overflow(&self.input)),
            };
        }
        if let Some(total) = total(values) {
            self.add_exact(total, sign);
            let known = values.len() - values.null_count();
            self.count += sign * known as i64;
            return Ok(());
        }
        i128::each(values, None, |_, v| {
            self.add_exact(v, sign);
            self.count += sign;
        })
    }

    fn add_exact(&mut self, value: i128, sign: i64) {
        let (sum, wrapped) = match sign < 0 {
            true => self.exact.overflowing_sub(value),
            false => self.exact.overflowing_add(value),
        };
        self.exact = sum;
        self.carry += i64::from(wrapped) * sign * value.signum() as i64;
    }

    fn sum(&self) -> Result<ScalarValue> {
        if self.is_float() {
            let sum = (self.count > 0).then_some(self.float.0);
            return Ok(ScalarValue::Float64(sum));
        }
        if self.carry != 0 || !self.exact.fits(&self.input) {
            return Err(overflow(&self.input));
        }
        Ok(ScalarValue::Decimal128(
            (self.count > 0).then_some(self.exact),
            MAX_DIGITS,
            scale(&self.input),
        ))
    }

    /// The sum as it is handed over.
    fn answered(&self) -> Result<ScalarValue> {
        Ok(match self.sum()? {
            ScalarValue::Decimal128(sum, ..) if self.input == DataType::Int32 => {
                ScalarValue::Int64(sum.map(|sum| sum as i64))
            }
            ScalarValue::Decimal128(sum, ..) if is_whole(&self.input) => {
                ScalarValue::Decimal256(sum.map(i256::from_i128), MAX_DIGITS + 1, 0)
            }
            ScalarValue::Float64(sum) if self.input == DataType::Float32 => {
                if sum.is_some() && !self.float.fits(&self.input) {
                    return Err(overflow(&self.input));
                }
                ScalarValue::Float32(sum.map(|sum| sum as f32))
            }
            sum => sum,
        })
    }
}

impl Accumulator for Total {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.add(&values[0], 1)
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.add(&values[0], -1)
    }

    fn supports_retract_batch(&self) -> bool {
        !self.is_float()
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let (counts, scale) = ([self.count], scale(&self.input));
        self.sum()?;
        let mean = match self.answer {
            Answer::Sum | Answer::PostgresSum => return self.answered(),
            _ if self.is_float() => means(&[self.float.0], &counts, &self.input)?,
            Answer::Avg => means(&[self.exact], &counts, &self.input)?,
            Answer::PostgresAvg => i128::postgres_means(&[self.exact], &counts, scale)?,
        };
        ScalarValue::try_from_array(&mean, 0)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let mut state = vec![self.sum()?];
        if self.answer.counts() {
            state.push(ScalarValue::Int64(Some(self.count)));
        }
        Ok(state)
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let before = self.count;
        self.add(&states[0], 1)?;
        if self.answer.counts() {
            let counts = states[1].as_primitive::<Int64Type>();
            self.count = before + counts.iter().flatten().sum::<i64>();
        }
        Ok(())
    }

    fn size(&self) -> usize {
        size_of::<Self>()
    }
}

/// `sum(DISTINCT x)`: keeps the distinct values, adds them up at the end.
#[derive(Debug)]
struct DistinctTotal {
    total: Total,
    seen: HashSet<ScalarValue>,
}

impl DistinctTotal {
    fn insert(&mut self, values: &ArrayRef) -> Result<()> {
        for i in 0..values.len() {
            if values.is_valid(i) {
                self.seen
                    .insert(ScalarValue::try_from_array(values, i)?.compacted());
            }
        }
        Ok(())
    }
}

impl Accumulator for DistinctTotal {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.insert(&values[0])
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        check()?;
        let mut total = Total::new(self.total.answer, &self.total.input);
        if !self.seen.is_empty() {
            total.add(&ScalarValue::iter_to_array(self.seen.iter().cloned())?, 1)?;
        }
        total.evaluate()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let values: Vec<ScalarValue> = self.seen.iter().cloned().collect();
        Ok(vec![ScalarValue::List(ScalarValue::new_list(
            &values,
            &self.total.input,
            true,
        ))])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        for list in states[0].as_list::<i32>().iter().flatten() {
            self.insert(&list)?;
        }
        Ok(())
    }

    fn size(&self) -> usize {
        size_of::<Self>() + self.seen.capacity() * size_of::<ScalarValue>()
    }
}

/// Sums of many groups at once.
#[derive(Debug)]
struct GroupTotals<N: Sum> {
    answer: Answer,
    input: DataType,
    sums: Vec<N>,
    counts: Vec<i64>,
}

impl<N: Sum> GroupTotals<N> {
    fn new(answer: Answer, input: DataType) -> Self {
        Self {
            answer,
            input,
            sums: vec![],
            counts: vec![],
        }
    }

    fn take(&mut self, emit_to: EmitTo) -> (Vec<N>, Vec<i64>) {
        (
            emit_to.take_needed(&mut self.sums),
            emit_to.take_needed(&mut self.counts),
        )
    }

    /// Sums, and which of them are NULL.
    fn checked(&self, sums: Vec<N>, counts: &[i64]) -> Result<(Vec<N>, Option<NullBuffer>)> {
        if !sums.iter().all(|s| s.fits(&self.input)) {
            return Err(overflow(&self.input));
        }
        let nulls = counts
            .contains(&0)
            .then(|| counts.iter().map(|c| *c > 0).collect());
        Ok((sums, nulls))
    }

    fn sums_array(&self, sums: Vec<N>, counts: &[i64]) -> Result<ArrayRef> {
        let (sums, nulls) = self.checked(sums, counts)?;
        Ok(N::state(sums, nulls, scale(&self.input)))
    }
}

impl<N: Sum> GroupsAccumulator for GroupTotals<N> {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        opt_filter: Option<&BooleanArray>,
        total_num_groups: usize,
    ) -> Result<()> {
        self.sums.resize(total_num_groups, N::default());
        self.counts.resize(total_num_groups, 0);
        let (sums, counts) = (self.sums.as_mut_slice(), self.counts.as_mut_slice());
        if opt_filter.is_none() && N::add_to_few(&values[0], group_indices, sums, counts) {
            return Ok(());
        }
        let mut fits = true;
        N::each(&values[0], opt_filter, |i, value| {
            let group = group_indices[i];
            fits &= sums[group].add(value);
            counts[group] += 1;
        })?;
        if fits {
            Ok(())
        } else {
            Err(overflow(&self.input))
        }
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        let (sums, counts) = self.take(emit_to);
        match self.answer {
            Answer::Sum | Answer::PostgresSum => {
                let (sums, nulls) = self.checked(sums, &counts)?;
                Ok(N::answer(sums, nulls, &self.input))
            }
            Answer::Avg => means(&sums, &counts, &self.input),
            Answer::PostgresAvg => N::postgres_means(&sums, &counts, scale(&self.input)),
        }
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        let (sums, counts) = self.take(emit_to);
        let mut state = vec![self.sums_array(sums, &counts)?];
        if self.answer.counts() {
            state.push(Arc::new(Int64Array::from(counts)));
        }
        Ok(state)
    }

    fn merge_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        total_num_groups: usize,
    ) -> Result<()> {
        self.sums.resize(total_num_groups, N::default());
        self.counts.resize(total_num_groups, 0);
        let counts = self
            .answer
            .counts()
            .then(|| values[1].as_primitive::<Int64Type>());
        let (group_sums, group_counts) = (self.sums.as_mut_slice(), self.counts.as_mut_slice());
        let mut fits = true;
        N::each(&values[0], None, |i, value| {
            let group = group_indices[i];
            fits &= group_sums[group].add(value);
            group_counts[group] += counts.map_or(1, |c| c.value(i));
        })?;
        if fits {
            Ok(())
        } else {
            Err(overflow(&self.input))
        }
    }

    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        opt_filter: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        let rows = values[0].len();
        let mut sums = vec![N::default(); rows];
        let mut counts = vec![0i64; rows];
        N::each(&values[0], opt_filter, |i, value| {
            sums[i] = value;
            counts[i] = 1;
        })?;
        let mut state = vec![self.sums_array(sums, &counts)?];
        if self.answer.counts() {
            state.push(Arc::new(Int64Array::from(counts)));
        }
        Ok(state)
    }

    fn size(&self) -> usize {
        self.sums.capacity() * size_of::<N>() + self.counts.capacity() * size_of::<i64>()
    }
}
