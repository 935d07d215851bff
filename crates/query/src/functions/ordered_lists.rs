//! `OrderedLists`: the groups of `list(x ORDER BY y)`, as arrays. The library's accumulator keeps a few allocations for each value,
//! and counts them all anew with each batch.
//!
//! What must hold: values of one key stay in the order in which they came.

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, ListArray, StructArray, UInt32Array,
};
use datafusion::arrow::buffer::{NullBuffer, OffsetBuffer};
use datafusion::arrow::compute::{LexicographicalComparator, SortColumn, SortOptions, take};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Fields};
use datafusion::common::{Result, internal_datafusion_err};
use datafusion::logical_expr::function::AccumulatorArgs;
use datafusion::logical_expr::{EmitTo, GroupsAccumulator};
use std::sync::Arc;

/// Lists of structs: a value, then the keys that it is ordered by.
pub(super) struct OrderedLists {
    lists: Box<dyn GroupsAccumulator>,
    fields: Fields,
    options: Vec<SortOptions>,
    /// Whether NULL is in no list.
    ignore_nulls: bool,
}

impl OrderedLists {
    /// What a struct has: the value, and the keys.
    ///
    /// # Errors
    /// When a key's type is not known.
    pub(super) fn fields(args: &AccumulatorArgs<'_>) -> Result<Fields> {
        let value = args.expr_fields.first().map(|field| field.data_type());
        let value = value.cloned().unwrap_or(DataType::Null);
        let mut fields = vec![Field::new("value", value, true)];
        for key in args.order_bys {
            // The library calls them so in the state.
            let name = key.expr.to_string();
            fields.push(Field::new(name, key.expr.data_type(args.schema)?, true));
        }
        Ok(fields.into())
    }

    /// `lists` makes lists of structs of these fields.
    pub(super) fn new(
        lists: Box<dyn GroupsAccumulator>,
        fields: Fields,
        args: &AccumulatorArgs<'_>,
    ) -> Self {
        let options = args.order_bys.iter().map(|key| key.options);
        Self {
            lists,
            fields,
            options: options.collect(),
            ignore_nulls: args.ignore_nulls,
        }
    }

    /// The lists of structs that two lists make, one of values and one of their keys.
    fn joined(&self, values: &ListArray, keys: &ListArray) -> Result<ListArray> {
        let first = *values.offsets().first().unwrap_or(&0) as usize;
        let own_first = *keys.offsets().first().unwrap_or(&0) as usize;
        let len = values.offsets().lengths().sum();
        if values.offsets().lengths().ne(keys.offsets().lengths()) {
            return Err(internal_datafusion_err!("values without keys"));
        }
        let mut columns = vec![values.values().slice(first, len)];
        let keys = keys.values().slice(own_first, len);
        columns.extend(keys.as_struct().columns().iter().cloned());
        let offsets = OffsetBuffer::from_lengths(values.offsets().lengths());
        let all = self.structs(&columns)?;
        let item = Arc::new(Field::new_list_field(all.data_type().clone(), true));
        Ok(ListArray::try_new(
            item,
            offsets,
            Arc::new(all),
            values.nulls().cloned(),
        )?)
    }

    /// A list of values, and one of structs of their keys.
    fn taken_apart(&self, lists: &ListArray) -> Result<Vec<ArrayRef>> {
        let all = lists.values().as_struct();
        let keys = all.columns().get(1..).unwrap_or_default().to_vec();
        let fields = self.fields.iter().skip(1).cloned().collect::<Fields>();
        let keys: ArrayRef = Arc::new(StructArray::try_new(fields, keys, None)?);
        Ok(vec![
            with_values(lists, Arc::clone(all.column(0)), lists.nulls().cloned())?,
            with_values(lists, keys, None)?,
        ])
    }

    fn structs(&self, columns: &[ArrayRef]) -> Result<StructArray> {
        let nulls = match (self.ignore_nulls, columns.first()) {
            (true, Some(values)) => values.logical_nulls(),
            _ => None,
        };
        Ok(StructArray::try_new(
            self.fields.clone(),
            columns.to_vec(),
            nulls,
        )?)
    }

    /// The values of each list in the order of their keys.
    fn sorted(&self, lists: &ListArray) -> Result<ArrayRef> {
        let all = lists.values().as_struct();
        let (values, keys) = all
            .columns()
            .split_first()
            .ok_or_else(|| internal_datafusion_err!("lists without values"))?;
        let keys = keys
            .iter()
            .zip(&self.options)
            .map(|(key, options)| SortColumn {
                values: Arc::clone(key),
                options: Some(*options),
            });
        let by_key = LexicographicalComparator::try_new(&keys.collect::<Vec<_>>())?;
        let mut order: Vec<u32> = (0..all.len() as u32).collect();
        for ends in lists.offsets().windows(2) {
            if let [from, to] = ends
                && let Some(of_list) = order.get_mut(*from as usize..*to as usize)
            {
                of_list.sort_by(|a, b| by_key.compare(*a as usize, *b as usize));
            }
        }
        let values = take(values, &UInt32Array::from(order), None)?;
        with_values(lists, values, lists.nulls().cloned())
    }
}

/// The same lists of other values.
fn with_values(lists: &ListArray, values: ArrayRef, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
    let item: FieldRef = Arc::new(Field::new_list_field(values.data_type().clone(), true));
    let offsets = lists.offsets().clone();
    Ok(Arc::new(ListArray::try_new(item, offsets, values, nulls)?))
}

impl GroupsAccumulator for OrderedLists {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        opt_filter: Option<&BooleanArray>,
        total_num_groups: usize,
    ) -> Result<()> {
        let all: ArrayRef = Arc::new(self.structs(values)?);
        self.lists
            .update_batch(&[all], group_indices, opt_filter, total_num_groups)
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        let lists = self.lists.evaluate(emit_to)?;
        self.sorted(lists.as_list())
    }

    /// As the library's: a list of values, and one of structs of their keys.
    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        let lists = self.lists.evaluate(emit_to)?;
        self.taken_apart(lists.as_list())
    }

    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        opt_filter: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        let all: ArrayRef = Arc::new(self.structs(values)?);
        let lists = self.lists.convert_to_state(&[all], opt_filter)?;
        match lists.as_slice() {
            [lists] => self.taken_apart(lists.as_list()),
            _ => Err(internal_datafusion_err!("no lists")),
        }
    }

    fn merge_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        total_num_groups: usize,
    ) -> Result<()> {
        let [values, keys] = values else {
            return Err(internal_datafusion_err!("values without keys"));
        };
        let lists: ArrayRef = Arc::new(self.joined(values.as_list(), keys.as_list())?);
        self.lists
            .merge_batch(&[lists], group_indices, total_num_groups)
    }

    fn size(&self) -> usize {
        self.lists.size()
    }
}
