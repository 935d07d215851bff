//! Names: as they are written, and as they are looked up.

use crate::error::{Error, Result};
use crate::reading::parse_object_name;
use sqlparser::ast::{Ident, ObjectName, ObjectNamePart};

/// A name as it is looked up: quoted as it stands, unquoted in lower case.
pub fn normalize(ident: &Ident) -> String {
    match ident.quote_style {
        Some(_) => ident.value.clone(),
        None => ident.value.to_lowercase(),
    }
}

/// The parts of a SQL name, unquoted ones folded to lower case.
pub fn name_parts(name: &ObjectName) -> Result<Vec<String>> {
    name.0
        .iter()
        .map(|part| match part {
            ObjectNamePart::Identifier(ident) => Ok(normalize(ident)),
            ObjectNamePart::Function(_) => {
                Err(Error::binder(format!("{name} is not a name of a table")))
            }
        })
        .collect()
}

/// The parts of a name that is written in a string: `database.schema`, with quotes where they are needed.
pub fn name_in_text(text: &str) -> Result<Vec<String>> {
    match parse_object_name(text) {
        Ok(name) => name_parts(&name),
        Err(_) => Err(Error::invalid(
            "a name reads like 'schema' or 'database.schema'",
        )),
    }
}

/// A name as SQL text, quoted where it has to be.
pub fn quote(name: &str) -> String {
    let plain = name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_')
        && name
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    if plain {
        name.to_string()
    } else {
        format!("\"{}\"", name.replace('"', "\"\""))
    }
}
