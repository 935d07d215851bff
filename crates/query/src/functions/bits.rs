//! Bits of whole numbers and BITs: `~x` and `bit_count(x)`, each as its type has them, `xor(a, b)`, and `&` and `|` of those of 128 bits; and some of a DOUBLE.

use super::bit_strings::bits_in;
use super::plain::{Form, Kind, Run, called, plain};
use super::whole::{Call, Whole, registered};
use crate::common_types::number_kind::{Number, common_int, int_type, is_huge};
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, Int8Array, Int64Array, LargeBinaryArray, PrimitiveArray,
};
use datafusion::arrow::compute::binary;
use datafusion::arrow::datatypes::{
    ArrowNativeTypeOp, ArrowPrimitiveType, DataType, Decimal256Type, Float32Type, Float64Type,
    Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type, i256,
};
use datafusion::common::{Result, ScalarValue, internal_err, plan_err};
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
    expr_fn,
};
use hushdb_sql::{BIT_NOT, XOR};
use hushdb_storage::{BIT, HUGEINT, UHUGEINT, bit_string};
use std::sync::Arc;

pub(super) fn all(memory: &Arc<dyn MemoryPool>) -> Vec<Arc<ScalarUDF>> {
    let functions: [Whole; 4] = [
        (
            &["nextafter"],
            two_floats,
            |types, _| types.first().cloned(),
            next_after,
        ),
        (
            &[BIT_NOT],
            integer,
            |types, _| types.first().cloned(),
            inverted,
        ),
        (
            &["bit_count"],
            integer,
            |types, _| {
                let is_bits = types.first().is_some_and(|of| *of == BIT);
                Some(if is_bits {
                    DataType::Int64
                } else {
                    DataType::Int8
                })
            },
            counted,
        ),
        // Of `a | b` and `a & b`.
        (
            &[XOR],
            |types| match types {
                [left, right] if left == right => Some(types.to_vec()),
                _ => None,
            },
            |types, _| types.first().cloned(),
            different,
        ),
    ];
    let mut all = registered(functions, memory);
    all.extend(of_doubles(memory));
    all
}

fn of_doubles(memory: &Arc<dyn MemoryPool>) -> Vec<Arc<ScalarUDF>> {
    const D: &[Kind] = &[Kind::Double];
    vec![
        plain(
            &["even"],
            vec![Form::new(
                D,
                Run::Double(|row| {
                    let away = row.double(0).abs().ceil();
                    let even = if away % 2.0 == 0.0 { away } else { away + 1.0 };
                    Ok(Some(even.copysign(row.double(0))))
                }),
            )],
            memory,
        ),
        plain(
            &["signbit"],
            vec![Form::new(
                D,
                Run::Bool(|row| Ok(Some(row.double(0).is_sign_negative()))),
            )],
            memory,
        ),
    ]
}

/// Two numbers that become FLOAT where one is and none is DOUBLE, else DOUBLE.
fn two_floats(types: &[DataType]) -> Option<Vec<DataType>> {
    let is_number = |of: &DataType| of.is_numeric() || of.is_null();
    if types.len() != 2 || !types.iter().all(is_number) {
        return None;
    }
    let of = match types.contains(&DataType::Float32) && !types.contains(&DataType::Float64) {
        true => DataType::Float32,
        false => DataType::Float64,
    };
    Some(vec![of; 2])
}

/// The next number on the way to another, among those of its type.
fn next_after(call: &Call<'_>, _: &mut super::room::Room) -> Result<ArrayRef> {
    macro_rules! next {
        ($type:ty, $from:expr, $to:expr) => {{
            let (from, to) = ($from.as_primitive::<$type>(), $to.as_primitive::<$type>());
            let next: PrimitiveArray<$type> =
                binary(from, to, |from, to| match from.partial_cmp(&to) {
                    None => from + to,
                    Some(std::cmp::Ordering::Equal) => to,
                    Some(std::cmp::Ordering::Less) => from.next_up(),
                    Some(std::cmp::Ordering::Greater) => from.next_down(),
                })?;
            Ok(Arc::new(next))
        }};
    }
    let [from, to] = call.take()?;
    match from.data_type() {
        DataType::Float32 => next!(Float32Type, from, to),
        _ => next!(Float64Type, from, to),
    }
}

/// A whole number, which stays of its type; NULL is a BIGINT.
fn integer(types: &[DataType]) -> Option<Vec<DataType>> {
    match types {
        [DataType::Null] => Some(vec![DataType::Int64]),
        [of] if of.is_integer() || is_huge(of) || *of == BIT => Some(types.to_vec()),
        _ => None,
    }
}

/// Does the same with a column of any integers.
macro_rules! of_integers {
    ($run:ident, $array:expr $(, $other:expr)?) => {
        match $array.data_type() {
            DataType::Int8 => of_integers!(@ Int8Type, $run, $array $(, $other)?),
            DataType::Int16 => of_integers!(@ Int16Type, $run, $array $(, $other)?),
            DataType::Int32 => of_integers!(@ Int32Type, $run, $array $(, $other)?),
            DataType::Int64 => of_integers!(@ Int64Type, $run, $array $(, $other)?),
            DataType::UInt8 => of_integers!(@ UInt8Type, $run, $array $(, $other)?),
            DataType::UInt16 => of_integers!(@ UInt16Type, $run, $array $(, $other)?),
            DataType::UInt32 => of_integers!(@ UInt32Type, $run, $array $(, $other)?),
            DataType::UInt64 => of_integers!(@ UInt64Type, $run, $array $(, $other)?),
            of if is_huge(of) => of_integers!(@ Decimal256Type, $run, $array $(, $other)?),
            other => internal_err!("{other} is no integer"),
        }
    };
    (@ $type:ty, $run:ident, $array:expr $(, $other:expr)?) => {
        $run($array.as_primitive::<$type>() $(, $other.as_primitive::<$type>())?)
    };
}

fn inverted(call: &Call<'_>, _: &mut super::room::Room) -> Result<ArrayRef> {
    fn run<T: ArrowPrimitiveType>(values: &PrimitiveArray<T>) -> Result<ArrayRef>
    where
        T::Native: std::ops::Not<Output = T::Native>,
    {
        Ok(Arc::new(values.unary::<_, T>(|value| !value)))
    }
    let [values] = call.take()?;
    if *values.data_type() == BIT {
        let values = values.as_binary::<i64>().iter();
        let inverted = |bytes: &[u8]| -> Result<Option<Vec<u8>>> {
            let bits = bits_in(bytes)?;
            Ok(bit_string(bits.count(), bits.bits().map(|bit| !bit)))
        };
        let values = values.map(|bytes| bytes.map_or(Ok(None), inverted));
        return Ok(Arc::new(values.collect::<Result<LargeBinaryArray>>()?));
    }
    if *values.data_type() == UHUGEINT {
        let inverted = values.as_primitive::<Decimal256Type>();
        let inverted =
            inverted.unary::<_, Decimal256Type>(|v| i256::from_parts(!v.to_parts().0, 0));
        return Ok(Arc::new(inverted.with_data_type(UHUGEINT)));
    }
    if is_huge(values.data_type()) {
        let inverted = values.as_primitive::<Decimal256Type>();
        let inverted = inverted.unary::<_, Decimal256Type>(|v| !v);
        return Ok(Arc::new(inverted.with_data_type(HUGEINT)));
    }
    of_integers!(run, values)
}

/// What is in one of two values alone, of what is in either and in both.
fn different(call: &Call<'_>, _: &mut super::room::Room) -> Result<ArrayRef> {
    fn run<T: ArrowPrimitiveType>(
        either: &PrimitiveArray<T>,
        both: &PrimitiveArray<T>,
    ) -> Result<ArrayRef>
    where
        T::Native: std::ops::BitXor<Output = T::Native>,
    {
        let numbers: PrimitiveArray<T> = binary(either, both, |a, b| a ^ b)?;
        Ok(Arc::new(numbers.with_data_type(either.data_type().clone())))
    }
    let [either, both] = call.take()?;
    if *either.data_type() != BIT {
        return of_integers!(run, either, both);
    }
    let pairs = either.as_binary::<i64>().iter();
    let pairs = pairs.zip(both.as_binary::<i64>());
    let value = |(either, both): (Option<&[u8]>, Option<&[u8]>)| -> Result<_> {
        let (Some(either), Some(both)) = (either, both) else {
            return Ok(None);
        };
        let (either, both) = (bits_in(either)?, bits_in(both)?);
        let bits = either.bits().zip(both.bits()).map(|(a, b)| a ^ b);
        Ok(bit_string(either.count(), bits))
    };
    let values = pairs.map(value).collect::<Result<LargeBinaryArray>>()?;
    Ok(Arc::new(values))
}

fn counted(call: &Call<'_>, _: &mut super::room::Room) -> Result<ArrayRef> {
    fn run<T: ArrowPrimitiveType>(values: &PrimitiveArray<T>) -> Result<ArrayRef>
    where
        T::Native: ToBits,
    {
        let ones = values
            .iter()
            .map(|value| value.map(|value| value.ones() as i8));
        Ok(Arc::new(ones.collect::<Int8Array>()))
    }
    let [values] = call.take()?;
    if *values.data_type() == BIT {
        let values = values.as_binary::<i64>().iter();
        let ones = |bytes: &[u8]| -> Result<i64> {
            Ok(bits_in(bytes)?.bits().filter(|bit| *bit).count() as i64)
        };
        let values = values.map(|bytes| bytes.map(ones).transpose());
        return Ok(Arc::new(values.collect::<Result<Int64Array>>()?));
    }
    of_integers!(run, values)
}

/// How many bits of a number are set.
trait ToBits: ArrowNativeTypeOp {
    fn ones(self) -> u32;
}

macro_rules! to_bits {
    ($($integer:ty)*) => {
        $(impl ToBits for $integer {
            fn ones(self) -> u32 {
                self.count_ones()
            }
        })*
    };
}

to_bits!(i8 i16 i32 i64 u8 u16 u32 u64);

impl ToBits for i256 {
    /// Of the 128 bits that there are of it.
    fn ones(self) -> u32 {
        self.to_parts().0.count_ones()
    }
}

/// `&` or `|` of whole numbers of which one has 128 bits.
///
/// # Errors
/// Where there is no type for both.
pub fn huge_bits(is_and: bool, [left, right]: [Expr; 2], types: &[DataType; 2]) -> Result<Expr> {
    let int = |of: &DataType| match Number::of(of) {
        Some(Number::Int { bits, signed }) => Some((bits, signed)),
        _ => None,
    };
    let [a, b] = types;
    let common = match (int(a), int(b)) {
        (Some(a), Some(b)) => common_int(a, b).map(|(bits, signed)| int_type(bits, signed)),
        (Some(_), None) if b.is_null() => Some(a.clone()),
        (None, Some(_)) if a.is_null() => Some(b.clone()),
        _ => None,
    };
    let Some(common) = common.filter(is_huge) else {
        let operator = if is_and { "&" } else { "|" };
        let named = called(operator, types);
        return plan_err!(
            "No function matches the given name and argument types '{named}'. You might need to add explicit type casts."
        );
    };
    let bits = ScalarUDF::from(HugeBits {
        is_and,
        signature: Signature::any(2, Volatility::Immutable),
    });
    let operands = [left, right].map(|operand| expr_fn::cast(operand, common.clone()));
    let call = ScalarFunction::new_udf(Arc::new(bits), operands.to_vec());
    Ok(Expr::ScalarFunction(call))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct HugeBits {
    is_and: bool,
    signature: Signature,
}

impl ScalarUDFImpl for HugeBits {
    fn name(&self) -> &str {
        if self.is_and { "$bits_and" } else { "$bits_or" }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match types {
            [of, _] => Ok(of.clone()),
            _ => internal_err!("{} takes two numbers", self.name()),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let operands = ColumnarValue::values_to_arrays(&args.args)?;
        let [left, right] = operands.as_slice() else {
            return internal_err!("{} takes two numbers", self.name());
        };
        let [a, b] = [left, right].map(|of| of.as_primitive::<Decimal256Type>());
        let is_and = self.is_and;
        let made: PrimitiveArray<Decimal256Type> =
            binary(a, b, |a, b| if is_and { a & b } else { a | b })?;
        let made: ArrayRef = Arc::new(made.with_data_type(left.data_type().clone()));
        let are_constant = |arg: &ColumnarValue| matches!(arg, ColumnarValue::Scalar(_));
        Ok(match args.args.iter().all(are_constant) {
            true => ColumnarValue::Scalar(ScalarValue::try_from_array(&made, 0)?),
            false => ColumnarValue::Array(made),
        })
    }
}
