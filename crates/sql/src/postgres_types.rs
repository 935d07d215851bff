//! PostgreSQL's names of types, where they are not ours: those of its catalog, and `regclass` and its kin, whose values are numbers that
//! are read and shown as names.

use super::reading::parse_data_type;
use sqlparser::ast::{ArrayElemTypeDef, CharacterLength, DataType, ExactNumberInfo, ObjectName};

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
const OTHERS: [(&str, &str); 18] = [
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
    ("timetz", "TIME WITH TIME ZONE"),
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

/// The function that a cast to `numeric` without digits is.
pub const NUMERIC_CAST: &str = "numeric_as_postgres";

/// The aggregate that `sum` of PostgreSQL is.
pub const POSTGRES_SUM: &str = "sum_as_postgres";

/// The aggregate that `avg` of PostgreSQL is.
pub const POSTGRES_AVG: &str = "avg_as_postgres";

/// The function that casts to the type of such a column.
pub const STORED_NUMERIC: &str = "$stored_numeric";

/// Digits behind the point of a column of `numeric` without digits, of 38.
pub const NUMERIC_SCALE: i8 = 10;

/// Whether a type is `numeric` of which no digits are said.
pub(super) fn is_bare_numeric(ty: &DataType) -> bool {
    matches!(
        ty,
        DataType::Numeric(ExactNumberInfo::None)
            | DataType::Decimal(ExactNumberInfo::None)
            | DataType::Dec(ExactNumberInfo::None)
    )
}

/// `numeric` of as many digits as a number has that is written out.
pub(super) fn numeric_of(text: &str) -> Option<DataType> {
    let text = text.trim().trim_start_matches(['+', '-']);
    let (digits, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let are_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if whole.len() + fraction.len() == 0 || !are_digits(whole) || !are_digits(fraction) {
        return None;
    }
    let exponent: i64 = exponent.parse().ok()?;
    let scale = (fraction.len() as i64 - exponent).max(0);
    let before = (whole.trim_start_matches('0').len() as i64 + exponent).max(0);
    let precision = u64::try_from(before + scale).ok()?.max(1);
    let fits = precision <= 38 && scale <= 38;
    fits.then_some(DataType::Numeric(ExactNumberInfo::PrecisionAndScale(
        precision, scale,
    )))
}

/// The type of a column that PostgreSQL's name means here, if it is not ours already.
pub(super) fn of_column(ty: &DataType) -> Option<DataType> {
    match ty {
        ty if is_bare_numeric(ty) => {
            let digits = ExactNumberInfo::PrecisionAndScale(38, i64::from(NUMERIC_SCALE));
            Some(DataType::Numeric(digits))
        }
        DataType::Array(ArrayElemTypeDef::SquareBracket(item, size)) => {
            let other = of_column(item);
            without_size(item, other, *size)
        }
        ty => plain(ty),
    }
}

/// The type of lists of `other`, if that is said, or of the same items: PostgreSQL does not keep how many there are.
fn without_size(item: &DataType, other: Option<DataType>, size: Option<u64>) -> Option<DataType> {
    if other.is_none() && size.is_none() {
        return None;
    }
    let item = Box::new(other.unwrap_or_else(|| item.clone()));
    Some(DataType::Array(ArrayElemTypeDef::SquareBracket(item, None)))
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
        DataType::Text
            | DataType::Varchar(_)
            | DataType::CharacterVarying(_)
            | DataType::Char(_)
            | DataType::Character(_)
    )
}

/// How many letters a type of texts has at most, if it says so.
pub(super) fn letters_of(ty: &DataType) -> Option<u64> {
    match ty {
        DataType::Varchar(Some(CharacterLength::IntegerLength { length, .. }))
        | DataType::CharacterVarying(Some(CharacterLength::IntegerLength { length, .. }))
        | DataType::Char(Some(CharacterLength::IntegerLength { length, .. }))
        | DataType::Character(Some(CharacterLength::IntegerLength { length, .. })) => Some(*length),
        DataType::Char(None) | DataType::Character(None) => Some(1),
        _ => None,
    }
}

/// The type that PostgreSQL's name means here, if it is not ours already.
pub(super) fn plain(ty: &DataType) -> Option<DataType> {
    match ty {
        DataType::Array(ArrayElemTypeDef::SquareBracket(item, size)) => {
            let other = match named(item) {
                Some(_) => Some(DataType::BigInt(None)),
                None => plain(item),
            };
            without_size(item, other, *size)
        }
        DataType::JSONB => Some(DataType::JSON),
        DataType::Float(ExactNumberInfo::None) => Some(DataType::DoublePrecision),
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
