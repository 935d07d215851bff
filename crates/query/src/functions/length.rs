//! `len(x)` and `length(x)`: characters of a text, bytes of a BLOB, values of a list.

use super::bit_strings::bits_in;
use super::room::Room;
use super::whole::{Call, Whole, item, list_of, registered};
use datafusion::arrow::array::{Array, ArrayRef, AsArray, Int64Array, StringViewArray};
use datafusion::arrow::datatypes::{DataType, Int64Type};
use datafusion::common::{Result, internal_err};
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::logical_expr::ScalarUDF;
use hushdb_sql::{Error, NO_COUNT};
use hushdb_storage::BIT;
use std::sync::Arc;

pub(super) fn all(memory: &Arc<dyn MemoryPool>) -> Vec<Arc<ScalarUDF>> {
    let functions: [Whole; 3] = [
        // As many values of some as NULL says.
        (
            &[NO_COUNT],
            |types| Some(types.to_vec()).filter(|types| types.len() == 1),
            |types, _| types.first().cloned(),
            |call, _| {
                let [lists] = call.take()?;
                match lists.logical_null_count() == lists.len() {
                    true => Ok(Arc::clone(lists)),
                    false => {
                        let what = "Invalid input for arg_min/arg_max: n value cannot be NULL";
                        Err(Error::invalid(what).into())
                    }
                }
            },
        ),
        (
            &[
                "len",
                "length",
                "list_length",
                "char_length",
                "character_length",
            ],
            |types| Some(vec![counted(types.first()?)?]).filter(|_| types.len() == 1),
            |_, _| Some(DataType::Int64),
            length,
        ),
        (
            &["array_length"],
            |types| match types {
                [of] => Some(vec![counted(of)?]),
                [of, depth] if depth.is_integer() || depth.is_null() => {
                    Some(vec![list_of(item(of)?), DataType::Int64])
                }
                _ => None,
            },
            |_, _| Some(DataType::Int64),
            length,
        ),
    ];
    registered(functions, memory)
}

fn counted(of: &DataType) -> Option<DataType> {
    let text = match of {
        DataType::Dictionary(_, text) => text,
        of => of,
    };
    match text {
        text if text.is_string() || text.is_null() => Some(DataType::Utf8View),
        of if *of == BIT => Some(BIT),
        DataType::Binary | DataType::BinaryView => Some(DataType::BinaryView),
        _ => item(of).map(list_of),
    }
}

fn length(call: &Call<'_>, _: &mut Room) -> Result<ArrayRef> {
    let Some((of, depth)) = call.columns().split_first() else {
        return internal_err!("a length is one of something");
    };
    let lengths: Int64Array = match of.data_type() {
        DataType::List(_) => {
            let list = of.as_list::<i32>();
            let lengths = list.offsets().lengths().map(|len| len as i64);
            Int64Array::new(lengths.collect(), list.nulls().cloned())
        }
        of_bits if *of_bits == BIT => {
            let count = |bytes: &[u8]| -> Result<i64> { Ok(bits_in(bytes)?.count() as i64) };
            let counts = of.as_binary::<i64>().iter();
            let counts = counts.map(|bytes| bytes.map(count).transpose());
            counts.collect::<Result<_>>()?
        }
        DataType::BinaryView => {
            let bytes = of.as_binary_view().iter();
            bytes
                .map(|bytes| bytes.map(|bytes| bytes.len() as i64))
                .collect()
        }
        _ => letters(of.as_string_view()),
    };
    let Some(depth) = depth.first() else {
        return Ok(Arc::new(lengths));
    };
    let pairs = lengths.iter().zip(depth.as_primitive::<Int64Type>());
    let known = pairs.map(|(length, depth)| match depth {
        Some(1) => Ok(length),
        None => Ok(None),
        Some(_) => Err(Error::unsupported("array_length of another dimension than 1").into()),
    });
    Ok(Arc::new(known.collect::<Result<Int64Array>>()?))
}

/// How many letters each text has.
fn letters(texts: &StringViewArray) -> Int64Array {
    match texts.is_ascii() {
        // What a view begins with is the number of bytes.
        true => {
            let lengths = texts.views().iter().map(|view| i64::from(*view as u32));
            Int64Array::new(lengths.collect(), texts.nulls().cloned())
        }
        false => {
            let texts = texts.iter();
            texts
                .map(|text| text.map(|text| text.chars().count() as i64))
                .collect()
        }
    }
}
