//! INSERT statements, and values as SQL has them.

use std::io::Write;

use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, Field, SchemaRef};

use super::{Printer, Style, texts};
use crate::failure::Failure;
use crate::quoted_names::quoted;

pub(super) struct Insert {
    /// The statement up to its first value.
    begin: String,
    plain: Vec<bool>,
}

impl Insert {
    pub(super) fn new(schema: &SchemaRef, style: &Style) -> Self {
        let fields = schema.fields().iter();
        let names = fields.clone().map(|field| quoted(field.name()));
        let names = names.collect::<Vec<_>>().join(",");
        // A word of SQL's own needs quotes, which `quoted` does not know.
        let table = match style.table.as_str() {
            "table" => "\"table\"".to_owned(),
            table => quoted(table),
        };
        Self {
            begin: format!("INSERT INTO {table}({names}) VALUES("),
            plain: fields.map(|field| is_plain(field)).collect(),
        }
    }
}

impl Printer for Insert {
    fn batch(&mut self, batch: &RecordBatch, out: &mut dyn Write) -> Result<(), Failure> {
        for row in 0..batch.num_rows() {
            let texts = texts(batch, row)?;
            let values = texts.iter().zip(&self.plain);
            let values = values.map(|(text, plain)| literal(text.as_deref(), *plain));
            let values = values.collect::<Vec<_>>().join(",");
            writeln!(out, "{}{values});", self.begin)?;
        }
        Ok(())
    }

    fn finish(&mut self, _out: &mut dyn Write) -> Result<(), Failure> {
        Ok(())
    }
}

/// Whether a column's values are literals without quotes: numbers and truth values.
pub(super) fn is_plain(field: &Field) -> bool {
    field.data_type().is_numeric() || *field.data_type() == DataType::Boolean
}

/// A value as a statement says it. What is no number, such as `nan`, is a text.
pub(super) fn literal(text: Option<&str>, is_plain: bool) -> String {
    match text {
        None => "NULL".to_owned(),
        Some(text) if is_plain && !matches!(text, "nan" | "inf" | "-inf") => text.to_owned(),
        Some(text) => format!("'{}'", text.replace('\'', "''")),
    }
}
