//! ENUMs: their values as text and back, what `enum_range` and its kind say of them, and functions of texts that are given some.
//!
//! What must hold: an ENUM beside anything but itself is the text of its value, as in DuckDB; by itself it compares by the place in its list.

use super::value_text;
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, ListArray, MapArray, PrimitiveArray, StringViewArray,
    StringViewBuilder, StructArray,
};
use datafusion::arrow::buffer::{NullBuffer, OffsetBuffer};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, UInt8Type, UInt16Type};
use datafusion::common::{Result, ScalarValue, exec_err};
use datafusion::logical_expr::type_coercion::functions::fields_with_udf;
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility,
};
use hushdb_sql::type_names::enum_type;
use hushdb_sql::{Error, ErrorKind};
use hushdb_storage::{ArrayType, BIT, ColumnType, EnumType, TIMETZ, UnionType, plain_item};
use std::collections::HashMap;
use std::sync::Arc;

/// The text of a value of an ENUM; `None` for a code that stands for none.
pub(crate) fn label(array: &StructArray, of: &EnumType, row: usize) -> Option<String> {
    let codes = array.columns().first()?;
    let code = match codes.data_type() {
        DataType::UInt8 => usize::from(codes.as_primitive::<UInt8Type>().value(row)),
        DataType::UInt16 => usize::from(codes.as_primitive::<UInt16Type>().value(row)),
        _ => return None,
    };
    of.values().get(code).cloned()
}

/// The codes of an ENUM's values, NULL where these are.
pub(crate) fn codes(array: &ArrayRef) -> Result<ArrayRef> {
    let values = array.as_struct();
    let Some(codes) = values.columns().first() else {
        return exec_err!("an ENUM has codes");
    };
    let nulls = NullBuffer::union(values.nulls(), codes.nulls());
    let codes = codes.to_data().into_builder().nulls(nulls).build()?;
    Ok(datafusion::arrow::array::make_array(codes))
}

/// Values of an ENUM as texts.
pub(crate) fn texts_of(array: &dyn Array) -> Result<StringViewArray> {
    let mut out = StringViewBuilder::with_capacity(array.len());
    for row in 0..array.len() {
        out.append_option(value_text(array, row)?);
    }
    Ok(out.finish())
}

/// A type with texts in the places of ENUMs, BITs and times with a zone, and lists in those of arrays, also within other values: for files that have none.
fn type_without_enums(of: &DataType) -> DataType {
    match of {
        of if enum_type(of).is_some() || *of == TIMETZ || *of == BIT => DataType::Utf8View,
        DataType::List(item) => {
            let item = field_without_enums(&Arc::new(plain_item(item)));
            match ArrayType::length_of(of) {
                Some(_) => {
                    let name = Field::LIST_FIELD_DEFAULT_NAME;
                    DataType::List(Arc::new(item.as_ref().clone().with_name(name)))
                }
                None => DataType::List(item),
            }
        }
        DataType::Map(entries, ordered) => DataType::Map(field_without_enums(entries), *ordered),
        DataType::Struct(fields) => {
            let mut fields: Vec<_> = fields.iter().map(field_without_enums).collect();
            if let (Some(_), Some(tag)) = (UnionType::members_of(of), fields.first_mut()) {
                *tag = Arc::new(tag.as_ref().clone().with_name(""));
            }
            DataType::Struct(fields.into())
        }
        of => of.clone(),
    }
}

/// A field of such a type.
pub fn field_without_enums(field: &FieldRef) -> FieldRef {
    let plain = type_without_enums(field.data_type());
    Arc::new(field.as_ref().clone().with_data_type(plain))
}

/// The values, with texts in the place of ENUMs and lists in that of arrays.
///
/// # Errors
/// For a value of an ENUM that is none of its list.
pub fn without_enums(array: &ArrayRef) -> Result<ArrayRef> {
    if array.data_type() == &type_without_enums(array.data_type()) {
        return Ok(Arc::clone(array));
    }
    match array.data_type() {
        DataType::List(_) => {
            let DataType::List(item) = type_without_enums(array.data_type()) else {
                return exec_err!("a list is one without ENUMs, too");
            };
            let (_, offsets, values, nulls) = array.as_list::<i32>().clone().into_parts();
            let list = ListArray::try_new(item, offsets, without_enums(&values)?, nulls)?;
            Ok(Arc::new(list))
        }
        DataType::Map(entries, _) => {
            let (_, offsets, values, nulls, ordered) = array.as_map().clone().into_parts();
            let values = without_enums(&(Arc::new(values) as ArrayRef))?;
            let (field, values) = (field_without_enums(entries), values.as_struct().clone());
            let map = MapArray::try_new(field, offsets, values, nulls, ordered)?;
            Ok(Arc::new(map))
        }
        of @ DataType::Struct(_) if enum_type(of).is_none() => {
            let columns = array.as_struct().columns().iter().map(without_enums);
            let columns = columns.collect::<Result<Vec<_>>>()?;
            let DataType::Struct(fields) = type_without_enums(of) else {
                return exec_err!("a struct is one without ENUMs, too");
            };
            let nulls = array.nulls().cloned();
            Ok(Arc::new(StructArray::try_new(fields, columns, nulls)?))
        }
        _ => Ok(Arc::new(texts_of(array.as_ref())?)),
    }
}

/// Texts as values of an ENUM.
///
/// # Errors
/// `Conversion` for a text that is none of them, unless that is to be NULL.
pub(crate) fn from_texts(
    texts: &StringViewArray,
    to: &EnumType,
    lenient: bool,
) -> Result<ArrayRef> {
    let places = to.values().iter().map(String::as_str).zip(0_u16..);
    let places: HashMap<&str, u16> = places.collect();
    let codes = texts.iter().map(|text| {
        let Some(text) = text else {
            return Ok(None);
        };
        match places.get(text) {
            Some(code) => Ok(Some(*code)),
            None if lenient => Ok(None),
            None => Err(Error::new(
                ErrorKind::Conversion,
                "Could not convert string to ENUM: it is none of its values",
            )),
        }
    });
    let codes = codes.collect::<std::result::Result<Vec<_>, _>>()?;
    let codes: ArrayRef = Arc::new(PrimitiveArray::<UInt16Type>::from(codes));
    let DataType::Struct(fields) = ColumnType::Enum(to.clone()).arrow() else {
        return exec_err!("an ENUM has codes");
    };
    let codes = match fields.first() {
        Some(field) => cast(&codes, field.data_type())?,
        None => codes,
    };
    let nulls = codes.nulls().cloned();
    Ok(Arc::new(StructArray::try_new(fields, vec![codes], nulls)?))
}

/// What is said of an ENUM.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Said {
    First,
    Last,
    Range,
    Boundary,
    Code,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct OfEnum {
    said: Said,
    signature: Signature,
}

/// `enum_first`, `enum_last`, `enum_range`, `enum_range_boundary` and `enum_code`.
pub(super) fn all() -> Vec<Arc<ScalarUDF>> {
    let of = |said, count| {
        let signature = Signature::any(count, Volatility::Immutable);
        Arc::new(ScalarUDF::from(OfEnum { said, signature }))
    };
    vec![
        of(Said::First, 1),
        of(Said::Last, 1),
        of(Said::Range, 1),
        of(Said::Boundary, 2),
        of(Said::Code, 1),
    ]
}

impl OfEnum {
    /// The ENUM of the arguments, of which one may be an untyped NULL.
    fn of<'a>(types: impl Iterator<Item = &'a DataType>) -> Result<EnumType> {
        let mut found: Option<EnumType> = None;
        for ty in types.filter(|ty| !ty.is_null()) {
            match (enum_type(ty), &found) {
                (Some(one), None) => found = Some(one),
                (Some(one), Some(known)) if one == *known => {}
                (Some(_), Some(_)) => {
                    return Err(Error::binder(
                        "The parameters need to link to ONLY one enum OR be NULL",
                    )
                    .into());
                }
                (None, _) => {
                    return Err(Error::binder("This function needs an ENUM as an argument").into());
                }
            }
        }
        found.ok_or_else(|| Error::binder("This function needs an ENUM as an argument").into())
    }
}

fn list_of(texts: &[&[String]]) -> Result<ArrayRef> {
    let values = texts.iter().copied().flatten().map(String::as_str);
    let values = StringViewArray::from_iter_values(values);
    let item = Arc::new(Field::new_list_field(DataType::Utf8View, true));
    let offsets = OffsetBuffer::from_lengths(texts.iter().map(|texts| texts.len()));
    let list = ListArray::try_new(item, offsets, Arc::new(values), None)?;
    Ok(Arc::new(list))
}

/// The values from one to another, both with them; NULL is an end.
fn between(of: &EnumType, from: &ArrayRef, to: &ArrayRef, rows: usize) -> Result<ArrayRef> {
    let place = |array: &ArrayRef, row: usize| -> Result<Option<usize>> {
        let text = match array.data_type().is_null() {
            true => None,
            false => value_text(array.as_ref(), row)?,
        };
        Ok(text.and_then(|text| of.code(&text)))
    };
    let mut ranges = Vec::with_capacity(rows);
    for row in 0..rows {
        let from = place(from, row)?.unwrap_or(0);
        let to = place(to, row)?.map_or(of.values().len(), |to| to + 1);
        ranges.push(of.values().get(from..to).unwrap_or_default());
    }
    list_of(&ranges)
}

impl ScalarUDFImpl for OfEnum {
    fn name(&self) -> &str {
        match self.said {
            Said::First => "enum_first",
            Said::Last => "enum_last",
            Said::Range => "enum_range",
            Said::Boundary => "enum_range_boundary",
            Said::Code => "enum_code",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        let of = Self::of(types.iter())?;
        let item = Field::new_list_field(DataType::Utf8View, true);
        Ok(match self.said {
            Said::First | Said::Last => DataType::Utf8View,
            Said::Range | Said::Boundary => DataType::List(Arc::new(item)),
            Said::Code => match of.parts() {
                [(_, code)] => code.arrow(),
                _ => DataType::UInt16,
            },
        })
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let of = Self::of(args.arg_fields.iter().map(|field| field.data_type()))?;
        let text =
            |text: Option<&String>| Ok(ColumnarValue::Scalar(ScalarValue::Utf8View(text.cloned())));
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        match (self.said, arrays.as_slice()) {
            (Said::First, _) => text(of.values().first()),
            (Said::Last, _) => text(of.values().last()),
            (Said::Range, _) => {
                let list = list_of(&[of.values()])?;
                Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(
                    &list, 0,
                )?))
            }
            (Said::Code, [values]) => Ok(ColumnarValue::Array(codes(values)?)),
            (Said::Boundary, [from, to]) => {
                Ok(ColumnarValue::Array(between(&of, from, to, from.len())?))
            }
            _ => exec_err!("{} is called with other arguments", self.name()),
        }
    }
}

/// A function that takes no ENUM: it is given the texts of their values.
#[derive(Debug, PartialEq, Eq, Hash)]
struct OfTexts {
    function: Arc<ScalarUDF>,
    signature: Signature,
}

/// The function that takes values of ENUMs as their texts.
pub fn of_texts(function: Arc<ScalarUDF>) -> Arc<ScalarUDF> {
    let signature = Signature::user_defined(function.signature().volatility);
    Arc::new(ScalarUDF::from(OfTexts {
        function,
        signature,
    }))
}

fn as_text(ty: &DataType) -> DataType {
    match enum_type(ty) {
        Some(_) => DataType::Utf8View,
        None => ty.clone(),
    }
}

fn text_fields(fields: &[FieldRef]) -> Vec<FieldRef> {
    let fields = fields.iter();
    let fields =
        fields.map(|f| Arc::new(f.as_ref().clone().with_data_type(as_text(f.data_type()))));
    fields.collect()
}

impl ScalarUDFImpl for OfTexts {
    fn name(&self) -> &str {
        self.function.name()
    }

    fn aliases(&self) -> &[String] {
        self.function.aliases()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let field = |ty: &DataType| Arc::new(Field::new("", as_text(ty), true));
        let fields: Vec<FieldRef> = types.iter().map(field).collect();
        let coerced = fields_with_udf(&fields, self.function.as_ref())?;
        let coerced = coerced
            .iter()
            .zip(types)
            .map(|(to, from)| match enum_type(from) {
                Some(_) => from.clone(),
                None => to.data_type().clone(),
            });
        Ok(coerced.collect())
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        let types: Vec<DataType> = types.iter().map(as_text).collect();
        self.function.return_type(&types)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let arg_fields = text_fields(args.arg_fields);
        let arg_fields = fields_with_udf(&arg_fields, self.function.as_ref())?;
        // A constant of an ENUM is none that a function of texts knows.
        let scalar_arguments: Vec<Option<&ScalarValue>> = args
            .scalar_arguments
            .iter()
            .map(|value| value.filter(|value| enum_type(&value.data_type()).is_none()))
            .collect();
        self.function.return_field_from_args(ReturnFieldArgs {
            arg_fields: &arg_fields,
            scalar_arguments: &scalar_arguments,
        })
    }

    fn invoke_with_args(&self, mut args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let fields = fields_with_udf(&text_fields(&args.arg_fields), self.function.as_ref())?;
        for (value, field) in args.args.iter_mut().zip(&fields) {
            if enum_type(&value.data_type()).is_none() {
                continue;
            }
            *value = match &*value {
                ColumnarValue::Array(array) => {
                    let texts: ArrayRef = Arc::new(texts_of(array.as_ref())?);
                    ColumnarValue::Array(cast(&texts, field.data_type())?)
                }
                ColumnarValue::Scalar(one) => {
                    let text: ArrayRef = Arc::new(texts_of(one.to_array()?.as_ref())?);
                    let text = cast(&text, field.data_type())?;
                    ColumnarValue::Scalar(ScalarValue::try_from_array(&text, 0)?)
                }
            };
        }
        args.arg_fields = fields;
        self.function.invoke_with_args(args)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_become_codes_and_come_back() {
        let of = EnumType::new(vec!["sad".into(), "ok".into()]).unwrap();
        let texts = StringViewArray::from(vec![Some("ok"), None, Some("sad")]);
        let values = from_texts(&texts, &of, false).unwrap();
        assert_eq!(texts_of(values.as_ref()).unwrap(), texts);
        let codes = codes(&values).unwrap();
        let expected = PrimitiveArray::<UInt8Type>::from(vec![Some(1), None, Some(0)]);
        assert_eq!(codes.as_primitive::<UInt8Type>(), &expected);

        let other = StringViewArray::from(vec!["glad"]);
        let error = from_texts(&other, &of, false).unwrap_err();
        assert!(!error.to_string().contains("glad"));
        let null = from_texts(&other, &of, true).unwrap();
        assert!(null.is_null(0));
    }

    #[test]
    fn a_code_that_stands_for_nothing_has_no_text() {
        let of = EnumType::new(vec!["sad".into()]).unwrap();
        let DataType::Struct(fields) = ColumnType::Enum(of.clone()).arrow() else {
            panic!("a struct of its code")
        };
        let codes: ArrayRef = Arc::new(PrimitiveArray::<UInt8Type>::from(vec![7]));
        let array = StructArray::new(fields, vec![codes], None);
        assert_eq!(label(&array, &of, 0), None);
        assert!(value_text(&array, 0).is_err());
    }
}
