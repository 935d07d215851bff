//! UNIONs: values that are one of several members. Made by `union_value(name := value)` and by casts, looked at by `union_tag`.
//!
//! What must hold: of the members of a value only the one that its tag names is not NULL, so that two values that are equal have equal
//! structs. A value becomes the member of its own type, else the one that DuckDB's costs of casts choose.

use super::nested_cast::{cast_field, check_nested_cast};
use super::whole::{Call, Whole, registered};
use crate::common_types::implicit_cost;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, StructArray, UInt8Array, new_null_array};
use datafusion::arrow::buffer::NullBuffer;
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, UInt8Type};
use datafusion::common::Result;
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::logical_expr::ScalarUDF;
use hushdb_sql::type_names::{enum_of, type_name};
use hushdb_sql::{Error, ErrorKind, UNION_VALUE};
use hushdb_storage::{ColumnType, UnionType};
use std::sync::Arc;

pub(super) fn all(memory: &Arc<dyn MemoryPool>) -> Vec<Arc<ScalarUDF>> {
    let functions: [Whole; 2] = [
        (
            &[UNION_VALUE],
            |types| (types.len() == 2).then(|| types.to_vec()),
            |types, constants| {
                let name = constants
                    .first()
                    .copied()
                    .flatten()?
                    .try_as_str()
                    .flatten()?;
                let member = Field::new(name, types.get(1)?.clone(), true);
                Some(DataType::Struct(UnionType::fields([Arc::new(member)])))
            },
            |call, _| {
                let [_, value] = call.take()?;
                let tags: ArrayRef = Arc::new(UInt8Array::from(vec![0; call.rows()]));
                struct_of(call.to, vec![tags, Arc::clone(value)], None)
            },
        ),
        (
            &["union_tag"],
            |types| match types {
                [of] if of.is_null() || UnionType::members_of(of).is_some() => Some(types.to_vec()),
                _ => None,
            },
            |types, _| tag_type(types.first()?),
            |call, _| match call.of_null() {
                Some(nothing) => Ok(nothing),
                None => tags_of(call),
            },
        ),
    ];
    registered(functions, memory)
}

/// The ENUM of the names of a UNION's members.
fn tag_type(of: &DataType) -> Option<DataType> {
    if of.is_null() {
        return Some(DataType::Int32);
    }
    let names = UnionType::members_of(of)?.iter();
    let names = names.map(|member| member.name().clone()).collect();
    Some(ColumnType::Enum(enum_of(names).ok()?).arrow())
}

fn tags_of(call: &Call<'_>) -> Result<ArrayRef> {
    let [of] = call.take()?;
    let of = of.as_struct();
    let (DataType::Struct(fields), Some(tags)) = (call.to, of.columns().first()) else {
        return Err(Error::internal("a tag is one of an ENUM").into());
    };
    let nulls = NullBuffer::union(of.nulls(), tags.nulls());
    let codes = fields.first().map(|code| cast(tags, code.data_type()));
    let codes = codes.transpose()?.unwrap_or_else(|| Arc::clone(tags));
    struct_of(call.to, vec![codes], nulls)
}

fn struct_of(to: &DataType, parts: Vec<ArrayRef>, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
    let DataType::Struct(fields) = to else {
        return Err(Error::internal("a union is a struct").into());
    };
    Ok(Arc::new(StructArray::try_new(
        fields.clone(),
        parts,
        nulls,
    )?))
}

/// The member that a row of a UNION is, and its values; `None` for a tag that names none.
pub fn member_at<'a>(
    members: &'a [FieldRef],
    array: &'a StructArray,
    row: usize,
) -> Option<(&'a FieldRef, &'a ArrayRef)> {
    let (tags, columns) = array.columns().split_first()?;
    let tags = tags.as_primitive_opt::<UInt8Type>()?;
    let tag = usize::from(tags.is_valid(row).then(|| tags.value(row))?);
    Some((members.get(tag)?, columns.get(tag)?))
}

/// The UNION that a struct of a file is, which begins with a tag without a name; `None` for all others.
fn as_written(from: &DataType) -> Option<DataType> {
    let DataType::Struct(fields) = from else {
        return None;
    };
    let (tag, members) = fields.split_first()?;
    let is_written = tag.name().is_empty() && tag.data_type() == &DataType::UInt8;
    let fields = UnionType::fields(members.iter().cloned());
    (is_written && !members.is_empty()).then_some(DataType::Struct(fields))
}

/// The values of such structs.
///
/// # Errors
/// For a value that is not the one member that its tag names.
fn read(written: &DataType, array: &ArrayRef) -> Result<ArrayRef> {
    let array = array.as_struct();
    let union = struct_of(written, array.columns().to_vec(), array.nulls().cloned())?;
    match UnionType::is_sound(union.as_struct()) {
        true => Ok(union),
        false => {
            let text = "a value of a UNION is not the one member that its tag names";
            Err(Error::new(ErrorKind::Conversion, text).into())
        }
    }
}

fn refused(from: &DataType, to: &DataType, why: &str) -> Error {
    let (from, to) = (type_name(from), type_name(to));
    let text = format!("Type {from} can't be cast as {to}. {why}");
    Error::new(ErrorKind::Conversion, text)
}

/// The place of the member that values of a type become.
fn member_of(from: &DataType, to: &DataType, members: &[FieldRef]) -> Result<usize> {
    let own = Field::new("", from.clone(), true);
    let costs = members.iter().enumerate();
    let costs = costs.filter_map(|(place, member)| Some((implicit_cost(&own, member)?, place)));
    let mut costs: Vec<(u32, usize)> = costs.collect();
    costs.sort_unstable();
    let shown = |member: &FieldRef| type_name(member.data_type());
    match costs.as_slice() {
        [] => {
            let all = members.iter().map(shown).collect::<Vec<_>>().join(", ");
            let own = type_name(from);
            let why =
                format!("{own} can't be implicitly cast to any of the union member types: {all}");
            Err(refused(from, to, &why).into())
        }
        [(least, _), (next, _), ..] if least == next => {
            let alike = costs.iter().filter(|(cost, _)| cost == least);
            let alike = alike.filter_map(|(_, place)| members.get(*place));
            let alike = alike.map(|member| format!("'{} ({})'", member.name(), shown(member)));
            let all = alike.collect::<Vec<_>>().join(", ");
            let why = format!(
                "The cast is ambiguous, multiple possible members in target: {all}. Disambiguate the target type by using the \
                 'union_value(<tag> := <arg>)' function to promote the source value to a single member union before casting."
            );
            Err(refused(from, to, &why).into())
        }
        [(_, place), ..] => Ok(*place),
    }
}

/// The places, among the members of one UNION, of those of another.
fn places(
    from: &DataType,
    to: &DataType,
    own: &[FieldRef],
    members: &[FieldRef],
) -> Result<Vec<usize>> {
    let place = |member: &FieldRef| {
        let name = member.name();
        let mut places = members.iter();
        places
            .position(|other| other.name().eq_ignore_ascii_case(name))
            .ok_or_else(|| {
                let why = format!("The member '{name}' is not present in target union");
                refused(from, to, &why).into()
            })
    };
    own.iter().map(place).collect()
}

/// Whether values of a type are cast to a UNION.
///
/// # Errors
/// `Conversion` where they are not, as [`cast_to_union`].
pub(super) fn check_cast_to_union(
    from: &DataType,
    to: &DataType,
    members: &[FieldRef],
) -> Result<()> {
    if let Some(written) = as_written(from) {
        return check_cast_to_union(&written, to, members);
    }
    let Some(own) = UnionType::members_of(from) else {
        return member_of(from, to, members).map(|_| ());
    };
    let places = places(from, to, own, members)?;
    let mut pairs = own.iter().zip(places);
    pairs.try_for_each(|(member, place)| match members.get(place) {
        Some(to) => check_nested_cast(member.data_type(), to.data_type()),
        None => Ok(()),
    })
}

/// Values as those of a UNION.
///
/// # Errors
/// `Conversion` where they become no member, or several as well.
pub(super) fn cast_to_union(
    array: &ArrayRef,
    to: &DataType,
    members: &[FieldRef],
    lenient: bool,
) -> Result<ArrayRef> {
    if let Some(written) = as_written(array.data_type()) {
        return cast_to_union(&read(&written, array)?, to, members, lenient);
    }
    let (from, rows) = (array.data_type(), array.len());
    let mut columns: Vec<ArrayRef> = members
        .iter()
        .map(|member| new_null_array(member.data_type(), rows))
        .collect();
    let mut put = |place: usize, values: &ArrayRef| -> Result<()> {
        if let (Some(member), Some(column)) = (members.get(place), columns.get_mut(place)) {
            let own = Field::new("", values.data_type().clone(), true);
            *column = cast_field(values, &own, member, lenient)?;
        }
        Ok(())
    };
    let (tags, nulls): (ArrayRef, _) = match UnionType::members_of(from) {
        None => {
            let place = member_of(from, to, members)?;
            put(place, array)?;
            // A NULL of a type is that member, whose value is NULL.
            let tag = u8::try_from(place).unwrap_or(u8::MAX);
            (Arc::new(UInt8Array::from(vec![tag; rows])), None)
        }
        Some(own) => {
            let places = places(from, to, own, members)?;
            let array = array.as_struct();
            let Some((tags, values)) = array.columns().split_first() else {
                return Err(Error::internal("a union has a tag").into());
            };
            for (place, values) in places.iter().zip(values) {
                put(*place, values)?;
            }
            let of = |tag: Option<u8>| {
                let place = places.get(usize::from(tag?))?;
                u8::try_from(*place).ok()
            };
            let tags: UInt8Array = tags.as_primitive::<UInt8Type>().iter().map(of).collect();
            (Arc::new(tags), array.nulls().cloned())
        }
    };
    let parts = std::iter::once(tags).chain(columns).collect();
    struct_of(to, parts, nulls)
}
