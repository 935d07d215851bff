//! `can_cast_implicitly(x, y)`: whether a value of the type of the one may stand where the type of the other is wanted.

use super::whole::{Call, Whole, registered};
use crate::common_types::number_kind::Number;
use datafusion::arrow::array::{ArrayRef, BooleanArray};
use datafusion::arrow::datatypes::{DataType, Field, Fields, TimeUnit};
use datafusion::common::Result;
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::logical_expr::ScalarUDF;
use hushdb_sql::Error;
use hushdb_sql::type_names::{enum_type, is_called_json};
use std::sync::Arc;

pub(super) fn all(memory: &Arc<dyn MemoryPool>) -> Vec<Arc<ScalarUDF>> {
    let functions: [Whole; 1] = [(
        &["can_cast_implicitly"],
        |types| (types.len() == 2).then(|| types.to_vec()),
        |_, _| Some(DataType::Boolean),
        |call, _| answered(call),
    )];
    registered(functions, memory)
}

fn answered(call: &Call<'_>) -> Result<ArrayRef> {
    let (Some(from), Some(to)) = (call.field(0), call.field(1)) else {
        return Err(Error::internal("a cast is asked for without types").into());
    };
    let answer = is_castable(from, to);
    Ok(Arc::new(BooleanArray::from(vec![answer; call.rows()])))
}

fn is_castable(from: &Field, to: &Field) -> bool {
    let (old, new) = (from.data_type(), to.data_type());
    match (old, new) {
        (DataType::Null, _) => true,
        (_, DataType::Null) => false,
        _ if is_called_json(to) || old == new => true,
        _ if enum_type(old).is_some() => new.is_string() || enum_type(new).is_some(),
        (DataType::List(old), DataType::List(new)) => is_castable(old, new),
        (DataType::Struct(old), DataType::Struct(new)) => are_castable(old, new),
        (DataType::Map(..), DataType::Map(..)) => true,
        (DataType::Date32, DataType::Timestamp(..)) => true,
        (DataType::Timestamp(old, None), DataType::Timestamp(new, None)) => keeps(*old, *new),
        (DataType::Timestamp(old, None), DataType::Timestamp(_, Some(_))) => {
            *old == TimeUnit::Microsecond
        }
        _ => match (Number::of(old), Number::of(new)) {
            (Some(_), Some(Number::Float)) if *old == DataType::Float64 => false,
            (
                Some(Number::Int { bits, signed }),
                Some(Number::Int {
                    bits: more,
                    signed: to,
                }),
            ) => bits < more && (to || !signed),
            (Some(Number::Float), Some(new)) => new == Number::Float,
            (Some(_), Some(Number::Decimal(..) | Number::Float)) => true,
            _ => false,
        },
    }
}

/// Fields of the same names, in their order.
fn are_castable(old: &Fields, new: &Fields) -> bool {
    let mut pairs = old.iter().zip(new);
    let is_field = |(old, new): (&Arc<Field>, &Arc<Field>)| {
        old.name().eq_ignore_ascii_case(new.name()) && is_castable(old, new)
    };
    old.len() == new.len() && pairs.all(is_field)
}

/// Seconds are found in all finer units, and the finest in microseconds, as DuckDB has it.
fn keeps(old: TimeUnit, new: TimeUnit) -> bool {
    use TimeUnit::{Microsecond, Millisecond, Nanosecond, Second};
    match old {
        Second => true,
        Millisecond => matches!(new, Microsecond | Nanosecond),
        Microsecond => new == Nanosecond,
        Nanosecond => new == Microsecond,
    }
}
