//! `array_agg` that counts the text it keeps: the library's counts sixteen bytes of each text, wherever the rest of it lies.

use super::comparison_key::{key_type, keys};
use super::different_values::DifferentValues;
use super::frame_values::FrameValues;
use super::json_within::given_field;
use super::lists_of_json::{giving, giving_groups};
use super::ordered_lists::OrderedLists;
use crate::common_types::stand_in;
use crate::heed::check;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, BooleanArray, UInt32Array};
use datafusion::arrow::compute::{SortOptions, take};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::arrow::row::{RowConverter, SortField};
use datafusion::common::utils::SingleRowListArrayBuilder;
use datafusion::common::{Result, ScalarValue};
use datafusion::functions_aggregate::array_agg::array_agg_udaf;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::AggregateOrderSensitivity;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, EmitTo, GroupsAccumulator, ReversedUDAF, Signature,
};
use std::sync::Arc;

/// A text up to this length lies in its view.
const MAX_INLINE_VIEW_LEN: u32 = 12;

/// The library's function, with other accumulators.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct ListOf(AggregateUDF);

impl ListOf {
    pub(super) fn new() -> Self {
        Self(array_agg_udaf().as_ref().clone())
    }
}

/// Whether values are kept as they come. Else they are copied, and counted.
fn keeps_arrays(args: &AccumulatorArgs<'_>) -> bool {
    !args.is_distinct && args.order_bys.is_empty()
}

impl AggregateUDFImpl for ListOf {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn signature(&self) -> &Signature {
        self.0.signature()
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        self.0.return_type(arg_types)
    }

    fn return_field(&self, args: &[FieldRef]) -> Result<FieldRef> {
        let types: Vec<_> = args.iter().map(|field| stand_in(field)).collect();
        let lists = self.0.return_type(&types)?;
        let own = args.iter().map(AsRef::as_ref);
        Ok(Arc::new(given_field(self.name(), &lists, own)))
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        self.0.state_fields(args)
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        self.0.order_sensitivity()
    }

    fn with_beneficial_ordering(
        self: Arc<Self>,
        beneficial_ordering: bool,
    ) -> Result<Option<Arc<dyn AggregateUDFImpl>>> {
        let changed = self
            .0
            .clone()
            .with_beneficial_ordering(beneficial_ordering)?;
        Ok(changed.map(|changed| Arc::new(Self(changed)) as _))
    }

    // Of the library's accumulators one does not know that it is reversed: that of DISTINCT.
    fn reverse_expr(&self) -> ReversedUDAF {
        ReversedUDAF::NotSupported
    }

    fn supports_null_handling_clause(&self) -> bool {
        self.0.supports_null_handling_clause()
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        let to = args.return_field.data_type().clone();
        giving(self.plain_lists(args), &to)
    }

    // A value that leaves a frame may be there again, behind others.
    fn create_sliding_accumulator(
        &self,
        args: AccumulatorArgs<'_>,
    ) -> Result<Box<dyn Accumulator>> {
        let to = args.return_field.data_type().clone();
        match args.is_distinct {
            true => giving(Ok(FrameValues::of(self.clone(), &args)), &to),
            false => self.accumulator(args),
        }
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs<'_>) -> bool {
        !args.is_distinct
    }

    fn create_groups_accumulator(
        &self,
        args: AccumulatorArgs<'_>,
    ) -> Result<Box<dyn GroupsAccumulator>> {
        let to = args.return_field.data_type().clone();
        giving_groups(self.plain_groups(args), &to)
    }
}

impl ListOf {
    /// What gives lists of values that nothing more is known of.
    fn plain_lists(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        if args.is_distinct
            && let [value] = args.expr_fields
        {
            let of = value.data_type();
            match args.order_bys {
                [] => return Ok(Box::new(DifferentValues::of(of, args.ignore_nulls)?)),
                [order] if key_type(of).is_some() => {
                    let options = order.options;
                    let order_bys = &[];
                    let list = self.0.accumulator(AccumulatorArgs { order_bys, ..args })?;
                    return Ok(Box::new(SortedByKey { list, options }));
                }
                _ => {}
            }
        }
        let keeps_arrays = keeps_arrays(&args);
        let list = self.0.accumulator(args)?;
        Ok(match keeps_arrays {
            true => Box::new(CountedList { list, text: 0 }),
            false => list,
        })
    }

    /// The same of groups.
    fn plain_groups(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn GroupsAccumulator>> {
        if args.order_bys.is_empty() {
            return self.counted_lists(args);
        }
        let fields = OrderedLists::fields(&args)?;
        let item = Field::new("item", DataType::Struct(fields.clone()), true);
        let lists = self.counted_lists(AccumulatorArgs {
            return_field: Arc::clone(&args.return_field),
            schema: args.schema,
            expr_fields: &[item.into()],
            ignore_nulls: args.ignore_nulls,
            order_bys: &[],
            is_reversed: false,
            name: args.name,
            is_distinct: false,
            exprs: args.exprs,
        })?;
        Ok(Box::new(OrderedLists::new(lists, fields, &args)))
    }

    /// The library's lists of values as they come.
    fn counted_lists(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn GroupsAccumulator>> {
        Ok(Box::new(CountedLists {
            lists: self.0.create_groups_accumulator(args)?,
            held: 0,
            text: vec![],
            all_text: 0,
        }))
    }
}

/// Different values whose order, and difference, are those of their keys.
#[derive(Debug)]
struct SortedByKey {
    /// Of values without order.
    list: Box<dyn Accumulator>,
    options: SortOptions,
}

impl Accumulator for SortedByKey {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.list.update_batch(values)
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        check()?;
        let list = self.list.evaluate()?;
        let ScalarValue::List(values) = &list else {
            return Ok(list);
        };
        if values.is_null(0) {
            return Ok(list);
        }
        let values = values.value(0);
        let keys = keys(&values)?;
        let field = SortField::new_with_options(keys.data_type().clone(), self.options);
        let rows = RowConverter::new(vec![field])?.convert_columns(&[keys])?;
        let mut order: Vec<u32> = (0..values.len() as u32).collect();
        let row = |at: &u32| rows.row(*at as usize);
        order.sort_by(|a, b| row(a).cmp(&row(b)));
        order.dedup_by(|a, b| row(a) == row(b));
        let sorted = take(values.as_ref(), &UInt32Array::from(order), None)?;
        Ok(SingleRowListArrayBuilder::new(sorted).build_list_scalar())
    }

    fn size(&self) -> usize {
        self.list.size() + size_of::<Self>()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.list.state()
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.list.merge_batch(states)
    }
}

/// Bytes of each value's text that lie outside of its array; none for values without text.
fn text_bytes(values: &ArrayRef) -> Vec<usize> {
    // A view begins with the length of its text, which is in it when it is short.
    let outside = |view: &u128| match *view as u32 {
        len if len > MAX_INLINE_VIEW_LEN => len as usize,
        _ => 0,
    };
    match values.data_type() {
        DataType::Utf8View => {
            let views = values.as_string_view().views();
            views.iter().map(outside).collect()
        }
        DataType::BinaryView => {
            let views = values.as_binary_view().views();
            views.iter().map(outside).collect()
        }
        DataType::Struct(_) => {
            let mut all = vec![0; values.len()];
            for column in values.as_struct().columns() {
                let of_column = text_bytes(column);
                all.iter_mut()
                    .zip(of_column)
                    .for_each(|(all, of)| *all += of);
            }
            all
        }
        DataType::List(_) => {
            let lists = values.as_list::<i32>();
            let inner = text_bytes(lists.values());
            let of = |ends: &[i32]| match ends {
                [first, end] => inner.get(*first as usize..*end as usize),
                _ => None,
            };
            let lists = lists.offsets().windows(2);
            lists
                .map(|ends| of(ends).unwrap_or_default().iter().sum())
                .collect()
        }
        _ => vec![],
    }
}

fn all_text_bytes(values: &[ArrayRef]) -> usize {
    values.iter().flat_map(text_bytes).sum()
}

/// A list that grows, and the bytes of its text.
#[derive(Debug)]
struct CountedList {
    list: Box<dyn Accumulator>,
    text: usize,
}

impl Accumulator for CountedList {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.text += all_text_bytes(values);
        self.list.update_batch(values)
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        check()?;
        self.list.evaluate()
    }

    fn size(&self) -> usize {
        self.list.size() + self.text
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.list.state()
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.text += all_text_bytes(states);
        self.list.merge_batch(states)
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.text = self.text.saturating_sub(all_text_bytes(values));
        self.list.retract_batch(values)
    }

    fn supports_retract_batch(&self) -> bool {
        self.list.supports_retract_batch()
    }
}

/// The list of each group, and the bytes of its text.
struct CountedLists {
    lists: Box<dyn GroupsAccumulator>,
    /// What they take: to ask takes time for all batches that were kept.
    held: usize,
    text: Vec<usize>,
    all_text: usize,
}

impl CountedLists {
    fn take(&mut self, values: &[ArrayRef], group_indices: &[usize], groups: usize) {
        self.text.resize(groups.max(self.text.len()), 0);
        for values in values {
            for (bytes, group) in text_bytes(values).into_iter().zip(group_indices) {
                if let Some(text) = self.text.get_mut(*group) {
                    *text += bytes;
                    self.all_text += bytes;
                }
            }
        }
    }

    fn emitted(&mut self, emitted: EmitTo) {
        let groups = match emitted {
            EmitTo::All => self.text.len(),
            EmitTo::First(groups) => groups.min(self.text.len()),
        };
        let gone: usize = self.text.drain(..groups).sum();
        self.all_text = self.all_text.saturating_sub(gone);
        self.held = self.lists.size();
    }

    /// Counts values that the library has kept, and where it has noted so many of them.
    fn kept(&mut self, values: &ArrayRef, noted: usize) {
        let bytes = values.to_data().get_slice_memory_size();
        let notes = noted.next_power_of_two() * size_of::<(u32, u32)>();
        self.held += bytes.unwrap_or_default() + notes;
    }
}

impl GroupsAccumulator for CountedLists {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        opt_filter: Option<&BooleanArray>,
        total_num_groups: usize,
    ) -> Result<()> {
        self.take(values, group_indices, total_num_groups);
        if let [values] = values {
            self.kept(values, group_indices.len());
        }
        self.lists
            .update_batch(values, group_indices, opt_filter, total_num_groups)
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        let lists = self.lists.evaluate(emit_to)?;
        self.emitted(emit_to);
        Ok(lists)
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        let state = self.lists.state(emit_to)?;
        self.emitted(emit_to);
        Ok(state)
    }

    fn merge_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        total_num_groups: usize,
    ) -> Result<()> {
        self.take(values, group_indices, total_num_groups);
        if let Some(lists) = values.first().and_then(|lists| lists.as_list_opt::<i32>()) {
            self.kept(lists.values(), lists.values().len());
        }
        self.lists
            .merge_batch(values, group_indices, total_num_groups)
    }

    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        opt_filter: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        self.lists.convert_to_state(values, opt_filter)
    }

    fn size(&self) -> usize {
        self.held + self.all_text + self.text.capacity() * size_of::<usize>()
    }
}
