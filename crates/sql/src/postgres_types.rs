//! PostgreSQL's names of types, where they are not ours: those of its catalog, and `regclass` and its kin, whose values are numbers that
//! are read and shown as names.

use super::reading::parse_data_type;
use sqlparser::ast::{ArrayElemTypeDef, DataType, ObjectName};

/// Types whose values stand for something that has a name.
const NAMED: [&[&str]; 5] = [
    &["regclass"],
    &["regtype"],
    &["regproc", "regprocedure", "regoper", "regoperator"],
    &["regnamespace"],
    &["regrole"],
];

/// The functions that a cast to each of these types becomes: from a name, or a number, to the number.
pub const OID_OF: [&str; 5] = [
    "oid_of_regclass",
    "oid_of_regtype",
    "oid_of_regproc",
    "oid_of_regnamespace",
    "oid_of_regrole",
];

/// The functions by which the number becomes a name where it is shown.
pub const TEXT_OF: [&str; 5] = [
    "text_of_regclass",
    "text_of_regtype",
    "text_of_regproc",
    "text_of_regnamespace",
    "text_of_regrole",
];

/// Names of types of PostgreSQL's catalog, and the types that their values have here.
const OTHERS: [(&str, &str); 17] = [
    ("name", "VARCHAR"),
    ("char", "VARCHAR"),
    ("cstring", "VARCHAR"),
    ("bpchar", "VARCHAR"),
    ("aclitem", "VARCHAR"),
    ("pg_node_tree", "VARCHAR"),
    ("oid", "BIGINT"),
    ("xid", "BIGINT"),
    ("cid", "BIGINT"),
    ("int2vector", "SMALLINT[]"),
    ("oidvector", "BIGINT[]"),
    ("sql_identifier", "VARCHAR"),
    ("character_data", "VARCHAR"),
    ("yes_or_no", "VARCHAR"),
    ("cardinal_number", "INTEGER"),
    ("int2", "SMALLINT"),
    ("timestamptz", "TIMESTAMP WITH TIME ZONE"),
];

/// The name of a type behind its schema, in lower case.
fn name_of(name: &ObjectName) -> Option<String> {
    let (last, schema) = name.0.split_last()?;
    let schema = schema.first().and_then(|part| part.as_ident());
    let ours = |schema: &str| {
        ["pg_catalog", "information_schema"]
            .iter()
            .any(|known| schema.eq_ignore_ascii_case(known))
    };
    let fits = schema.is_none_or(|schema| ours(&schema.value));
    let last = last.as_ident().filter(|_| fits)?;
    Some(last.value.to_lowercase())
}

/// Which of the types that stand for names a type is.
pub(super) fn named(ty: &DataType) -> Option<usize> {
    let name = match ty {
        DataType::Regclass => "regclass".to_owned(),
        DataType::Custom(name, _) => name_of(name)?,
        _ => return None,
    };
    NAMED
        .iter()
        .position(|names| names.contains(&name.as_str()))
}

/// Whether a type is text.
pub(super) fn is_text(ty: &DataType) -> bool {
    matches!(
        ty,
        DataType::Text | DataType::Varchar(_) | DataType::CharacterVarying(_)
    )
}

/// The type that PostgreSQL's name means here, if it is not ours already.
pub(super) fn plain(ty: &DataType) -> Option<DataType> {
    match ty {
        DataType::Array(ArrayElemTypeDef::SquareBracket(item, size)) => {
            let item = match named(item) {
                Some(_) => DataType::BigInt(None),
                None => plain(item)?,
            };
            let item = ArrayElemTypeDef::SquareBracket(Box::new(item), *size);
            Some(DataType::Array(item))
        }
        DataType::JSONB => Some(DataType::JSON),
        DataType::Custom(name, modifiers) => {
            let known = name_of(name)?;
            let other = OTHERS.iter().find(|(other, _)| *other == known);
            match other {
                Some((_, ours)) => parse_data_type(ours).ok(),
                None if name.0.len() > 1 && modifiers.is_empty() => parse_data_type(&known).ok(),
                None => None,
            }
        }
        _ => None,
    }
}
