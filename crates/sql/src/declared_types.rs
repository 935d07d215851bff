//! Types of columns that say more of values than their type here does: `varchar(n)`, `char(n)` and `jsonb` of PostgreSQL.
//!
//! What must hold: DuckDB's `VARCHAR(n)` says nothing more, so that PostgreSQL's are told from it by names that nobody writes.

use crate::error::{Error, Result};
use hushdb_storage::Declared;
use sqlparser::ast::{CharacterLength, DataType, Ident, ObjectName};
use std::num::NonZeroU32;

/// `varchar`, with a length or without.
const VARCHAR: &str = "$varchar";
/// `char`, with a length.
const CHAR: &str = "$char";
/// `jsonb`.
const JSONB: &str = "$jsonb";

/// Characters that a length may say, as in PostgreSQL.
const MOST_CHARACTERS: u32 = 10_485_760;

/// A type of a column that is one of PostgreSQL's that say more, by its name here.
pub(super) fn marked(ty: &DataType) -> Option<DataType> {
    use DataType as T;
    let (name, length) = match ty {
        T::Varchar(length) | T::CharacterVarying(length) | T::CharVarying(length) => {
            (VARCHAR, written(length.as_ref())?)
        }
        T::Char(length) | T::Character(length) => match written(length.as_ref())? {
            length if length.is_empty() => (CHAR, vec!["1".to_owned()]),
            length => (CHAR, length),
        },
        T::Custom(name, modifiers) if modifiers.len() == 1 => {
            let name = name.0.last()?.as_ident()?;
            let is_char = name.quote_style.is_none() && name.value.eq_ignore_ascii_case("bpchar");
            (is_char.then_some(CHAR)?, modifiers.clone())
        }
        T::JSONB => (JSONB, vec![]),
        _ => return None,
    };
    let name = ObjectName::from(vec![Ident::with_quote('"', name)]);
    Some(T::Custom(name, length))
}

/// The length as it stands in a type's brackets, or nothing; `None` for a length in bytes.
fn written(length: Option<&CharacterLength>) -> Option<Vec<String>> {
    match length {
        None => Some(vec![]),
        Some(CharacterLength::IntegerLength { length, unit: None }) => {
            Some(vec![length.to_string()])
        }
        Some(CharacterLength::IntegerLength { unit: Some(_), .. } | CharacterLength::Max) => None,
    }
}

/// The name and the length of a type that says more of a column's values.
fn parts(ty: &DataType) -> Option<(&'static str, Option<&str>)> {
    let DataType::Custom(name, modifiers) = ty else {
        return None;
    };
    let [name] = name.0.as_slice() else {
        return None;
    };
    let name = &name.as_ident()?.value;
    let mut known = [VARCHAR, CHAR, JSONB].into_iter();
    let known = known.find(|known| known == name)?;
    Some((known, modifiers.first().map(String::as_str)))
}

/// What a type says of a column's values beyond the type that they have here.
///
/// # Errors
/// `InvalidInput` for a length of nothing, or of too much.
pub fn declared(ty: &DataType) -> Result<Option<Declared>> {
    let Some((name, length)) = parts(ty) else {
        return Ok(None);
    };
    let length = length.map(|length| read_length(name, length)).transpose()?;
    Ok(match (name, length) {
        (VARCHAR, length) => Some(Declared::Varchar(length)),
        (CHAR, Some(length)) => Some(Declared::Char(length)),
        (JSONB, None) => Some(Declared::Jsonb),
        _ => None,
    })
}

fn read_length(name: &str, text: &str) -> Result<NonZeroU32> {
    let name = name.trim_start_matches('$');
    let what = match text.parse::<u32>().map(NonZeroU32::new) {
        Ok(Some(length)) if length.get() <= MOST_CHARACTERS => return Ok(length),
        Ok(None) => format!("length for type {name} must be at least 1"),
        _ => format!("length for type {name} cannot exceed {MOST_CHARACTERS}"),
    };
    Err(Error::invalid(what))
}

/// The type here of a column's values of which a type says more.
pub(super) fn plain_type(ty: &DataType) -> Option<DataType> {
    match parts(ty)? {
        (JSONB, _) => Some(DataType::JSON),
        _ => Some(DataType::Varchar(None)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse_data_type;
    use crate::type_names::column_type;
    use hushdb_storage::ColumnType;

    #[test]
    fn postgresqls_types_are_told_from_duckdbs() {
        let length = |n| NonZeroU32::new(n);
        for (text, wanted, ty) in [
            (
                "VARCHAR(40)",
                Declared::Varchar(length(40)),
                ColumnType::Varchar,
            ),
            (
                "character varying(1)",
                Declared::Varchar(length(1)),
                ColumnType::Varchar,
            ),
            ("varchar", Declared::Varchar(None), ColumnType::Varchar),
            (
                "char(3)",
                Declared::Char(length(3).unwrap()),
                ColumnType::Varchar,
            ),
            (
                "character",
                Declared::Char(length(1).unwrap()),
                ColumnType::Varchar,
            ),
            (
                "bpchar(7)",
                Declared::Char(length(7).unwrap()),
                ColumnType::Varchar,
            ),
            ("jsonb", Declared::Jsonb, ColumnType::Json),
        ] {
            let parsed = parse_data_type(text).unwrap();
            assert_eq!(declared(&parsed).unwrap(), None, "{text}");
            let marked = marked(&parsed).unwrap();
            assert_eq!(declared(&marked).unwrap(), Some(wanted), "{text}");
            assert_eq!(column_type(&marked).unwrap(), ty, "{text}");
        }
        for text in ["text", "json", "integer", "bpchar", "numeric(3)"] {
            assert_eq!(marked(&parse_data_type(text).unwrap()), None, "{text}");
        }
    }

    #[test]
    fn lengths_of_nothing_and_of_too_much_are_refused() {
        for text in ["varchar(0)", "char(0)", "varchar(10485761)"] {
            let marked = marked(&parse_data_type(text).unwrap()).unwrap();
            let error = declared(&marked).unwrap_err();
            assert_eq!(error.sqlstate(), "22023", "{text}");
        }
    }
}
