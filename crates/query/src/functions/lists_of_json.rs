//! Accumulators of `array_agg` whose lists are of JSON, over those that know no fields.

use super::json_within::relabelled;
use crate::common_types::has_json_within;
use datafusion::arrow::array::{ArrayRef, AsArray, BooleanArray};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::{Accumulator, EmitTo, GroupsAccumulator};
use std::sync::Arc;

/// What gives lists of the type; the same that is given unless there is JSON in it.
pub(super) fn giving(
    lists: Result<Box<dyn Accumulator>>,
    to: &DataType,
) -> Result<Box<dyn Accumulator>> {
    let lists = lists?;
    Ok(match has_json_within(to) {
        true => Box::new(Lists {
            lists,
            to: to.clone(),
        }),
        false => lists,
    })
}

/// The same of groups.
pub(super) fn giving_groups(
    lists: Result<Box<dyn GroupsAccumulator>>,
    to: &DataType,
) -> Result<Box<dyn GroupsAccumulator>> {
    let lists = lists?;
    Ok(match has_json_within(to) {
        true => Box::new(Lists {
            lists,
            to: to.clone(),
        }),
        false => lists,
    })
}

#[derive(Debug)]
struct Lists<T> {
    lists: T,
    to: DataType,
}

impl Accumulator for Lists<Box<dyn Accumulator>> {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.lists.update_batch(values)
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        match self.lists.evaluate()? {
            ScalarValue::List(list) => {
                let list = relabelled(list as ArrayRef, &self.to)?;
                Ok(ScalarValue::List(Arc::new(list.as_list().clone())))
            }
            other => Ok(other),
        }
    }

    fn size(&self) -> usize {
        self.lists.size()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.lists.state()
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.lists.merge_batch(states)
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.lists.retract_batch(values)
    }

    fn supports_retract_batch(&self) -> bool {
        self.lists.supports_retract_batch()
    }
}

impl GroupsAccumulator for Lists<Box<dyn GroupsAccumulator>> {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        opt_filter: Option<&BooleanArray>,
        total_num_groups: usize,
    ) -> Result<()> {
        self.lists
            .update_batch(values, group_indices, opt_filter, total_num_groups)
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        relabelled(self.lists.evaluate(emit_to)?, &self.to)
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        self.lists.state(emit_to)
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

    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        opt_filter: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        self.lists.convert_to_state(values, opt_filter)
    }

    fn size(&self) -> usize {
        self.lists.size()
    }
}
