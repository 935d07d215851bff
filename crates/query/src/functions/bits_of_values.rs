//! `bitstring_agg(x, least, greatest)`: a BIT for each whole number of a range, set where it is a value. And `bit_and`, `bit_or` and
//! `bit_xor` of BITs.
//!
//! What must hold: a range says how long a BIT is, and there is one for each group: memory is asked for before it is made.

use super::bit_strings::{bits_in, of_other_size};
use super::frame_values::FrameValues;
use super::room::{Memory, Room};
use datafusion::arrow::array::{Array, ArrayRef, AsArray, Decimal256Array};
use datafusion::arrow::datatypes::{DataType, Decimal256Type, Field, FieldRef, i256};
use datafusion::common::{Result, ScalarValue, internal_err, plan_err};
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{Accumulator, AggregateUDFImpl, Signature, Volatility};
use hushdb_sql::{Error, ErrorKind};
use hushdb_storage::{BIT, HUGEINT, bit_string};
use std::iter::empty;
use std::sync::Arc;

/// The most numbers of a range, as in DuckDB.
const MAX_RANGE: usize = 1_000_000_000;

/// `bitstring_agg`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct BitsOfValues {
    memory: Memory,
    signature: Signature,
}

impl BitsOfValues {
    pub(super) fn new(memory: &Arc<dyn MemoryPool>) -> Self {
        Self {
            memory: Memory(Arc::clone(memory)),
            signature: Signature::user_defined(Volatility::Immutable),
        }
    }
}

impl AggregateUDFImpl for BitsOfValues {
    fn name(&self) -> &str {
        "bitstring_agg"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let is_whole = |ty: &DataType| ty.is_integer() || *ty == HUGEINT || ty.is_null();
        match types {
            [of] if of.is_null() => Ok(vec![DataType::Null]),
            [_] => plan_err!(
                "Could not retrieve required statistics. Alternatively, try by providing the statistics explicitly: BITSTRING_AGG(col, min, max)"
            ),
            [_, _, _] if types.iter().all(is_whole) => Ok(vec![HUGEINT; 3]),
            _ => plan_err!(
                "bitstring_agg takes whole numbers, and the least and the greatest of them"
            ),
        }
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(BIT)
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        Ok(vec![Arc::new(Field::new(args.name, BIT, true))])
    }

    fn accumulator(&self, _: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(SeenValues {
            range: None,
            bits: JoinedBits::new(Join::Or, &self.memory),
        }))
    }

    fn create_sliding_accumulator(
        &self,
        args: AccumulatorArgs<'_>,
    ) -> Result<Box<dyn Accumulator>> {
        Ok(FrameValues::of(self.clone(), &args))
    }
}

/// Which numbers of a range were seen.
#[derive(Debug)]
struct SeenValues {
    /// The least number, and how many there are.
    range: Option<(i128, usize)>,
    bits: JoinedBits,
}

impl SeenValues {
    /// Begins with no number of a range.
    fn begin(&mut self, least: Option<i256>, greatest: Option<i256>) -> Result<(i128, usize)> {
        if let Some(range) = self.range {
            return Ok(range);
        }
        let (Some(least), Some(greatest)) = (least, greatest) else {
            return Err(Error::binder("bitstring_agg takes a range that is not NULL").into());
        };
        let (least, greatest) = (least.as_i128(), greatest.as_i128());
        if least > greatest {
            let what = "Invalid explicit bitstring range: the minimum is above the maximum";
            return Err(Error::invalid(what).into());
        }
        let count = greatest.checked_sub(least);
        let count = count.and_then(|count| usize::try_from(count).ok()?.checked_add(1));
        let Some(count) = count.filter(|count| *count <= MAX_RANGE) else {
            let what = "The range between min and max value is too large for bitstring aggregation";
            return Err(Error::new(ErrorKind::OutOfRange, what).into());
        };
        self.bits.ask_for(count / 8)?;
        self.bits.value = bit_string(count, empty());
        self.range = Some((least, count));
        Ok((least, count))
    }
}

impl Accumulator for SeenValues {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let [of, least, greatest] = values else {
            return match values {
                [of] if of.data_type().is_null() => Ok(()),
                _ => internal_err!("bitstring_agg takes three arguments"),
            };
        };
        let [of, least, greatest] =
            [of, least, greatest].map(|array| array.as_primitive::<Decimal256Type>());
        for (row, value) in of.iter().enumerate() {
            let Some(value) = value else { continue };
            let bound = |bounds: &Decimal256Array| bounds.is_valid(row).then(|| bounds.value(row));
            let (from, count) = self.begin(bound(least), bound(greatest))?;
            let place = value.as_i128().checked_sub(from);
            let place = place.and_then(|place| usize::try_from(place).ok());
            let Some(place) = place.filter(|place| *place < count) else {
                let what = "a value is outside of the provided min and max range";
                return Err(Error::new(ErrorKind::OutOfRange, what).into());
            };
            self.bits.set(place);
        }
        Ok(())
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.bits.update_batch(states)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.bits.state()
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        self.bits.evaluate()
    }

    fn size(&self) -> usize {
        size_of::<Self>() + self.bits.size()
    }
}

/// How the bits of values become one; BOOLEAN is a number of one bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Join {
    And,
    Or,
    Xor,
}

/// BITs of one size, joined bit by bit.
#[derive(Debug)]
pub(super) struct JoinedBits {
    join: Join,
    /// The bytes of a BIT.
    value: Option<Vec<u8>>,
    /// For the value, and for as long as it is there: what it is given out as.
    room: Room,
}

impl JoinedBits {
    pub(super) fn new(join: Join, memory: &Memory) -> Self {
        Self {
            join,
            value: None,
            room: Room::new(&memory.0),
        }
    }

    /// Asks for memory for a value of so many bytes.
    fn ask_for(&mut self, bytes: usize) -> Result<()> {
        self.room.take_if_long(bytes)
    }

    /// Sets a bit that is there.
    fn set(&mut self, place: usize) {
        let Some([filled, bytes @ ..]) = self.value.as_deref_mut() else {
            return;
        };
        let place = usize::from(*filled) + place;
        if let Some(byte) = bytes.get_mut(place / 8) {
            *byte |= 0x80 >> (place % 8);
        }
    }

    fn add(&mut self, bytes: &[u8]) -> Result<()> {
        let Some(value) = &mut self.value else {
            self.ask_for(bytes.len())?;
            self.value = Some(bytes.to_vec());
            return Ok(());
        };
        if bits_in(value)?.count() != bits_in(bytes)?.count() {
            let word = match self.join {
                Join::And => "AND",
                Join::Or => "OR",
                Join::Xor => "XOR",
            };
            return Err(of_other_size(word).into());
        }
        // What is filled up stays so: how many bits it is does not change, and `and` and `or` keep ones.
        let filled = value.first().copied().unwrap_or_default();
        for (into, byte) in value.iter_mut().zip(bytes).skip(1) {
            match self.join {
                Join::And => *into &= byte,
                Join::Or => *into |= byte,
                Join::Xor => *into ^= byte,
            }
        }
        if let Some(first) = value.get_mut(1) {
            *first |= !(0xff >> filled);
        }
        Ok(())
    }
}

impl Accumulator for JoinedBits {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let Some(values) = values.first() else {
            return internal_err!("an aggregate without arguments");
        };
        let mut values = values.as_binary::<i64>().iter().flatten();
        values.try_for_each(|bytes| self.add(bytes))
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.update_batch(states)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![self.evaluate()?])
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        Ok(ScalarValue::LargeBinary(self.value.clone()))
    }

    fn size(&self) -> usize {
        size_of::<Self>() + self.value.as_ref().map_or(0, Vec::capacity)
    }
}
