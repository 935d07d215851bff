//! `string_agg(x ORDER BY y)` with GROUP BY, by way of `list(x ORDER BY y)`; all else is the library's, which asks for memory first.

use super::frame_values::FrameValues;
use super::list_of::ListOf;
use super::room::{Memory, Room};
use datafusion::arrow::array::{Array, ArrayRef, AsArray, BooleanArray, LargeStringBuilder};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::common::{Result, ScalarValue, internal_datafusion_err, not_impl_err};
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::functions_aggregate::string_agg::string_agg_udaf;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, EmitTo, GroupsAccumulator, ReversedUDAF, Signature,
};
use datafusion::physical_expr::expressions::Literal;
use std::sync::Arc;

/// The library's function, with another accumulator of groups.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct TextOf(AggregateUDF, Memory);

impl TextOf {
    pub(super) fn new(memory: &Arc<dyn MemoryPool>) -> Self {
        let library = string_agg_udaf().as_ref().clone();
        Self(library, Memory(Arc::clone(memory)))
    }
}

/// The library's accumulator, which asks for memory before it adds a batch's texts: a text may be in all rows without being there more
/// than once.
#[derive(Debug)]
struct Asking {
    inner: Box<dyn Accumulator>,
    memory: Memory,
}

impl Asking {
    fn room_for(&self, values: &[ArrayRef]) -> Result<Room> {
        let mut room = Room::new(&self.memory.0);
        let bytes = values.first().map_or(0, text_bytes);
        let separators = match values.get(1) {
            Some(separator) if !separator.is_empty() => {
                text_bytes(&separator.slice(0, 1)).saturating_mul(separator.len())
            }
            _ => 0,
        };
        room.take_if_long(bytes.saturating_add(separators))?;
        Ok(room)
    }
}

/// The bytes of all texts, one after the other.
fn text_bytes(texts: &ArrayRef) -> usize {
    fn all<'a>(texts: impl Iterator<Item = Option<&'a str>>) -> usize {
        let lengths = texts.map(|text| text.map_or(0, str::len));
        lengths.fold(0, usize::saturating_add)
    }
    match texts.data_type() {
        DataType::Utf8View => all(texts.as_string_view().iter()),
        DataType::Utf8 => all(texts.as_string::<i32>().iter()),
        DataType::LargeUtf8 => all(texts.as_string::<i64>().iter()),
        _ => 0,
    }
}

impl Accumulator for Asking {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let _room = self.room_for(values)?;
        self.inner.update_batch(values)
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        self.inner.evaluate()
    }

    fn size(&self) -> usize {
        self.inner.size()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.inner.state()
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let _room = self.room_for(states)?;
        self.inner.merge_batch(states)
    }
}

impl AggregateUDFImpl for TextOf {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn signature(&self) -> &Signature {
        self.0.signature()
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        self.0.return_type(arg_types)
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        self.0.state_fields(args)
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        ReversedUDAF::NotSupported
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        let inner = self.0.accumulator(args)?;
        let memory = self.1.clone();
        Ok(Box::new(Asking { inner, memory }))
    }

    fn create_sliding_accumulator(
        &self,
        args: AccumulatorArgs<'_>,
    ) -> Result<Box<dyn Accumulator>> {
        Ok(FrameValues::of(self.clone(), &args))
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs<'_>) -> bool {
        !args.is_distinct
    }

    fn create_groups_accumulator(
        &self,
        args: AccumulatorArgs<'_>,
    ) -> Result<Box<dyn GroupsAccumulator>> {
        if args.order_bys.is_empty() {
            return self.0.create_groups_accumulator(args);
        }
        let separator = match args.exprs.get(1).and_then(|e| e.downcast_ref::<Literal>()) {
            Some(literal) => literal.value().try_as_str().flatten().unwrap_or(""),
            None => return not_impl_err!("string_agg takes a constant separator"),
        };
        let separator = separator.to_owned();
        let lists = ListOf::new().create_groups_accumulator(AccumulatorArgs {
            exprs: args.exprs.get(..1).unwrap_or_default(),
            expr_fields: args.expr_fields.get(..1).unwrap_or_default(),
            ..args
        })?;
        Ok(Box::new(JoinedTexts { lists, separator }))
    }
}

/// The lists of groups, whose texts are put together when they are given out.
struct JoinedTexts {
    lists: Box<dyn GroupsAccumulator>,
    separator: String,
}

/// The texts, and the keys that they are ordered by.
fn without_separator(values: &[ArrayRef]) -> Result<Vec<ArrayRef>> {
    match values {
        [text, _, keys @ ..] => Ok([std::slice::from_ref(text), keys].concat()),
        _ => Err(internal_datafusion_err!("string_agg without a separator")),
    }
}

impl GroupsAccumulator for JoinedTexts {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        opt_filter: Option<&BooleanArray>,
        total_num_groups: usize,
    ) -> Result<()> {
        let values = without_separator(values)?;
        self.lists
            .update_batch(&values, group_indices, opt_filter, total_num_groups)
    }

    /// NULL is left out; a group without texts is NULL.
    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        let lists = self.lists.evaluate(emit_to)?;
        let mut out = LargeStringBuilder::with_capacity(lists.len(), 0);
        let mut text = String::new();
        for list in lists.as_list::<i32>().iter() {
            let list = list.map(|list| cast(&list, &DataType::Utf8View));
            let list = list.transpose()?;
            let mut texts = list.iter().flat_map(|list| list.as_string_view()).flatten();
            let Some(first) = texts.next() else {
                out.append_null();
                continue;
            };
            text.clear();
            text.push_str(first);
            for next in texts {
                text.push_str(&self.separator);
                text.push_str(next);
            }
            out.append_value(&text);
        }
        Ok(Arc::new(out.finish()))
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        self.lists.state(emit_to)
    }

    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        opt_filter: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        let values = without_separator(values)?;
        self.lists.convert_to_state(&values, opt_filter)
    }

    fn merge_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        total_num_groups: usize,
    ) -> Result<()> {
        self.lists
            .merge_batch(values, group_indices, total_num_groups)
    }

    fn size(&self) -> usize {
        self.lists.size()
    }
}
