//! Results as JSON files: an object a line, or all in one array.

use super::super::csv::{CsvForm, formed};
use datafusion::arrow::array::{Array, ArrayRef, RecordBatch};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::util::display::ArrayFormatter;
use hushdb_query::functions::{json_string, json_value, value_text, without_blanks};
use hushdb_sql::type_names::is_called_json;
use hushdb_sql::{Error, ErrorKind, Result};
use std::fmt::Write as _;
use std::io::Write;

/// A value in the form that was given for it; none of what no calendar has, such as the infinities.
fn written(form: Option<&ArrayFormatter<'_>>, column: &ArrayRef, row: usize) -> Option<String> {
    let mut text = String::new();
    let form = form.filter(|_| column.is_valid(row))?;
    write!(text, "{}", form.value(row)).ok().map(|()| text)
}

/// A file that rows are written to: an object a line, or all in one array.
pub(crate) struct JsonWriter<'a, W> {
    form: &'a CsvForm,
    /// Names of columns, in quotes, and whether their texts are JSON.
    columns: Vec<(String, bool)>,
    array: bool,
    rows: u64,
    out: W,
}

fn failed(error: std::io::Error) -> Error {
    Error::new(ErrorKind::Io, error.to_string())
}

impl<'a, W: Write> JsonWriter<'a, W> {
    /// Begins a file; of the form, that of dates and points in time is what counts.
    ///
    /// # Errors
    /// `Io`.
    pub(crate) fn begin(
        schema: &SchemaRef,
        mut out: W,
        form: &'a CsvForm,
        array: bool,
    ) -> Result<Self> {
        let columns = schema.fields().iter();
        let columns = columns.map(|f| (json_string(f.name()), is_called_json(f)));
        if array {
            out.write_all(b"[").map_err(failed)?;
        }
        Ok(Self {
            form,
            columns: columns.collect(),
            array,
            rows: 0,
            out,
        })
    }

    pub(crate) fn batch(&mut self, batch: &RecordBatch) -> Result<()> {
        let schema = batch.schema();
        let columns = batch.columns().iter().zip(schema.fields());
        let forms = columns.map(|(column, field)| formed(column, field, self.form));
        let forms = forms.collect::<Result<Vec<_>>>()?;
        for row in 0..batch.num_rows() {
            let (before, after) = match (self.array, self.rows) {
                (false, _) => ("", "\n"),
                (true, 0) => ("\n\t", ""),
                (true, _) => (",\n\t", ""),
            };
            let mut line = format!("{before}{{");
            let columns = self.columns.iter().zip(batch.columns()).zip(&forms);
            for (index, (((name, is_json), column), form)) in columns.enumerate() {
                let comma = if index == 0 { "" } else { "," };
                let value = match (written(form.as_ref(), column, row), is_json) {
                    (Some(text), _) => json_string(&text),
                    (None, true) => {
                        without_blanks(&value_text(column, row)?.unwrap_or("null".into()))
                    }
                    (None, false) => json_value(column.as_ref(), row)?,
                };
                line.push_str(&format!("{comma}{name}:{value}"));
            }
            line.push('}');
            line.push_str(after);
            self.out.write_all(line.as_bytes()).map_err(failed)?;
            self.rows += 1;
        }
        Ok(())
    }

    /// Where it writes to.
    pub(crate) fn out(&self) -> &W {
        &self.out
    }

    /// Ends the file, and gives it back.
    pub(crate) fn finish(mut self) -> Result<W> {
        if self.array {
            self.out.write_all(b"\n]\n").map_err(failed)?;
        }
        Ok(self.out)
    }
}
