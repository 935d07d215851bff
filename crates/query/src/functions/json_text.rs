//! One value as JSON: what COPY writes and the shell prints.
//!
//! Numbers stay numbers, decimals with all their digits; lists and structs become arrays and objects; everything else is the
//! text that CAST gives. JSON has no infinities and no NaN: they are texts.

use super::unions::member_at;
use super::value_text;
use arrow::array::{Array, AsArray};
use arrow::datatypes::{DataType, Field};
use arrow::error::ArrowError;
use hushdb_sql::type_names::{enum_type, is_called_json};
use hushdb_storage::{UnionType, plain_item};

/// Text as a JSON string, in quotes (RFC 8259, section 7).
pub fn json_string(text: &str) -> String {
    let mut json = String::with_capacity(text.len() + 2);
    json.push('"');
    for c in text.chars() {
        match c {
            '"' => json.push_str("\\\""),
            '\\' => json.push_str("\\\\"),
            '\n' => json.push_str("\\n"),
            '\r' => json.push_str("\\r"),
            '\t' => json.push_str("\\t"),
            '\u{8}' => json.push_str("\\b"),
            '\u{c}' => json.push_str("\\f"),
            c if u32::from(c) < 0x20 => json.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => json.push(c),
        }
    }
    json.push('"');
    json
}

/// JSON without the blanks between its parts (RFC 8259, section 2).
pub fn without_blanks(json: &str) -> String {
    let (mut within, mut escaped) = (false, false);
    let is_kept = |c: &char| {
        let kept = within || !matches!(c, ' ' | '\t' | '\n' | '\r');
        match c {
            '"' if !escaped => within = !within,
            _ => {}
        }
        escaped = within && *c == '\\' && !escaped;
        kept
    };
    json.chars().filter(is_kept).collect()
}

/// The JSON of row `row` of `array`; `null` when it is NULL.
///
/// # Errors
/// A type that Arrow itself cannot show.
pub fn json_value(array: &dyn Array, row: usize) -> Result<String, ArrowError> {
    if array.is_null(row) {
        return Ok("null".to_owned());
    }
    match array.data_type() {
        DataType::List(item) => list(item, array.as_list::<i32>().value(row).as_ref()),
        DataType::LargeList(item) => list(item, array.as_list::<i64>().value(row).as_ref()),
        DataType::FixedSizeList(item, _) => {
            list(item, array.as_fixed_size_list().value(row).as_ref())
        }
        of if let Some(members) = UnionType::members_of(of) => {
            let found = member_at(members, array.as_struct(), row).into_iter();
            object(found.map(|(member, values)| {
                let value = json_of(member, values.as_ref(), row)?;
                Ok((member.name().clone(), value))
            }))
        }
        of @ DataType::Struct(fields) if enum_type(of).is_none() => {
            let columns = array.as_struct().columns();
            object(fields.iter().zip(columns).map(|(field, column)| {
                let value = json_of(field, column.as_ref(), row)?;
                Ok((field.name().clone(), value))
            }))
        }
        DataType::Map(_, _) => {
            let entries = array.as_map().value(row);
            let fields = entries.fields();
            object((0..entries.len()).map(|entry| {
                let key = value_text(entries.column(0).as_ref(), entry)?.unwrap_or_default();
                let of = entries.column(1).as_ref();
                let value = match fields.get(1) {
                    Some(field) => json_of(field, of, entry)?,
                    None => json_value(of, entry)?,
                };
                Ok((key, value))
            }))
        }
        data_type => {
            let Some(text) = value_text(array, row)? else {
                return Ok("null".to_owned());
            };
            let is_number =
                data_type.is_numeric() && text.ends_with(|last: char| last.is_ascii_digit());
            Ok(match is_number || data_type == &DataType::Boolean {
                true if text.starts_with(['.', '-']) => with_zero(text),
                true => text,
                false => json_string(&text),
            })
        }
    }
}

/// A value of a field as JSON: what is JSON stays what it is, but for blanks.
pub(super) fn json_of(field: &Field, array: &dyn Array, row: usize) -> Result<String, ArrowError> {
    match is_called_json(field) && array.is_valid(row) {
        true => Ok(without_blanks(&value_text(array, row)?.unwrap_or_default())),
        false => json_value(array, row),
    }
}

/// A number with a digit before its point.
pub(super) fn with_zero(text: String) -> String {
    match text.strip_prefix('.') {
        Some(digits) => format!("0.{digits}"),
        None => match text.strip_prefix("-.") {
            Some(digits) => format!("-0.{digits}"),
            None => text,
        },
    }
}

fn list(field: &Field, items: &dyn Array) -> Result<String, ArrowError> {
    let field = plain_item(field);
    let items = (0..items.len()).map(|item| json_of(&field, items, item));
    Ok(format!(
        "[{}]",
        items.collect::<Result<Vec<_>, _>>()?.join(",")
    ))
}

/// Names and their values.
fn object(
    members: impl Iterator<Item = Result<(String, String), ArrowError>>,
) -> Result<String, ArrowError> {
    let members = members.map(|member| {
        let (name, value) = member?;
        Ok(format!("{}:{value}", json_string(&name)))
    });
    Ok(format!(
        "{{{}}}",
        members.collect::<Result<Vec<_>, ArrowError>>()?.join(",")
    ))
}

#[cfg(test)]
mod tests {
    use arrow::array::{
        ArrayRef, Float64Array, Int64Array, ListArray, StringViewArray, StructArray,
    };
    use arrow::datatypes::{Field, Int64Type};
    use std::sync::Arc;

    use super::*;

    #[test]
    fn strings_are_escaped() {
        assert_eq!(json_string("a\"b\\c\n\u{1}ü"), "\"a\\\"b\\\\c\\n\\u0001ü\"");
    }

    #[test]
    fn blanks_within_strings_stay() {
        assert_eq!(
            without_blanks("{ \"a \\\" b\" :\n[1, \"\\\\\" , 2 ] }"),
            "{\"a \\\" b\":[1,\"\\\\\",2]}"
        );
    }

    #[test]
    fn values_are_json() {
        let list = ListArray::from_iter_primitive::<Int64Type, _, _>([Some(vec![Some(1), None])]);
        let text: ArrayRef = Arc::new(StringViewArray::from(vec!["x"]));
        let number: ArrayRef = Arc::new(Float64Array::from(vec![f64::INFINITY]));
        let row = StructArray::from(vec![
            (
                Arc::new(Field::new("l", list.data_type().clone(), true)),
                Arc::new(list) as ArrayRef,
            ),
            (Arc::new(Field::new("t", DataType::Utf8View, true)), text),
            (Arc::new(Field::new("n", DataType::Float64, true)), number),
        ]);
        let json = json_value(&row, 0).unwrap();
        assert_eq!(json, r#"{"l":[1,null],"t":"x","n":"inf"}"#);
        assert_eq!(
            json_value(&Int64Array::from(vec![None]), 0).unwrap(),
            "null"
        );
    }
}
