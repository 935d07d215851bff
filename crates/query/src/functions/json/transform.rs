//! JSON as values of types: `json_transform(json, '{"a": "INTEGER"}')`, and what CAST makes of JSON.
//!
//! What must hold: structs are matched by the names of members, in their case; errors repeat nothing of the text.

use super::super::convert::of_one_argument;
use super::super::maps::{check_keys, maps, ranges};
use super::super::nested_cast::cast_nested;
use super::super::room::Room;
use super::super::strptime::MomentForm;
use super::super::whole::{Call, Whole, registered};
use super::texts::MomentPlaces;
use super::value::{Kind, Value};
use crate::common_types::stand_in;
use crate::heed::check;
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, Int64Array, ListArray, StringViewArray, StringViewBuilder,
    StructArray, UInt8Array,
};
use datafusion::arrow::buffer::{NullBuffer, OffsetBuffer};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Fields};
use datafusion::common::{Result, ScalarValue};
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility,
};
use hushdb_sql::type_names::{called_json, is_called_json, is_enum, named_type, type_name};
use hushdb_sql::{Error, ErrorKind};
use hushdb_storage::{ArrayType, HUGEINT, TIMETZ, UHUGEINT, UnionType, list_item, plain_item};
use std::sync::Arc;

/// What is done with what does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Rules {
    /// It is NULL.
    Lenient,
    /// It is an error, but for members that nobody asked for.
    Strict,
    /// It is an error, and so are these.
    Exact,
}

pub(super) fn all(memory: &Arc<dyn MemoryPool>) -> Vec<Arc<ScalarUDF>> {
    let functions: [Whole; 2] = [
        (
            &["json_transform", "from_json"],
            json_and_structure,
            structure,
            |call, room| transformed(call, room, Rules::Lenient),
        ),
        (
            &["json_transform_strict", "from_json_strict"],
            json_and_structure,
            structure,
            |call, room| transformed(call, room, Rules::Strict),
        ),
    ];
    registered(functions, memory)
}

/// The structure stays as it is: a CAST would hide the constant on which the type of the result depends.
fn json_and_structure(types: &[DataType]) -> Option<Vec<DataType>> {
    match types {
        [json, structure] => {
            let is_text = |of: &DataType| of.is_string() || of.is_null();
            let json_type = match json.is_null() {
                true => DataType::Null,
                false => DataType::Utf8View,
            };
            (is_text(json) && is_text(structure)).then(|| vec![json_type, structure.clone()])
        }
        _ => None,
    }
}

/// The type of the result; where one of both is the untyped NULL it is, too.
fn structure(types: &[DataType], constants: &[Option<&ScalarValue>]) -> Option<DataType> {
    if types.iter().any(DataType::is_null) {
        return Some(DataType::Null);
    }
    let text = constants
        .get(1)
        .copied()
        .flatten()?
        .try_as_str()
        .flatten()?;
    Some(stand_in(&described(Value::read(text).ok()?)?))
}

/// The type that JSON describes: the name of one, a list of one, or an object of some.
fn described(of: Value<'_>) -> Option<Field> {
    let unnamed = |ty: DataType| Field::new("", ty, true);
    Some(match of.kind() {
        Kind::Text => {
            let name = of.string()?;
            match name.eq_ignore_ascii_case("json") {
                true => called_json(unnamed(DataType::Utf8View)),
                false => unnamed(named_type(&name).ok()?.arrow()),
            }
        }
        Kind::List => {
            let mut items = of.items();
            let (item, None) = (described(items.next()?)?, items.next()) else {
                return None;
            };
            let item = item.with_name(Field::LIST_FIELD_DEFAULT_NAME);
            unnamed(DataType::List(Arc::new(list_item(item))))
        }
        Kind::Object => {
            let fields = of
                .members()
                .map(|(name, of)| Some(described(of)?.with_name(name)));
            let fields = fields.collect::<Option<Vec<_>>>()?;
            let fields = Some(fields).filter(|fields| !fields.is_empty())?;
            unnamed(DataType::Struct(fields.into()))
        }
        _ => return None,
    })
}

fn transformed(call: &Call<'_>, room: &mut Room, rules: Rules) -> Result<ArrayRef> {
    if let Some(nothing) = call.nothing() {
        return Ok(nothing);
    }
    let [json, _] = call.take()?;
    room.take_if_long(json.get_array_memory_size())?;
    made(
        json.as_string_view(),
        call.to,
        rules,
        ErrorKind::InvalidInput,
    )
}

/// Each text's value as one of a type.
fn made(texts: &StringViewArray, to: &DataType, rules: Rules, kind: ErrorKind) -> Result<ArrayRef> {
    let mut values = Vec::with_capacity(texts.len());
    for text in texts {
        let value = match text.map(Value::read) {
            Some(Err(_)) if rules == Rules::Lenient && kind == ErrorKind::Conversion => None,
            value => value.transpose()?,
        };
        values.push(value.filter(|value| value.kind() != Kind::Null));
    }
    let field = Arc::new(Field::new("", to.clone(), true));
    Maker { rules, kind }.column(&values, &field, &MomentPlaces::Nowhere)
}

/// Records of a file, each a text of JSON, as values of a field's type. What does not fit is NULL, and so is a record that is no JSON.
///
/// # Errors
/// `InvalidInput` for two values of one name in an object that is to be a MAP.
pub fn json_records(
    records: &StringViewArray,
    to: &FieldRef,
    forms: &MomentPlaces,
) -> Result<ArrayRef> {
    let values = records.iter().map(|text| Value::read(text?).ok());
    let values = values.map(|value| value.filter(|value| value.kind() != Kind::Null));
    let values: Vec<_> = values.collect();
    let maker = Maker {
        rules: Rules::Lenient,
        kind: ErrorKind::Conversion,
    };
    maker.column(&values, to, forms)
}

struct Maker {
    rules: Rules,
    kind: ErrorKind,
}

impl Maker {
    /// A column of values, of which none is JSON's null, with the formats of its dates and points in time.
    fn column(
        &self,
        values: &[Option<Value<'_>>],
        to: &FieldRef,
        forms: &MomentPlaces,
    ) -> Result<ArrayRef> {
        check()?;
        match to.data_type() {
            of if let MomentPlaces::Here(form) = forms => self.moments(values, of, form),
            of if is_enum(of) => self.texts(values, to, false),
            of if let Some(members) = UnionType::members_of(of) => {
                self.unions(values, of, members, forms)
            }
            DataType::Struct(fields) => self.structs(values, fields, forms),
            DataType::List(item) => self.lists(values, item, forms),
            DataType::Map(entries, _) => self.maps(values, to.data_type(), entries, forms),
            _ if is_called_json(to) => self.texts(values, to, true),
            _ => self.texts(values, to, false),
        }
    }

    fn refused(&self, what: String) -> Result<()> {
        match self.rules {
            Rules::Lenient => Ok(()),
            _ => Err(Error::new(self.kind, what).into()),
        }
    }

    /// Dates, or points in time, by their texts in a format.
    fn moments(
        &self,
        values: &[Option<Value<'_>>],
        to: &DataType,
        form: &MomentForm,
    ) -> Result<ArrayRef> {
        let is_day = to == &DataType::Date32;
        let moments = values.iter().map(|value| {
            let Some(value) = value else {
                return Ok(None);
            };
            let found = value.string().and_then(|text| match is_day {
                true => form.day(&text).map(i64::from),
                false => form.moment(&text),
            });
            if found.is_none() {
                self.refused(format!("a text is no {} in its format", type_name(to)))?;
            }
            Ok(found)
        });
        let moments: ArrayRef = Arc::new(moments.collect::<Result<Int64Array>>()?);
        match is_day {
            true => Ok(cast(&cast(&moments, &DataType::Int32)?, to)?),
            false => Ok(cast(&moments, to)?),
        }
    }

    fn structs(
        &self,
        values: &[Option<Value<'_>>],
        fields: &Fields,
        forms: &MomentPlaces,
    ) -> Result<ArrayRef> {
        let mut columns = vec![Vec::with_capacity(values.len()); fields.len()];
        for value in values {
            let mut found = vec![None; fields.len()];
            let members = value.iter().filter(|value| value.kind() == Kind::Object);
            let mut unknown = false;
            for (name, member) in members.flat_map(|value| value.members()) {
                match fields.iter().position(|field| *field.name() == name) {
                    Some(at) if found[at].is_some() => {
                        self.refused(format!("an object has duplicate key \"{name}\""))?;
                    }
                    Some(at) => found[at] = Some(member),
                    None => unknown = true,
                }
            }
            if let Some(value) = value {
                self.check_members(*value, &found, fields, unknown)?;
            }
            for (column, found) in columns.iter_mut().zip(found) {
                column.push(found.filter(|value| value.kind() != Kind::Null));
            }
        }
        let columns = columns.iter().zip(fields);
        let columns = columns
            .map(|(column, field)| self.column(column, field, forms.of_member(field.name())));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let nulls = values.iter().map(Option::is_some).collect::<NullBuffer>();
        let made = StructArray::try_new(fields.clone(), columns, Some(nulls))?;
        Ok(Arc::new(made))
    }

    /// Objects of one member, which names what the value is.
    fn unions(
        &self,
        values: &[Option<Value<'_>>],
        to: &DataType,
        members: &[FieldRef],
        forms: &MomentPlaces,
    ) -> Result<ArrayRef> {
        let mut columns = vec![vec![None; values.len()]; members.len()];
        let mut tags = vec![None; values.len()];
        for (row, value) in values.iter().enumerate() {
            let Some(value) = value else {
                continue;
            };
            match member_in(*value, members) {
                Ok((place, member)) => {
                    tags[row] = u8::try_from(place).ok();
                    columns[place][row] = Some(member).filter(|value| value.kind() != Kind::Null);
                }
                Err(why) => self.refused(why)?,
            }
        }
        let columns = columns.iter().zip(members);
        let columns = columns
            .map(|(column, member)| self.column(column, member, forms.of_member(member.name())));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let tags: ArrayRef = Arc::new(UInt8Array::from(tags));
        let nulls = tags.nulls().cloned();
        let parts = std::iter::once(tags).chain(columns).collect();
        let DataType::Struct(fields) = to else {
            return Err(Error::internal("a union is a struct").into());
        };
        Ok(Arc::new(StructArray::try_new(
            fields.clone(),
            parts,
            nulls,
        )?))
    }

    fn check_members(
        &self,
        value: Value<'_>,
        found: &[Option<Value<'_>>],
        fields: &Fields,
        unknown: bool,
    ) -> Result<()> {
        if value.kind() != Kind::Object {
            return self.refused(format!("Expected OBJECT, but got {}", value.type_name()));
        }
        if let Some((_, field)) = found.iter().zip(fields).find(|(found, _)| found.is_none()) {
            return self.refused(format!("an object does not have key \"{}\"", field.name()));
        }
        match unknown && self.rules == Rules::Exact {
            true => self.refused("an object has an unknown key".into()),
            false => Ok(()),
        }
    }

    fn lists(
        &self,
        values: &[Option<Value<'_>>],
        item: &FieldRef,
        forms: &MomentPlaces,
    ) -> Result<ArrayRef> {
        let (mut items, mut lengths, mut valid) = (vec![], vec![], vec![]);
        let length = ArrayType::length_of(&DataType::List(Arc::clone(item)));
        let length = length.map(|length| length as usize);
        for value in values {
            let before = items.len();
            let mut is_list = value.is_some_and(|value| value.kind() == Kind::List);
            if let Some(value) = value {
                if !is_list {
                    self.refused(format!("Expected ARRAY, but got {}", value.type_name()))?;
                }
                items.extend(
                    value
                        .items()
                        .map(|item| Some(item).filter(|v| v.kind() != Kind::Null)),
                );
            }
            if let Some(length) = length.filter(|length| items.len() - before != *length)
                && is_list
            {
                self.refused(format!("Expected array of size {length}"))?;
                items.truncate(before);
                is_list = false;
            }
            lengths.push(items.len() - before);
            valid.push(is_list);
        }
        let items = self.column(&items, &Arc::new(plain_item(item)), forms.of_items())?;
        let offsets = OffsetBuffer::from_lengths(lengths);
        let nulls = Some(NullBuffer::from(valid));
        let item = Arc::new(item.as_ref().clone().with_nullable(true));
        Ok(Arc::new(ListArray::try_new(item, offsets, items, nulls)?))
    }

    /// Objects as maps from their names, which are cast as texts are.
    fn maps(
        &self,
        values: &[Option<Value<'_>>],
        to: &DataType,
        entries: &FieldRef,
        forms: &MomentPlaces,
    ) -> Result<ArrayRef> {
        let DataType::Struct(fields) = entries.data_type() else {
            return Err(Error::internal("a map without entries").into());
        };
        let [key, value] = fields.iter().as_slice() else {
            return Err(Error::internal("entries are pairs").into());
        };
        let (mut names, mut members, mut lengths, mut valid) = (vec![], vec![], vec![], vec![]);
        for value in values {
            let before = names.len();
            let is_object = value.is_some_and(|value| value.kind() == Kind::Object);
            if let Some(value) = value {
                if !is_object {
                    self.refused(format!("Expected OBJECT, but got {}", value.type_name()))?;
                }
                for (name, member) in value.members() {
                    names.push(name);
                    members.push(Some(member).filter(|v| v.kind() != Kind::Null));
                }
            }
            lengths.push(names.len() - before);
            valid.push(is_object);
        }
        let names: ArrayRef = Arc::new(StringViewArray::from_iter_values(names));
        let keys = cast_nested(&names, key.data_type(), false)?;
        let values = self.column(&members, value, forms.of_values())?;
        let made = maps(to, (keys, values), lengths, valid)?;
        check_keys(made.as_map().keys(), ranges(made.as_map().offsets()))?;
        Ok(made)
    }

    /// Values by their texts, which are cast as others are.
    fn texts(
        &self,
        values: &[Option<Value<'_>>],
        field: &FieldRef,
        as_json: bool,
    ) -> Result<ArrayRef> {
        let to = field.data_type();
        let mut out = StringViewBuilder::with_capacity(values.len());
        for value in values {
            let text = match value {
                None => None,
                Some(value) => self.text(*value, to, as_json)?,
            };
            match text {
                Some(text) => out.try_append_value(text)?,
                None => out.append_null(),
            }
        }
        let texts: ArrayRef = Arc::new(out.finish());
        let lenient = self.rules == Rules::Lenient;
        if to.is_string() {
            return Ok(cast(&texts, to)?);
        }
        cast_nested(&texts, to, lenient)
    }

    fn text(&self, value: Value<'_>, to: &DataType, as_json: bool) -> Result<Option<String>> {
        let mut text = String::new();
        match value.kind() {
            _ if as_json => value.write(&mut text),
            kind if kind != Kind::Text && !is_of_any_kind(to) => {
                let (kind, to) = (value.type_name(), type_name(to));
                self.refused(format!("Unable to cast a value of type {kind} to {to}"))?;
                return Ok(None);
            }
            Kind::Text => text = value.string().unwrap_or_default().into_owned(),
            Kind::Bool if to.is_numeric() => {
                text.push(if value.text() == "true" { '1' } else { '0' });
            }
            Kind::Number if to == &DataType::Boolean => {
                let is_zero = value
                    .text()
                    .parse::<f64>()
                    .is_ok_and(|number| number == 0.0);
                text.push_str(if is_zero { "false" } else { "true" });
            }
            Kind::Number if is_whole(to) => text = rounded(value.text()),
            Kind::List | Kind::Object if !to.is_string() => {
                let (kind, to) = (value.type_name(), type_name(to));
                self.refused(format!("Failed to cast value of type {kind} to {to}"))?;
                return Ok(None);
            }
            _ => value.write(&mut text),
        }
        Ok(Some(text))
    }
}

/// Whether numbers and truth values, too, are values of a type: others are written as texts alone.
fn is_of_any_kind(ty: &DataType) -> bool {
    let is_number = ty.is_numeric() && *ty != TIMETZ;
    let is_bytes = matches!(ty, DataType::BinaryView);
    is_number || is_bytes || ty.is_string() || *ty == DataType::Boolean
}

fn is_whole(ty: &DataType) -> bool {
    ty.is_integer() || *ty == HUGEINT || *ty == UHUGEINT
}

/// The whole number that is nearest to one, of two the even one, as DuckDB rounds a DOUBLE.
fn rounded(number: &str) -> String {
    let is_whole = number.parse::<i128>().is_ok();
    match number.parse::<f64>() {
        Ok(value) if !is_whole && value.is_finite() => format!("{:.0}", value.round_ties_even()),
        _ => number.to_owned(),
    }
}

/// The place of the member that an object of one member names, and its value; else why there is none.
fn member_in<'a>(value: Value<'a>, members: &[FieldRef]) -> Result<(usize, Value<'a>), String> {
    if value.kind() != Kind::Object {
        let of = value.type_name();
        return Err(format!("Expected an object representing a union, got {of}"));
    }
    let mut named = value.members();
    match (named.next(), named.next()) {
        (Some((name, found)), None) => {
            let place = members.iter().position(|member| *member.name() == name);
            let place = place.map(|place| (place, found));
            place.ok_or_else(|| "Found object containing unknown key, instead of union".to_owned())
        }
        (None, _) => Err("Found empty object, instead of union".to_owned()),
        _ => Err("Found object containing more than one key, instead of union".to_owned()),
    }
}

/// `CAST(json AS type)`, or TRY_CAST.
#[derive(Debug, PartialEq, Eq, Hash)]
struct JsonCast {
    to: DataType,
    /// What does not cast is NULL.
    lenient: bool,
    signature: Signature,
}

/// The function that casts JSON to a type.
pub fn json_cast(to: &DataType, lenient: bool) -> Arc<ScalarUDF> {
    Arc::new(ScalarUDF::from(JsonCast {
        to: to.clone(),
        lenient,
        signature: Signature::any(1, Volatility::Immutable),
    }))
}

impl ScalarUDFImpl for JsonCast {
    fn name(&self) -> &str {
        "$json_cast"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(self.to.clone())
    }

    fn return_field_from_args(&self, _: ReturnFieldArgs) -> Result<FieldRef> {
        Ok(Arc::new(Field::new(self.name(), self.to.clone(), true)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        of_one_argument(&args, |input| json_as(input, &self.to, self.lenient))
    }
}

/// The items of a list of JSON, each as JSON; `None` if it is no list.
///
/// # Errors
/// What is malformed in the text.
pub(crate) fn json_texts(json: &str) -> std::result::Result<Option<Vec<String>>, Error> {
    let value = Value::read(json)?;
    let text_of = |item: Value<'_>| {
        let mut text = String::new();
        item.write(&mut text);
        text
    };
    let is_list = value.kind() == Kind::List;
    Ok(is_list.then(|| value.items().map(text_of).collect()))
}

/// JSON as values of a type, as CAST or TRY_CAST has them.
pub(crate) fn json_as(json: &ArrayRef, to: &DataType, lenient: bool) -> Result<ArrayRef> {
    let rules = match lenient {
        true => Rules::Lenient,
        false => Rules::Exact,
    };
    let texts = cast(json, &DataType::Utf8View)?;
    made(texts.as_string_view(), to, rules, ErrorKind::Conversion)
}
