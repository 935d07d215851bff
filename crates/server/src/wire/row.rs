//! Rows on the wire: each value as PostgreSQL writes its type, in text or in binary.

use super::back::ColumnHead;
use super::front::{Format, Formats};
use super::moments::{days_since_2000, micros_since_2000};
use super::oids;
use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, StringViewArray};
use arrow::compute::cast;
use arrow::datatypes::{
    DataType, Date32Type, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type,
    IntervalMonthDayNanoType, Time64MicrosecondType, TimestampMicrosecondType, UInt32Type,
};
use arrow::error::ArrowError;
use hushdb::{BIT, BitString, TIMETZ, TimeTz, one_type, postgres_text};
use std::io::Write;
use std::sync::Arc;

/// A batch whose columns have one Arrow type for each type of the wire, so that each is written in one way.
pub(crate) struct Rows {
    columns: Vec<ArrayRef>,
    rows: usize,
}

impl Rows {
    /// # Errors
    /// A value that does not fit its type on the wire.
    pub(crate) fn new(batch: &RecordBatch) -> Result<Self, ArrowError> {
        let columns = batch.columns().iter().map(one_type);
        Ok(Self {
            columns: columns.collect::<Result<_, _>>()?,
            rows: batch.num_rows(),
        })
    }

    /// The same with numbers of four bytes where the client was told of an OID.
    ///
    /// # Errors
    /// A number that is none.
    pub(crate) fn told(mut self, heads: &[ColumnHead]) -> Result<Self, ArrowError> {
        for (column, head) in self.columns.iter_mut().zip(heads) {
            if head.oid == oids::OID && column.data_type() == &DataType::Int64 {
                *column = cast(column, &DataType::UInt32)?;
            }
        }
        Ok(self)
    }

    /// The same with the texts of vectors, which have blanks between their numbers: `1 2` rather than `{1,2}`.
    ///
    /// # Errors
    /// None.
    pub(crate) fn with_vectors(
        mut self,
        heads: &[ColumnHead],
        formats: &Formats,
    ) -> Result<Self, ArrowError> {
        for (at, (column, head)) in self.columns.iter_mut().zip(heads).enumerate() {
            let is_list = matches!(column.data_type(), DataType::List(_));
            if head.oid != oids::INT2VECTOR || !is_list || formats.of(at) == Format::Binary {
                continue;
            }
            let texts = (0..self.rows).map(|row| match column.is_null(row) {
                true => Ok(None),
                false => postgres_text(column.as_ref(), row)
                    .map(|text| text.map(|text| text.trim_matches(['{', '}']).replace(',', " "))),
            });
            let texts = texts.collect::<Result<StringViewArray, _>>()?;
            *column = Arc::new(texts);
        }
        Ok(self)
    }

    pub(crate) fn len(&self) -> usize {
        self.rows
    }

    /// The body of a DataRow.
    ///
    /// # Errors
    /// A value that has no form on the wire.
    pub(crate) fn write(
        &self,
        row: usize,
        formats: &Formats,
        body: &mut Vec<u8>,
    ) -> Result<(), ArrowError> {
        body.extend((self.columns.len() as u16).to_be_bytes());
        for (at, column) in self.columns.iter().enumerate() {
            value(column.as_ref(), row, formats.of(at), body)?;
        }
        Ok(())
    }

    /// The text of a value; `None` for NULL.
    ///
    /// # Errors
    /// A value that has no text.
    pub(crate) fn text(&self, row: usize, column: usize) -> Result<Option<String>, ArrowError> {
        match self.columns.get(column) {
            Some(column) => postgres_text(column.as_ref(), row),
            None => Ok(None),
        }
    }
}

/// A length and a value; -1 for NULL.
fn value(
    column: &dyn Array,
    row: usize,
    format: Format,
    body: &mut Vec<u8>,
) -> Result<(), ArrowError> {
    if column.is_null(row) || column.data_type() == &DataType::Null {
        body.extend((-1_i32).to_be_bytes());
        return Ok(());
    }
    let at = body.len();
    body.extend([0; 4]);
    match format {
        Format::Text => text_into(column, row, body)?,
        Format::Binary => binary_into(column, row, body)?,
    }
    let length = i32::try_from(body.len() - at - 4)
        .map_err(|_| ArrowError::ComputeError("a value is too long for the wire".into()))?;
    if let Some(place) = body.get_mut(at..at + 4) {
        place.copy_from_slice(&length.to_be_bytes());
    }
    Ok(())
}

fn text_into(column: &dyn Array, row: usize, body: &mut Vec<u8>) -> Result<(), ArrowError> {
    match column.data_type() {
        DataType::Utf8View => body.extend(column.as_string_view().value(row).as_bytes()),
        DataType::Int32 => {
            let _ = write!(body, "{}", column.as_primitive::<Int32Type>().value(row));
        }
        DataType::Int64 => {
            let _ = write!(body, "{}", column.as_primitive::<Int64Type>().value(row));
        }
        _ => body.extend(postgres_text(column, row)?.unwrap_or_default().into_bytes()),
    }
    Ok(())
}

fn binary_into(column: &dyn Array, row: usize, body: &mut Vec<u8>) -> Result<(), ArrowError> {
    match column.data_type() {
        DataType::Boolean => body.push(u8::from(column.as_boolean().value(row))),
        DataType::Int16 => body.extend(column.as_primitive::<Int16Type>().value(row).to_be_bytes()),
        DataType::Int32 => body.extend(column.as_primitive::<Int32Type>().value(row).to_be_bytes()),
        DataType::Int64 => body.extend(column.as_primitive::<Int64Type>().value(row).to_be_bytes()),
        DataType::UInt32 => {
            body.extend(column.as_primitive::<UInt32Type>().value(row).to_be_bytes());
        }
        DataType::Float32 => {
            body.extend(
                column
                    .as_primitive::<Float32Type>()
                    .value(row)
                    .to_be_bytes(),
            );
        }
        DataType::Float64 => {
            body.extend(
                column
                    .as_primitive::<Float64Type>()
                    .value(row)
                    .to_be_bytes(),
            );
        }
        DataType::Utf8View => body.extend(column.as_string_view().value(row).as_bytes()),
        DataType::BinaryView => body.extend(column.as_binary_view().value(row)),
        of if *of == TIMETZ => {
            let bytes = column.as_fixed_size_binary().value(row);
            let wrong = || ArrowError::ComputeError("a TIME WITH TIME ZONE is none".into());
            let time = TimeTz::of_bytes(bytes).ok_or_else(wrong)?;
            body.extend(time.micros().to_be_bytes());
            // Seconds west of Greenwich.
            body.extend((-time.offset()).to_be_bytes());
        }
        of if *of == BIT => bits_into(column.as_binary::<i64>().value(row), body)?,
        DataType::FixedSizeBinary(_) => body.extend(column.as_fixed_size_binary().value(row)),
        DataType::Date32 => {
            let days = column.as_primitive::<Date32Type>().value(row);
            body.extend(days_since_2000(days).to_be_bytes());
        }
        DataType::Time64(_) => {
            body.extend(
                column
                    .as_primitive::<Time64MicrosecondType>()
                    .value(row)
                    .to_be_bytes(),
            );
        }
        DataType::Timestamp(..) => {
            let micros = column.as_primitive::<TimestampMicrosecondType>().value(row);
            body.extend(micros_since_2000(micros).to_be_bytes());
        }
        DataType::Interval(_) => {
            let value = column.as_primitive::<IntervalMonthDayNanoType>().value(row);
            body.extend((value.nanoseconds / 1_000).to_be_bytes());
            body.extend(value.days.to_be_bytes());
            body.extend(value.months.to_be_bytes());
        }
        DataType::List(_) => binary_list(column, row, body)?,
        _ => match oids::of(column.data_type()) {
            oids::NUMERIC => numeric(&postgres_text(column, row)?.unwrap_or_default(), body),
            _ => text_into(column, row, body)?,
        },
    }
    Ok(())
}

/// How many bits there are, and they, from the highest of the first byte on.
fn bits_into(bytes: &[u8], body: &mut Vec<u8>) -> Result<(), ArrowError> {
    let wrong = || ArrowError::ComputeError("a BIT is none".into());
    let bits = BitString::of_bytes(bytes).ok_or_else(wrong)?;
    let count = i32::try_from(bits.count());
    let long = |_| ArrowError::ComputeError("a value is too long for the wire".into());
    body.extend(count.map_err(long)?.to_be_bytes());
    let byte = |first: usize| (0..8).fold(0, |byte, at| byte << 1 | u8::from(bits.bit(first + at)));
    body.extend((0..bits.count()).step_by(8).map(byte));
    Ok(())
}

/// A one-dimensional array.
fn binary_list(column: &dyn Array, row: usize, body: &mut Vec<u8>) -> Result<(), ArrowError> {
    let items = one_type(&column.as_list::<i32>().value(row))?;
    if matches!(items.data_type(), DataType::List(_)) {
        return Err(ArrowError::NotYetImplemented(
            "arrays of arrays go over the wire as text only".into(),
        ));
    }
    let dimensions = i32::from(!items.is_empty());
    body.extend(dimensions.to_be_bytes());
    body.extend(i32::from(items.null_count() > 0).to_be_bytes());
    body.extend(oids::of(items.data_type()).to_be_bytes());
    if dimensions == 1 {
        body.extend((items.len() as i32).to_be_bytes());
        body.extend(1_i32.to_be_bytes());
    }
    (0..items.len()).try_for_each(|item| value(items.as_ref(), item, Format::Binary, body))
}

/// A number with a point, in digits to the base of 10,000.
fn numeric(text: &str, body: &mut Vec<u8>) {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let whole = whole.trim_start_matches('0');
    let padded = format!("{}{whole}", "0".repeat((4 - whole.len() % 4) % 4));
    let tail = format!("{fraction}{}", "0".repeat((4 - fraction.len() % 4) % 4));
    let groups = |text: &str| -> Vec<i16> {
        let groups = text.as_bytes().chunks(4);
        let number = |group: &[u8]| group.iter().fold(0, |n, d| n * 10 + i16::from(d & 15));
        groups.map(number).collect()
    };
    let mut weight = padded.len() as i16 / 4 - 1;
    let mut all = groups(&padded);
    all.extend(groups(&tail));
    let zeros = all.iter().take_while(|group| **group == 0).count();
    all.drain(..zeros);
    weight -= zeros as i16;
    while all.last() == Some(&0) {
        all.pop();
    }
    if all.is_empty() {
        weight = 0;
    }
    let sign: u16 = if negative && !all.is_empty() {
        0x4000
    } else {
        0
    };
    body.extend((all.len() as i16).to_be_bytes());
    body.extend(weight.to_be_bytes());
    body.extend(sign.to_be_bytes());
    body.extend((fraction.len() as u16).to_be_bytes());
    all.iter()
        .for_each(|group| body.extend(group.to_be_bytes()));
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{BooleanArray, Int32Array, ListArray};

    #[test]
    fn numbers_have_digits_to_the_base_of_10000() {
        let bytes = |text: &str| {
            let mut body = vec![];
            numeric(text, &mut body);
            let words = body.chunks(2).map(|c| i16::from_be_bytes([c[0], c[1]]));
            words.collect::<Vec<_>>()
        };
        assert_eq!(bytes("0"), [0, 0, 0, 0]);
        assert_eq!(bytes("12345.678"), [3, 1, 0, 3, 1, 2345, 6780]);
        assert_eq!(bytes("-0.0001"), [1, -1, 0x4000, 4, 1]);
        assert_eq!(bytes("10000"), [1, 1, 0, 0, 1]);
        assert_eq!(bytes("0.00"), [0, 0, 0, 2]);
    }

    #[test]
    fn a_row_has_a_length_for_each_value() {
        let columns: Vec<ArrayRef> = vec![
            Arc::new(BooleanArray::from(vec![true])),
            Arc::new(Int32Array::from(vec![None])),
            Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>([Some([
                Some(1),
                None,
            ])])),
        ];
        let rows = Rows { columns, rows: 1 };
        let mut body = vec![];
        rows.write(0, &Formats::default(), &mut body).unwrap();
        assert_eq!(body, b"\0\x03\0\0\0\x01t\xff\xff\xff\xff\0\0\0\x08{1,NULL}");
    }
}
