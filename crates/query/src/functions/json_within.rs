//! JSON within other types, for functions that know types and not fields: while such a function says what it takes and gives, another type
//! stands for JSON (`common_types::json`), so that what it makes of lists, structs and maps of JSON has JSON in it, too.
//!
//! What must hold: no value becomes JSON here that is not known to be JSON.

use super::MAKE_LIST;
use super::named_struct::NAMED_STRUCT;
use crate::common_types::{
    STAND_IN, field_of, has_json_within, stand_in, with_stand_ins, without_json, without_stand_ins,
};
use datafusion::arrow::array::{Array, ArrayRef, AsArray, ListArray, MapArray, StructArray};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs};
use hushdb_sql::type_names::is_called_json;
use hushdb_sql::{Error, UNION_VALUE};
use std::sync::Arc;

/// Functions whose values have their arguments in them: of one type, or a field for each.
const MAKE_VALUES_OF: [&str; 5] = [
    MAKE_LIST,
    "array_value",
    "list_resize",
    NAMED_STRUCT,
    UNION_VALUE,
];

/// Of these, those whose values have a field for each argument.
const MAKE_FIELDS_OF: [&str; 2] = [NAMED_STRUCT, UNION_VALUE];

/// The types of the arguments of a call of this function, by which it says what it gives.
pub(super) fn known_types(function: &str, fields: &[FieldRef]) -> Vec<DataType> {
    let makes = MAKE_VALUES_OF.contains(&function);
    let is_other_text = |field: &FieldRef| field.data_type().is_string() && !is_called_json(field);
    // Values of one type of which some are not known to be JSON are texts.
    let are_texts = !MAKE_FIELDS_OF.contains(&function) && fields.iter().any(is_other_text);
    let known = fields.iter().map(|field| match makes {
        true if are_texts => without_json(field.data_type()),
        true => stand_in(field),
        false => with_stand_ins(field.data_type()),
    });
    known.collect()
}

/// The field of what a call gives of fields, by its type with what stands for JSON. A file may have texts of that type: where it has them, and
/// no JSON, the type is what it is.
pub(super) fn given_field<'a>(
    name: &str,
    of: &DataType,
    given: impl IntoIterator<Item = &'a Field>,
) -> Field {
    let (mut is_large, mut has_json) = (false, false);
    for field in given {
        is_large |= has_large_texts(field.data_type());
        has_json |= is_called_json(field) || has_json_within(field.data_type());
    }
    match is_large && !has_json {
        true => Field::new(name, of.clone(), true),
        false => field_of(name, of, true),
    }
}

fn has_large_texts(of: &DataType) -> bool {
    match of {
        DataType::LargeUtf8 => true,
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::FixedSizeList(field, _)
        | DataType::Map(field, _) => has_large_texts(field.data_type()),
        DataType::Struct(fields) => fields
            .iter()
            .any(|field| has_large_texts(field.data_type())),
        _ => false,
    }
}

/// The types that the arguments of a call are brought to, by what takes them with what stands for JSON. A text beside JSON may be JSON, too:
/// whether it is, its type does not say.
pub(super) fn taken(
    function: &str,
    types: &[DataType],
    takes: impl FnOnce(&[DataType]) -> Result<Vec<DataType>>,
) -> Result<Vec<DataType>> {
    if !types.iter().any(has_json_within) {
        return takes(types);
    }
    let known = types.iter().map(|of| match of.is_string() {
        true => STAND_IN,
        false => with_stand_ins(of),
    });
    let known: Vec<_> = known.collect();
    let taken = takes(&known)?;
    // A CAST would hide the constant that names a member.
    let is_kept = |of: &DataType| !of.is_string() || function == UNION_VALUE;
    let own = |at: usize| {
        let own = types.get(at).filter(|of| is_kept(of));
        own.filter(|_| known.get(at) == taken.get(at))
    };
    let brought = taken.iter().enumerate().map(|(at, of)| match own(at) {
        Some(own) => own.clone(),
        None => without_stand_ins(of),
    });
    Ok(brought.collect())
}

/// The arguments of a call as the library has them, which makes lists by types alone.
pub(super) fn without_json_within(mut args: ScalarFunctionArgs) -> Result<ScalarFunctionArgs> {
    let all = args.args.iter_mut().zip(&mut args.arg_fields);
    for (arg, field) in all.filter(|(_, field)| has_json_within(field.data_type())) {
        let to = without_json(field.data_type());
        let plain = match &*arg {
            ColumnarValue::Array(array) => {
                ColumnarValue::Array(relabelled(Arc::clone(array), &to)?)
            }
            ColumnarValue::Scalar(value) => {
                let one = relabelled(value.to_array()?, &to)?;
                ColumnarValue::Scalar(ScalarValue::try_from_array(&one, 0)?)
            }
        };
        *arg = plain;
        *field = Arc::new(field.as_ref().clone().with_data_type(to));
    }
    let to = without_json(args.return_field.data_type());
    args.return_field = Arc::new(args.return_field.as_ref().clone().with_data_type(to));
    Ok(args)
}

/// The same values as ones of a type that differs in what fields say alone.
pub(crate) fn relabelled(array: ArrayRef, to: &DataType) -> Result<ArrayRef> {
    if array.data_type() == to || ![array.data_type(), to].into_iter().any(has_json_within) {
        return Ok(array);
    }
    Ok(match to {
        DataType::List(item) if let Some(lists) = array.as_list_opt::<i32>() => {
            let values = relabelled(Arc::clone(lists.values()), item.data_type())?;
            let (offsets, nulls) = (lists.offsets().clone(), lists.nulls().cloned());
            Arc::new(ListArray::try_new(
                Arc::clone(item),
                offsets,
                values,
                nulls,
            )?)
        }
        DataType::Struct(fields) if let Some(of) = array.as_struct_opt() => {
            let columns = of.columns().iter().zip(fields);
            let columns =
                columns.map(|(column, field)| relabelled(Arc::clone(column), field.data_type()));
            let columns = columns.collect::<Result<Vec<_>>>()?;
            let nulls = of.nulls().cloned();
            Arc::new(StructArray::try_new_with_length(
                fields.clone(),
                columns,
                nulls,
                array.len(),
            )?)
        }
        DataType::Map(field, ordered) if let Some(map) = array.as_map_opt() => {
            let entries: ArrayRef = Arc::new(map.entries().clone());
            let entries = relabelled(entries, field.data_type())?;
            let entries = entries.as_struct().clone();
            let (offsets, nulls) = (map.offsets().clone(), map.nulls().cloned());
            Arc::new(MapArray::try_new(
                Arc::clone(field),
                offsets,
                entries,
                nulls,
                *ordered,
            )?)
        }
        _ => return Err(Error::internal("values of another type than a function gives").into()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use hushdb_sql::type_names::called_json;
    use hushdb_storage::is_json_item;

    fn list(item: DataType) -> DataType {
        DataType::List(Arc::new(Field::new_list_field(item, true)))
    }

    #[test]
    fn large_texts_of_files_are_no_json() {
        let large = Field::new("l", list(DataType::LargeUtf8), true);
        let given = given_field("f", large.data_type(), [&large]);
        assert_eq!(given.data_type(), large.data_type());
        let json = called_json(Field::new("j", DataType::Utf8View, true));
        let given = given_field("f", &list(stand_in(&json)), [&json]);
        let DataType::List(item) = given.data_type() else {
            panic!("a list");
        };
        assert!(is_json_item(item) && item.data_type() == &DataType::Utf8View);
    }
}
