//! `remap_struct(value, target, names, defaults)`: a struct as one of another type, whose fields are those of the first by other names, or
//! defaults. Lists of structs are brought to others in their places.
//!
//! What must hold: names and defaults are the same for all rows; errors repeat neither.

use super::nested_cast::{cast_nested, check_nested_cast};
use super::room::Room;
use super::whole::{Call, Whole, registered};
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, ListArray, StructArray, new_empty_array, new_null_array,
};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, FieldRef, Fields};
use datafusion::common::{Result, ScalarValue};
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::logical_expr::ScalarUDF;
use hushdb_sql::type_names::is_struct;
use hushdb_sql::{Error, folded};
use std::sync::Arc;

/// What the items of a list are called among the names.
const ITEMS: &str = "list";

pub(super) fn all(memory: &Arc<dyn MemoryPool>) -> Vec<Arc<ScalarUDF>> {
    let function: Whole = (
        &["remap_struct"],
        taken,
        |types, _| types.get(1).cloned(),
        remapped,
    );
    registered([function], memory)
}

fn taken(types: &[DataType]) -> Option<Vec<DataType>> {
    let [of, to, names, defaults] = types else {
        return None;
    };
    let is_nested = |of: &DataType| is_struct(of) || matches!(of, DataType::List(_));
    let are_named = |of: &DataType| of.is_null() || is_struct(of);
    let are_taken = is_nested(of) && is_nested(to) && are_named(names) && are_named(defaults);
    are_taken.then(|| types.to_vec())
}

fn remapped(call: &Call<'_>, room: &mut Room) -> Result<ArrayRef> {
    let [of, _, names, defaults] = call.take()?;
    if of.is_empty() {
        return Ok(new_empty_array(call.to));
    }
    room.take_if_long(of.get_array_memory_size())?;
    let (names, defaults) = (one_for_all(names)?, one_for_all(defaults)?);
    of_names(of, call.to, &names, &defaults)
}

/// The row that all rows are.
fn one_for_all(rows: &ArrayRef) -> Result<ArrayRef> {
    let first = rows.slice(0, 1);
    match (1..rows.len()).all(|at| rows.slice(at, 1).as_ref() == first.as_ref()) {
        true => Ok(first),
        false => Err(binder("the names and defaults of remap_struct are constants").into()),
    }
}

/// Values as those of a type, by names and defaults, which are one row.
fn of_names(
    of: &ArrayRef,
    to: &DataType,
    names: &ArrayRef,
    defaults: &ArrayRef,
) -> Result<ArrayRef> {
    match (of.data_type(), to) {
        (DataType::Struct(_), DataType::Struct(fields)) => {
            structs(of.as_struct(), fields, names, defaults)
        }
        (DataType::List(_), DataType::List(item)) => {
            let lists = of.as_list::<i32>();
            let items = match member(names, ITEMS) {
                Some(items) => of_name(lists.values(), item, &items, member(defaults, ITEMS))?,
                None => return Err(binder("remap_struct calls the items of a list 'list'").into()),
            };
            let (offsets, nulls) = (lists.offsets().clone(), lists.nulls().cloned());
            let made = ListArray::try_new(Arc::clone(item), offsets, items, nulls)?;
            Ok(Arc::new(made))
        }
        _ => Err(binder("remap_struct makes structs of structs, and lists of lists").into()),
    }
}

fn structs(
    of: &StructArray,
    fields: &Fields,
    names: &ArrayRef,
    defaults: &ArrayRef,
) -> Result<ArrayRef> {
    for (given, what) in [(names, "a name"), (defaults, "a default")] {
        let unknown = fields_of(given).iter().any(|given| {
            let is_it = |field: &FieldRef| folded(field.name()) == folded(given.name());
            !fields.iter().any(is_it)
        });
        if unknown {
            let what = format!("remap_struct was given {what} of a field that its target has not");
            return Err(binder(what).into());
        }
    }
    let columns = fields.iter().map(|field| {
        let default = member(defaults, field.name());
        match (member(names, field.name()), default) {
            (Some(name), default) => {
                let source = source(&name)?;
                let column = column(of, &source).ok_or_else(|| {
                    binder("remap_struct was given the name of a field that is not there")
                })?;
                of_name(column, field, &name, default)
            }
            (None, Some(default)) => {
                let value = ScalarValue::try_from_array(&default, 0)?;
                as_field(&value.to_array_of_size(of.len())?, field)
            }
            (None, None) => {
                let what = format!("Missing target value {} for remap", field.name());
                Err(binder(what).into())
            }
        }
    });
    let columns = columns.collect::<Result<Vec<_>>>()?;
    let nulls = of.nulls().cloned();
    Ok(Arc::new(StructArray::try_new(
        fields.clone(),
        columns,
        nulls,
    )?))
}

/// A column as one of a field: what is within it by names of its own, where it has some.
fn of_name(
    column: &ArrayRef,
    to: &FieldRef,
    name: &ArrayRef,
    default: Option<ArrayRef>,
) -> Result<ArrayRef> {
    match (within(name), default) {
        (Some(names), default) => {
            let defaults = default.unwrap_or_else(|| new_null_array(&DataType::Null, 1));
            of_names(column, to.data_type(), names, &defaults)
        }
        (None, None) => as_field(column, to),
        (None, Some(_)) => {
            let what = format!("Duplicate value provided for target {}", to.name());
            Err(binder(what).into())
        }
    }
}

fn as_field(column: &ArrayRef, to: &FieldRef) -> Result<ArrayRef> {
    check_nested_cast(column.data_type(), to.data_type())?;
    cast_nested(column, to.data_type(), false)
}

/// The name of the field that a value is in: a text, or the first of `row(name, names)`.
fn source(name: &ArrayRef) -> Result<String> {
    let text = match name.as_struct_opt() {
        Some(row) if row.num_columns() == 2 => row.column(0),
        Some(_) => return Err(no_name().into()),
        None => name,
    };
    if !text.data_type().is_string() || text.is_null(0) {
        return Err(no_name().into());
    }
    let text = cast(text, &DataType::Utf8View)?;
    Ok(text.as_string_view().value(0).to_owned())
}

fn no_name() -> Error {
    binder("Remap keys for remap_struct needs to be a string or struct")
}

/// The names of what is within a value.
fn within(name: &ArrayRef) -> Option<&ArrayRef> {
    name.as_struct_opt().and_then(|row| row.columns().get(1))
}

fn column<'a>(of: &'a StructArray, name: &str) -> Option<&'a ArrayRef> {
    let mut fields = of.fields().iter();
    let at = fields.position(|field| folded(field.name()) == folded(name))?;
    of.columns().get(at)
}

/// What a row of names or defaults says of a field.
fn member(of: &ArrayRef, name: &str) -> Option<ArrayRef> {
    let of = of.as_struct_opt().filter(|of| of.is_valid(0))?;
    column(of, name).cloned()
}

fn fields_of(of: &ArrayRef) -> &[FieldRef] {
    match of.data_type() {
        DataType::Struct(fields) if of.is_valid(0) => fields,
        _ => &[],
    }
}

fn binder(what: impl Into<String>) -> Error {
    Error::binder(what.into())
}
