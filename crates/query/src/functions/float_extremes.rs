//! `min` and `max` of floats in groups, as those of integers in the same order.
//!
//! What must hold: NaN is the greatest value and infinities are values like others. DataFusion's own begin with the finite extremes,
//! and with NaN depend on the order of rows.

use datafusion::arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, BooleanArray, PrimitiveArray,
};
use datafusion::arrow::datatypes::{
    DataType, Field, Float32Type, Float64Type, Int32Type, Int64Type,
};
use datafusion::common::Result;
use datafusion::logical_expr::function::AccumulatorArgs;
use datafusion::logical_expr::{AggregateUDF, EmitTo, GroupsAccumulator};
use std::sync::Arc;

/// The accumulator of a function that is planned; nothing where its values are no floats.
pub(super) fn of_floats(
    planned: &AggregateUDF,
    args: &AccumulatorArgs,
) -> Result<Option<Box<dyn GroupsAccumulator>>> {
    let of = args.return_field.data_type();
    let ordered = match of {
        DataType::Float32 => DataType::Int32,
        DataType::Float64 => DataType::Int64,
        _ => return Ok(None),
    };
    let of_integers = AccumulatorArgs {
        return_field: Arc::new(Field::new(args.return_field.name(), ordered, true)),
        ..args.clone()
    };
    let integers = planned.create_groups_accumulator(of_integers)?;
    Ok(Some(Box::new(FloatExtremes { integers })))
}

struct FloatExtremes {
    integers: Box<dyn GroupsAccumulator>,
}

impl GroupsAccumulator for FloatExtremes {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        opt_filter: Option<&BooleanArray>,
        total_num_groups: usize,
    ) -> Result<()> {
        let values: Vec<ArrayRef> = values.iter().map(to_integers).collect();
        self.integers
            .update_batch(&values, group_indices, opt_filter, total_num_groups)
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        Ok(to_floats(&self.integers.evaluate(emit_to)?))
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        let state = self.integers.state(emit_to)?;
        Ok(state.iter().map(to_floats).collect())
    }

    fn merge_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        total_num_groups: usize,
    ) -> Result<()> {
        let values: Vec<ArrayRef> = values.iter().map(to_integers).collect();
        self.integers
            .merge_batch(&values, group_indices, total_num_groups)
    }

    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        opt_filter: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        let values: Vec<ArrayRef> = values.iter().map(to_integers).collect();
        let state = self.integers.convert_to_state(&values, opt_filter)?;
        Ok(state.iter().map(to_floats).collect())
    }

    fn size(&self) -> usize {
        self.integers.size()
    }
}

/// Integers that compare as floats do, which is by IEEE 754's `totalOrder` with one NaN; others stay.
fn to_integers(values: &ArrayRef) -> ArrayRef {
    match values.data_type() {
        DataType::Float32 => mapped::<Float32Type, Int32Type>(values, |value| {
            let bits = if value.is_nan() {
                f32::NAN.abs()
            } else {
                value
            }
            .to_bits();
            turned_32(bits.cast_signed())
        }),
        DataType::Float64 => mapped::<Float64Type, Int64Type>(values, |value| {
            let bits = if value.is_nan() {
                f64::NAN.abs()
            } else {
                value
            }
            .to_bits();
            turned_64(bits.cast_signed())
        }),
        _ => Arc::clone(values),
    }
}

fn to_floats(values: &ArrayRef) -> ArrayRef {
    match values.data_type() {
        DataType::Int32 => mapped::<Int32Type, Float32Type>(values, |value| {
            f32::from_bits(turned_32(value).cast_unsigned())
        }),
        DataType::Int64 => mapped::<Int64Type, Float64Type>(values, |value| {
            f64::from_bits(turned_64(value).cast_unsigned())
        }),
        _ => Arc::clone(values),
    }
}

fn mapped<F: ArrowPrimitiveType, T: ArrowPrimitiveType>(
    values: &ArrayRef,
    map: impl Fn(F::Native) -> T::Native,
) -> ArrayRef {
    let mapped: PrimitiveArray<T> = values.as_primitive::<F>().unary(map);
    Arc::new(mapped)
}

/// Negative numbers the other way round; twice is the same again.
fn turned_32(bits: i32) -> i32 {
    if bits < 0 { bits ^ i32::MAX } else { bits }
}

fn turned_64(bits: i64) -> i64 {
    if bits < 0 { bits ^ i64::MAX } else { bits }
}
