//! Values that the reader of JSON does not read as CAST does. Of numbers that a column has less digits for it cuts what is behind the point,
//! where a CAST rounds: whole numbers are read as they are written, decimals with more digits behind the point. Dates, times, points in
//! time without a zone and UUIDs are read as texts, too, and are what their format, or a CAST, makes of these.

use datafusion::arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, ListArray, MapArray, PrimitiveArray, RecordBatch,
    StringViewArray, StructArray,
};
use datafusion::arrow::compute::{CastOptions, cast_with_options};
use datafusion::arrow::datatypes::{
    DataType, Date32Type, FieldRef, Fields, Int8Type, Int16Type, Int32Type, Int64Type, Schema,
    SchemaRef, TimestampMicrosecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use datafusion::arrow::error::ArrowError;
use hushdb_query::functions::{MomentForm, MomentPlaces, cast_text};
use hushdb_sql::type_names::type_name;
use std::sync::Arc;

/// Digits behind the point that are read beyond those that are kept.
const MORE: u8 = 9;
const DIGITS: u8 = 38;

/// The columns as they are read.
pub(super) fn read_schema(schema: &Schema) -> SchemaRef {
    Arc::new(Schema::new(
        schema.fields().iter().map(read_field).collect::<Fields>(),
    ))
}

fn read_field(field: &FieldRef) -> FieldRef {
    let ty = read_type(field.data_type());
    Arc::new(field.as_ref().clone().with_data_type(ty))
}

fn read_type(ty: &DataType) -> DataType {
    match ty {
        of if of.is_integer() => DataType::Utf8View,
        DataType::Date32
        | DataType::Time64(_)
        | DataType::Timestamp(_, None)
        | DataType::FixedSizeBinary(16) => DataType::Utf8View,
        DataType::Decimal64(digits, scale) | DataType::Decimal128(digits, scale) => {
            let scale = scale + MORE.cast_signed();
            match *digits <= DIGITS - MORE {
                true => DataType::Decimal128(DIGITS, scale),
                false => DataType::Decimal256(2 * DIGITS, scale),
            }
        }
        DataType::List(item) => DataType::List(read_field(item)),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(read_field).collect()),
        DataType::Map(entry, sorted) => DataType::Map(read_field(entry), *sorted),
        other => other.clone(),
    }
}

/// A batch that was read, with the types of its columns, of which some have dates and points in time in a format.
///
/// # Errors
/// `CastError` for a number that its column has no room for, `JsonError` for a text that is none.
pub(super) fn rounded(
    batch: &RecordBatch,
    schema: &SchemaRef,
    forms: &MomentPlaces,
) -> Result<RecordBatch, ArrowError> {
    let columns = batch.columns().iter().zip(schema.fields());
    let columns = columns
        .map(|(column, field)| array(column, field.data_type(), forms.of_member(field.name())));
    RecordBatch::try_new(Arc::clone(schema), columns.collect::<Result<Vec<_>, _>>()?)
}

fn array(read: &ArrayRef, to: &DataType, forms: &MomentPlaces) -> Result<ArrayRef, ArrowError> {
    use DataType as T;
    if let MomentPlaces::Here(form) = forms {
        return moments(read.as_string_view(), to, form);
    }
    if read.data_type() == to {
        return Ok(Arc::clone(read));
    }
    Ok(match to {
        T::Int8 => whole::<Int8Type>(read.as_string_view())?,
        T::Int16 => whole::<Int16Type>(read.as_string_view())?,
        T::Int32 => whole::<Int32Type>(read.as_string_view())?,
        T::Int64 => whole::<Int64Type>(read.as_string_view())?,
        T::UInt8 => whole::<UInt8Type>(read.as_string_view())?,
        T::UInt16 => whole::<UInt16Type>(read.as_string_view())?,
        T::UInt32 => whole::<UInt32Type>(read.as_string_view())?,
        T::UInt64 => whole::<UInt64Type>(read.as_string_view())?,
        T::List(item) => {
            let lists = read.as_list::<i32>();
            let items = array(lists.values(), item.data_type(), forms.of_items())?;
            let (offsets, nulls) = (lists.offsets().clone(), lists.nulls().cloned());
            Arc::new(ListArray::try_new(Arc::clone(item), offsets, items, nulls)?)
        }
        T::Struct(fields) => Arc::new(structs(read.as_struct(), fields, forms)?),
        T::Map(entry, sorted) => {
            let maps = read.as_map();
            let (offsets, nulls) = (maps.offsets().clone(), maps.nulls().cloned());
            let entries = match entry.data_type() {
                T::Struct(fields) => entries(maps.entries(), fields, forms.of_values())?,
                _ => maps.entries().clone(),
            };
            let entry = Arc::clone(entry);
            Arc::new(MapArray::try_new(entry, offsets, entries, nulls, *sorted)?)
        }
        to if read.data_type().is_string() => cast_text(read, to).map_err(|_| unread(to))?,
        to => {
            let strict = CastOptions {
                safe: false,
                ..CastOptions::default()
            };
            cast_with_options(read, to, &strict).map_err(|_| too_large(to))?
        }
    })
}

/// It does not repeat the number.
fn too_large(to: &DataType) -> ArrowError {
    ArrowError::CastError(format!("a number does not fit {}", type_name(to)))
}

/// A text that is no value of a type.
fn unread(to: &DataType) -> ArrowError {
    ArrowError::JsonError(format!("failed to parse a text as {}", type_name(to)))
}

fn structs(
    read: &StructArray,
    fields: &Fields,
    forms: &MomentPlaces,
) -> Result<StructArray, ArrowError> {
    let columns = read.columns().iter().zip(fields);
    let columns = columns
        .map(|(column, field)| array(column, field.data_type(), forms.of_member(field.name())));
    let columns = columns.collect::<Result<Vec<_>, _>>()?;
    StructArray::try_new(fields.clone(), columns, read.nulls().cloned())
}

/// The entries of maps, whose values may have a format.
fn entries(
    read: &StructArray,
    fields: &Fields,
    forms: &MomentPlaces,
) -> Result<StructArray, ArrowError> {
    let forms = [&MomentPlaces::Nowhere, forms];
    let columns = read.columns().iter().zip(fields).zip(forms);
    let columns = columns.map(|((column, field), forms)| array(column, field.data_type(), forms));
    let columns = columns.collect::<Result<Vec<_>, _>>()?;
    StructArray::try_new(fields.clone(), columns, read.nulls().cloned())
}

/// Dates, or points in time, in a format.
fn moments(
    read: &StringViewArray,
    to: &DataType,
    form: &MomentForm,
) -> Result<ArrayRef, ArrowError> {
    fn all<T: ArrowPrimitiveType>(
        read: &StringViewArray,
        parse: impl Fn(&str) -> Option<T::Native>,
    ) -> Result<ArrayRef, ArrowError> {
        let values = read.iter().map(|text| {
            let value = text.map(|text| parse(text).ok_or_else(|| unread(&T::DATA_TYPE)));
            value.transpose()
        });
        let values: PrimitiveArray<T> = values.collect::<Result<_, _>>()?;
        Ok(Arc::new(values))
    }
    match to {
        DataType::Date32 => all::<Date32Type>(read, |text| form.day(text)),
        _ => all::<TimestampMicrosecondType>(read, |text| form.moment(text)),
    }
}

fn whole<T: ArrowPrimitiveType>(read: &StringViewArray) -> Result<ArrayRef, ArrowError>
where
    T::Native: TryFrom<i128>,
{
    let numbers = read.iter().map(|text| {
        let number = text.map(nearest::<T>);
        number.transpose()
    });
    let numbers: PrimitiveArray<T> = numbers.collect::<Result<_, _>>()?;
    Ok(Arc::new(numbers))
}

/// The whole number that is nearest, of two the even one, as DuckDB rounds a DOUBLE.
fn nearest<T: ArrowPrimitiveType>(text: &str) -> Result<T::Native, ArrowError>
where
    T::Native: TryFrom<i128>,
{
    let text = text.trim();
    let number = match text.parse::<i128>() {
        Ok(whole) => Some(whole),
        Err(_) => {
            let number = text.parse().ok().filter(|number: &f64| !number.is_nan());
            // What is beyond an i128 is the largest, which fits nothing.
            #[expect(clippy::cast_possible_truncation, reason = "it has no fraction")]
            number.map(|number| number.round_ties_even() as i128)
        }
    };
    let Some(number) = number else {
        return Err(unread(&T::DATA_TYPE));
    };
    T::Native::try_from(number).map_err(|_| too_large(&T::DATA_TYPE))
}
