//! `var_pop`, `stddev`, `corr`, `regr_slope` and their kind (`moments.rs`) as aggregates.
//!
//! What must hold: whatever the number of threads and the way a frame moves, an answer is that of the values in it, up to rounding.

use super::frame_values::FrameValues;
use super::moments::{Answer, Moments, Of, One, STATISTICS, Two};
use super::sums::Sums;
use crate::heed::check;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Float64Array};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::utils::SingleRowListArrayBuilder;
use datafusion::common::{Result, ScalarValue, internal_err, plan_err};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::format_state_name;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, EmitTo, GroupsAccumulator, ReversedUDAF,
    Signature, Volatility,
};
use hushdb_sql::{Error, ErrorKind};
use std::collections::HashSet;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

pub(super) fn all() -> Vec<Arc<AggregateUDF>> {
    let function = |(name, aliases, of): (_, &[&str], _)| {
        Arc::new(AggregateUDF::from(Statistic {
            name,
            aliases: aliases.iter().map(|alias| alias.to_string()).collect(),
            of,
            signature: Signature::user_defined(Volatility::Immutable),
        }))
    };
    STATISTICS.map(function).into()
}

#[derive(Clone, Debug)]
struct Statistic {
    name: &'static str,
    aliases: Vec<String>,
    of: Of,
    signature: Signature,
}

impl PartialEq for Statistic {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Statistic {}

impl Hash for Statistic {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl Statistic {
    fn is_count(&self) -> bool {
        self.name == "regr_count"
    }

    fn numbers(&self) -> &'static [&'static str] {
        match self.of {
            Of::One(_) => One::NUMBERS,
            Of::Two(_) => Two::NUMBERS,
            Of::Sums(_) => Sums::NUMBERS,
        }
    }
}

impl AggregateUDFImpl for Statistic {
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
        let number = |t: &DataType| t.is_numeric() || t.is_null();
        let places = if let Of::Two(_) = self.of { 2 } else { 1 };
        match types.len() == places && types.iter().all(number) {
            true => Ok(vec![DataType::Float64; places]),
            false => plan_err!(
                "No function matches the given name and argument types '{}'. You might need to add explicit type casts.",
                super::plain::called(self.name, types)
            ),
        }
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(match self.is_count() {
            true => DataType::UInt32,
            false => DataType::Float64,
        })
    }

    fn is_nullable(&self) -> bool {
        !self.is_count()
    }

    fn default_value(&self, _: &DataType) -> Result<ScalarValue> {
        Ok(match self.is_count() {
            true => ScalarValue::UInt32(Some(0)),
            false => ScalarValue::Float64(None),
        })
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        if args.is_distinct {
            let values = args.input_fields.iter().map(|field| {
                let item = Field::new_list_field(field.data_type().clone(), true);
                let name = format_state_name(args.name, field.name());
                Field::new_list(name, item, false).into()
            });
            return Ok(values.collect());
        }
        let names = self.numbers().iter();
        let fields = names.map(|name| {
            Field::new(format_state_name(args.name, name), DataType::Float64, false).into()
        });
        Ok(fields.collect())
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        Ok(match (self.of, args.is_distinct) {
            (Of::One(_), false) => Box::new(Total::<One>::new(self)),
            (Of::Two(_), false) => Box::new(Total::<Two>::new(self)),
            (Of::Sums(_), false) => Box::new(Total::<Sums>::new(self)),
            (Of::Sums(_), true) => Box::new(Distinct::<Sums>::new(self)),
            (Of::One(_), true) => Box::new(Distinct::<One>::new(self)),
            (Of::Two(_), true) => Box::new(Distinct::<Two>::new(self)),
        })
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        if args.is_distinct {
            return Ok(FrameValues::of(self.clone(), &args));
        }
        Ok(match self.of {
            Of::One(_) => Box::new(Frame::<One>::new(self)),
            Of::Two(_) => Box::new(Frame::<Two>::new(self)),
            Of::Sums(_) => Box::new(Frame::<Sums>::new(self)),
        })
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs) -> bool {
        !args.is_distinct
    }

    fn create_groups_accumulator(&self, _: AccumulatorArgs) -> Result<Box<dyn GroupsAccumulator>> {
        Ok(match self.of {
            Of::One(_) => Box::new(Groups::<One>::new(self.of, self.is_count())),
            Of::Two(_) => Box::new(Groups::<Two>::new(self.of, self.is_count())),
            Of::Sums(_) => Box::new(Groups::<Sums>::new(self.of, self.is_count())),
        })
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        ReversedUDAF::Identical
    }
}

/// Calls with each row of which no argument is NULL.
fn each(values: &[ArrayRef], mut each: impl FnMut(usize, &[f64])) {
    let columns: Vec<&Float64Array> = values.iter().map(|v| v.as_primitive()).collect();
    let rows = columns.first().map_or(0, |column| column.len());
    let mut row_of = vec![0.0; columns.len()];
    for row in 0..rows {
        if columns.iter().all(|column| column.is_valid(row)) {
            for (value, column) in row_of.iter_mut().zip(&columns) {
                *value = column.value(row);
            }
            each(row, &row_of);
        }
    }
}

fn answered(answers: impl Iterator<Item = Answer>, is_count: bool) -> Result<ArrayRef> {
    let refused = |name| Error::new(ErrorKind::OutOfRange, format!("{name} is out of range!"));
    let answers = answers.map(|answer| answer.map_err(refused));
    let answers: ArrayRef = Arc::new(answers.collect::<Result<Float64Array, Error>>()?);
    match is_count {
        true => Ok(cast(&answers, &DataType::UInt32)?),
        false => Ok(answers),
    }
}

/// All values without groups.
#[derive(Debug)]
struct Total<M> {
    of: Of,
    is_count: bool,
    moments: M,
}

impl<M: Moments> Total<M> {
    fn new(statistic: &Statistic) -> Self {
        Self {
            of: statistic.of,
            is_count: statistic.is_count(),
            moments: M::default(),
        }
    }

    fn answer(&self) -> Result<ScalarValue> {
        let answer = self.moments.answer(self.of);
        let answer = answered(std::iter::once(answer), self.is_count)?;
        ScalarValue::try_from_array(&answer, 0)
    }
}

impl<M: Moments> Accumulator for Total<M> {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        each(values, |_, row| self.moments.add(row));
        Ok(())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        self.answer()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let numbers = self.moments.numbers().into_iter();
        Ok(numbers.map(|n| ScalarValue::Float64(Some(n))).collect())
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        each(states, |_, numbers| {
            if let Some(other) = M::from_numbers(numbers) {
                self.moments.merge(&other);
            }
        });
        Ok(())
    }

    fn size(&self) -> usize {
        size_of::<Self>()
    }
}

/// The values of a row; a second one only where there are two arguments.
type Values = [f64; 2];

fn values_of(row: &[f64]) -> Values {
    [
        row.first().copied().unwrap_or_default(),
        row.get(1).copied().unwrap_or_default(),
    ]
}

/// The values of a frame that moves. Those that leave it are not taken off the totals, which would lose digits, and what is not finite
/// for good: totals of the last values are kept for each of the older ones, and one of all newer ones.
#[derive(Debug)]
struct Frame<M> {
    total: Total<M>,
    /// Of the value that leaves next, at the end, and all older ones behind it: its total with those.
    older: Vec<M>,
    newer: Vec<Values>,
    of_newer: M,
    arguments: usize,
}

impl<M: Moments> Frame<M> {
    fn new(statistic: &Statistic) -> Self {
        Self {
            total: Total::new(statistic),
            older: vec![],
            newer: vec![],
            of_newer: M::default(),
            arguments: if let Of::Two(_) = statistic.of { 2 } else { 1 },
        }
    }

    fn leave(&mut self) {
        if self.older.is_empty() {
            let mut total = M::default();
            for values in self.newer.drain(..).rev() {
                total.add(values.get(..self.arguments).unwrap_or_default());
                self.older.push(total);
            }
            self.of_newer = M::default();
        }
        self.older.pop();
    }
}

impl<M: Moments> Accumulator for Frame<M> {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        each(values, |_, row| {
            self.newer.push(values_of(row));
            self.of_newer.add(row);
        });
        Ok(())
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        each(values, |_, _| self.leave());
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        self.total.moments = self.older.last().copied().unwrap_or_default();
        self.total.moments.merge(&self.of_newer);
        self.total.answer()
    }

    fn size(&self) -> usize {
        size_of::<Self>()
            + self.older.capacity() * size_of::<M>()
            + self.newer.capacity() * size_of::<Values>()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        internal_err!("the accumulator of a frame has no state")
    }

    fn merge_batch(&mut self, _: &[ArrayRef]) -> Result<()> {
        internal_err!("the accumulators of frames are not merged")
    }
}

/// Each value, or each pair, once.
#[derive(Debug)]
struct Distinct<M> {
    total: Total<M>,
    seen: HashSet<[u64; 2]>,
    arguments: usize,
}

impl<M: Moments> Distinct<M> {
    fn new(statistic: &Statistic) -> Self {
        Self {
            total: Total::new(statistic),
            seen: HashSet::new(),
            arguments: if let Of::Two(_) = statistic.of { 2 } else { 1 },
        }
    }

    fn see(&mut self, values: &[ArrayRef]) {
        let bits = |value: f64| match value {
            0.0 => 0,
            nan if nan.is_nan() => f64::NAN.to_bits(),
            value => value.to_bits(),
        };
        each(values, |_, row| {
            self.seen.insert(values_of(row).map(bits));
        });
    }

    /// In an order that is the same each time.
    fn sorted(&self) -> Vec<Values> {
        let mut all: Vec<Values> = self.seen.iter().map(|b| b.map(f64::from_bits)).collect();
        all.sort_by(|a, b| a[0].total_cmp(&b[0]).then(a[1].total_cmp(&b[1])));
        all
    }
}

impl<M: Moments> Accumulator for Distinct<M> {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.see(values);
        Ok(())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        check()?;
        self.total.moments = M::default();
        for values in self.sorted() {
            let row = values.get(..self.arguments).unwrap_or_default();
            self.total.moments.add(row);
        }
        self.total.answer()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let all = self.sorted();
        let list = |n: usize| {
            let column = all.iter().map(|values| values.get(n).copied());
            let column: ArrayRef = Arc::new(column.collect::<Float64Array>());
            SingleRowListArrayBuilder::new(column).build_list_scalar()
        };
        Ok((0..self.arguments).map(list).collect())
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let rows = states.first().map_or(0, |lists| lists.len());
        for row in 0..rows {
            let columns = states.iter().map(|lists| lists.as_list::<i32>().value(row));
            self.see(&columns.collect::<Vec<_>>());
        }
        Ok(())
    }

    fn size(&self) -> usize {
        size_of::<Self>() + self.seen.capacity() * size_of::<Values>()
    }
}

/// The totals of groups.
struct Groups<M> {
    of: Of,
    is_count: bool,
    groups: Vec<M>,
}

impl<M: Moments> Groups<M> {
    fn new(of: Of, is_count: bool) -> Self {
        Self {
            of,
            is_count,
            groups: vec![],
        }
    }

    fn each(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        filter: Option<&BooleanArray>,
        groups: usize,
        change: impl Fn(&mut M, &[f64]),
    ) {
        self.groups
            .resize(groups.max(self.groups.len()), M::default());
        each(values, |row, numbers| {
            let passes = filter.is_none_or(|f| f.is_valid(row) && f.value(row));
            let group = group_indices.get(row).filter(|_| passes);
            if let Some(group) = group.and_then(|group| self.groups.get_mut(*group)) {
                change(group, numbers);
            }
        });
    }
}

impl<M: Moments> GroupsAccumulator for Groups<M> {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        filter: Option<&BooleanArray>,
        groups: usize,
    ) -> Result<()> {
        self.each(values, group_indices, filter, groups, |group, row| {
            group.add(row);
        });
        Ok(())
    }

    fn merge_batch(
        &mut self,
        states: &[ArrayRef],
        group_indices: &[usize],
        groups: usize,
    ) -> Result<()> {
        self.each(states, group_indices, None, groups, |group, numbers| {
            if let Some(other) = M::from_numbers(numbers) {
                group.merge(&other);
            }
        });
        Ok(())
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        let groups = emit_to.take_needed(&mut self.groups);
        let answers = groups.iter().map(|group| group.answer(self.of));
        answered(answers, self.is_count)
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        let groups = emit_to.take_needed(&mut self.groups);
        let mut columns = vec![Vec::with_capacity(groups.len()); M::NUMBERS.len()];
        for group in groups {
            for (column, number) in columns.iter_mut().zip(group.numbers()) {
                column.push(number);
            }
        }
        let arrays = columns.into_iter().map(Float64Array::from);
        Ok(arrays.map(|array| Arc::new(array) as ArrayRef).collect())
    }

    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        filter: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        let rows = values.first().map_or(0, |values| values.len());
        let mut each = Self::new(self.of, self.is_count);
        let groups: Vec<usize> = (0..rows).collect();
        each.update_batch(values, &groups, filter, rows)?;
        each.state(EmitTo::All)
    }

    fn size(&self) -> usize {
        self.groups.capacity() * size_of::<M>()
    }
}
