//! The type of a column whose values come from several queries, those of UNION, EXCEPT and INTERSECT: none of them is refused for its
//! type alone, as a value beside another is.
//!
//! What must hold: beside JSON all becomes JSON; text becomes what is written in its own way (lists, structs, bytes, UUIDs), and all
//! else becomes text beside it.

use super::json::{STAND_IN, field_of, stand_in, texts_in_views};
use super::nested::common_known;
use super::number_kind::is_huge;
use super::{For, numbers, temporal};
use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::logical_expr::binary::type_union_coercion;
use hushdb_sql::type_names::is_enum;
use hushdb_storage::{BIT, TIMETZ};

/// The field of such a column, from those of the queries; `None` where no type holds the values of all.
pub(crate) fn stacked(fields: &[&Field]) -> Option<Field> {
    let types = fields.iter().map(|field| {
        let in_views = texts_in_views(field.data_type());
        stand_in(&Field::clone(field).with_data_type(in_views))
    });
    let types: Vec<DataType> = types.filter(|of| !of.is_null()).collect();
    let others = types.iter().filter(|of| !is_text(of));
    let read_by = match types.iter().any(reads_text) {
        // What a text is read as, which is written in another way.
        true => others.cloned().collect(),
        false => types,
    };
    Some(field_of("", &common_known(&read_by, flat)?, true))
}

fn is_text(of: &DataType) -> bool {
    of.is_string() && *of != STAND_IN || is_enum(of)
}

/// Whether texts are read as values of a type where they stand beside it.
fn reads_text(of: &DataType) -> bool {
    of.is_binary() && *of != TIMETZ || of.is_nested() && !is_enum(of)
}

fn flat(types: &[DataType]) -> Option<DataType> {
    if types.iter().any(is_text) {
        return (!types.iter().any(reads_text)).then_some(DataType::Utf8View);
    }
    let is_boolean = |of: &DataType| *of == DataType::Boolean;
    let is_counted =
        |of: &DataType| is_boolean(of) || of.is_integer() || is_huge(of) || of.is_floating();
    if types.contains(&BIT) && types.iter().all(|of| *of == BIT || is_counted(of)) {
        return Some(BIT);
    }
    let is_time = |of: &DataType| matches!(of, DataType::Time64(_)) || *of == TIMETZ;
    if types.iter().all(is_time) {
        return types.first().cloned();
    }
    let is_number = |of: &DataType| is_boolean(of) || of.is_numeric();
    if types.iter().any(is_boolean) && types.iter().all(is_number) {
        let numbers = types.iter().filter(|of| !is_boolean(of)).cloned();
        return common_known(&numbers.collect::<Vec<_>>(), flat);
    }
    let items: Vec<_> = types.iter().map(|of| (None, of.clone())).collect();
    numbers::common_integer(&items)
        .or_else(|| numbers::common(items.into_iter(), For::Value))
        .or_else(|| temporal::common(types))
        .or_else(|| {
            let (first, others) = types.split_first()?;
            let mut others = others.iter();
            others.try_fold(first.clone(), |common, of| type_union_coercion(&common, of))
        })
}
