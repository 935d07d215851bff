//! `sum` and `avg` that cannot wrap: integers and decimals add up exactly in 128 bits, to a HUGEINT or 38 digits, and what is past that is an
//! error. As in DuckDB, `avg` of any number is a DOUBLE. PostgreSQL's `sum` of INTEGER is BIGINT, its `avg` of what is exact is a numeric.

use super::quotient::{QUOTIENT, exact_means};
use crate::heed::check;
use datafusion::arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, BooleanArray, Decimal128Array, Decimal256Array,
    Float64Array, Int64Array, PrimitiveArray,
};
use datafusion::arrow::buffer::NullBuffer;
use datafusion::arrow::datatypes::{
    DataType, Decimal64Type, Decimal128Type, Decimal256Type, Field, FieldRef, Float64Type,
    Int32Type, Int64Type, UInt64Type, i256,
};
use datafusion::common::{Result, ScalarValue, exec_err, plan_err};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::format_state_name;
use datafusion::logical_expr::{
    Accumulator, AggregateUDFImpl, EmitTo, GroupsAccumulator, ReversedUDAF, Signature, Volatility,
};
use hushdb_sql::{Error, ErrorKind, POSTGRES_AVG, POSTGRES_SUM};
use hushdb_storage::{HUGEINT, UHUGEINT};
use std::collections::HashSet;
use std::sync::Arc;

const MAX_DIGITS: u8 = 38;
const LIMIT: i128 = 10i128.pow(38) - 1;

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

    fn is_postgres(self) -> bool {
        matches!(self, Answer::PostgresSum | Answer::PostgresAvg)
    }
}

/// The aggregate function; `Answer` says which of them it is.
#[derive(Debug, PartialEq, Eq, Hash)]
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

/// Scale of a summed decimal; 0 for integers.
fn scale(input: &DataType) -> i8 {
    match input {
        DataType::Decimal64(_, s) | DataType::Decimal128(_, s) => *s,
        _ => 0,
    }
}

/// Whether sums are HUGEINTs.
fn is_whole(input: &DataType) -> bool {
    input.is_integer() || *input == HUGEINT
}

fn state_type(input: &DataType) -> DataType {
    match input {
        DataType::Float64 => DataType::Float64,
        other => DataType::Decimal128(MAX_DIGITS, scale(other)),
    }
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
        Ok(vec![match input {
            DataType::Null | DataType::Boolean => DataType::Int64,
            huge if *huge == HUGEINT => HUGEINT,
            huge if *huge == UHUGEINT => DataType::Float64,
            DataType::UInt64 => DataType::UInt64,
            DataType::Int8
            | DataType::Int16
            | DataType::Int32
            | DataType::UInt8
            | DataType::UInt16
                if self.answer.is_postgres() =>
            {
                DataType::Int32
            }
            integer if integer.is_integer() => DataType::Int64,
            DataType::Decimal32(p, s) | DataType::Decimal64(p, s) => DataType::Decimal64(*p, *s),
            DataType::Decimal128(p, s) => DataType::Decimal128(*p, *s),
            DataType::Float16 | DataType::Float32 | DataType::Float64 => DataType::Float64,
            // Refused when the type of the result is asked for.
            other if other.is_temporal() => other.clone(),
            _ => {
                let call = super::plain::called(self.name(), arg_types);
                return plan_err!("No function matches {call}; cast the argument to a number");
            }
        }])
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        if arg_types[0].is_temporal() {
            let what = format!("{} of dates, times and intervals", self.name());
            return Err(Error::unsupported(what).into());
        }
        Ok(match self.answer {
            Answer::PostgresSum if arg_types[0] == DataType::Int32 => DataType::Int64,
            Answer::Sum | Answer::PostgresSum if is_whole(&arg_types[0]) => HUGEINT,
            Answer::Sum | Answer::PostgresSum => state_type(&arg_types[0]),
            Answer::PostgresAvg if arg_types[0] != DataType::Float64 => QUOTIENT,
            Answer::Avg | Answer::PostgresAvg => DataType::Float64,
        })
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        let total = Total::new(self.answer, args.expr_fields[0].data_type());
        let seen = HashSet::new();
        Ok(match args.is_distinct {
            true => Box::new(DistinctTotal { total, seen }),
            false => Box::new(total),
        })
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(Total::new(
            self.answer,
            args.expr_fields[0].data_type(),
        )))
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        let input = args.input_fields[0].data_type();
        if args.is_distinct {
            let item = Field::new_list_field(input.clone(), true);
            return Ok(vec![
                Field::new_list(format_state_name(args.name, "distinct"), item, false).into(),
            ]);
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
        !args.is_distinct
    }

    fn create_groups_accumulator(
        &self,
        args: AccumulatorArgs,
    ) -> Result<Box<dyn GroupsAccumulator>> {
        let input = args.expr_fields[0].data_type().clone();
        Ok(match input {
            DataType::Float64 => Box::new(GroupTotals::<f64>::new(self.answer, input)),
            _ => Box::new(GroupTotals::<i128>::new(self.answer, input)),
        })
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        ReversedUDAF::Identical
    }
}

fn overflow(input: &DataType) -> datafusion::error::DataFusionError {
    let what = match is_whole(input) {
        _ if *input == DataType::Int32 => "sum does not fit into bigint; cast what is added to it",
        true => "Overflow in HUGEINT addition: sum does not fit",
        false => "sum does not fit into 38 digits",
    };
    Error::new(ErrorKind::OutOfRange, what).into()
}

/// A running sum: exact for integers and decimals, in 64-bit floating point for floats.
trait Sum: Copy + Default + Send + std::fmt::Debug + 'static {
    /// Adds every non-null value that passes the filter; `each` gets a position and a value.
    fn each(
        values: &dyn Array,
        filter: Option<&BooleanArray>,
        each: impl FnMut(usize, Self),
    ) -> Result<()>;
    /// False when the sum no longer fits.
    fn add(&mut self, value: Self) -> bool;
    fn state(values: Vec<Self>, nulls: Option<NullBuffer>, scale: i8) -> ArrayRef;
    /// Sums as they are handed over.
    fn answer(values: Vec<Self>, nulls: Option<NullBuffer>, input: &DataType) -> ArrayRef;
    fn to_f64(self) -> f64;
    /// PostgreSQL's means of so many numbers each; NULL of none.
    fn postgres_means(sums: &[Self], counts: &[i64], scale: i8) -> Result<ArrayRef>;
    /// Whether the type of the sum has it.
    fn fits(self, input: &DataType) -> bool;
}

impl Sum for i128 {
    fn each(
        values: &dyn Array,
        filter: Option<&BooleanArray>,
        each: impl FnMut(usize, Self),
    ) -> Result<()> {
        match values.data_type() {
            DataType::Int32 => visit(values.as_primitive::<Int32Type>(), filter, i128::from, each),
            DataType::Int64 => visit(values.as_primitive::<Int64Type>(), filter, i128::from, each),
            DataType::UInt64 => visit(
                values.as_primitive::<UInt64Type>(),
                filter,
                i128::from,
                each,
            ),
            DataType::Decimal64(..) => visit(
                values.as_primitive::<Decimal64Type>(),
                filter,
                i128::from,
                each,
            ),
            DataType::Decimal128(..) => {
                visit(values.as_primitive::<Decimal128Type>(), filter, |v| v, each)
            }
            DataType::Decimal256(..) => visit(
                values.as_primitive::<Decimal256Type>(),
                filter,
                i256::as_i128,
                each,
            ),
            other => return exec_err!("sum over {other} was not planned"),
        }
        Ok(())
    }

    #[inline]
    fn add(&mut self, value: Self) -> bool {
        let (sum, wrapped) = self.overflowing_add(value);
        *self = sum;
        !wrapped
    }

    fn state(values: Vec<Self>, nulls: Option<NullBuffer>, scale: i8) -> ArrayRef {
        let array = Decimal128Array::new(values.into(), nulls);
        Arc::new(array.with_data_type(DataType::Decimal128(MAX_DIGITS, scale)))
    }

    fn answer(values: Vec<Self>, nulls: Option<NullBuffer>, input: &DataType) -> ArrayRef {
        if *input == DataType::Int32 {
            let values: Vec<i64> = values.into_iter().map(|sum| sum as i64).collect();
            return Arc::new(Int64Array::new(values.into(), nulls));
        }
        if !is_whole(input) {
            return Self::state(values, nulls, scale(input));
        }
        let values: Vec<i256> = values.into_iter().map(i256::from_i128).collect();
        Arc::new(Decimal256Array::new(values.into(), nulls).with_data_type(HUGEINT))
    }

    fn to_f64(self) -> f64 {
        self as f64
    }

    fn postgres_means(sums: &[Self], counts: &[i64], scale: i8) -> Result<ArrayRef> {
        exact_means(sums, counts, scale)
    }

    fn fits(self, input: &DataType) -> bool {
        match *input == DataType::Int32 {
            true => i64::try_from(self).is_ok(),
            false => is_whole(input) || (-LIMIT..=LIMIT).contains(&self),
        }
    }
}

impl Sum for f64 {
    fn each(
        values: &dyn Array,
        filter: Option<&BooleanArray>,
        each: impl FnMut(usize, Self),
    ) -> Result<()> {
        visit(values.as_primitive::<Float64Type>(), filter, |v| v, each);
        Ok(())
    }

    #[inline]
    fn add(&mut self, value: Self) -> bool {
        *self += value;
        true
    }

    fn state(values: Vec<Self>, nulls: Option<NullBuffer>, _scale: i8) -> ArrayRef {
        Arc::new(Float64Array::new(values.into(), nulls))
    }

    fn answer(values: Vec<Self>, nulls: Option<NullBuffer>, input: &DataType) -> ArrayRef {
        Self::state(values, nulls, scale(input))
    }

    fn to_f64(self) -> f64 {
        self
    }

    fn postgres_means(sums: &[Self], counts: &[i64], scale: i8) -> Result<ArrayRef> {
        Ok(means(sums, counts, scale))
    }

    fn fits(self, _: &DataType) -> bool {
        true
    }
}

#[inline]
fn visit<T: ArrowPrimitiveType, N>(
    values: &PrimitiveArray<T>,
    filter: Option<&BooleanArray>,
    widen: impl Fn(T::Native) -> N,
    mut each: impl FnMut(usize, N),
) {
    if values.null_count() == 0 && filter.is_none() {
        for (i, value) in values.values().iter().enumerate() {
            each(i, widen(*value));
        }
        return;
    }
    for (i, value) in values.values().iter().enumerate() {
        let passes = filter.is_none_or(|f| f.is_valid(i) && f.value(i));
        if passes && values.is_valid(i) {
            each(i, widen(*value));
        }
    }
}

/// One group's sum, for queries without GROUP BY and for windows.
#[derive(Debug)]
struct Total {
    answer: Answer,
    input: DataType,
    exact: i128,
    /// How often `exact` wrapped upwards, less how often downwards: a window that slides over too much comes back.
    carry: i64,
    float: f64,
    count: i64,
}

impl Total {
    fn new(answer: Answer, input: &DataType) -> Self {
        Self {
            answer,
            input: input.clone(),
            exact: 0,
            carry: 0,
            float: 0.0,
            count: 0,
        }
    }

    fn is_float(&self) -> bool {
        self.input == DataType::Float64
    }

    fn add(&mut self, values: &ArrayRef, sign: i64) -> Result<()> {
        if self.is_float() || values.data_type() == &DataType::Float64 {
            return f64::each(values, None, |_, v| {
                self.float += if sign < 0 { -v } else { v };
                self.count += sign;
            });
        }
        i128::each(values, None, |_, v| {
            let (sum, wrapped) = match sign < 0 {
                true => self.exact.overflowing_sub(v),
                false => self.exact.overflowing_add(v),
            };
            self.exact = sum;
            self.carry += i64::from(wrapped) * sign * v.signum() as i64;
            self.count += sign;
        })
    }

    fn sum(&self) -> Result<ScalarValue> {
        if self.is_float() {
            return Ok(ScalarValue::Float64((self.count > 0).then_some(self.float)));
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
        true
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let (counts, scale) = ([self.count], scale(&self.input));
        self.sum()?;
        let mean = match self.answer {
            Answer::Sum | Answer::PostgresSum => return self.answered(),
            _ if self.is_float() => means(&[self.float], &counts, scale),
            Answer::Avg => means(&[self.exact], &counts, scale),
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

/// Means of so many numbers each; NULL of none.
fn means<N: Sum>(sums: &[N], counts: &[i64], scale: i8) -> ArrayRef {
    let unit = 10f64.powi(i32::from(scale));
    let means = sums
        .iter()
        .zip(counts)
        .map(|(sum, count)| (*count > 0).then(|| sum.to_f64() / (*count as f64 * unit)));
    Arc::new(means.collect::<Float64Array>())
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
            Answer::Avg => Ok(means(&sums, &counts, scale(&self.input))),
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
