//! Values of options with a name, as COPY and the functions that read files have them.

use hushdb_sql::OptionValue;
use hushdb_sql::{Error, Result};

pub(crate) fn text<'a>(name: &str, value: &'a OptionValue) -> Result<&'a str> {
    match value {
        OptionValue::Text(text) => Ok(text),
        _ => Err(Error::binder(format!("the option {name} takes one value"))),
    }
}

pub(crate) fn texts(name: &str, value: &OptionValue) -> Result<Vec<String>> {
    match value {
        OptionValue::List(texts) => Ok(texts.clone()),
        _ => Ok(vec![text(name, value)?.to_string()]),
    }
}

pub(crate) fn pairs<'a>(name: &str, value: &'a OptionValue) -> Result<&'a [(String, String)]> {
    match value {
        OptionValue::Pairs(pairs) => Ok(pairs),
        _ => Err(Error::binder(format!(
            "the option {name} takes names with types, as in {{'a': 'INTEGER'}}"
        ))),
    }
}

/// An option that is on when it is named alone.
pub(crate) fn flag(name: &str, value: &OptionValue) -> Result<bool> {
    let text = match value {
        OptionValue::None => return Ok(true),
        value => text(name, value)?,
    };
    truth(text).ok_or_else(|| Error::binder(format!("the option {name} is true or false")))
}

/// What a text says that is true or false.
pub(crate) fn truth(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "1" | "on" => Some(true),
        "false" | "0" | "off" => Some(false),
        _ => None,
    }
}
