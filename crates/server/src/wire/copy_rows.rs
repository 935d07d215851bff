//! Rows of COPY as batches that a table takes: lines of text or CSV are read into columns of text, which the engine reads as literals are.
//!
//! What must hold: an error names the column, never the value.

use super::copy_options::CopyOptions;
use super::copy_text::NotText;
use super::{copy_csv, copy_text, parameter};
use crate::sql_error::SqlError;
use arrow::array::{ArrayRef, BinaryViewBuilder, PrimitiveArray, RecordBatch, StringViewBuilder};
use arrow::datatypes::{
    DataType, Date32Type, Field, Schema, SchemaRef, Time64MicrosecondType, TimeUnit,
    TimestampMicrosecondType,
};
use hushdb::{Value, era_behind_day};
use std::sync::Arc;

/// Rows that are added at once.
const BATCH_ROWS: usize = 65_536;
/// Or fewer, of so many bytes.
const BATCH_BYTES: usize = 16 << 20;
/// Rows that have come and were not added yet.
pub(crate) struct Gathered {
    columns: Vec<Gathering>,
    names: Vec<String>,
    rows: usize,
    bytes: usize,
}

enum Gathering {
    /// Lists, which come as PostgreSQL writes them and are kept as the engine reads them.
    List(StringViewBuilder),
    /// Days or microseconds of a date or time that came in binary.
    Moments(Vec<Option<i64>>, DataType),
    Text(StringViewBuilder),
    /// Texts of dates and timestamps.
    Days(StringViewBuilder),
    Bytes(BinaryViewBuilder),
}

impl Gathered {
    pub(crate) fn new(schema: &SchemaRef) -> Self {
        let columns = schema.fields().iter().map(|field| match field.data_type() {
            DataType::List(_) => Gathering::List(StringViewBuilder::new()),
            DataType::Date32 | DataType::Timestamp(..) => Gathering::Days(StringViewBuilder::new()),
            DataType::BinaryView | DataType::Binary => Gathering::Bytes(BinaryViewBuilder::new()),
            _ => Gathering::Text(StringViewBuilder::new()),
        });
        Self {
            columns: columns.collect(),
            names: schema
                .fields()
                .iter()
                .map(|field| field.name().clone())
                .collect(),
            rows: 0,
            bytes: 0,
        }
    }

    /// Of rows in binary.
    ///
    /// # Errors
    /// 0A000 for a column of a type that is not there in binary.
    pub(crate) fn binary(schema: &SchemaRef) -> Result<Self, SqlError> {
        let mut gathered = Self::new(schema);
        for (column, field) in gathered.columns.iter_mut().zip(schema.fields()) {
            let ty = field.data_type();
            match ty {
                DataType::Date32
                | DataType::Time64(TimeUnit::Microsecond)
                | DataType::Timestamp(TimeUnit::Microsecond, _) => {
                    *column = Gathering::Moments(vec![], ty.clone());
                }
                DataType::List(item) if is_of_text(item.data_type()) => {}
                DataType::Interval(_) | DataType::List(_) | DataType::Struct(_) => {
                    let name = field.name();
                    return Err(SqlError::missing(&format!(
                        "COPY FROM in binary of the type of column \"{name}\""
                    )));
                }
                _ => {}
            }
        }
        Ok(gathered)
    }

    /// A row in binary.
    ///
    /// # Errors
    /// 22P03 for a value of another type than its column's.
    pub(crate) fn push_values(&mut self, values: Vec<Value>) -> Result<(), SqlError> {
        for ((column, value), name) in self.columns.iter_mut().zip(values).zip(&self.names) {
            self.bytes += 16;
            let wrong = || {
                let message = format!("incorrect binary data format in column \"{name}\"");
                SqlError::new("22P03", message)
            };
            match (column, value) {
                (Gathering::Moments(column, _), Value::Null) => column.push(None),
                (Gathering::Moments(column, _), Value::Date(days)) => {
                    column.push(Some(days.into()))
                }
                (
                    Gathering::Moments(column, _),
                    Value::Time(micros) | Value::Timestamp(micros) | Value::TimestampTz(micros),
                ) => column.push(Some(micros)),
                (Gathering::Bytes(column), Value::Null) => column.append_null(),
                (Gathering::Bytes(column), Value::Blob(bytes)) => {
                    self.bytes += bytes.len();
                    column.append_value(bytes);
                }
                (
                    Gathering::Text(column) | Gathering::Days(column) | Gathering::List(column),
                    value,
                ) => {
                    let text = literal(value).map_err(|()| wrong())?;
                    self.bytes += text.as_ref().map_or(0, String::len);
                    column.append_option(text);
                }
                _ => return Err(wrong()),
            }
        }
        self.rows += 1;
        Ok(())
    }

    pub(crate) fn push(&mut self, values: Vec<Option<String>>) -> Result<(), SqlError> {
        let bad = |message: &str| SqlError::new("22P04", message);
        if values.len() < self.columns.len() {
            let missing = self.names.get(values.len()).cloned().unwrap_or_default();
            return Err(bad(&format!("missing data for column \"{missing}\"")));
        }
        if values.len() > self.columns.len() {
            return Err(bad("extra data after last expected column"));
        }
        for ((column, value), name) in self.columns.iter_mut().zip(values).zip(&self.names) {
            self.bytes += 16 + value.as_ref().map_or(0, String::len);
            match (column, value) {
                (Gathering::Text(column), value) => column.append_option(value),
                (Gathering::Days(column), value) => {
                    let era = value.as_deref().and_then(era_behind_day);
                    column.append_option(era.or(value));
                }
                (Gathering::List(column), None) => column.append_null(),
                (Gathering::List(column), Some(text)) => {
                    let items = parameter::item_texts(&text);
                    let items = items.map_err(|(sqlstate, why)| {
                        SqlError::new(sqlstate, format!("{why}, in column \"{name}\""))
                    })?;
                    column.append_value(list(items));
                }
                // Rows in binary are pushed as values.
                (Gathering::Moments(column, _), _) => column.push(None),
                (Gathering::Bytes(column), None) => column.append_null(),
                (Gathering::Bytes(column), Some(text)) => {
                    let bytes = hushdb::postgres_bytes(&text);
                    let wrong = || {
                        let message =
                            format!("invalid input syntax for type bytea in column \"{name}\"");
                        SqlError::new("22P02", message)
                    };
                    column.append_value(bytes.ok_or_else(wrong)?);
                }
            }
        }
        self.rows += 1;
        Ok(())
    }

    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    pub(crate) fn is_full(&self) -> bool {
        self.rows >= BATCH_ROWS || self.bytes >= BATCH_BYTES
    }

    pub(crate) fn take(&mut self) -> Result<RecordBatch, SqlError> {
        (self.rows, self.bytes) = (0, 0);
        let arrays = self.columns.iter_mut().map(|column| -> ArrayRef {
            match column {
                Gathering::Text(column) | Gathering::Days(column) | Gathering::List(column) => {
                    Arc::new(column.finish())
                }
                Gathering::Bytes(column) => Arc::new(column.finish()),
                Gathering::Moments(column, ty) => of_moments(std::mem::take(column), ty),
            }
        });
        let arrays: Vec<ArrayRef> = arrays.collect();
        let fields = self.names.iter().zip(&arrays).enumerate();
        // The names of the table's columns may differ in case alone, which those of a batch may not.
        let fields = fields
            .map(|(at, (_, array))| Field::new(format!("c{at}"), array.data_type().clone(), true));
        let schema = Schema::new(fields.collect::<Vec<_>>());
        Ok(RecordBatch::try_new(Arc::new(schema), arrays)?)
    }
}

/// Days or microseconds as the type that they are of.
fn of_moments(values: Vec<Option<i64>>, ty: &DataType) -> ArrayRef {
    match ty {
        DataType::Date32 => {
            let days = values.into_iter();
            let days = days.map(|days| days.and_then(|days| i32::try_from(days).ok()));
            Arc::new(days.collect::<PrimitiveArray<Date32Type>>())
        }
        DataType::Time64(_) => Arc::new(
            values
                .into_iter()
                .collect::<PrimitiveArray<Time64MicrosecondType>>(),
        ),
        _ => {
            let values = values.into_iter();
            let values = values.collect::<PrimitiveArray<TimestampMicrosecondType>>();
            Arc::new(values.with_data_type(ty.clone()))
        }
    }
}

/// Whether a value of a type is read from a text that `literal` writes.
fn is_of_text(ty: &DataType) -> bool {
    ty.is_numeric()
        || matches!(
            ty,
            DataType::Boolean
                | DataType::Utf8View
                | DataType::FixedSizeBinary(_)
                | DataType::LargeBinary
        )
}

/// A list as the engine reads it from text: each item in quotes, in which quotes and backslashes have a backslash before them.
fn list(items: Vec<Option<String>>) -> String {
    let items = items.into_iter().map(|item| match item {
        None => "NULL".to_owned(),
        Some(text) => format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'")),
    });
    format!("[{}]", items.collect::<Vec<_>>().join(", "))
}

/// A value as the text of a literal; `None` for NULL.
fn literal(value: Value) -> Result<Option<String>, ()> {
    Ok(Some(match value {
        Value::Null => return Ok(None),
        Value::Boolean(value) => value.to_string(),
        Value::Integer(value) => value.to_string(),
        Value::Double(value) if value.is_nan() => "NaN".into(),
        Value::Double(value) if value.is_infinite() && value > 0.0 => "Infinity".into(),
        Value::Double(value) if value.is_infinite() => "-Infinity".into(),
        Value::Double(value) => format!("{value:?}"),
        Value::Decimal(text) | Value::Text(text) | Value::Bit(text) => text,
        Value::TimeTz(time) => time.to_string(),
        Value::Uuid(bytes) => {
            let digits = hex::encode(bytes);
            let part = |range: std::ops::Range<usize>| digits.get(range).unwrap_or_default();
            [
                part(0..8),
                part(8..12),
                part(12..16),
                part(16..20),
                part(20..32),
            ]
            .join("-")
        }
        Value::List(items) => {
            let items = items.into_iter().map(literal);
            list(items.collect::<Result<_, ()>>()?)
        }
        _ => return Err(()),
    }))
}

/// How far a COPY has come.
#[derive(Default)]
pub(crate) struct Copied {
    /// The line that was read last, from 1.
    pub(crate) line: u64,
    ended: bool,
}

impl Copied {
    /// Reads a line.
    ///
    /// # Errors
    /// 22021 and 22P04.
    pub(crate) fn line(
        &mut self,
        line: &[u8],
        options: &CopyOptions,
        rows: &mut Gathered,
    ) -> Result<(), SqlError> {
        if self.ended {
            return Ok(());
        }
        self.line += 1;
        if line == b"\\." {
            self.ended = true;
            return Ok(());
        }
        if self.line == 1 && options.header {
            return Ok(());
        }
        let values = match options.csv {
            true => copy_csv::values(line, options),
            false => copy_text::values(line, options),
        };
        let values = values.map_err(|NotText| {
            SqlError::new("22021", "a value is no UTF-8 text, or a quote has no end")
        })?;
        rows.push(values)
    }
}
