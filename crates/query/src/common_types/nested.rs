//! The common type of lists, arrays, structs and maps, found value by value within them.
//!
//! What must hold: no value loses a digit. Structs are matched by the names of their fields, in any case, and have the fields of
//! all; what `row(...)` made has no names, and is matched in order.

use super::json::{STAND_IN, has_json_within, with_stand_ins, without_stand_ins};
use super::{For, numbers, temporal};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Fields};
use datafusion::logical_expr::type_coercion::binary::comparison_coercion;
use hushdb_sql::type_names::{is_enum, is_row};
use hushdb_storage::{ArrayType, UnionType};
use std::sync::Arc;

/// The type that values of types which are not nested have in common, where these are not all one.
pub(super) type Flat = fn(&[DataType]) -> Option<DataType>;

/// The type that values of all types can be brought to; `None` where there is none.
pub(crate) fn common(types: &[DataType]) -> Option<DataType> {
    if !types.iter().any(has_json_within) {
        return common_known(types, common_flat);
    }
    let known: Vec<_> = types.iter().map(with_stand_ins).collect();
    common_known(&known, common_flat).map(|common| without_stand_ins(&common))
}

/// The same where something stands for JSON, which all else becomes beside it.
pub(super) fn common_known(types: &[DataType], flat: Flat) -> Option<DataType> {
    let mut known = types.iter().filter(|ty| **ty != DataType::Null);
    let Some(first) = known.next() else {
        return Some(DataType::Null);
    };
    let others: Vec<&DataType> = known.filter(|ty| *ty != first).collect();
    if others.is_empty() {
        return Some(first.clone());
    }
    let all = || std::iter::once(first).chain(others.iter().copied());
    if all().any(|ty| *ty == STAND_IN) {
        return Some(STAND_IN);
    }
    // What stands beside a UNION becomes one; of several it is the one that has most members.
    let most = all().map(count_members).max().filter(|most| *most > 0);
    if let Some(most) = most {
        return all().find(|ty| count_members(ty) == most).cloned();
    }
    if all().any(is_enum) {
        return flat(&all().cloned().collect::<Vec<_>>());
    }
    match first {
        DataType::Struct(_) => {
            let fields = all().map(|ty| match ty {
                DataType::Struct(fields) => Some(fields),
                _ => None,
            });
            common_struct(&fields.collect::<Option<Vec<_>>>()?, flat)
        }
        DataType::Map(..) => {
            let entries = all().map(entry_types).collect::<Option<Vec<_>>>()?;
            let common_of = |part: fn(&(&DataType, &DataType)) -> DataType| {
                common_known(&entries.iter().map(part).collect::<Vec<_>>(), flat)
            };
            let key = common_of(|(key, _)| (*key).clone())?;
            Some(map_of(&key, &common_of(|(_, value)| (*value).clone())?))
        }
        first if item_of(first).is_some() => {
            let items = all().map(|ty| Some(item_of(ty)?.data_type().clone()));
            let item = common_known(&items.collect::<Option<Vec<_>>>()?, flat)?;
            // A list beside an array becomes one, if it has as many values.
            let field = match all().filter_map(ArrayType::length_of).max() {
                Some(length) => ArrayType::field(item, length),
                None => Field::new_list_field(item, true),
            };
            Some(DataType::List(Arc::new(field)))
        }
        _ => flat(&all().cloned().collect::<Vec<_>>()),
    }
}

/// See `Flat`: of values of which each may stand where another does.
fn common_flat(types: &[DataType]) -> Option<DataType> {
    if types.iter().any(is_enum) {
        // Beside anything else it is a text.
        let is_flat = |ty: &DataType| is_enum(ty) || !ty.is_nested();
        return types.iter().all(is_flat).then_some(DataType::Utf8View);
    }
    let items: Vec<_> = types.iter().map(|ty| (None, ty.clone())).collect();
    numbers::common(items.iter().cloned(), For::Value)
        .or_else(|| numbers::integers_beside_booleans(&items))
        .or_else(|| temporal::common(types))
        .or_else(|| {
            let (first, others) = types.split_first()?;
            let mut others = others.iter();
            others.try_fold(first.clone(), |common, ty| comparison_coercion(&common, ty))
        })
}

/// How many members a UNION has, and 0 of all else.
fn count_members(of: &DataType) -> usize {
    UnionType::members_of(of).map_or(0, <[FieldRef]>::len)
}

/// The type of maps from one type to another.
pub(crate) fn map_of(key: &DataType, value: &DataType) -> DataType {
    let fields = vec![
        Field::new("key", key.clone(), false),
        Field::new("value", value.clone(), true),
    ];
    let entries = Field::new("entries", DataType::Struct(fields.into()), false);
    DataType::Map(Arc::new(entries), false)
}

/// The types of a map's keys and values.
pub(crate) fn entry_types(map: &DataType) -> Option<(&DataType, &DataType)> {
    entry_fields(map).map(|(key, value)| (key.data_type(), value.data_type()))
}

/// The fields of a map's keys and values.
pub(crate) fn entry_fields(map: &DataType) -> Option<(&FieldRef, &FieldRef)> {
    let DataType::Map(entries, _) = map else {
        return None;
    };
    match entries.data_type() {
        DataType::Struct(fields) => match fields.iter().as_slice() {
            [key, value] => Some((key, value)),
            _ => None,
        },
        _ => None,
    }
}

fn item_of(list: &DataType) -> Option<&FieldRef> {
    match list {
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
            Some(item)
        }
        _ => None,
    }
}

fn common_struct(structs: &[&Fields], flat: Flat) -> Option<DataType> {
    // Names come from the first that has any.
    let named = structs.iter().find(|fields| !is_row(fields));
    let mut fields: Vec<(String, Vec<DataType>)> = vec![];
    for field in named.or(structs.first())?.iter() {
        fields.push((field.name().clone(), vec![]));
    }
    for given in structs {
        if is_row(given) && given.len() != fields.len() {
            return None;
        }
        for (place, field) in given.iter().enumerate() {
            let of_name = |(name, _): &(String, _)| field.name().eq_ignore_ascii_case(name);
            let place = match is_row(given) {
                true => Some(place),
                false => fields.iter().position(of_name),
            };
            match place.and_then(|place| fields.get_mut(place)) {
                Some((_, types)) => types.push(field.data_type().clone()),
                None => fields.push((field.name().clone(), vec![field.data_type().clone()])),
            }
        }
    }
    let fields = fields.into_iter();
    let fields =
        fields.map(|(name, types)| Some(Field::new(name, common_known(&types, flat)?, true)));
    Some(DataType::Struct(fields.collect::<Option<Fields>>()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(item: DataType) -> DataType {
        DataType::List(Arc::new(Field::new_list_field(item, true)))
    }

    fn pairs(fields: &[(&str, DataType)]) -> DataType {
        let fields = fields.iter();
        DataType::Struct(
            fields
                .map(|(name, ty)| Field::new(*name, ty.clone(), true))
                .collect(),
        )
    }

    #[test]
    fn digits_stay() {
        let (whole, decimal) = (DataType::Int32, DataType::Decimal64(3, 2));
        let wide = DataType::Decimal64(12, 2);
        assert_eq!(
            common(&[list(whole.clone()), list(decimal.clone())]),
            Some(list(wide.clone()))
        );
        assert_eq!(
            common(&[
                list(list(DataType::Null)),
                list(list(decimal.clone())),
                list(list(whole.clone()))
            ]),
            Some(list(list(wide.clone())))
        );
        assert_eq!(
            common(&[pairs(&[("a", whole)]), pairs(&[("A", decimal)])]),
            Some(pairs(&[("a", wide)]))
        );
    }

    #[test]
    fn what_stands_beside_an_array_is_one() {
        let array = |item, length| DataType::List(Arc::new(ArrayType::field(item, length)));
        let (whole, decimal) = (DataType::Int32, DataType::Decimal64(3, 2));
        let wide = DataType::Decimal64(12, 2);
        assert_eq!(
            common(&[list(decimal.clone()), array(whole.clone(), 2)]),
            Some(array(wide, 2))
        );
        let two = array(array(whole.clone(), 2), 3);
        let one = array(list(DataType::Null), 1);
        assert_eq!(common(&[one, two.clone()]), Some(two));
        assert_eq!(common(&[array(whole.clone(), 2), whole]), None);
    }

    #[test]
    fn structs_have_the_fields_of_all() {
        let (a, b) = (("a", DataType::Int32), ("b", DataType::Utf8View));
        let both = pairs(&[a.clone(), b.clone()]);
        assert_eq!(
            common(&[
                pairs(std::slice::from_ref(&a)),
                pairs(std::slice::from_ref(&b))
            ]),
            Some(both.clone())
        );
        let row = pairs(&[("$1", DataType::Int32), ("$2", DataType::Utf8View)]);
        assert_eq!(common(&[row.clone(), both.clone()]), Some(both));
        assert_eq!(common(&[row, pairs(&[a])]), None);
        assert_eq!(common(&[list(DataType::Int32), DataType::Int32]), None);
    }
}
