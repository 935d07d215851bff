//! Structs made of structs: `struct_concat`, `struct_insert`, `struct_update`; and what they are made of, `struct_extract_at` by its
//! place.

use super::whole::{Call, Whole, list_of, registered};
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, ListBuilder, StringViewBuilder, StructArray, new_null_array,
};
use datafusion::arrow::datatypes::{DataType, Field, Fields};
use datafusion::common::{Result, ScalarValue};
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::logical_expr::ScalarUDF;
use hushdb_sql::type_names::{is_row, is_struct, row_field};
use hushdb_sql::{Error, STRUCT_UPDATE, folded};
use std::collections::HashSet;
use std::sync::Arc;

pub(super) fn all(memory: &Arc<dyn MemoryPool>) -> Vec<Arc<ScalarUDF>> {
    let functions: [Whole; 5] = [
        (
            &["struct_concat"],
            structs,
            |types, _| concatenated(types),
            |call, _| {
                let fields = fields_of(call.to)?;
                let columns = call.columns().iter().flat_map(parts);
                made(call, fields, columns.collect())
            },
        ),
        // Both arguments are structs; fields of the second one go before those of the same name.
        (&[STRUCT_UPDATE], structs, |types, _| updated(types), update),
        (
            &["struct_keys"],
            one_struct,
            |_, _| Some(list_of(DataType::Utf8View)),
            keys,
        ),
        (
            &["struct_values"],
            one_struct,
            |types, _| match types {
                [DataType::Null] => Some(DataType::Null),
                types => unnamed(types),
            },
            |call, _| {
                if let Some(nothing) = call.nothing() {
                    return Ok(nothing);
                }
                let fields = fields_of(call.to)?;
                let [of] = call.take()?;
                let nulls = of.nulls().cloned();
                Ok(Arc::new(StructArray::try_new(fields, parts(of), nulls)?))
            },
        ),
        (
            &["struct_extract_at"],
            |types| match types {
                // A CAST would hide the constant on which the type of the result depends.
                [of, at] if is_struct(of) && at.is_integer() => Some(types.to_vec()),
                _ => None,
            },
            type_at,
            |call, _| field_at(call),
        ),
    ];
    registered(functions, memory)
}

/// The type of a struct's field, by a constant that is its place.
pub(super) fn type_at(types: &[DataType], constants: &[Option<&ScalarValue>]) -> Option<DataType> {
    let fields = all_fields(types);
    let field = fields.get(place(constants)?)?;
    Some(field.data_type().clone())
}

/// The column of that field.
pub(super) fn field_at(call: &Call<'_>) -> Result<ArrayRef> {
    let [of, at] = call.take()?;
    if of.is_empty() {
        return Ok(new_null_array(call.to, 0));
    }
    let at = place(&[None, Some(&ScalarValue::try_from_array(at, 0)?)]);
    let found = at.and_then(|at| parts(of).into_iter().nth(at));
    found.ok_or_else(|| Error::internal("a struct without this field").into())
}

/// A field's place from 0, by a constant that counts from 1.
fn place(constants: &[Option<&ScalarValue>]) -> Option<usize> {
    let at = match constants
        .get(1)
        .copied()
        .flatten()?
        .cast_to(&DataType::Int64)
    {
        Ok(ScalarValue::Int64(at)) => at?,
        _ => return None,
    };
    usize::try_from(at.checked_sub(1)?).ok()
}

fn structs(types: &[DataType]) -> Option<Vec<DataType>> {
    (!types.is_empty() && types.iter().all(is_struct)).then(|| types.to_vec())
}

/// A struct, or the untyped NULL.
fn one_struct(types: &[DataType]) -> Option<Vec<DataType>> {
    match types {
        [of] if is_struct(of) || of.is_null() => Some(types.to_vec()),
        _ => None,
    }
}

fn fields_of(of: &DataType) -> Result<Fields> {
    match of {
        DataType::Struct(fields) => Ok(fields.clone()),
        _ => Err(Error::internal("a function of structs of another type").into()),
    }
}

/// The fields of a struct; those of NULL are NULL.
fn parts(of: &ArrayRef) -> Vec<ArrayRef> {
    let of = of.as_struct();
    match of.nulls() {
        Some(nulls) if nulls.null_count() == of.len() => {
            let empty = |column: &ArrayRef| new_null_array(column.data_type(), of.len());
            of.columns().iter().map(empty).collect()
        }
        Some(nulls) => {
            let masked = |column: &ArrayRef| {
                let all = datafusion::arrow::buffer::NullBuffer::union(
                    column.logical_nulls().as_ref(),
                    Some(nulls),
                );
                let data = column.to_data().into_builder().nulls(all);
                match data.build() {
                    Ok(data) => datafusion::arrow::array::make_array(data),
                    Err(_) => Arc::clone(column),
                }
            };
            of.columns().iter().map(masked).collect()
        }
        None => of.columns().to_vec(),
    }
}

fn made(call: &Call<'_>, fields: Fields, columns: Vec<ArrayRef>) -> Result<ArrayRef> {
    if columns.is_empty() {
        return Ok(Arc::new(StructArray::new_empty_fields(call.rows(), None)));
    }
    Ok(Arc::new(StructArray::try_new(fields, columns, None)?))
}

fn all_fields(types: &[DataType]) -> Vec<Arc<Field>> {
    let fields = types.iter().flat_map(|of| match of {
        DataType::Struct(fields) => fields.iter().cloned().collect(),
        _ => vec![],
    });
    fields.collect()
}

fn nullable(name: &str, field: &Field) -> Field {
    Field::new(name, field.data_type().clone(), true)
}

/// `None` where a name is there twice. Structs without names have none.
fn concatenated(types: &[DataType]) -> Option<DataType> {
    let unnamed = types.iter().filter(|of| match of {
        DataType::Struct(fields) => is_row(fields),
        _ => false,
    });
    let all = all_fields(types);
    let fields: Vec<Field> = match unnamed.count() {
        0 => {
            let mut names = HashSet::new();
            let new = all.iter().all(|field| names.insert(folded(field.name())));
            new.then(|| {
                all.iter()
                    .map(|field| nullable(field.name(), field))
                    .collect()
            })?
        }
        all_of if all_of == types.len() => {
            let named = all.iter().zip(1..);
            named
                .map(|(field, n)| nullable(&row_field(n), field))
                .collect()
        }
        _ => return None,
    };
    Some(DataType::Struct(fields.into()))
}

/// The fields of the first struct and of the second, each name once.
fn updated(types: &[DataType]) -> Option<DataType> {
    let [DataType::Struct(old), DataType::Struct(new)] = types else {
        return None;
    };
    let find = |name: &str| {
        new.iter()
            .find(|field| folded(field.name()) == folded(name))
    };
    let kept = old.iter().map(|field| find(field.name()).unwrap_or(field));
    let more = new.iter().filter(|field| {
        !old.iter()
            .any(|own| folded(own.name()) == folded(field.name()))
    });
    let fields = kept.chain(more).map(|field| nullable(field.name(), field));
    Some(DataType::Struct(fields.collect::<Vec<_>>().into()))
}

fn update(call: &Call<'_>, _: &mut super::room::Room) -> Result<ArrayRef> {
    let [old, new] = call.take()?;
    let (old_parts, new_parts) = (parts(old), parts(new));
    let names = |of: &ArrayRef| -> Vec<String> {
        let fields = of.as_struct().fields().iter();
        fields.map(|field| folded(field.name())).collect()
    };
    let (old_names, new_names) = (names(old), names(new));
    let fields = fields_of(call.to)?;
    let columns = fields.iter().map(|field| {
        let name = folded(field.name());
        let place = |names: &[String]| names.iter().position(|own| *own == name);
        let found = match place(&new_names) {
            Some(at) => new_parts.get(at),
            None => place(&old_names).and_then(|at| old_parts.get(at)),
        };
        found
            .cloned()
            .ok_or_else(|| Error::internal("a field is of neither struct").into())
    });
    made(call, fields.clone(), columns.collect::<Result<_>>()?)
}

fn keys(call: &Call<'_>, _: &mut super::room::Room) -> Result<ArrayRef> {
    let [of] = call.take()?;
    if of.data_type().is_null() {
        return Ok(new_null_array(call.to, of.len()));
    }
    let mut out = ListBuilder::new(StringViewBuilder::new());
    let fields = fields_of(of.data_type())?;
    let unnamed = is_row(&fields);
    for row in 0..of.len() {
        if of.is_null(row) || unnamed {
            out.append_null();
            continue;
        }
        for field in &fields {
            out.values().append_value(field.name());
        }
        out.append(true);
    }
    Ok(Arc::new(out.finish()))
}

/// The same values without names.
fn unnamed(types: &[DataType]) -> Option<DataType> {
    let fields = all_fields(types);
    let fields = fields
        .iter()
        .zip(1..)
        .map(|(field, n)| nullable(&row_field(n), field));
    Some(DataType::Struct(fields.collect::<Vec<_>>().into()))
}
