//! `HugeBits`: the accumulator of `bit_and`, `bit_or` and `bit_xor` of HUGEINT and UHUGEINT.

use super::bits_of_values::Join;
use datafusion::arrow::array::{ArrayRef, AsArray};
use datafusion::arrow::datatypes::{DataType, Decimal256Type, i256};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::Accumulator;
use hushdb_storage::HUGEINT;

#[derive(Debug)]
pub(super) struct HugeBits {
    join: Join,
    of: DataType,
    /// Of a negative number, its two's complement.
    bits: Option<u128>,
}

impl HugeBits {
    pub(super) fn new(join: Join, of: &DataType) -> Self {
        Self {
            join,
            of: of.clone(),
            bits: None,
        }
    }
}

/// The number of a type that has these bits, of a negative one its two's complement.
pub(super) fn number(bits: u128, of: &DataType) -> i256 {
    match of.is_signed_integer() || *of == HUGEINT {
        true => i256::from_i128(bits.cast_signed()),
        false => i256::from_parts(bits, 0),
    }
}

impl Accumulator for HugeBits {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        for value in values[0].as_primitive::<Decimal256Type>().iter().flatten() {
            let (bits, _) = value.to_parts();
            self.bits = Some(match (self.bits, self.join) {
                (None, _) => bits,
                (Some(all), Join::And) => all & bits,
                (Some(all), Join::Or) => all | bits,
                (Some(all), Join::Xor) => all ^ bits,
            });
        }
        Ok(())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let number = self.bits.map(|bits| number(bits, &self.of));
        match &self.of {
            DataType::Decimal256(digits, scale) => {
                Ok(ScalarValue::Decimal256(number, *digits, *scale))
            }
            of => internal_err!("{of} is no huge integer"),
        }
    }

    fn size(&self) -> usize {
        size_of_val(self)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![self.evaluate()?])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.update_batch(states)
    }
}
