//! One JSON array, an object a row.
//!
//! Numbers stay numbers, decimals with all their digits; nested values become arrays and objects; everything else is
//! the text that the other modes print. JSON has no infinities and no NaN: they are texts.

use std::io::Write;

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::{DataType, SchemaRef};

use super::Printer;
use crate::failure::Failure;
use hushdb::value_text;

pub(super) struct Json {
    schema: SchemaRef,
    rows: u64,
}

impl Json {
    pub(super) fn new(schema: SchemaRef) -> Self {
        Self { schema, rows: 0 }
    }
}

impl Printer for Json {
    fn batch(&mut self, batch: &RecordBatch, out: &mut dyn Write) -> Result<(), Failure> {
        for row in 0..batch.num_rows() {
            let mut members = Vec::with_capacity(batch.num_columns());
            for (field, column) in self.schema.fields().iter().zip(batch.columns()) {
                members.push(format!(
                    "{}:{}",
                    string(field.name()),
                    value(column.as_ref(), row)?
                ));
            }
            let lead = if self.rows == 0 { "[" } else { ",\n" };
            write!(out, "{lead}{{{}}}", members.join(","))?;
            self.rows += 1;
        }
        Ok(())
    }

    fn finish(&mut self, out: &mut dyn Write) -> Result<(), Failure> {
        writeln!(out, "{}", if self.rows == 0 { "[]" } else { "]" })?;
        Ok(())
    }
}

fn string(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn value(array: &dyn Array, row: usize) -> Result<String, Failure> {
    let Some(text) = value_text(array, row)? else {
        return Ok("null".to_owned());
    };
    let data_type = array.data_type();
    if data_type.is_numeric() {
        let is_json_number = text.ends_with(|last: char| last.is_ascii_digit());
        return Ok(if is_json_number { text } else { string(&text) });
    }
    match data_type {
        DataType::Boolean => Ok(text),
        DataType::List(_) => list(array.as_list::<i32>().value(row).as_ref()),
        DataType::LargeList(_) => list(array.as_list::<i64>().value(row).as_ref()),
        DataType::FixedSizeList(_, _) => list(array.as_fixed_size_list().value(row).as_ref()),
        DataType::Struct(fields) => {
            let mut members = Vec::with_capacity(fields.len());
            for (field, column) in fields.iter().zip(array.as_struct().columns()) {
                members.push(format!(
                    "{}:{}",
                    string(field.name()),
                    value(column.as_ref(), row)?
                ));
            }
            Ok(format!("{{{}}}", members.join(",")))
        }
        DataType::Map(_, _) => {
            let entries = array.as_map().value(row);
            let mut members = Vec::with_capacity(entries.len());
            for entry in 0..entries.len() {
                let key = value_text(entries.column(0).as_ref(), entry)?.unwrap_or_default();
                members.push(format!(
                    "{}:{}",
                    string(&key),
                    value(entries.column(1).as_ref(), entry)?
                ));
            }
            Ok(format!("{{{}}}", members.join(",")))
        }
        _ => Ok(string(&text)),
    }
}

fn list(items: &dyn Array) -> Result<String, Failure> {
    let parts: Result<Vec<String>, Failure> =
        (0..items.len()).map(|item| value(items, item)).collect();
    Ok(format!("[{}]", parts?.join(",")))
}
