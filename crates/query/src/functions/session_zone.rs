//! Calls of functions in the session's time zone: what they are given says it in its type.
//!
//! What must hold: plans, tables and everything between two functions have instants in UTC alone, so that types do not depend on a
//! session. A function that looks at clocks finds the zone in the types of its arguments and of its result, while it runs.

use super::zone::Zone;
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, FixedSizeListArray, GenericListArray, MapArray, OffsetSizeTrait,
    StructArray,
};
use datafusion::arrow::datatypes::{
    DataType, Field, FieldRef, TimeUnit, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType,
};
use datafusion::common::{Result, ScalarValue};
use datafusion::config::ConfigOptions;
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs};
use std::sync::Arc;

/// The zone that a plan is made for, if that is another than UTC.
pub(crate) fn zone_of(options: &ConfigOptions) -> Option<Zone> {
    let name = options.execution.time_zone.as_deref()?;
    Zone::named(name).map(|(zone, _)| zone)
}

/// Runs a function with the session's zone in the types of instants, and gives back what it made as instants in UTC.
pub(super) fn in_session_zone(
    mut args: ScalarFunctionArgs,
    run: impl FnOnce(ScalarFunctionArgs) -> Result<ColumnarValue>,
) -> Result<ColumnarValue> {
    let Some(zone) = zone_of(&args.config_options) else {
        return run(args);
    };
    let field = |field: &FieldRef| shown_field(field, zone).unwrap_or_else(|| Arc::clone(field));
    let result = Arc::clone(&args.return_field);
    let fields: Vec<_> = args.arg_fields.iter().map(field).collect();
    if fields == args.arg_fields && shown_type(result.data_type(), zone).is_none() {
        return run(args);
    }
    args.arg_fields = fields;
    args.return_field = field(&result);
    for (arg, field) in args.args.iter_mut().zip(&args.arg_fields) {
        *arg = value_of_type(arg, field.data_type())?;
    }
    value_of_type(&run(args)?, result.data_type())
}

/// A type whose instants are shown in a zone; `None` if it has none.
fn shown_type(of: &DataType, zone: Zone) -> Option<DataType> {
    Some(match of {
        DataType::Timestamp(unit, Some(_)) => DataType::Timestamp(*unit, Some(zone.name().into())),
        DataType::List(item) => DataType::List(shown_field(item, zone)?),
        DataType::LargeList(item) => DataType::LargeList(shown_field(item, zone)?),
        DataType::FixedSizeList(item, size) => {
            DataType::FixedSizeList(shown_field(item, zone)?, *size)
        }
        DataType::Map(entries, sorted) => DataType::Map(shown_field(entries, zone)?, *sorted),
        DataType::Struct(fields) => {
            let shown: Vec<_> = fields
                .iter()
                .map(|field| shown_field(field, zone))
                .collect();
            if shown.iter().all(Option::is_none) {
                return None;
            }
            let shown = shown.into_iter().zip(fields);
            let shown = shown.map(|(shown, field)| shown.unwrap_or_else(|| Arc::clone(field)));
            DataType::Struct(shown.collect())
        }
        _ => return None,
    })
}

/// The field of such a type.
pub fn shown_field(field: &Field, zone: Zone) -> Option<FieldRef> {
    let shown = shown_type(field.data_type(), zone)?;
    Some(Arc::new(field.clone().with_data_type(shown)))
}

fn value_of_type(value: &ColumnarValue, to: &DataType) -> Result<ColumnarValue> {
    if value.data_type() == *to {
        return Ok(value.clone());
    }
    Ok(match value {
        ColumnarValue::Array(array) => ColumnarValue::Array(shown_as(array, to)?),
        ColumnarValue::Scalar(one) => {
            let one = shown_as(&one.to_array()?, to)?;
            ColumnarValue::Scalar(ScalarValue::try_from_array(&one, 0)?)
        }
    })
}

/// Values as those of a type that differs in the zones of its instants alone; what differs otherwise is left as it is.
///
/// # Errors
/// None while that is so.
pub fn shown_as(array: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    use DataType as T;
    if array.data_type() == to {
        return Ok(Arc::clone(array));
    }
    Ok(match (array.data_type(), to) {
        (T::Timestamp(unit, Some(_)), T::Timestamp(other, zone @ Some(_))) if unit == other => {
            let zone = zone.clone();
            match unit {
                TimeUnit::Second => {
                    let array = array.as_primitive::<TimestampSecondType>().clone();
                    Arc::new(array.with_timezone_opt(zone))
                }
                TimeUnit::Millisecond => {
                    let array = array.as_primitive::<TimestampMillisecondType>().clone();
                    Arc::new(array.with_timezone_opt(zone))
                }
                TimeUnit::Microsecond => {
                    let array = array.as_primitive::<TimestampMicrosecondType>().clone();
                    Arc::new(array.with_timezone_opt(zone))
                }
                TimeUnit::Nanosecond => {
                    let array = array.as_primitive::<TimestampNanosecondType>().clone();
                    Arc::new(array.with_timezone_opt(zone))
                }
            }
        }
        (T::List(_), T::List(item)) => list_as(array.as_list::<i32>(), item)?,
        (T::LargeList(_), T::LargeList(item)) => list_as(array.as_list::<i64>(), item)?,
        (T::FixedSizeList(_, _), T::FixedSizeList(item, size)) => {
            let lists = array.as_fixed_size_list();
            let values = shown_as(lists.values(), item.data_type())?;
            let nulls = lists.nulls().cloned();
            let lists = FixedSizeListArray::try_new(Arc::clone(item), *size, values, nulls);
            Arc::new(lists?)
        }
        (T::Map(_, _), T::Map(entries, sorted)) => {
            let (_, offsets, pairs, nulls, _) = array.as_map().clone().into_parts();
            let pairs: ArrayRef = Arc::new(pairs);
            let pairs = shown_as(&pairs, entries.data_type())?.as_struct().clone();
            let map = MapArray::try_new(Arc::clone(entries), offsets, pairs, nulls, *sorted);
            Arc::new(map?)
        }
        (T::Struct(from), T::Struct(fields)) if from.len() == fields.len() => {
            let of = array.as_struct();
            let columns = of.columns().iter().zip(fields);
            let columns = columns.map(|(column, field)| shown_as(column, field.data_type()));
            let columns = columns.collect::<Result<Vec<_>>>()?;
            let nulls = of.nulls().cloned();
            let rows = of.len();
            let of = StructArray::try_new_with_length(fields.clone(), columns, nulls, rows);
            Arc::new(of?)
        }
        _ => Arc::clone(array),
    })
}

fn list_as<O: OffsetSizeTrait>(lists: &GenericListArray<O>, item: &FieldRef) -> Result<ArrayRef> {
    let (_, offsets, values, nulls) = lists.clone().into_parts();
    let values = shown_as(&values, item.data_type())?;
    let lists = GenericListArray::try_new(Arc::clone(item), offsets, values, nulls)?;
    Ok(Arc::new(lists))
}
