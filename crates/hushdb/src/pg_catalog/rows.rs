//! Rows of a system table: its columns are said in a line of text, and its rows are given value by value.

use datafusion::arrow::array::{ArrayRef, RecordBatch, new_null_array};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use datafusion::common::ScalarValue;
use hushdb_sql::{Error, Result};
use std::collections::HashMap;
use std::sync::Arc;

/// What a field of a system table says of itself: the OID of the type that PostgreSQL's clients are told.
pub const POSTGRES_TYPE: &str = "postgres_type";

/// A value of a row.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Cell {
    Null,
    Bool(bool),
    Int(i64),
    Text(String),
    List(Vec<Cell>),
}

impl From<bool> for Cell {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<i64> for Cell {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<&str> for Cell {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}

impl From<String> for Cell {
    fn from(value: String) -> Self {
        Self::Text(value)
    }
}

impl<T: Into<Cell>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl<T: Into<Cell>> From<Vec<T>> for Cell {
    fn from(values: Vec<T>) -> Self {
        Self::List(values.into_iter().map(Into::into).collect())
    }
}

/// A row of values of different kinds.
macro_rules! row {
    ($($value:expr),* $(,)?) => { vec![$($crate::pg_catalog::rows::Cell::from($value)),*] };
}
pub(super) use row;

/// The type that a word in a line of columns stands for, and the OID that is told of it where the type alone does not say it.
fn type_of(word: &str) -> (DataType, Option<u32>) {
    if let Some(item) = word.strip_suffix("[]") {
        let item = Field::new("item", type_of(item).0, true);
        return (DataType::List(Arc::new(item)), None);
    }
    match word {
        "bool" => (DataType::Boolean, None),
        "int2" => (DataType::Int16, None),
        "int4" => (DataType::Int32, None),
        "int8" => (DataType::Int64, None),
        "float4" => (DataType::Float32, None),
        "float8" => (DataType::Float64, None),
        "oid" => (DataType::Int64, Some(26)),
        "char" => (DataType::Utf8View, Some(18)),
        "name" => (DataType::Utf8View, Some(19)),
        "int2vector" => (type_of("int2[]").0, Some(22)),
        "moment" => {
            let unit = TimeUnit::Microsecond;
            (DataType::Timestamp(unit, Some("UTC".into())), None)
        }
        _ => (DataType::Utf8View, None),
    }
}

/// The columns that a line says: `relname name, relpages int4`.
pub(super) fn schema(columns: &str) -> SchemaRef {
    let fields = columns.split(',').map(|column| {
        let (name, word) = column.trim().split_once(' ').unwrap_or((column, "text"));
        let (data_type, told) = type_of(word.trim());
        let field = Field::new(name, data_type, true);
        match told {
            None => field,
            Some(oid) => {
                let told = (POSTGRES_TYPE.to_owned(), oid.to_string());
                field.with_metadata(HashMap::from([told]))
            }
        }
    });
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

/// A value as one of its column's type.
///
/// # Errors
/// `Internal` for a value of another kind.
pub(super) fn scalar(cell: &Cell, ty: &DataType) -> Result<ScalarValue> {
    let value = match cell {
        Cell::Null => return Ok(ScalarValue::try_from(ty)?),
        Cell::Bool(value) => ScalarValue::Boolean(Some(*value)),
        Cell::Int(value) => ScalarValue::Int64(Some(*value)),
        Cell::Text(text) => ScalarValue::Utf8View(Some(text.clone())),
        Cell::List(items) => {
            let DataType::List(item) = ty else {
                return Err(Error::internal("a list in a column of single values"));
            };
            let items = items.iter().map(|value| scalar(value, item.data_type()));
            let items = items.collect::<Result<Vec<_>>>()?;
            let list = ScalarValue::new_list_nullable(&items, item.data_type());
            return Ok(ScalarValue::List(list));
        }
    };
    Ok(value.cast_to(ty)?)
}

/// Rows as one batch.
///
/// # Errors
/// `Internal` for a row that does not fit the columns.
pub(super) fn batch(schema: &SchemaRef, rows: &[Vec<Cell>]) -> Result<RecordBatch> {
    if rows.iter().any(|row| row.len() != schema.fields().len()) {
        return Err(Error::internal("a row of a system table lacks a value"));
    }
    let columns = schema.fields().iter().enumerate().map(|(at, field)| {
        let ty = field.data_type();
        if rows.is_empty() {
            return Ok(new_null_array(ty, 0));
        }
        let cells = rows.iter().filter_map(|row| row.get(at));
        let values = cells.map(|cell| scalar(cell, ty));
        let array: ArrayRef = ScalarValue::iter_to_array(values.collect::<Result<Vec<_>>>()?)?;
        Ok(array)
    });
    let columns = columns.collect::<Result<Vec<_>>>()?;
    Ok(RecordBatch::try_new(Arc::clone(schema), columns)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_the_types_that_their_line_says() {
        let schema = schema("oid oid, relname name, keys int2[], acl text[], ok bool");
        let rows = vec![
            row![16_384_i64, "t", vec![1_i64, 2], Cell::Null, true],
            row![
                1_i64,
                Cell::Null,
                Vec::<i64>::new(),
                vec!["a"],
                None::<bool>
            ],
        ];
        let batch = batch(&schema, &rows).unwrap();
        assert_eq!(batch.num_rows(), 2);
        let told = schema.field(0).metadata().get(POSTGRES_TYPE);
        assert_eq!(told.map(String::as_str), Some("26"));
        assert!(super::batch(&schema, &[row![1_i64]]).is_err());
    }
}
