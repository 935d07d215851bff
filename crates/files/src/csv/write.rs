//! Rows as a CSV file, as DuckDB writes it.
//!
//! What must hold: what is written reads back as it was: the empty text is in quotes where NULL is written as nothing, and so is
//! all that has a mark of the file in it.

use datafusion::arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use hushdb_query::functions::value_text;
use hushdb_sql::{Error, ErrorKind, Result, folded};
use std::fmt::Write as _;
use std::io::Write;

/// Which columns are in quotes, but for NULL.
#[derive(Clone)]
pub(crate) enum Quoted {
    AsNeeded,
    All,
    /// By their names.
    Some(Vec<String>),
}

/// The marks of a file, and the forms of its values.
pub(crate) struct CsvForm {
    pub(crate) header: bool,
    pub(crate) delimiter: u8,
    /// No quotes at all if there is none.
    pub(crate) quote: Option<u8>,
    pub(crate) escape: u8,
    pub(crate) null: String,
    pub(crate) quoted: Quoted,
    /// `strftime` formats.
    pub(crate) date: Option<String>,
    pub(crate) timestamp: Option<String>,
    /// Before the first row and behind the last, whose line then does not end.
    pub(crate) around: Option<(String, String)>,
}

/// A file that rows are written to.
pub(crate) struct CsvWriter<'a, W> {
    form: &'a CsvForm,
    forced: Vec<bool>,
    lines: Vec<u8>,
    has_rows: bool,
    out: W,
}

impl CsvForm {
    /// Begins a file with rows of a schema.
    ///
    /// # Errors
    /// `Io`, and `Binder` for a column in quotes that is not there.
    pub(crate) fn writer<W: Write>(&self, schema: &Schema, out: W) -> Result<CsvWriter<'_, W>> {
        let names: Vec<&str> = schema.fields().iter().map(|f| f.name().as_str()).collect();
        let forced = self.forced(&names)?;
        let mut lines = vec![];
        if let Some((before, _)) = &self.around {
            lines.extend_from_slice(before.as_bytes());
        }
        if self.header {
            for (at, (name, forced)) in names.iter().zip(&forced).enumerate() {
                self.begin(at, &mut lines);
                self.value(name, *forced, &mut lines);
            }
            lines.push(b'\n');
        }
        Ok(CsvWriter {
            form: self,
            forced,
            lines,
            has_rows: false,
            out,
        })
    }

    /// Which columns are in quotes, whatever their values are.
    fn forced(&self, names: &[&str]) -> Result<Vec<bool>> {
        Ok(match &self.quoted {
            Quoted::AsNeeded => vec![false; names.len()],
            Quoted::All => vec![true; names.len()],
            Quoted::Some(forced) => {
                let is_there = |name: &String| names.iter().any(|own| folded(own) == folded(name));
                if let Some(name) = forced.iter().find(|name| !is_there(name)) {
                    return Err(Error::binder(format!(
                        "\"force_quote\" expected to find {name}, but it was not found in the table"
                    )));
                }
                let is_forced = |own: &&str| forced.iter().any(|name| folded(own) == folded(name));
                names.iter().map(is_forced).collect()
            }
        })
    }

    fn begin(&self, at: usize, lines: &mut Vec<u8>) {
        if at > 0 {
            lines.push(self.delimiter);
        }
    }

    fn value(&self, text: &str, forced: bool, lines: &mut Vec<u8>) {
        let bytes = text.as_bytes();
        let Some(quote) = self.quote else {
            return lines.extend_from_slice(bytes);
        };
        let is_mark = |byte: &u8| {
            *byte == self.delimiter || *byte == quote || matches!(byte, b'\n' | b'\r' | b'#')
        };
        if !forced && text != self.null && !bytes.iter().any(is_mark) {
            return lines.extend_from_slice(bytes);
        }
        lines.push(quote);
        for byte in bytes {
            if *byte == quote || *byte == self.escape {
                lines.push(self.escape);
            }
            lines.push(*byte);
        }
        lines.push(quote);
    }
}

impl<W: Write> CsvWriter<'_, W> {
    pub(crate) fn batch(&mut self, batch: &RecordBatch) -> Result<()> {
        let (form, lines) = (self.form, &mut self.lines);
        let schema = batch.schema();
        let columns = batch.columns().iter().zip(schema.fields());
        let columns = columns.map(|(column, field)| Column::new(column, field, form));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let mut text = String::new();
        for row in 0..batch.num_rows() {
            if form.around.is_some() && self.has_rows {
                lines.push(b'\n');
            }
            self.has_rows = true;
            for (at, (column, forced)) in columns.iter().zip(&self.forced).enumerate() {
                form.begin(at, lines);
                match column.text(row, &mut text)? {
                    Some(text) => form.value(text, *forced, lines),
                    None => lines.extend_from_slice(form.null.as_bytes()),
                }
            }
            if form.around.is_none() {
                lines.push(b'\n');
            }
        }
        put(&mut self.out, lines)?;
        lines.clear();
        Ok(())
    }

    /// Where it writes to.
    pub(crate) fn out(&self) -> &W {
        &self.out
    }

    /// Ends the file, and gives it back.
    pub(crate) fn finish(mut self) -> Result<W> {
        if let Some((_, behind)) = &self.form.around {
            self.lines.extend_from_slice(behind.as_bytes());
        }
        put(&mut self.out, &self.lines)?;
        Ok(self.out)
    }
}

fn put(out: &mut impl Write, lines: &[u8]) -> Result<()> {
    out.write_all(lines)
        .map_err(|error| Error::new(ErrorKind::Io, error.to_string()))
}

/// A column, and what makes texts of its values.
struct Column<'a> {
    array: ArrayRef,
    /// Of dates and points in time that have a form of their own.
    formed: Option<ArrayFormatter<'a>>,
}

/// What makes texts of dates and points in time, where a form is given for them.
pub(crate) fn formed<'a>(
    array: &'a ArrayRef,
    field: &Field,
    form: &'a CsvForm,
) -> Result<Option<ArrayFormatter<'a>>> {
    let given = match field.data_type() {
        DataType::Date32 => form.date.as_deref(),
        DataType::Timestamp(..) => form.timestamp.as_deref(),
        _ => None,
    };
    let formed = given.map(|given| {
        let options = FormatOptions::new()
            .with_display_error(false)
            .with_date_format(Some(given))
            .with_timestamp_format(Some(given))
            .with_timestamp_tz_format(Some(given));
        ArrayFormatter::try_new(array.as_ref(), &options)
    });
    Ok(formed.transpose()?)
}

impl<'a> Column<'a> {
    fn new(array: &'a ArrayRef, field: &Field, form: &'a CsvForm) -> Result<Self> {
        Ok(Self {
            array: match array.data_type() {
                DataType::Utf8 => cast(array, &DataType::Utf8View)?,
                _ => array.clone(),
            },
            formed: formed(array, field, form)?,
        })
    }

    /// A row's text, which may be put into `room`.
    fn text<'b>(&'b self, row: usize, room: &'b mut String) -> Result<Option<&'b str>> {
        if self.array.is_null(row) {
            return Ok(None);
        }
        if let Some(formed) = &self.formed {
            room.clear();
            // What no calendar has, such as the infinities, has no form.
            if write!(room, "{}", formed.value(row)).is_ok() {
                return Ok(Some(room.as_str()));
            }
        }
        if self.array.data_type() == &DataType::Utf8View {
            return Ok(Some(self.array.as_string_view().value(row)));
        }
        match value_text(self.array.as_ref(), row)? {
            Some(text) => *room = text,
            None => return Ok(None),
        }
        Ok(Some(room.as_str()))
    }
}
