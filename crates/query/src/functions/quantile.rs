//! `quantile_cont(x, share)`, `percentile_cont(share) WITHIN GROUP (ORDER BY x)` and `median(x)`: the value that so many of all are
//! less than, between two values where it falls between them. The median of what has nothing between two values is one of them.
//!
//! What must hold: an extreme between two extremes is one of them; a decimal keeps its type, and so do points in time, of which days are.

use super::frame_values::FrameValues;
use super::middle::Middle;
use super::plain::called;
use super::whole::listed;
use crate::common_types::number_kind::{MAX_DIGITS_128, is_huge};
use crate::heed::check;
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Decimal128Array, Float64Array, Int64Array, RecordBatch,
    new_empty_array,
};
use datafusion::arrow::compute::{cast, concat};
use datafusion::arrow::datatypes::{
    DataType, Decimal128Type, Field, FieldRef, Float64Type, Int64Type, Schema, TimeUnit,
};
use datafusion::common::utils::SingleRowListArrayBuilder;
use datafusion::common::{Result, ScalarValue, internal_err, plan_err};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::format_state_name;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, ColumnarValue, EmitTo, GroupsAccumulator,
    Signature, Volatility,
};
use hushdb_sql::Error;
use hushdb_storage::TIMETZ;
use std::cmp::Ordering;
use std::collections::VecDeque;
use std::sync::Arc;

pub(super) fn all() -> [Arc<AggregateUDF>; 2] {
    let function = |name, alias: Option<&str>| {
        Arc::new(AggregateUDF::from(Quantile {
            name,
            aliases: alias.iter().map(|alias| alias.to_string()).collect(),
            signature: Signature::user_defined(Volatility::Immutable),
        }))
    };
    [
        function("median", None),
        function("percentile_cont", Some("quantile_cont")),
    ]
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Quantile {
    name: &'static str,
    aliases: Vec<String>,
    signature: Signature,
}

impl Quantile {
    fn is_median(&self) -> bool {
        self.name == "median"
    }

    /// Whether the answer is one of the values, since there is nothing between two of them. A time with its zone has others between, of
    /// which DuckDB says a zone that nobody has.
    fn takes_one(&self, of: &DataType) -> bool {
        self.is_median() && kept(of).is_none() && *of != TIMETZ
    }

    fn asked(&self, args: &AccumulatorArgs<'_>) -> Result<Asked> {
        let share = match args.exprs.get(1).filter(|_| !self.is_median()) {
            None => 0.5,
            Some(share) => {
                let none = RecordBatch::new_empty(Arc::new(Schema::empty()));
                match share.evaluate(&none)? {
                    ColumnarValue::Scalar(ScalarValue::Float64(Some(share))) => share,
                    _ => return plan_err!("QUANTILE argument must be a constant, and not NULL"),
                }
            }
        };
        if !(-1.0..=1.0).contains(&share) {
            return plan_err!("QUANTILE can only take parameters in the range [-1, 1]");
        }
        let order = args.order_bys.first().filter(|_| !self.is_median());
        let descends = order.is_some_and(|order| order.options.descending);
        Ok(Asked {
            share: share.abs(),
            descends: descends != (share < 0.0),
            distinct: args.is_distinct,
            to: args.return_field.data_type().clone(),
        })
    }
}

/// The type in which values are kept; `None` for those that have no values between them yet.
fn kept(of: &DataType) -> Option<DataType> {
    match of {
        DataType::Decimal32(_, s) | DataType::Decimal64(_, s) | DataType::Decimal128(_, s) => {
            Some(DataType::Decimal128(MAX_DIGITS_128, *s))
        }
        DataType::Float32 | DataType::Float64 => Some(DataType::Float64),
        // As they stand in the states of groups, too.
        DataType::Timestamp(..) | DataType::Time64(_) | DataType::Int64 => Some(DataType::Int64),
        _ => None,
    }
}

/// The type in which points in time, days, and times of day have others between them: that of microseconds.
pub(super) fn point_in_time(of: &DataType) -> Option<DataType> {
    Some(match of {
        DataType::Date32 => DataType::Timestamp(TimeUnit::Microsecond, None),
        DataType::Timestamp(_, zone) => DataType::Timestamp(TimeUnit::Microsecond, zone.clone()),
        DataType::Time64(_) => DataType::Time64(TimeUnit::Microsecond),
        _ => return None,
    })
}

/// Whether values of a type are whole numbers of something.
fn is_exact(of: &DataType) -> bool {
    of.is_decimal() || of.is_temporal()
}

impl AggregateUDFImpl for Quantile {
    fn name(&self) -> &str {
        self.name
    }

    fn aliases(&self) -> &[String] {
        &self.aliases
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let number = |of: &DataType| match of {
            DataType::Null | DataType::Float16 => DataType::Float64,
            of if of.is_integer() || is_huge(of) => DataType::Float64,
            DataType::Timestamp(..) if self.is_median() => of.clone(),
            of if of.is_temporal() => point_in_time(of).unwrap_or_else(|| of.clone()),
            // What is no number is refused when the type of the result is asked for.
            of => of.clone(),
        };
        match types {
            [of] if self.is_median() => Ok(vec![number(of)]),
            [of, share] if !self.is_median() && (share.is_numeric() || share.is_null()) => {
                Ok(vec![number(of), DataType::Float64])
            }
            [of, DataType::List(_)] if !self.is_median() => Ok(vec![number(of), types[1].clone()]),
            _ => plan_err!(
                "No function matches the given name and argument types '{}'. You might need to add explicit type casts.",
                called(self.name, types)
            ),
        }
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match types {
            [_, DataType::List(_)] => Err(Error::unsupported("several quantiles at once").into()),
            [of, ..] if kept(of).is_some() || self.takes_one(of) => Ok(of.clone()),
            _ => Err(Error::unsupported(format!("'{}'", called(self.name, types))).into()),
        }
    }

    fn return_field(&self, fields: &[FieldRef]) -> Result<FieldRef> {
        let types: Vec<_> = fields.iter().map(|f| f.data_type().clone()).collect();
        let to = self.return_type(&types)?;
        Ok(Arc::new(match fields {
            // One of the values is JSON where they are.
            [of] if self.takes_one(&to) => of.as_ref().clone().with_nullable(true),
            _ => Field::new(self.name, to, true),
        }))
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        let of = args.input_fields.first().map(|of| of.data_type());
        let of = of.and_then(|of| match self.takes_one(of) {
            true => Some(of.clone()),
            false => kept(of),
        });
        let item = Field::new_list_field(of.unwrap_or(DataType::Float64), true);
        let name = format_state_name(args.name, "values");
        Ok(vec![Field::new_list(name, item, true).into()])
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        let of = args.return_field.data_type();
        if self.takes_one(of) {
            return Ok(Box::new(Middle::new(of, args.is_distinct)));
        }
        let asked = self.asked(&args)?;
        Ok(match is_exact(&asked.to) {
            true => Box::new(Values::<i128>::new(asked)),
            false => Box::new(Values::<f64>::new(asked)),
        })
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        match self.takes_one(args.return_field.data_type()) {
            true => Ok(FrameValues::of(self.clone(), &args)),
            false => self.accumulator(args),
        }
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs) -> bool {
        !self.takes_one(args.return_field.data_type())
    }

    fn create_groups_accumulator(
        &self,
        args: AccumulatorArgs,
    ) -> Result<Box<dyn GroupsAccumulator>> {
        let asked = self.asked(&args)?;
        Ok(match is_exact(&asked.to) {
            true => Box::new(Groups::<i128>::new(asked)),
            false => Box::new(Groups::<f64>::new(asked)),
        })
    }

    fn supports_within_group_clause(&self) -> bool {
        !self.is_median()
    }
}

/// What is asked of the values.
#[derive(Clone, Debug)]
struct Asked {
    /// From 0 to 1.
    share: f64,
    descends: bool,
    distinct: bool,
    /// The type of the answer.
    to: DataType,
}

impl Asked {
    fn of<N: Number>(&self, mut values: Vec<N>) -> Option<N> {
        let order = |a: &N, b: &N| match self.descends {
            true => b.order(a),
            false => a.order(b),
        };
        if self.distinct {
            values.sort_unstable_by(order);
            values.dedup_by(|a, b| a.order(b).is_eq());
        }
        let place = self.share * values.len().checked_sub(1)? as f64;
        let before = place.floor();
        let (_, low, above) = values.select_nth_unstable_by(before as usize, order);
        let low = *low;
        // The next one is the first of those behind.
        match above
            .iter()
            .copied()
            .min_by(order)
            .filter(|_| place > before)
        {
            Some(high) => Some(low.towards(high, place - before, self.to.is_temporal())),
            None => Some(low),
        }
    }

    fn of_all<N: Number>(&self, values: &ArrayRef) -> Result<ArrayRef> {
        let answer = self.of(N::read(values)?.flatten().collect());
        self.answers::<N>(vec![answer])
    }

    fn answers<N: Number>(&self, answers: Vec<Option<N>>) -> Result<ArrayRef> {
        Ok(cast(&N::column(answers, &self.to), &self.to)?)
    }
}

/// The numbers at shares of all, or between two of them; NULL for each share where there are none.
pub(super) fn between(values: &ArrayRef, shares: &[f64]) -> Result<ArrayRef> {
    let answers = |asked: &Asked| match is_exact(&asked.to) {
        true => asked.of_all::<i128>(values),
        false => asked.of_all::<f64>(values),
    };
    let arrays = shares.iter().map(|share| {
        answers(&Asked {
            share: share.abs(),
            descends: *share < 0.0,
            distinct: false,
            to: values.data_type().clone(),
        })
    });
    let arrays = arrays.collect::<Result<Vec<_>>>()?;
    let arrays: Vec<&dyn Array> = arrays.iter().map(AsRef::as_ref).collect();
    match arrays.is_empty() {
        true => Ok(new_empty_array(values.data_type())),
        false => Ok(concat(&arrays)?),
    }
}

/// The number in the middle of all distances from one.
pub(super) fn median_distance(values: &ArrayRef, from: &ArrayRef) -> Result<ArrayRef> {
    fn distances<N: Number>(
        values: &ArrayRef,
        from: &ArrayRef,
        distance: fn(N, N) -> N,
    ) -> Result<ArrayRef> {
        let Some(from) = N::read(from)?.flatten().next() else {
            return Ok(Arc::clone(from));
        };
        let distances = N::read(values)?.map(|value| value.map(|value| distance(value, from)));
        let distances = N::column(distances.collect(), values.data_type());
        between(&cast(&distances, values.data_type())?, &[0.5])
    }
    match is_exact(values.data_type()) {
        true => distances::<i128>(values, from, |a, b| (a - b).abs()),
        false => distances::<f64>(values, from, |a, b| (a - b).abs()),
    }
}

/// Numbers that have others between them.
trait Number: Copy + Send + Sync + std::fmt::Debug + 'static {
    fn order(&self, other: &Self) -> Ordering;
    /// The number that lies on the way to another, at a share of it, which is rounded or cut where it is whole.
    fn towards(self, other: Self, share: f64, rounds: bool) -> Self;
    fn read(values: &ArrayRef) -> Result<impl Iterator<Item = Option<Self>>>;
    /// As they are kept for values of a type.
    fn column(values: Vec<Option<Self>>, of: &DataType) -> ArrayRef;
}

impl Number for f64 {
    /// NaN is greater than all others.
    fn order(&self, other: &Self) -> Ordering {
        let nan = self.is_nan().cmp(&other.is_nan());
        self.partial_cmp(other).unwrap_or(nan)
    }

    fn towards(self, other: Self, share: f64, _: bool) -> Self {
        self * (1.0 - share) + other * share
    }

    fn read(values: &ArrayRef) -> Result<impl Iterator<Item = Option<Self>>> {
        let values = cast(values, &DataType::Float64)?;
        let values = values.as_primitive::<Float64Type>().clone();
        Ok((0..values.len()).map(move |row| values.is_valid(row).then(|| values.value(row))))
    }

    fn column(values: Vec<Option<Self>>, _: &DataType) -> ArrayRef {
        Arc::new(Float64Array::from(values))
    }
}

impl Number for i128 {
    fn order(&self, other: &Self) -> Ordering {
        self.cmp(other)
    }

    fn towards(self, other: Self, share: f64, rounds: bool) -> Self {
        match rounds {
            true => (self as f64).towards(other as f64, share, rounds).round() as i128,
            false => self + ((other - self) as f64 * share) as i128,
        }
    }

    fn read(values: &ArrayRef) -> Result<impl Iterator<Item = Option<Self>>> {
        let values = match kept(values.data_type()) {
            Some(DataType::Int64) => {
                let whole = cast(values, &DataType::Int64)?;
                let whole = whole.as_primitive::<Int64Type>();
                whole.unary::<_, Decimal128Type>(i128::from)
            }
            Some(to) => cast(values, &to)?.as_primitive::<Decimal128Type>().clone(),
            None => return internal_err!("decimals were not coerced"),
        };
        Ok((0..values.len()).map(move |row| values.is_valid(row).then(|| values.value(row))))
    }

    fn column(values: Vec<Option<Self>>, of: &DataType) -> ArrayRef {
        let to = kept(of).unwrap_or(DataType::Decimal128(MAX_DIGITS_128, 0));
        if to == DataType::Int64 {
            let whole = |value| i64::try_from(value).unwrap_or(i64::MAX);
            let values = values.into_iter().map(|value| value.map(whole));
            return Arc::new(values.collect::<Int64Array>());
        }
        Arc::new(Decimal128Array::from(values).with_data_type(to))
    }
}

/// All values without groups, or those of a frame: the oldest leave first.
#[derive(Debug)]
struct Values<N> {
    asked: Asked,
    values: VecDeque<N>,
}

impl<N: Number> Values<N> {
    fn new(asked: Asked) -> Self {
        Self {
            asked,
            values: VecDeque::new(),
        }
    }
}

impl<N: Number> Accumulator for Values<N> {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        if let Some(values) = values.first() {
            self.values.extend(N::read(values)?.flatten());
        }
        Ok(())
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        if let Some(values) = values.first() {
            let gone = values.len() - values.null_count();
            self.values.drain(..gone.min(self.values.len()));
        }
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        // Once for each row where it is of a frame.
        check()?;
        let answer = self.asked.of(self.values.iter().copied().collect());
        ScalarValue::try_from_array(&self.asked.answers(vec![answer])?, 0)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let values = self.values.iter().copied().map(Some).collect();
        let values = N::column(values, &self.asked.to);
        Ok(vec![
            SingleRowListArrayBuilder::new(values).build_list_scalar(),
        ])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        for lists in states {
            for list in lists.as_list::<i32>().iter().flatten() {
                self.values.extend(N::read(&list)?.flatten());
            }
        }
        Ok(())
    }

    fn size(&self) -> usize {
        size_of::<Self>() + self.values.capacity() * size_of::<N>()
    }
}

/// The values of groups.
struct Groups<N> {
    asked: Asked,
    groups: Vec<Vec<N>>,
    bytes: usize,
}

impl<N: Number> Groups<N> {
    fn new(asked: Asked) -> Self {
        Self {
            asked,
            groups: vec![],
            bytes: 0,
        }
    }

    fn push(&mut self, group: usize, value: N) {
        if let Some(group) = self.groups.get_mut(group) {
            let before = group.capacity();
            group.push(value);
            self.bytes += (group.capacity() - before) * size_of::<N>();
        }
    }

    fn emit(&mut self, emit_to: EmitTo) -> Vec<Vec<N>> {
        let groups = emit_to.take_needed(&mut self.groups);
        let bytes: usize = groups.iter().map(|g| g.capacity() * size_of::<N>()).sum();
        self.bytes = self.bytes.saturating_sub(bytes);
        groups
    }
}

impl<N: Number> GroupsAccumulator for Groups<N> {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        filter: Option<&BooleanArray>,
        groups: usize,
    ) -> Result<()> {
        self.groups
            .resize_with(groups.max(self.groups.len()), Vec::new);
        let Some(values) = values.first() else {
            return internal_err!("an aggregate without arguments");
        };
        for (row, (value, group)) in N::read(values)?.zip(group_indices).enumerate() {
            let passes = filter.is_none_or(|f| f.is_valid(row) && f.value(row));
            if let (Some(value), true) = (value, passes) {
                self.push(*group, value);
            }
        }
        Ok(())
    }

    fn merge_batch(
        &mut self,
        states: &[ArrayRef],
        group_indices: &[usize],
        groups: usize,
    ) -> Result<()> {
        self.groups
            .resize_with(groups.max(self.groups.len()), Vec::new);
        for lists in states {
            for (list, group) in lists.as_list::<i32>().iter().zip(group_indices) {
                if let Some(list) = list {
                    N::read(&list)?
                        .flatten()
                        .for_each(|value| self.push(*group, value));
                }
            }
        }
        Ok(())
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        let groups = self.emit(emit_to).into_iter();
        let answers = groups.map(|values| {
            check()?;
            Ok(self.asked.of(values))
        });
        self.asked.answers(answers.collect::<Result<_>>()?)
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        let groups = self.emit(emit_to);
        let lengths: Vec<_> = groups.iter().map(Vec::len).collect();
        let valid = vec![true; groups.len()];
        let values = groups.into_iter().flatten().map(Some).collect();
        let values = N::column(values, &self.asked.to);
        Ok(vec![listed(values, lengths, valid)?])
    }

    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        filter: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        let rows = values.first().map_or(0, |values| values.len());
        let mut each = Self::new(self.asked.clone());
        let groups: Vec<usize> = (0..rows).collect();
        each.update_batch(values, &groups, filter, rows)?;
        each.state(EmitTo::All)
    }

    fn size(&self) -> usize {
        self.bytes + self.groups.capacity() * size_of::<Vec<N>>()
    }
}
