//! `bool_and`, `bool_or`, `bit_and`, `bit_or` and `bit_xor` over frames that move: the library's cannot take back a value that
//! leaves the frame, or say NULL of a frame without values. `approx_distinct` and `any_value` look at the values of each frame anew.

use super::bits_of_values::{Join, JoinedBits};
use super::frame_values::FrameValues;
use super::huge_bits::HugeBits;
use super::room::Memory;
use crate::common_types::number_kind::is_huge;
use datafusion::arrow::array::{Array, ArrayRef, AsArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Int64Type, UInt64Type};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::functions_aggregate::any_value::any_value_udaf;
use datafusion::functions_aggregate::approx_distinct::approx_distinct_udaf;
use datafusion::functions_aggregate::bit_and_or_xor::{bit_and_udaf, bit_or_udaf, bit_xor_udaf};
use datafusion::functions_aggregate::bool_and_or::{bool_and_udaf, bool_or_udaf};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::type_coercion::functions::fields_with_udf;
use datafusion::logical_expr::utils::AggregateOrderSensitivity;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, GroupsAccumulator, ReversedUDAF, Signature,
    Volatility,
};
use hushdb_sql::Error;
use hushdb_storage::BIT;
use std::sync::Arc;

/// The library's function, with an accumulator of ours where a frame moves.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Sliding {
    /// None where it counts no bits, and the values of frames are retained.
    bits: Option<Join>,
    planned: Arc<AggregateUDF>,
    memory: Memory,
    signature: Signature,
}

impl Sliding {
    /// Whether it joins what the library's does not: BITs, and integers of 128 bits.
    fn joins(&self, types: &[DataType]) -> bool {
        self.bits.is_some()
            && self.name().starts_with("bit_")
            && matches!(types, [of] if *of == BIT || is_huge(of))
    }

    /// How it joins them, if it does.
    fn joined(&self, args: &AccumulatorArgs<'_>) -> Option<Join> {
        let of = args.return_field.data_type().clone();
        self.bits.filter(|_| self.joins(&[of]))
    }
}

pub(super) fn all(memory: &Arc<dyn MemoryPool>) -> Vec<Arc<AggregateUDF>> {
    let sliding = |bits, planned| {
        Arc::new(AggregateUDF::from(Sliding {
            bits,
            planned,
            memory: Memory(Arc::clone(memory)),
            signature: Signature::user_defined(Volatility::Immutable),
        }))
    };
    vec![
        sliding(Some(Join::And), bool_and_udaf()),
        sliding(Some(Join::Or), bool_or_udaf()),
        sliding(Some(Join::And), bit_and_udaf()),
        sliding(Some(Join::Or), bit_or_udaf()),
        sliding(Some(Join::Xor), bit_xor_udaf()),
        sliding(None, approx_distinct_udaf()),
        sliding(None, any_value_udaf()),
    ]
}

impl AggregateUDFImpl for Sliding {
    fn name(&self) -> &str {
        self.planned.name()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    /// NULL is read as a number, or as a truth.
    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        if self.joins(types) {
            return Ok(types.to_vec());
        }
        let null = match self.name().starts_with("bool") {
            true => DataType::Boolean,
            false => DataType::Int64,
        };
        let field = |ty: &DataType| match ty {
            // The library's counts no numbers with a point; what is written of two says whether they differ.
            of if self.name() == "approx_distinct" && of.is_floating() => {
                Arc::new(Field::new("", DataType::Utf8View, true))
            }
            DataType::Null if self.bits.is_some() => Arc::new(Field::new("", null.clone(), true)),
            ty => Arc::new(Field::new("", ty.clone(), true)),
        };
        let fields: Vec<FieldRef> = types.iter().map(field).collect();
        let coerced = fields_with_udf(&fields, self.planned.as_ref())?;
        Ok(coerced.iter().map(|f| f.data_type().clone()).collect())
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        if self.joins(arg_types) {
            return Ok(arg_types[0].clone());
        }
        self.planned.return_type(arg_types)
    }

    fn return_field(&self, arg_fields: &[FieldRef]) -> Result<FieldRef> {
        match arg_fields {
            [of] if self.joins(&[of.data_type().clone()]) => {
                let of = of.data_type().clone();
                return Ok(Arc::new(Field::new(self.name(), of, true)));
            }
            _ => {}
        }
        self.planned.return_field(arg_fields)
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        let of = args.return_field.data_type().clone();
        if self.joins(std::slice::from_ref(&of)) {
            return Ok(vec![Arc::new(Field::new(args.name, of, true))]);
        }
        self.planned.state_fields(args)
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        if let Some(bits) = self.joined(&args) {
            let of = args.return_field.data_type();
            if bits == Join::Xor && args.is_distinct {
                let what = "bit_xor(DISTINCT x) of BITs and integers of 128 bits";
                return Err(Error::unsupported(what).into());
            }
            return Ok(match *of == BIT {
                true => Box::new(JoinedBits::new(bits, &self.memory)),
                false => Box::new(HugeBits::new(bits, of)),
            });
        }
        self.planned.accumulator(args)
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs<'_>) -> bool {
        // The library's would count a value as often as it comes.
        !(args.is_distinct && self.bits == Some(Join::Xor))
            && self.joined(&args).is_none()
            && self.planned.groups_accumulator_supported(args)
    }

    fn create_groups_accumulator(
        &self,
        args: AccumulatorArgs<'_>,
    ) -> Result<Box<dyn GroupsAccumulator>> {
        self.planned.create_groups_accumulator(args)
    }

    fn create_sliding_accumulator(
        &self,
        args: AccumulatorArgs<'_>,
    ) -> Result<Box<dyn Accumulator>> {
        let joins = self.joined(&args).is_some();
        let Some(bits) = self.bits.filter(|_| !joins && !args.is_distinct) else {
            return Ok(FrameValues::of(self.clone(), &args));
        };
        Ok(Box::new(Counted {
            bits,
            of: args.return_field.data_type().clone(),
            values: 0,
            ones: [0; 64],
        }))
    }

    fn default_value(&self, of: &DataType) -> Result<ScalarValue> {
        self.planned.default_value(of)
    }

    fn is_nullable(&self) -> bool {
        self.planned.is_nullable()
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        self.planned.order_sensitivity()
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        match self.bits {
            Some(_) => ReversedUDAF::Identical,
            None => ReversedUDAF::NotSupported,
        }
    }
}

/// How many values of a frame have each bit.
#[derive(Debug)]
struct Counted {
    bits: Join,
    of: DataType,
    values: u64,
    ones: [u64; 64],
}

impl Counted {
    /// Values as bits; those of negative numbers are their two's complement.
    fn bits_of(&self, values: &[ArrayRef]) -> Result<Vec<u64>> {
        let Some(values) = values.first() else {
            return internal_err!("an aggregate without arguments");
        };
        if values.data_type() == &DataType::Boolean {
            return Ok(values
                .as_boolean()
                .iter()
                .flatten()
                .map(u64::from)
                .collect());
        }
        if values.data_type().is_unsigned_integer() {
            let values = cast(values, &DataType::UInt64)?;
            return Ok(values
                .as_primitive::<UInt64Type>()
                .iter()
                .flatten()
                .collect());
        }
        let values = cast(values, &DataType::Int64)?;
        let values = values.as_primitive::<Int64Type>().iter().flatten();
        Ok(values
            .map(|v| u64::from_ne_bytes(v.to_ne_bytes()))
            .collect())
    }

    fn count(&mut self, values: &[ArrayRef], change: fn(u64, u64) -> u64) -> Result<()> {
        for value in self.bits_of(values)? {
            self.values = change(self.values, 1);
            for (bit, ones) in self.ones.iter_mut().enumerate() {
                *ones = change(*ones, value >> bit & 1);
            }
        }
        Ok(())
    }
}

impl Accumulator for Counted {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.count(values, u64::wrapping_add)
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.count(values, u64::wrapping_sub)
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        if self.values == 0 {
            return ScalarValue::try_from(&self.of);
        }
        let one = |ones: u64| match self.bits {
            Join::And => ones == self.values,
            Join::Or => ones > 0,
            Join::Xor => ones % 2 == 1,
        };
        let set = self.ones.iter().enumerate().filter(|(_, ones)| one(**ones));
        let value = set.fold(0u64, |value, (bit, _)| value | 1 << bit);
        match &self.of {
            DataType::Boolean => Ok(ScalarValue::Boolean(Some(value & 1 == 1))),
            of if of.is_unsigned_integer() => ScalarValue::UInt64(Some(value)).cast_to(of),
            of => {
                let value = i64::from_ne_bytes(value.to_ne_bytes());
                ScalarValue::Int64(Some(value)).cast_to(of)
            }
        }
    }

    fn size(&self) -> usize {
        size_of::<Self>()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        internal_err!("the accumulator of a frame has no state")
    }

    fn merge_batch(&mut self, _: &[ArrayRef]) -> Result<()> {
        internal_err!("the accumulators of frames are not merged")
    }
}
